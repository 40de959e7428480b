"""Every event on every screen."""

from __future__ import annotations

import dataclasses
import json

import pytest

from unpooled.described.what_leaves import what_leaves
from unpooled.plan.plan import NO_KEY, Plan
from unpooled.protocol.messages import Roster
from unpooled_client.commands import screen
from unpooled_client.sentences import sentences
from unpooled_client.state.events import (
    BYTES,
    Accepted,
    Agreed,
    Checked,
    Compared,
    Event,
    Exit,
    Failed,
    Finished,
    Joined,
    PanelAgreed,
    Paused,
    Proposal,
    Reachable,
    ReleaseNeeded,
    Results,
    Resumed,
    ReviewNeeded,
    Sent,
    StepProgress,
    Unreachable,
    UpdateChecked,
    Waiting,
)

PLAN = Plan(test="chi-square", phenotype="asthma", cohorts=3, compensator_key=NO_KEY)
FINGERPRINT = " ".join(["ab12"] * 8)
ROSTER = Roster((("Graz", bytes(32)), ("Oulu", bytes(31) + b"1"), ("Tartu", bytes(31) + b"2")))
LEAVES = what_leaves(PLAN)
FINDING = {
    "severity": "error",
    "file": "a.fam",
    "line": 3,
    "column": 5,
    "message": "no sex",
    "remedy": "Mend it.",
}
DESCRIPTION = "Of asthma in adults.\n\nCOMPENSATOR\n  Fingerprint, as in your invitation: " + "ee55 " * 30
EVENTS: list[Event] = [
    Sent("Public signing key", 32, "in clear"),
    Joined("s1", "Asthma", "Tartu", FINGERPRINT, "https://x.org", False),
    UpdateChecked(False, "Release: not known, for the server did not answer when it was asked"),
    Waiting("the other cohorts to join", ("Graz",), 1e9),
    Unreachable("https://x.org", "no connection", 1e9),
    Reachable("https://x.org", 100.0),
    Proposal(PLAN, "ab" * 32, FINGERPRINT, True, LEAVES),
    ReviewNeeded(
        *(PLAN, "ab" * 32, FINGERPRINT, False, LEAVES, ROSTER, "cd" * 32, "Tartu", "the roster"),
        description=DESCRIPTION,
    ),
    Agreed("ab" * 32, "cd" * 32),
    Checked(False, {"ok": False, "findings": [FINDING]}, 0.5),
    ReleaseNeeded("ab" * 32, LEAVES, {"samples": 100, "variants": 3200}),
    Accepted("ab" * 32, "cd" * 32),
    PanelAgreed(3000, 3200, "ef" * 32),
    StepProgress("Count people", 1, None, "questions", 0),
    StepProgress("Count genotypes", 1200, 3000, "variants", 2, left=360.0, is_last=True),
    StepProgress("Count genotypes", 3000, 3000, "variants", 0),
    StepProgress("Verify", 2_345_678, None, BYTES, 1, took=12.3),
    Sent("Count genotypes: genotypes", 48008, "masked", 7),
    Paused("Oulu stays away since 12:00"),
    Resumed(),
    Results(("out/study.assoc", "out/study.frq"), "out"),
    Compared(("out/own-against-pool.tsv", "out/own-against-pool.html"), 20, apart=2),
    Finished(120_000, 4_500_000, {"computing": 1.25}),
    Failed(Exit.DATA, "a.fam:3:5: no sex.", "Start again.", "values", "", "sex", is_known=True),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_has_words_and_json(event: Event) -> None:
    assert sentences.lines(event)
    assert Event.from_json(json.loads(json.dumps(event.to_json()))) == event


def test_json_has_every_event_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    with screen.JsonScreen() as shown:
        for event in EVENTS:
            shown.show(event)
    out, err = capsys.readouterr()
    assert len([json.loads(line) for line in out.splitlines()]) == len(EVENTS)
    assert not err


def test_lines_have_times_and_results_go_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    with screen.LineScreen() as shown:
        for event in EVENTS:
            shown.show(event)
    out, err = capsys.readouterr()
    own = ["out/own-against-pool.tsv", "out/own-against-pool.html"]
    assert out.splitlines() == ["out/study.assoc", "out/study.frq", *own]
    for part in (
        "Waiting for the other cohorts to join (Graz) since",
        "a.fam:3:5: no sex. Mend it.",
        "Count people: 1 question answered",
        "Count genotypes: 1,200 of 3,000 variants answered, about 6 min left\n",
        "Count genotypes: 3,000 of 3,000 variants answered",
        "ONE OPERATOR: NOT BLIND",
        "Changed: the roster. Plan abab abab…: chi-square of asthma, by Graz, Oulu, Tartu\n",
        "This cohort against the pool (20 compared, 2 of them apart; stays here): out/own-against-pool.html",
        "120 kB sent, 4.5 MB received",
    ):
        assert part in err
    assert "round" not in err and "Verify" not in err


def test_without_a_terminal_what_is_asked_is_shown_to_be_answered(capsys: pytest.CaptureFixture[str]) -> None:
    (review,) = (event for event in EVENTS if isinstance(event, ReviewNeeded))
    with screen.LineScreen() as shown:
        shown.show(review)
        assert len(capsys.readouterr().err.splitlines()) == 1
        assert shown.ask("Accept?") is None
    assert capsys.readouterr().err.splitlines() == sentences.lines(review)


def test_quiet_shows_what_goes_wrong_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    with screen.QuietScreen() as shown:
        for event in EVENTS:
            shown.show(event)
    out, err = capsys.readouterr()
    assert not out
    told = "The coordinator sees the code “values” and the name “sex”, and nothing else."
    assert err.splitlines() == [f"Error: a.fam:3:5: no sex. Start again. {told}"]


def test_quiet_shows_what_is_to_be_accepted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("click.confirm", lambda *arguments, **options: True)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    with screen.QuietScreen() as shown:
        for event in EVENTS:
            if isinstance(event, ReviewNeeded | ReleaseNeeded):
                shown.show(event)
                assert shown.ask("Accept?")
    asked = capsys.readouterr().err
    assert "WHO TAKES PART" in asked
    assert "WHAT WILL LEAVE THIS COMPUTER" in asked


def test_a_terminal_has_bars_and_a_line_for_waiting(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with screen.TerminalScreen() as shown:
        for event in EVENTS:
            shown.show(event)
            shown._live.refresh()
    out, err = capsys.readouterr()
    for part in (
        "1,200 of 3,000 variants, about 6 min left",
        "2.35 MB in 12 s",
        "Waiting for the other cohorts to join (Graz)",
        "The study is paused",
    ):
        assert part in err
    assert "out/study.assoc" in out


@pytest.mark.parametrize(
    "count, text",
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1 kB"),
        (78731, "78.7 kB"),
        (999_700, "1 MB"),
        (3.2e9, "3.2 GB"),
        (5e12, "5,000 GB"),
    ],
)
def test_sizes_are_short(count: float, text: str) -> None:
    assert sentences.size(int(count)) == text


def test_times_are_short() -> None:
    assert [sentences.duration(s) for s in (3, 89, 360, 7200)] == ["3 s", "89 s", "6 min", "2.0 h"]


def test_the_coordinators_words_are_marked_line_by_line() -> None:
    """They come from the server unsigned: a line of them must not pass for one of the program's own."""
    (review,) = (event for event in EVENTS if isinstance(event, ReviewNeeded))
    said = sentences.lines(review)
    begin = next(k for k, line in enumerate(said) if "COORDINATOR'S WORDS" in line)
    theirs = said[begin + 1 : said.index("PLAN") - 1]
    assert theirs[:3] == ["  | Of asthma in adults.", "  |", "  | COMPENSATOR"]
    assert all(line.startswith("  |") and len(line) <= 100 for line in theirs)
    assert sum("ee55" in line for line in theirs) == sum("ee55" in line for line in said) > 1
    assert not any(
        "COORDINATOR'S WORDS" in line
        for line in sentences.lines(dataclasses.replace(review, description=" "))
    )
