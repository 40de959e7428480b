"""Masks of pairs: of each two cohorts one adds a stream that the other one subtracts. No compensator.

    part of a pair = HKDF-SHA256(the cohort's seed; study, plan, roster, from, to), sealed to the other one
    witness        = HKDF-SHA256(a part of each cohort's, in the roster's order; study, plan, roster)
    key of a pair  = HKDF-SHA256(both parts and the witness; study, plan, roster, both names)
    mask           = the sum of AES-256-CTR streams, each under HKDF-SHA256(key of a pair; the round)

So the masks of all cohorts add up to nothing. Whoever lacks both seeds of a pair lacks its stream: the server
and all cohorts but two learn no more than the sum of these two.

Each cohort names its part of the witness to all others. One that names several makes several witnesses. As
the witness is in the key of each pair, the streams of two cohorts that have different ones do not cancel.
Were it not, their second checks would follow from different coefficients; and from the sum of these a server
that knows both witnesses, as one cohort may tell it, would learn more of each cohort's numbers than their
sum. So whoever lies about parts stops the study, and does no more.

A mask has no nonce. A cohort must never send two shares for one round and question: their difference would be
that of its numbers.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes

from unpooled.errors import ProtocolError
from unpooled.protocol import SEALING_KEY_BYTES, VERSION, codec, sealing
from unpooled.protocol.masking import (
    CHECK_BYTES,
    CHECKS_BYTES,
    SEED_BYTES,
    Modular,
    derived,
    expanded,
    keystream,
    scheme,
)
from unpooled.protocol.messages import Roster, Sealed, SealingKeys
from unpooled.protocol.sealing import Box, SigningKey

KEY_PART_BYTES = 2 * 8 * 4096
"""Length of a cohort's part of a key, where shares are encrypted too (`unpooled.protocol.encrypted`)."""
_BLOCK = 1 << 17
"""Bytes of a stream at a time: so many of each are added up before they leave the processor's cache."""


@dataclass(frozen=True)
class PairPurpose:
    """Purpose of a box: from one cohort to another, in one study under one plan and roster.

    The roster's hash has the keys of both.
    """

    name: ClassVar[str] = "unpooled/pair-purpose"

    study: str
    plan_hash: bytes
    roster_hash: bytes
    cohort: str
    recipient: str
    version: int = VERSION


@dataclass(frozen=True)
class _Parts:
    """Content of a box."""

    name: ClassVar[str] = "unpooled/pair-parts"

    purpose: PairPurpose
    part: bytes = field(repr=False)
    witness: bytes = field(repr=False)
    key: bytes = codec.came_later(b"")
    """Digest of the sender's part of the key, where sums are encrypted too."""


@dataclass(frozen=True)
class PairContext:
    """Everything that names one round, for the stream of a pair."""

    name: ClassVar[str] = "unpooled/pair"

    study: str
    plan_hash: bytes
    roster_hash: bytes
    round: int
    question: bytes
    scheme: str
    words: int
    version: int = VERSION


@dataclass(frozen=True, eq=False)
class Pairs:
    """Secrets that one cohort shares with each of the others, and the witness of all."""

    witness: bytes = field(repr=False)
    keys: tuple[tuple[bytes, bool], ...] = field(repr=False)
    """Keys of the pairs, each with whether this cohort adds the stream: the first of the two does."""

    def mask(self, context: PairContext) -> np.ndarray:
        """Return the mask of this cohort's share of a round, whose masks add up to nothing."""
        return np.concatenate(list(self._blocks(context)))

    def _blocks(self, context: PairContext) -> Iterator[np.ndarray]:
        """The same in parts: first what masks the checks, numbers that are added with carries."""
        kind = scheme(context.scheme)
        if not isinstance(kind, Modular):
            raise ProtocolError(f"pairs have no masks of the scheme {context.scheme}; want uniform ones")
        encoded = codec.encode(context)
        keys = [(expanded(key, encoded), adds) for key, adds in self.keys]
        streams = [(keystream(key), adds) for key, adds in keys]
        ends = [0, *range(kind.check_words, context.words, _BLOCK // kind.word_bytes), context.words]
        most = max(stop - start for start, stop in itertools.pairwise(ends)) * kind.word_bytes
        # Written over block after block: to ask for fresh memory each time takes longer than the cipher.
        zeros, room = bytes(most), bytearray(most + _CIPHER_BLOCK)
        for start, stop in itertools.pairwise(ends):
            size, is_plain = (stop - start) * kind.word_bytes, start > 0 and kind.word_bytes <= 8
            digits = np.dtype(f"<u{kind.word_bytes if is_plain else 4}")
            total = np.zeros(size // digits.itemsize, digits if is_plain else np.int64)
            blank, piece = memoryview(zeros)[:size], np.frombuffer(room, digits, len(total))
            for stream, adds in streams:
                stream.update_into(blank, room)
                (np.add if adds else np.subtract)(total, piece, out=total)
            per_number = (CHECK_BYTES if start == 0 else kind.word_bytes) // digits.itemsize
            data = total.tobytes() if is_plain else carried(total, per_number)
            yield kind.from_bytes(data, stop - start)
            if start == 0:
                streams = [(_behind_checks(key), adds) for key, adds in keys]


_CIPHER_BLOCK = 16
"""Bytes that a cipher may write behind the end."""


def _behind_checks(key: bytes) -> CipherContext:
    """The stream of `masking.keystream` from where the checks end.

    GCM with a nonce of zeros encrypts by the same counter, from 2 on. Where processors have wide
    instructions OpenSSL uses them for GCM alone, which is then twice as fast.
    """
    stream = Cipher(algorithms.AES256(key), modes.GCM(bytes(12))).encryptor()
    stream.update(bytes(CHECKS_BYTES - 2 * _CIPHER_BLOCK))
    return stream


def carried(totals: np.ndarray, per_number: int) -> bytes:
    """Numbers of so many digits to the base 2^32, modulo what they can hold, from sums of digits."""
    columns = totals.reshape(-1, per_number)
    for place in range(per_number - 1):
        columns[:, place + 1] += columns[:, place] >> 32  # floors, so that what is borrowed is, too
    return columns.astype("<u4").tobytes()  # the lowest 32 bits of each


@dataclass(frozen=True)
class Meeting:
    """Cohorts of one study under one plan, who seal their parts to each other."""

    study: str
    plan_hash: bytes
    roster: Roster

    @functools.cached_property
    def _roster_hash(self) -> bytes:
        """The roster's hash, which each of many boxes and keys names."""
        return self.roster.hash()

    def purpose(self, cohort: str, recipient: str) -> PairPurpose:
        return PairPurpose(self.study, self.plan_hash, self._roster_hash, cohort, recipient)

    def others(self, cohort: str) -> list[tuple[str, bytes]]:
        """Names and keys of the others, in the order of the roster."""
        return [(name, key) for name, key in self.roster.members if name != cohort]

    def seal(
        self, cohort: str, seed: bytes, signer: SigningKey, keys: Mapping[str, bytes], part: bytes = b""
    ) -> tuple[Box, ...]:
        """Make the boxes of one cohort, one for each of the others, in the order of the roster.

        `part` is its part of the key, where sums are encrypted too. ProtocolError unless `keys`, to which
        one seals, are those of which the roster has digests.
        """
        boxes, of_witness = [], self._witness_part(seed, cohort)
        for name, member in self.others(cohort):
            sealing.require_sealing_key(member, key := keys.get(name, b""), name)
            parts = _Parts(
                self.purpose(cohort, name),
                self._part(seed, cohort, name),
                of_witness,
                _digest(part),
            )
            boxes.append(sealing.seal(parts, key, signer, name))
        return tuple(boxes)

    def addressed(self, cohort: str, sealed: Mapping[str, Sequence[Box]]) -> tuple[Box, ...]:
        """Return the boxes addressed to one cohort, given those that each of the others has made."""
        return tuple(
            sealed[name][[other for other, _ in self.others(name)].index(cohort)]
            for name, _ in self.others(cohort)
        )

    def verify(self, cohort: str, key: bytes, boxes: Sequence[Box]) -> None:
        """ProtocolError unless these are one cohort's boxes for all others, each with its signature."""
        others = self.others(cohort)
        if [box.cohort for box in boxes] != [cohort] * len(others):
            raise ProtocolError(
                f"{cohort} brings {len(boxes)} boxes; want one for each of {len(others)} others"
            )
        for (name, _), box in zip(others, boxes, strict=True):
            sealing.verify_box(box, self.purpose(cohort, name), sealing.signing_part(key))

    def unseal(
        self,
        cohort: str,
        seed: bytes,
        signer: SigningKey,
        boxes: Sequence[Box],
        key_parts: Sequence[bytes] = (),
    ) -> Pairs:
        """Open what the others have sealed to this cohort, one box of each, in the order of the roster.

        `key_parts` are those of all cohorts, where sums are encrypted too. ProtocolError unless each box is
        signed and sealed by its cohort for exactly this, and for its part of the key.
        """
        others, key = self.others(cohort), signer.sealing()
        if [box.cohort for box in boxes] != [name for name, _ in others]:
            raise ProtocolError(
                f"there are boxes of {', '.join(box.cohort for box in boxes) or 'nobody'}; "
                f"want one of each of {', '.join(name for name, _ in others)}"
            )
        if len(key_parts) not in (0, len(self.roster.members)):
            raise ProtocolError(f"there are {len(key_parts)} parts of the key; want one of each cohort")
        theirs, named = {}, dict(zip((name for name, _ in self.roster.members), key_parts, strict=False))
        for box, (name, public) in zip(boxes, others, strict=True):
            purpose = self.purpose(name, cohort)
            parts = sealing.opened(box, purpose, sealing.signing_part(public), key, _Parts)
            if (len(parts.part), len(parts.witness)) != (SEED_BYTES, SEED_BYTES):
                raise ProtocolError(f"the box of {name} has parts of another length; want {SEED_BYTES} bytes")
            if parts.key != _digest(named.get(name, b"")):
                raise ProtocolError(f"the part of the key that came as that of {name} is not what it signed")
            theirs[name] = parts
        of_witness = {name: parts.witness for name, parts in theirs.items()}
        of_witness[cohort] = self._witness_part(seed, cohort)
        joined = b"".join(of_witness[name] for name, _ in self.roster.members)
        witness = self._derived(joined, "unpooled/pair/witness/1")
        return Pairs(
            witness,
            tuple(
                self._key(cohort, self._part(seed, cohort, name), name, theirs[name].part, witness)
                for name, _ in others
            ),
        )

    def _key(self, cohort: str, own: bytes, other: str, theirs: bytes, witness: bytes) -> tuple[bytes, bool]:
        (first, one), (second, two) = sorted([(cohort, own), (other, theirs)])
        return self._derived(one + two + witness, "unpooled/pair/key/1", first, second), cohort == first

    def _part(self, seed: bytes, cohort: str, recipient: str) -> bytes:
        return self._derived(seed, "unpooled/pair/part/1", cohort, recipient)

    def _witness_part(self, seed: bytes, cohort: str) -> bytes:
        return self._derived(seed, "unpooled/pair/of-witness/1", cohort)

    def _derived(self, secret: bytes, *names: str) -> bytes:
        return derived(secret, (*names, self.study, self.plan_hash, self._roster_hash))


def _digest(part: bytes) -> bytes:
    return hashlib.sha256(part).digest() if part else b""


def key_bytes(*, in_pairs: bool) -> int:
    """The length of what a cohort joins with."""
    return sealing.SIGNING_KEY_BYTES + (SEALING_KEY_BYTES if in_pairs else 0)


def most_keys_bytes(cohorts: int) -> int:
    """The length of the message with the sealing keys of all cohorts, at most."""
    return len(codec.encode(SealingKeys((("c" * 4 * 80, bytes(SEALING_KEY_BYTES)),) * cohorts)))


def most_sealed_bytes(cohorts: int, key_parts: int = 0) -> int:
    """The length of the message with all boxes of one cohort, and so many parts of a key, at most."""
    box = Box("c" * 4 * 80, bytes(most_box_bytes()), bytes(sealing.SIGNATURE_BYTES))
    parts = (bytes(KEY_PART_BYTES),) * key_parts
    return len(codec.encode(Sealed(bytes(32), bytes(32), (box,) * (cohorts - 1), parts)))


def most_box_bytes() -> int:
    """The length of a sealed box at most: it grows with the names of study and cohorts."""
    longest = PairPurpose("s" * 64, bytes(32), bytes(32), "c" * 4 * 80, "c" * 4 * 80)
    return sealing.sealed_bytes(_Parts(longest, bytes(SEED_BYTES), bytes(SEED_BYTES)))
