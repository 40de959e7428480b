"""A study of two phenotypes in a browser: asked for in the form, chosen in the address, side by side."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

from unpooled.simulate import simulate

from ..federation import Trial
from .conftest import Site
from .pages import Pages
from .studies import begin_study_of_variants, with_pictures

NAMES = ("ldl", "hdl")


@pytest.fixture
def study(administrator: Pages, site: Site, tmp_path: Path) -> Iterator[Trial]:
    """A study that is done; thirty people of each cohort lack the second phenotype."""
    made = simulate(
        tmp_path,
        cohorts=(150, 160, 170),
        variants=800,
        effects=(3.0,),
        seed=3,
        trait="quantitative",
        pooled=False,
    )
    site.coordinator.sign_in(*site.administrator)
    plan = {"test": "linear", "trait": "quantitative", "phenotype": "ldl", "phenotypes": ["hdl"]}
    trial = site.study(made.cohorts, **plan, files=["assoc"])
    for number, cohort in enumerate(trial.cohorts):
        random, lines = np.random.default_rng(number), [f"FID IID {' '.join(NAMES)}"]
        for k, line in enumerate(cohort.prefix.with_suffix(".fam").read_text().splitlines()):
            fid, iid, *_, value = line.split()
            lines.append(f"{fid} {iid} {value} {'NA' if k < 30 else f'{random.normal():.4f}'}")
        (table := tmp_path / f"{cohort.name}.pheno").write_text("\n".join(lines) + "\n")
        cohort.more = ["--pheno", str(table)]
    with with_pictures(trial):
        yield trial


def test_results_of_each(administrator: Pages, study: Trial) -> None:
    pages, page = administrator, administrator.page
    assert study.state == "done", study.story()
    pages.open(f"/studies/{study.id}/results")
    numbers = page.get_by_label("In numbers")
    choice = page.get_by_label("Phenotype", exact=True)
    expect(choice).to_have_value("ldl")
    expect(numbers).to_contain_text("480")
    report = page.get_by_role("link", name="Report", exact=True)
    expect(report).to_have_attribute("href", re.compile(r"study\.ldl\.report"))
    pages.sees("1 locus")
    choice.select_option("hdl")
    expect(page).to_have_url(re.compile("phenotype=hdl"))
    expect(numbers).to_contain_text("390")
    expect(report).to_have_attribute("href", re.compile(r"study\.hdl\.report"))
    pages.sees("No locus")
    pages.look("phenotypes")
    page.reload()
    expect(choice).to_have_value("hdl")
    page.go_back()
    expect(choice).to_have_value("ldl")

    page.get_by_role("link", name="Compare with another study").click()
    pages.sees("Compare two phenotypes")
    page.get_by_label("Compare with").select_option(f"{study.id}:hdl")
    expect(page.get_by_role("img", name=re.compile("ldl.*hdl"))).to_be_visible()
    pages.sees("Loci side by side")


def test_the_form_has_them_and_says_what_is_wrong(administrator: Pages) -> None:
    pages = administrator
    begin_study_of_variants(pages, "Lipids")
    pages.fill("Trait", "ldl")
    pages.fill("Further phenotypes", "hdl, LDL")
    pages.press("Create study")
    pages.sees("a phenotype is named twice")
    pages.fill("Further phenotypes", "hdl, tg")
    pages.press("Create study")
    pages.heading("Lipids")
    pages.follow("Plan")
    pages.sees("hdl, tg: each is analysed as if the study had only that one")
