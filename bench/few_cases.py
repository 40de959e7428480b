"""Times a logistic study of few cases beside one of as many cases as controls, in turn, on this machine.

    python bench/few_cases.py [--variants 100000] [--samples 2000] [--runs 3]

First with PLINK 1.9's report; then with plink2's, for which variants without an estimate have Firth's fit.
From the moment all cohorts are ready to the result files on disk, every party and HTTP included.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

from association_files import CACHE, COHORTS, COVARIATES

from unpooled.simulate import simulate

FEW, HALF, GOAL = 0.01, 0.5, 1.5


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--variants", type=int, default=100_000)
    parser.add_argument("--samples", type=int, default=2_000, help="of each of three cohorts")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    few, half = (generated(arguments.variants, arguments.samples, share) for share in (FEW, HALF))
    for report, what in (("assoc", "the usual fit"), ("glm", "Firth's fit where there is no estimate")):
        pairs = [(seconds(few, report), seconds(half, report)) for _ in range(arguments.runs + 1)]
        show(what, pairs[1:])  # the first warms caches


def show(what: str, pairs: list[tuple[float, float]]) -> None:
    """The medians, and the ratio of each pair, of few cases and of half."""
    ratios = [a / b for a, b in pairs]
    print(f"\nlogistic, {what}, {FEW:.0%} cases beside {HALF:.0%}: {len(pairs)} runs in turn")
    for share, times in zip((FEW, HALF), zip(*pairs, strict=True), strict=True):
        print(f"  {share:4.0%} cases   {statistics.median(times):8.2f} s")
    spread = f"from {min(ratios):.2f} to {max(ratios):.2f}"
    print(f"  ratio        {statistics.median(ratios):8.2f}    ({spread}; goal {GOAL:g})")


def generated(variants: int, samples: int, share: float) -> Path:
    """The simulated files; made once, and kept."""
    data = CACHE / f"{variants}x{samples} with {share:.0%} cases"
    if not (data / "cohort3.bed").exists():
        print(f"generating {COHORTS} cohorts of {samples} samples and {variants} variants", file=sys.stderr)
        data.mkdir(parents=True, exist_ok=True)
        simulate(
            data,
            cohorts=[samples] * COHORTS,
            variants=variants,
            case_fractions=share,
            missing_rate=(1 / 3, 0.005),
            covariates=COVARIATES,
        )
    return data


def seconds(data: Path, report: str) -> float:
    command = [sys.executable, "-m", "unpooled_webapp", "rehearse", "--test", "logistic", "--hide-covar"]
    command += ["--files", report]
    for k in range(COHORTS):
        command += ["--bfile", str(data / f"cohort{k + 1}"), "--covar", str(data / f"cohort{k + 1}.cov")]
    subprocess.run([*command, "--out", str(data / "ours"), "--quiet"], check=True)
    return float(json.loads((data / "ours.report.json").read_text())["seconds"]["ready_to_files"])


if __name__ == "__main__":
    main()
