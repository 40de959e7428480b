"""The dealing of a round that is compared: on disk before the share of the cohort that deals is taken.

So a round all of whose shares are committed has its dealing too.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from unpooled.protocol import messages, two_party
from unpooled.protocol.dealing import dealer_of
from unpooled.protocol.messages import Told
from unpooled_server.bells.connections import give_back_connection
from unpooled_server.errors import Conflict
from unpooled_server.models import Cohort, Round, Study
from unpooled_server.reads.selectors import whole_roster
from unpooled_server.services import uploads
from unpooled_server.services.joining import require_admitted
from unpooled_server.services.uploads import Awaited
from unpooled_server.storage import store

MOMENT = 1.0
"""Seconds for which a share waits for its dealing: a thread of the web server waits with it."""
LOOK_EVERY = 0.005  # seconds; a look asks the disk alone, not the database


def dealer(study: Study, round_id: int) -> str:
    """The name of the cohort that deals for a round."""
    return dealer_of(whole_roster(study), round_id)


def size(wanted: Awaited | Round) -> int:
    """The exact length of a round's dealing, which follows from the question."""
    return two_party.lengths(wanted.scheme, wanted.circuit, wanted.words).dealing


def is_there(current: Round) -> bool:
    return store.share_is_there(store.dealing_path(current.study_id, current.pk), size(current))


def load(current: Round) -> bytes:
    """The dealing of a round; LostFile if it is not all there."""
    return bytes(store.load_share(store.dealing_path(current.study_id, current.pk), size(current)))


def shown_to(cohort: Cohort, place: str) -> Path | None:
    """The comparison at a place, as this cohort may see it; None if there is none.

    Whoever dealt knows what masks the openings, and would read the sums.
    """
    shown, told = (path(cohort.study_id, place) for path in (store.shown_path, store.told_path))
    if store.kept().size(shown) is None or store.kept().size(told) is None:  # what is told of it comes last
        return None
    named: Told = messages.decode(b"".join(store.blocks_of(told)), Told)
    if dealer(cohort.study, named.round) == cohort.name:
        raise Conflict("own-dealing", "This cohort dealt for that comparison, and is told its bits alone.")
    return shown


def _deals(cohort: Cohort, round_id: int, wanted: Awaited) -> bool:
    return bool(wanted.circuit) and dealer(cohort.study, round_id) == cohort.name


def awaited_bytes(cohort: Cohort, round_id: int, wanted: Awaited) -> int:
    """Return the length of the dealing that this cohort is to send; Conflict if none is this cohort's to
    send.
    """
    if not _deals(cohort, round_id, wanted):
        raise Conflict("not-dealer", f"No dealing of this cohort is wanted for round {round_id}.")
    return size(wanted)


def require_before_share(cohort: Cohort, round_id: int, wanted: Awaited) -> None:
    """Refuse the share of the cohort that deals unless its dealing is there, or comes in a moment.

    Clients send both at the same time; without the wait, each round would take a message's time longer.
    """
    if not _deals(cohort, round_id, wanted):
        return
    path, until = store.dealing_path(cohort.study_id, round_id), time.monotonic() + MOMENT
    give_back_connection()
    while not store.share_is_there(path, size(wanted)):
        if time.monotonic() > until:
            raise Conflict("no-dealing", f"Round {round_id} needs this cohort's dealing first.")
        time.sleep(LOOK_EVERY)


def commit(cohort: Cohort, round_id: int, blocks: Iterator[bytes], size: int) -> None:
    """Store a dealing durably. The same again is fine; other bytes for a round never are."""
    require_admitted(cohort)
    try:
        uploads.keep(store.dealing_path(cohort.study_id, round_id), blocks, size, "dealing")
    except store.OtherBytes as error:
        raise Conflict("other-dealing", f"Round {round_id} has another dealing.") from error
