"""`unpooled rehearse --test pca`: plink2's components of the pooled files, and NumPy's."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from pooled import Quantities

from unpooled.errors import Refuse

from ..conftest import MICE, Rehearse
from ..people import people as samples_of
from ..plinks import bfiles, forget, plink, plink2, split
from .reports import rows

STANDS_OUT = 1.2
MAF = 0.02


def eigenvec_of(*files: Path) -> dict[tuple[str, str], np.ndarray]:
    """The components of each person."""
    found = {}
    for file in files:
        head, *lines = file.read_text().splitlines()
        assert head.split("\t")[:3] == ["#FID", "IID", "PC1"]
        for fid, iid, *scores in (line.split("\t") for line in lines):
            found[fid, iid] = np.array(scores, float)
    return found


def standardised(prefix: Path) -> np.ndarray:
    """X of a pooled .bed, slow and clear: float64 (people, variants of the autosomes above MAF)."""
    bim = [line.split() for line in prefix.with_suffix(".bim").read_text().splitlines()]
    people = len(prefix.with_suffix(".fam").read_text().splitlines())
    data = np.frombuffer(prefix.with_suffix(".bed").read_bytes(), np.uint8)[3:].reshape(len(bim), -1)
    codes = (data[:, :, None] >> np.arange(0, 8, 2)) & 3
    copies = np.array([2, np.nan, 1, 0])[codes.reshape(len(bim), -1)[:, :people]]
    p = np.nanmean(copies, axis=1) / 2
    autosome = np.array([1 <= int(line[0]) <= 19 for line in bim])
    kept = autosome & (np.minimum(p, 1 - p) >= MAF)
    x = (copies[kept].T - 2 * p[kept]) / np.sqrt(2 * p[kept] * (1 - p[kept]))
    return np.nan_to_num(x)


def off(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """1 - |cos| of each column."""
    lengths = np.linalg.norm(ours, axis=0) * np.linalg.norm(theirs, axis=0)
    return 1 - np.abs((ours * theirs).sum(axis=0)) / lengths


def standing_out(values: np.ndarray, following: float) -> np.ndarray:
    return values >= STANDS_OUT * np.append(values[1:], following)


@pytest.fixture(scope="module")
def founders(few: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The mice, all of them founders, without one in fifty of their calls."""
    prefix = tmp_path_factory.mktemp("founders") / "mouse"
    plink("--bfile", few, *MICE, "--make-founders", "--make-bed", "--out", prefix)
    forget(prefix.with_suffix(".bed"), 0.02)
    return prefix


OWN = ("--chr-set", 19, "--maf", MAF)


@pytest.fixture(scope="module")
def cohorts(founders: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three of very different size."""
    return split(founders, (6, 3, 1), tmp_path_factory.mktemp("cohorts"), *MICE)


@pytest.fixture(scope="module")
def ancestry(cohorts: list[Path], rehearse: Rehearse, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Prefix of the results of a study of five components; scores lie beside each cohort's data."""
    ours = tmp_path_factory.mktemp("ancestry") / "ours"
    rehearse("--test", "pca", *bfiles(cohorts), *OWN, "--pca", 5, "--out", ours)
    return ours


@pytest.fixture(scope="module")
def ten(founders: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Ten cohorts, the smallest a thirtieth of the largest."""
    return split(founders, (30, 1, 7, 12, 3, 18, 2, 5, 9, 4), tmp_path_factory.mktemp("ten"), *MICE)


def test_of_mice_the_components_of_plink2(
    founders: Path, cohorts: list[Path], ancestry: Path, tmp_path: Path
) -> None:
    """Real structure, uneven cohorts, missing calls; everybody is scored by the files that come out."""
    check_components(founders, cohorts, ancestry, tmp_path / "theirs")
    cells = len(Path(f"{ancestry}.density").read_text().splitlines()) - 1
    for cohort in cohorts:
        people, page = len(eigenvec_of(Path(f"{cohort}.eigenvec"))), Path(f"{cohort}.eigenvec.html")
        assert f"{people:,} people of this cohort over {cells:,} cells" in page.read_text()
        assert page.read_text().count("h.01") == people
        assert "The error of PC1 and PC2, as 1 - |cos|, is at most " in page.read_text()


def check_components(founders: Path, cohorts: Sequence[Path], ours: Path, theirs: Path) -> None:
    plink2("--bfile", founders, *OWN, "--autosome", "--freq", "counts", "--pca", 5,
           "allele-wts", "meanimpute", "--threads", 1, "--out", theirs)  # fmt: skip
    values, expected = (np.loadtxt(f"{stem}.eigenval") for stem in (ours, theirs))
    np.testing.assert_allclose(values, expected, rtol=1e-4)

    found = eigenvec_of(*(cohort.with_suffix(".eigenvec") for cohort in cohorts))
    of_plink = eigenvec_of(Path(f"{theirs}.eigenvec"))
    scores, named = (np.array([each[key] for key in of_plink]) for each in (found, of_plink))
    np.testing.assert_allclose(np.linalg.norm(scores, axis=0), 1, rtol=1e-9)
    x = standardised(founders)
    eigenvalues, vectors = np.linalg.eigh(x @ x.T / x.shape[1])
    stands = standing_out(eigenvalues[::-1][:5], eigenvalues[-6])
    assert stands.sum() >= 2
    assert (off(scores, vectors[:, ::-1][:, :5])[stands] <= 1e-9).all()
    assert (off(scores, named)[stands] <= 1e-6).all()  # plink2 prints six digits
    check_errors(ours, off(scores, named))

    of_allele = [np.loadtxt(f"{stem}.eigenvec.allele", usecols=range(5, 10)) for stem in (ours, theirs)]
    assert (off(*of_allele)[stands] <= 1e-6).all()
    lengths = [np.linalg.norm(weights, axis=0) for weights in of_allele]
    np.testing.assert_allclose(*lengths, rtol=1e-5)
    check_projection(founders, ours, scores)


def check_errors(ours: Path, true: np.ndarray) -> None:
    """Assert that no error is larger than the study says, apart from plink2's six digits."""
    head, *lines = [line.split("\t") for line in Path(f"{ours}.eigenval.error").read_text().splitlines()]
    assert head == ["#EIGENVALUE", "TIMES_NEXT", "ERROR", "STANDS_OUT"]
    values, times_next, told, stand_out = np.array(lines, float).T
    assert values.tolist() == np.loadtxt(f"{ours}.eigenval").tolist()
    assert (true <= told + 1e-6).all()
    last = np.flatnonzero(times_next >= STANDS_OUT).max(initial=-1)
    assert stand_out.tolist() == (np.arange(len(values)) <= last).tolist()


def populations(people: int, variants: int = 3000) -> Quantities:
    """People of four populations, between which the trait differs."""
    random = np.random.default_rng(people)
    population, ancestral = random.integers(4, size=people), random.uniform(0.1, 0.9, variants)
    own = random.beta(99 * ancestral, 99 * (1 - ancestral), (4, variants)).clip(0.03, 0.97)
    copies = random.binomial(2, own[population].T).astype(np.int8)
    samples = samples_of(population * 0.6 + random.normal(size=people))
    rows = [(1 + 20 * k // variants, 1000 + k, b"rs%d" % k, b"A", b"G") for k in range(variants)]
    return Quantities(samples, rows, copies)


@pytest.mark.parametrize("people", [300, 540, 960])  # of 300 at least 160 count, which allow 32 directions
def test_of_few_people_the_axes_are_plink2s_and_other_components_are_named(
    people: int, tmp_path: Path
) -> None:
    """A regression stops, and with the number of components that it names is plink2's beside three axes."""
    pool = populations(people)
    theirs = ten_of_plink2(pool, tmp_path)
    true, told = ten_beside(pool, theirs)
    assert (true <= told + 1e-6).all() and (told[:3] <= 1e-5).all() and (told[3:] > 1e-3).all()
    with pytest.raises(Refuse, match=r"that of PC1, PC2, PC3 is smaller.* Choose 3 comp"):
        pool.study((1, 1, 1), components=10)
    _, ours = pool.study((1, 1, 1), components=3, hide_covar=True)
    beside = replace(pool, samples=pool.samples.with_covariates(theirs[:, :3]))
    head, *lines = beside.plink2(tmp_path, "--glm", "omit-ref", "hide-covar")
    found = np.array([line[head.index("T_STAT")] for line in lines], float)
    np.testing.assert_allclose(np.abs(ours["beta"] / ours["se"])[:, 0], np.abs(found), rtol=1e-3, atol=1e-3)


class Ancestry(Quantities):
    """The same people, of whom components are found."""

    test: ClassVar[str] = "pca"
    usual: ClassVar[dict[str, Any]] = {"trait": "quantitative", "files": ("eigenval", "eigenval.error")}


def ten_of_plink2(pool: Quantities, folder: Path) -> np.ndarray:
    """plink2's scores of everybody: float64 (people, 10)."""
    pool.write(folder / "pool")
    plink2("--bfile", folder / "pool", "--pca", 10, "meanimpute", "--out", folder / "pool")
    return np.array([*eigenvec_of(folder / "pool.eigenvec").values()])


def ten_beside(pool: Quantities, theirs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how far a study's ten components are from plink2's, and from the true ones as it says itself."""
    files, found = Ancestry(**vars(pool)).study((1, 1, 1), pca=10)
    told = np.loadtxt(io.BytesIO(files["eigenval.error"]), skiprows=1)[:, 2]
    copies = pool.copies[found["variant"]].T
    p = copies.mean(axis=0) / 2
    sign = np.where(found["first_is_a1"], 1, -1)
    loadings = np.array([found[f"PC{k}"] * sign for k in range(1, 11)])
    return off((copies - 2 * p) / np.sqrt(2 * p * (1 - p)) @ loadings.T, theirs), told


def check_projection(people: Path, ours: Path, scores: np.ndarray) -> None:
    """plink2's --score by our files gives the same components, in other units."""
    plink2("--bfile", people, *OWN, "--read-freq", f"{ours}.acount", "--score", f"{ours}.eigenvec.allele", 2,
           5, "header-read", "no-mean-imputation", "variance-standardize", "cols=scoresums",
           "--score-col-nums", "6-10", "--out", f"{ours}-projected")  # fmt: skip
    projected = np.loadtxt(f"{ours}-projected.sscore", usecols=range(1, 6))
    assert (off(projected, scores) <= 1e-9).all()


COMPONENTS = 3


def extracted(prefix: Path) -> tuple[object, ...]:
    """Arguments for the variants that pass the filters among all people, with a phenotype or without."""
    listed = prefix.with_name("listed")
    plink2("--bfile", prefix, *OWN, "--write-snplist", "--out", listed)
    return "--chr-set", 19, "--extract", f"{listed}.snplist"


@pytest.fixture(scope="module")
def covariates(
    cohorts: list[Path],
    ancestry: Path,
    mouse_tables: dict[str, Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """The pool's table of covariates: a number from the cohorts' files, and their people's components."""
    table = tmp_path_factory.mktemp("covariates") / "table"
    write_covariates(table, mouse_tables["covar"], cohorts)
    return table


def write_covariates(table: Path, own: Path, cohorts: Sequence[Path], *, indicators: bool = False) -> None:
    """The weight, the components, and perhaps an indicator of each cohort but the first."""
    scores = eigenvec_of(*(cohort.with_suffix(".eigenvec") for cohort in cohorts))
    members = {
        key: k for k, cohort in enumerate(cohorts) for key in eigenvec_of(cohort.with_suffix(".eigenvec"))
    }
    others = [k for k in range(1, len(cohorts)) if indicators]
    head, *lines = (line.split() for line in own.read_text().splitlines())
    place = head.index("weight")
    names = [*(f"PC{k + 1}" for k in range(COMPONENTS)), *(f"COHORT{k}" for k in others)]
    rows = ["\t".join(["FID", "IID", "weight", *names])]
    for fid, iid, *values in lines:
        of = members[fid, iid]
        row = [*map(repr, scores[fid, iid][:COMPONENTS].tolist()), *(str(int(of == k)) for k in others)]
        rows.append("\t".join([fid, iid, values[place - 2], *row]))
    table.write_text("\n".join(rows) + "\n")


@pytest.mark.parametrize("test", ["linear", "logistic"])
def test_a_regression_beside_components_is_plink2s(
    test: str,
    founders: Path,
    cohorts: list[Path],
    covariates: Path,
    mouse_tables: dict[str, Path],
    rehearse: Rehearse,
    tmp_path: Path,
) -> None:
    """plink2 has them in a file of covariates; a study finds them first, and no file has them."""
    ours = tmp_path / "ours"
    pheno = {"linear": ("--pheno", mouse_tables["pheno"], "--pheno-name", "second"), "logistic": ()}[test]
    more = {"linear": (), "logistic": ("--firth", "no-firth", "--min-per-class", 1)}[test]
    rehearse("--test", test, *bfiles(cohorts), *OWN, "--allow-no-sex", *pheno, *more, "--components",
             COMPONENTS, "--covar", mouse_tables["covar"], "--covar-name", "weight", "--missing", "exact",
             "--covar-variance-standardize",
             "--files", "glm", "--out", ours)  # fmt: skip
    people = ("--require-covar", "--require-pheno", *(["second"] if test == "linear" else []))
    plink2("--bfile", founders, *extracted(founders), *pheno, *people, "--covar", covariates,
           "--covar-variance-standardize", "--glm", "omit-ref",
           *(["no-firth"] if test == "logistic" else []), "--threads", 1,
           "--out", tmp_path / "theirs")  # fmt: skip
    (theirs,), (found,) = (list(tmp_path.glob(f"{name}.*.glm.*")) for name in ("theirs", "ours"))
    check_lines(found, theirs)


def test_ten_cohorts_and_the_same_cohorts_apart(
    founders: Path,
    ten: list[Path],
    mouse_tables: dict[str, Path],
    rehearse: Rehearse,
    tmp_path: Path,
) -> None:
    """Components of ten uneven cohorts; and beside them a regression with cohorts apart, of which plink2 has
    indicators of the cohorts among its covariates."""
    rehearse("--test", "pca", *bfiles(ten), *OWN, "--pca", 5, "--min-samples", 5,
             "--out", tmp_path / "ancestry")  # fmt: skip
    check_components(founders, ten, tmp_path / "ancestry", tmp_path / "pooled")
    write_covariates(tmp_path / "table", mouse_tables["covar"], ten, indicators=True)
    pheno = ("--pheno", mouse_tables["pheno"], "--pheno-name", "second")
    rehearse("--test", "linear", *bfiles(ten), *OWN, "--allow-no-sex", *pheno, "--components", COMPONENTS,
             "--covar", mouse_tables["covar"], "--covar-name", "weight", "--missing", "exact",
             "--cohorts-apart", "--min-samples", 5, "--files", "glm",
             "--out", tmp_path / "ours")  # fmt: skip
    plink2("--bfile", founders, *extracted(founders), *pheno, "--require-covar", "--require-pheno",
           "second", "--covar", tmp_path / "table", "--covar-variance-standardize", "--glm", "omit-ref",
           "--threads", 1, "--out", tmp_path / "theirs")  # fmt: skip
    (theirs,), (found,) = (list(tmp_path.glob(f"{name}.*.glm.*")) for name in ("theirs", "ours"))
    check_lines(found, theirs, tests=("ADD",))


def check_lines(ours: Path, theirs: Path, tests: Sequence[str] = ()) -> None:
    """Line by line, whichever allele is counted; perhaps of some tests only."""
    found, expected = (
        {(row["ID"], row["TEST"]): row for row in rows(file) if not tests or row["TEST"] in tests}
        for file in (ours, theirs)
    )
    assert found.keys() == expected.keys()
    known = {key for key, row in found.items() if row["P"] != "NA"}
    assert len(known) > 600 * (1 if tests else 5)
    assert known == {key for key, row in expected.items() if row["P"] != "NA"}
    for key in known:
        one, other = found[key], expected[key]
        assert one["OBS_CT"] == other["OBS_CT"], key
        sign = 1 if one["A1"] == other["A1"] or key[1] != "ADD" else -1
        (b, *others), (plinks, *theirs_others) = numbers_of(one), numbers_of(other)
        np.testing.assert_allclose(sign * b, plinks, rtol=5e-3, atol=2e-4, err_msg=str(key))
        np.testing.assert_allclose(others, theirs_others, rtol=5e-3, err_msg=str(key))


def numbers_of(row: dict[str, str]) -> tuple[float, float, float]:
    """Return effect, standard error and P of a line of a `.glm`."""
    effect = float(row["BETA"]) if "BETA" in row else np.log(float(row["OR"]))
    return effect, float(row["SE"] if "SE" in row else row["LOG(OR)_SE"]), float(row["P"])
