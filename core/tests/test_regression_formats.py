"""`.glm.*` against plink2, and GWAS-SSF by its own rules."""

from __future__ import annotations

import gzip
import importlib.util
import io
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from pooled import needed

from unpooled.algorithms import ALGORITHMS
from unpooled.formats.regression_report import file_name
from unpooled.formats.ssf import metadata, renamed
from unpooled.panel import Panel
from unpooled.plan import Covariate, Plan


def _helpers(test: str) -> Any:
    """The pooled data of the tests of whole studies."""
    path = Path(__file__).with_name(f"test_plink_{test}.py")
    spec = importlib.util.spec_from_file_location(f"pooled_{test}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


WITHOUT: dict[str, dict[str, Any]] = {"linear": {}, "logistic": {"firth": "no-firth"}}
"""Options of a study without Firth's fit, and plink2's modifiers for the same."""


def result(test: str, **options: Any) -> tuple[Any, dict[str, bytes]]:
    pooled = _helpers(test).generated(3, each=10, **({"missing": 0.0} if test == "logistic" else {}))
    return pooled, pooled.study(files=("assoc", "glm", "ssf"), **WITHOUT[test] | options)[0]


def plink2(pooled: Any, folder: Path, *flags: str) -> list[list[str]]:
    """plink2's report on the pooled data, word by word. A1 is the rarer allele, as a merge leaves it."""
    needed(shutil.which("plink2"), "plink2")
    pooled.write(folder / "pooled")
    prefix = ["--bfile", str(folder / "pooled"), "--out", str(folder / "minor"), "--allow-no-sex"]
    subprocess.run(["plink1.9", *prefix, "--make-bed"], check=True, capture_output=True)
    command = ["plink2", "--bfile", str(folder / "minor"), "--out", str(folder / "out"), "--threads", "1"]
    # It wants covariates of similar size, which changes nothing but their own lines.
    command += ["--covar", str(folder / "pooled.cov"), "--covar-variance-standardize", *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    report = next(folder.glob("out.*.glm.*")).read_text()
    return [line.split("\t") for line in report.splitlines()]


Pairs = list[tuple[dict[str, str], dict[str, str]]]


def pairs(ours: bytes, plinks: list[list[str]]) -> Pairs:
    """Our lines and plink2's, by title, about the same variants, tests and people."""
    header, *lines = (line.split("\t") for line in ours.decode().splitlines())
    assert header == plinks[0]
    both = zip(lines, plinks[1:], strict=True)
    found = [(dict(zip(header, a, strict=True)), dict(zip(header, b, strict=True))) for a, b in both]
    for a, b in found:
        for title in ("#CHROM", "POS", "ID", "REF", "ALT", "A1", "TEST", "OBS_CT"):
            assert a[title] == b[title], (a, b)
    return found


def assert_near(ours: dict[str, str], plinks: dict[str, str]) -> None:
    """To 1e-3 each; a coefficient in units of its standard error where it is smaller than that."""
    skipped = {"BETA", "OR", "SE", "LOG(OR)_SE", "L95", "U95"} if ours["TEST"].startswith("C") else set()
    error = float(plinks.get("SE", 0))
    for title in {"BETA", "OR", "SE", "LOG(OR)_SE", "L95", "U95", "P"} & set(ours) - skipped:
        absolute = 1e-3 * error if title in ("BETA", "L95", "U95") else 0.0
        assert float(ours[title]) == pytest.approx(float(plinks[title]), rel=1e-3, abs=absolute), (
            ours,
            plinks,
        )
    statistic = "Z_STAT" if "Z_STAT" in ours else "T_STAT"
    assert float(ours[statistic]) == pytest.approx(float(plinks[statistic]), rel=0, abs=1e-3), (ours, plinks)


@pytest.mark.parametrize("test", ["linear", "logistic"])
@pytest.mark.parametrize("limits", [True, False], ids=["limits", "no limits"])
def test_glm_is_plink2s(test: str, limits: bool, tmp_path: Path) -> None:
    """On every chromosome: men 0/2 on X, heterozygous haploid calls half a copy, sexes unknown."""
    pooled, ours = result(test, ci=0.95 if limits else 0.0)
    modifiers = WITHOUT[test].values()
    flags = ["--ci", "0.95"] if limits else []
    found = pairs(ours["glm"], plink2(pooled, tmp_path, "--glm", *modifiers, *flags))
    numbers = [pair for pair in found if "NA" not in (pair[0]["P"], pair[1]["P"])]
    for a, b in found:
        assert a["ERRCODE"] == b["ERRCODE"], (a, b)
        assert (a["P"] == "NA") == (b["P"] == "NA") == (a["ERRCODE"] != "."), (a, b)
    for a, b in numbers:
        assert_near(a, b)
    assert {a["#CHROM"] for a, _ in numbers} >= {"1", "22", "X", "Y", "XY", "MT"}
    assert ("SEX" in {a["TEST"] for a, _ in numbers}) and len(numbers) > len(found) / 2


def test_people_of_unknown_sex_stay_where_few_must_not_show(tmp_path: Path) -> None:
    """plink2 leaves them out on X. By the rule `mean` that would show them, and they count with the women."""
    pooled = _helpers("linear").generated(3, each=10, missing=0.0)
    counts = {}
    for rule in ("exact", "mean"):
        report = pooled.study(files=("glm",), missing=rule)[0]["glm"].decode().splitlines()
        lines = [line.split("\t") for line in report if line.startswith("X\t")]
        counts[rule] = {int(line[7]) for line in lines}
    s = pooled.samples
    inside = ~np.isnan(s.phenotype) & ~np.isnan(s.covariates).any(axis=1)
    assert counts == {"exact": {int((inside & (s.sex > 0)).sum())}, "mean": {int(inside.sum())}}


def test_where_plink2_does_not_finish(tmp_path: Path) -> None:
    """Hardly more people than parameters: it says UNFINISHED and prints where it stopped."""
    pooled = _helpers("logistic").generated(9, each=20, missing=0.0, n=9)
    ours = pooled.study(files=("glm",), firth="no-firth")[0]["glm"]
    unfinished = set()
    for a, b in pairs(ours, plink2(pooled, tmp_path, "--glm", "no-firth", "--vif", "1000")):
        if b["ERRCODE"] == "UNFINISHED":
            unfinished.add(a["ERRCODE"])
            assert a["ERRCODE"] == "LOGISTIC_CONVERGE_FAIL" or float(a["Z_STAT"]) == pytest.approx(
                float(b["Z_STAT"]), abs=1e-3
            )
        else:
            assert a["ERRCODE"] == b["ERRCODE"]
    assert unfinished == {"LOGISTIC_CONVERGE_FAIL", "."}


@pytest.mark.parametrize("test", ["linear", "logistic"])
def test_a_covariate_that_is_nearly_a_variant(test: str, tmp_path: Path) -> None:
    """Linear: the codes of plink2. Logistic: PLINK 1.9 goes on, and so do we."""
    pooled = _helpers(test).generated(3, each=10, missing=0.0)
    noise = np.random.default_rng(1).normal(size=(2, len(pooled.samples)))
    modifiers = WITHOUT[test].values()
    for size, reason in ((0.005, "CORR_TOO_HIGH"), (0.05, "VIF_TOO_HIGH")):
        covariates = np.column_stack([pooled.copies[15] + size * noise[0], noise[1]])
        trial = replace(pooled, samples=replace(pooled.samples, covariates=covariates))
        ours = trial.study(files=("glm",), **WITHOUT[test])[0]["glm"]
        found = pairs(ours, plink2(trial, tmp_path, "--glm", *modifiers))
        odd = {(a["ID"], a["ERRCODE"], b["ERRCODE"]) for a, b in found if a["ERRCODE"] != b["ERRCODE"]}
        name = trial.variants[15][2].decode()
        assert reason in {b["ERRCODE"] for _, b in found if b["ID"] == name}
        assert odd == (set() if test == "linear" else {(name, ".", reason)})


@pytest.mark.parametrize("test", ["linear", "logistic"])
def test_a_mean_far_below_zero(test: str, tmp_path: Path) -> None:
    """PLINK 1.9 says NA for the intercept's sake, plink2 does not; each file follows its own."""
    pooled = _helpers(test).generated(3, each=10, missing=0.0)
    a, b = np.random.default_rng(1).normal(size=(2, len(pooled.samples)))
    trial = replace(pooled, samples=replace(pooled.samples, covariates=np.column_stack([a - 1000, b])))
    files, _ = trial.study(files=("assoc", "adjusted", "glm", "ssf"), **WITHOUT[test])
    assert all(line.endswith(b"NA") for line in files["assoc"].splitlines()[1:])
    assert len(files["adjusted"].splitlines()) == 1 < len(gzip.decompress(files["ssf"]).splitlines())
    modifiers = WITHOUT[test].values()
    for ours, plinks in pairs(files["glm"], plink2(trial, tmp_path, "--glm", *modifiers)):
        assert ours["ERRCODE"] == plinks["ERRCODE"]
        if ours["ERRCODE"] == ".":
            assert_near(ours, plinks)


@pytest.mark.parametrize("test", ["linear", "logistic"])
def test_ssf(test: str) -> None:
    _, ours = result(test)
    text = gzip.decompress(ours["ssf"]).decode()
    header, *lines = (line.split("\t") for line in text.splitlines())
    effect = "beta" if test == "linear" else "odds_ratio"
    assert header == [
        "chromosome", "base_pair_location", "effect_allele", "other_allele", effect, "standard_error",
        "effect_allele_frequency", "p_value", "variant_id", "rsid", "n",
    ]  # fmt: skip
    assert len(lines) > 30
    for line in lines:
        assert 1 <= int(line[0]) <= 25 and int(line[1]) > 0
        assert set(line[2] + line[3]) <= set("ACGT")
        assert 0 < float(line[6]) <= 1 and 0 <= float(line[7]) <= 1
        assert all(np.isfinite(float(x)) for x in line[4:8])
    places = [(int(line[0]), int(line[1])) for line in lines]
    assert places == sorted(places) and {place[0] for place in places} == {1, 22, 23, 24, 25}


def test_ssf_has_ids_in_its_own_signs() -> None:
    names = [b"rs7", b"rs7b", b"1:200:A:T", "é".encode(), b"."]
    panel = Panel.of([(1, 5 + k, name, b"A", b"C") for k, name in enumerate(names)])
    count = len(names)
    rows = {
        "variant": np.arange(count, dtype=np.uint32),
        "first_is_a1": np.ones(count, bool),
        "n": np.full(count, 100),
        "a1_freq": np.full(count, 0.25),
        **{name: np.full((count, 1), 0.5) for name in ("beta", "se", "neg_log10_p")},
    }
    plan = Plan("linear", "y", 3, bytes(32), trait="quantitative")
    ALGORITHMS["linear"].files["ssf"](file := io.BytesIO(), panel, rows, plan)
    lines = [line.split("\t") for line in gzip.decompress(file.getvalue()).decode().splitlines()[1:]]
    assert [line[8] for line in lines] == ["rs7", "rs7b", "1_200_A_T", "__", "_"]
    assert [line[9] for line in lines] == ["rs7", "#NA", "#NA", "#NA", "#NA"]


def test_metadata_is_yaml() -> None:
    plan = Plan("linear", 'height "cm"', 3, bytes(32), trait="quantitative", covariates=(Covariate("age"),))
    people = {"people": 5343, "cases": None, "controls": None}
    text = metadata(plan, data_file="a.tsv.gz", md5="0" * 32, people=people, date="2024-12-31")
    found = yaml.safe_load(text)
    assert found["trait_description"] == ['height "cm"']
    assert found["samples"][0]["sample_size"] == 5343
    assert found["adjusted_covariates"] == ["age"]
    assert yaml.safe_load(renamed(text, 'b "2".tsv.gz')) == {**found, "data_file_name": 'b "2".tsv.gz'}


def test_names_of_files() -> None:
    plan = Plan("logistic", "asthma", 3, bytes(32), files=("assoc", "glm"))
    names = {file: file_name(file, plan) for file in ALGORITHMS["logistic"].files}
    assert names["assoc"] == "assoc.logistic" and names["adjusted"] == "assoc.logistic.adjusted"
    assert names["glm"] == "asthma.glm.logistic.hybrid" and names["frq"] == "frq"
    others = {firth: file_name("glm", replace(plan, firth=firth)) for firth in ("firth", "no-firth")}
    assert others == {"firth": "asthma.glm.firth", "no-firth": "asthma.glm.logistic"}
    first = replace(plan, version=1)
    assert file_name("glm", first) == "asthma.glm.logistic"


def test_no_rows() -> None:
    panel = Panel.of([(1, 5, b"v", b"A", b"C")])
    rows = {
        "variant": np.zeros(0, np.uint32),
        "first_is_a1": np.zeros(0, bool),
        "n": np.zeros(0, np.int32),
        "code": np.zeros(0, np.uint8),
        "a1_freq": np.zeros(0),
        **{name: np.zeros((0, 1)) for name in ("beta", "se", "neg_log10_p")},
    }
    plan = Plan("linear", "y", 3, bytes(32), trait="quantitative")
    for file in ("assoc", "glm", "ssf", "adjusted"):
        ALGORITHMS["linear"].files[file](found := io.BytesIO(), panel, rows, plan)
        assert found.getvalue()
