"""Times federated association studies beside PLINK on the pooled file, in turn, on this machine.

    make bench [ARGS="linear logistic --variants 580000 --samples 1781 --runs 3"]
    make bench ARGS="assoc --against v0.2.0"     # beside another release, in turn with it
    make bench ARGS="assoc counts --write"       # and writes the tables in README and docs anew
    make bench ARGS="logistic --bytes --write"   # only the bytes of these, which no other work changes

The study `dosages` is linear regression on imputed dosages, with files of about 10 GB at so many variants: it
is run when it is named.

Federated: from the moment all cohorts are ready to the result files on the platform's disk, and to those on
the last cohort's, every party and HTTP included.
PLINK: its whole run on the pooled file, read once before so that it comes from memory, as the cohorts' does.

Beside seconds stands processor time, which says more where other work runs on the same machine.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from statistics import median
from typing import Any

import figures
import rehearsal
import releases
from association_files import generated, write_dosages
from association_studies import STUDIES, USUAL, Study, command
from figures import Figures
from processor import Watch, seconds_of_children
from releases import Release

LOADED = re.compile(r"calling init: (\S*lib(?:blas|lapack|openblas|mkl)\S*)")


@dataclass(frozen=True)
class Run:
    """One rehearsal, and PLINK just before it."""

    plink: float
    plink_processor: float
    report: dict[str, Any]
    processor: dict[str, float]
    """Seconds of processor time of each party until the files were on the platform."""

    def seconds(self, where: str) -> float:
        return float(self.report["seconds"][f"ready_to_{where}"])

    def ratio(self, where: str) -> float:
        return self.seconds(where) / self.plink


def main() -> None:
    parser = rehearsal.parser(__doc__)
    parser.add_argument("studies", nargs="*", metavar="STUDY", help=f"of {', '.join(STUDIES)}")
    parser.add_argument("--variants", type=int, default=figures.VARIANTS)
    parser.add_argument("--samples", type=int, default=1_781, help="of each of three cohorts")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--against", metavar="REV", help="a release to run in turn with this one")
    parser.add_argument("--bytes", action="store_true", help="rehearse once, and keep the seconds of before")
    parser.add_argument("--write", action="store_true", help="write the tables in README and docs anew")
    arguments = parser.parse_args()
    if unknown := set(arguments.studies) - set(STUDIES):
        parser.error(f"no study is called {', '.join(unknown)}; there are {', '.join(STUDIES)}")
    for program in ("plink1.9", "plink2"):
        if not shutil.which(program):
            sys.exit(f"bench: {program} is not installed: apt-get install {program}")
    both = [releases.here(), *([releases.at(arguments.against)] if arguments.against else [])]
    data = generated(arguments.variants, arguments.samples).absolute()
    found = {}
    for name in arguments.studies or USUAL:
        study = STUDIES[name]
        if study.genotypes == "--pfile":
            write_dosages(data, arguments.samples, arguments.variants)
        if arguments.bytes:
            subprocess.run(command(study, data), check=True)
            found[name] = replace(figures.read()[name], megabytes=megabytes(rehearsal.report(data / "ours")))
            print(f"{name}: {found[name].megabytes} MB to the last sum")
            continue
        ours, *theirs = in_turn(study, data, both, arguments.runs)
        show(name, study, ours)
        for runs in theirs:
            show_beside(arguments.against, runs, ours)
        found[name] = measured(ours, arguments.variants)
    if arguments.write:
        figures.write(found)


def in_turn(study: Study, data: Path, both: Sequence[Release], runs: int) -> list[list[Run]]:
    """Run each release in turn, and PLINK before each."""
    found: list[list[Run]] = [[] for _ in both]
    for k in range(runs + 1):
        for release, its in zip(both, found, strict=True):
            run = time_both(study, data, release)
            if k:  # the first warms caches, compiled kernels among them
                its.append(run)
    return found


def time_both(study: Study, data: Path, release: Release) -> Run:
    """Run PLINK, and a rehearsal whose files are held against PLINK's: fast and wrong is worth nothing."""
    plink, plink_processor = time_plink(study, data)
    with subprocess.Popen(command(study, data), env=release.environment) as running:
        watch = Watch(running.pid)
        status = running.wait()
        watch.stop()
    if status:
        sys.exit(f"bench: the rehearsal of {release.name} ended with {status}")
    for ours, theirs in study.files.items():
        if wrong := study.check(data / f"ours.{ours}", data / f"plink.{theirs}"):
            sys.exit(f"bench: {ours} {wrong}")
    report = rehearsal.report(data / "ours")
    # Reports have no times of day; the last file was here when the seconds to the files were over.
    files = [path for path in data.glob("ours.*") if path.name != "ours.report.json"]
    ready = max(path.stat().st_mtime for path in files) - report["seconds"]["ready_to_files"]
    spent = watch.spent(ready, ready + report["seconds"]["ready_to_platform"])
    return Run(plink, plink_processor, report, spent)


def time_plink(study: Study, data: Path) -> tuple[float, float]:
    """Run PLINK; its seconds, and its seconds of processor time."""
    words = [study.program, study.genotypes, "pooled", *study.theirs, "--out", "plink"]
    start, before = time.perf_counter(), seconds_of_children()
    subprocess.run(words, cwd=data, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start, seconds_of_children() - before


def show(name: str, study: Study, runs: Sequence[Run]) -> None:
    traffic = runs[-1].report["bytes"]
    print(f"\n{name}: {len(runs)} runs, each beside {version(study.program)} on the pooled file")
    print(f"  {study.program:<15} {median(run.plink for run in runs):8.2f} s")
    for where, goal in zip_longest(("platform", "cohorts"), study.goals):
        seconds, ratios = median(run.seconds(where) for run in runs), [run.ratio(where) for run in runs]
        spread = f"{between(ratios)}; goal {goal:g}" if goal else between(ratios)
        print(f"  to {where:<12} {seconds:8.2f} s,  {median(ratios):5.2f} times    ({spread})")
    print(f"  whole command   {median(run.report['seconds']['command'] for run in runs):8.2f} s")
    print(f"  to the last sum {traffic['to_last_sum'] / 1e6:8.1f} MB  (goal {study.megabytes:g})")
    print(f"  delivery        {traffic['delivery'] / 1e6:8.1f} MB")
    plink = median(run.plink_processor for run in runs)
    print(f"  processor       {total(runs):8.2f} s ({parties(runs)}); {study.program} {plink:.2f}")


def show_beside(name: str, theirs: Sequence[Run], ours: Sequence[Run]) -> None:
    """Show another release's seconds and processor time, and how many times those this one takes."""
    for where in ("platform", "cohorts"):
        seconds = [run.seconds(where) for run in theirs]
        ratios = [run.seconds(where) / other for run, other in zip(ours, seconds, strict=True)]
        print(
            f"  {name}: to {where} {median(seconds):.2f} s; "
            f"here {median(ratios):.2f} times ({between(ratios)})"
        )
    ratio = total(ours) / total(theirs)
    print(f"  {name}: processor {total(theirs):.2f} s ({parties(theirs)}); here {ratio:.2f} times")


def between(values: Sequence[float]) -> str:
    return f"from {min(values):.2f} to {max(values):.2f}"


def parties(runs: Sequence[Run]) -> str:
    """Say the seconds of processor time of each party."""
    names = sorted({party for run in runs for party in run.processor})
    return ", ".join(f"{name} {median(run.processor.get(name, 0) for run in runs):.2f}" for name in names)


def total(runs: Sequence[Run]) -> float:
    return median(sum(run.processor.values()) for run in runs)


def measured(runs: Sequence[Run], variants: int) -> Figures:
    """Keep what the tables in README and docs are made of."""
    return Figures(
        variants,
        plink=[round(run.plink, 3) for run in runs],
        platform=[run.seconds("platform") for run in runs],
        cohorts=[run.seconds("cohorts") for run in runs],
        megabytes=megabytes(runs[-1].report),
    )


def megabytes(report: dict[str, Any]) -> float:
    """Return how much was sent until the last sum, by all parties."""
    return round(float(report["bytes"]["to_last_sum"]) / 1e6, 1)


def version(program: str) -> str:
    """A program's version, and the libraries of linear algebra that it loads: its speed depends on them.

    The loader is asked, since Debian's plink2 is a script that chooses the program for this processor.
    """
    traced = os.environ | {"LD_DEBUG": "libs"}
    done = subprocess.run([program, "--version"], check=True, capture_output=True, text=True, env=traced)
    paths = {Path(path).resolve() for path in LOADED.findall(done.stderr)}
    libraries = sorted(f"{path.parent.name}/{path.name}" for path in paths)
    return f"{' '.join(done.stdout.split()[:3])} ({', '.join(libraries) or 'no shared BLAS'})"


if __name__ == "__main__":
    main()
