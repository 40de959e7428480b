"""The randomness of a comparison, dealt by one cohort: it tells nothing of its data.

The compensator's half expands from the seed that it shares with that cohort. The server's is a key and the
bound parts, made to fit the compensator's. The key comes from a second seed that the cohort keeps to itself:
from the first, the compensator could derive both halves. All is derived, so the same is dealt if it is asked
for again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from unpooled.protocol import VERSION, masking
from unpooled.protocol.gates import Dealt, require
from unpooled.protocol.masking import SEED_BYTES, MaskContext
from unpooled.protocol.messages import OpeningRequest, Roster

KEY_BYTES = 32


@dataclass(frozen=True)
class DealingContext:
    """Everything that names one dealing, and so its keys."""

    name: ClassVar[str] = "unpooled/dealing"

    study: str
    plan_hash: bytes
    roster_hash: bytes
    dealer: str
    round: int
    question: bytes
    """Digest, as in the context of the round's masks."""
    scheme: str
    circuit: str
    words: int
    """Number of words of a share, with its checks."""
    version: int = VERSION

    def upload(self, cohort: str, nonce: bytes) -> MaskContext:
        """Name the upload of a cohort that the dealing is for."""
        return masking.context_of(
            self.circuit,
            study=self.study,
            plan_hash=self.plan_hash,
            roster_hash=self.roster_hash,
            cohort=cohort,
            round=self.round,
            question=self.question,
            scheme=self.scheme,
            words=self.words,
            nonce=nonce,
        )

    def opening(self, uploads: tuple[tuple[str, bytes], ...], shuffle: bytes) -> OpeningRequest:
        """Make the request by which the comparison begins."""
        return OpeningRequest(
            self.study, self.round, self.question, self.scheme, self.words, uploads, self.circuit, shuffle
        )


def dealer_of(roster: Roster, round: int) -> str:
    """The cohort that deals for a round: each in its turn."""
    return roster.members[round % len(roster.members)][0]


def dealing_bytes(dealt: Sequence[Dealt]) -> int:
    """Exact length of a dealing."""
    return KEY_BYTES + sum(layer.bound_bytes for layer in dealt)


def deal(dealt: Sequence[Dealt], seed: bytes, own: bytes, context: DealingContext) -> bytes:
    """The server's half, as the dealer sends it.

    `seed` is the one that the cohort shares with the compensator, `own` one that nobody else has.
    """
    require(len(own) == SEED_BYTES and own != seed, "a dealer has a second seed, which it shares with nobody")
    key = masking.derived(own, context)
    stream = masking.keystream(key)
    parts = [key]
    for layer, (others, bound) in zip(dealt, compensator_half(dealt, seed, context), strict=True):
        parts.append(layer.bound([stream.update(bytes(layer.free_bytes)), others], bound))
    return b"".join(parts)


def compensator_half(
    dealt: Sequence[Dealt], seed: bytes, context: DealingContext
) -> Iterator[tuple[bytes, bytes]]:
    """Free and bound part of each layer, from the dealer's seed."""
    stream = masking.keystream(masking.derived(seed, context))
    for layer in dealt:
        free = stream.update(bytes(layer.free_bytes))
        yield free, stream.update(bytes(layer.bound_bytes))


def server_half(dealt: Sequence[Dealt], dealing: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Free and bound part of each layer, from what the dealer sent."""
    stream = masking.keystream(dealing[:KEY_BYTES])
    at = KEY_BYTES
    for layer in dealt:
        yield stream.update(bytes(layer.free_bytes)), dealing[at : at + layer.bound_bytes]
        at += layer.bound_bytes
