"""A session: server and compensator compare the sums of one round, in a few messages.

The server holds the masked sum, the compensator the sum of the masks: shares of the sums. The server begins.
Each party can compute the next layer from what it has as soon as it knows what the other opened in this one.
So but for the first and the last each message carries what is opened in two layers:

    server  ──▶   1          2, 3          4, 5
            ◀──      1, 2          3, 4          5, …     at last the compensator's share of the bits

The first two of each party begin with what shows the server that it may go on: the masks are those of this
round, and what was dealt is right. Whoever deals does not know in which order rows are compared.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from unpooled.errors import ProtocolError
from unpooled.protocol import dealing, masking
from unpooled.protocol.circuits import Circuit, circuit
from unpooled.protocol.dealing import DealingContext
from unpooled.protocol.gates import (
    Half,
    Layer,
    Layers,
    Party,
    Side,
    T,
    plane_bytes,
    planes_from,
    planes_to_bits,
    require,
)
from unpooled.protocol.masking import CHECKS_BYTES, THIRD_WORDS, Scheme
from unpooled.protocol.ring import check_length
from unpooled.protocol.sacrificing import SAME, opening_bytes, sacrificed, shuffled, with_spares
from unpooled.protocol.showing import TAG_BYTES, Transcript

MAX_COMPARISONS = 2**20
"""Maximum number of comparisons in one session."""

Messages: TypeAlias = Generator[bytes, bytes, np.ndarray]
"""Yields a message and is sent the answer."""


@dataclass(frozen=True)
class Lengths:
    """Exact bytes of everything that a comparison sends beside the cohorts' shares."""

    dealing: int
    server: tuple[int, ...]
    """Bytes of each message of the server."""
    compensator: tuple[int, ...]
    """Bytes of the answer to each of them."""


class WrongDealing(ProtocolError):
    """The dealing is inconsistent, or does not give the known results."""

    def __init__(self, found: str, dealer: str) -> None:
        super().__init__(
            f"{found}: what {dealer} dealt for this comparison is not right, or the compensator did not "
            "compute with it"
        )
        self.dealer = dealer


def lengths(scheme: str, label: str, words: int) -> Lengths:
    """The lengths of a comparison of shares of `words` words, each with its checks.

    ProtocolError if there is no such comparison.
    """
    found, rows = _of(scheme, label, words)
    layers, opened = found.dealt(rows), _openings(found, rows)
    server = [sum(opened[:-1][max(0, k) : k + 2]) for k in range(-1, len(opened) - 1, 2)]
    compensator = [sum(opened[k : k + 2]) for k in range(0, len(opened), 2)]
    compensator[-1] += TAG_BYTES
    return Lengths(
        dealing.dealing_bytes(with_spares(layers)),
        tuple(map(operator.add, server, _heads(Side.SERVER, layers))),
        tuple(map(operator.add, compensator, _heads(Side.COMPENSATOR, layers))),
    )


def _heads(side: Side, layers: Sequence[Layer]) -> Iterator[int]:
    """Yield the number of bytes at the head of each message of a party that are for its checks."""
    check = CHECKS_BYTES if side is Side.COMPENSATOR else 0
    return itertools.chain([check + opening_bytes(layers), SAME.opening_bytes], itertools.repeat(0))


def _of(scheme: str, label: str, words: int) -> tuple[Circuit, int]:
    """A circuit, and the number of its rows with those that are known."""
    kind = masking.scheme(scheme)
    found = circuit(label, kind)
    rows, rest = divmod(words - kind.check_words - THIRD_WORDS, found.row_words)
    require(rows > 0 and rest == 0, f"{label}: no comparison has shares of {words} words")
    most = MAX_COMPARISONS // found.comparisons_of_row
    require(rows <= most, f"{label}: a comparison has at most {most:,} rows; got {rows:,}")
    return found, rows + len(found.known()[1])


def deal(seed: bytes, own: bytes, context: DealingContext) -> bytes:
    """Deal the server's part: `lengths(…).dealing` bytes, the same whenever it is asked.

    `seed` is the one that the cohort shares with the compensator, `own` one that nobody else ever has.
    """
    found, rows = _of(context.scheme, context.circuit, context.words)
    return dealing.deal(with_spares(found.dealt(rows)), seed, own, context)


def server_side(
    share: np.ndarray, checked: int, dealt: bytes, shuffle: bytes, context: DealingContext
) -> Messages:
    """The server's messages; in the end the bits of all rows: bool (rows, bits).

    `share` is the masked sum less all thresholds, the check first, whose sum must be `checked`. `shuffle` is
    drawn after the dealing has come, and has the order of rows and spares. Raises ProtocolError for an answer
    of a wrong length or a wrong check, and WrongDealing.
    """
    kind, want = masking.scheme(context.scheme), lengths(context.scheme, context.circuit, context.words)
    check_length(dealt, want.dealing)
    found, rows = _of(context.scheme, context.circuit, context.words)
    known_words, known_bits = found.known()
    layers = found.dealt(rows)
    half = dealing.server_half(with_spares(layers), dealt)
    own = share[kind.check_words : -THIRD_WORDS], known_words
    order, bits, sacrifice, same = _begun(Side.SERVER, found, own, half, shuffle, context)
    checks = _server_checks(sacrifice, same, kind, share[: kind.check_words], checked, context.dealer)
    session = _two_layers_each(bits, _openings(found, rows))
    message = next(checks) + next(session)
    for length, head in zip(want.compensator, _heads(Side.COMPENSATOR, layers), strict=False):
        reply = yield message
        check_length(reply, length)
        message = checks.send(reply[:head])
        try:
            message += session.send(reply[head:])
        except StopIteration as end:
            told: np.ndarray = np.empty_like(end.value)
            told[order] = end.value
    if not np.array_equal(told[rows - len(known_bits) :], known_bits):
        raise WrongDealing("rows whose result is known came out wrong", context.dealer)
    return told[: rows - len(known_bits)]


def compensator_side(
    masks: np.ndarray, seed: bytes, shuffle: bytes, context: DealingContext, transcript: Transcript
) -> Generator[bytes, bytes, None]:
    """The compensator's answers; before the first it yields nothing, b"".

    `masks` is the sum of the masks of all shares, the checks' first; `seed` is the dealer's, `shuffle` what
    the server drew. Raises ProtocolError for a message of a wrong length.
    """
    kind, want = masking.scheme(context.scheme), lengths(context.scheme, context.circuit, context.words)
    found, rows = _of(context.scheme, context.circuit, context.words)
    layers = found.dealt(rows)
    half = dealing.compensator_half(with_spares(layers), seed, context)
    own = kind.subtract(kind.zeros(context.words), masks)[kind.check_words : -THIRD_WORDS]
    known = np.zeros_like(found.known()[0])
    _, bits, sacrifice, same = _begun(Side.COMPENSATOR, found, (own, known), half, shuffle, context)
    checks = _compensator_checks(sacrifice, same, kind.to_bytes(masks[: kind.check_words]))
    sizes = iter(_openings(found, rows))
    reply, answer = next(checks), next(bits)
    for number, (length, head) in enumerate(zip(want.server, _heads(Side.SERVER, layers), strict=False)):
        message = yield reply
        check_length(message, length)
        shown = checks.send(message[:head])
        reply = shown + answer + _sent(bits, message[head:], itertools.islice(sizes, 1 if number == 0 else 2))
        answer = b""
        transcript.add(message)
        transcript.add(reply)
    yield reply + transcript.tag()


def _begun(
    side: Side,
    found: Circuit,
    words: tuple[np.ndarray, np.ndarray],
    half: Half,
    shuffle: bytes,
    context: DealingContext,
) -> tuple[np.ndarray, Layers[np.ndarray], Layers[bytes], tuple[bytes, bytes]]:
    """The order of the rows, the layers of their bits, that of the spares, and what the digests take.

    `words` are a party's shares of the rows that are asked for, and of those that are known.
    """
    secret = masking.keystream(masking.derived(shuffle, context))
    rows = sum(map(len, words)) // found.row_words
    layers, order = found.dealt(rows), shuffled(rows, secret)
    *dealt, same = half
    bits = _bits(Party(side, layers, dealt[: len(layers)]), found, _joined(found, words, order), rows)
    return order, bits, sacrificed(side, layers, dealt, secret), same


def _server_checks(
    sacrifice: Layers[bytes],
    same: tuple[bytes, bytes],
    kind: Scheme,
    share: np.ndarray,
    checked: int,
    dealer: str,
) -> Layers[None]:
    """Yield the head of each of the server's messages; raise where it must not go on."""
    free, bound = same
    reply = yield next(sacrifice)
    mask = kind.from_bytes(reply[:CHECKS_BYTES], kind.check_words)
    if not kind.has_check(kind.subtract(share, mask), checked):
        raise ProtocolError(masking.NOT_CANCELLED)
    reply = yield SAME.asks(_returned(sacrifice, reply[CHECKS_BYTES:]), free)
    if not SAME.holds(reply, bound):
        raise WrongDealing("products that were dealt twice differ", dealer)
    while True:
        yield b""


def _compensator_checks(sacrifice: Layers[bytes], same: tuple[bytes, bytes], check: bytes) -> Layers[None]:
    """Yield the head of each of the compensator's answers, after b""; `check` is what masks the check."""
    opened = next(sacrifice)
    digest = _returned(sacrifice, (yield b""))
    asked = yield check + opened
    yield SAME.answers(asked, digest, *same)
    while True:
        yield b""


def _returned(layers: Layers[T], reply: bytes) -> T:
    """Send the last reply and give the return value."""
    try:
        layers.send(reply)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    raise RuntimeError("there are more layers")


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
    """Pass on the layers that a message opens; return what the party opens after each of them."""
    found, at = [], 0
    for size in sizes:
        found.append(layers.send(message[at : at + size]))
        at += size
    return b"".join(found)


def _openings(found: Circuit, rows: int) -> list[int]:
    """Bytes that the compensator opens in each layer: at last its share of the bits."""
    return [*(layer.opening_bytes for layer in found.dealt(rows)), found.bits_of_row * plane_bytes(rows)]


def _joined(found: Circuit, words: tuple[np.ndarray, np.ndarray], order: np.ndarray) -> np.ndarray:
    """The words of all rows in this order: behind those of a share, in each array, the known ones."""
    arrays = [np.concatenate(pair) for pair in zip(*map(found.arrays, words), strict=True)]
    return np.concatenate([each.reshape(len(order), -1)[order].reshape(each.shape) for each in arrays])


def _bits(party: Party, found: Circuit, words: np.ndarray, rows: int) -> Layers[np.ndarray]:
    """All layers; the last tells the server, and nobody else, the bits."""
    shares = yield from found.shares(party, words)
    if party.side is Side.COMPENSATOR:
        yield shares.tobytes()
    others = planes_from((yield b""), found.bits_of_row, rows)
    return planes_to_bits(shares ^ others, rows).T
