"""Times a regression beside predictions from simulated PLINK files, and the regression without them.

    python bench/relatives.py [--variants 100000] [--samples 20000] [--cohorts 5]

From the moment all cohorts are ready to the result files on disk, every party and HTTP included; then the
predictions' first step on the pooled genotypes in one process, in NumPy.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import rehearsal
from association_files import CACHE, simulated
from memory import rehearsed

from unpooled.kernels.dosages import COPY
from unpooled.methods.loco.procedure import _blocks
from unpooled.methods.loco.questions import SHARES, Ridge
from unpooled_client.data.plink.bed import BedFile

GB_UP, GB_PEAK = 1.5, 1.5


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


def _copies(bed: BedFile, block: np.ndarray) -> np.ndarray:
    """Copies of A1, a missing call counted as none: float64 (people, variants)."""
    found = bed.dosages(block)
    return np.asarray(np.where(found > 2 * COPY, 0, found / COPY).T)


if __name__ == "__main__":
    main()
