"""A study of several phenotypes over HTTP: of each the API says what it says of a study of that one."""

from __future__ import annotations

import csv
import dataclasses
import io
from typing import Any

import httpx
import numpy as np
import pytest
from federation_fixtures import Data, variants
from signing_in import Http
from whole_studies import finished

NAMES = ["ldl", "hdl"]
LEADS = [variants(60).name[row].decode() for row in (4, 31)]
"""The variant that each phenotype goes with."""
PICTURES = ["manhattan", "region?chromosome=2", "qq", "variants", "variants?search=rs4", "places?search=rs4"]
FILES = ["assoc", "glm", "ssf", "meta"]


def cohorts() -> list[Data]:
    """Three with two phenotypes; of the second thirty people of each lack it. One variant has an effect."""
    made = []
    for seed in range(3):
        data = Data.make(seed, variants(60), people=150)
        random = np.random.default_rng(100 + seed)
        first = random.normal(size=150) + 2.5 * data.genotypes[4]
        second = random.normal(size=150) - 2.5 * data.genotypes[31]
        second[:30] = np.nan
        people = dataclasses.replace(data.people, phenotype=first, further=(second,))
        made.append(dataclasses.replace(data, people=people))
    return made


def of_one(data: Data, place: int) -> Data:
    return dataclasses.replace(data, people=data.people.of_phenotype(place))


PLAN: dict[str, Any] = {"test": "linear", "trait": "quantitative", "files": FILES, "few_studies": True}


def test_everything_is_that_of_a_study_of_its_own(me: httpx.Client, http: Http) -> None:
    url = finished(me, http, cohorts(), **PLAN, phenotype="ldl", phenotypes=["hdl"])
    assert_each_has_loci_of_its_own_and_two_can_be_compared(me, url)
    assert_people_read_of_each(me, url)
    assert_another_phenotype_is_not_there(me, url)
    study = me.get(url).json()
    assert (study["phenotype"], study["phenotypes"]) == ("ldl, hdl", NAMES)
    assert study["has_pictures"]
    said = {summary.pop("phenotype"): summary for summary in study["summaries"]}
    assert study["summary"] == said["ldl"]
    for place, name in enumerate(NAMES):
        data = [of_one(each, place) for each in cohorts()]
        alone = finished(me, http, data, **PLAN, phenotype=name)
        own = me.get(alone).json()
        assert own["summary"] == said[name]
        for address in ("table", "loci.csv", *PICTURES):
            mark = "&" if "?" in address else "?"
            found = me.get(f"{url}/{address}{mark}phenotype={name}")
            assert found.is_success and found.content == me.get(f"{alone}/{address}").content, address
            if not place:
                assert me.get(f"{url}/{address}").content == found.content
        for file in ("assoc.linear", "tsv.gz", "meta"):
            several, single = f"results/study.{name}.{file}", f"results/study.{file}"
            assert me.get(f"{url}/{several}").content == me.get(f"{alone}/{single}").content
        glm = f"results/study.{name}.glm.linear"
        assert me.get(f"{url}/{glm}").content == me.get(f"{alone}/{glm}").content
        metadata = me.get(f"{url}/results/study.{name}.tsv.gz-meta.yaml").text
        assert f"study.{name}.tsv.gz" in metadata and f'- "{name}"' in metadata


def assert_each_has_loci_of_its_own_and_two_can_be_compared(me: httpx.Client, url: str) -> None:
    loci = me.get(f"{url}/loci.csv", params={"phenotype": "hdl"})
    assert loci.headers["Content-Disposition"] == 'attachment; filename="study.hdl.loci.csv"'
    assert {row["ID"] for row in csv.DictReader(io.StringIO(loci.text))} == {LEADS[1]}
    both = me.get(f"{url}/compared/{url.rpartition('/')[2]}", params={"other_phenotype": "hdl"}).json()
    first, second = LEADS
    found = {row["id"]: row["leads"] for row in both["rows"]}
    assert found == {first: [first, None], second: [None, second]}
    assert all(len(row["studies"]) == 2 for row in both["rows"])


def assert_people_read_of_each(me: httpx.Client, url: str) -> None:
    listed = {file["name"] for file in me.get(f"{url}/results").json()}
    assert {f"study.{name}.report.html" for name in NAMES} < listed
    methods = " ".join(me.get(f"{url}/results/study.methods.txt").text.split())
    assert (
        "with ldl (quantitative) was tested in 450 people, with hdl (quantitative) was tested in 360"
        in methods
    )
    plan_hash = me.get(url).json()["plan_hash"]
    assert plan_hash in methods
    for name in NAMES:
        page = me.get(f"{url}/results/study.{name}.report.html").text
        assert f"Linear regression of {name}" in page and plan_hash in page
    manifest = me.get(f"{url}/results/study.manifest.json").json()
    assert manifest["summary"]["hdl"]["people"] == 360
    assert manifest["plan"]["phenotypes"] == ["hdl"]
    steps = [step["title"] for step in me.get(f"{url}/progress").json()["steps"]]
    assert steps[0] == "Compare the people of the phenotypes" and "Count genotypes (hdl)" in steps


def assert_another_phenotype_is_not_there(me: httpx.Client, url: str) -> None:
    answer = me.get(f"{url}/manhattan", params={"phenotype": "bmi"})
    assert answer.status_code == 404
    error = answer.json()["error"]
    assert "no phenotype 'bmi'" in error["message"] and error["remedy"] == "It has ldl, hdl."


def test_few_apart_end_the_study_and_name_the_field(me: httpx.Client, http: Http) -> None:
    data = cohorts()
    for each in data:
        each.people.further[0][:] = np.random.default_rng(0).normal(size=150)
    data[0].people.further[0][:4] = np.nan
    with pytest.raises(AssertionError, match="differ by fewer than 10 people"):
        finished(me, http, data, **PLAN, phenotype="ldl", phenotypes=["hdl"])
    (study,) = [row for row in me.get("/api/v1/studies").json() if row["state"] == "failed"]
    assert me.get(f"/api/v1/studies/{study['id']}").json()["refused_field"] == "phenotypes"
