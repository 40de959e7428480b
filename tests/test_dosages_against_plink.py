"""Studies of imputed dosages against plink2 on the pooled .pgen, line by line."""

from __future__ import annotations

import shutil
from itertools import zip_longest
from pathlib import Path

import numpy as np
import pytest
from pgenlib import PgenWriter

from unpooled.cohort import COPY, NO_DOSAGE
from unpooled_client.data.pgen import PgenFile

from .conftest import Rehearse
from .reports import GLM, Plink, agreement

FLOORS = ("--min-samples", 20, "--allow-no-sex")
COLUMNS = "+a1freq,+machr2,+ax,+a1count,+totallele"
VARIANTS = 300
FORMATS = (("GT", "String"), ("DS", "Float"))
CHROMOSOMES = ("1", "2", "X", "Y", "MT")


def pgen_of(
    plink2: Plink,
    folder: Path,
    places: list[str],
    dosages: np.ndarray,
    sexes: list[object],
    phenotype: np.ndarray,
) -> Path:
    """Prefix of a .pgen of dosages (variants, people) on these chromosomes. REF is the commoner allele."""
    names = [f"p{k}" for k in range(dosages.shape[1])]
    titles = ["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT", *names]
    formats = [f'##FORMAT=<ID={name},Number=1,Type={kind},Description="">' for name, kind in FORMATS]
    lines = ["##fileformat=VCFv4.2", *formats, "\t".join(titles)]
    for k, (place, row) in enumerate(zip(places, dosages, strict=True)):
        words = ["./.:." if np.isnan(dosage) else f"./.:{dosage:.4f}" for dosage in row]
        lines.append("\t".join([place, str(1000 + k), f"v{k}", "A", "C", ".", ".", ".", "GT:DS", *words]))
    (vcf := folder / "all.vcf").write_text("\n".join(lines) + "\n")
    people = [f"{name}\t{sex}\t{y}" for name, sex, y in zip(names, sexes, phenotype, strict=True)]
    (psam := folder / "all.psam").write_text("\n".join(["#IID\tSEX\tPHENO1", *people]) + "\n")
    plink2("--vcf", vcf, "dosage=DS", "--psam", psam, "--make-pgen", "--out", folder / "read")
    plink2("--pfile", folder / "read", "--maj-ref", "force", "--make-pgen", "--out", folder / "all")
    return folder / "all"


def parts_of(plink2: Plink, pooled: Path) -> list[Path]:
    """Three uneven cohorts of the same people, in their order."""
    names = [line.split()[0] for line in pooled.with_suffix(".psam").read_text().splitlines()[1:]]
    half, most = len(names) // 2, len(names) * 5 // 6
    found = []
    for number, some in enumerate((names[:half], names[half:most], names[most:])):
        (keep := pooled.with_name(f"keep{number}")).write_text("\n".join(some) + "\n")
        found.append(pooled.with_name(f"part{number}"))
        plink2("--pfile", pooled, "--keep", keep, "--make-pgen", "--out", found[-1])
    return found


@pytest.fixture(scope="module")
def pooled(plink2: Plink, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """240 people of both sexes and some of unknown sex; dosages of 300 variants on all kinds of chromosomes,
    some missing, some of rare alleles, some the same for everybody."""
    folder, random = tmp_path_factory.mktemp("dosages"), np.random.default_rng(5)
    frequency = np.resize((0.003, 0.02, 0.3, 0.5, 0.8), VARIANTS)[:, None]
    dosages = random.binomial(2, frequency, (VARIANTS, 240)) + random.normal(0, 0.05, (VARIANTS, 240))
    dosages = np.where(random.random(dosages.shape) < 0.2, np.rint(dosages), np.clip(dosages, 0, 2))
    for number, k in enumerate(range(0, VARIANTS, 29)):
        dosages[k] = (0, 2, 0.375)[number % 3]
    dosages[::3][random.random((len(dosages[::3]), 240)) < 0.15] = np.nan
    dosages[[4, 200]] = np.nan
    sexes = ["NA" if k % 19 == 0 else 1 + k % 2 for k in range(240)]
    places = [CHROMOSOMES[k // 60] for k in range(VARIANTS)]
    prefix = pgen_of(plink2, folder, places, dosages, sexes, np.round(random.normal(size=240), 5))
    # Of the size of a genotype: plink2 a3.5 takes others for collinear beside dosages without missing ones.
    age = [f"p{k}\t{random.normal():.4f}" for k in range(1, 240)]
    prefix.with_suffix(".cov").write_text("\n".join(["#IID\tage", *age]) + "\n")
    return prefix


@pytest.fixture(scope="module")
def parts(pooled: Path, plink2: Plink) -> list[Path]:
    return parts_of(plink2, pooled)


def pfiles(parts: list[Path]) -> list[object]:
    return [word for part in parts for word in ("--pfile", part)]


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


FILTERS = {
    "all": (),
    "quality": ("--mach-r2-filter", 0.95),
    "filters": ("--maf", 0.03, "--geno", 0.15, "--chr", "1,2,Y,MT", "--hwe", 1e-3),
}


@pytest.mark.parametrize("flags", FILTERS.values(), ids=FILTERS)
def test_linear_is_plink2s(
    flags: tuple[object, ...],
    pooled: Path,
    parts: list[Path],
    plink2: Plink,
    rehearse: Rehearse,
    tmp_path: Path,
) -> None:
    covar = ("--covar", pooled.with_suffix(".cov"))
    plink2("--pfile", pooled, *covar, "--glm", f"cols={COLUMNS}", *flags, "--out", tmp_path / "pooled")
    rehearse("--test", "linear", "--dosages", *pfiles(parts), *covar, *FLOORS, *flags, "--files", "glm,ssf",
             "--glm-cols", COLUMNS, "--out", tmp_path / "ours")  # fmt: skip
    ours, theirs = tmp_path / "ours.phenotype.glm.linear", tmp_path / "pooled.PHENO1.glm.linear"
    assert len(theirs.read_text().splitlines()) > (600 if not flags else 200)
    assert not differences(ours, theirs)


def test_cohorts_with_calls_count_whole_copies(
    pooled: Path,
    parts: list[Path],
    plink2: Plink,
    rehearse: Rehearse,
    tmp_path: Path,
) -> None:
    """One of the three has the hard calls alone, as a .bed."""
    first, second, third = parts
    plink2("--pfile", third, "--make-bed", "--out", tmp_path / "calls")
    plink2("--bfile", tmp_path / "calls", "--make-pgen", "--out", tmp_path / "calls")
    names, values = [], []
    for part in (first, second, tmp_path / "calls"):
        some = [line.split()[0] for line in part.with_suffix(".psam").read_text().splitlines()[1:]]
        names += some
        values.append(PgenFile(part.with_suffix(".pgen"), len(some), VARIANTS).dosages(np.arange(VARIANTS)))
    mixed = tmp_path / "mixed"
    for kind in ("pvar", "psam"):
        shutil.copy(pooled.with_suffix(f".{kind}"), mixed.with_suffix(f".{kind}"))
    copies = np.concatenate(values, axis=1)
    with PgenWriter(
        bytes(mixed.with_suffix(".pgen")),
        len(names),
        variant_ct=VARIANTS,
        nonref_flags=False,
        dosage_present=True,
    ) as writer:
        for row in copies:
            writer.append_dosages(np.where(row == NO_DOSAGE, -9, row / COPY).astype(np.float32))
    plink2("--pfile", mixed, "--maj-ref", "force", "--make-pgen", "--out", tmp_path / "pool")
    plink2("--pfile", tmp_path / "pool", "--glm", "allow-no-covars", "--out", tmp_path / "pooled")
    cohorts = ("--bfile", tmp_path / "calls", *pfiles([first, second]))
    rehearse("--test", "linear", "--dosages", *cohorts, *FLOORS, "--files", "glm", "--out", tmp_path / "ours")
    assert not differences(tmp_path / "ours.phenotype.glm.linear", tmp_path / "pooled.PHENO1.glm.linear")


@pytest.fixture(scope="module")
def few_cases(plink2: Plink, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """300 people of whom 12 in a hundred are cases. Some rare alleles are in cases or in controls alone, so
    that there is no usual estimate."""
    folder, random = tmp_path_factory.mktemp("few"), np.random.default_rng(8)
    case = random.random(300) < 0.12
    frequency = np.resize((0.004, 0.01, 0.03, 0.2), 60)[:, None]
    dosages = random.binomial(2, frequency, (60, 300)).astype(float)
    dosages[1::6, case] = 0
    dosages[2::6, ~case] = 0
    less = np.clip(dosages - np.abs(random.normal(0, 0.2, dosages.shape)), 0, 2)
    dosages[1::3], dosages[2::3] = less[1::3], less[2::3]
    places = [CHROMOSOMES[k // 12] for k in range(60)]
    return pgen_of(plink2, folder, places, dosages, [1 + k % 2 for k in range(300)], 1 + case)


@pytest.mark.parametrize("firth", ["firth-fallback", "firth", "no-firth"])
def test_logistic_is_plink2s(
    firth: str, few_cases: Path, plink2: Plink, rehearse: Rehearse, tmp_path: Path
) -> None:
    """plink2 computes in single precision, and stops a Firth fit a little early."""
    parts = parts_of(plink2, few_cases)
    common = ("--glm", firth, "allow-no-covars", "--threads", 1)
    plink2("--pfile", few_cases, *common, "--out", tmp_path / "pooled")
    flags = ("--min-per-class", 1, "--firth", firth, "--files", "glm")
    rehearse("--test", "logistic", "--dosages", *pfiles(parts), *FLOORS, *flags, "--out", tmp_path / "ours")
    ours, theirs = (next(tmp_path.glob(f"{name}.*.glm.*")) for name in ("ours", "pooled"))
    bounds = {"OR": (1e-3, 0.0), "LOG(OR)_SE": (1e-3, 0.0), "Z_STAT": (0.0, 1e-3), "P": (2e-3, 0.0)}
    same = (*GLM, "FIRTH?") if firth == "firth-fallback" else GLM
    found = agreement(ours, theirs, same, bounds, digits=6)
    assert found.numbers >= (30 if firth == "no-firth" else 60)
    assert not found.far and not found.ours_alone and not found.theirs_alone
