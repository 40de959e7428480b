"""Several phenotypes, one sex, conditions, standardised covariates: PLINK on the pooled mice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ..conftest import MICE, Rehearse
from ..plinks import bfiles, plink, rows, split
from .reports import GLM, LINEAR, agreement, glm_of, same, same_bytes
from .test_logistic import compare

SHARES = 5, 3, 2
NAMES = ("first", "second", "sum")
COUNTED = ("frq", "lmiss", "hwe")


@pytest.fixture(scope="module")
def tables(mouse_tables: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Three phenotypes of the mice as numbers, and, cut in two, as cases and controls; each lacks others."""
    folder, random = tmp_path_factory.mktemp("phenotypes"), np.random.default_rng(3)
    ids, *rows = (line.split() for line in mouse_tables["pheno"].read_text().splitlines())
    assert ids == ["FID", "IID", "first", "second"]
    values = np.array([[np.nan if word == "NA" else float(word) for word in row[2:]] for row in rows])
    values = np.column_stack([values, np.nan_to_num(values).sum(axis=1) + random.normal(size=len(values))])
    values[random.random(values.shape) < 0.04] = np.nan
    above = np.where(np.isnan(values), np.nan, 1 + (values > np.nanquantile(values, 0.7, axis=0)))
    found = {"quantitative": folder / "numbers", "case/control": folder / "classes"}
    for path, columns in zip(found.values(), (values, above), strict=True):
        words = [[f"{v:.6g}" if np.isfinite(v) else "NA" for v in row] for row in columns.tolist()]
        lines = (" ".join([*row[:2], *said]) for row, said in zip(rows, words, strict=True))
        path.write_text("\n".join([f"FID IID {' '.join(NAMES)}", *lines]) + "\n")
    return found


@pytest.fixture
def parts(few: Path, tmp_path: Path) -> list[object]:
    """Options of a rehearsal that name the mice in every study here."""
    return [*bfiles(split(few, SHARES, tmp_path, "--chr-set", "19")), *MICE, "--min-samples", 20,
            "--nonfounders"]  # fmt: skip


def test_linear(
    few: Path,
    parts: list[object],
    tables: dict[str, Path],
    mouse_tables: dict[str, Path],
    rehearse: Rehearse,
    tmp_path: Path,
) -> None:
    """Files have plink2's names: PREFIX.PHENO.glm.linear."""
    pheno = ("--pheno", tables["quantitative"])
    rehearse("--test", "linear", *parts, *pheno, "--pheno-name", ",".join(NAMES), "--covar",
             mouse_tables["covar"], "--covar-name", "weight,season",
             "--files", ",".join(("assoc", "glm", *COUNTED)), "--out", tmp_path / "ours")  # fmt: skip
    covar = ("--covar", mouse_tables["covar"])
    glm_of(few, tmp_path / "plink2", *pheno, "--pheno-name", *NAMES, *covar, "--covar-name",
           "weight", "season", "--glm", "omit-ref")  # fmt: skip
    for name in NAMES:
        pooled = tmp_path / f"pooled-{name}"
        plink("--bfile", few, *MICE, *pheno, "--pheno-name", name, "--nonfounders", *covar, "--covar-name",
              "weight,season", "--linear", "--freq", "--missing", "--hardy", "--out", pooled)  # fmt: skip
        same(tmp_path / f"ours.{name}.assoc.linear", Path(f"{pooled}.assoc.linear"))
        same_bytes(tmp_path / f"ours.{name}", pooled, COUNTED)
        ours, theirs = (tmp_path / f"{whose}.{name}.glm.linear" for whose in ("ours", "plink2"))
        found = agreement(ours, theirs, GLM, LINEAR, digits=6)
        assert found.numbers > 2_000, name
        assert not found.far and not found.ours_alone and not found.theirs_alone, name


def test_logistic_and_firth(
    few: Path,
    parts: list[object],
    tables: dict[str, Path],
    mouse_tables: dict[str, Path],
    rehearse: Rehearse,
    tmp_path: Path,
) -> None:
    pheno = ("--pheno", tables["case/control"])
    rehearse("--test", "logistic", *parts, *pheno, "--pheno-name", ",".join(NAMES), "--min-per-class", 1,
             "--covar", mouse_tables["covar"], "--covar-name", "weight", "--files", "assoc,glm",
             "--out", tmp_path / "ours")  # fmt: skip
    covar = ("--covar", mouse_tables["covar"], "--covar-name", "weight")
    glm_of(few, tmp_path / "plink2", *pheno, "--pheno-name", *NAMES, *covar,
           "--glm", "omit-ref", "firth-fallback")  # fmt: skip
    bounds = {"OR": (1e-3, 0.0), "Z_STAT": (0.0, 1e-3), "P": (1e-3, 0.0)}
    for name in NAMES:
        pooled = tmp_path / f"pooled-{name}"
        plink("--bfile", few, *MICE, *pheno, "--pheno-name", name, "--nonfounders", *covar, "--logistic",
              "--out", pooled)  # fmt: skip
        found = compare(tmp_path / f"ours.{name}.assoc.logistic", Path(f"{pooled}.assoc.logistic"))
        assert found.numbers > 1_300 and len(found.far) < 2e-3 * found.numbers, name
        ours, theirs = (tmp_path / f"{whose}.{name}.glm.logistic.hybrid" for whose in ("ours", "plink2"))
        found = agreement(ours, theirs, (*GLM, "FIRTH?"), bounds, digits=6)
        assert found.numbers > 1_300, name
        assert not found.ours_alone and not found.theirs_alone, name
        # Where plink2 stops a little early: test_logistic.py says who is right there.
        assert len(found.far) < 0.01 * found.numbers


def test_chi_square(
    few: Path, parts: list[object], tables: dict[str, Path], rehearse: Rehearse, tmp_path: Path
) -> None:
    pheno = ("--pheno", tables["case/control"])
    rehearse("--test", "chi-square", *parts, *pheno, "--pheno-name", ",".join(NAMES), "--min-per-class", 1,
             "--geno", 0.1, "--adjust", "--out", tmp_path / "ours")  # fmt: skip
    for name in NAMES:
        pooled = tmp_path / f"pooled-{name}"
        plink("--bfile", few, *MICE, *pheno, "--pheno-name", name, "--nonfounders", "--geno", 0.1, "--assoc",
              "--adjust", "--freq", "--missing", "--hardy", "--out", pooled)  # fmt: skip
        same_bytes(tmp_path / f"ours.{name}", pooled, ("assoc", "assoc.adjusted", *COUNTED))


@pytest.mark.parametrize("covariates", [(), ("weight", "season")], ids=["none", "two"])
def test_only_people_with_all_phenotypes(
    few: Path,
    parts: list[object],
    tables: dict[str, Path],
    mouse_tables: dict[str, Path],
    covariates: tuple[str, ...],
    rehearse: Rehearse,
    tmp_path: Path,
) -> None:
    """The study is as plink2 --require-pheno: the others are not in frequencies either."""
    common = ("--pheno", tables["quantitative"], "--require-pheno")
    covar = ("--covar", mouse_tables["covar"], "--covar-name") if covariates else ()
    rehearse("--test", "linear", *parts, *common, "--pheno-name", ",".join(NAMES), "--files", "glm,frq",
             *covar, *[",".join(covariates)] * bool(covar), "--out", tmp_path / "ours")  # fmt: skip
    whole = [line.split() for line in tables["quantitative"].read_text().splitlines()[1:]]
    (listed := tmp_path / "whole").write_text("".join(f"{w[0]} {w[1]}\n" for w in whole if "NA" not in w))
    glm_of(few, tmp_path / "plink2", *common, "--pheno-name", *NAMES, *covar, *covariates,
           "--glm", "omit-ref", "allow-no-covars", of=("--keep", listed))  # fmt: skip
    plink("--bfile", few, *MICE, "--keep", listed, "--nonfounders", "--freq", "--out", tmp_path / "pooled")
    for name in NAMES:
        ours, theirs = (tmp_path / f"{whose}.{name}.glm.linear" for whose in ("ours", "plink2"))
        found = agreement(ours, theirs, GLM, LINEAR, digits=6)
        assert found.numbers > 700, name
        assert not found.far and not found.ours_alone and not found.theirs_alone, name
        assert (tmp_path / f"ours.{name}.frq").read_bytes() == (tmp_path / "pooled.frq").read_bytes()


@pytest.fixture(scope="module")
def conditions(few: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A list of two common variants of the autosomes: the first has missing calls, and comes later."""
    prefix = tmp_path_factory.mktemp("conditions") / "found"
    plink("--bfile", few, *MICE, "--nonfounders", "--maf", 0.05, "--freq", "--missing", "--out", prefix)
    missing = {row["SNP"]: int(row["N_MISS"]) for row in rows(Path(f"{prefix}.lmiss"))}
    common = [row["SNP"] for row in rows(Path(f"{prefix}.frq")) if 1 <= int(row["CHR"]) <= 19]
    incomplete = next(name for name in missing if missing[name])
    (listed := prefix.with_suffix(".list")).write_text(f"{incomplete}\n{common[100]}\n")
    return listed


def test_women_only_conditioned_on_two_variants(
    few: Path,
    parts: list[object],
    conditions: Path,
    mouse_tables: dict[str, Path],
    rehearse: Rehearse,
    tmp_path: Path,
) -> None:
    """Lines of conditions come before those of covariates; people without a call of one are left out."""
    names, ours, pooled = conditions.read_text().split(), tmp_path / "ours", tmp_path / "pooled"
    pheno = ("--pheno", mouse_tables["pheno"], "--pheno-name", "second")
    rehearse("--test", "linear", *parts, *pheno, "--filter-females",
             "--condition", ",".join(names), "--covar", mouse_tables["covar"],
             "--covar-name", "weight,season", "--files", ",".join(("assoc", "glm", *COUNTED)),
             "--out", ours)  # fmt: skip
    table = ("--covar", mouse_tables["covar"], "--covar-name", "weight", "season")
    conditioned = ("--condition-list", conditions)
    plink("--bfile", few, *MICE, *pheno, "--nonfounders", "--filter-females", *conditioned,
          "--covar", mouse_tables["dummies"], "--covar-name", "weight-season", "--linear", "--freq",
          "--missing", "--hardy", "--out", pooled)  # fmt: skip
    same(Path(f"{ours}.assoc.linear"), Path(f"{pooled}.assoc.linear"))
    same_bytes(ours, pooled, COUNTED)
    theirs = glm_of(few, tmp_path / "plink2", *pheno, "--keep-females", *conditioned,
                    *table, "--glm", "omit-ref", of=["--filter-females"])  # fmt: skip
    found = agreement(Path(f"{ours}.second.glm.linear"), theirs, GLM, LINEAR, digits=6)
    assert found.numbers > 3_500
    assert not found.far and not found.ours_alone and not found.theirs_alone
    tests = [row["TEST"] for row in rows(Path(f"{ours}.assoc.linear"))]
    assert tests[:5] == ["ADD", *names, "weight", "season"]
    of_itself = [row["P"] for row in rows(Path(f"{ours}.assoc.linear")) if row["SNP"] in names]
    assert set(of_itself) == {"NA"}


def test_logistic_conditioned_and_standardised(
    few: Path,
    parts: list[object],
    conditions: Path,
    mouse_tables: dict[str, Path],
    rehearse: Rehearse,
    tmp_path: Path,
) -> None:
    """The units are those of the people in the regression: plink2's, where these are all that it counts."""
    first, ours = conditions.read_text().split()[0], tmp_path / "ours"
    common = ("--condition", first, "--covar-variance-standardize")
    rehearse("--test", "logistic", *parts, "--min-per-class", 1,
             *common, "--covar", mouse_tables["covar"], "--covar-name", "weight,season",
             "--firth", "no-firth", "--files", "assoc,glm", "--out", ours)  # fmt: skip
    table = ("--covar", mouse_tables["covar"], "--covar-name", "weight", "season")
    called = ("--require-pheno", "--require-covar", "--keep", _called(few, first, tmp_path))
    theirs = glm_of(few, tmp_path / "plink2", *common, *table, *called,
                    "--glm", "no-firth", "omit-ref")  # fmt: skip
    bounds = {"OR": (1e-4, 1e-5), "LOG(OR)_SE": (1e-3, 0.0), "P": (5e-3, 0.0)}
    found = agreement(Path(f"{ours}.phenotype.glm.logistic"), theirs, GLM, bounds, digits=6)
    assert found.numbers > 3_000
    assert not found.far and not found.ours_alone and not found.theirs_alone


def _called(few: Path, name: str, folder: Path) -> Path:
    """Write the list of people who have a call of a variant."""
    plink("--bfile", few, *MICE, "--snp", name, "--recode", "A", "--out", folder / "one")
    people = [line.split() for line in (folder / "one.raw").read_text().splitlines()[1:]]
    (listed := folder / "called").write_text("".join(f"{p[0]} {p[1]}\n" for p in people if p[6] != "NA"))
    return listed
