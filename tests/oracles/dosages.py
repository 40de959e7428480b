"""Imputed dosages for tests: pooled .pgen files, cohorts of their people, and the same in other formats."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path

import numpy as np
from pgenlib import PgenWriter

from ..plinks import plink2

Words = list[object]
"""Arguments of a command."""


def write_pgen(prefix: Path, variants: Sequence[str], dosages: np.ndarray, psam: Sequence[str]) -> None:
    """A .pgen of dosages of ALT, (variants, people), NaN where missing.

    `variants` are chromosome, position, ID, REF and ALT, with tabs; `psam` is its lines.
    """
    with PgenWriter(
        bytes(prefix.with_suffix(".pgen")),
        dosages.shape[1],
        variant_ct=len(variants),
        nonref_flags=False,
        dosage_present=True,
    ) as writer:
        writer.append_dosages_batch(np.where(np.isnan(dosages), -9, dosages).astype(np.float32, order="C"))
    prefix.with_suffix(".pvar").write_text("\n".join(["#CHROM\tPOS\tID\tREF\tALT", *variants]) + "\n")
    prefix.with_suffix(".psam").write_text("\n".join(psam) + "\n")


def rarer_second(prefix: Path, *flags: object) -> Path:
    """The same files with the commoner allele for REF, which is how a study reports."""
    out = prefix.with_name(f"{prefix.name}-rarer")
    plink2("--pfile", prefix, *flags, "--maj-ref", "force", "--make-pgen", "--out", out)
    return out


def write_covariate(prefix: Path, random: np.random.Generator) -> Path:
    """A covariate, which the first person lacks, of all people of a .psam.

    It is of the size of a genotype: plink2 a3.5 takes others for collinear beside dosages that nobody lacks.
    """
    people = [f"{row}\t{random.normal():.4f}" for row in ids(prefix)[1:]]
    path = prefix.with_suffix(".cov")
    path.write_text("\n".join([titles(prefix) + "\tage", *people]) + "\n")
    return path


def titles(prefix: Path) -> str:
    """The titles of what names a person of a .psam."""
    first, second, *_ = prefix.with_suffix(".psam").read_text().split(None, 2)
    return f"{first}\t{second}" if second == "IID" else first


def ids(prefix: Path) -> list[str]:
    """Return what identifies each person of a .psam: its IID, or FID and IID."""
    count = len(titles(prefix).split())
    lines = prefix.with_suffix(".psam").read_text().splitlines()[1:]
    return ["\t".join(line.split("\t")[:count]) for line in lines]


def parts_of(pooled: Path, *flags: object) -> list[Path]:
    """Three uneven cohorts of the same people, in their order."""
    people = ids(pooled)
    half, most = len(people) // 2, len(people) * 5 // 6
    found = []
    for number, some in enumerate((people[:half], people[half:most], people[most:])):
        (keep := pooled.with_name(f"keep{number}")).write_text("\n".join([titles(pooled), *some]) + "\n")
        found.append(pooled.with_name(f"part{number}"))
        plink2("--pfile", pooled, *flags, "--keep", keep, "--make-pgen", "--out", found[-1])
    return found


def pfiles(parts: Sequence[Path]) -> Words:
    return [word for part in parts for word in ("--pfile", part)]


def in_vcf(part: Path) -> Words:
    """The same cohort as a packed VCF."""
    _export(part, "vcf", "bgz", "vcf-dosage=DS-force", "id-paste=iid")
    return ["--vcf", Path(f"{part}.vcf.gz"), "--vcf-dosage", "DS", "--psam", Path(f"{part}.psam")]


def in_bcf(part: Path) -> Words:
    """The same cohort as a BCF."""
    _export(part, "bcf", "vcf-dosage=DS-force", "id-paste=iid")
    return ["--vcf", Path(f"{part}.bcf"), "--vcf-dosage", "DS", "--psam", Path(f"{part}.psam")]


def in_bgen(part: Path) -> Words:
    """The same cohort as a BGEN of 16 bits."""
    _export(part, "bgen-1.2", "bits=16", "ref-first")
    return [
        "--bgen",
        Path(f"{part}.bgen"),
        "--sample",
        Path(f"{part}.sample"),
        "--psam",
        Path(f"{part}.psam"),
    ]


def _export(part: Path, *kind: str) -> None:
    plink2("--pfile", part, "--export", *kind, "--out", part)


def differences(ours: Path, theirs: Path) -> list[tuple[str, str]]:
    """Lines that differ by more than one in the last digit of P."""
    pairs = zip_longest(ours.read_text().splitlines(), theirs.read_text().splitlines(), fillvalue="")
    return [(a, b) for a, b in pairs if a != b and not _off_by_one(a.split("\t"), b.split("\t"))]


def _off_by_one(a: list[str], b: list[str]) -> bool:
    different = [k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y]
    if len(a) != len(b) or different != [len(a) - 2]:
        return False
    x, y = float(a[-2]), float(b[-2])
    return abs(x - y) <= 1.001 * 10 ** (np.floor(np.log10(max(x, y))) - 5)
