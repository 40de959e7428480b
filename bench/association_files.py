"""The simulated files of the association benchmarks: made once, and kept below .cache/."""

from __future__ import annotations

import shutil
import statistics
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from pgenlib import PgenWriter

from unpooled.kernels.dosages import COPY, NO_DOSAGE
from unpooled.simulate import simulate
from unpooled_client.data.plink.bed import BedFile

CACHE = Path(".cache/bench")
COHORTS = 3
COVARIATES = 4
AT_ONCE = 2000  # variants of which dosages are made


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


def simulated(data: Path, cohorts: Sequence[int], variants: int, **how: Any) -> Path:
    """Simulate files of cohorts of these sizes, once, and keep them."""
    if not (data / f"cohort{len(cohorts)}.bed").exists():
        print(f"generating cohorts of {cohorts} samples and {variants} variants", file=sys.stderr)
        data.mkdir(parents=True, exist_ok=True)
        simulate(data, cohorts=cohorts, variants=variants, **how)
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
