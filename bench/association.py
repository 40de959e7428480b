"""Times federated association studies beside PLINK on the pooled file, in turn, on this machine.

    make bench [ARGS="linear logistic --variants 580000 --samples 1781 --runs 3"]

The study `dosages` is linear regression on imputed dosages, with files of about 10 GB at so many variants: it
is run when it is named.

Federated: from the moment all cohorts are ready to the result files on the platform's disk, and to those on
the last cohort's, every party and HTTP included.
PLINK: its whole run on the pooled file, read once before so that it comes from memory, as the cohorts' does.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from pgenlib import PgenWriter

from unpooled.cohort import COPY, NO_DOSAGE
from unpooled.simulate import simulate
from unpooled_client.data.bed import BedFile

CACHE = Path(".cache/bench")
COHORTS = 3
COVARIATES = 4
AT_ONCE = 2000  # variants of which dosages are made
TRAIT = ["--pheno", "pooled.trait", "--pheno-name", "trait"]
ILL = ["--pheno", "pooled.ill", "--pheno-name", "ill"]
LOADED = re.compile(r"calling init: (\S*lib(?:blas|lapack|openblas|mkl)\S*)")
PLINK2 = ["--covar", "pooled.cov", "--covar-variance-standardize", "--threads", "2"]


def same_bytes(ours: Path, theirs: Path) -> str:
    """What is wrong with a file that must be PLINK's to the byte."""
    return "" if ours.read_bytes() == theirs.read_bytes() else "differs from PLINK's"


def same_numbers(ours: Path, theirs: Path) -> str:
    """What is wrong with a regression, by its statistics: both files' lines for ADD, in the same order."""
    mine, plinks = (_statistics(path) for path in (ours, theirs))
    if len(mine) != len(plinks):
        return f"has {len(mine)} variants, PLINK's {len(plinks)}"
    both = ~np.isnan(mine) & ~np.isnan(plinks)
    off = np.abs(mine - plinks)[both] > 0.01 * np.maximum(np.abs(plinks[both]), 1)
    return f"has {off.sum()} statistics that are not PLINK's" if off.any() or both.mean() < 0.99 else ""


def _statistics(path: Path) -> np.ndarray:
    with path.open() as file:
        header = file.readline().split()
        test = header.index("TEST")
        column = next(k for k, name in enumerate(header) if name in ("STAT", "T_STAT", "Z_STAT"))
        words = (line.split() for line in file)
        return np.array([float(row[column].replace("NA", "nan")) for row in words if row[test] == "ADD"])


@dataclass(frozen=True)
class Study:
    """What is timed, against what, and what was promised."""

    ours: list[str]
    program: str
    theirs: list[str]
    files: dict[str, str]
    """Our result files, and those of PLINK that they are held against."""
    check: Callable[[Path, Path], str]
    goals: tuple[float, ...]
    """Times PLINK's time: until the files are on the platform, and until the last cohort has them."""
    megabytes: float
    genotypes: str = "--bfile"
    """How both are given the genotypes: of `--pfile` they are dosages."""


STUDIES = {
    "assoc": Study(
        [*ILL, "--files", "assoc"],
        "plink1.9",
        ["--assoc", "--pheno", "pooled.ill"],
        {"assoc": "assoc"},
        same_bytes,
        (2.2, 3),
        80,
    ),
    "counts": Study(
        [*ILL, "--files", "assoc,frq,lmiss,hwe"],
        "plink1.9",
        ["--assoc", "--freq", "--missing", "--hardy", "--pheno", "pooled.ill"],
        {file: file for file in ("assoc", "frq", "lmiss", "hwe")},
        same_bytes,
        (2.2, 3),
        80,
    ),
    "linear": Study(
        ["--test", "linear", *TRAIT, "--covar", "pooled.cov", "--hide-covar"],
        "plink2",
        ["--glm", "hide-covar", *TRAIT, *PLINK2],
        {"assoc.linear": "trait.glm.linear"},
        same_numbers,
        (0.5,),
        350,
    ),
    "logistic": Study(
        ["--test", "logistic", *ILL, "--covar", "pooled.cov", "--hide-covar"],
        "plink2",
        ["--glm", "hide-covar", "no-firth", "--pheno", "pooled.ill", "--pheno-name", "ill", *PLINK2],
        {"assoc.logistic": "ill.glm.logistic"},
        same_numbers,
        (0.5,),
        1700,
    ),
    "dosages": Study(
        ["--test", "linear", "--dosages", "--files", "glm", *TRAIT, "--covar", "pooled.cov", "--hide-covar"],
        "plink2",
        ["--glm", "hide-covar", *TRAIT, *PLINK2],
        {"trait.glm.linear": "trait.glm.linear"},
        same_numbers,
        (0.5,),
        350,
        "--pfile",
    ),
}
USUAL = tuple(name for name, study in STUDIES.items() if study.genotypes == "--bfile")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("studies", nargs="*", metavar="STUDY", help=f"of {', '.join(STUDIES)}")
    parser.add_argument("--variants", type=int, default=580_000)
    parser.add_argument("--samples", type=int, default=1_781, help="of each of three cohorts")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    if unknown := set(arguments.studies) - set(STUDIES):
        parser.error(f"no study is called {', '.join(unknown)}; there are {', '.join(STUDIES)}")
    for program in ("plink1.9", "plink2"):
        if not shutil.which(program):
            sys.exit(f"bench: {program} is not installed: apt-get install {program}")
    data = generated(arguments.variants, arguments.samples)
    for name in arguments.studies or USUAL:
        if STUDIES[name].genotypes == "--pfile":
            write_dosages(data, arguments.samples, arguments.variants)
        pairs = []
        for run in range(arguments.runs + 1):
            pooled, report = time_plink(STUDIES[name], data), time_study(STUDIES[name], data)
            if run:  # the first warms caches, compiled kernels among them
                pairs.append((pooled, report))
        show(name, STUDIES[name], pairs)


def generated(variants: int, samples: int) -> Path:
    """The simulated files; made once, and kept. Two phenotypes: `trait`, and `ill`, its upper half."""
    data = CACHE / f"{variants}x{samples}"
    if not (data / "pooled.ill").exists():
        print(f"generating {COHORTS} cohorts of {samples} samples and {variants} variants", file=sys.stderr)
        data.mkdir(parents=True, exist_ok=True)
        simulate(
            data,
            cohorts=[samples] * COHORTS,
            variants=variants,
            missing_rate=(1 / 3, 0.005),
            covariates=COVARIATES,
            trait="quantitative",
        )
        write_phenotypes(data)
    return data


def write_phenotypes(data: Path) -> None:
    """Phenotype files from the pooled .fam, whose last column becomes case or control by its median."""
    people = [line.split() for line in (data / "pooled.fam").read_text().splitlines()]
    middle = statistics.median(float(row[5]) for row in people)
    for name, value in (
        ("trait", lambda row: row[5]),
        ("ill", lambda row: "2" if float(row[5]) > middle else "1"),
    ):
        lines = [f"FID IID {name}", *(f"{row[0]} {row[1]} {value(row)}" for row in people)]
        (data / f"pooled.{name}").write_text("\n".join(lines) + "\n")


def write_dosages(data: Path, samples: int, variants: int) -> None:
    """Files of dosages beside those of calls: nine in ten are uncertain by a tenth of a copy."""
    if (data / "pooled.pgen").exists():
        return
    print(f"making dosages of {variants} variants", file=sys.stderr)
    random = np.random.default_rng(1)
    names = [f"cohort{k + 1}" for k in range(COHORTS)]
    beds = [BedFile(data / f"{name}.bed", samples, variants) for name in names]
    everyone = (*names, "pooled")
    bims = [[line.split() for line in (data / f"{name}.bim").read_text().splitlines()] for name in everyone]
    # Each cohort has its own rarer allele first, and the pool its own.
    turned = [
        np.array([row[4] for row in bim]) != np.array([row[4] for row in bims[-1]]) for bim in bims[:-1]
    ]
    with ExitStack() as stack:
        *parts, pooled = (
            stack.enter_context(
                PgenWriter(bytes(data / f"{name}.pgen"), people, variant_ct=variants, nonref_flags=False,
                           dosage_present=True)
            )
            for name, people in [*((name, samples) for name in names), ("pooled", COHORTS * samples)]
        )  # fmt: skip
        for start in range(0, variants, AT_ONCE):
            rows = np.arange(start, min(start + AT_ONCE, variants))
            of_all = [_uncertain(bed.dosages(rows), random) for bed in beds]
            for writer, copies in zip(parts, of_all, strict=True):
                writer.append_dosages_batch(copies)
            alike = [np.where(other[rows, None] & (copies >= 0), 2 - copies, copies)
                     for other, copies in zip(turned, of_all, strict=True)]  # fmt: skip
            pooled.append_dosages_batch(np.concatenate(alike, axis=1))
    for name, bim in zip(everyone, bims, strict=True):
        shutil.copy(data / f"{name}.fam", data / f"{name}.psam")
        rows = ["\t".join([row[0], row[3], row[1], row[5], row[4]]) for row in bim]
        (data / f"{name}.pvar").write_text("\n".join(["#CHROM\tPOS\tID\tREF\tALT", *rows]) + "\n")


def _uncertain(calls: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Dosages near these calls, float32 (m, n), below 0 where missing."""
    copies = calls.astype(np.float32) / COPY
    noise = random.normal(0, 0.1, calls.shape) * (random.random(calls.shape) < 0.9)
    return np.where(calls == NO_DOSAGE, -9, (copies + noise).clip(0, 2)).astype(np.float32)


def time_plink(study: Study, data: Path) -> float:
    start = time.perf_counter()
    subprocess.run(
        [study.program, study.genotypes, "pooled", *study.theirs, "--out", "plink"],
        cwd=data,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return time.perf_counter() - start


def time_study(study: Study, data: Path) -> dict[str, Any]:
    """The report of a rehearsal whose files were held against PLINK's: fast and wrong is worth nothing."""
    subprocess.run(command(study, data), check=True)
    for ours, theirs in study.files.items():
        if wrong := study.check(data / f"ours.{ours}", data / f"plink.{theirs}"):
            sys.exit(f"bench: {ours} {wrong}")
    report: dict[str, Any] = json.loads((data / "ours.report.json").read_text())
    return report


def command(study: Study, data: Path) -> list[str]:
    """A rehearsal of a study over the cohorts in `data`."""
    cohorts = [word for k in range(COHORTS) for word in (study.genotypes, str(data / f"cohort{k + 1}"))]
    words = [str(data / word) if word.startswith("pooled.") else word for word in study.ours]
    rehearse = [sys.executable, "-m", "unpooled_webapp", "rehearse", *cohorts, *words]
    return [*rehearse, "--out", str(data / "ours"), "--quiet"]


def show(name: str, study: Study, pairs: list[tuple[float, dict[str, Any]]]) -> None:
    traffic = pairs[-1][1]["bytes"]
    whole = statistics.median(report["seconds"]["command"] for _, report in pairs)
    print(f"\n{name}: {len(pairs)} runs, each beside {version(study.program)} on the pooled file")
    print(f"  {study.program:<15} {statistics.median(pooled for pooled, _ in pairs):8.2f} s")
    for where, goal in zip_longest(("platform", "cohorts"), study.goals):
        key = f"ready_to_{where}"
        seconds = statistics.median(report["seconds"][key] for _, report in pairs)
        ratios = [report["seconds"][key] / pooled for pooled, report in pairs]
        spread = f"from {min(ratios):.2f} to {max(ratios):.2f}" + (f"; goal {goal:g}" if goal else "")
        print(f"  to {where:<12} {seconds:8.2f} s,  {statistics.median(ratios):5.2f} times    ({spread})")
    print(f"  whole command   {whole:8.2f} s")
    print(f"  to the last sum {traffic['to_last_sum'] / 1e6:8.1f} MB  (goal {study.megabytes:g})")
    print(f"  delivery        {traffic['delivery'] / 1e6:8.1f} MB")


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
