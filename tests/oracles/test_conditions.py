"""Studies of one sex, conditioned on variants, with standardised covariates: PLINK on the pooled mice."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..conftest import MICE, Rehearse
from ..plinks import bfiles, plink, rows, split
from .reports import GLM, LINEAR, agreement, glm_of, same, same_bytes

EVERY, SHARES = 12, (5, 3, 2)
"""Every so many-th variant of the mice is taken; what the cohorts have of the people."""
FLOORS = ("--min-samples", 20)
COUNTED = ("frq", "lmiss", "hwe")


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
    few: Path, conditions: Path, mouse_tables: dict[str, Path], rehearse: Rehearse, tmp_path: Path
) -> None:
    """Lines of conditions come before those of covariates; people without a call of one are left out."""
    names, ours, pooled = conditions.read_text().split(), tmp_path / "ours", tmp_path / "pooled"
    pheno = ("--pheno", mouse_tables["pheno"], "--pheno-name", "second")
    parts = split(few, SHARES, tmp_path, "--chr-set", "19")
    rehearse("--test", "linear", *bfiles(parts), *MICE, *pheno, *FLOORS, "--nonfounders", "--filter-females",
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
    few: Path, conditions: Path, mouse_tables: dict[str, Path], rehearse: Rehearse, tmp_path: Path
) -> None:
    """The units are those of the people in the regression: plink2's, where these are all that it counts."""
    first, ours = conditions.read_text().split()[0], tmp_path / "ours"
    common = ("--condition", first, "--covar-variance-standardize")
    parts = split(few, SHARES, tmp_path, "--chr-set", "19")
    rehearse("--test", "logistic", *bfiles(parts), *MICE, *FLOORS, "--min-per-class", 1, "--nonfounders",
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


def test_a_model_an_interaction_and_a_condition_together(
    few: Path, conditions: Path, mouse_tables: dict[str, Path], rehearse: Rehearse, tmp_path: Path
) -> None:
    """PLINK multiplies the genotype with conditions, too: it is told to leave that column out."""
    name, ours = conditions.read_text().split()[1], tmp_path / "ours"
    pheno = ("--pheno", mouse_tables["pheno"], "--pheno-name", "second")
    common = ("--condition", name, "--covar-variance-standardize")
    parts = split(few, SHARES, tmp_path, "--chr-set", "19")
    rehearse("--test", "linear", *bfiles(parts), *MICE, *pheno, *FLOORS, "--nonfounders", *common,
             "--genotype-model", "dominant", "--interaction", "weight", "--covar", mouse_tables["covar"],
             "--covar-name", "weight", "--files", "glm", "--out", ours)  # fmt: skip
    called = ("--require-pheno", "second", "--require-covar", "weight")
    theirs = glm_of(few, tmp_path / "plink2", *pheno, *common, *called,
                    "--covar", mouse_tables["covar"], "--covar-name", "weight",
                    "--glm", "dominant", "interaction", "omit-ref", "--parameters", "1-3,5")  # fmt: skip
    found = agreement(Path(f"{ours}.second.glm.linear"), theirs, GLM, LINEAR, digits=6)
    assert {row["TEST"] for row in rows(theirs)} == {"DOM", name, "weight", "DOMxweight"}
    assert found.numbers > 3_000
    assert not found.far and not found.ours_alone and not found.theirs_alone


def _called(few: Path, name: str, folder: Path) -> Path:
    """Who has a call of a variant."""
    plink("--bfile", few, *MICE, "--snp", name, "--recode", "A", "--out", folder / "one")
    people = [line.split() for line in (folder / "one.raw").read_text().splitlines()[1:]]
    (listed := folder / "called").write_text("".join(f"{p[0]} {p[1]}\n" for p in people if p[6] != "NA"))
    return listed
