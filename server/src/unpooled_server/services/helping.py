"""The second half of a round whose shares are encrypted: each cohort helps to read the sum.

Once all shares are there, each cohort is handed all of them. It adds them up, and sends its share of the
sum's decryption; with those of all cohorts the server reads the sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from unpooled.protocol.encrypted import carrier
from unpooled_server.bells import doorbell
from unpooled_server.errors import Conflict, Missing
from unpooled_server.models import Cohort, Round, Share
from unpooled_server.names import RoundState
from unpooled_server.services import masked, uploads
from unpooled_server.services.joining import require_not_over
from unpooled_server.storage import store


def path(share: Share) -> Path:
    """The file of what a cohort helps with, beside its share."""
    whole = masked.path(share)
    return whole.with_name(f"{whole.name}.help")


def shares_of(cohort: Cohort, round_id: int) -> bytes | None:
    """Return all cohorts' shares of a round, in the order of the roster; None while some are missing."""
    current = _round(cohort, round_id)
    if current.state == RoundState.OPEN:
        return None
    shares = _in_order(Share.objects.filter(round=current))
    return b"".join(store.load_share(masked.path(share), share.size) for share in shares)


def help_bytes(cohort: Cohort, round_id: int) -> int:
    """Return the exact length of what a cohort helps with."""
    current = _round(cohort, round_id)
    return carrier.help_bytes(current.scheme, current.words)


def commit(cohort: Cohort, round_id: int, blocks: Iterator[bytes], size: int) -> None:
    """Store durably what a cohort helps with; the same bytes again change nothing."""
    share = Share.objects.filter(round=_round(cohort, round_id), cohort=cohort).first()
    if share is None or share.round.state == RoundState.OPEN:
        raise Conflict("no-share", "A cohort helps once all have sent their shares.")
    try:
        uploads.keep(path(share), blocks, size, "help")
    except store.OtherBytes as error:
        raise Conflict("helped-already", f"{error}.") from error
    Share.objects.filter(pk=share.pk).update(is_whole=True)
    # Two that end at the same time both see that none is missing: the round may be looked at twice.
    if not are_missing(share.round):
        doorbell.ring_round(round_id)


def are_missing(current: Round) -> bool:
    """Tell whether some cohort has yet to help."""
    return Share.objects.filter(round=current, is_whole=False).exists()


def total(current: Round, shares: Iterable[Share]) -> np.ndarray:
    """The sum of the shares of a round, by the help of all cohorts; LostFile."""
    size = carrier.help_bytes(current.scheme, current.words)
    helps = [bytes(store.load_share(path(share), size)) for share in _in_order(shares)]
    return carrier.total(helps, current.scheme, current.words)


def _round(cohort: Cohort, round_id: int) -> Round:
    found = Round.objects.filter(pk=round_id, study=cohort.study_id).first()
    if found is None or not cohort.study.is_encrypted:
        raise Missing("no-such-round", f"This study has no encrypted round {round_id}.")
    require_not_over(cohort.study)
    if found.state == RoundState.AGGREGATED:
        raise Conflict("round-closed", f"Round {round_id} is summed.")
    return found


def _in_order(shares: Iterable[Share]) -> list[Share]:
    return sorted(shares, key=lambda share: share.cohort.name)
