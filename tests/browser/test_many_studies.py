"""The list of studies, and a new one that begins with a template."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, expect

from .conftest import Site
from .pages import SIZES, Pages
from .studies import create

PLAN = {"test": "chi-square", "phenotype": "asthma", "cohorts": 3}
MANY = 54
SHOWN = 50  # at first


@pytest.fixture
def many(pages: Pages, site: Site) -> Iterator[list[str]]:
    """Names of studies: one of heights by linear regression, the rest of asthma."""
    call = site.coordinator.call
    site.coordinator.sign_in(*site.administrator)
    made = [
        call("POST", "studies", json={"name": f"Batch {number}", "plan": PLAN}) for number in range(1, MANY)
    ]
    heights = {**PLAN, "test": "linear", "trait": "quantitative", "phenotype": "height"}
    text = {"name": "Größe", "description": "The second wave", "plan": heights}
    made.append(call("POST", "studies", json=text))
    yield [study["name"] for study in made]
    for study in made:
        call("DELETE", f"studies/{study['id']}")


def names(pages: Pages) -> list[str]:
    return rows(pages).locator("th[scope=row]").all_inner_texts()


def rows(pages: Pages) -> Locator:
    return pages.page.get_by_role("table", name="Studies").get_by_role("row")


def says(pages: Pages, text: str | re.Pattern[str]) -> None:
    """Expect a text in the status line that a screen reader reads out."""
    expect(pages.page.get_by_role("search").get_by_role("status")).to_have_text(text)


def test_a_study_among_many_is_found(pages: Pages, many: list[str]) -> None:
    page = pages.page
    pages.open("/")
    says(pages, re.compile(r"^\d+ studies$"))
    assert names(pages)[0] == many[-1], "the newest is first"
    pages.look("studies-many")
    page.set_viewport_size({"width": 375, "height": 667})
    in_view = "(names) => names.filter((name) => name.getBoundingClientRect().bottom < innerHeight).length"
    assert page.locator("th[scope=row]").evaluate_all(in_view) >= 3, "a phone's first screen shows studies"
    assert page.evaluate("document.documentElement.scrollHeight") < 100 * SHOWN
    pages.picture("studies-many-phone")
    page.set_viewport_size(SIZES["laptop"])

    pages.fill("Search", "grosse")
    says(pages, re.compile(r"^1 of \d+ studies$"))
    assert names(pages) == ["Größe"]
    expect(page).to_have_url(re.compile(r"\?search=grosse$"))
    pages.look("studies-found")
    page.reload()
    says(pages, re.compile("^1 of"))
    pages.follow("Größe")
    pages.heading("Größe")
    page.go_back()
    expect(page.get_by_label("Search", exact=True)).to_have_value("grosse")
    assert names(pages) == ["Größe"]

    pages.fill("Search", "second wave")  # of its description
    says(pages, re.compile("^1 of"))
    pages.fill("Search", "nowhere at all")
    says(pages, "No study fits.")
    pages.look("studies-none-fits")
    pages.press("Show all")
    pages.has_focus("searchbox", "Search")
    says(pages, re.compile(r"^\d+ studies$"))


def test_studies_are_filtered_and_ordered(pages: Pages, many: list[str]) -> None:
    page = pages.page
    pages.open("/?method=chi-square&search=batch&sort=name")
    says(pages, re.compile(rf"^{MANY - 1} of"))
    assert names(pages)[:3] == ["Batch 1", "Batch 2", "Batch 3"]
    pages.press("Show 3 more")
    expect(page.get_by_role("link", name="Batch 51", exact=True)).to_be_focused()
    assert len(names(pages)) == MANY - 1

    state = page.get_by_label("State", exact=True)
    expect(state.get_by_role("option", name=re.compile(r"^Waits for you \(\d+\)$"))).to_have_count(1)
    state.select_option("yours")
    says(pages, re.compile(rf"^{MANY - 1} of"))
    expect(rows(pages).nth(1)).to_contain_text("Waits for you to invite 3 cohorts")
    page.get_by_label("Test or method", exact=True).select_option("linear")
    says(pages, "No study fits.")
    page.go_back()
    says(pages, re.compile(rf"^{MANY - 1} of"))
    page.go_back()
    expect(state).to_have_value("")

    pages.press("Archived studies")
    pages.heading("Archived studies")
    expect(page).to_have_url(re.compile("archived"))
    page.go_back()
    pages.heading("Studies")


def test_the_platform_page_shows_the_first_of_many(pages: Pages, many: list[str]) -> None:
    page = pages.page
    pages.open("/platform")
    table = page.get_by_role("table", name="Studies that are not over").get_by_role("row")
    expect(table).to_have_count(SHOWN + 1)
    pages.look("platform-many")
    page.get_by_role("button", name=re.compile(r"^Show \d+ more$")).click()
    expect(table.nth(SHOWN + 1).get_by_role("link")).to_be_focused()


def test_a_template_fills_the_form_and_is_undone(pages: Pages) -> None:
    page = pages.page
    pages.follow("New study")
    pages.fill("Trait", "asthma")
    template = page.get_by_role("button", name="Chi-square with QC")
    template.click()
    said = page.get_by_role("alert")
    expect(said).to_contain_text("Filled in: Chi-square with QC")
    expect(said).to_contain_text("Least Hardy-Weinberg P")
    frequency = page.get_by_label("Limit: Least frequency of the rarer allele (--maf)", exact=True)
    expect(frequency).to_have_value("0.01")
    marks = page.get_by_text("From the template", exact=True)
    before = marks.count()
    assert before >= 4
    frequency.fill("0.05")
    expect(marks).to_have_count(before - 1)  # what somebody changes is theirs
    pages.press("Undo")
    expect(template).to_be_focused()
    expect(frequency).to_be_hidden()
    expect(marks).to_have_count(0)
    expect(page.get_by_label("Trait", exact=True)).to_have_value("asthma")


def test_a_study_with_ten_components(pages: Pages, site: Site) -> None:
    page = pages.page
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
