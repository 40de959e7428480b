"""Contents of the window without a window: the model and its documents."""

from __future__ import annotations

import pytest

from unpooled.plan.plan import NO_KEY, Covariate, Plan
from unpooled.protocol.messages import Roster
from unpooled_client.state.events import (
    Agreed,
    Event,
    Exit,
    Failed,
    Finished,
    Paused,
    Proposal,
    Reachable,
    Resumed,
    ReviewNeeded,
    Sent,
    Started,
    StepProgress,
    Unreachable,
    Waiting,
)
from unpooled_client.state.stage import Stage
from unpooled_client.window import documents
from unpooled_client.window.form import (
    DataForm,
    columns_found,
    genotypes_of,
    genotypes_text,
    has_covariates,
    likely_phenotype,
    prefix_of,
)
from unpooled_client.window.model import Card, Progress, Tone, stage_lines
from unpooled_client.window.where import where

PLAN = Plan("linear", "bmi", 3, NO_KEY, trait="quantitative", covariates=(Covariate("age"), Covariate("sex")))
WAITING = Waiting("the sums of the other cohorts' answers", ("Munich",), 0.0)
LOST = Unreachable("https://studies.example.org", "no route", 0.0)
PAUSED = Paused("lunch")


def after(*events: Event) -> Progress:
    progress = Progress()
    progress.add_all(events)
    return progress


@pytest.mark.parametrize(
    "events, title",
    [
        ((), None),
        ((WAITING,), "Waiting for Munich"),
        ((WAITING, LOST), "The server has not answered"),
        ((WAITING, LOST, Reachable(LOST.server, 5.0)), "Waiting for Munich"),
        ((PAUSED,), "The study is paused"),
        ((PAUSED, Resumed()), None),
        ((WAITING, StepProgress("Count", 1, 2, "variants", 0)), None),
        ((LOST, Failed(Exit.DATA, "bad", "mend")), "The data cannot be used"),
        ((Failed(Exit.REFUSED, "no", "", code="revoked-token"),), "The invitation was revoked"),
        ((Failed(Exit.INTERNAL, "oops", ""), Started(1, "here", "1")), None),
        ((LOST, Finished(1, 2, {})), None),
    ],
    ids=str,
)
def test_the_one_thing_to_know_now(events: tuple[Event, ...], title: str | None) -> None:
    card = after(*events).card
    assert (card.title if card else "").startswith(title or "")
    assert (card is None) == (title is None)


def test_every_failure_says_what_where_and_who_can_act() -> None:
    for exit_ in Exit:
        card = after(Failed(exit_, "it broke.", "mend it.")).card
        assert card is not None
        assert card.text.startswith("It broke.")
        assert {"Where", "What to do", "Who can act"} == {name for name, _ in card.rows}


def test_a_roster_that_changed_after_the_release_is_accepted_before_anything_else() -> None:
    asked = ReviewNeeded(PLAN, "", "", False, (), Roster(()), "", "Graz", changed="the roster")
    unanswered = Failed(Exit.USAGE, "nobody to ask.", "", code="unanswered")
    assert where(Stage.RUN, after(asked), is_alive=True).stage is Stage.RUN
    assert where(Stage.RUN, after(asked, unanswered), is_alive=False).stage is Stage.JOIN
    assert where(Stage.RUN, after(asked, Agreed("", "")), is_alive=False).stage is Stage.RUN


def test_iterations_share_a_bar_and_traffic_adds_up() -> None:
    turns = [StepProgress(f"Fit model: iteration {k} of at most 25", k, None, "questions", 0) for k in (1, 2)]
    progress = after(Sent("a", 500, "masked"), *turns, Sent("b", 700, "masked"))
    assert [bar.title for bar in progress.bars] == ["Fit model: iteration 2 of at most 25"]
    assert progress.traffic == "1.2 kB sent in 2 messages"


def test_steps_before_are_done_and_later_ones_cannot_be_opened() -> None:
    lines = stage_lines(Stage.REVIEW, Tone.NOW)
    assert [line.tone for line in lines] == [*[Tone.GOOD] * 3, Tone.NOW, Tone.LATER, Tone.LATER]
    assert [line.can_open for line in lines] == [True] * 4 + [False] * 2


def test_a_run_that_was_cut_off_is_known_from_one_that_was_stopped() -> None:
    cut, stopped = (Started(1, "here", "1"), WAITING), (WAITING, Failed(Exit.INTERRUPTED, "stopped", ""))
    assert after(*cut).was_interrupted
    assert not after(*stopped).was_interrupted
    assert "Interrupted" in where(Stage.RUN, after(*cut), is_alive=False).text
    assert where(Stage.RUN, after(*stopped), is_alive=False).text == "Stopped"


def test_the_form_speaks_the_command_line() -> None:
    form = DataForm(bfile="x", pheno="p.txt", pheno_name="bmi", one=True, missing_phenotype="-1")
    assert form.arguments() == [
        *("--bfile", "x", "--pheno", "p.txt", "--pheno-name", "bmi", "--missing-phenotype", "-1", "--1")
    ]
    assert "covariates" in form.lacks(PLAN)
    assert genotypes_of("a/b.fam") == genotypes_of("a/b") == {"bfile": "a/b"}
    chosen = genotypes_of("a/b.psam")
    assert chosen == {"pfile": "a/b"} and genotypes_text(DataForm(**chosen)) == "a/b.pgen"
    assert genotypes_of("a/b.vcf.gz") == {"vcf": "a/b.vcf.gz"}
    assert genotypes_text(DataForm(**genotypes_of("a/b.bgen"))) == "a/b.bgen"
    assert DataForm(bgen="b", sample="s").arguments() == ["--bgen", "b", "--sample", "s"]
    assert prefix_of("a/b.c.BED") == prefix_of("a/b.c.fam") == prefix_of("a/b.c")


def test_columns_of_the_plan_found_or_not() -> None:
    assert "age, sex" in columns_found(["age", "sex"], "covariates", None)
    assert columns_found(["age", "sex"], "covariates", [{"name": "age"}, {"name": "sex"}]).startswith("✓")
    assert "Not in the file: sex" in columns_found(["age", "sex"], "covariates", [{"name": "age"}])


def columns(**types: str) -> list[dict[str, str]]:
    return [{"name": name, "type": kind} for name, kind in types.items()]


@pytest.mark.parametrize(
    "found, likely",
    [
        (columns(bmi="number", height="number"), "bmi"),
        (columns(BMI="number", height="number"), "BMI"),
        (columns(weight="number", ill="case/control"), "weight"),
        (columns(weight="number", age="number", sex="category"), "weight"),
        (columns(weight="number", height="number"), ""),
        (columns(ill="case/control"), ""),
        ([], ""),
    ],
    ids=str,
)
def test_the_phenotype_column_is_chosen_where_the_file_tells(
    found: list[dict[str, str]], likely: str
) -> None:
    name, why = likely_phenotype(PLAN, found)
    assert name == likely
    assert bool(why) == (likely == "weight")


def test_a_file_that_has_every_covariate_is_known() -> None:
    assert has_covariates(PLAN, columns(bmi="number", age="number", sex="category"))
    assert not has_covariates(PLAN, columns(bmi="number", age="number"))


def test_words_from_outside_stay_words() -> None:
    evil = "<img src='http://example.org/x'>"
    asked = Proposal(PLAN, "", evil, False, (), description=evil)
    assert "<img" not in documents.proposal(asked, study=evil, server=evil)
    assert "<img" not in documents.holdings({evil: {evil: evil}})
    assert "<img" not in documents.card(Card(Tone.NOW, evil, evil, evil), muted="#000000")
