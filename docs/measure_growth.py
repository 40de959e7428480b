"""Measures how a study's time and bytes grow with people, variants and cohorts; draws it, too.

    .venv/bin/python docs/measure_growth.py [--runs 3]

Writes docs/measured/growth.md and docs/images/growth.png. Each point is a whole study on generated people by
`unpooled rehearse`, every party a process of its own on this machine; of several runs the fastest counts,
which is the one that other programs disturbed least. Three things grow in turn, while the others stay.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import matplotlib
import measuring
import numpy as np

from unpooled.simulate import simulate

sys.path.insert(0, str(measuring.HERE.parent / "bench"))
matplotlib.use("Agg")
import memory
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

SECONDS = (2, 3, 4)  # columns of the table
WRITES = (measuring.Table("growth", apart=0.05, free=SECONDS),)
WORK = Path(".cache/growth")
COVARIATES = 4
TESTS = {"linear": "quantitative", "logistic": "case/control"}
COLOUR = {"linear": "#0072b2", "logistic": "#d55e00"}  # Okabe and Ito's
MARKER = {"linear": "o", "logistic": "s"}
INK = "#333333"


@dataclass(frozen=True)
class Size:
    """Size of one study."""

    samples: int = 1_000  # of each cohort
    variants: int = 100_000
    cohorts: int = 3


@dataclass(frozen=True)
class Sweep:
    """Sweep over one dimension: what grows, and the steps in which it does."""

    field: str
    axis: str
    unit: int
    values: tuple[int, ...]
    base: Size = Size()
    """Size of what stays the same."""

    @property
    def sizes(self) -> list[Size]:
        return [replace(self.base, **{self.field: value}) for value in self.values]


SWEEPS = (
    Sweep("samples", "people in each cohort", 1_000, (500, 1_000, 2_000, 4_000)),
    Sweep("variants", "variants", 100_000, (50_000, 100_000, 200_000, 400_000)),
    Sweep("cohorts", "cohorts", 1, (3, 10, 30, 100), Size(samples=200, variants=20_000)),
)
SMALL = (replace(SWEEPS[1], values=(500, 1_000), base=Size(60, 500)),)


@dataclass(frozen=True)
class Cost:
    """Cost of a study: seconds from the moment all cohorts are ready to the files; megabytes of all parties,
    up to the last sum; and the peak of memory of each kind of process.
    """

    seconds: float
    megabytes: float
    peaks: dict[str, int]


Costs = dict[tuple[str, Size], Cost]


def generated(size: Size, cohorts: int, trait: str) -> Path:
    """The files of so many cohorts; made once, and kept. Studies of more cohorts add to those of fewer."""
    folder = WORK / f"{size.samples}x{size.variants} {trait.replace('/', ' ')}"
    if not (folder / "truth.json").exists():
        print(f"generating {cohorts} cohorts of {size}, {trait}", file=sys.stderr)
        folder.mkdir(parents=True, exist_ok=True)
        simulate(
            folder,
            cohorts=[size.samples] * cohorts,
            variants=size.variants,
            missing_rate=(1 / 3, 0.005),
            covariates=COVARIATES,
            trait=trait,
            pooled=False,
        )
    return folder


def measure(test: str, size: Size, most: int) -> Cost:
    """One study; `most` is how many cohorts a study of people and variants like these has."""
    folder = generated(size, most, TESTS[test])
    cohorts = [folder / f"cohort{k + 1}" for k in range(size.cohorts)]
    words = [word for cohort in cohorts for word in ("--bfile", cohort, "--covar", f"{cohort}.cov")]
    command = ["rehearse", "--test", test, *words, "--hide-covar", "--out", folder / "study", "--quiet"]
    peaks = memory.largest_of([sys.executable, "-m", "unpooled_webapp", *map(str, command)])
    if peaks is None:
        sys.exit(f"the study of {size} failed")
    report = json.loads((folder / "study.report.json").read_text())
    return Cost(report["seconds"]["ready_to_files"], report["bytes"]["to_last_sum"] / 1e6, peaks)


def measure_all(sweeps: Sequence[Sweep], tests: Sequence[str], runs: int) -> Costs:
    costs: Costs = {}
    sizes = list(dict.fromkeys(size for sweep in sweeps for size in sweep.sizes))
    for size in sizes:
        most = max(other.cohorts for other in sizes if replace(other, cohorts=size.cohorts) == size)
        for test in tests:
            found = [measure(test, size, most) for _ in range(runs)]
            costs[test, size] = min(found, key=lambda cost: cost.seconds)
            print(test, size, costs[test, size], file=sys.stderr)
    return costs


@dataclass(frozen=True)
class Line:
    """Least squares: cost = fixed + each · size."""

    fixed: float
    each: float
    r_squared: float

    @classmethod
    def through(cls, x: np.ndarray, y: np.ndarray) -> Line:
        each, fixed = np.polyfit(x, y, 1)
        left = y - fixed - each * x
        # Costs that do not change at all are explained by a line, too.
        r_squared = 1 - left.var() / y.var() if y.std() > 1e-3 * y.mean() else 1.0
        return cls(float(fixed), float(each), float(r_squared))


def points(costs: Costs, sweep: Sweep, test: str, what: str) -> tuple[np.ndarray, np.ndarray, Line]:
    """Sizes, costs, and the line through them, its slope for `sweep.unit`."""
    x = np.array(sweep.values) / sweep.unit
    y = np.array([getattr(costs[test, size], what) for size in sweep.sizes])
    return x, y, Line.through(x, y)


# What the page shows


def table(costs: Costs, sweeps: Sequence[Sweep]) -> Iterator[str]:
    yield "| What grows | Test | Seconds | Fixed + each | R² | MB | Fixed + each | R² | Memory, MB |"
    yield "| --- | --- | --- | --- | ---: | --- | --- | ---: | --- |"
    for sweep in sweeps:
        for test in _tests(costs):
            cells = [
                cell
                for what in ("seconds", "megabytes")
                for cell in _cells(*points(costs, sweep, test, what)[1:], sweep)
            ]
            steps = ", ".join(f"{value:,}" for value in sweep.values)
            first, *_, last = (costs[test, size].peaks for size in sweep.sizes)
            grown = (
                f"{party} {first[party] / 1e6:.0f} to {last[party] / 1e6:.0f}" for party in memory.LIMITS
            )
            yield f"| {sweep.axis}: {steps} | {test} | {' | '.join(cells)} | {', '.join(grown)} |"
    yield ""
    base = sweeps[0].base
    yield (
        f"What does not grow stays at {base.samples:,} people in each of {base.cohorts} cohorts, and "
        f"{base.variants:,} variants{_of_cohorts(sweeps)}; {COVARIATES} covariates, missing calls in a third "
        "of the variants. *Each* is for 1,000 people in each cohort, for 100,000 variants, or for a cohort. "
        "*Memory* is the peak of the largest process of its kind, pages of files included, in the smallest "
        "and in the largest study."
    )


def _of_cohorts(sweeps: Sequence[Sweep]) -> str:
    others = [sweep.base for sweep in sweeps if sweep.base != sweeps[0].base]
    return "".join(
        f" (where cohorts grow {base.samples:,} people and {base.variants:,} variants)" for base in others
    )


def _cells(y: np.ndarray, line: Line, sweep: Sweep) -> list[str]:
    sign = "−" if line.each < 0 else "+"  # noqa: RUF001
    found = f"{line.fixed:.1f} {sign} {abs(line.each):.2f}"
    return [", ".join(f"{value:.1f}" for value in y), found, f"{line.r_squared:.3f}"]


def _tests(costs: Costs) -> list[str]:
    return list(dict.fromkeys(test for test, _ in costs))


def draw(costs: Costs, sweeps: Sequence[Sweep], path: Path) -> None:
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    figure, panels = plt.subplots(
        2, len(sweeps), figsize=(10, 5.6), dpi=130, layout="constrained", sharex="col", squeeze=False
    )
    for row, what in zip(panels, ("seconds", "megabytes"), strict=True):
        for axes, sweep in zip(row, sweeps, strict=True):
            _panel(axes, costs, sweep, what)
    panels[0][0].set_ylabel("seconds, ready to files")
    panels[1][0].set_ylabel("MB, all parties")
    panels[0][0].legend(frameon=False)
    figure.savefig(path, metadata={"Software": None})
    plt.close(figure)


def _panel(axes: Axes, costs: Costs, sweep: Sweep, what: str) -> None:
    for test in _tests(costs):
        x, y, line = points(costs, sweep, test, what)
        ends = np.array([0, x.max()])
        axes.plot(ends * sweep.unit, line.fixed + line.each * ends, color=COLOUR[test], lw=1, ls="--")
        axes.plot(x * sweep.unit, y, ls="", marker=MARKER[test], color=COLOUR[test], label=test)
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    if what == "megabytes":
        axes.set_xlabel(sweep.axis, color=INK)


def main() -> None:
    parser = measuring.parser(__doc__)
    parser.add_argument("--runs", type=int, default=1, help="of each study; the fastest counts")
    given = parser.parse_args()
    sweeps, tests = (SMALL, ("linear",)) if given.small else (SWEEPS, tuple(TESTS))
    costs = measure_all(sweeps, tests, given.runs)
    measuring.write(given.out, "growth", table(costs, sweeps))
    draw(costs, sweeps, measuring.picture(given.out, "growth"))


if __name__ == "__main__":
    main()
