"""Opening of a question whose sums are compared and read by nobody: the server's side, and a cohort's.

The masked sum and the sum of the masks are shares of the sums. Neither is ever put together: server and
compensator compute from both (`unpooled.protocol.two_party`). Cohorts are shown what the server had, and play
its side again.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Generator, Sequence
from typing import TypeAlias

import numpy as np

from unpooled.asking.question import Arrays, Question, shape, words
from unpooled.errors import ProtocolError
from unpooled.protocol import two_party
from unpooled.protocol.dealing import DealingContext
from unpooled.protocol.masking import SEED_BYTES, THIRD_WORDS, Scheme
from unpooled.protocol.messages import SHUFFLE_BYTES, Shown
from unpooled.protocol.showing import Transcript, replayed, require_third_check

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
    return np.concatenate([*parts, scheme.zeros(THIRD_WORDS)])


def shown_bits(
    question: Question,
    shown: Shown,
    scheme: Scheme,
    names: Sequence[str],
    context: DealingContext,
    secret: bytes,
) -> Arrays:
    """The bits of a comparison that the server shows to the cohort that has this witness as its `secret`.

    `names` are all cohorts, in the roster's order. ProtocolError unless the sum is that of what they have
    sent, the dealing what was dealt, and the compensator was asked about this and nothing else.
    """
    if [cohort for cohort, _ in shown.uploads] != list(names):
        raise ProtocolError(f"{question.title}: the server shows a comparison of other cohorts")
    total = scheme.from_bytes(shown.total, context.words)
    dealt = {context.dealer: hashlib.sha256(shown.dealing).digest()}
    uploads = [(context.upload(cohort, nonce), dealt.get(cohort, b"")) for cohort, nonce in shown.uploads]
    require_third_check(total, secret, uploads)
    transcript = Transcript(secret, context.opening(shown.uploads, shown.shuffle))
    turns = open_bits(question, total, scheme, len(names), shown.dealing, shown.shuffle, context)
    return replayed(turns, shown.answers, transcript)


def in_process(
    question: Question,
    total: np.ndarray,
    masks: np.ndarray,
    scheme: Scheme,
    uploads: tuple[tuple[str, bytes], ...],
    dealing: bytes,
    seed: bytes,
    context: DealingContext,
    secret: bytes,
) -> tuple[Arrays, Shown]:
    """Both sides in one process: messages go from hand to hand. The bits, and what cohorts are shown."""
    shuffle, answers = os.urandom(SHUFFLE_BYTES), list[bytes]()
    server = open_bits(question, total, scheme, len(uploads), dealing, shuffle, context)
    transcript = Transcript(secret, context.opening(uploads, shuffle))
    compensator = two_party.compensator_side(masks, seed, shuffle, context, transcript)
    next(compensator)
    message = next(server)
    while True:
        answers.append(compensator.send(message))
        try:
            message = server.send(answers[-1])
        except StopIteration as end:
            return end.value, Shown(uploads, shuffle, scheme.to_bytes(total), dealing, tuple(answers))


def alone(question: Question, share: np.ndarray, scheme: Scheme) -> Arrays:
    """The same of one cohort's share, for its own eyes: nothing is masked, and one is all parties."""
    if question.opens is None:
        raise ProtocolError(f"{question.title}: nothing is compared")
    seed, own, secret = (os.urandom(SEED_BYTES) for _ in range(3))
    circuit, words = question.opens.circuit, len(share)
    context = DealingContext("", b"", b"", "", 0, b"", scheme.label, circuit, words)
    dealing, uploads = two_party.deal(seed, own, context), (("", b""),)
    bits, _ = in_process(
        question, share, scheme.zeros(words), scheme, uploads, dealing, seed, context, secret
    )
    return bits
