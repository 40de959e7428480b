"""Times studies without a compensator beside the same with one, in turn, on this machine.

    python bench/trusts.py [--cohorts 3] [--variants 100000] [--samples 1000] [--runs 3]

From the moment all cohorts are ready to the result files on disk, every party and HTTP included; and the
bytes until the last sum. The reports of both must be the same.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

from association_files import CACHE

from unpooled.plan.common_options import TRUST
from unpooled.simulate import simulate

TRUSTS = [answer.value for answer in TRUST.answers]
TESTS = {"chi-square": "assoc", "linear": "assoc.linear", "logistic": "assoc.logistic"}
GOALS = {3: 1.1, 20: 1.5}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cohorts", type=int, default=3)
    parser.add_argument("--variants", type=int, default=100_000)
    parser.add_argument("--samples", type=int, default=1_000, help="of each cohort")
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    for test, report in TESTS.items():
        data = generated(test, given.cohorts, given.variants, given.samples)
        pairs = [[measured(data, test, trust) for trust in TRUSTS] for _ in range(given.runs + 1)]
        reports = {(data / f"{trust}.{report}").read_bytes() for trust in TRUSTS}
        if len(reports) > 1:
            sys.exit(f"{test}: the reports differ")
        show(test, given.cohorts, pairs[1:])  # the first warms caches


def show(test: str, cohorts: int, pairs: list[list[tuple[float, int]]]) -> None:
    print(f"\n{test}, {cohorts} cohorts: {len(pairs)} runs in turn")
    for trust, runs in zip(TRUSTS, zip(*pairs, strict=True), strict=True):
        seconds, size = (statistics.median(values) for values in zip(*runs, strict=True))
        print(f"  {trust:12} {seconds:8.2f} s {size:14,.0f} bytes")
    ratios = [ours / theirs for (theirs, _), (ours, _) in pairs]
    goal = f"; goal {GOALS[cohorts]:g}" if cohorts in GOALS else ""
    spread = f"from {min(ratios):.2f} to {max(ratios):.2f}{goal}"
    print(f"  ratio        {statistics.median(ratios):8.2f}    ({spread})")


def generated(test: str, cohorts: int, variants: int, samples: int) -> Path:
    """The simulated files; made once, and kept."""
    trait = "quantitative" if test == "linear" else "case/control"
    data = CACHE / f"{cohorts} cohorts, {variants}x{samples}, {trait.replace('/', '-')}"
    if not (data / f"cohort{cohorts}.bed").exists():
        print(f"generating {cohorts} cohorts of {samples} samples and {variants} variants", file=sys.stderr)
        data.mkdir(parents=True, exist_ok=True)
        sizes = [samples] * cohorts
        simulate(data, cohorts=sizes, variants=variants, covariates=2, trait=trait, pooled=False)
    return data


def measured(data: Path, test: str, trust: str) -> tuple[float, int]:
    """Seconds from ready to files, and bytes until the last sum, of one study."""
    command = [sys.executable, "-m", "unpooled_webapp", "rehearse", "--test", test, "--trust", trust]
    command += ["--files", "assoc"]
    for bed in sorted(data.glob("cohort*.bed")):
        command += ["--bfile", str(bed.with_suffix(""))]
        if test != "chi-square":
            command += ["--covar", str(bed.with_suffix(".cov"))]
    subprocess.run([*command, "--out", str(data / trust), "--quiet"], check=True)
    report = json.loads((data / f"{trust}.report.json").read_text())
    return float(report["seconds"]["ready_to_files"]), int(report["bytes"]["to_last_sum"])


if __name__ == "__main__":
    main()
