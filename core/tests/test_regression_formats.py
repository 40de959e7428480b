"""GWAS-SSF by its own rules, names of files, and reports of no rows."""

from __future__ import annotations

import gzip
import io
from dataclasses import replace

import numpy as np
import yaml
from pooled import quantities

from unpooled.algorithms import ALGORITHMS
from unpooled.formats.regression_report import file_name
from unpooled.formats.ssf import metadata, renamed
from unpooled.panel import Panel
from unpooled.plan import Covariate, Plan


def test_people_of_unknown_sex_stay_where_few_must_not_show() -> None:
    """plink2 leaves them out on X. By the rule `mean` that would show them, and they count with the women."""
    pooled = quantities(3, each=10, missing=0.0)
    counts = {}
    for rule in ("exact", "mean"):
        report = pooled.study(files=("glm",), missing=rule)[0]["glm"].decode().splitlines()
        lines = [line.split("\t") for line in report if line.startswith("X\t")]
        counts[rule] = {int(line[7]) for line in lines}
    s = pooled.samples
    inside = ~np.isnan(s.phenotype) & ~np.isnan(s.covariates).any(axis=1)
    assert counts == {"exact": {int((inside & (s.sex > 0)).sum())}, "mean": {int(inside.sum())}}


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
