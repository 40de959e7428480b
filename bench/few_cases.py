"""Times a logistic study of few cases beside one of as many cases as controls, in turn, on this machine.

    python bench/few_cases.py [--variants 100000] [--samples 2000] [--runs 3]

First with PLINK 1.9's report; then with plink2's, for which variants without an estimate have Firth's fit.
From the moment all cohorts are ready to the result files on disk, every party and HTTP included.
"""

from __future__ import annotations

import statistics
from pathlib import Path

import rehearsal
from association_files import CACHE, COHORTS, COVARIATES, simulated

FEW, HALF, GOAL = 0.01, 0.5, 1.5


def main() -> None:
    parser = rehearsal.parser(__doc__)
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
    return simulated(
        CACHE / f"{variants}x{samples} with {share:.0%} cases",
        [samples] * COHORTS,
        variants,
        case_fractions=share,
        missing_rate=(1 / 3, 0.005),
        covariates=COVARIATES,
    )


def seconds(data: Path, report: str) -> float:
    words: list[object] = ["--test", "logistic", "--hide-covar", "--files", report]
    for k in range(COHORTS):
        words += ["--bfile", data / f"cohort{k + 1}", "--covar", data / f"cohort{k + 1}.cov"]
    return float(rehearsal.rehearsed(data / "ours", *words)["seconds"]["ready_to_files"])


if __name__ == "__main__":
    main()
