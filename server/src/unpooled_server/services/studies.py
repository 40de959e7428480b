"""Actions of a coordinator on a study, and those of a study by itself. Its plan changes in `changing`."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from unpooled.asking import sizes
from unpooled.methods import presence, whole
from unpooled.panel.panel import Panel
from unpooled_server import traces
from unpooled_server.compensator_client import CompensatorAway, CompensatorRefused, compensator
from unpooled_server.errors import Conflict, Unavailable
from unpooled_server.models import Asked, Branch, Kept, Round, Study
from unpooled_server.names import BEFORE_START, HELD, LIVE, OVER, UNFINISHED, PauseKind, Phase, StudyState
from unpooled_server.reads import remaining, stages
from unpooled_server.services import branches, enrolling, panels, results
from unpooled_server.services.changing import checked, compensator_key, with_file_name
from unpooled_server.services.guarding import MAX_ATTEMPTS, guarded
from unpooled_server.services.joining import locked, require_our_version
from unpooled_server.services.metering import compensator_meter
from unpooled_server.services.tables import tables
from unpooled_server.services.transitions import PLATFORM, is_working, move, note, pause, resume, touch
from unpooled_server.storage import store

log = logging.getLogger(__name__)


def create(
    owner: AbstractBaseUser, name: str, description: str, plan: Mapping[str, Any], **switches: bool
) -> Study:
    """A new draft; `switches` are `auto_start`, `one_operator` and `is_demo`."""
    return store_new(owner, name, description, with_compensator(with_file_name(plan, name)), **switches)


def with_compensator(plan: Mapping[str, Any]) -> dict[str, Any]:
    """A plan in full, checked. Its compensator's key is asked of the compensator now, and is part of it.

    Where it has none, there need be no compensator.
    """
    return checked({**plan, "compensator_key": compensator_key(plan)})


def store_new(
    owner: AbstractBaseUser, name: str, description: str, fields: dict[str, Any], **switches: bool
) -> Study:
    """A new draft by a plan in full. Conflict where its owner has as much as the operator allows."""
    _require_within_quota(owner)
    with transaction.atomic():
        study = Study.objects.create(
            owner=owner,  # type: ignore[misc]
            name=name,
            description=description,
            plan_json=fields,
            **switches,
        )
        note(study.pk, owner.get_username(), "created the study")
    return study


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
        return not_invited(missing, study.plan_json["cohorts"])
    waits = stages.waits(study, stages.standings(study))
    if not waits:
        return "The cohorts' lists of variants are being compared."
    return f"Waiting for {', and '.join(wait.said for wait in waits)}."


def not_invited(missing: int, wanted: int) -> str:
    return f"{missing} of {wanted} cohorts are not invited yet."


def _check_compensator(study: Study) -> None:
    if study.plan.in_pairs:
        return
    try:
        key = compensator().key()
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
    """A new draft with the same plan, for other cohorts or another question."""
    copy = create(
        who,
        f"{study.name} (copy)"[:200],
        study.description,
        plan_to_copy(study),
        auto_start=study.auto_start,
        one_operator=study.one_operator,
    )
    if study.list_ready:
        copy_list(study, copy)
    return copy


def _require_within_quota(owner: AbstractBaseUser) -> None:
    own = Study.objects.filter(owner=owner)  # type: ignore[misc]
    most, gigabytes = settings.UNPOOLED_MOST_STUDIES, settings.UNPOOLED_MOST_GIGABYTES
    if most and own.exclude(state__in=OVER).count() >= most:
        raise Conflict(
            "too-many-studies",
            "You have as many studies that are not over as this platform allows.",
            "Let one end, or delete one.",
        )
    if gigabytes and sum(map(store.size_of, own.values_list("pk", flat=True))) >= 1e9 * gigabytes:
        raise Conflict(
            "too-much-kept",
            "Your studies take as much room as this platform allows.",
            "Keep the results of one that is over, and delete it here.",
        )


def plan_to_copy(study: Study) -> dict[str, Any]:
    """The plan but for what is of the release and the compensator of the day."""
    own = ("compensator_key", "version")
    return {field: value for field, value in study.plan_json.items() if field not in own}


def copy_list(study: Study, copy: Study) -> None:
    """Give a new study the coordinator's list of another one."""
    store.keep_blocks(
        store.coordinator_list_path(copy.pk), store.blocks_of(store.coordinator_list_path(study.pk))
    )
    touch(copy.pk, list_ready=True)


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
    store.drop_study(study.pk)
    study.delete()


def ends_its_keep(study: Study) -> datetime | None:
    """Return when a study that is over will be deleted; None if the operator keeps studies for good."""
    days = settings.UNPOOLED_KEEP_DAYS
    return study.ended_at + timedelta(days=days) if days and study.ended_at else None


def delete_what_is_kept_no_longer(at_once: int = 20) -> list[str]:
    """Delete studies that ended longer ago than the operator keeps them; return what to call them."""
    days, deleted = settings.UNPOOLED_KEEP_DAYS, []
    due = Study.objects.filter(state__in=OVER, ended_at__lt=timezone.now() - timedelta(days=days))
    for study in due[: at_once if days else 0]:
        with suppress(Unavailable):  # a compensator that is away has seeds yet: the next look tries again
            called = f"study {study.pk}, name {study.name}"
            delete(study)
            deleted.append(called)
    return deleted


def advance(study_id: str) -> None:
    """Do the next thing that a study does by itself. Safe to call at any time, by any number of workers."""
    with traces.step("a study", study=study_id):
        _advance(study_id)


def _advance(study_id: str) -> None:
    study = Study.objects.filter(pk=study_id).first()
    if study is None:
        return
    if study.state == StudyState.OPEN and study.lists_changed and study.plan.panel_mode == "names":
        with guarded(study, "Compare the lists of variants"):
            panels.compare(study)
    elif study.state == StudyState.READY:
        with guarded(study, "Start the study"):
            _start_by_itself(study)
    elif is_working(study):
        _go_on(study)
    elif study.state in OVER:
        _clean_up(study)


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
    # Each guard is of work that is done: doing nothing would pass for success, and end the count of failures.
    if due := branches.due(study):
        with guarded(study, "Go on from the sums"):
            branches.resume(study, due)
    elif not Round.objects.filter(study=study, state__in=UNFINISHED).exists():
        with guarded(study, "Write the results" if study.begun else "Ask the first questions"):
            _begin_or_finish(study)


def _begin_or_finish(study: Study) -> None:
    if study.begun:
        results.finish(study)
    elif not (study.enrolled or enrolling.enrol(study)):
        return
    elif study.panel_digest or study.plan.of_tables:
        _begin(study)
    elif Branch.objects.filter(study=study).exists():
        panels.agree_by_presence(study, tables(study)[presence.TABLE]["cohorts"])
    else:
        _ask_for_presence(study)


def _begin(study: Study) -> None:
    """Ask the first questions of the study's test."""
    progress = branches.begun(study, whole(branches.given(study)))
    foreseen = study.foreseen or _foreseen(study, panels.agreed(study))
    with transaction.atomic():
        if Study.objects.filter(
            pk=study.pk,
            begun=False,
            state__in=LIVE,
            panel_digest=study.panel_digest,
            # Else the plan may have been changed, and accepted anew, since these questions were made.
            started_at=study.started_at,
        ).update(begun=True, foreseen=foreseen):
            branches.store_first(study, progress, is_whole=True)
        else:
            branches.forget(study, progress)


def _foreseen(study: Study, panel: Panel) -> dict[str, Any]:
    """Foresee what will be asked about the variants of a panel."""
    found = sizes.of_panel(panel, study.plan.autosomes)
    return remaining.foreseen(study.plan, {**found, sizes.LISTED: len(panel)})


def _ask_for_presence(study: Study) -> None:
    listed = store.load_panel(store.coordinator_list_path(study.pk))
    progress = branches.begun(study, presence.presence(branches.given(study), len(listed)))
    foreseen = _foreseen(study, listed)
    with locked(study.pk) as fresh:
        is_same = fresh.state in LIVE and fresh.started_at == study.started_at
        if is_same and not Branch.objects.filter(study=study).exists():
            Study.objects.filter(pk=study.pk).update(foreseen=foreseen)
            branches.store_first(study, progress, is_whole=False)
        else:
            branches.forget(study, progress)


def _clean_up(study: Study) -> None:
    """Delete what nobody needs after the end: masked shares, questions, seeds at the compensator, rows.

    Secrets go first: nothing that can fail stands before them.
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
    ended_well = study.state == StudyState.DONE and bool(study.panel_digest)  # nothing is drawn of tables
    missing = not all(study.columns_of(plan) for plan in study.plan.each)
    return ended_well and missing and study.row_files.exists()


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
    # Without a seed sent there is nothing to delete, and the compensator may not even be there.
    if study.forgotten or not study.boxes_sent:
        Study.objects.filter(pk=study.pk).update(forgotten=True)
        return
    try:
        compensator().forget(study.pk, compensator_meter(study.pk, Phase.RESULTS))
    except (CompensatorAway, CompensatorRefused) as error:
        raise Unavailable("compensator", f"{error}.", "Try again once it does.") from error
    # Two workers may get here: the one that changes the row writes the line.
    if Study.objects.filter(pk=study.pk, forgotten=False).update(forgotten=True):
        note(study.pk, PLATFORM, "the seeds at the compensator are deleted")
