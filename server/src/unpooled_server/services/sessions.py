"""A round whose sums nobody reads: server and compensator compare them turn by turn; the server gets bits.

Nothing of a session is stored but the secret that says in which order rows are compared, and how long its
turns took. It follows from that, the masked shares and the dealing: whoever comes to a round that is not
settled plays it from the first turn on, and sends the same bytes as the one before. The compensator sees to
that (docs/protocol).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Sequence

import numpy as np

from unpooled.asking.compared_sums import open_bits
from unpooled.asking.question import Question
from unpooled.errors import ProtocolError
from unpooled.protocol import masking, two_party
from unpooled.protocol.dealing import DealingContext, dealer_of
from unpooled.protocol.messages import SHUFFLE_BYTES, Roster, Shown
from unpooled_server.compensator_client import ComparisonLost, Compensator, CompensatorAway, Meter
from unpooled_server.models import Round, Share, Study
from unpooled_server.names import RoundState
from unpooled_server.reads.selectors import whole_roster
from unpooled_server.services import dealings, masked
from unpooled_server.services.transitions import PLATFORM, note

MOST_BEGINNINGS = 4
"""A compensator that loses a session so often, one time after the other, is as good as away."""

NOTED_EVERY = 1.0
"""Seconds after which people can see which turn a comparison is at; most are over by then."""

Bits = dict[str, np.ndarray]
Ask = Callable[[int, bytes, int], bytes]
"""Sends the openings of turn `number`; back comes an answer of so many bytes."""


def compare(
    current: Round, study: Study, shares: Sequence[Share], peer: Compensator, meter: Meter
) -> tuple[Question, Bits, Shown]:
    """The question of a round, on which side of their bounds its sums lie, and what cohorts are shown."""
    question = masked.asked(current, study.plan)
    total, dealing = masked.total(current, shares), dealings.load(current)
    context, shuffle = _context(current, study, whole_roster(study)), _shuffle(current)
    uploads = masked.uploads(shares)
    request = context.opening(uploads, shuffle)

    def ask(number: int, openings: bytes, size: int) -> bytes:
        if number == 1:
            return peer.open(request, openings, size, meter)
        return peer.turn(request, number, openings, size, meter)

    scheme = masking.scheme(current.scheme)
    for _ in range(MOST_BEGINNINGS):
        turns = open_bits(question, total, scheme, study.plan.cohorts, dealing, shuffle, context)
        try:
            bits, answers = _played(turns, current, ask)
            return question, bits, Shown(uploads, shuffle, scheme.to_bytes(total), dealing, answers)
        except ComparisonLost:
            note(study.pk, PLATFORM, "the compensator has lost a comparison; it begins again")
    raise CompensatorAway("the compensator has lost a comparison several times")


def _shuffle(current: Round) -> bytes:
    """The secret of a round, drawn once, and not before its dealing is on disk."""
    Round.objects.filter(pk=current.pk, shuffle=b"").update(shuffle=os.urandom(SHUFFLE_BYTES))
    current.refresh_from_db(fields=["shuffle"])
    return bytes(current.shuffle)


def _context(current: Round, study: Study, roster: Roster) -> DealingContext:
    return DealingContext(
        study=study.pk,
        plan_hash=study.plan.hash(),
        roster_hash=roster.hash(),
        dealer=dealer_of(roster, current.pk),
        round=current.pk,
        question=bytes(current.question),
        scheme=current.scheme,
        circuit=current.circuit,
        words=current.words,
    )


def _played(turns: Generator[bytes, bytes, Bits], current: Round, ask: Ask) -> tuple[Bits, tuple[bytes, ...]]:
    """All turns, one after the other, and the answers; how long each took is noted with the round."""
    seconds, answers = list[float](), list[bytes]()
    sizes = two_party.lengths(current.scheme, current.circuit, current.words).compensator
    openings, noted = next(turns), time.monotonic()
    try:
        for number, size in enumerate(sizes, start=1):
            began = time.monotonic()
            answers.append(ask(number, openings, size))
            now = time.monotonic()
            seconds.append(round(now - began, 6))
            if now - noted > NOTED_EVERY:
                _note(current, seconds)
                noted = now
            openings = turns.send(answers[-1])
    except StopIteration as end:
        _note(current, seconds)
        return end.value, tuple(answers)
    raise ProtocolError("the comparison does not end")


def _note(current: Round, seconds: list[float]) -> None:
    current.turn_seconds = seconds
    Round.objects.filter(pk=current.pk, state=RoundState.RELEASED).update(turn_seconds=seconds)
