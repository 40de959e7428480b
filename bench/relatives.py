"""Times a regression beside predictions from simulated PLINK files, and the regression without them.

    python bench/relatives.py [--variants 100000] [--samples 20000] [--cohorts 5]

From the moment all cohorts are ready to the result files on disk, every party and HTTP included; then the
predictions' first step on the pooled genotypes in one process, in NumPy; then the second step, all parties in
one process, beside a regression without predictions.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import rehearsal
from association_files import CACHE, simulated
from memory import rehearsed

from unpooled.asking.cohort import ArrayCohort, Cohort, Samples
from unpooled.asking.question import Arrays
from unpooled.kernels.dosages import COPY
from unpooled.methods.loco.procedure import _blocks
from unpooled.methods.loco.questions import SHARES, Ridge
from unpooled.methods.loco.stacking import KeepPredictions
from unpooled.panel.panel import Panel
from unpooled.plan.plan import NO_KEY, Covariate, Plan
from unpooled.run import run
from unpooled_client.data.plink.bed import BedFile

GB_UP, GB_PEAK, SECOND_STEP = 1.5, 1.5, 1.1


def main() -> None:
    parser = rehearsal.parser(__doc__)
    parser.add_argument("--variants", type=int, default=100_000)
    parser.add_argument("--samples", type=int, default=20_000, help="of all cohorts together")
    parser.add_argument("--cohorts", type=int, default=5)
    arguments = parser.parse_args()
    data = generated(arguments.variants, arguments.samples, arguments.cohorts)
    plain = study(data, arguments.cohorts)
    found = study(data, arguments.cohorts, "--loco")
    print(f"{arguments.variants:,} variants, {arguments.samples:,} people, {arguments.cohorts} cohorts")
    print(f"  seconds      {found['seconds']:8.2f}    ({plain['seconds']:.2f} without predictions)")
    print(f"  in NumPy     {in_numpy(data, arguments.cohorts):8.2f}    the first step, pooled")
    for test in ("linear", "logistic"):
        print(f"  ratio        {second_step(test):8.2f}    the second step, {test} (goal {SECOND_STEP})")
    print(f"  GB up        {found['up'] / 1e9:8.3f}    a cohort (goal {GB_UP})")
    print(f"  GB down      {found['down'] / 1e9:8.3f}    a cohort")
    for party, peak in found["peaks"].items():
        print(f"  GB peak      {peak / 1e9:8.3f}    {party} (goal {GB_PEAK})")


def generated(variants: int, samples: int, cohorts: int) -> Path:
    data = CACHE / f"{variants}x{samples} in {cohorts} for predictions"
    return simulated(data, [samples // cohorts] * cohorts, variants, trait="quantitative", pooled=False)


def study(data: Path, count: int, *words: str) -> dict[str, Any]:
    """Seconds, bytes of a cohort, and the peak memory of each party."""
    cohorts = [word for k in range(1, count + 1) for word in ("--bfile", data / f"cohort{k}")]
    out = data / "_".join(("relatives", *(word.strip("-") for word in words)))
    return rehearsed(out, "--test", "linear", *words, *cohorts)


def in_numpy(data: Path, count: int) -> float:
    """Seconds of ridge regressions on blocks of pooled genotypes, and of one on their predictions."""
    started = time.perf_counter()
    beds, y = list[BedFile](), list[float]()
    for k in range(1, count + 1):
        prefix = data / f"cohort{k}"
        rows = [line.split() for line in prefix.with_suffix(".fam").read_text().splitlines()]
        bim = [line.split() for line in prefix.with_suffix(".bim").read_text().splitlines()]
        beds.append(BedFile(prefix.with_suffix(".bed"), len(rows), len(bim)))
        y += [float(row[5]) for row in rows]
    people = len(y)
    codes = np.array([int(row[0]) if row[0].isdecimal() and int(row[0]) < 23 else 0 for row in bim])
    blocks = [np.flatnonzero(codes)[part] for part in _blocks(codes[codes > 0], people // 20)]
    residual = np.array(y) - np.mean(y)
    residual /= residual.std()
    columns = np.arange(len(SHARES))
    w = np.empty((people, len(blocks) * len(SHARES)))
    for number, block in enumerate(blocks):
        x = np.concatenate([_copies(bed, block) for bed in beds])
        x = (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-9)
        shifts = sum(map(len, blocks)) * (1 - np.array(SHARES)) / np.array(SHARES)
        ridge = Ridge((x.T @ x)[np.triu_indices(len(block))], x.T @ residual, shifts)
        w[:, number * len(SHARES) + columns] = residual[:, None] - ridge.errors(x, residual)
    w = (w - w.mean(axis=0)) / w.std(axis=0)
    Ridge((w.T @ w)[np.triu_indices(w.shape[1])], w.T @ residual, np.ones(1)).errors(w, residual)
    return time.perf_counter() - started


def second_step(test: str, variants: int = 30_000, people: int = 6_000) -> float:
    """Least processor time of three regressions once they have predictions, over that of three without."""
    random = np.random.default_rng(1)
    copies = random.binomial(2, random.uniform(0.05, 0.5, (variants, 1)), (variants, people)).astype(np.int8)
    rows = [(k * 22 // variants + 1, k + 1, f"v{k}".encode(), b"A", b"C") for k in range(variants)]
    value, covariates = random.normal(size=people), random.normal(size=(people, 4))
    value = value if test == "linear" else (value > 0.5).astype(float)
    cohorts = []
    for part in np.array_split(np.arange(people), 3):
        yes = np.ones(len(part), bool)
        samples = Samples(value[part], np.ones(len(part), np.uint8), yes, yes, covariates[part])
        cohorts.append(ArrayCohort(samples, copies[:, part], np.zeros(variants, bool)))
    about: dict[str, Any] = {"files": ("assoc",), "covariates": tuple(map(Covariate, "abcd"))}
    about["trait"] = "quantitative" if test == "linear" else "case/control"
    seconds: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(3):
        for loco, found in seconds.items():
            plan = Plan(test, "value", 3, NO_KEY, loco=loco, **about)
            with _watched() as ends:
                begins = time.process_time()
                run(plan, Panel.of(rows), cohorts)
                found.append(time.process_time() - (ends or [begins])[-1])
    return min(seconds[True]) / min(seconds[False])


@contextmanager
def _watched() -> Iterator[list[float]]:
    """Note the processor time whenever a cohort has the predictions that it keeps."""
    ends, local = list[float](), KeepPredictions.local

    def noting(question: KeepPredictions, cohort: Cohort) -> Arrays:
        found = local(question, cohort)
        ends.append(time.process_time())
        return found

    with mock.patch.object(KeepPredictions, "local", noting):
        yield ends


def _copies(bed: BedFile, block: np.ndarray) -> np.ndarray:
    """Copies of A1, a missing call counted as none: float64 (people, variants)."""
    found = bed.dosages(block)
    return np.asarray(np.where(found > 2 * COPY, 0, found / COPY).T)


if __name__ == "__main__":
    main()
