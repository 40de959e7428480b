"""Times principal components from simulated PLINK files, next to plink2 on the pooled ones.

    python bench/components.py [--variants 100000] [--samples 20000] [--cohorts 5]

From the moment all cohorts are ready to the result files on disk, every party and HTTP included. plink2 has
one thread, and --pca approx, as it asks of more than 5,000 people.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import rehearsal
from association_files import CACHE, simulated
from memory import rehearsed

COMPONENTS = 10
GOAL = 2.0
"""Times plink2."""
MB_UP, MB_DOWN, MB_PEAK = 130, 150, 500


def main() -> None:
    parser = rehearsal.parser(__doc__)
    parser.add_argument("--variants", type=int, default=100_000)
    parser.add_argument("--samples", type=int, default=20_000, help="of all cohorts together")
    parser.add_argument("--cohorts", type=int, default=5)
    arguments = parser.parse_args()
    data = generated(arguments.variants, arguments.samples, arguments.cohorts)
    found, by_plink = study(data, arguments.cohorts), pooled(data)
    print(f"{arguments.variants:,} variants, {arguments.samples:,} people, {arguments.cohorts} cohorts")
    print(f"  seconds      {found['seconds']:8.2f}")
    print(f"  plink2       {by_plink:8.2f}    (goal {GOAL:g} times that: {GOAL * by_plink:.2f})")
    print(f"  MB up        {found['up'] / 1e6:8.1f}    a cohort (goal {MB_UP})")
    print(f"  MB down      {found['down'] / 1e6:8.1f}    a cohort (goal {MB_DOWN})")
    for party, peak in found["peaks"].items():
        print(f"  MB peak      {peak / 1e6:8.1f}    {party} (goal {MB_PEAK})")


def generated(variants: int, samples: int, cohorts: int) -> Path:
    data = CACHE / f"{variants}x{samples} in {cohorts} for components"
    return simulated(data, [samples // cohorts] * cohorts, variants)


def study(data: Path, count: int) -> dict[str, Any]:
    """Seconds, bytes of a cohort, and the peak memory of each party."""
    out = data / "components"
    for before in data.glob("cohort*.eigenvec*"):  # of an earlier run: a client writes over no other's files
        before.unlink()
    cohorts = [word for k in range(1, count + 1) for word in ("--bfile", data / f"cohort{k}")]
    return rehearsed(out, "--test", "pca", "--pca", COMPONENTS, *cohorts)


def pooled(data: Path) -> float:
    """Seconds of plink2 on the pooled files; NaN where it is not installed."""
    if (plink2 := shutil.which("plink2")) is None:
        return float("nan")
    started = time.perf_counter()
    pca = ("--pca", COMPONENTS, "approx", "allele-wts", "meanimpute")
    command = (plink2, "--bfile", data / "pooled", *pca, "--threads", 1, "--out", data / "plink2")
    subprocess.run([*map(str, command)], check=True, capture_output=True)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
