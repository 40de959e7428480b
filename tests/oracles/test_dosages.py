"""Studies of imputed dosages against plink2 on the pooled .pgen, line by line."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from unpooled.kernels.dosages import COPY, NO_DOSAGE
from unpooled_client.data.plink.pgen import PgenFile

from ..conftest import EVERY, MOUSE, Rehearse
from ..plinks import plink, plink2
from .dosages import (
    Words,
    differences,
    ids,
    parts_of,
    pfiles,
    rarer_second,
    write_covariate,
    write_pgen,
)
from .reports import same_bytes

FLOORS = ("--min-samples", 20, "--allow-no-sex")
COLUMNS = "+a1freq,+machr2,+ax,+a1count,+totallele"
VARIANTS = 300
CHROMOSOMES = ("1", "2", "X", "Y", "MT")


@dataclass(frozen=True)
class Pooled:
    """Everybody's files, and those of three cohorts."""

    prefix: Path
    parts: list[Path]
    covar: Words
    chr_set: Words
    least: int
    """Lines that a report without filters has more than."""


@pytest.fixture(scope="module")
def everywhere(tmp_path_factory: pytest.TempPathFactory) -> Pooled:
    """240 people of both sexes and some of unknown sex; dosages of 300 variants on all kinds of chromosomes,
    some missing, some of rare alleles, some the same for everybody."""
    folder, random = tmp_path_factory.mktemp("everywhere"), np.random.default_rng(5)
    frequency = np.resize((0.003, 0.02, 0.3, 0.5, 0.8), VARIANTS)[:, None]
    dosages = random.binomial(2, frequency, (VARIANTS, 240)) + random.normal(0, 0.05, (VARIANTS, 240))
    dosages = np.where(random.random(dosages.shape) < 0.2, np.rint(dosages), np.clip(dosages, 0, 2))
    for number, k in enumerate(range(0, VARIANTS, 29)):
        dosages[k] = (0, 2, 0.375)[number % 3]
    dosages[::3][random.random((len(dosages[::3]), 240)) < 0.15] = np.nan
    dosages[[4, 200]] = np.nan
    sexes: list[object] = ["NA" if k % 19 == 0 else 1 + k % 2 for k in range(240)]
    return made(folder, dosages, 60, sexes, np.round(random.normal(size=240), 5))


def made(folder: Path, dosages: np.ndarray, each: int, sexes: list[object], phenotype: np.ndarray) -> Pooled:
    """Files of these dosages, so many variants on each of `CHROMOSOMES`."""
    variants = [f"{CHROMOSOMES[k // each]}\t{1000 + k}\tv{k}\tA\tC" for k in range(len(dosages))]
    people = [f"p{k}\t{sex}\t{y}" for k, (sex, y) in enumerate(zip(sexes, phenotype, strict=True))]
    write_pgen(folder / "all", variants, dosages, ["#IID\tSEX\tPHENO1", *people])
    prefix = rarer_second(folder / "all")
    covar = write_covariate(prefix, np.random.default_rng(1))
    return Pooled(prefix, parts_of(prefix), ["--covar", covar], [], 2 * len(dosages))


@pytest.fixture(scope="module")
def mice(mouse: Path, mouse_tables: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Pooled:
    """1,940 real mice, with the dosages that were imputed where they had no call, and a real quantity."""
    folder, chr_set = tmp_path_factory.mktemp("mice"), ["--chr-set", 19]
    with gzip.open(MOUSE / "mouse_hs1940.geno.txt.gz", "rt") as lines:
        genotypes = [[word.strip() for word in line.split(",")] for line in lines][::EVERY]
    bim = [line.split() for line in mouse.with_suffix(".bim").read_text().splitlines()]
    places = {row[1]: (row[0], row[3]) for row in bim}
    genotypes.sort(key=lambda row: (int(places[row[0]][0]), int(places[row[0]][1]), row[0]))
    variants = ["\t".join([*places[name], name, ref, alt]) for name, alt, ref, *_ in genotypes]
    fam = [line.split() for line in mouse.with_suffix(".fam").read_text().splitlines()]
    values = [line.split()[3] for line in mouse_tables["pheno"].read_text().splitlines()[1:]]
    people = ["\t".join([*row[:2], row[4], y]) for row, y in zip(fam, values, strict=True)]
    dosages = np.array([row[3:] for row in genotypes], float)
    assert np.count_nonzero(dosages % 1) > 500
    write_pgen(folder / "all", variants, dosages, ["#FID\tIID\tSEX\tPHENO1", *people])
    prefix = rarer_second(folder / "all", *chr_set)
    covar = write_covariate(prefix, np.random.default_rng(2))
    return Pooled(prefix, parts_of(prefix, *chr_set), ["--covar", covar], chr_set, len(genotypes))


@pytest.fixture(scope="module")
def phased(tmp_path_factory: pytest.TempPathFactory) -> Pooled:
    """Files that plink2 generates: dosages and calls with phase, which plays no part."""
    folder = tmp_path_factory.mktemp("phased")
    kinds = ("dosage-freq=0.6", "phase-freq=0.7", "scalar-pheno", "acgt")
    plink2("--dummy", 300, 250, 0.03, 0.02, *kinds, "--seed", 7, "--out", folder / "all")
    prefix = rarer_second(folder / "all")
    return Pooled(prefix, parts_of(prefix), [], [], 200)


@pytest.mark.parametrize("which", ["everywhere", "mice", "phased"])
def test_linear_is_plink2s(
    which: str, request: pytest.FixtureRequest, rehearse: Rehearse, tmp_path: Path
) -> None:
    pooled: Pooled = request.getfixturevalue(which)
    given = [*pooled.covar, *pooled.chr_set]
    theirs = linear_of_plink2(pooled.prefix, tmp_path / "pooled", *given)
    rehearse("--test", "linear", "--dosages", *pfiles(pooled.parts), *given, *FLOORS,
             "--files", "glm,ssf", "--glm-cols", COLUMNS, "--out", tmp_path / "ours")  # fmt: skip
    assert len(theirs.read_text().splitlines()) > pooled.least
    assert not differences(tmp_path / "ours.phenotype.glm.linear", theirs)


def linear_of_plink2(prefix: Path, out: Path, *flags: object) -> Path:
    """plink2's report on pooled dosages."""
    alone = () if "--covar" in flags else ("allow-no-covars",)
    plink2("--pfile", prefix, *flags, "--glm", *alone, f"cols={COLUMNS}", "--out", out)
    return out.with_name(f"{out.name}.PHENO1.glm.linear")


def test_chi_square_is_of_the_calls(everywhere: Pooled, rehearse: Rehearse, tmp_path: Path) -> None:
    """Files of dosages in a study of calls: PLINK 1.9's bytes of what plink2 calls."""
    ill = tmp_path / "ill"
    people = [f"{name}\t{1 + (k % 5 < 2)}" for k, name in enumerate(ids(everywhere.prefix))]
    ill.write_text("\n".join(["#IID\till", *people]) + "\n")
    named = ("--pheno", ill, "--pheno-name", "ill")
    plink2("--pfile", everywhere.prefix, *named, "--make-bed", "--out", tmp_path / "calls")
    counted = ("--assoc", "--freq", "--missing", "--hardy", "--allow-no-sex")
    plink("--bfile", tmp_path / "calls", *counted, "--out", tmp_path / "pooled")
    rehearse(*pfiles(everywhere.parts), *named, *FLOORS, "--out", tmp_path / "ours")
    same_bytes(tmp_path / "ours", tmp_path / "pooled", ("assoc", "frq", "lmiss", "hwe"))


def test_cohorts_with_calls_count_whole_copies(
    everywhere: Pooled, rehearse: Rehearse, tmp_path: Path
) -> None:
    """One of the three has the hard calls alone, as a .bed."""
    first, second, third = everywhere.parts
    plink2("--pfile", third, "--make-bed", "--out", tmp_path / "calls")
    plink2("--bfile", tmp_path / "calls", "--make-pgen", "--out", tmp_path / "calls")
    values = []
    for part in (first, second, tmp_path / "calls"):
        file = PgenFile(part.with_suffix(".pgen"), len(ids(part)), VARIANTS)
        values.append(file.dosages(np.arange(VARIANTS)))
    copies = np.concatenate(values, axis=1)
    variants, psam = (
        [line for line in everywhere.prefix.with_suffix(kind).read_text().splitlines() if line[:2] != "##"]
        for kind in (".pvar", ".psam")
    )
    write_pgen(tmp_path / "mixed", variants[1:], np.where(copies == NO_DOSAGE, np.nan, copies / COPY), psam)
    theirs = linear_of_plink2(rarer_second(tmp_path / "mixed"), tmp_path / "pooled")
    cohorts = ("--bfile", tmp_path / "calls", *pfiles([first, second]))
    rehearse("--test", "linear", "--dosages", *cohorts, *FLOORS, "--files", "glm", "--glm-cols", COLUMNS,
             "--out", tmp_path / "ours")  # fmt: skip
    assert not differences(tmp_path / "ours.phenotype.glm.linear", theirs)
    assert "called only counted as whole copies" in (tmp_path / "ours.methods.txt").read_text()
