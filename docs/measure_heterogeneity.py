"""Measures what uneven cohorts cost a meta-analysis, and what a federated study; draws it, too.

    .venv/bin/python docs/measure_heterogeneity.py

Writes docs/measured/heterogeneity-*.md and docs/images/heterogeneity.png. These are the six scenarios of
sPLINK's paper (its table S2), on generated people: a pool is dealt to three cohorts of 1,781, with case
fractions from balanced to severely uneven, and once with pack-years of smoking very unlike between cohorts.
Each time a logistic regression with sex, age, smoking and pack-years is run by plink1.9 on the pool, by
`unpooled rehearse` over the cohorts, and by plink1.9 in each cohort with --meta-analysis of the three.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import matplotlib
import measuring
import numpy as np
import statsmodels.api as sm
from scipy import stats

from unpooled.simulate import simulate

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

WRITES = (
    measuring.Table("heterogeneity-scenarios"),
    measuring.Table("heterogeneity-correlations"),
    measuring.Table("heterogeneity-hits"),
)
WORK = Path(".cache/heterogeneity")
SEED = 1
VARIANTS = 20_000  # before those with a minor allele below 5 % go
EFFECTS = tuple(np.geomspace(1.2, 1.5, 40).round(3).tolist())  # odds ratios per copy
GENOME_WIDE = 5e-8
COVARIATES = ("SEX", "AGE", "SMOKING", "PACKYEARS")
COHORT = "COHORT"

UNPOOLED, WITHIN = "Unpooled", "Unpooled, cohort as covariate"
FIXED, RANDOM = "Fixed effect", "Random effect"
# Okabe and Ito's colours, which nearly everybody can tell apart.
COLOUR = {UNPOOLED: "#0072b2", FIXED: "#d55e00", RANDOM: "#009e73", WITHIN: "#56b4e9"}
MARKER = {UNPOOLED: "o", FIXED: "s", RANDOM: "^", WITHIN: "D"}
INK, PALE, SHADE = "#333333", "#b5b5b5", "#f4ecd8"


@dataclass(frozen=True)
class Scenario:
    """Scenario of how the pool is dealt to the cohorts."""

    name: str
    title: str
    counts: tuple[tuple[int, int], ...]
    """Cases and controls of each cohort."""
    by_smoking: bool = False
    """True if those with few pack-years tend to the first cohort, and those with many to the last."""

    @property
    def cases(self) -> int:
        return sum(cases for cases, _ in self.counts)

    @property
    def samples(self) -> int:
        return sum(map(sum, self.counts))

    def smaller(self, times: int) -> Scenario:
        """Return the scenario with so many times fewer cases and controls."""
        counts = tuple((cases // times, controls // times) for cases, controls in self.counts)
        return replace(self, counts=counts)


SCENARIOS = (
    Scenario("I", "balanced", ((937, 844), (937, 844), (937, 844))),
    Scenario("II", "slightly uneven", ((737, 1044), (937, 844), (1137, 644))),
    Scenario("III", "moderately uneven", ((537, 1244), (937, 844), (1337, 444))),
    Scenario("IV", "highly uneven", ((337, 1444), (937, 844), (1537, 244))),
    Scenario("V", "severely uneven", ((237, 1544), (937, 844), (1637, 144))),
    Scenario("VI", "uneven pack-years", ((936, 845), (936, 845), (937, 844)), by_smoking=True),
)
SMALL = (SCENARIOS[3].smaller(12),)


# The pool


@dataclass(frozen=True, eq=False)
class Pool:
    """Everybody's genotypes, in PLINK files at `prefix`, and what else is known of the n people."""

    prefix: Path
    people: list[list[str]]  # FID and IID
    case: np.ndarray  # bool (n,)
    covariates: np.ndarray  # float64 (n, COVARIATES)
    planted: frozenset[str]  # IDs


def generate(folder: Path, samples: int, cases: int, variants: int, effects: Sequence[float]) -> Pool:
    """A pool without structure: genotypes other than the planted ones know nothing of case or covariates."""
    drawn = simulate(
        folder,
        cohorts=[samples],
        variants=variants,
        seed=SEED,
        case_fractions=cases / samples,
        missing_rate=(0.3, 0.005),
        effects=effects,
    )
    prefix = folder / "pool"
    plink("--bfile", drawn.pooled, "--maf", 0.05, "--make-bed", "--keep-allele-order", "--out", prefix)
    rows = [line.split() for line in prefix.with_suffix(".fam").read_text().splitlines()]
    case = np.array([row[5] == "2" for row in rows])
    male = np.array([row[4] == "1" for row in rows])
    return Pool(prefix, [row[:2] for row in rows], case, covariates(case, male), frozenset(drawn.planted))


def covariates(case: np.ndarray, male: np.ndarray) -> np.ndarray:
    """Cases are older and smoked more; given these, a logistic model is the true one.

    Normals of one deviation, and gammas of one shape, have a log-odds linear in the value.
    """
    random = np.random.default_rng(SEED)
    age = random.normal(np.where(case, 63.0, 59.0), 8.5)
    smoking = random.random(len(case)) < np.where(case, 0.40, 0.48)
    pack_years = random.gamma(4.0, np.where(case, 13.0, 9.5))
    return np.column_stack([np.where(male, 1, 2), age.round(1), smoking, pack_years.round(1)])


def deal(pool: Pool, scenario: Scenario) -> np.ndarray:
    """The cohort of each person, int (n,), with exactly the scenario's cases and controls.

    Cases and controls are put in a row, each for themselves, and cut: at random, or by pack-years with some
    noise and a little by sex. Scenarios that deal at random have the same row, so they differ by few people.
    """
    random = np.random.default_rng(SEED)
    place = random.random(len(pool.case))
    if scenario.by_smoking:
        sex, pack_years = pool.covariates[:, 0], pool.covariates[:, 3]
        place = stats.rankdata(pack_years) / len(place) + 0.1 * (sex == 1) + 0.2 * place
    cohort = np.empty(len(place), int)
    for group, sizes in zip((pool.case, ~pool.case), np.transpose(scenario.counts), strict=True):
        members = np.flatnonzero(group)
        cohort[members[np.argsort(place[members])]] = np.repeat(np.arange(len(sizes)), sizes)
    return cohort


def information(pool: Pool, cohort: np.ndarray) -> float:
    """Share of the pool's information on a variant that is left when each cohort is fitted by itself.

    For a genotype that has nothing to do with the covariates, Fisher's information on a small effect is its
    variance times the sum over people of p (1 - p), p being the chance to be a case that the covariates give.
    """

    def weight(of: np.ndarray) -> float:
        fit = sm.Logit(pool.case[of].astype(float), sm.add_constant(pool.covariates[of])).fit(disp=0)
        p = fit.predict()
        return float((p * (1 - p)).sum())

    parts = [weight(cohort == k) for k in np.unique(cohort)]
    return sum(parts) / weight(np.full(len(cohort), True))


# The analyses


def plink(*words: object) -> None:
    program = shutil.which("plink1.9") or sys.exit("plink1.9 is not installed: apt-get install plink1.9")
    _call(program, *words)


def _call(*words: object) -> None:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")


def write_covariates(pool: Pool, cohort: np.ndarray, path: Path) -> None:
    """The four covariates, and the cohort as a fifth."""
    lines = [" ".join(["FID", "IID", *COVARIATES, COHORT])]
    for who, row, number in zip(pool.people, pool.covariates, cohort, strict=True):
        lines.append(" ".join([*who, *(f"{value:g}" for value in row), str(number + 1)]))
    path.write_text("\n".join(lines) + "\n")


def split(pool: Pool, cohort: np.ndarray, folder: Path) -> list[Path]:
    """PLINK files of each cohort, with alleles in the pool's order."""
    prefixes = []
    for k in np.unique(cohort):
        prefix = folder / f"cohort{k + 1}"
        keep = prefix.with_suffix(".keep")
        members = [who for who, own in zip(pool.people, cohort, strict=True) if own == k]
        keep.write_text("".join(f"{' '.join(who)}\n" for who in members))
        plink("--bfile", pool.prefix, "--keep", keep, "--make-bed", "--keep-allele-order", "--out", prefix)
        prefixes.append(prefix)
    return prefixes


def logistic(prefix: Path, covar: Path, out: Path) -> Path:
    """plink1.9's regression, with what a meta-analysis needs of it."""
    model = ["--logistic", "beta", "hide-covar", "--ci", 0.95, "--keep-allele-order"]
    plink("--bfile", prefix, *model, "--covar", covar, "--covar-name", ",".join(COVARIATES), "--out", out)
    return Path(f"{out}.assoc.logistic")


def meta_analysis(parts: Sequence[Path], covar: Path, out: Path) -> Path:
    reports = [logistic(part, covar, part) for part in parts]
    plink("--meta-analysis", *reports, "+", "logscale", "--out", out)
    return Path(f"{out}.meta")


def federated(parts: Sequence[Path], covar: Path, out: Path, *more: str) -> Path:
    """A whole federation on this machine: every party a process, over HTTP."""
    cohorts = [word for part in parts for word in ("--bfile", part)]
    model = ["--test", "logistic", "--covar", covar, "--covar-name", ",".join([*COVARIATES, *more])]
    if COHORT in more:
        # Here all cohorts are on one machine: what the server could see of each is nobody's secret.
        levels = ",".join(str(k + 1) for k in range(len(parts)))
        model += ["--categorical", f"{COHORT}={levels}", "--cohort-sums"]
    _call(sys.executable, "-m", "unpooled_webapp", "rehearse", *cohorts, *model,
          "--hide-covar", "--quiet", "--out", out)  # fmt: skip
    return Path(f"{out}.assoc.logistic")


# What comes of them


def read(path: Path, column: str = "P") -> dict[str, float]:
    """P by variant, without those that have none; of a meta-analysis only variants that every cohort has."""
    lines = [line.split() for line in path.read_text().splitlines()]
    name, value = lines[0].index("SNP"), lines[0].index(column)
    rows = lines[1:]
    if "N" in lines[0]:
        cohorts = lines[0].index("N")
        most = max((row[cohorts] for row in rows), key=int)
        rows = [row for row in rows if row[cohorts] == most]
    return {row[name]: float(row[value]) for row in rows if row[value] != "NA"}


@dataclass(frozen=True)
class Agreement:
    """One analysis beside the pooled one, over the variants for which both have a P."""

    pearson: float
    spearman: float
    largest: float
    """Largest difference of -log10 P."""
    found: int
    """Genome-wide hits that the pooled analysis has too,"""
    missed: int
    """those that only the pooled analysis has,"""
    extra: int
    """and those that it has not."""
    false: int
    """Hits, pooled or not, that were not planted."""
    power: float
    """Chi-square of the planted variants, as a share of that in the pooled analysis."""


def agreement(pooled: dict[str, float], other: dict[str, float], planted: frozenset[str]) -> Agreement:
    shared = [name for name in pooled if name in other]
    x, y = (-np.log10([found[name] for name in shared]) for found in (pooled, other))
    hits, own = hits_of(pooled), hits_of(other)
    effects = [name for name in shared if name in planted]
    theirs, ours = (stats.chi2.isf([found[name] for name in effects], 1).sum() for found in (pooled, other))
    return Agreement(
        pearson=float(stats.pearsonr(x, y).statistic),
        spearman=float(stats.spearmanr(x, y).statistic),
        largest=float(np.abs(x - y).max()),
        found=len(own & hits),
        missed=len(hits - own),
        extra=len(own - hits),
        false=len(own - planted),
        power=float(ours / theirs),
    )


def hits_of(p: dict[str, float]) -> set[str]:
    return {name for name, value in p.items() if value < GENOME_WIDE}


@dataclass(frozen=True, eq=False)
class Outcome:
    """All analyses of one scenario."""

    scenario: Scenario
    planted: frozenset[str]
    information: float
    pack_years: list[float]  # mean of each cohort
    men: list[float]  # share of each cohort
    pooled: dict[str, float]
    others: dict[str, dict[str, float]]

    def agreement(self, analysis: str) -> Agreement:
        return agreement(self.pooled, self.others[analysis], self.planted)


def measure(pool: Pool, scenario: Scenario, folder: Path) -> Outcome:
    folder.mkdir(parents=True, exist_ok=True)
    cohort, covar = deal(pool, scenario), folder / "covariates"
    write_covariates(pool, cohort, covar)
    parts = split(pool, cohort, folder)
    meta = meta_analysis(parts, covar, folder / "three")
    members = [pool.covariates[cohort == k] for k in range(len(parts))]
    return Outcome(
        scenario=scenario,
        planted=pool.planted,
        information=information(pool, cohort),
        pack_years=[float(own[:, 3].mean()) for own in members],
        men=[float((own[:, 0] == 1).mean()) for own in members],
        pooled=read(logistic(pool.prefix, covar, folder / "pooled")),
        others={
            UNPOOLED: read(federated(parts, covar, folder / "ours")),
            FIXED: read(meta, "P"),
            RANDOM: read(meta, "P(R)"),
            WITHIN: read(federated(parts, covar, folder / "within", COHORT)),
        },
    )


# What the page shows


def scenarios(outcomes: list[Outcome]) -> Iterator[str]:
    yield "| Scenario | Cases/controls | Pack-years | Men, % | Information left | χ², fixed | χ², random |"
    yield "| --- | --- | --- | --- | ---: | ---: | ---: |"
    for outcome in outcomes:
        scenario = outcome.scenario
        counts = ", ".join(f"{cases}/{controls}" for cases, controls in scenario.counts)
        smoked = ", ".join(f"{mean:.0f}" for mean in outcome.pack_years)
        men = ", ".join(f"{100 * share:.0f}" for share in outcome.men)
        shares = outcome.information, *(outcome.agreement(analysis).power for analysis in (FIXED, RANDOM))
        numbers = " | ".join(f"{share:.2f}" for share in shares)
        yield f"| {scenario.name}, {scenario.title} | {counts} | {smoked} | {men} | {numbers} |"
    yield ""
    yield (
        "Pack-years are means. *Information left*: of the pool's information on a variant, the share that "
        f"lies within cohorts. *χ²*: of the {len(EFFECTS)} planted variants together, likewise."
    )


def correlations(outcomes: list[Outcome]) -> Iterator[str]:
    analyses = list(outcomes[0].others)
    yield f"| Scenario | {' | '.join(analyses)} |"
    yield "| --- |" + " ---: |" * len(analyses)
    for outcome in outcomes:
        found = [outcome.agreement(analysis) for analysis in analyses]
        cells = " | ".join(f"{each.pearson:.3f} / {each.spearman:.3f}" for each in found)
        yield f"| {outcome.scenario.name} | {cells} |"
    yield ""
    largest = max(outcome.agreement(UNPOOLED).largest for outcome in outcomes)
    lowest = min(outcome.agreement(UNPOOLED).spearman for outcome in outcomes)
    yield (
        f"Pearson's / Spearman's, over {len(outcomes[0].pooled):,} variants. Unpooled's are at least "
        f"{np.floor(1e8 * lowest) / 1e8:.8f}; its −log₁₀ P is off by {largest:.1g} at most."  # noqa: RUF001
    )


def hits(outcomes: list[Outcome]) -> Iterator[str]:
    analyses = list(outcomes[0].others)
    yield f"| Scenario | Pooled | {' | '.join(analyses)} |"
    yield "| --- | ---: |" + " ---: |" * len(analyses)
    for outcome in outcomes:
        cells = " | ".join(_hits(outcome.agreement(analysis)) for analysis in analyses)
        yield f"| {outcome.scenario.name} | {len(hits_of(outcome.pooled))} | {cells} |"
    yield ""
    false = sum(outcome.agreement(analysis).false for outcome in outcomes for analysis in analyses)
    yield (
        "Hits (P < 5·10⁻⁸) of the pooled analysis that are found; in brackets those missed, and those that "
        f"only this analysis has. {len(EFFECTS)} variants have an effect, with odds ratios from "
        f"{EFFECTS[0]:g} to {EFFECTS[-1]:g}; of the hits in this table {false or 'none'} lack one."
    )


def _hits(found: Agreement) -> str:
    return f"{found.found} ({found.missed}, {found.extra})"


def draw(outcomes: list[Outcome], path: Path) -> None:
    """A panel for each scenario and analysis, and below them the correlations and the hits."""
    plt.rcParams.update({"font.size": 8, "axes.spines.top": False, "axes.spines.right": False})
    figure = plt.figure(figsize=(11, 9), dpi=130, facecolor="white", layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=(2.1, 1))
    shown = (UNPOOLED, FIXED, RANDOM)
    panels = above.subplots(len(shown), len(outcomes), sharex=True, sharey=True, squeeze=False)
    limit = 1.05 * max(-np.log10(min(p.values())) for o in outcomes for p in (o.pooled, *o.others.values()))
    for row, analysis in zip(panels, shown, strict=True):
        for axes, outcome in zip(row, outcomes, strict=True):
            _scatter(axes, outcome, analysis, limit)
        row[0].set_ylabel(analysis, color=COLOUR[analysis], fontsize=10, fontweight="bold")
    for axes, outcome in zip(panels[0], outcomes, strict=True):
        axes.set_title(f"{outcome.scenario.name}\n{outcome.scenario.title}", fontsize=9, color=INK)
    key = "coloured: planted variants; grey: all others; dotted: 5·10⁻⁸; shaded: missed"
    above.supxlabel(f"−log₁₀ P of the pooled analysis   ({key})", fontsize=9)  # noqa: RUF001
    above.supylabel("−log₁₀ P", fontsize=9)  # noqa: RUF001
    left, middle, right = below.subplots(1, 3)
    _summary(left, outcomes, "pearson", "Pearson correlation with the pooled −log₁₀ P")  # noqa: RUF001
    _summary(middle, outcomes, "spearman", "Spearman correlation")
    _summary(right, outcomes, "found", "Hits of the pooled analysis that are found")
    left.legend(frameon=False, loc="lower left")
    figure.savefig(path, metadata={"Software": None})
    plt.close(figure)


def _scatter(axes: Axes, outcome: Outcome, analysis: str, limit: float) -> None:
    own = outcome.others[analysis]
    line = -np.log10(GENOME_WIDE)
    for planted in (False, True):
        names = [name for name in outcome.pooled if name in own and (name in outcome.planted) == planted]
        x, y = (-np.log10([p[name] for name in names]) for p in (outcome.pooled, own))
        colour, size = (COLOUR[analysis], 14) if planted else (PALE, 3)
        axes.scatter(x, y, s=size, c=colour, linewidths=0, rasterized=True, zorder=3 if planted else 2)
    axes.fill_between([line, limit], 0, line, color=SHADE, zorder=0, linewidth=0)
    axes.axline((0, 0), slope=1, color=INK, lw=0.6)
    axes.axhline(line, color=INK, lw=0.6, ls=":")
    axes.axvline(line, color=INK, lw=0.6, ls=":")
    missed = outcome.agreement(analysis).missed
    axes.text(0.97 * limit, 0.03 * limit, f"{missed} missed", ha="right", va="bottom", fontsize=8, color=INK)
    axes.set(xlim=(0, limit), ylim=(0, limit), aspect="equal")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True, nbins=4))


def _summary(axes: Axes, outcomes: list[Outcome], number: str, title: str) -> None:
    """One number of each analysis; lines join the scenarios that deal at random, from even to uneven."""
    at_random = [k for k, outcome in enumerate(outcomes) if not outcome.scenario.by_smoking]
    for analysis, marker in MARKER.items():
        values = [getattr(outcome.agreement(analysis), number) for outcome in outcomes]
        hollow = {"markersize": 9, "markerfacecolor": "none"} if analysis == WITHIN else {"markersize": 5}
        style = {"color": COLOUR[analysis], "marker": marker, "clip_on": False, **hollow}
        axes.plot(range(len(values)), values, ls="", label=analysis, **style)
        axes.plot(at_random, [values[k] for k in at_random], color=COLOUR[analysis], lw=1.2)
    axes.set_ylim(bottom=0)
    axes.set_title(title, fontsize=9, color=INK)
    axes.set_xticks(range(len(outcomes)), [outcome.scenario.name for outcome in outcomes])


def main() -> None:
    given = measuring.parser(__doc__).parse_args()
    wanted, variants = (SMALL, 500) if given.small else (SCENARIOS, VARIANTS)
    pools: dict[int, Pool] = {}
    outcomes = []
    for scenario in wanted:
        folder = WORK / f"{scenario.samples} people"
        if scenario.cases not in pools:
            into = folder / f"{scenario.cases} cases"
            pools[scenario.cases] = generate(into, scenario.samples, scenario.cases, variants, EFFECTS)
        outcomes.append(measure(pools[scenario.cases], scenario, folder / scenario.name))
    for table in (scenarios, correlations, hits):
        measuring.write(given.out, f"heterogeneity-{table.__name__}", table(outcomes))
    draw(outcomes, measuring.picture(given.out, "heterogeneity"))


if __name__ == "__main__":
    main()
