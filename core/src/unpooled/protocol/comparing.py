"""A session: server and compensator compare the sums of one round, in a few messages.

The server holds the masked sum, the compensator the sum of the masks: shares of the sums. The server begins.
Each party can compute the next layer from what it has as soon as it knows what the other opened in this one.
So but for the first and the last each message carries what is opened in two layers:

    server  ──▶   1          2, 3          4, 5
            ◀──      1, 2          3, 4          5, …     at last the compensator's share of the bits

The compensator's first answer begins with what masks the check, by which the server makes sure that the masks
are those of this round before it goes on.
"""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from unpooled.errors import ProtocolError
from unpooled.protocol import dealing, masking
from unpooled.protocol.circuits import Circuit, circuit
from unpooled.protocol.dealing import DealingContext
from unpooled.protocol.gates import Layers, Party, Side, plane_bytes, planes_from, planes_to_bits, require
from unpooled.protocol.masking import CHECK_BYTES
from unpooled.protocol.ring import check_length

MAX_COMPARISONS = 2**20
"""Of one session."""

Messages: TypeAlias = Generator[bytes, bytes, np.ndarray]
"""Yields a message and is sent the answer."""


@dataclass(frozen=True)
class Lengths:
    """Exact bytes of everything that a comparison sends beside the cohorts' shares."""

    dealing: int
    server: tuple[int, ...]
    """Of each message of the server."""
    compensator: tuple[int, ...]
    """Of the answer to each."""


class WrongDealing(ProtocolError):
    """What was dealt does not give the known results."""

    def __init__(self, dealer: str) -> None:
        super().__init__(
            f"rows whose result is known came out wrong: what {dealer} dealt for this comparison is not "
            "right, or the compensator did not compute with it"
        )
        self.dealer = dealer


def lengths(scheme: str, label: str, words: int) -> Lengths:
    """The lengths of a comparison of shares of `words` words, each with its check.

    ProtocolError if there is no such comparison.
    """
    found, rows = _of(scheme, label, words)
    opened = _openings(found, rows)
    from_server, count = opened[:-1], len(opened)
    return Lengths(
        dealing.dealing_bytes(found.dealt(rows)),
        tuple(sum(from_server[max(0, k) : k + 2]) for k in range(-1, count - 1, 2)),
        tuple(sum(opened[k : k + 2]) + (CHECK_BYTES if k == 0 else 0) for k in range(0, count, 2)),
    )


def _of(scheme: str, label: str, words: int) -> tuple[Circuit, int]:
    """A circuit, and the number of its rows with those that are known."""
    kind = masking.scheme(scheme)
    found = circuit(label, kind)
    rows, rest = divmod(words - kind.check_words, found.row_words)
    require(rows > 0 and rest == 0, f"{label}: no comparison has shares of {words} words")
    most = MAX_COMPARISONS // found.comparisons_of_row
    require(rows <= most, f"{label}: a comparison has at most {most:,} rows; got {rows:,}")
    return found, rows + len(found.known()[1])


def deal(seed: bytes, own: bytes, context: DealingContext) -> bytes:
    """What the dealer sends to the server: `lengths(…).dealing` bytes, the same whenever it is asked.

    `seed` is the one that the cohort shares with the compensator, `own` one that nobody else ever has.
    """
    found, rows = _of(context.scheme, context.circuit, context.words)
    return dealing.deal(found.dealt(rows), seed, own, context)


def server_side(share: np.ndarray, checked: int, dealt: bytes, context: DealingContext) -> Messages:
    """The server's messages; in the end the bits of all rows: bool (rows, bits).

    `share` is the masked sum less all thresholds, the check first, whose sum must be `checked`. Raises
    ProtocolError for an answer of a wrong length or a wrong check, and WrongDealing.
    """
    kind, want = masking.scheme(context.scheme), lengths(context.scheme, context.circuit, context.words)
    check_length(dealt, want.dealing)
    found, rows = _of(context.scheme, context.circuit, context.words)
    known_words, known_bits = found.known()
    words = _joined(found, share[kind.check_words :], known_words)
    party = Party(Side.SERVER, found.dealt(rows), dealing.server_half(found.dealt(rows), dealt))
    session = _two_layers_each(_bits(party, found, words, rows), _openings(found, rows))
    message = next(session)
    for number, length in enumerate(want.compensator):
        reply = yield message
        check_length(reply, length)
        if number == 0:
            mask = kind.from_bytes(reply[:CHECK_BYTES], kind.check_words)
            if not kind.has_check(kind.subtract(share[: kind.check_words], mask), checked):
                raise ProtocolError(masking.NOT_CANCELLED)
            reply = reply[CHECK_BYTES:]
        try:
            message = session.send(reply)
        except StopIteration as end:
            bits: np.ndarray = end.value
    if not np.array_equal(bits[rows - len(known_bits) :], known_bits):
        raise WrongDealing(context.dealer)
    return bits[: rows - len(known_bits)]


def compensator_side(
    masks: np.ndarray, seed: bytes, context: DealingContext
) -> Generator[bytes, bytes, None]:
    """The compensator's answers; before the first it yields nothing, b"".

    `masks` is the sum of the masks of all shares, the check's first; `seed` is the dealer's. Raises
    ProtocolError for a message of a wrong length.
    """
    kind, want = masking.scheme(context.scheme), lengths(context.scheme, context.circuit, context.words)
    found, rows = _of(context.scheme, context.circuit, context.words)
    own = kind.subtract(kind.zeros(context.words), masks)[kind.check_words :]
    words = _joined(found, own, np.zeros_like(found.known()[0]))
    party = Party(
        Side.COMPENSATOR, found.dealt(rows), dealing.compensator_half(found.dealt(rows), seed, context)
    )
    layers = _bits(party, found, words, rows)
    sizes = iter(_openings(found, rows))
    reply, answer = b"", kind.to_bytes(masks[: kind.check_words]) + next(layers)
    for number, length in enumerate(want.server):
        message = yield reply
        check_length(message, length)
        reply = answer + _sent(layers, message, itertools.islice(sizes, 1 if number == 0 else 2))
        answer = b""
    yield reply


def _two_layers_each(layers: Layers[np.ndarray], openings: Sequence[int]) -> Layers[np.ndarray]:
    """The layers of who begins, two in a message but for the first; `openings`: the other's bytes."""
    message, sizes = next(layers), iter(openings)
    while True:
        reply = yield message
        try:
            message = _sent(layers, reply, itertools.islice(sizes, 2))
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


def _sent(layers: Layers[np.ndarray], message: bytes, sizes: Iterable[int]) -> bytes:
    """What a party opens after each of the layers that a message opens."""
    found, at = [], 0
    for size in sizes:
        found.append(layers.send(message[at : at + size]))
        at += size
    return b"".join(found)


def _openings(found: Circuit, rows: int) -> list[int]:
    """Bytes that the compensator opens in each layer: at last its share of the bits."""
    return [*(layer.opening_bytes for layer in found.dealt(rows)), found.bits_of_row * plane_bytes(rows)]


def _joined(found: Circuit, share: np.ndarray, known: np.ndarray) -> np.ndarray:
    """The words of all rows: behind those of a share, in each array, the known ones."""
    pairs = zip(found.arrays(share), found.arrays(known), strict=True)
    return np.concatenate([words for pair in pairs for words in pair])


def _bits(party: Party, found: Circuit, words: np.ndarray, rows: int) -> Layers[np.ndarray]:
    """All layers; the last tells the server, and nobody else, the bits."""
    shares = yield from found.shares(party, words)
    if party.side is Side.COMPENSATOR:
        yield shares.tobytes()
    others = planes_from((yield b""), found.bits_of_row, rows)
    return planes_to_bits(shares ^ others, rows).T
