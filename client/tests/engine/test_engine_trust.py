"""Claims of the server that are recomputed: plans, rosters, compensators, questions, panels."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
from books import answerer_of, asked, cohort_of

from unpooled.asking import question as questions
from unpooled.asking.cohort import ArrayCohort
from unpooled.described.what_leaves import Leaving, what_leaves
from unpooled.errors import BoundError
from unpooled.methods import ALGORITHMS
from unpooled.methods.chi_square import Census
from unpooled.methods.presence import Presence
from unpooled.plan.common_options import ENCRYPTED
from unpooled.plan.plan import NO_KEY, Plan
from unpooled.protocol import VERSION, masking, witness
from unpooled.protocol.encrypted import worker
from unpooled.protocol.invitation import Invitation
from unpooled.protocol.messages import Question, Roster
from unpooled.protocol.problems import Problem
from unpooled.protocol.sealing import SigningKey, fingerprint
from unpooled_client.network.answers import Study
from unpooled_client.state.files import Remediable
from unpooled_client.state.folder import Saved
from unpooled_client.study.reading import Alignments
from unpooled_client.study.trust import (
    Distrust,
    Terms,
    check_compensator,
    check_identity,
    checked_plan,
    terms,
)

KEY = NO_KEY[1:] + b"1"
LINEAR: dict[str, Any] = {"test": "linear", "trait": "quantitative"}


@pytest.fixture
def saved() -> Saved:
    invitation = Invitation("http://127.0.0.1:1", "study1", "t" * 43, fingerprint(KEY))
    return replace(Saved.new(invitation), cohort="Tartu")


@pytest.fixture
def plan() -> Plan:
    return Plan(test="chi-square", phenotype="asthma", cohorts=3, compensator_key=KEY)


@pytest.fixture
def answer(saved: Saved, plan: Plan) -> Study:
    """Answer of an honest server about a study whose roster is fixed."""
    keys = [("Graz", bytes(32)), ("Oulu", bytes(31) + b"1"), ("Tartu", SigningKey(saved.signing_key).public)]
    roster = Roster(tuple(keys))
    return Study(
        version=4,
        id="study1",
        name="Asthma",
        state="open",
        reason="",
        plan=plan,
        plan_hash=plan.hash().hex(),
        cohort="Tartu",
        cohort_state="joined",
        cohort_key=keys[2][1],
        roster=roster,
        roster_hash=roster.hash().hex(),
        compensator_key=KEY,
        one_operator=False,
        panel_digest="",
        waiting_for=(),
        waits=(),
        results=(),
    )


def test_an_honest_answer_gives_terms(answer: Study, saved: Saved, plan: Plan) -> None:
    found = terms(answer, saved)
    assert found is not None
    assert (found.plan, found.plan_hash, found.cohort) == (plan, plan.hash(), "Tartu")
    assert found.purpose.compensator_key == KEY


def test_a_plan_that_encrypts_needs_an_interpreter(answer: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Plan("chi-square", "asthma", 3, NO_KEY, trust=ENCRYPTED)
    monkeypatch.setenv(worker.SETTING, "")
    with pytest.raises(Remediable, match=r"cannot do: encrypted sums need OpenFHE.* Install the packages"):
        checked_plan(replace(answer, plan=plan, plan_hash=plan.hash().hex()))


def test_without_a_roster_there_are_no_terms_yet(answer: Study, saved: Saved) -> None:
    assert terms(replace(answer, roster=None, roster_hash=""), saved) is None


def other_plan(answer: Study) -> Study:
    assert answer.plan is not None
    return replace(answer, plan=replace(answer.plan, min_samples=1))


def other_compensator(answer: Study) -> Study:
    return replace(answer, compensator_key=NO_KEY)


def other_compensator_in_plan(answer: Study) -> Study:
    assert answer.plan is not None
    plan = replace(answer.plan, compensator_key=NO_KEY)
    return replace(answer, plan=plan, plan_hash=plan.hash().hex())


def smaller_roster(answer: Study) -> Study:
    assert answer.roster is not None
    roster = Roster(answer.roster.members[1:])
    return replace(answer, roster=roster, roster_hash=roster.hash().hex())


def roster_without_me(answer: Study) -> Study:
    assert answer.roster is not None
    roster = Roster((*answer.roster.members[:2], ("Tartu", b"x" * 32)))
    return replace(answer, roster=roster, roster_hash=roster.hash().hex())


def unknown_test(answer: Study) -> Study:
    assert answer.plan is not None
    plan = replace(answer.plan, test="everything")
    return replace(answer, plan=plan, plan_hash="00" * 32)  # nobody knows what it would be


def of_another_version(answer: Study) -> Study:
    """Change the protocol under a plan that was accepted: its compensator had keys of another length."""
    assert answer.plan is not None
    key = NO_KEY[:32]
    plan = replace(answer.plan, version=VERSION - 1, compensator_key=key)
    return replace(answer, plan=plan, plan_hash=plan.hash().hex(), compensator_key=key)


@pytest.mark.parametrize(
    "lie, problem",
    [
        (other_plan, Problem.QUESTION),
        (of_another_version, Problem.COMPENSATOR),
        (lambda answer: replace(answer, roster_hash="00" * 32), Problem.QUESTION),
        (lambda answer: replace(answer, id="study2"), Problem.QUESTION),
        (lambda answer: replace(answer, cohort="Oulu"), Problem.QUESTION),
        (lambda answer: replace(answer, plan=None), Problem.QUESTION),
        (smaller_roster, Problem.QUESTION),
        (roster_without_me, Problem.QUESTION),
        (unknown_test, Problem.QUESTION),
        (other_compensator, Problem.COMPENSATOR),
        (other_compensator_in_plan, Problem.COMPENSATOR),
    ],
)
def test_a_lie_is_found(answer: Study, saved: Saved, lie: Callable[[Study], Study], problem: Problem) -> None:
    with pytest.raises(Distrust) as caught:
        terms(lie(answer), saved)
    assert caught.value.problem is problem
    assert caught.value.remedy


def test_identity_and_compensator_are_checked_before_joining(answer: Study, saved: Saved) -> None:
    check_identity(answer, replace(saved, cohort=""))
    check_compensator(replace(answer, roster=None, plan=None), saved)
    with pytest.raises(Distrust):  # the server's word is of one piece, and not the invitation's
        check_compensator(replace(other_compensator(answer), roster=None, plan=None), saved)


# Questions


@dataclass(frozen=True)
class Stranger(questions.Question):
    name: ClassVar[str] = "stranger/records"
    title: ClassVar[str] = "Records"
    sends: ClassVar[tuple[questions.Count, ...]] = ()


@pytest.fixture
def found(answer: Study, saved: Saved) -> Terms:
    result = terms(answer, saved)
    assert result is not None
    return result


@pytest.fixture
def cohort() -> ArrayCohort:
    return cohort_of(3)


def test_a_share_unmasks_with_the_seed_and_its_own_nonce(found: Terms, cohort: ArrayCohort) -> None:
    seed = os.urandom(32)
    answerer, step = answerer_of(found, seed), Census()
    question = asked(step)
    entered = answerer.enter(question, step)
    share = entered.share(cohort)
    scheme = found.plan.scheme(step.ring_bits)
    context = entered.context(share.nonce)
    words = questions.words(step, scheme)
    vector = scheme.subtract(scheme.from_bytes(share.data, words), masking.mask(seed, context))
    plain = questions.pack(step, step.local(cohort), scheme, 3, question.salt, witnessed=entered.witnessed)
    assert np.array_equal(vector, plain)
    assert len(share.data) == words * scheme.word_bytes


def test_the_witness_is_opened_with_the_seed_for_what_was_accepted(found: Terms) -> None:
    answerer, opened = answerer_of(found), os.urandom(32)
    sealed = witness.seal(opened, answerer.seed, found.purpose)
    assert answerer.witnessing(sealed).witness == opened
    elsewhere = witness.seal(opened, answerer.seed, replace(found.purpose, plan_hash=bytes(32)))
    others = witness.seal(opened, os.urandom(32), found.purpose)
    for wrong in (b"", sealed[:-1], elsewhere, others, bytes(len(sealed))):
        with pytest.raises(Distrust, match="secret for this cohort") as caught:
            answerer.witnessing(wrong)
        assert caught.value.problem is Problem.QUESTION
    assert opened.hex() not in repr(answerer.witnessing(sealed))


def test_without_a_witness_nothing_is_packed(found: Terms, cohort: ArrayCohort) -> None:
    answerer, step = replace(answerer_of(found), witness=b""), Census()
    with pytest.raises(AssertionError, match="no witness"):
        answerer.enter(asked(step), step).share(cohort)


def test_the_first_of_the_roster_alone_adds_the_pad(found: Terms) -> None:
    step = Census()
    for place, (name, _) in enumerate(found.roster.members):
        answerer = answerer_of(replace(found, cohort=name))
        assert answerer.enter(asked(step), step).witnessed.adds_pad is (place == 0)


def test_what_is_computed_again_has_another_nonce(found: Terms, cohort: ArrayCohort) -> None:
    answerer, question = answerer_of(found), asked(Census())
    shares = [answerer.enter(question, Census()).share(cohort) for _ in range(5)]
    assert len({share.nonce for share in shares}) == len({share.data for share in shares}) == 5


def test_a_question_that_is_not_in_the_plan_is_refused(found: Terms) -> None:
    answerer = answerer_of(found)
    for step in (Stranger(), Presence(0, 5)):
        with pytest.raises(Distrust) as caught:
            answerer.question(asked(step, is_sent=True))
        assert caught.value.problem is Problem.QUESTION
    for data in (b"", b"N", b"\xff" * 40):
        with pytest.raises(Distrust):
            answerer.question(Question(1, bytes(32), data))


def test_an_enormous_question_is_refused(found: Terms) -> None:
    listed = replace(found, plan=replace(found.plan, panel_mode="list", panel_digest=bytes(32)))
    answerer = answerer_of(listed)
    assert answerer.question(asked(Presence(0, 5), is_sent=True))
    for count in (1 << 40, -1, -5):
        with pytest.raises(Distrust):
            answerer.question(asked(Presence(0, count), is_sent=True))


def test_a_number_beyond_its_bound_is_named_and_not_shown(found: Terms) -> None:
    step, cohort = Presence(0, 2), SimpleNamespace(present=np.array([1, 2]))
    with pytest.raises(BoundError) as caught:
        answerer_of(found).enter(asked(step), step).share(cohort)
    assert caught.value.quantity == "present"
    assert not any(character.isdigit() for character in str(caught.value))


def test_the_servers_bound_does_not_decide_whether_a_question_is_answered(
    found: Terms, cohort: ArrayCohort
) -> None:
    kind = next(kind for kind in ALGORITHMS["chi-square"].asks if kind.name == "chi-square/genotypes")
    step: Any = kind(start=0, stop=20, groups=(("case",), ("control",)), most=1)  # type: ignore[call-arg]
    assert answerer_of(found).enter(asked(step), step).share(cohort).data


def test_a_question_before_there_is_a_panel_is_refused(found: Terms) -> None:
    alignments = Alignments(data=None, plan=found.plan)  # type: ignore[arg-type]
    with pytest.raises(Distrust):
        alignments.cohort_for(Census())


# What leaves


def leaving(plan: Plan) -> tuple[Leaving, ...]:
    return what_leaves(plan)


def test_values_of_single_people_stand_in_the_table_only_where_they_are_sent(plan: Plan) -> None:
    for missing, sent in (("exact", True), ("mean", False)):
        table = leaving(replace(plan, **LINEAR, missing=missing))
        assert any("single people" in line.detail for line in table) == sent


def test_gaussian_masks_are_called_what_they_are(plan: Plan) -> None:
    forms = {line.form for line in leaving(replace(plan, masking="gaussian", variance=1e6))}
    assert any("hides less" in form and "1e+06" in form for form in forms)
