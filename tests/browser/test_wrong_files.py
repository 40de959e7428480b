"""One cohort gives files of another genome build: what the coordinator sees, and that nobody else acts."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import expect

from ..federation import Cohort
from ..patience import until
from .conftest import Site
from .pages import Pages
from .studies import create_study_of_variants, invite_all, spawn, until_done

NAME = "Asthma, and one wrong file"


@pytest.fixture
def moved(small: tuple[Path, ...], tmp_path: Path) -> Path:
    """The files of the first cohort, with other positions."""
    wrong = tmp_path / "moved"
    for kind in ("bed", "fam"):
        shutil.copy(f"{small[0]}.{kind}", f"{wrong}.{kind}")
    rows = [line.split("\t") for line in Path(f"{small[0]}.bim").read_text().splitlines()]
    shifted = ["\t".join([*row[:3], str(int(row[3]) + 54_321), *row[4:]]) + "\n" for row in rows]
    Path(f"{wrong}.bim").write_text("".join(shifted))
    return wrong


def test_the_page_names_the_cohort_and_the_cause(
    administrator: Pages,
    site: Site,
    clients: list[Cohort],
    small: tuple[Path, ...],
    moved: Path,
    tmp_path: Path,
) -> None:
    pages = administrator
    create_study_of_variants(pages, NAME)
    clients += invite_all(pages, site, tmp_path, small)
    graz, *others = clients
    graz.prefix = moved
    spawn(clients)

    expect(pages.page.get_by_text("The cohorts' lists share no variants.")).to_be_visible()
    pages.sees("variants that Munich and Tartu share")
    pages.sees("they are of another genome build")
    pages.sees("The other cohorts need do nothing.")
    pages.look("lists-apart")
    until(lambda: graz.party.has_ended, graz.party.said)
    assert not any(cohort.party.has_ended for cohort in others)

    graz.prefix = small[0]
    graz.renew(graz.invitation)
    graz.party.spawn()
    until_done(pages)
    expect(pages.page.get_by_text("The cohorts' lists share no variants.")).to_be_hidden()
