"""What a coordinator does with a study, and what a study does by itself."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from unpooled.algorithms import ALGORITHMS, METHODS, algorithm, check, presence, usual
from unpooled.errors import UnpooledError
from unpooled.plan import OF_VARIANTS, Plan, PlanError
from unpooled_server import store
from unpooled_server.compensator_client import CompensatorAway, CompensatorRefused, compensator
from unpooled_server.errors import Conflict, Refused, Unavailable
from unpooled_server.models import Asked, Branch, Kept, LogEntry, Round, Study
from unpooled_server.names import BEFORE_START, HELD, LIVE, OVER, UNFINISHED, PauseKind, Phase, StudyState
from unpooled_server.services import branches, panels, results
from unpooled_server.services.guarding import MAX_ATTEMPTS, guarded
from unpooled_server.services.joining import locked, require_our_version
from unpooled_server.services.metering import compensator_meter
from unpooled_server.services.tables import tables
from unpooled_server.services.transitions import (
    PLATFORM,
    is_working,
    move,
    note,
    pause,
    resume,
    touch,
)

log = logging.getLogger(__name__)

_NO_LIST_YET = bytes(32)


def create(
    owner: AbstractBaseUser,
    name: str,
    description: str,
    plan: Mapping[str, Any],
    *,
    auto_start: bool,
    one_operator: bool,
    is_demo: bool = False,
) -> Study:
    """A new draft. Its compensator's key is asked of the compensator now, and is part of the plan."""
    fields = _checked({**plan, "compensator_key": _compensator_key()})
    with transaction.atomic():
        study = Study.objects.create(
            owner=owner,  # type: ignore[misc]
            name=name,
            description=description,
            plan_json=fields,
            auto_start=auto_start,
            one_operator=one_operator,
            is_demo=is_demo,
        )
        note(study.pk, owner.get_username(), "created the study")
    return study


def _compensator_key() -> str:
    try:
        return compensator().identity().key.hex()
    except (CompensatorAway, CompensatorRefused) as error:
        raise Unavailable(
            "compensator", f"{error}.", "Start the compensator, or set its address, then try again."
        ) from error


def _checked(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The plan's fields in full. A list's digest may still be missing: the list follows."""
    awaits_list = fields.get("panel_mode") == "list" and not fields.get("panel_digest")
    try:
        if "test" in fields:
            fields = {**usual(str(fields["test"])), **fields}
        plan = Plan.from_json({**fields, "panel_digest": _NO_LIST_YET.hex()} if awaits_list else fields)
        check(plan)
    except PlanError as error:
        raise Refused(
            "bad-plan",
            f"This plan is not valid: {error}.",
            "Change these fields.",
            fields={f"plan.{field}": problem for field, problem in error.problems.items()},
        ) from error
    except UnpooledError as error:
        raise Refused("bad-plan", str(error), fields={"plan.test": str(error)}) from error
    return plan.to_json() | ({"panel_digest": ""} if awaits_list else {})


def change(study: Study, who: str, *, plan: Mapping[str, Any] | None = None, **fields: str | bool) -> None:
    """Change a study; its plan only before the first cohort has joined."""
    with transaction.atomic():
        fresh = locked(study.pk)
        changes: dict[str, Any] = dict(fields)
        if plan is not None:
            if fresh.frozen:
                raise Conflict("frozen", "A cohort has joined: the plan is frozen.", "Duplicate the study.")
            stays = _heeded(fresh.plan_json, str(plan.get("test", fresh.plan_json["test"])))
            merged = {**stays, **plan, "compensator_key": fresh.plan_json["compensator_key"]}
            # A list was read by the number of autosomes: with another number it has to come again.
            same = merged.get("autosomes") == fresh.plan_json["autosomes"]
            keeps_list = merged.get("panel_mode") == "list" and fresh.list_ready and same
            merged["panel_digest"] = fresh.plan_json["panel_digest"] if keeps_list else ""
            changes |= {"plan_json": _checked(merged), "list_ready": keeps_list}
            if _lacks_list(changes) and fresh.state != StudyState.DRAFT:
                raise Conflict(
                    "no-list",
                    "Cohorts are invited already, and this plan would use a list that has not been uploaded "
                    "yet.",
                    "Duplicate the study, and upload the list before you invite.",
                )
            if changes["plan_json"]["cohorts"] < fresh.members().count():
                raise Conflict("too-many-invited", "More cohorts are invited than the plan now asks for.")
        touch(study.pk, **changes)
        note(study.pk, who, "changed " + ", ".join([*fields, *(["the plan"] if plan is not None else [])]))


def _heeded(fields: Mapping[str, Any], test: str) -> dict[str, Any]:
    """The fields of a plan that mean something to this test, which takes the plan over."""
    found = ALGORITHMS.get(test)
    if found is None or test == fields["test"]:
        return dict(fields)
    own = {option.name for option in found.options}
    dropped = {option.name for option in ALGORITHMS[fields["test"]].options if option.name not in own}
    if fields["trait"] not in found.traits:
        dropped.add("trait")
    if not set(fields["files"]) <= set(found.files):
        dropped.add("files")
    if (test in METHODS) != (fields["test"] in METHODS):
        dropped |= {"schema", *OF_VARIANTS}
    return {field: value for field, value in fields.items() if field not in dropped}


def _lacks_list(changes: Mapping[str, Any]) -> bool:
    return changes["plan_json"]["panel_mode"] == "list" and not changes["list_ready"]


def start(study: Study, who: str) -> None:
    """Start a study whose cohorts are all ready."""
    if study.state != StudyState.READY:
        raise Conflict("not-ready", why_not_startable(study), "Wait until all cohorts are ready.")
    _check_compensator(study)
    if not move(
        study.pk, [StudyState.READY], StudyState.RUNNING, who, "started", started_at=timezone.now(), reason=""
    ):
        raise Conflict("not-ready", "The study is not ready any more.")


def why_not_startable(study: Study) -> str:
    """Why the button Start is not there yet, in words; empty if it is."""
    if study.state == StudyState.READY:
        return ""
    if study.state not in BEFORE_START:
        return f"The study is {study.state}."
    cohorts = list(study.members())
    missing = study.plan_json["cohorts"] - len(cohorts)
    if missing > 0:
        return f"{missing} of {study.plan_json['cohorts']} cohorts are not invited yet."
    waiting = ", ".join(f"{cohort.name} ({cohort.state})" for cohort in cohorts if not cohort.ready)
    return f"Waiting for {waiting}."


def _check_compensator(study: Study) -> None:
    try:
        key = compensator().identity().key
    except (CompensatorAway, CompensatorRefused) as error:
        raise Unavailable("compensator", f"{error}.", "The study starts once it does.") from error
    if key != study.plan.compensator_key:
        raise Conflict(
            "other-compensator",
            "The compensator at the set address is not the one that the plan names: its key is different.",
            "Restore the compensator's key, or duplicate the study.",
        )


def pause_by_request(study: Study, who: str) -> None:
    if pause(study.pk, PauseKind.ASKED, "Paused by the coordinator.", who):
        return
    others = Study.objects.filter(pk=study.pk, state=StudyState.PAUSED).exclude(pause_kind=PauseKind.RELEASE)
    taken_over = others.update(pause_kind=PauseKind.ASKED, reason="Paused by the coordinator.")
    if not taken_over:
        raise Conflict("not-running", f"The study is {study.state}; only a running one can be paused.")


def resume_by_request(study: Study, who: str) -> None:
    require_our_version(study)
    # Where the release that began it is back, it goes on; any other pauses it again.
    if not resume(study.pk, [*HELD, PauseKind.PROBLEM, PauseKind.AWAY], who):
        raise Conflict("not-paused", f"The study is {study.state}: there is nothing to resume.")


def abort(study: Study, who: str, reason: str = "Aborted by the coordinator.") -> None:
    """End a study without results. Nothing that was summed is published."""
    if not move(
        study.pk,
        [*BEFORE_START, *LIVE],
        StudyState.ABORTED,
        who,
        "aborted",
        reason=reason,
        pause_kind=PauseKind.NONE,
        ended_at=timezone.now(),
    ):
        raise Conflict("study-over", f"The study is {study.state} already.")


def duplicate(study: Study, who: AbstractBaseUser) -> Study:
    """A new draft with the same plan, to change what is frozen or to run again."""
    own = ("compensator_key", "version")  # the copy is of today's release
    plan = {field: value for field, value in study.plan_json.items() if field not in own}
    copy = create(
        who,
        f"{study.name} (copy)"[:200],
        study.description,
        plan,
        auto_start=study.auto_start,
        one_operator=study.one_operator,
    )
    if study.list_ready:
        path = store.coordinator_list_path(copy.pk)
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(store.coordinator_list_path(study.pk), path)
        touch(copy.pk, list_ready=True)
    return copy


def archive(study: Study, who: str, archived: bool) -> None:
    if archived and study.state not in (*OVER, StudyState.DRAFT):
        raise Conflict("still-open", "Only a study that has ended, or a draft, can be archived.")
    touch(study.pk, archived=archived)
    note(study.pk, who, "archived" if archived else "taken from the archive")


def delete(study: Study) -> None:
    """Delete a study with its files. Its seeds at the compensator go first."""
    if study.state in LIVE:
        raise Conflict("still-running", "A running study cannot be deleted.", "Abort it first.")
    _forget(study)
    study_id = study.pk
    study.delete()
    store.drop_study(study_id)


def advance(study_id: str) -> None:
    """Do the next thing that a study does by itself. Safe to call at any time, by any number of workers."""
    study = Study.objects.filter(pk=study_id).first()
    if study is None:
        return
    if study.state == StudyState.READY:
        with guarded(study, "Agree on variants"):
            _agree_by_names(study)
            _start_by_itself(study)
    elif is_working(study):
        with guarded(study, "Write the results" if study.begun else "Ask the first questions"):
            _go_on(study)
    elif study.state in OVER:
        _clean_up(study)


def _agree_by_names(study: Study) -> None:
    if not study.panel_digest and study.plan.panel_mode == "names":
        panels.agree_by_names(study)


def _start_by_itself(study: Study) -> None:
    if not study.auto_start:
        return
    try:
        start(study, PLATFORM)
    except (Unavailable, Conflict) as error:
        reason = f"Cannot start: {error} {error.remedy}"
        if Study.objects.filter(pk=study.pk, state=StudyState.READY).exclude(reason=reason).exists():
            touch(study.pk, reason=reason)
            note(study.pk, PLATFORM, reason)


def _go_on(study: Study) -> None:
    if branches.resume_due(study) or Round.objects.filter(study=study, state__in=UNFINISHED).exists():
        return
    if study.begun:
        results.finish(study)
    elif study.panel_digest or study.plan.of_tables:
        _begin(study)
    elif study.plan.panel_mode == "names":
        panels.agree_by_names(study)
    elif Branch.objects.filter(study=study).exists():
        found = tables(study, presence.TABLE)
        panels.agree_by_presence(study, found[presence.TABLE]["cohorts"])
    else:
        _ask_for_presence(study)


def _begin(study: Study) -> None:
    """Ask the first questions of the study's test."""
    progress = branches.begun(study, algorithm(study.plan.test).procedure(branches.given(study)))
    with transaction.atomic():
        if Study.objects.filter(
            pk=study.pk, begun=False, state__in=LIVE, panel_digest=study.panel_digest
        ).update(begun=True):
            branches.store_first(study, progress)


def _ask_for_presence(study: Study) -> None:
    listed = store.load_panel(store.coordinator_list_path(study.pk))
    progress = branches.begun(study, presence.presence(branches.given(study), len(listed)))
    with transaction.atomic():
        fresh = locked(study.pk)
        if fresh.state in LIVE and not Branch.objects.filter(study=study).exists():
            branches.store_first(study, progress)


def _clean_up(study: Study) -> None:
    """What nobody needs any more after the end: masked shares, questions, seeds at the compensator, rows.

    What is secret goes first: nothing that can fail stands before it.
    """
    store.drop_what_cohorts_sent(study.pk)
    Asked.objects.filter(round__study=study).delete()
    Kept.objects.filter(branch__study=study).delete()
    with suppress(Unavailable):  # the sweep asks again
        _forget(study)
    if _is_to_be_drawn(study) and not _drawn(study):
        return  # the sweep tries again
    store.drop_rows(study.pk)
    study.row_files.all().delete()
    store.drop_results(study.pk, keep=study.results_folder)


def _is_to_be_drawn(study: Study) -> bool:
    ended_well = study.state == StudyState.DONE and not study.plan.of_tables
    return ended_well and not study.columns and study.row_files.exists()


def _drawn(study: Study) -> bool:
    """Keep what people look at, which the results do without; False while it is worth another try."""
    if study.attempts < MAX_ATTEMPTS:
        # Counted before: the worker may be killed in the middle, for its memory.
        Study.objects.filter(pk=study.pk).update(attempts=F("attempts") + 1)
        try:
            results.keep_for_looking(study)
        except Exception:
            log.exception("Draw the pictures of study %s", study.pk)
            return False
        Study.objects.filter(pk=study.pk).update(attempts=0)
    else:
        note(study.pk, PLATFORM, "the pictures could not be drawn; the result files are complete")
    return True


def _forget(study: Study) -> None:
    if study.forgotten or study.enrolled_at is None:
        Study.objects.filter(pk=study.pk).update(forgotten=True)
        return
    try:
        compensator().forget(study.pk, compensator_meter(study.pk, Phase.RESULTS))
    except (CompensatorAway, CompensatorRefused) as error:
        raise Unavailable("compensator", f"{error}.", "Try again once it does.") from error
    if Study.objects.filter(pk=study.pk, forgotten=False).update(forgotten=True):
        LogEntry.objects.create(
            study_id=study.pk, who=PLATFORM, what="the seeds at the compensator are deleted"
        )
