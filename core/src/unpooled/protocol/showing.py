"""Showing a comparison to the cohorts, so that each makes sure that the bits are those of the true sums.

    third check = 64 words: a pad each, and the sum of every masked word that one random bit chooses

Bits and pads follow from the witness, which the server never has. Unlike the other checks this one is modulo
the words' own 2^w, because masked words wrap: how often they did would tell of single shares whoever has the
masks, as a cohort in league with the compensator does. A wrong word makes a difference modulo 2^w where it is
chosen, whatever is wrong with it, so each of the 64 passes with 1/2.

A pad is of one upload, and of what its cohort has dealt, so the dealing is as sure as the sum. The
compensator ends its answers with a tag, by a key from the witness, over them and all that it was sent
(docs/protocol).
"""

from __future__ import annotations

import functools
import hmac
from collections.abc import Generator, Sequence
from typing import TypeVar

import numpy as np

from unpooled.errors import ProtocolError
from unpooled.protocol import masking
from unpooled.protocol.masking import THIRD_WORDS, MaskContext, Scheme, derived, keystream
from unpooled.protocol.messages import OpeningRequest

T = TypeVar("T")

TAG_BYTES = 32
_BLOCK = 1 << 13  # words; what is made of them stays in the caches


def set_third_check(masked: np.ndarray, secret: bytes, context: MaskContext, dealt: bytes = b"") -> None:
    """Write the third check of a masked share into its last words.

    `secret` is the witness, and `dealt` the SHA-256 of what this cohort has dealt for the round, if it has.
    """
    scheme = masking.scheme(context.scheme)
    masked[-THIRD_WORDS:] = scheme.add_words(_chosen(masked, secret, context), _pad(secret, context, dealt))


def require_third_check(
    total: np.ndarray, secret: bytes, uploads: Sequence[tuple[MaskContext, bytes]]
) -> None:
    """Raise ProtocolError unless a sum of masked shares is that of these uploads, each named as above."""
    first, _ = uploads[0]
    pads = (_pad(secret, *upload) for upload in uploads)
    want = functools.reduce(masking.scheme(first.scheme).add_words, pads, _chosen(total, secret, first))
    if not np.array_equal(total[-THIRD_WORDS:], want):
        raise ProtocolError(
            f"what the server shows of the comparison in round {first.round} is not what cohorts have sent"
        )


def _pad(secret: bytes, context: MaskContext, dealt: bytes) -> np.ndarray:
    """Derive the pad of one upload: without it the server, which has the words, would find who is chosen."""
    return _words(
        masking.scheme(context.scheme), derived(secret, ("unpooled/witness/third-pad", context, dealt))
    )


def _words(scheme: Scheme, key: bytes) -> np.ndarray:
    stream = keystream(key).update(bytes(scheme.stream_bytes(THIRD_WORDS)))
    return scheme.from_stream(stream, THIRD_WORDS)


def _chosen(masked: np.ndarray, secret: bytes, context: MaskContext) -> np.ndarray:
    """Sum up the words behind the first checks: into sum j those whose 8 bytes of the stream have bit j."""
    scheme = masking.scheme(context.scheme)
    stream = keystream(derived(secret, ("unpooled/witness/third", context.round, context.question)))
    words = np.ascontiguousarray(masked[scheme.check_words : -THIRD_WORDS])
    digits = words.view("<u4").reshape(len(words), -1)
    # Sums of digits to the base 2^32, not carried: of 2^32 of them none overflows.
    sums = np.zeros((THIRD_WORDS, digits.shape[1]), np.uint64)
    for start in range(0, len(digits), _BLOCK):
        block = digits[start : start + _BLOCK].astype(np.float64)
        bits = np.frombuffer(stream.update(bytes(THIRD_WORDS // 8 * len(block))), np.uint8)
        chosen = np.unpackbits(bits.reshape(len(block), -1), axis=1, bitorder="little")
        # Exact in float64, in whatever order, for 2^13 * 2^32 is below 2^53; and BLAS is five times as fast.
        sums += (chosen.T.astype(np.float64) @ block).astype(np.uint64)
    return _carried(sums, scheme)


def _carried(sums: np.ndarray, scheme: Scheme) -> np.ndarray:
    """Words of the ring from digits that are not carried yet."""
    numbers = [sum(int(digit) << 32 * place for place, digit in enumerate(row)) for row in sums]
    modulus = 1 << 8 * scheme.word_bytes
    data = b"".join((number % modulus).to_bytes(scheme.word_bytes, "little") for number in numbers)
    return scheme.from_bytes(data, len(numbers))


class Transcript:
    """Tag over the messages of one comparison, in their order, by a key that the server does not have."""

    def __init__(self, secret: bytes, request: OpeningRequest) -> None:
        self._made = hmac.new(derived(secret, ("unpooled/witness/comparison", request)), digestmod="sha256")

    def add(self, message: bytes) -> None:
        self._made.update(message)  # its length follows from the request

    def tag(self) -> bytes:
        return self._made.digest()


def replayed(turns: Generator[bytes, bytes, T], answers: Sequence[bytes], transcript: Transcript) -> T:
    """Play the server's side again, and return what comes of it.

    ProtocolError unless the compensator was sent the messages that this run sends, and has answered this.
    """
    tag, found = b"", list[T]()
    try:
        message = next(turns)
        for number, answer in enumerate(answers, start=1):
            tag = answer[-TAG_BYTES:] if number == len(answers) else b""
            transcript.add(message)
            transcript.add(answer[: len(answer) - len(tag)])
            message = turns.send(answer)
    except StopIteration as end:
        found.append(end.value)
    except ProtocolError:
        pass  # this run blames the dealer, whom an honest server would have named
    if not found or not hmac.compare_digest(tag, transcript.tag()):
        raise ProtocolError("the server's side of a comparison was not what it is in this cohort's own run")
    return found[0]
