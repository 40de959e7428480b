"""A study from an invitation to the results, through the real platform; and what is told of it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from client_trials import Member, Trial, ended, joined
from client_typed import typed

from tests import list_text
from tests.patience import PATIENCE, until
from tests.plinks import plink, rows
from unpooled.panel import list_file
from unpooled.panel.panel import Panel
from unpooled.simulate import SimulationReport
from unpooled_client.data.options import DataOptions
from unpooled_client.state import ledger
from unpooled_client.state.events import (
    BYTES,
    Accepted,
    Checked,
    Compared,
    Failed,
    Finished,
    Joined,
    PanelAgreed,
    ReleaseNeeded,
    Results,
    ReviewNeeded,
    Sent,
    StepProgress,
    Waiting,
)
from unpooled_client.study.engine import Engine, Until

MakeStudy = Callable[..., Trial]


def test_every_cohort_gets_the_same_results(smooth: Trial) -> None:
    assert [type(member.events[-1]) for member in smooth.members] == [Finished] * 3
    first, *others = [member.results() for member in smooth.members]
    assert {"study.assoc", "study.frq", "study.lmiss", "study.hwe"} <= set(first)
    assert all(other == first for other in others)


def test_the_events_come_in_their_order(smooth: Trial) -> None:
    kinds = [type(event) for event in smooth.members[0].events]
    order = [Joined, ReviewNeeded, Checked, Accepted, PanelAgreed, StepProgress, Results, Finished]
    assert [kinds.index(kind) for kind in order] == sorted(kinds.index(kind) for kind in order)


def test_progress_reaches_every_variant_of_the_panel(smooth: Trial) -> None:
    member = smooth.members[0]
    last = [event for event in member.told(StepProgress) if event.title == "Count genotypes"][-1]
    assert last.done == last.total == member.told(PanelAgreed)[0].variants
    assert last.is_last and last.left == 0


def test_it_is_told_how_much_comes_back_to_verify_what_is_asked(smooth: Trial) -> None:
    for member in smooth.members:
        last = [event for event in member.told(StepProgress) if event.unit == BYTES][-1]
        (ended,) = member.told(Finished)
        assert 0 < last.done < ended.received and 0 < round(last.took, 3) <= ended.seconds["verifying"]


def test_progress_of_a_fit_says_which_iteration_it_is(study: MakeStudy) -> None:
    trial = study(test="logistic", files=["assoc"], max_iterations=12)
    trial.run_all()
    titles = {event.title for event in trial.members[0].told(StepProgress)}
    assert "Fit model: iteration 1 of at most 12" in titles, titles


def test_under_a_list_no_own_variants_are_sent(study: MakeStudy, files: SimulationReport) -> None:
    wanted = Panel.of(_variants(files.cohorts[0])[:40])
    trial = study(panel_mode="list", panel_list=list_text.write(wanted))
    trial.run_all()
    member = trial.members[0]
    assert isinstance(member.events[-1], Finished), member.events[-1]
    assert "List of variants" not in {event.quantity for event in member.told(Sent)}
    assert any(event.quantity == "Agree on variants: present" for event in member.told(Sent))
    assert member.told(PanelAgreed)[-1].variants <= 40


def test_a_list_is_sent_in_parts_that_are_bounded(
    study: MakeStudy, pooled: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_file.in_parts, "__defaults__", (700,))
    trial = study()
    trial.run_all()
    parts = [
        event
        for member in trial.members
        for event in member.told(Sent)
        if event.quantity == "List of variants"
    ]
    assert len(parts) > 3 and max(event.bytes for event in parts) == 700
    assert trial.members[1].results() == pooled


def test_all_that_was_sent_is_in_the_ledger(smooth: Trial) -> None:
    member = smooth.members[0]
    entries = list(ledger.read(member.state.ledger))
    assert [(e.quantity, e.bytes, e.form) for e in entries if e.round is None] == [
        (e.quantity, e.bytes, e.form) for e in member.told(Sent) if e.round is None
    ]
    assert sorted((e.round, e.bytes) for e in entries if e.round) == sorted(
        (e.round, e.bytes) for e in member.told(Sent) if e.round
    )


def test_a_study_that_is_done_delivers_its_results_again(trial: Trial) -> None:
    trial.run_all()
    member = trial.members[0]
    before = member.results()
    (member.out / "study.assoc").write_text("spoiled")
    (member.out / "study.frq").unlink()
    assert isinstance(member.run(), Failed)  # what was changed is left alone, and the rest is there again
    assert member.results() == before | {"study.assoc": b"spoiled"}
    (member.out / "study.assoc").unlink()
    assert isinstance(member.run(), Finished)
    assert member.results() == before


def test_events_are_lines_of_json(smooth: Trial) -> None:
    member = smooth.members[0]
    for event in member.events:
        assert json.loads(json.dumps(event.to_json()))["event"]
    logged = [
        json.loads(line.split(" ", 1)[1])["event"] for line in member.state.log.read_text().splitlines()
    ]
    assert logged[-1] == "finished"
    assert len(logged) >= len(member.events) - 2  # there is no folder before the joining


def _variants(prefix: Path) -> list[tuple[int, int, bytes, bytes, bytes]]:
    rows = [line.split() for line in prefix.with_suffix(".bim").read_bytes().splitlines()]
    return [
        (int(row[0]), int(row[3]), row[1], row[4], row[5])
        for row in rows
        if row[0].isdigit() and b"0" not in row[4:6] and int(row[0]) <= 22
    ]


def results(member: Member, *more: object) -> subprocess.CompletedProcess[str]:
    return typed("results", "--state", member.state.path, *more)


def test_a_run_ends_with_this_cohort_against_the_pool(done: Trial) -> None:
    member = done.members[0]
    (compared,) = member.told(Compared)
    assert [Path(file).name for file in compared.files] == [
        "study.own-against-pool.tsv",
        "study.own-against-pool.html",
    ]
    found = list(rows(member.out / "study.own-against-pool.tsv", "\t"))
    assert len(found) == compared.count == 20
    assert min(float(row["P"]) for row in rows(member.out / "study.assoc") if row["P"] != "NA") == float(
        found[0]["POOL_P"]
    )
    plink("--bfile", member.bfile, "--assoc", "--out", member.bfile)
    plinks = {row["SNP"]: row for row in rows(member.bfile.with_suffix(".assoc"))}
    known = [row for row in found if row["OWN_P"] != "NA"]
    assert len(known) > 15
    for row in known:
        assert float(row["OWN_P"]) == pytest.approx(float(plinks[row["SNP"]]["P"]), rel=2e-3), row
    page = (member.out / "study.own-against-pool.html").read_text(encoding="utf-8")
    assert all(row["SNP"] in page for row in found)
    assert page.count("<polygon") == sum(row["POOL_OR"] != "NA" for row in found)
    assert "http" not in page.replace("http-equiv", "")


def test_every_cohort_gets_the_report_and_it_is_of_this_study(done: Trial) -> None:
    pages = {(member.out / "study.report.html").read_text("utf-8") for member in done.members}
    (page,) = pages
    assert all(member.name in page for member in done.members)
    assert page.count("<svg") == 2 and "Manhattan plot" in page and "asked" in page
    manifest = json.loads((done.members[0].out / "study.manifest.json").read_text("utf-8"))
    assert manifest["plan_hash"] in page
    files = {file["name"]: file for file in manifest["files"]}
    assert files.pop("study.report.html")["bytes"] == len(page.encode())
    assert all(name in page and file["sha256"] in page for name, file in files.items())


def test_results_are_fetched_again_and_nothing_is_sent(done: Trial, tmp_path: Path) -> None:
    member = done.members[0]
    before = len(list(ledger.read(member.state.ledger)))
    fetched = results(member, "--out", tmp_path / "again", "--top", 3, "--json")
    assert fetched.returncode == 0, fetched.stderr
    told = [json.loads(line) for line in fetched.stdout.splitlines()]
    assert [event["event"] for event in told] == ["started", "results", "compared", "finished"]
    assert len(list(rows(tmp_path / "again" / "study.own-against-pool.tsv", "\t"))) == 3
    for name, content in member.results().items():
        assert (tmp_path / "again" / name).read_bytes() == content
    assert len(list(ledger.read(member.state.ledger))) == before


def test_without_the_files_that_were_used_the_results_come_all_the_same(done: Trial, tmp_path: Path) -> None:
    member = done.members[0]
    fam = member.bfile.with_suffix(".fam")
    content = fam.read_text()
    fam.write_text(content.replace(" 2\n", " 1\n", 1))
    try:
        fetched = results(member, "--out", tmp_path / "again")
        again = member.run(member.engine(options=None))
    finally:
        fam.write_text(content)
    assert fetched.returncode == 1
    assert "not compared with the pool" in fetched.stderr and "mine.fam" in fetched.stderr
    assert {Path(line).name for line in fetched.stdout.splitlines()} == {
        path.name for path in (tmp_path / "again").iterdir()
    }
    assert isinstance(again, Finished)  # a run does not fail for it


def test_loci_and_inflation_are_printed(done: Trial) -> None:
    command = ["pictures", "--state", done.members[0].state.path]
    printed = typed(*command).stdout
    head, titles, *loci = printed.splitlines()
    assert titles.split("\t")[:6] == ["CHR", "BP", "ID", "A1", "OR", "P"]
    assert f"{len(loci)} loci, from study.assoc" in head
    pictures = json.loads(typed(*command, "--json").stdout)
    assert f"genomic inflation {pictures['genomic_inflation']:.3f}," in head
    tested = [row for row in rows(done.members[0].out / "study.assoc") if row["P"] != "NA"]
    assert pictures["manhattan"]["variants"] == len(tested)


def test_of_a_study_that_is_not_done_it_is_said_what_it_waits_for(trial: Trial) -> None:
    member, *others = trial.members
    member.run(member.engine(until=Until.JOINED))
    shown = typed("pictures", "--state", member.state.path)
    assert shown.returncode == 2 and "not here yet" in shown.stderr
    early = results(member)
    assert early.returncode == 3
    assert "no results yet" in early.stderr and others[0].name in early.stderr
    trial.call("POST", "abort")
    ended = results(member)
    assert ended.returncode == 4 and "aborted" in ended.stderr


def stage(trial: Trial, member: Member) -> str:
    rows = trial.call("GET", "progress")["cohorts"]
    return next(row["stage"] for row in rows if row["name"] == member.name)


def until_stage(trial: Trial, member: Member, wanted: str) -> None:
    until(lambda: stage(trial, member) == wanted, lambda: f"not {wanted}: {stage(trial, member)}")


def test_what_a_person_is_asked_is_seen_and_what_it_ends_with(trial: Trial) -> None:
    first, *others = trial.members
    assert stage(trial, first) == "invited"
    joined(*others)

    def slowly(engine: Engine, asked: ReviewNeeded | ReleaseNeeded) -> None:
        until_stage(trial, first, "joined" if isinstance(asked, ReviewNeeded) else "checking")
        engine.accept(asked)

    threads = [member.beside() for member in others]
    first.run(answer=slowly)
    ended(*threads)
    assert {stage(trial, member) for member in trial.members} == {"done"}


def test_a_problem_stops_a_cohort_and_its_next_run_does_not_wait_for_it(trial: Trial, tmp_path: Path) -> None:
    first, *others = trial.members
    joined(*others)
    lost = tmp_path / "nowhere"
    first.run(first.engine(options=DataOptions(bfile=lost)))
    assert stage(trial, first) == "stopped"
    first.run(first.engine(until=Until.AGREED))
    assert stage(trial, first) == "choosing"


def test_who_waits_is_told_who_is_to_do_what(trial: Trial) -> None:
    first, second, third = trial.members
    second.run(second.engine(until=Until.JOINED))
    engine = first.engine()
    waiting = first.beside(engine)
    until_stage(trial, first, "joined")
    until(lambda: first.told(Waiting), lambda: str(first.events))
    assert first.told(Waiting)[0].names == (third.name,)
    assert first.told(Waiting)[0].waits == (f"{third.name} to join",)
    engine.stop()
    third.run(third.engine(until=Until.JOINED))  # is news, which ends the first one's asking at once
    waiting.join(PATIENCE)
