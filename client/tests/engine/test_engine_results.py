"""The end of a study at a cohort: its data against the pool, and the results fetched once more."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from client_trials import Member, Trial
from client_typed import typed

from tests.plinks import plink, rows
from unpooled_client.state import ledger
from unpooled_client.state.events import Compared, Finished
from unpooled_client.study.engine import Until

MakeStudy = Callable[..., Trial]


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


def test_of_a_study_that_is_not_done_it_is_said_what_it_waits_for(study: MakeStudy) -> None:
    trial = study()
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
