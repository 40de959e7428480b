"""`.glm.*` against plink2, and GWAS-SSF by its own rules."""

from __future__ import annotations

import gzip
import importlib.util
import io
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

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


def result(test: str, **options: Any) -> tuple[Any, dict[str, bytes]]:
    kind = {"missing": 0.0} if test == "logistic" else {}
    pooled = _helpers(test).generated(3, each=10, **kind)
    one_copy = np.array([chromosome in (24, 26) for chromosome, *_ in pooled.variants])
    haploid = pooled.copies[one_copy]  # plink2 would take a heterozygous call as half a copy
    pooled.copies[one_copy] = np.where(haploid == 1, 0, haploid)
    return pooled, pooled.study(files=("assoc", "glm", "ssf"), **options)[0]


@pytest.mark.parametrize("test", ["linear", "logistic"])
def test_glm_is_plink2s_but_for_x(test: str, tmp_path: Path) -> None:
    if not shutil.which("plink2"):
        pytest.skip("missing: apt-get install plink2")
    pooled, ours = result(test)
    pooled.write(tmp_path / "pooled")
    # plink1.9 makes the rarer allele A1, as a merge would.
    prefix = ["--bfile", str(tmp_path / "pooled"), "--out", str(tmp_path / "minor"), "--allow-no-sex"]
    subprocess.run(["plink1.9", *prefix, "--make-bed"], check=True, capture_output=True)
    command = ["plink2", "--bfile", str(tmp_path / "minor"), "--out", str(tmp_path / "out"), "--glm"]
    command += ["no-firth"] if test == "logistic" else []
    command += ["--covar", str(tmp_path / "pooled.cov"), "--covar-variance-standardize", "--threads", "1"]
    command += ["--vif", "1000"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    plinks = next(tmp_path.glob("out.*.glm.*")).read_text().splitlines()
    lines = list(zip(ours["glm"].decode().splitlines(), plinks, strict=True))
    assert lines[0][0] == lines[0][1]
    compared = 0
    for our_line, plinks_line in lines[1:]:
        a, b = our_line.split("\t"), plinks_line.split("\t")
        assert a[:3] == b[:3] and a[6] == b[6]
        if a[0] == "X":
            continue  # men 0/2 and nobody of unknown sex there
        assert a[5:8] == b[5:8]
        if "NA" in (a[8], b[8]):
            assert a[8] == b[8] == "NA", (a, b)
            assert a[12].split(",")[0].split("_")[0] == b[12].split(",")[0].split("_")[0], (a, b)
            continue
        compared += 1
        for k in (10, 11) if a[6] != "ADD" else (8, 9, 10, 11):
            assert float(a[k]) == pytest.approx(float(b[k]), rel=2e-3, abs=2e-3), (a, b)
    assert compared > len(lines) / 2


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
    plan = Plan("logistic", "asthma", 3, bytes(32), files=("assoc",))
    names = {file: file_name(file, plan) for file in ALGORITHMS["logistic"].files}
    assert names["assoc"] == "assoc.logistic" and names["adjusted"] == "assoc.logistic.adjusted"
    assert names["glm"] == "asthma.glm.logistic" and names["frq"] == "frq"


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
