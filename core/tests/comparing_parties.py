"""A comparison in one process, message by message: for tests that look at, or change, what is sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from unpooled.protocol import masking, two_party
from unpooled.protocol.circuits import Circuit
from unpooled.protocol.dealing import DealingContext
from unpooled.protocol.gates import Party, Side, plane_bytes
from unpooled.protocol.masking import THIRD_WORDS
from unpooled.protocol.ring import Ring
from unpooled.protocol.showing import Transcript

COHORTS = 3
WITNESS = bytes(32)
SEED, OWN, SHUFFLE = bytes(range(32)), bytes(range(32, 64)), bytes(range(64, 96))
Change = Callable[[bytes], bytes]


def words_of(ring: Ring, numbers: Sequence[int]) -> np.ndarray:
    data = b"".join((int(n) % 2**ring.bits).to_bytes(ring.word_bytes, "little") for n in numbers)
    return ring.from_bytes(data, len(numbers))


@dataclass(eq=False)
class Comparison:
    """Sums that are compared, and what each party has of them."""

    circuit: str
    scheme: str
    words: np.ndarray
    dealer: str = "Graz"
    shuffle: bytes = SHUFFLE
    sent: list[bytes] = field(default_factory=list)
    """All messages, those of the server and of the compensator in turn."""

    def __post_init__(self) -> None:
        kind = masking.scheme(self.scheme)
        self.count = kind.check_words + len(self.words) + THIRD_WORDS
        self.masks = kind.from_bytes(random_bytes(self.count * kind.word_bytes), self.count)
        share = np.concatenate([kind.zeros(kind.check_words), self.words, kind.zeros(THIRD_WORDS)])
        kind.set_checks(share, COHORTS)
        self.total = kind.add(share, self.masks)

    @property
    def context(self) -> DealingContext:
        fields: dict[str, Any] = {"study": "s", "plan_hash": b"p" * 32, "roster_hash": b"r" * 32}
        return DealingContext(
            **fields,
            dealer=self.dealer,
            round=7,
            question=b"q" * 32,
            scheme=self.scheme,
            circuit=self.circuit,
            words=self.count,
        )

    @property
    def lengths(self) -> two_party.Lengths:
        return two_party.lengths(self.scheme, self.circuit, self.count)

    def dealt(self) -> bytes:
        return two_party.deal(SEED, OWN, self.context)

    def server(self, dealt: bytes | None = None) -> two_party.Messages:
        return two_party.server_side(self.total, COHORTS, dealt or self.dealt(), self.shuffle, self.context)

    def compensator(self, **changes: Any) -> Any:
        context = replace(self.context, **changes)
        transcript = Transcript(WITNESS, context.opening((), self.shuffle))
        side = two_party.compensator_side(self.masks, SEED, self.shuffle, context, transcript)
        assert next(side) == b""
        return side

    def run(self, dealt: bytes | None = None, change: dict[int, Change] | None = None) -> np.ndarray:
        """The bits; `change` are made to the messages of these numbers before they arrive."""
        server, compensator, changes = self.server(dealt), self.compensator(), change or {}
        self.sent, message = [], next(server)
        while True:
            message = changes.get(len(self.sent), bytes)(message)
            self.sent.append(message)
            answer = compensator.send(message)
            answer = changes.get(len(self.sent), bytes)(answer)
            self.sent.append(answer)
            try:
                message = server.send(answer)
            except StopIteration as end:
                found: np.ndarray = end.value
                return found


_random = np.random.default_rng(20)


def random_bytes(count: int) -> bytes:
    return _random.bytes(count)


@dataclass(frozen=True, eq=False)
class View:
    """View of one party on a computation: its own share, what it was dealt, what the other one opened."""

    share: np.ndarray
    dealt: list[tuple[bytes, bytes]]
    opened: list[bytes]
    told: bytes
    """The other's share of the bits, which the server is told last."""
    own: np.ndarray
    """Its own share of the bits."""


def compute(circuit: Circuit, words: np.ndarray, dealing_: Sequence[Any], seed: int) -> tuple[View, View]:
    """Both parties' views of a circuit on shares of these words, in any ring, with random bytes by a seed."""
    random = np.random.default_rng(seed)
    rows = len(words) // circuit.row_words
    ring = circuit.ring
    shares = [ring.from_bytes(random.bytes(words.nbytes), len(words))]
    shares.append(ring.subtract(words, shares[0]))
    halves: list[list[tuple[bytes, bytes]]] = [[], []]
    for layer in dealing_:
        free = [random.bytes(layer.free_bytes) for _ in range(2)]
        bound = random.bytes(layer.bound_bytes)
        halves[0].append((free[0], layer.bound(free, bound)))
        halves[1].append((free[1], bound))
    parties = [Party(side, dealing_, half) for side, half in zip(Side, halves, strict=True)]
    running = [circuit.shares(party, share) for party, share in zip(parties, shares, strict=True)]
    opened: list[list[bytes]] = [[], []]
    messages = [next(layers) for layers in running]
    while True:
        opened[0].append(messages[1])
        opened[1].append(messages[0])
        ends, sent = [], messages
        messages = []
        for layers, other in zip(running, reversed(sent), strict=True):
            try:
                messages.append(layers.send(other))
            except StopIteration as end:
                ends.append(end.value)
        if ends:
            assert all(len(end.tobytes()) == circuit.bits_of_row * plane_bytes(rows) for end in ends)
            server = View(shares[0], halves[0], opened[0], ends[1].tobytes(), ends[0])
            return server, View(shares[1], halves[1], opened[1], b"", ends[1])
