"""States of cohorts as a coordinator sees them, also of one with files of another genome build."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from unpooled.protocol.sealing import SigningKey, fingerprint
from unpooled_client.state.folder import StateFolder

from ..federation import Cohort
from ..launch import PUT_SHARE
from ..patience import until
from .conftest import Clients
from .pages import Pages
from .studies import create_study_of_variants, invite_all, is_away, row, shown_invitation, spawn, until_done


def test_stages_until_the_start_and_fingerprints_compared_by_telephone(
    pages: Pages, clients: Clients, small: tuple[Path, ...]
) -> None:
    create_study_of_variants(pages, "Asthma, state by state")
    invite_all(pages, clients, small)
    graz, munich, tartu = clients
    expect(row(pages, "Graz")).to_contain_text("Invited")
    expect(
        pages.page.get_by_role("heading", name="Waiting for Graz, Munich and Tartu to join")
    ).to_be_visible()

    pages.press("Reissue the invitation of Tartu")
    pages.sees("Tartu has not joined yet")
    pages.look("reissue")
    pages.press("Cancel", pages.dialog)
    expect(row(pages, "Tartu")).to_contain_text("Invited")

    graz.party.spawn()
    munich.party.spawn()
    expect(pages.page.get_by_role("heading", name="Waiting for Tartu to join")).to_be_visible()
    expect(row(pages, "Graz")).to_contain_text("Joined")
    compares_by_telephone(pages, graz)

    pages.press("Reissue the invitation of Munich")
    pages.sees("Munich has joined already.")
    pages.press("Reissue", pages.dialog)
    assert munich.party.wait() != 0
    munich.renew(shown_invitation(pages, "Munich"))
    munich.party.spawn()

    gate = tartu.gate(PUT_SHARE)
    gate.close()
    tartu.party.spawn()
    pages.follow("Progress")
    pages.sees("waiting for Tartu to answer")
    expect(row(pages, "Graz")).to_contain_text("Waiting")
    tartu.party.kill()
    until(lambda: is_away(tartu, minutes=2), tartu.party.said)
    pages.sees("waiting for Tartu to come back (2 min)")
    expect(row(pages, "Tartu")).to_contain_text("Offline 2 min")
    pages.look("progress-offline")
    gate.open()
    tartu.party.spawn()
    until_done(pages)
    leads_to_the_results(pages, "Asthma, state by state")


def compares_by_telephone(pages: Pages, cohort: Cohort) -> None:
    """The browser shows what the cohort's own program does, and remembers who compared it."""
    key = SigningKey(StateFolder(cohort.folder / "state").load().signing_key)
    shown = fingerprint(key.public)
    pages.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    copy = f"Copy the fingerprint of the key of {cohort.name}"
    expect(row(pages, cohort.name).locator("code")).to_have_text(shown)
    pages.press(copy)
    pages.sees("Copied")
    assert pages.page.evaluate("navigator.clipboard.readText()") == shown
    for whom in (cohort.name, "the compensator's operator"):
        pages.choose(f"Compared by telephone with {whom}")
    expect(pages.page.get_by_text("by administrator,")).to_have_count(2)
    pages.look("compared")
    pages.follow("Log")
    pages.sees(f"compared the fingerprint of {cohort.name} by telephone: {shown}")
    pages.follow("Cohorts")
    expect(tick(pages, cohort.name)).to_be_checked()


def tick(pages: Pages, whom: str) -> Locator:
    return pages.page.get_by_label(f"Compared by telephone with {whom}", exact=True)


def leads_to_the_results(pages: Pages, study: str) -> None:
    """Wherever it says that the study is done."""
    page = pages.page
    for way, where in (
        ("Progress", page.get_by_role("heading", name="Done")),
        ("Progress", page),
        ("Studies", page.get_by_role("row").filter(has_text=study)),
    ):
        pages.follow(way)
        where.get_by_role("link", name="Done", exact=True).first.click()
        pages.sees("Genomic inflation")


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
    pages: Pages, clients: Clients, small: tuple[Path, ...], moved: Path
) -> None:
    create_study_of_variants(pages, NAME)
    invite_all(pages, clients, small)
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
