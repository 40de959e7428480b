"""A coordinator's whole work in a browser alone, from the first run to the download."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect
from sklearn.datasets import load_iris

from ..conftest import Rehearse
from ..launch import PUT_SHARE
from ..patience import until
from ..plinks import bfiles
from .conftest import Clients
from .pages import Pages
from .studies import (
    NAMES,
    all_end,
    begin_study,
    begin_study_of_variants,
    create,
    create_study_of_variants,
    invite_all,
    is_away,
    row,
    run_all,
    shown_invitation,
    spawn,
    until_done,
)


def create_with_mistakes(pages: Pages, name: str) -> None:
    """Fill in the form for a new study, with three mistakes on the way."""
    pages.follow("New study")
    pages.heading("New study")
    pages.sees("* Has to be filled in.")  # the form has come
    pages.look("new-study")
    pages.fill("Name of the study", name)
    pages.fill("Minimum people per cohort", "20")
    pages.fill("Minimum cases and controls", "one")
    pages.press("Create study")
    pages.sees("Name the trait.")  # said by the page, with all else that it sees
    pages.sees("a number, not “one”")
    pages.fill("Trait", "asthma " * 30)
    pages.fill("Minimum cases and controls", "1")
    pages.press("Create study")
    pages.sees("the phenotype's name has 1 to 200 characters")  # said by the server, beside its field
    pages.look("new-study-refused")
    pages.fill("Trait", "asthma")
    pages.press("Create study")
    pages.heading(name)


def test_a_study_from_the_first_run_to_the_download(
    pages: Pages, clients: Clients, small: tuple[Path, ...], rehearse: Rehearse, tmp_path: Path
) -> None:
    create_with_mistakes(pages, "Asthma in three places")
    pages.sees("3 of 3 cohorts are not invited yet.")
    expect(pages.page.get_by_role("button", name="Start", exact=True)).to_be_disabled()
    pages.look("cohorts-empty")
    pages.follow("Results")
    pages.sees("The results will be here once the study is done.")
    pages.look("results-waiting")
    pages.follow("Cohorts")
    invite_all(pages, clients, small)
    pages.look("cohorts-invited")
    tartu = clients[2].gate(PUT_SHARE)
    tartu.close()
    spawn(clients)
    pages.follow("Progress")
    pages.sees("Count people: waiting for Tartu")
    pages.sees("owes 1 answer")
    pages.look("progress-running")
    tartu.open()
    until_done(pages)
    for page in ("Plan", "Cohorts", "Progress", "Privacy and traffic", "Log", "Results"):
        pages.follow(page)
        pages.is_at(page)
        pages.look(f"done-{page.partition(' ')[0].lower()}")
    pages.sees("Genomic inflation")
    found = pages.download("asthma-in-three-places.assoc", tmp_path)
    rehearse(*bfiles(small), "--min-samples", 20, "--min-per-class", 1, "--out", tmp_path / "rehearsed")
    assert found.read_bytes() == (tmp_path / "rehearsed.assoc").read_bytes()
    polls = [request for request in pages.asked if request.url.endswith("/progress")]
    assert any("if-none-match" in request.all_headers() for request in polls)


def test_a_logistic_study_is_paused_and_goes_on(
    pages: Pages, clients: Clients, small: tuple[Path, ...], rehearse: Rehearse, tmp_path: Path
) -> None:
    begin_study_of_variants(pages, "Asthma by logistic regression")
    pages.choose("Logistic regression")
    pages.page.get_by_text("Result files:").click()
    pages.choose("PLINK 2 report")
    pages.page.get_by_text("More rules").click()
    pages.fill("Columns of the PLINK 2 report", "chrom, pp, test, p")
    pages.sees("some of chrom, pos")  # while it is typed
    pages.fill("Columns of the PLINK 2 report", "chrom, test, p")
    pages.fill("Tolerance of a fit", "1e-9")
    pages.fill("File name", "../asthma")
    pages.press("Create study")
    pages.sees("letters, digits, dots, dashes and underscores")
    pages.fill("File name", "asthma")
    pages.look("new-study-logistic")
    create(pages, "Asthma by logistic regression")
    invite_all(pages, clients, small)
    munich = clients[1].gate(PUT_SHARE)
    munich.close(passing=1)
    spawn(clients)
    pages.follow("Progress")
    pages.sees("waiting for Munich")
    pages.press("Pause")
    expect(pages.page.get_by_role("button", name="Resume")).to_be_visible()
    pages.sees("Who can act: the coordinator, who resumes it under Progress.")
    pages.look("progress-paused")
    munich.open()
    pages.follow("Studies")
    pages.sees("paused by")
    pages.look("studies")
    pages.follow("Asthma by logistic regression")
    pages.press("Resume")
    until_done(pages)
    pages.follow("Results")
    pages.look("done-logistic")
    flags = [
        *bfiles(small),
        "--min-samples",
        20,
        "--min-per-class",
        1,
        "--tolerance",
        "1e-9",
        "--missing",
        "mean",
    ]
    flags += ["--files", "assoc,glm", "--glm-cols", "chrom,test,p"]
    rehearse("--test", "logistic", *flags, "--out", tmp_path / "study")
    for name in ("assoc.logistic", "asthma.glm.logistic.hybrid"):
        found = pages.download(f"asthma.{name}", tmp_path / "downloads").read_bytes()
        assert found == (tmp_path / f"study.{name.replace('asthma', 'phenotype')}").read_bytes()
        clients[0].party.wait()
        assert found == clients[0].results()[f"asthma.{name}"]
    assert found.splitlines()[0].split() == b"#CHROM ID A1 TEST P".split()


def test_bad_data_and_their_remedy_and_an_abort(
    pages: Pages, clients: Clients, small: tuple[Path, ...], tmp_path: Path
) -> None:
    create_study_of_variants(pages, "Asthma with mistakes")
    mended = copied(small[2], tmp_path / "tartu")
    fam = mended.with_suffix(".fam")
    right = fam.read_text()
    fam.write_text("lost" + right[right.index("\n") :])
    graz, munich, tartu = invite_all(pages, clients, [*small[:2], mended])

    pages.press("Revoke the invitation of Graz")
    pages.sees("It no longer admits anybody.")
    pages.look("revoke")
    pages.press("Revoke", pages.dialog)
    pages.sees("Invitation revoked")
    graz.party.spawn()
    assert graz.party.wait() != 0
    assert "revoked" in graz.party.said()
    pages.press("Reissue the invitation of Graz")
    pages.press("Reissue", pages.dialog)
    graz.renew(shown_invitation(pages, "Graz"))

    held = munich.gate(PUT_SHARE)
    held.close()
    spawn(clients)
    pages.sees("Tartu: The cohort's files do not fit this study.")
    pages.sees("once they are fixed, the same command continues")
    pages.sees("Who can act: the data manager of Tartu.")
    pages.follow("Progress")
    pages.sees("Tartu to solve a problem")
    expect(row(pages, "Tartu")).to_contain_text("Stopped")
    pages.look("progress-problem")
    assert tartu.party.wait() != 0
    fam.write_text(right)
    tartu.party.spawn()
    pages.sees("waiting for Munich")
    expect(pages.page.get_by_text("The cohort's files do not fit")).to_have_count(0)

    pages.press("Abort")
    pages.sees("The study ends without results, for every cohort.")
    pages.look("abort")
    pages.press("Cancel", pages.dialog)
    expect(pages.page.get_by_role("button", name="Abort", exact=True)).to_be_focused()
    pages.press("Abort")
    pages.press("Abort", pages.dialog)
    expect(pages.page.get_by_role("heading", name="Aborted")).to_be_visible()
    pages.look("progress-aborted")
    held.open()
    for cohort in clients:
        assert cohort.party.wait() != 0
        assert not cohort.results()
    pages.follow("Results")
    pages.sees("The study ended without results.")


def test_a_cohort_that_stays_away_and_one_that_lost_its_key(
    pages: Pages, clients: Clients, small: tuple[Path, ...]
) -> None:
    create_study_of_variants(pages, "Asthma and a lost disk")
    invite_all(pages, clients, small)
    tartu = clients[2]
    gate = tartu.gate(PUT_SHARE)
    gate.close(passing=1)
    spawn(clients)
    pages.follow("Progress")
    until(lambda: gate.is_reached, tartu.party.said)  # a first sum was released
    tartu.party.kill()
    until(lambda: is_away(tartu, minutes=10), tartu.party.said)
    pages.sees("Waiting for Tartu since")
    pages.sees("Who can act: the cohort's data manager, who starts the same command again.")
    pages.sees("Paused: waiting for Tartu to come back (10 min)")
    expect(row(pages, "Tartu")).to_contain_text("Offline 10 min")
    expect(row(pages, "Tartu")).to_contain_text("owes 1 answer")
    pages.look("progress-away")

    shutil.rmtree(tartu.folder / "state")
    tartu.more = ["--join-anew"]
    tartu.renew(tartu.invitation)
    tartu.party.spawn()
    expect(pages.page.get_by_role("heading", name="Failed")).to_be_visible()
    pages.sees("Tartu came back with another key after the first release")
    pages.sees("Who can act: the coordinator, who changes what was wrong and repeats the study.")
    for page in ("Cohorts", "Progress", "Log"):
        pages.follow(page)
        pages.look(f"failed-{page.lower()}")
    pages.follow("Results")
    pages.sees("The study ended without results.")
    for cohort in clients:
        assert cohort.party.wait() == 4
        assert not cohort.results()


def copied(prefix: Path, target: Path) -> Path:
    for suffix in (".bed", ".bim", ".fam"):
        shutil.copy(prefix.with_suffix(suffix), target.with_suffix(suffix))
    return target


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Iris in three cohorts, a species each, but for ten flowers."""
    folder, iris = tmp_path_factory.mktemp("iris"), load_iris(as_frame=True)
    paths = [folder / f"{name}.csv" for name in NAMES]
    for path, rows in zip(paths, np.split(np.arange(150), [60, 100]), strict=True):
        iris.data.iloc[rows].to_csv(path, index=False)
    return paths


def test_a_normalization_study_to_its_files(
    pages: Pages, clients: Clients, tables: list[Path], rehearse: Rehearse, tmp_path: Path
) -> None:
    begin_study(pages, "Petals")
    pages.choose("Table")
    pages.choose("Normalization by median and quartiles")
    pages.press("Create study")
    pages.sees("want at least one column of numbers")
    pages.page.get_by_label("Or take them from a CSV file").set_input_files(tables[0])
    expect(pages.page.get_by_label("Name in the first line", exact=True)).to_have_count(4)
    expect(pages.page.get_by_text("want at least one column of numbers")).to_have_count(0)
    pages.look("new-study-tables")
    create(pages, "Petals")
    run_all(pages, clients, tables)
    for page in ("Plan", "Privacy and traffic", "Results"):
        pages.follow(page)
        pages.sees({"Plan": "(number)", "Results": "parameters.json"}.get(page, "What leaves a cohort"))
        pages.look(f"done-tables-{page.partition(' ')[0].lower()}")
    flags = [word for table in tables for word in ("--table", table)]
    rehearse("--normalize", "robust", *flags, "--min-samples", 20, "--out", tmp_path / "study")
    found = pages.download("petals.parameters.json", tmp_path / "downloads")
    assert found.read_bytes() == (tmp_path / "study.parameters.json").read_bytes()

    # The same columns again, summarised.
    pages.follow("Plan")
    pages.press("Duplicate")
    pages.fill("Name of the study", "Petals, in short")
    pages.choose("Summary of a table; no table is changed")
    pages.press("Save")
    expect(pages.page.get_by_role("button", name="Save", exact=True)).to_have_count(0)  # the form has gone
    pages.heading("Petals, in short")
    pages.follow("Cohorts")
    clients.folder = tmp_path / "short"
    run_all(pages, clients, tables)
    pages.follow("Results")
    summary = pages.page.get_by_role("table", name="Summary of the pooled table")
    expect(summary.get_by_role("img")).to_have_count(4)
    pages.look("done-summary")
    rehearse("--normalize", "summary", *flags, "--min-samples", 20, "--out", tmp_path / "short")
    for name in ("summary.tsv", "summary.html"):
        found = pages.download(f"petals.{name}", tmp_path / "downloads")
        assert found.read_bytes() == (tmp_path / f"short.{name}").read_bytes()
    all_end(clients)
