"""Joining of cohorts: key, roster, acceptance, readiness. Called for a cohort that its token has named."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import DEFAULT_DB_ALIAS, transaction
from django.db.models import Expression, QuerySet
from django.utils import timezone

from unpooled.errors import ProtocolError
from unpooled.methods import questions_of
from unpooled.plan.plan import Plan
from unpooled.protocol import VERSION, codec, messages, sealing
from unpooled.protocol.messages import Roster, Sealed, SealingKeys
from unpooled.protocol.pairs import KEY_PART_BYTES, Meeting, key_bytes
from unpooled.protocol.problems import Problem
from unpooled.protocol.sealing import Box, Purpose
from unpooled_server.bells import doorbell
from unpooled_server.errors import Conflict, Over, Refused, Unauthorized
from unpooled_server.models import Branch, Cohort, Round, RowFile, Share, Study
from unpooled_server.names import OVER, PauseKind, StudyState
from unpooled_server.reads.prepared import Prepared
from unpooled_server.reads.selectors import roster_of
from unpooled_server.services.transitions import PLATFORM, fail, move, note, pause, touch
from unpooled_server.storage import store


@contextmanager
def locked(study_id: str) -> Iterator[Study]:
    """Hold a study's row until the end of a transaction; with it holds whatever goes by the study's state."""
    with transaction.atomic():
        for row in _row_locked(study_id):
            yield Study.from_db(DEFAULT_DB_ALIAS, _FIELDS, row)
            return
        raise Study.DoesNotExist(f"there is no study {study_id}")


_FIELDS = [field.attname for field in Study._meta.concrete_fields]


@Prepared
def _row_locked(study_id: Expression) -> QuerySet[Any, Any]:
    # NO KEY: rows that refer to the study can be added meanwhile.
    return Study.objects.select_for_update(no_key=True).filter(pk=study_id).values_list(*_FIELDS)


@contextmanager
def locked_for(cohort: Cohort) -> Iterator[tuple[Study, Cohort]]:
    """Hold a cohort's study, which must not be over; with it comes the cohort as it is now."""
    with locked(cohort.study_id) as study:
        # Not before: while this waited for the lock, the token may have been revoked, or the study ended.
        now = still_admitted(cohort)
        require_not_over(study)
        yield study, now


def still_admitted(cohort: Cohort) -> Cohort:
    """The cohort as it is now; Unauthorized if the token that named it admits nobody any more."""
    require_admitted(cohort)
    return Cohort.objects.get(pk=cohort.pk)


def require_admitted(cohort: Cohort) -> None:
    """Unauthorized if the token that named the cohort admits nobody any more."""
    if _token_hash(cohort.pk) != [(cohort.token_hash,)]:
        raise Unauthorized(
            "revoked-token", "This invitation was revoked.", "Ask the coordinator for a new invitation."
        )


@Prepared
def _token_hash(cohort_id: Expression) -> QuerySet[Any, Any]:
    """Query the hash of the token that admits a cohort."""
    return Cohort.objects.filter(pk=cohort_id, revoked=False).values_list("token_hash")


def require_not_over(study: Study) -> None:
    if study.state in OVER:
        raise Over("study-over", f"This study is {study.state}. {study.reason}".strip())


def require_our_version(study: Study) -> None:
    """Conflict for a study under way whose plan is of another version: its masks are not made as ours are."""
    if study.plan.version != VERSION:
        raise Conflict(
            "other-version",
            f"The study's plan is of protocol version {study.plan.version}; this server speaks {VERSION}.",
            "Only the release that began it can finish it. Or duplicate the study: the copy has this one.",
        )


def join(cohort: Cohort, key: str) -> None:
    """Enter a cohort's public key. The same again is fine; another one makes a new roster.

    In a study without a compensator a sealing key follows the signing key.
    """
    joined = bytes.fromhex(key)
    member = sealing.member_key(joined).hex()
    with locked_for(cohort) as (study, cohort):
        if cohort.public_key == member:
            return
        require_our_version(study)
        if len(key) != 2 * (want := key_bytes(in_pairs=study.plan.in_pairs)):
            raise Refused(
                "bad-key",
                f"The key has {len(key) // 2:,} bytes; in this study it has {want:,}.",
                "Server and client must be of the same release.",
            )
        if Cohort.objects.filter(study=study, public_key=member).exists():
            raise Conflict("key-taken", "Another cohort of this study has this key already.")
        # What was sent under the old key may be part of a sum that was released: nothing undoes that.
        if cohort.public_key and study.enrolled_at:
            lost_after_release = True
        else:
            lost_after_release = False
            _enter(study, cohort, member, joined[sealing.SIGNING_KEY_BYTES :])
    if lost_after_release:  # after the transaction, which the exception would roll back
        fail(
            study.pk,
            reason := f"{cohort.name} came back with another key after the first release: what it had sent "
            "cannot be told from what it will send. Repeat the study.",
        )
        raise Over("study-over", reason)


def _enter(study: Study, cohort: Cohort, key: str, sealing_key: bytes) -> None:
    again = bool(cohort.public_key)
    forget_list(
        Cohort.objects.filter(pk=cohort.pk),
        public_key=key,
        sealing_key=sealing_key,
        joined_at=timezone.now(),
        doing="",
        compared_by="",
        compared_at=None,
    )
    hand_over(study, cohort.list_digest)
    if again:
        reopen(study, f"the roster is fixed again: {cohort.name} joined again with a new key")
    touch(study.pk)
    note(study.pk, cohort.name, f"joined with key {sealing.fingerprint(bytes.fromhex(key))}")


def require_changeable(study: Study) -> None:
    """Conflict once the plan is final. For a study that is locked: so it stays until the change is made."""
    if study.state in OVER:
        raise Conflict(
            "study-over",
            f"The study is {study.state}: its plan cannot be changed any more.",
            "Use Change and repeat: a new study with the same cohorts, by the plan as you change it.",
        )
    if study.enrolled_at:
        raise Conflict(
            "plan-final",
            "A sum over the cohorts has already been asked for: the plan can no longer be changed.",
            "Abort the study, and use Change and repeat: a new study with the same cohorts, by the plan as "
            "you change it.",
        )


def begin_again(study: Study) -> None:
    """Have all cohorts read, accept and announce anew: their study is to go by another plan.

    The lists of variants that were sent stay: whoever announces the same one again need not send it again.
    """
    is_under_way = any(cohort.accepted or cohort.list_digest for cohort in study.members())
    forget_list(study.cohorts.all())
    if is_under_way:
        reopen(study, "the plan was changed")


def forget_list(cohorts: QuerySet[Cohort], **changes: Any) -> None:
    """Forget what cohorts said of their lists, and what was found in it; `changes` are made as well."""
    fields = {
        "list_digest": "",
        "list_wanted": False,
        "list_stored": False,
        "list_apart": False,
        "overlap": None,
        "problem": "",
        "problem_name": "",
        "problem_at": None,
    }
    cohorts.update(**fields | changes)


def reopen(study: Study, why: str) -> None:
    """Void all acceptances and questions before the first release: the study enrols anew."""
    Cohort.objects.filter(study=study).update(box_sealed=b"", box_signature=b"", witness=b"")
    Share.objects.filter(study=study).delete()
    RowFile.objects.filter(study=study).delete()
    Round.objects.filter(study=study).delete()
    Branch.objects.filter(study=study).delete()
    move(
        study.pk,
        [StudyState.OPEN, StudyState.READY, StudyState.RUNNING, StudyState.PAUSED],
        StudyState.OPEN,
        PLATFORM,
        f"{why}; all cohorts accept again",
        reason="",
        pause_kind=PauseKind.NONE,
        panel_digest="",
        panel_size=None,
        begun=False,
        enrolled=False,
        ready_at=None,
        started_at=None,
        panel_at=None,
        foreseen={},
        paused_seconds=0.0,
        lists_changed=True,
        lists_said=[],
        lists_share=0,
        lists_accepted=False,
    )


def accept(cohort: Cohort, plan_hash: str, roster_hash: str, sealed: bytes, signature: bytes) -> None:
    """A person accepted plan and roster; the sealed seed for the compensator comes along."""

    def verify(study: Study, plan: Plan, roster: Roster, now: Cohort) -> None:
        purpose = Purpose(study.pk, plan.hash(), roster.hash(), now.name, plan.compensator_key)
        _verify(Box(now.name, sealed, signature), purpose, bytes.fromhex(now.public_key))

    _accept(cohort, plan_hash, roster_hash, (sealed, signature), verify, in_pairs=False)


def accept_in_pairs(cohort: Cohort, found: Sealed) -> None:
    """A person accepted plan and roster; boxes for all other cohorts come along."""

    def verify(study: Study, plan: Plan, roster: Roster, now: Cohort) -> None:
        Meeting(study.pk, plan.hash(), roster).verify(now.name, bytes.fromhex(now.public_key), found.boxes)
        if (sizes := [len(part) for part in found.key_parts]) != [KEY_PART_BYTES] * plan.is_encrypted:
            raise ProtocolError(f"{now.name} brings parts of a key of {sizes} bytes; this plan wants others")

    data = codec.encode(found)
    # Each box has a signature of its own; what stands for acceptance is their digest.
    kept = data, hashlib.sha256(data).digest()
    _accept(cohort, found.plan_hash.hex(), found.roster_hash.hex(), kept, verify, in_pairs=True)


def sealing_keys(cohort: Cohort) -> SealingKeys:
    """Keys to which a cohort seals for the others; Conflict while not all have joined."""
    if roster_of(cohort.study) is None:
        raise Conflict("roster-incomplete", "Not all cohorts have joined yet.", "Wait until they have.")
    members = sorted(cohort.study.members(), key=lambda each: each.name)
    return SealingKeys(tuple((each.name, bytes(each.sealing_key)) for each in members))


def boxes_for(cohort: Cohort) -> Sealed:
    """Boxes that the others have sealed to this cohort; Conflict unless all of them have accepted."""
    study = cohort.study
    roster, plan, members = roster_of(study), study.plan, list(study.members())
    if roster is None or not plan.in_pairs or not all(member.accepted for member in members):
        raise Conflict("not-accepted", "Not all cohorts have accepted this plan and roster.", "Accept again.")
    found = {each.name: messages.decode(bytes(each.box_sealed), Sealed) for each in members}
    meeting = Meeting(study.pk, plan.hash(), roster)
    boxes = meeting.addressed(cohort.name, {name: each.boxes for name, each in found.items()})
    parts = tuple(part for name, _ in roster.members for part in found[name].key_parts)
    return Sealed(plan.hash(), roster.hash(), boxes, parts)


def _accept(
    cohort: Cohort,
    plan_hash: str,
    roster_hash: str,
    kept: tuple[bytes, bytes],
    verify: Callable[[Study, Plan, Roster, Cohort], None],
    *,
    in_pairs: bool,
) -> None:
    sealed, signature = kept
    with locked_for(cohort) as (study, cohort):
        require_our_version(study)
        roster = roster_of(study)
        plan = study.plan
        if roster is None:
            raise Conflict("roster-incomplete", "Not all cohorts have joined yet.", "Wait until they have.")
        if plan_hash != plan.hash().hex():
            raise Conflict("plan-changed", "The plan has changed.", "Read it again, then accept.")
        if roster_hash != roster.hash().hex():
            raise Conflict("roster-changed", "The roster has changed.", "Read it again, then accept.")
        if plan.in_pairs != in_pairs:
            raise Refused(
                "other-trust", "What was sealed is for others than those whom this plan trusts with masks."
            )
        if bytes(cohort.box_signature) == signature and bytes(cohort.box_sealed) == sealed:
            return
        if study.enrolled_at:
            raise Conflict(
                "already-enrolled", "A sum that rests on the earlier seeds has already been asked for."
            )
        try:
            verify(study, plan, roster, cohort)
        except ProtocolError as error:
            raise Refused("bad-box", str(error)) from error
        if study.started_at:  # another seed: what was masked with the former one is void, and the witness
            reopen(study, f"{cohort.name} accepted with another seed")
        Cohort.objects.filter(pk=cohort.pk).update(
            box_sealed=sealed, box_signature=signature, problem="", problem_name="", problem_at=None
        )
        touch(study.pk)
        note(study.pk, cohort.name, "accepted the plan and the roster")
        settle(study)


def _verify(box: Box, purpose: Purpose, key: bytes) -> None:
    sealing.verify_box(box, purpose, key)


def hand_over(study: Study, digest: str) -> None:
    """Ask another cohort for the list of this digest, after the one that was asked for it has turned away.

    A list that is nobody's is deleted: each cohort takes the room of one.
    """
    heirs = study.members().filter(list_digest=digest)
    if digest and not heirs.exists():
        store.drop_list(study.pk, digest)
    elif digest and not heirs.filter(list_wanted=True).exists() and (heir := heirs.first()):
        wanted = store.kept().size(store.list_path(study.pk, digest)) is None
        Cohort.objects.filter(pk=heir.pk).update(list_wanted=wanted)


def settle(study: Study) -> None:
    """Move an open study to ready once all cohorts are, and have agreed on variants if they do so by names.

    Inside a transaction that holds the study's lock.
    """
    cohorts = list(study.members())
    if len(cohorts) != study.plan_json.get("cohorts") or not all(cohort.ready for cohort in cohorts):
        return
    # Those of an earlier plan: each cohort takes the room of one.
    store.drop_other_lists(study.pk, {cohort.list_digest for cohort in cohorts})
    if study.plan_json.get("panel_mode") == "names" and not study.panel_digest:
        touch(study.pk, ready_at=timezone.now(), lists_changed=True)
        doorbell.ring_study(study.pk)
        return
    move(
        study.pk,
        [StudyState.OPEN],
        StudyState.READY,
        PLATFORM,
        "all cohorts are ready",
        ready_at=study.ready_at or timezone.now(),
    )


def report_problem(cohort: Cohort, code: str, name: str) -> None:
    """A cohort cannot go on; the others wait.

    The coordinator reads `name`, so what is no name of a quantity or a column of the study is left out.
    """
    problem = Problem.of(code)
    if problem is None:
        raise Refused("unknown-problem", "This is no problem code of the protocol.")
    with locked_for(cohort) as (study, cohort):
        name = name if study.plan.field_of(name) or name in _quantities(study) else ""
        Cohort.objects.filter(pk=cohort.pk).update(
            problem=problem.value, problem_name=name, problem_at=timezone.now()
        )
        said = f"{problem.message}{f' ({name})' if name else ''} {problem.remedy}"
        touch(study.pk)
        note(study.pk, cohort.name, f"reports a problem: {said}")
        pause(study.pk, PauseKind.PROBLEM, f"{cohort.name}: {said}")


def _quantities(study: Study) -> set[str]:
    return {array.name for kind in questions_of(study.plan) for array in kind.sends}


def report_timing(cohort: Cohort, timing: dict[str, Any]) -> None:
    """Seconds per phase at a cohort, as it measured them."""
    good = {
        phase[:40]: float(seconds)
        for phase, seconds in list(timing.items())[:40]
        if phase.isprintable() and isinstance(seconds, int | float) and 0 <= seconds < 1e9
    }
    Cohort.objects.filter(pk=cohort.pk).update(timing=good)
