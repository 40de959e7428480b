"""How the cohorts agree on variants: by names in clear, or from the coordinator's list."""

from __future__ import annotations

import hashlib
import mmap
import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from django.db import transaction
from django.utils import timezone

from unpooled.errors import ProtocolError
from unpooled.memory import give_back_what_is_free
from unpooled.panel import MAX_BYTES, Panel, reconcile
from unpooled_server import doorbell, store
from unpooled_server.errors import Conflict, Refused, Unavailable
from unpooled_server.models import Cohort, Study
from unpooled_server.names import LIVE, StudyState
from unpooled_server.services import lists
from unpooled_server.services.joining import hand_over, locked, require_not_over, settle, still_admitted
from unpooled_server.services.transitions import PLATFORM, fail, note, touch

MAX_LIST_BYTES = MAX_BYTES
READY = StudyState.READY
_reading = threading.Lock()


def announce(cohort: Cohort, digest: str) -> bool:
    """Take the digest of a cohort's list; whether the list itself is wanted.

    Lists that are equal travel once: the first to announce a digest is asked for the list.
    """
    with transaction.atomic():
        study = locked(cohort.study_id)
        cohort = still_admitted(cohort)  # under the lock
        require_not_over(study)
        if cohort.list_digest == digest:
            return cohort.list_wanted and not cohort.list_stored
        if study.begun or study.panel_digest:
            raise Conflict("panel-agreed", "The panel of this study is agreed already.")
        old = cohort.list_digest
        wanted = study.plan.panel_mode == "names" and not _is_asked_for(study, digest, cohort)
        Cohort.objects.filter(pk=cohort.pk).update(list_digest=digest, list_wanted=wanted, list_stored=False)
        hand_over(study, old)
        touch(study.pk)
        settle(study)
    return wanted


def _is_asked_for(study: Study, digest: str, cohort: Cohort) -> bool:
    others = study.members().exclude(pk=cohort.pk).filter(list_digest=digest, list_wanted=True)
    return others.exists() or store.list_path(study.pk, digest).exists()


def receive_list(cohort: Cohort, blocks: Iterator[bytes]) -> None:
    """Store a cohort's list after checking it against the digest that it announced."""
    if not cohort.list_digest:
        raise Conflict("digest-first", "Send the digest of the list first.")
    require_not_over(cohort.study)
    path = store.list_path(cohort.study_id, cohort.list_digest)
    if not (cohort.list_stored and path.exists()):
        _stream_list(cohort, path, blocks)
    with transaction.atomic():
        study = locked(cohort.study_id)
        own = Cohort.objects.filter(pk=cohort.pk, token_hash=cohort.token_hash, revoked=False)
        is_its_list = own.filter(list_digest=cohort.list_digest).update(list_stored=True)
        if is_its_list:
            require_not_over(study)
            touch(study.pk)
            settle(study)
        else:
            hand_over(study, cohort.list_digest)
    if not is_its_list:
        still_admitted(cohort)
        raise Conflict("digest-first", "Another list was announced in the meantime.", "Send that one.")


def _stream_list(cohort: Cohort, path: Path, blocks: Iterator[bytes]) -> None:
    try:
        with store.list_draft(cohort.study_id, cohort.pk) as out:
            if out is None:
                raise Unavailable("list-is-coming", "This list is coming in already.", "Send it later.")
            sha256 = hashlib.sha256()
            for block in blocks:
                sha256.update(block)
                out.write(block)
            if sha256.hexdigest() != cohort.list_digest:
                text = "The list is not the one whose digest was sent."
                raise Refused("wrong-digest", text, "Send it again.")
            out.flush()
            os.fsync(out.fileno())
            draft = Path(out.name)
            _parse(draft)
            draft.replace(path)
    except OSError as error:
        raise _not_stored(error) from error


def _not_stored(error: OSError) -> Unavailable:
    return Unavailable("disk", f"The list cannot be stored ({error.strerror}).", "Send it later.")


def _parse(path: Path) -> Panel:
    try:
        panel = store.load_panel(path)
    except ProtocolError as error:
        raise Refused("bad-list", str(error)) from error
    if not len(panel):
        raise Refused("bad-list", "The list has no variants.")
    return panel


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
        raise _not_stored(error) from error


def _require_list_to_be_open(study: Study) -> None:
    if study.frozen:
        raise Conflict("frozen", "A cohort has joined: the plan is frozen.", "Duplicate the study.")
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
    with transaction.atomic():
        study = locked(study.pk)
        _require_list_to_be_open(study)
        store.keep_bytes(store.coordinator_list_path(study.pk), panel.canonical)
        plan = {**study.plan_json, "panel_digest": panel.digest.hex()}
        touch(study.pk, plan_json=plan, list_ready=True)
        note(study.pk, who, f"supplied a list of {len(panel)} variants")


def agreed(study: Study) -> Panel:
    """The panel that a study has agreed on; of a study of tables that of no variants."""
    return Panel.of([]) if study.plan.of_tables else store.agreed_panel(study.pk, study.panel_digest)


def agree_by_names(study: Study) -> None:
    """Reconcile the cohorts' lists and keep the panel."""
    own: dict[str, Panel] = {}
    by_digest: dict[str, Panel] = {}
    cohorts = list(study.members())
    if not all(cohort.ready for cohort in cohorts):
        return  # the roster was fixed anew meanwhile
    for cohort in cohorts:
        digest = cohort.list_digest
        if digest not in by_digest:
            by_digest[digest] = store.load_panel(store.list_path(study.pk, digest))
        own[cohort.name] = by_digest[digest]
    agreement = reconcile(own)
    panel = agreement.panel
    if len(by_digest) == 1 and len(panel) == len(first := next(iter(by_digest.values()))):
        panel = first  # nothing was left out of the one list: its digest is at hand
    settle_panel(study, panel, agreement.table())
    give_back_what_is_free()


def agree_by_presence(study: Study, total: np.ndarray) -> None:
    """Keep those variants of the coordinator's list that all cohorts can reconcile.

    `total`, int64 (m,): how many of them can.
    """
    asked = store.load_panel(store.coordinator_list_path(study.pk))
    k = study.plan.cohorts
    settle_panel(study, asked.take(total == k), _absences(asked, total, k))


def _absences(asked: Panel, total: np.ndarray, k: int) -> bytes:
    lines = [b"CHR\tBP\tSNP\tSTATUS\tREMARK\n"]
    for i in np.flatnonzero(total != k).tolist():
        lines.append(
            b"%d\t%d\t%b\tleft out\tabsent in %d of %d cohorts\n"
            % (asked.chromosome[i], asked.position[i], asked.name[i], k - total[i], k)
        )
    return b"".join(lines)


def settle_panel(study: Study, panel: Panel, remarks: bytes) -> None:
    """Store the agreed panel; a study without any variant fails."""
    if not len(panel):
        fail(study.pk, "the cohorts have no variant in common. Compare their genome builds and IDs.")
        return
    store.keep_agreed_panel(study.pk, panel)
    store.keep_bytes(store.remarks_path(study.pk), remarks)
    with transaction.atomic():
        fresh = locked(study.pk)
        if fresh.panel_digest or fresh.ready_at != study.ready_at or fresh.state not in (READY, *LIVE):
            return  # somebody else was faster, or the roster was fixed anew meanwhile
        touch(study.pk, panel_digest=panel.digest.hex(), panel_size=len(panel), panel_at=timezone.now())
        doorbell.ring_study(study.pk)
        left_out = remarks.count(b"\tleft out\t")
        note(study.pk, PLATFORM, f"panel of {len(panel)} variants agreed; {left_out} left out")
