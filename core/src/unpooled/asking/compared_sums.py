"""Opening of a question whose sums are compared and read by nobody: the server's side.

The masked sum and the sum of the masks are shares of the sums. Neither is ever put together: server and
compensator compute from both (`unpooled.protocol.two_party`).
"""

from __future__ import annotations

import math
import os
from collections.abc import Generator
from typing import TypeAlias

import numpy as np

from unpooled.asking.question import Arrays, Question, shape, words
from unpooled.errors import ProtocolError
from unpooled.protocol import two_party
from unpooled.protocol.dealing import DealingContext
from unpooled.protocol.masking import SEED_BYTES, Scheme
from unpooled.protocol.messages import SHUFFLE_BYTES

Opening: TypeAlias = Generator[bytes, bytes, dict[str, np.ndarray]]
"""Yields messages to the compensator and is sent its answers; returns what the procedure gets."""


def open_bits(
    question: Question,
    total: np.ndarray,
    scheme: Scheme,
    cohorts: int,
    dealing: bytes,
    shuffle: bytes,
    context: DealingContext,
) -> Opening:
    """Run the declared circuit on the sums, given the masked sum of all shares, and return the bits it tells.

    Every run yields the same messages. Raises ProtocolError if the masks are not those of this round, or an
    answer has a wrong length, and WrongDealing if what was dealt is wrong.
    """
    if question.opens is None or len(total) != words(question, scheme):
        raise ProtocolError(f"{question.title}: not the sum of what is compared")
    share = scheme.subtract(total, _thresholds(question, scheme))
    bits = yield from two_party.server_side(share, cohorts, dealing, shuffle, context)
    return {question.opens.name: bits.reshape(shape(question, question.opens))}


def _thresholds(question: Question, scheme: Scheme) -> np.ndarray:
    """Return what is subtracted from the sums, as a share: its check is 0."""
    given = question.thresholds()
    parts = [scheme.zeros(scheme.check_words)]
    for array in question.sends:
        want = shape(question, array)
        if array.name in given:
            if not scheme.fits(1, np.abs(given[array.name]).max(initial=0).item(), 0):
                raise ProtocolError(f"{question.title}: a threshold of {array.name} is no number of the ring")
            parts.append(scheme.encode_integers(np.broadcast_to(given[array.name], want)))
        else:
            parts.append(scheme.zeros(math.prod(want)))
    return np.concatenate(parts)


def in_process(
    question: Question,
    total: np.ndarray,
    masks: np.ndarray,
    scheme: Scheme,
    cohorts: int,
    seeds: tuple[bytes, bytes],
    context: DealingContext,
) -> Arrays:
    """Both sides and the dealer, with its two seeds, in one process: messages go from hand to hand."""
    dealing, shuffle = two_party.deal(*seeds, context), os.urandom(SHUFFLE_BYTES)
    server = open_bits(question, total, scheme, cohorts, dealing, shuffle, context)
    compensator = two_party.compensator_side(masks, seeds[0], shuffle, context)
    next(compensator)
    message = next(server)
    while True:
        try:
            message = server.send(compensator.send(message))
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


def alone(question: Question, share: np.ndarray, scheme: Scheme) -> Arrays:
    """The same of one cohort's share, for its own eyes: nothing is masked, and one is all parties."""
    if question.opens is None:
        raise ProtocolError(f"{question.title}: nothing is compared")
    seeds = os.urandom(SEED_BYTES), os.urandom(SEED_BYTES)
    circuit, words = question.opens.circuit, len(share)
    context = DealingContext("", b"", b"", "", 0, b"", scheme.label, circuit, words)
    return in_process(question, share, scheme.zeros(words), scheme, 1, seeds, context)
