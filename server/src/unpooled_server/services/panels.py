"""Agreement of the cohorts on variants: by names in clear, or from the coordinator's list."""

from __future__ import annotations

import hashlib
import mmap
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO

import numpy as np
from django.utils import timezone

from unpooled.errors import ProtocolError
from unpooled.memory.allocator import give_back_what_is_free
from unpooled.memory.spool import slices
from unpooled.panel import list_file, overlap
from unpooled.panel.agreement import TABLE_HEADER, WINDOW_ROWS, absences, reconciled
from unpooled.panel.panel import Panel
from unpooled.plan.common_options import BY_PLACE
from unpooled.plan.plan import Plan
from unpooled.protocol.problems import Problem
from unpooled_server.bells import doorbell
from unpooled_server.errors import Conflict, Refused, Unavailable
from unpooled_server.models import Cohort, Study
from unpooled_server.names import LIVE, StudyState
from unpooled_server.services import lists
from unpooled_server.services.changing import put_plan
from unpooled_server.services.joining import (
    forget_list,
    hand_over,
    locked,
    locked_for,
    require_admitted,
    require_changeable,
    require_not_over,
    settle,
)
from unpooled_server.services.transitions import PLATFORM, fail, note, touch
from unpooled_server.services.uploads import not_stored
from unpooled_server.storage import files, store

MAX_LIST_BYTES = list_file.MOST_BYTES
_PART_ROWS = 1 << 22
"""Variants that were agreed on and are in memory, about, before they go to the disk."""
_REMARKS = "remarks"
# Cohorts that join together send their lists together: one comparison then does for all of them.
QUIET = timedelta(seconds=5)
"""Time without a new list after which those that are here are compared without the others."""
_reading = threading.Lock()


def announce(cohort: Cohort, digest: str) -> bool:
    """Take the digest of a cohort's list; whether the list itself is wanted.

    Lists that are equal travel once: the first to announce a digest is asked for the list.
    """
    with locked_for(cohort) as (study, cohort):
        if cohort.list_digest == digest:
            return cohort.list_wanted and not cohort.list_stored
        if not cohort.accepted:  # it was made under a plan that is no longer the study's
            raise Conflict("not-accepted", "The plan is not accepted yet.", "Read it, then accept.")
        # From here on rounds are about the panel: its lists cannot change under them.
        if study.begun or study.panel_digest:
            raise Conflict(
                "panel-agreed",
                "The cohorts have agreed on variants, and this cohort's list has changed since.",
                "Go on with the files whose list was agreed on.",
            )
        old = cohort.list_digest
        wanted = study.plan.panel_mode == "names" and not _is_asked_for(study, digest, cohort)
        forget_list(Cohort.objects.filter(pk=cohort.pk), list_digest=digest, list_wanted=wanted)
        hand_over(study, old)
        touch(study.pk, lists_changed=True)
        settle(study)
    return wanted


def _is_asked_for(study: Study, digest: str, cohort: Cohort) -> bool:
    others = study.members().exclude(pk=cohort.pk).filter(list_digest=digest, list_wanted=True)
    return others.exists() or store.kept().size(store.list_path(study.pk, digest)) is not None


def receive_list(cohort: Cohort, start: int, size: int, blocks: Iterator[bytes]) -> bool:
    """Take a part of a cohort's list of `size` bytes, from byte `start` on; whether that makes it whole.

    The whole is checked against the digest that the cohort announced.
    """
    if not cohort.list_digest:
        raise Conflict("digest-first", "Send the digest of the list first.")
    require_not_over(cohort.study)
    path = store.list_path(cohort.study_id, cohort.list_digest)
    is_here = cohort.list_stored and store.kept().size(path) is not None
    if not is_here and not _is_whole(cohort, path, start, size, blocks):
        return False
    with locked(cohort.study_id) as study:
        own = Cohort.objects.filter(pk=cohort.pk, token_hash=cohort.token_hash, revoked=False)
        is_its_list = own.filter(list_digest=cohort.list_digest).update(list_stored=True)
        if is_its_list:
            require_not_over(study)
            touch(study.pk, lists_changed=True)
            settle(study)
        else:
            hand_over(study, cohort.list_digest)
    if not is_its_list:
        require_admitted(cohort)
        raise Conflict("digest-first", "Another list was announced in the meantime.", "Send that one.")
    return True


def _is_whole(cohort: Cohort, path: Path, start: int, size: int, blocks: Iterator[bytes]) -> bool:
    """Add a part to the list; tell whether it is complete with it, and then at `path`."""
    try:
        with store.list_draft(cohort.study_id, cohort.pk, start) as out:
            if out is None:
                raise Unavailable("list-is-coming", "This list is coming in already.", "Send it later.")
            if out.tell() != start:
                raise Conflict(
                    "gap", "The part before this one is not here.", "Send the list from its start."
                )
            for block in blocks:
                out.write(block)
            if out.tell() < size:
                return False
            _check_and_place(out, path, cohort)
            return True
    except OSError as error:
        raise not_stored("list", error) from error


def _check_and_place(out: BinaryIO, path: Path, cohort: Cohort) -> None:
    """Give a list that is whole its name; one that is not what it should be is dropped."""
    out.flush()
    draft = Path(out.name)
    try:
        with draft.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != cohort.list_digest:
                text = "The list is not the one whose digest was sent."
                raise Refused("wrong-digest", text, "Send it again.")
        _check_list(draft, cohort.study.plan)
    except Refused:
        out.truncate(0)
        raise
    store.kept().take(draft, path)


def _check_list(path: Path, plan: Plan) -> None:
    try:
        panel = Panel.of_file(path)
    except ProtocolError as error:
        raise Refused("bad-list", str(error)) from error
    if not len(panel):
        raise Refused("bad-list", "The list has no variants.")
    if panel.autosomes != (plan.autosomes if BY_PLACE.of(plan) else 0):
        raise Refused("bad-list", "The list names its variants in another way than the plan.")


def receive_coordinator_list(study: Study, blocks: Iterator[bytes], who: str) -> None:
    """Take the coordinator's list of a study in panel mode `list`, by way of the disk."""
    _require_list_to_be_open(study)
    try:
        with tempfile.TemporaryFile(dir=store.made_folder(study.pk)) as file:
            for block in blocks:
                file.write(block)
            file.flush()
            # One at a time: what a list is made into takes several times its size.
            with _reading, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                set_list(study, data, who)
    except ValueError as error:  # nothing can be mapped
        raise Refused("bad-list", "The list has no variants.") from error
    except OSError as error:
        raise not_stored("list", error) from error


def _require_list_to_be_open(study: Study) -> None:
    require_changeable(study)
    if study.plan_json.get("panel_mode") != "list":
        raise Conflict("no-list", "The plan of this study does not use a list.")


def set_list(study: Study, data: bytes | mmap.mmap, who: str) -> None:
    """The coordinator's list of a study in panel mode `list`."""
    try:
        panel = lists.read(data, study.plan_json["autosomes"])
    except ProtocolError as error:
        raise Refused("bad-list", f"{error}.") from error
    if not len(panel):
        raise Refused("bad-list", "The list has no variants.")
    with locked(study.pk) as study:
        _require_list_to_be_open(study)
        plan = {**study.plan_json, "panel_digest": panel.digest.hex()}
        if plan == study.plan_json:  # the same list again voids nothing
            return
        store.keep_panel(store.coordinator_list_path(study.pk), [panel])
        note(study.pk, who, f"supplied a list of {len(panel):,} variants")
        put_plan(study, who, plan, list_ready=True)


def agreed(study: Study) -> Panel:
    """The panel that a study has agreed on; of a study of tables that of no variants."""
    return store.agreed_panel(study.pk, study.panel_digest) if study.panel_digest else Panel.of([])


def compare(study: Study) -> None:
    """Compare the lists that are here. Once all are, and fit together, they are agreed on.

    A list that stands apart is its cohort's to mend: it is asked for another, and the others wait.
    """
    cohorts = [cohort for cohort in study.members() if cohort.has_sent_list]
    digests = {cohort.name: cohort.list_digest for cohort in cohorts}
    panels = _load(study, set(digests.values()))
    here = {name: panels[digest] for name, digest in digests.items() if digest in panels}
    is_whole = len(here) == study.plan.cohorts and study.ready_at is not None
    if not is_whole and (len(here) < 2 or timezone.now() - study.changed_at < QUIET):
        return

    plan = study.plan
    # Before the lock, for it takes long; what was compared must still be so under the lock.
    with tempfile.TemporaryDirectory(dir=store.made_folder(study.pk)) as folder:
        parts, left_out = _agreed_parts(here, Path(folder))
        share = sum(map(len, parts))
        found = overlap.compare(here, share, plan.cohorts, plan.autosomes, by_place=BY_PLACE.of(plan))
        draft = None
        if is_whole and share and (study.lists_accepted or not found.said):
            with (Path(folder) / _REMARKS).open("rb") as remarks:
                draft = store.PanelDraft.write(Path(folder), parts, remarks)
        with locked(study.pk) as fresh:
            if _is_as_compared(fresh, study, digests):
                _keep_comparison(fresh, found)
                if draft is not None:
                    _take(fresh, draft, left_out)
                    settle(fresh)
    give_back_what_is_free()


def _agreed_parts(here: Mapping[str, Panel], folder: Path) -> tuple[list[Panel], int]:
    """Return what the lists agree on, in parts in a folder beside the remarks, and how many are left out."""
    parts: list[Panel] = []
    waiting: list[Panel] = []
    left_out = 0

    def put_away() -> None:
        files.write(path := folder / f"{len(parts)}", list_file.pieces(waiting))
        parts.append(Panel.of_file(path))
        waiting.clear()

    with (folder / _REMARKS).open("wb") as remarks:
        remarks.write(TABLE_HEADER)
        for agreement in reconciled(here):
            remarks.writelines(agreement.lines())
            left_out += agreement.left_out
            waiting.append(agreement.panel)
            if sum(map(len, waiting)) >= _PART_ROWS:
                put_away()
    if parts or sum(map(len, waiting)) > WINDOW_ROWS:
        put_away()
    return parts + waiting, left_out


def _load(study: Study, digests: Iterable[str]) -> dict[str, Panel]:
    """The lists of these digests that are here; of equal ones the cohort that was asked may still send it."""
    found: dict[str, Panel] = {}
    for digest in digests:
        with suppress(store.LostFile):
            found[digest] = store.load_panel(store.list_path(study.pk, digest))
    return found


def _is_as_compared(fresh: Study, study: Study, digests: Mapping[str, str]) -> bool:
    """Tell whether nothing that was compared has changed meanwhile, and nobody else was faster."""
    now = {cohort.name: cohort.list_digest for cohort in fresh.members() if cohort.has_sent_list}
    same = (fresh.ready_at, fresh.lists_accepted) == (study.ready_at, study.lists_accepted)
    return same and now == digests and fresh.state == StudyState.OPEN and not fresh.panel_digest


def _keep_comparison(study: Study, found: overlap.Comparison) -> None:
    for cohort in study.members():
        own = found.of_cohorts.get(cohort.name)
        if own is None:
            continue
        is_apart = own.is_apart and not study.lists_accepted
        if is_apart and not cohort.list_apart:
            problem = Problem.OVERLAP
            Cohort.objects.filter(pk=cohort.pk).update(problem=problem.value, problem_at=timezone.now())
            note(study.pk, PLATFORM, f"compared the lists of variants: {cohort.name} has to give other files")
        Cohort.objects.filter(pk=cohort.pk).update(overlap=own.to_json(), list_apart=is_apart)
    touch(
        study.pk,
        lists_changed=False,
        lists_said=list(found.said),
        lists_share=found.agreed,
        **({"ready_at": None} if found.said and not study.lists_accepted else {}),
    )


def accept_overlap(study: Study, who: str) -> None:
    """The coordinator is content with the variants that all lists share, few as they are."""
    with locked(study.pk) as fresh:
        if fresh.state != StudyState.OPEN or not fresh.lists_said:
            raise Conflict("nothing-to-accept", "The lists of variants are not waiting for a decision.")
        if not fresh.lists_share:
            raise Conflict(
                "nothing-shared",
                "The cohorts have no variant in common.",
                "Wait until the cohort that has to give other files has done so.",
            )
        note(study.pk, who, f"goes on with the {fresh.lists_share:,} variants that all lists share")
        fresh.cohorts.update(list_apart=False)
        fresh.cohorts.filter(problem=Problem.OVERLAP.value).update(problem="", problem_at=None)
        touch(study.pk, lists_accepted=True)
        fresh.refresh_from_db()
        settle(fresh)


def agree_by_presence(study: Study, total: np.ndarray) -> None:
    """Keep those variants of the coordinator's list that all cohorts can reconcile.

    `total`, int64 (m,): how many of them can.
    """
    asked = store.load_panel(store.coordinator_list_path(study.pk))
    k = study.plan.cohorts
    each = slices(len(asked))
    parts = [asked.take(rows).take(total[rows] == k).put_away() for rows in each]
    settle_panel(study, parts, absences(asked, total, k), int(np.count_nonzero(total != k)))


def settle_panel(study: Study, parts: Sequence[Panel], remarks: Iterable[bytes], left_out: int) -> None:
    """Store the panel that follows from a list, given in parts; a study without any variant fails.

    `left_out`: how many variants of the list are not in it.
    """
    if not sum(map(len, parts)):
        fail(
            study.pk,
            "the cohorts have no variant of the list in common. Compare their genome builds and IDs with it.",
        )
        return
    with tempfile.TemporaryDirectory(dir=store.made_folder(study.pk)) as folder:
        draft = store.PanelDraft.write(Path(folder), parts, remarks)
        with locked(study.pk) as fresh:
            if fresh.panel_digest or fresh.ready_at != study.ready_at or fresh.state not in LIVE:
                return  # somebody else was faster, or the roster was fixed anew meanwhile
            _take(fresh, draft, left_out)


def _take(study: Study, draft: store.PanelDraft, left_out: int) -> None:
    """Make this the study's panel. Inside a transaction that holds the study's lock."""
    panel, digest = draft.panel, draft.panel.digest.hex()
    draft.take(study.pk)
    touch(study.pk, panel_digest=digest, panel_size=len(panel), panel_at=timezone.now())
    study.panel_digest = digest
    doorbell.ring_study(study.pk)
    note(study.pk, PLATFORM, f"panel of {len(panel):,} variants agreed; {left_out:,} left out")
