"""Result files of a dishonest server: none is stored that the accepted plan does not give."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from client_dishonest import PLAN, Cohort
from client_scripted import Scripted

from unpooled.described.file_list import methods_name, most_bytes
from unpooled.plan.plan import Plan
from unpooled_client.compare.report import Place, Study, write_tables
from unpooled_client.state.events import Event, Exit, Failed, Results
from unpooled_client.state.written import NotOurs, Written
from unpooled_client.study import delivery, engine
from unpooled_client.study.engine import Engine

METHODS = methods_name(PLAN)
LIE = b"from the server\n"
OWN = b"family of one\n"
NAMES = {
    "data": "mine.fam",
    "program": "setup.exe",
    "page": "own-against-pool.html",
    "upwards": "../x",
    "upwards as on Windows": "..\\x",
    "device": "CON",
    "device with a suffix": "aux.txt",
    "stream": "study.assoc:x",
    "case": "STUDY.ASSOC",
    "last dot": "study.assoc.",
    "hidden": ".profile",
    "line": "study.\nassoc",
    "report that the plan has not": "study.hh",
}


@pytest.fixture
def cohort(scripted: Scripted, tmp_path: Path) -> Cohort:
    made = Cohort(scripted, tmp_path)
    (made.data / "mine.fam").write_bytes(OWN)
    return made.agreed(variants=100, list_bytes=3000)


def deliver(cohort: Cohort, *files: tuple[str, bytes]) -> Event:
    """The last event, after the server has offered these files of a study that is done."""
    cohort.keep()
    cohort.server.says(200, cohort.says("done", files))
    for _, content in files:
        cohort.server.says(200, content)
    return list(Engine(cohort.state).results())[-1]


def weaken(monkeypatch: pytest.MonkeyPatch, *checks: str) -> None:
    """Leave these checks out: the attack is seen to be one."""
    stubs = {
        "names": (engine, "check_offered", lambda files, plan, sizes: None),
        "sizes": (delivery, "most_bytes", lambda name, plan, sizes: 1 << 40),
        "origin": (Written, "refuse_foreign", lambda self, path: None),
        "agreement": (engine, "agreed_plan", lambda study, saved: study.plan),
    }
    for check in checks:
        monkeypatch.setattr(*stubs[check])


def refused(last: Event, *parts: str) -> bool:
    if not isinstance(last, Failed) or last.exit != Exit.REFUSED:
        return False
    said = f"{last.message} {last.remedy}"
    return all(part in said for part in parts)


def test_what_the_plan_gives_is_delivered(cohort: Cohort) -> None:
    deliver(cohort, ("study.assoc", LIE), (METHODS, b"text"))
    assert cohort.files() == {"data/mine.fam": OWN, "data/study.assoc": LIE, f"data/{METHODS}": b"text"}
    assert cohort.state.load().delivered


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_name_that_does_not_follow_from_the_plan_is_refused(cohort: Cohort, name: str) -> None:
    assert refused(deliver(cohort, ("study.assoc", LIE), (name, LIE)), repr(name), "does not follow")
    assert cohort.files() == {"data/mine.fam": OWN}
    assert len(cohort.server.requests) == 1, "nothing was fetched"


@pytest.mark.skipif(sys.platform == "win32", reason="there such a name is no file's")
@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_without_the_check_of_names_it_would_be_stored(
    cohort: Cohort, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    weaken(monkeypatch, "names", "origin")
    deliver(cohort, (name, LIE))
    assert (cohort.data / name).read_bytes() == LIE


def test_a_name_that_stands_twice_is_refused(cohort: Cohort) -> None:
    assert refused(deliver(cohort, ("study.assoc", LIE), ("study.assoc", b"else")), "study.assoc")
    assert cohort.files() == {"data/mine.fam": OWN}


@pytest.mark.parametrize("is_checked", [True, False])
def test_a_file_that_is_larger_than_the_plan_gives_is_not_fetched(
    cohort: Cohort, is_checked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_checked:
        weaken(monkeypatch, "sizes")
    last = deliver(cohort, (METHODS, bytes(most_bytes(METHODS, PLAN, cohort.saved.sizes) + 1)))
    assert refused(last, METHODS, "at most") is is_checked
    assert (cohort.data / METHODS).exists() is not is_checked


@pytest.mark.parametrize("is_checked", [True, False])
def test_a_file_of_other_origin_is_left_alone_and_the_others_are_stored(
    cohort: Cohort, is_checked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_checked:
        weaken(monkeypatch, "origin")
    (cohort.data / "study.assoc").write_bytes(OWN)
    last = deliver(cohort, ("study.assoc", LIE), ("study.frq", LIE))
    assert refused(last, str(cohort.data), "study.assoc", "left alone", "--out") is is_checked
    assert "study.frq" not in str(last)
    assert cohort.state.load().delivered is not is_checked
    assert cohort.files() == {
        "data/mine.fam": OWN,
        "data/study.assoc": OWN if is_checked else LIE,
        "data/study.frq": LIE,
    }


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
def test_a_link_is_of_other_origin(cohort: Cohort) -> None:
    (cohort.data / "study.assoc").symlink_to(cohort.data / "nothing")
    assert refused(deliver(cohort, ("study.assoc", LIE)), "left alone")
    assert (cohort.data / "study.assoc").is_symlink()


@pytest.mark.parametrize("is_checked", [True, False])
def test_nothing_is_delivered_before_an_agreement(
    cohort: Cohort, is_checked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server says that all is done to a client that has just come."""
    if not is_checked:
        weaken(monkeypatch, "agreement")
    cohort.saved = replace(cohort.saved, agreement=None)
    cohort.keep()
    for _ in range(2):  # is it this cohort's study; is there anything to join
        cohort.server.says(200, cohort.says("done", [("study.assoc", LIE)]))
    cohort.server.says(200, LIE)
    events = list(Engine(cohort.state).run())
    assert refused(events[-1], "not accepted here") is is_checked
    assert [isinstance(event, Results) for event in events].count(True) == (not is_checked)
    assert ("data/study.assoc" in cohort.files()) is not is_checked


def test_nothing_is_delivered_of_another_plan(cohort: Cohort) -> None:
    other = replace(PLAN, files=("assoc", "frq", "lmiss", "hwe"), min_samples=1)
    cohort.keep()
    cohort.server.says(200, cohort.says("done", [("study.hwe", LIE)], plan=other))
    assert refused(list(Engine(cohort.state).results())[-1], "not accepted here")
    assert cohort.files() == {"data/mine.fam": OWN}


# Where results go


NAMED = replace(PLAN, file_stem="asthma")


@pytest.fixture
def without_a_folder(cohort: Cohort, monkeypatch: pytest.MonkeyPatch) -> Cohort:
    """A cohort that was told no folder for its results, in an empty one."""
    agreement = replace(cohort.saved.agreement, plan=NAMED)  # type: ignore[type-var]
    cohort.saved = replace(cohort.saved, out="", agreement=agreement)
    monkeypatch.chdir(cohort.data)
    return cohort


def fetch(cohort: Cohort, *files: tuple[str, bytes], plan: Plan = NAMED) -> Event:
    cohort.keep()
    cohort.server.says(200, cohort.says("done", files, plan=plan))
    for _, content in files:
        cohort.server.says(200, content)
    return list(Engine(cohort.state).results())[-1]


def test_results_and_their_folder_are_named_as_the_plan_says(without_a_folder: Cohort) -> None:
    fetch(without_a_folder, ("asthma.assoc", LIE), ("asthma.report.html", b"<p>"))
    assert without_a_folder.files() == {
        "data/mine.fam": OWN,
        "data/asthma-results/asthma.assoc": LIE,
        "data/asthma-results/asthma.report.html": b"<p>",
    }


@pytest.mark.parametrize("name", ["study.assoc", "manifest.json", "asthma-2.assoc"])
def test_names_of_another_study_are_refused(without_a_folder: Cohort, name: str) -> None:
    assert refused(fetch(without_a_folder, (name, LIE)), name, "does not follow from the plan")


def test_another_study_of_the_same_name_goes_to_a_folder_of_its_own(without_a_folder: Cohort) -> None:
    there = without_a_folder.data / "asthma-results"
    there.mkdir()
    (there / "asthma.assoc").write_bytes(OWN)
    (without_a_folder.data / "asthma-results-2").write_bytes(OWN)  # no folder at all
    fetch(without_a_folder, ("asthma.assoc", LIE))
    found = without_a_folder.files()
    assert found["data/asthma-results/asthma.assoc"] == found["data/asthma-results-2"] == OWN
    assert found["data/asthma-results-3/asthma.assoc"] == LIE
    fetch(without_a_folder, ("asthma.assoc", LIE))  # again, to the same place
    assert without_a_folder.files() == found


# What this client wrote


def test_only_what_this_client_wrote_is_replaced(cohort: Cohort) -> None:
    place = Place(cohort.data, Written(cohort.state), PLAN)
    study = Study("Asthma", "Tartu", PLAN)
    first = write_tables(place, study, [])
    assert write_tables(Place(cohort.data, Written(cohort.state), PLAN), study, []) == first
    first[1].write_bytes(OWN)
    with pytest.raises(NotOurs, match="own-against-pool"):
        place.refuse_foreign()
    with pytest.raises(NotOurs):
        write_tables(place, study, [])
    assert first[1].read_bytes() == OWN


def test_what_was_written_is_known_after_a_crash_before_or_after_it_is_in_place(cohort: Cohort) -> None:
    path, written = cohort.data / "study.assoc", Written(cohort.state)
    written.put(path, b"old")
    written.claim(path, hashlib.sha256(b"new").hexdigest())
    written.refuse_foreign(path)
    path.write_bytes(b"new")
    Written(cohort.state).refuse_foreign(path)
    path.write_bytes(b"else")
    with pytest.raises(NotOurs):
        written.refuse_foreign(path)


def test_a_memory_that_is_lost_makes_nothing_ours(cohort: Cohort) -> None:
    path = cohort.data / "study.assoc"
    Written(cohort.state).put(path, b"old")
    (cohort.state.path / "written.json").write_text("{")
    with pytest.raises(NotOurs):
        Written(cohort.state).put(path, b"new")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
@pytest.mark.parametrize("of_people", [True, False])
def test_files_of_people_are_for_this_account_alone(cohort: Cohort, of_people: bool) -> None:
    path, before = cohort.data / "study.file", os.umask(0o022)
    try:
        with Written(cohort.state).draft(path, of_people=of_people) as part:
            part.write_bytes(b"FID IID")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == (0o600 if of_people else 0o644)


def test_the_same_bytes_of_other_origin_are_taken_over_and_a_link_is_not(cohort: Cohort) -> None:
    path, written = cohort.data / "study.assoc", Written(cohort.state)
    path.write_bytes(b"same")
    with written.draft(path, of_people=False) as part:
        part.write_bytes(b"same")
    written.put(path, b"new")
    link = cohort.data / "study.frq"
    link.symlink_to(path)
    with pytest.raises(NotOurs), written.draft(link, of_people=False) as part:
        part.write_bytes(b"new")
    assert link.is_symlink() and path.read_bytes() == b"new"
