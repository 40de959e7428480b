"""Checks of the server's claims that a client makes before it believes, shows or signs anything.

The server could show each cohort a different plan or roster. It gains nothing by it: the hashes recomputed
here are part of every mask's key, so answers to different plans never unmask.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from unpooled.asking.question import Question, words
from unpooled.errors import UnpooledError
from unpooled.methods import check
from unpooled.plan.plan import Plan
from unpooled.protocol.dealing import DealingContext, dealer_of
from unpooled.protocol.encrypted import worker
from unpooled.protocol.messages import Roster
from unpooled.protocol.pairs import Meeting
from unpooled.protocol.problems import Problem
from unpooled.protocol.sealing import Purpose, SigningKey, fingerprint, member_key
from unpooled_client.network.answers import Study
from unpooled_client.state.files import Remediable
from unpooled_client.state.folder import Saved

TELL_BOTH = "Nothing was sent for it. Tell the coordinator and the server's operator."
TELL_OPERATOR = "Nothing was sent for it. Tell the server's operator."
SAME_RELEASE = (
    "Nothing was sent for it. Server and client must be of the same release; if they are, tell the "
    "coordinator and the server's operator."
)
"""Remedy for a question that was not answered."""
NEEDS_OPENFHE = (
    f"Install the packages openfhe and numpy for CPython 3.10 or 3.12, and set {worker.SETTING} to that "
    "interpreter; or ask the coordinator for another trust."
)


class Distrust(Remediable):
    """The server says something that does not hold together; `problem` is what it may be told about that."""

    def __init__(self, problem: Problem, message: str, remedy: str) -> None:
        self.problem = problem
        super().__init__(message, remedy)


@dataclass(frozen=True)
class Terms:
    """Terms that a person accepts: one plan with one roster. Everything in them was checked or recomputed
    here.
    """

    study: str
    cohort: str
    plan: Plan
    plan_hash: bytes
    roster: Roster
    roster_hash: bytes
    one_operator: bool

    @property
    def purpose(self) -> Purpose:
        """Purpose of the seed."""
        return Purpose(self.study, self.plan_hash, self.roster_hash, self.cohort, self.plan.compensator_key)

    def bound(self, question: Question, number: int, named: bytes) -> dict[str, Any]:
        """Names that bind masks and dealings of round `number`, in which `named` is the question's digest."""
        scheme = self.plan.scheme(question.ring_bits)
        return {
            "study": self.study,
            "plan_hash": self.plan_hash,
            "roster_hash": self.roster_hash,
            "round": number,
            "question": named,
            "scheme": scheme.label,
            "words": words(question, scheme),
        }

    def dealing(self, question: Question, number: int, named: bytes) -> DealingContext:
        """Name the dealing for a round whose sums are compared."""
        if question.opens is None:
            raise AssertionError(f"{question.title}: nothing is compared")
        dealer, circuit = dealer_of(self.roster, number), question.opens.circuit
        return DealingContext(dealer=dealer, circuit=circuit, **self.bound(question, number, named))

    @property
    def meeting(self) -> Meeting:
        """The cohorts, who share masks where the plan has no compensator."""
        return Meeting(self.study, self.plan_hash, self.roster)


def own_keys(plan: Plan, signer: SigningKey) -> bytes:
    """Return what a cohort joins with; `member_key` of it is in the roster."""
    return signer.both if plan.in_pairs else signer.public


def check_identity(study: Study, saved: Saved) -> None:
    """Distrust unless this is the study of the invitation, and this cohort in it."""
    if study.id != saved.invitation.study:
        raise Distrust(
            Problem.QUESTION,
            f"the server answers for the study {study.id}, the invitation for {saved.invitation.study}.",
            "Ask the coordinator for a new invitation.",
        )
    if saved.cohort and study.cohort != saved.cohort:
        raise Distrust(
            Problem.QUESTION,
            f"the invitation is for the cohort {study.cohort}, and this folder belongs to {saved.cohort}.",
            "Use another folder with --state, or the invitation for this cohort.",
        )


def check_compensator(study: Study, saved: Saved) -> None:
    """Distrust unless invitation, server and plan name one compensator."""
    named, shown = saved.invitation.compensator, fingerprint(study.compensator_key)
    if named != shown:
        raise Distrust(
            Problem.COMPENSATOR,
            f"the server names a compensator with the fingerprint {shown}; the invitation has {named}.",
            "Nothing more leaves this computer. Compare the fingerprints with the coordinator by telephone.",
        )
    if study.plan is not None and study.plan.compensator_key != study.compensator_key:
        raise Distrust(
            Problem.COMPENSATOR,
            "the plan names another compensator than the invitation does: "
            f"{fingerprint(study.plan.compensator_key)} instead of {named}.",
            "Nothing more leaves this computer. Compare the fingerprints with the coordinator by telephone.",
        )


def checked_plan(study: Study) -> Plan:
    """The plan; Distrust unless its hash is as the server says, and this program knows its test."""
    plan = study.plan
    if plan is None:
        raise _inconsistent("the server names no plan.")
    try:
        check(plan)
    except UnpooledError as error:
        raise _inconsistent(f"the plan asks for {plan.test} of a {plan.trait} phenotype: {error}.") from error
    if plan.is_encrypted and (problem := worker.problem()):
        raise Remediable(f"the plan asks for what this computer cannot do: {problem}.", NEEDS_OPENFHE)
    if plan.hash().hex() != study.plan_hash:
        raise _inconsistent("the plan's hash, recomputed here, is not the one that the server names.")
    return plan


def terms(study: Study, saved: Saved) -> Terms | None:
    """The plan and the roster to accept, None while there is no roster; Distrust if they are not sound."""
    check_identity(study, saved)
    check_compensator(study, saved)
    if study.roster is None:
        return None
    plan = checked_plan(study)
    if study.roster.hash().hex() != study.roster_hash:
        raise _inconsistent("the roster's hash, recomputed here, is not the one that the server names.")
    if len(study.roster.members) != plan.cohorts:
        raise _inconsistent(
            f"the roster has {len(study.roster.members)} cohorts, and the plan says {plan.cohorts}."
        )
    # Name and key together: a key under another name would be somebody else's part.
    if (study.cohort, member_key(own_keys(plan, SigningKey(saved.signing_key)))) not in study.roster.members:
        raise Distrust(
            Problem.QUESTION,
            "this cohort's own key is not in the roster: another client joined in its name.",
            "Find out who it is. If it was yours, go on with its state folder (--state), "
            "or tell the server that it is lost with --join-anew.",
        )
    return Terms(
        study.id, study.cohort, plan, plan.hash(), study.roster, study.roster.hash(), study.one_operator
    )


def _inconsistent(message: str) -> Distrust:
    return Distrust(
        Problem.QUESTION,
        message,
        "Nothing more leaves this computer. Server and client may be of different versions; "
        "if not, tell the server's operator.",
    )
