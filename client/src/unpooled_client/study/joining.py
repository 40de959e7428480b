"""Joining a study: agreeing to its plan and roster before any data file is opened, releasing what leaves."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterator

from unpooled.described.what_leaves import (
    PARTS,
    SEED,
    SIGNING_KEY,
    TO_COHORTS,
    TO_COMPENSATOR,
    Form,
    what_leaves,
)
from unpooled.errors import ProtocolError, listed
from unpooled.plan.plan import Plan
from unpooled.protocol import VERSION, bodies, codec
from unpooled.protocol.encrypted.carrier import Key
from unpooled.protocol.masking import SEED_BYTES
from unpooled.protocol.messages import Sealed
from unpooled.protocol.problems import Problem
from unpooled.protocol.sealing import SigningKey, fingerprint, member_key, seal_seed
from unpooled.protocol.stages import Doing
from unpooled_client.data.options import DataOptions
from unpooled_client.network.answers import Conflict, Refused, Study
from unpooled_client.network.api import LONG_POLL
from unpooled_client.state import events
from unpooled_client.state.folder import Acceptance, Agreement
from unpooled_client.study import trust
from unpooled_client.study.book import Book, BookLost, knows_of_a_release
from unpooled_client.study.released import kept_under
from unpooled_client.study.session import OVER, Session, StudyEnded

SECOND_CLIENT = "second-client"
UNANSWERED = "unanswered"
# What the server answers to the acceptance of terms that are no longer the study's.
_CHANGED = ("plan-changed", "roster-changed", "roster-incomplete")
# The server gives a client up 60 s after it was last heard, which is noted every 15 s.
_PATIENCE_WITH_OTHERS = 90.0


class Declined(Refused):
    """This cohort's person declined the plan and the roster, or that anything of the data leaves."""

    def __init__(self, session: Session) -> None:
        before = "What was sent before is in the ledger: unpooled-client ledger"
        nothing = "Nothing of this cohort's data was sent."
        super().__init__(0, "declined", "you declined.", before if session.saved.acceptance else nothing)


class Unanswered(Refused):
    """Something must be accepted, and there is nobody to ask."""

    def __init__(self, session: Session) -> None:
        must, how = "what would leave this computer must be released", "unpooled-client run"
        scripts = "For scripts there is --yes."
        if isinstance(asked := session.asked, events.ReviewNeeded):
            changed = f"{asked.changed} changed and must be accepted again"
            must = changed if asked.changed else "plan and roster must be accepted"
            must = "the coordinator repeats the study: it must be accepted" if asked.repeats else must
            how = "unpooled-client join --wait"
        elif asked is not None and asked.few_apart:
            studies = listed([f"“{each.earlier}”" for each in asked.few_apart])
            must = f"few people differ from those of {studies}: what would leave must be released knowingly"
            scripts = "--yes does not answer this; --few-apart beside it does."
        if session.asks_anew:
            scripts = (
                "--yes does not answer this: it covers what is accepted first, and nothing that replaces it."
            )
        remedy = f"In a terminal, say: {how} {session.folder.as_option}. {scripts}"
        super().__init__(0, UNANSWERED, f"{must}, and there is nobody to ask.", remedy)


def join(session: Session, *, anew: bool) -> Generator[events.Event, None, Study]:
    """Register this cohort's key with the study, unless that was done before.

    `anew`: another client joined for this cohort before, and its state is lost.
    """
    yield from _wait_for_other_client(session)
    study = yield from session.study()
    trust.check_identity(study, session.saved)
    trust.check_compensator(study, session.saved)
    plan = trust.checked_plan(study)
    public = trust.own_keys(plan, SigningKey(session.saved.signing_key))
    if study.state in OVER:
        return study
    _require_our_version(plan)
    # The key tells, and not what is noted after joining: a client may be killed between the two.
    if study.cohort_key not in (b"", member_key(public)) and not anew:
        raise Refused(
            409,
            "joined-elsewhere",
            f"the cohort {study.cohort} has joined already, with a state that is not in this folder.",
            "Continue with that state (--state DIR). If it is lost, --join-anew has all cohorts accept "
            "again; once sums were released, it ends the study.",
        )
    if anew and _book_is_lost(session):
        # Another key makes another roster, for which all cohorts accept again, and draw new seeds.
        session.save(signing_key=SigningKey.generate().private, acceptance=None)
        public = trust.own_keys(plan, SigningKey(session.saved.signing_key))
    again = bool(session.saved.cohort)
    session.save()  # a key that the server knows must not be lost
    yield session.record(SIGNING_KEY, bodies.joining(public), Form.CLEAR, TO_COHORTS)
    yield from session.wait_for(session.api.join, public)
    session.save(cohort=study.cohort)
    yield events.Joined(
        study.id, study.name, study.cohort, fingerprint(member_key(public)), session.api.server, again
    )
    return (yield from session.study())


def _require_our_version(plan: Plan) -> None:
    """Refused for a study under way of another version of the protocol: nothing of ours would fit."""
    if plan.version != VERSION:
        raise Refused(
            0,
            "other-version",
            f"this study was planned for protocol version {plan.version}, and this program speaks {VERSION}.",
            "To finish it, use the release of unpooled-client that began it, with a server of that release. "
            "Or ask the coordinator to duplicate the study, and join the copy.",
        )


def _wait_for_other_client(session: Session) -> Iterator[events.Event]:
    """A second client for a cohort is refused while the first lives; a dead one is given up in a minute."""
    deadline = time.monotonic() + _PATIENCE_WITH_OTHERS
    while True:
        try:
            yield from session.study()
            return session.not_waiting()
        except Conflict as error:
            if error.code != SECOND_CLIENT or time.monotonic() > deadline:
                raise
        yield from session.waiting("another client of this cohort to end", ())
        # Often enough that nobody waits in vain, and seldom enough that the server does not notice.
        yield from session.wait_for(time.sleep, 2.0)


def agree(
    session: Session, study: Study, options: DataOptions | None = None
) -> Generator[events.Event, None, tuple[Study, trust.Terms]]:
    """Wait for the roster, and have a person accept it with the plan unless they did so before.

    `options` are those of the data files, if they were given anew. Raises Declined, or StudyEnded.
    """
    session.api.doing = Doing.JOINING
    while study.state not in OVER:
        found = trust.terms(study, session.saved)
        if found is None:
            others = tuple(name for name in study.waiting_for if name != study.cohort)
            yield from session.waiting("the other cohorts to join", others, study.waits)
            study = yield from session.wait_for(session.api.study, LONG_POLL, study.version)
        else:
            session.not_waiting()
            agreement = Agreement(study.name, found.plan, found.roster, found.one_operator)
            if session.saved.agreement == agreement:
                session.api.doing = Doing.ACCEPTED
                yield events.Agreed(found.plan_hash.hex(), found.roster_hash.hex())
                return study, found
            if (yield from _ask(session, study, found, review(session, study, agreement))):
                session.save(**kept_under(session.saved, agreement, options))
            study = yield from session.study()
    raise StudyEnded(study)


def release(session: Session, study: Study, found: trust.Terms) -> Generator[events.Event, None, bool]:
    """Have a person release what will leave this computer; False if plan or roster changed meanwhile.

    Raises Declined.
    """
    sizes = session.saved.sizes
    leaves = what_leaves(found.plan, sizes, one_operator=found.one_operator)
    asked = events.ReleaseNeeded(found.plan_hash.hex(), leaves, sizes, session.saved.few_apart)
    if not (yield from _ask(session, study, found, asked)):
        return False
    session.save(released=found.plan_hash, few_released=asked.few_apart)
    return True


def is_accepted(session: Session, found: trust.Terms) -> bool:
    """Tell whether a seed was drawn for exactly these terms."""
    old = session.saved.acceptance
    return old is not None and (old.plan_hash, old.roster_hash) == (found.plan_hash, found.roster_hash)


def proposal(study: Study) -> events.Proposal:
    """Return the study's request, to be shown to a person."""
    plan = trust.checked_plan(study)
    return events.Proposal(
        plan=plan,
        plan_hash=plan.hash().hex(),
        compensator="" if plan.in_pairs else fingerprint(plan.compensator_key),
        one_operator=study.one_operator,
        leaves=what_leaves(plan, one_operator=study.one_operator),
        description=study.description,
    )


def review(
    session: Session, study: Study, agreement: Agreement, *, repeats: bool = False
) -> events.ReviewNeeded:
    """Return what a person reads of an agreement; `repeats`: the study of the one before has ended."""
    old = session.saved.agreement
    return events.ReviewNeeded(
        **vars(proposal(study)),
        roster=agreement.roster,
        roster_hash=agreement.roster.hash().hex(),
        cohort=study.cohort,
        changed=agreement.changed_since(old),
        changes=agreement.differences(old),
        repeats=old.study if old and repeats else "",
    )


def _ask(
    session: Session, study: Study, found: trust.Terms, question: events.ReviewNeeded | events.ReleaseNeeded
) -> Generator[events.Event, None, bool]:
    """Ask the person; False if plan or roster changed meanwhile. Raises Declined, or Unanswered."""
    yield from session.ask(question)
    while not session.decision.done():
        # Asking meanwhile lets the server know that we are there, and us that nothing has changed.
        asking = session.spawn(session.api.study, LONG_POLL, study.version)
        yield from session.until_one([session.decision, asking])
        if asking.done():
            study = asking.result()
            if study.state in OVER or trust.terms(study, session.saved) != found:
                return False
    if not session.decision.result():
        raise Declined(session)
    study = yield from session.study()
    return trust.terms(study, session.saved) == found


def accept(session: Session, found: trust.Terms) -> Generator[events.Event, None, bool]:
    """Deliver the sealed seed: drawn now, or the one drawn when these terms were first accepted.

    False if plan or roster changed on the way.
    """
    if not is_accepted(session, found):
        _refuse_after_release(session)
        drawn = yield from draw_seed(session, found)
        # The book first: a seed without one answers nothing.
        Book.begin(session.folder.book, drawn.seed)
        session.save(acceptance=drawn)
    acceptance = session.saved.acceptance
    if acceptance is None:
        raise AssertionError("nothing was accepted")
    said = acceptance.plan_hash, acceptance.roster_hash, acceptance.sealed, acceptance.signature
    in_pairs = found.plan.in_pairs
    body, to = (said[2], TO_COHORTS) if in_pairs else (bodies.acceptance(*said), TO_COMPENSATOR)
    yield session.record(PARTS if in_pairs else SEED, body, Form.SEALED, to)
    try:
        if in_pairs:
            yield from session.wait_for(session.api.accept_in_pairs, body)
        else:
            yield from session.wait_for(session.api.accept, *said)
    except Conflict as conflict:
        if conflict.code in _CHANGED:
            return False
        raise
    yield events.Accepted(found.plan_hash.hex(), found.roster_hash.hex())
    return True


def _book_is_lost(session: Session) -> bool:
    """Tell whether there is a seed whose record of answers is lost."""
    acceptance = session.saved.acceptance
    if acceptance is None:
        return False
    try:
        knows_of_a_release(session.folder.book, acceptance.seed)
    except BookLost:
        return True
    return False


def _refuse_after_release(session: Session) -> None:
    """Distrust if other terms come after a sum was released: what is asked anew would be compared with it."""
    old = session.saved.acceptance
    if old is None:
        return
    if knows_of_a_release(session.folder.book, old.seed):
        raise trust.Distrust(
            Problem.QUESTION,
            "the server shows another plan or roster although sums of this study were released.",
            "Nothing more leaves this computer. Ask the coordinator to repeat the study instead.",
        )


def draw_seed(session: Session, found: trust.Terms) -> Generator[events.Event, None, Acceptance]:
    """A fresh seed for these terms, sealed to the compensator and signed; and one that stays here.

    Without a compensator, what is derived from it for each of the other cohorts is sealed to that one.
    """
    seed, own = os.urandom(SEED_BYTES), os.urandom(SEED_BYTES)
    signer = SigningKey(session.saved.signing_key)
    if found.plan.in_pairs:
        keys = yield from session.wait_for(session.api.sealing_keys, found.plan.cohorts)
        try:
            key = Key.generate(found.meeting) if found.plan.is_encrypted else None
            part = key.part if key else b""
            boxes = found.meeting.seal(found.cohort, seed, signer, dict(keys.keys), part)
        except ProtocolError as error:
            raise trust.Distrust(Problem.QUESTION, f"{error}.", trust.TELL_BOTH) from error
        sealed = codec.encode(Sealed(found.plan_hash, found.roster_hash, boxes, (part,) if key else ()))
        secret = key.secret if key else b""
        return Acceptance(found.plan_hash, found.roster_hash, seed, sealed, b"", own, secret)
    box = seal_seed(seed, found.purpose, signer)
    return Acceptance(found.plan_hash, found.roster_hash, seed, box.sealed, box.signature, own)


def stand(session: Session, study: Study, found: trust.Terms) -> bool:
    """Tell whether these are still the study's terms, and no acceptance of them is void."""
    is_void = study.cohort_state == "joined" and is_accepted(session, found)
    return not changed_since(session, study, found) and not is_void


def changed_since(session: Session, study: Study, found: trust.Terms) -> bool:
    """Tell whether the study has come to other terms, or to none, since these were read."""
    return trust.terms(study, session.saved) != found


def changed_terms(session: Session, study: Study) -> bool:
    """Tell whether the server now shows a plan or a roster other than the accepted ones."""
    found = trust.terms(study, session.saved)
    return found is None or not is_accepted(session, found)
