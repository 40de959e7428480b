"""A new study that begins with a template."""

from __future__ import annotations

from playwright.sync_api import expect

from .conftest import Site
from .pages import Pages
from .studies import create


def test_a_template_fills_the_form_and_is_undone(administrator: Pages) -> None:
    pages, page = administrator, administrator.page
    pages.follow("New study")
    pages.fill("Trait", "asthma")
    template = page.get_by_role("button", name="Chi-square with QC")
    template.click()
    said = page.get_by_role("alert")
    expect(said).to_contain_text("Filled in: Chi-square with QC")
    expect(said).to_contain_text("Least Hardy-Weinberg P")
    frequency = page.get_by_label("Least frequency of the rarer allele (--maf)", exact=True)
    expect(frequency).to_have_value("0.01")
    marks = page.get_by_text("From the template", exact=True)
    before = marks.count()
    assert before >= 4
    frequency.fill("0.05")
    expect(marks).to_have_count(before - 1)  # what somebody changes is theirs
    pages.press("Undo")
    expect(template).to_be_focused()
    expect(frequency).to_have_value("0")
    expect(marks).to_have_count(0)
    expect(page.get_by_label("Trait", exact=True)).to_have_value("asthma")


def test_a_study_with_ten_components(administrator: Pages, site: Site) -> None:
    pages, page = administrator, administrator.page
    pages.follow("New study")
    page.get_by_role("button", name="Logistic, 10 components").click()
    pages.sees("must have the columns PC1, PC2, PC3, PC4, PC5, PC6, PC7, PC8, PC9 and PC10")
    pages.look("new-study-template")
    pages.fill("Name of the study", "By a template")
    pages.fill("Trait", "asthma")
    create(pages, "By a template")
    pages.follow("Plan")
    pages.sees("PC1, PC2, PC3")
    site.coordinator.sign_in(*site.administrator)
    plan = site.coordinator.call("GET", f"studies/{page.url.split('/')[-2]}")["plan"]
    assert [covariate["name"] for covariate in plan["covariates"]] == [f"PC{k}" for k in range(1, 11)]
    assert (plan["maf"], plan["hide_covar"], plan["files"]) == (0.01, True, ["assoc", "glm"])
