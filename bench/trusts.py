"""Times studies by whom they trust with their masks, in turn, on this machine.

    python bench/trusts.py [chi-square linear logistic] [--trusts cohorts encrypted] [--cohorts 3]
        [--variants 60000] [--samples 1000] [--runs 3] [--write]

From the moment all cohorts are ready to the result files on the platform, every party and HTTP included; and
the bytes until the last sum. The reports must be the same. `--write` puts the medians of the processor's time
into the table of docs/performance.md, where the other studies stay as they were.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import rehearsal
from association_files import CACHE, simulated
from processor import Watch

from unpooled.plan.common_options import COHORTS, COMPENSATOR, TRUST

TESTS = {"chi-square": "assoc", "linear": "assoc.linear", "logistic": "assoc.logistic"}
PAGE = Path(__file__).resolve().parents[1] / "docs" / "performance.md"
_TABLE = re.compile(r"(?<=<!-- made by bench/trusts.py -->\n)(.*?\n.*?\n)(.*?)(?=<!-- end -->)", re.DOTALL)


class Run(NamedTuple):
    seconds: float
    processor: float
    """Seconds, of all parties."""
    megabytes: float


def main() -> None:
    parser = rehearsal.parser(__doc__)
    parser.add_argument("tests", nargs="*", metavar="test", default=list(TESTS), help=", ".join(TESTS))
    parser.add_argument(
        "--trusts", nargs="+", default=[COHORTS], choices=[answer.value for answer in TRUST.answers]
    )
    parser.add_argument("--cohorts", type=int, default=3)
    parser.add_argument("--variants", type=int, default=60_000)
    parser.add_argument("--samples", type=int, default=1_000, help="of each cohort")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    trusts = [COMPENSATOR, *given.trusts]
    for test in given.tests:
        data = generated(test, given.cohorts, given.variants, given.samples)
        turns = [[measured(data, test, trust) for trust in trusts] for _ in range(given.runs)]
        reports = {(data / f"{trust}.{TESTS[test]}").read_bytes() for trust in trusts}
        if len(reports) > 1:
            sys.exit(f"{test}: the reports differ")
        study = f"{test} | {given.cohorts} | {given.samples:,} | {given.variants:,}"
        for trust, *runs in zip(trusts, *turns, strict=True):
            line = row(f"{study} | `{trust}`", runs, [turn[0] for turn in turns])
            sys.stdout.write(f"{line}\n")
            if given.write:
                PAGE.write_text(
                    _TABLE.sub(lambda found, line=line: renewed(*found.groups(), line), PAGE.read_text())
                )


def row(study: str, runs: list[Run], with_compensator: list[Run]) -> str:
    """Write a line of the table: medians, and the ratios to what ran beside it, in their range."""
    of_seconds, of_processor = (
        sorted(ours[k] / theirs[k] for ours, theirs in zip(runs, with_compensator, strict=True))
        for k in (0, 1)
    )
    seconds, processor, megabytes = map(statistics.median, zip(*runs, strict=True))
    sys.stderr.write(f"{study}: {seconds:.1f} s, {statistics.median(of_seconds):.2f} times as long\n")
    ratio = f"{statistics.median(of_processor):.2f} ({of_processor[0]:.2f} to {of_processor[-1]:.2f})"
    return (
        f"| {study} | {processor:.1f} s | {ratio if runs != with_compensator else ''} | {megabytes:,.1f} MB |"
    )


def renewed(head: str, rows: str, line: str) -> str:
    """The table with a line in the place of the one about the same study, or at its end."""
    about = line.split("|")[1:6]
    kept = [each for each in rows.splitlines() if each.split("|")[1:6] != about]
    return head + "\n".join(sorted([*kept, line], key=_place)) + "\n"


def _place(line: str) -> tuple[int, ...]:
    test, cohorts, people, variants, trust = (
        cell.strip(" `").replace(",", "") for cell in line.split("|")[1:6]
    )
    trusts = [answer.value for answer in TRUST.answers]
    return (int(cohorts), -int(variants), int(people), list(TESTS).index(test), trusts.index(trust))


def generated(test: str, cohorts: int, variants: int, samples: int) -> Path:
    trait = "quantitative" if test == "linear" else "case/control"
    data = CACHE / f"{cohorts} cohorts, {variants}x{samples}, {trait.replace('/', '-')}"
    return simulated(data, [samples] * cohorts, variants, covariates=2, trait=trait, pooled=False)


def measured(data: Path, test: str, trust: str) -> Run:
    """Run one study."""
    words: list[object] = ["--test", test, "--trust", trust, "--files", "assoc"]
    for bed in sorted(data.glob("cohort*.bed")):
        words += ["--bfile", bed.with_suffix("")]
        if test != "chi-square":
            words += ["--covar", bed.with_suffix(".cov")]
    with subprocess.Popen(rehearsal.command(data / trust, *words)) as study:
        watch = Watch(study.pid)
        status = study.wait()
        watch.stop()
    if status:
        sys.exit(f"{test}, {trust}: the rehearsal ended with {status}")
    report = rehearsal.report(data / trust)
    seconds = report["seconds"]["ready_to_platform"]
    # Reports have no times of day; the files were here when the seconds to them were over.
    made = (data / f"{trust}.{TESTS[test]}").stat().st_mtime
    ready = made - report["seconds"]["ready_to_files"]
    spent = watch.spent(ready, ready + seconds)
    return Run(seconds, sum(spent.values()), report["bytes"]["to_last_sum"] / 1e6)


if __name__ == "__main__":
    main()
