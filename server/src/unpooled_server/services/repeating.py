"""Repeating a study that has ended: with the same cohorts, and usually by another plan.

Each cohort's client learns of the repetition by the token of the ended study, and is then given one for the
new study: nobody has to be invited again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.utils import timezone

from unpooled.protocol.messages import MIN_COHORTS
from unpooled_server.errors import Conflict, Missing
from unpooled_server.models import Cohort, Study
from unpooled_server.names import BEFORE_START, OVER, StudyState
from unpooled_server.reads import selectors
from unpooled_server.services import invitations, studies
from unpooled_server.services.changing import awaits_list, is_in_pairs, no_list, with_file_name
from unpooled_server.services.invitations import new_token, token_hash
from unpooled_server.services.joining import locked, require_not_over, still_admitted
from unpooled_server.services.transitions import move, note, touch

_NUMBER = re.compile(r" \(\d+\)$")


def repeat(
    study: Study,
    who: AbstractBaseUser,
    *,
    name: str,
    description: str,
    plan: Mapping[str, Any],
    **switches: bool,
) -> Study:
    """A new study by this plan, to which the cohorts of one that has ended are invited already."""
    if _keeps_list(study, plan):
        plan = {**plan, "panel_digest": study.plan_json["panel_digest"]}
    fields = studies.with_compensator(with_file_name(plan, name))  # asked before anything is locked
    if is_in_pairs(fields):  # it means nothing there, and clients follow nobody who shows another one
        fields["compensator_key"] = study.plan_json["compensator_key"]
    with locked(study.pk) as old:
        made = _repeated(old, who, name, description, fields, switches)
    return Study.objects.get(pk=made.pk)


def repeat_without(
    study: Study, who: AbstractBaseUser, left: Collection[str], *, one_operator: bool
) -> Study:
    """A new study by the same plan, without these cohorts, which have left for good. The old one is aborted.

    What the old one has summed, less what the new one sums, is the numbers of who has left.
    """
    stay = _who_stays(study, left)
    plan = {**studies.plan_to_copy(study), "cohorts": len(stay)}
    fields = studies.with_compensator(plan)
    if is_in_pairs(fields):
        fields["compensator_key"] = study.plan_json["compensator_key"]
    switches = {"auto_start": study.auto_start, "one_operator": one_operator}
    with locked(study.pk) as old:
        if _who_stays(old, left) != stay:
            raise Conflict("changed", "The cohorts of this study have just changed.", "Look at them again.")
        for cohort in old.cohorts.filter(name__in=left, revoked=False):
            invitations.revoke(old, cohort, who.get_username())
        if old.state not in OVER:
            studies.abort(old, who.get_username())
            old.refresh_from_db()
        made = _repeated(old, who, old.name, old.description, fields, switches)
    return Study.objects.get(pk=made.pk)


def _who_stays(study: Study, left: Collection[str]) -> list[str]:
    """The cohorts but those that have left; Conflict where the study is not repeated without these."""
    if study.state in BEFORE_START:
        raise Conflict(
            "not-started",
            "The study has not started: it need not be repeated.",
            "Revoke the invitation, and invite another cohort, or change the plan's number of cohorts.",
        )
    names = study.cohorts.values_list("name", flat=True)
    if unknown := set(left) - set(names):
        raise Missing(
            "no-cohort", f"{', '.join(sorted(unknown))} is no cohort of this study.", "Look at its cohorts."
        )
    stay = [name for name in study.members().values_list("name", flat=True) if name not in left]
    if len(stay) < MIN_COHORTS:
        raise Conflict(
            "too-few-cohorts",
            f"Without {', '.join(left)} {len(stay)} cohorts remain; a study has at least {MIN_COHORTS}.",
            "Duplicate the study, and invite another cohort in its place.",
        )
    return stay


def _repeated(
    old: Study,
    who: AbstractBaseUser,
    name: str,
    description: str,
    fields: dict[str, Any],
    switches: Mapping[str, bool],
) -> Study:
    """The repetition of a study that is locked, by a plan in full; Conflict if there can be none."""
    names = _require_repeatable(old, fields)
    made = studies.store_new(who, _numbered(who, name), description, fields, **switches)
    touch(made.pk, repeats=old)
    note(old.pk, who.get_username(), f"repeats it as “{made.name}”")
    note(made.pk, who.get_username(), f"repeats “{old.name}”")
    if made.plan_json["panel_mode"] == "list":
        studies.copy_list(old, made)
    _invite(made, names, who.get_username())
    return made


def _require_repeatable(old: Study, fields: Mapping[str, Any]) -> list[str]:
    """The cohorts to be invited again; Conflict if the study cannot be repeated by this plan."""
    if old.state not in OVER:
        raise Conflict(
            "not-over",
            f"The study is {old.state}: it has not ended.",
            "Change its plan. If that is no longer possible, abort it first.",
        )
    if old.is_demo:
        raise Conflict(
            "demo", "The cohorts of a demo end with it.", "Start another demo, or duplicate this one."
        )
    if selectors.repetition(old):
        raise Conflict("repeated", "This study is repeated already.", "Open its repetition.")
    if fields["compensator_key"] != old.plan_json["compensator_key"]:
        raise Conflict(
            "other-compensator",
            "The compensator has another key than in the study to repeat: no client would follow.",
            "Restore the compensator's key. Or duplicate the study, and invite the cohorts to the copy.",
        )
    if awaits_list(fields):
        raise no_list("The cohorts are invited at once, and this plan")
    names = list(old.cohorts.filter(revoked=False).values_list("name", flat=True))
    if len(names) > fields["cohorts"]:
        raise Conflict(
            "too-many-invited",
            f"The study to repeat has {len(names)} cohorts, more than the plan now asks for.",
            "First revoke, in the study to repeat, the invitations of those who are not to take part again.",
        )
    return names


def _keeps_list(old: Study, plan: Mapping[str, Any]) -> bool:
    """Tell whether the coordinator's list of the old study is also that of the new one."""
    both = (old.plan_json, {**old.plan_json, **plan})
    return old.list_ready and all(
        (fields["panel_mode"], fields["autosomes"]) == ("list", old.plan_json["autosomes"]) for fields in both
    )


def _numbered(who: AbstractBaseUser, name: str) -> str:
    """The name, with a number if a study of theirs has it already."""
    taken = set(Study.objects.filter(owner=who.pk).values_list("name", flat=True))
    plain, number, found = _NUMBER.sub("", name), 2, name
    while found in taken:
        end = f" ({number})"
        found, number = plain[: 200 - len(end)] + end, number + 1
    return found


def _invite(made: Study, names: Iterable[str], who: str) -> None:
    # Nobody knows these tokens: a cohort's client gets its own when it asks (`admit`).
    cohorts = [Cohort(study=made, name=name, token_hash=token_hash(new_token())) for name in names]
    if Cohort.objects.bulk_create(cohorts):
        again = ", ".join(cohort.name for cohort in cohorts)
        move(
            made.pk,
            [StudyState.DRAFT],
            StudyState.OPEN,
            who,
            f"invited {again} again",
            opened_at=timezone.now(),
        )


def admit(cohort: Cohort) -> tuple[Study, str]:
    """The study that repeats the one of this cohort, and a token for it; the cohort's earlier one ends.

    It may be asked for again, for the answer may be lost, until the cohort has joined.
    """
    token = new_token()
    with locked(cohort.study_id):
        again = selectors.in_repetition(still_admitted(cohort))
        if again is None:
            raise Missing(
                "not-repeated", "This study is not repeated, or not with this cohort.", "Ask its coordinator."
            )
        with locked(again.study_id) as study:
            require_not_over(study)
            again.refresh_from_db()  # it may have joined before the lock was had
            if again.public_key:
                raise Conflict(
                    "has-joined",
                    f"{cohort.name} has joined the repetition of this study already.",
                    "Go on with the state folder of the repetition. If it is lost, ask the coordinator for a "
                    "new invitation.",
                )
            study.cohorts.filter(pk=again.pk).update(token_hash=token_hash(token), instance="", heard_at=None)
            note(study.pk, cohort.name, "came from the study that this one repeats")
    return study, token
