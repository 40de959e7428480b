"""Lines that a client without a terminal writes: their number, and what they say of the time left."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from unpooled.plan.plan import NO_KEY, Covariate, Plan
from unpooled_client.sentences.log_lines import MOST, Sparing
from unpooled_client.state.events import (
    Accepted,
    Agreed,
    Checked,
    Event,
    Finished,
    Joined,
    PanelAgreed,
    Paused,
    Reachable,
    Results,
    Resumed,
    Sent,
    StepProgress,
    Unreachable,
    Waiting,
)
from unpooled_client.study.remaining import FEWEST, Pace, last_pass

VARIANTS, CHUNK = 1_000_000, 20_000
COHORTS = ("Graz", "Oulu", "Tartu", "Turin", "Utrecht")
FILES = tuple(f"out/study.{k}" for k in range(9))
FINDING = {"severity": "warning", "file": "a.bim", "line": 3, "column": None, "message": "odd", "remedy": ""}

Timed = tuple[float, Event]


def beginning() -> Iterator[Event]:
    """Yield the events up to the first question, each cohort taking its time."""
    yield Sent("Public signing key", 32, "in clear")
    yield Joined("s1", "Asthma", "Tartu", "ab12", "https://x.org", False)
    for what in ("the other cohorts to join", "the other cohorts to be ready"):
        for k in range(len(COHORTS)):
            yield Waiting(what, COHORTS[k:], 1e9)
    yield Agreed("ab" * 32, "cd" * 32)
    yield Checked(True, {"findings": [FINDING] * 40}, 2.0)
    yield Accepted("ab" * 32, "cd" * 32)
    yield Sent("List of variants", 30_000_000, "in clear")
    yield PanelAgreed(VARIANTS, VARIANTS, "ef" * 32)


def over_variants(title: str, pace: float, *, is_last: bool = False) -> Iterator[StepProgress]:
    """All chunks of a step, at so many seconds a chunk; told as the engine does."""
    step = Pace(0.0, VARIANTS)
    for k, start in enumerate(range(0, VARIANTS, CHUNK), 1):
        step.add(start, CHUNK)
        left = step.left(VARIANTS, k * pace)
        yield StepProgress(title, step.done(VARIANTS), VARIANTS, "variants", 1, left=left, is_last=is_last)


def logistic(pace: float) -> Iterator[Timed]:
    """A logistic regression: twenty-five iterations over every variant, and a line that is not reliable."""
    now = 0.0
    for event in beginning():
        now += pace
        yield now, event
    for title in ("Count people", "Find the magnitude of covariates", "Average covariates", "Fit covariates"):
        for k in range(1, 9):
            now += pace
            yield now, StepProgress(title, k, None, "questions", 0)
    fits = [f"Fit model: iteration {k} of at most 25" for k in range(1, 26)]
    for title in ("Count genotypes", "Start from the covariates' model", *fits):
        for event in over_variants(title, pace):
            now += pace
            yield now, event
            yield now, Sent(title, 160_000, "masked", 7)
        yield now, Waiting("the sums of the other cohorts' answers", COHORTS[:2], 1e9)
        yield now, Unreachable("https://x.org", "no connection", 1e9)
        yield now, Reachable("https://x.org", 100.0)
        yield now, Paused("Oulu stays away")
        yield now, Resumed()
        yield now, Sent("Seconds per phase", 90, "in clear")
    yield now, Results(FILES, "out")
    yield now, Finished(120_000, 4_500_000, {"computing": 1.25})


@pytest.mark.parametrize("pace", [0.01, 1.0, 60.0, 3600.0], ids=lambda pace: f"{pace:g} s a question")
def test_no_study_has_more_than_forty_lines(pace: float) -> None:
    sparing = Sparing()
    lines = [line for now, event in logistic(pace) for line in sparing.lines(event, now)]
    assert len(lines) + len(FILES) <= MOST == 40
    text = "\n".join(lines)
    for part in ("Joined", "37 more findings", "Results: 9 files", "Done: "):
        assert part in text
    for step in ("Count genotypes", "Start from", "Fit model: iteration"):
        assert re.search(f"^{step}.* left in this", text, re.MULTILINE) or pace < 0.1, step
    assert len(re.findall("^Count genotypes", text, re.MULTILINE)) >= 2


def test_a_study_says_how_long_it_will_still_take() -> None:
    sparing = Sparing()
    told = [
        (3.0 * k, line)
        for k, event in enumerate(over_variants("Count genotypes", 3.0, is_last=True), 1)
        for line in sparing.lines(event, 3.0 * k)
    ]
    seconds = [
        (now, int(found[1])) for now, line in told if (found := re.search(r"about (\d+) s left$", line))
    ]
    assert seconds
    assert all(now + left == pytest.approx(150, abs=1) for now, left in seconds)
    assert told[-1][1] == "Count genotypes: 1,000,000 of 1,000,000 variants answered"


def test_what_an_earlier_run_has_answered_is_not_counted_to_the_pace() -> None:
    pace = Pace(0.0, VARIANTS)
    for k in range(FEWEST):
        assert pace.left(VARIANTS, 1.0) is None
        pace.add(700_000 + k * CHUNK, CHUNK)
    assert pace.done(VARIANTS) == 700_000 + FEWEST * CHUNK
    assert pace.left(VARIANTS, 2.0 * FEWEST) == pytest.approx(2 * (300_000 / CHUNK - FEWEST))


def test_a_line_is_kept_for_the_end_of_what_was_told() -> None:
    sparing = Sparing()
    lost, found = Unreachable("https://x.org", "no connection", 1e9), Reachable("https://x.org", 100.0)
    assert [len(sparing.lines(event, 0.0)) for event in (found, lost, lost, found, found)] == [0, 1, 0, 1, 0]


@pytest.mark.parametrize(
    "test, trait, title",
    [
        ("chi-square", "case/control", "Count genotypes"),
        ("linear", "quantitative", "Sum genotypes, covariates and phenotype"),
        ("logistic", "case/control", "Fit model"),
    ],
)
def test_the_last_pass_over_the_variants_is_known(test: str, trait: str, title: str) -> None:
    plan = Plan(
        test=test,
        phenotype="asthma",
        trait=trait,
        cohorts=3,
        compensator_key=NO_KEY,
        files=("assoc",),
        covariates=() if test == "chi-square" else (Covariate("age"),),
    )
    assert last_pass(plan) == title
