"""Carries shares to their sum under threshold CKKS, beneath which are the masks of pairs. EXPERIMENTAL.

    upload = a signature, and the share, masked as `unpooled.protocol.pairs` does, encrypted word by word
    help   = a share of the decryption of the sum of all cohorts' uploads, each with its cohort's signature
    total  = what all helps decrypt: whole numbers, so the same words as without encryption

A cohort adds the uploads up itself, and helps in a round once. A server that gives it other uploads than the
cohorts' own gets no help. As the numbers are masked before they are encrypted, whoever finds a flaw in the
encryption, or in how it is used here, still has to break the masks of pairs.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np

from unpooled.errors import ProtocolError
from unpooled.protocol import codec
from unpooled.protocol.encrypted.worker import WorkerError, worker
from unpooled.protocol.masking import CHECK_BYTES, CHECKS_BYTES, scheme
from unpooled.protocol.messages import Roster
from unpooled.protocol.pairs import KEY_PART_BYTES, Meeting, PairContext, carried
from unpooled.protocol.sealing import SIGNATURE_BYTES, SigningKey, is_signed, signing_part

MOST_NOISE = 0.25
"""Distance from a whole number beyond which a sum is not rounded: that of honest cohorts is below 0.1."""
_RING = 4096
"""Words of 32 bits in a ciphertext."""
_POLYNOMIAL = KEY_PART_BYTES
"""Bytes of a polynomial, by two moduli: a part of a key, or of a decryption. A ciphertext has two."""


class Carrier(Protocol):
    """One cohort's end of a way to a sum."""

    def upload(self, share: bytes, context: PairContext) -> bytes:
        """Return what leaves for a share, which is masked. Only one may leave in a round."""

    def help(self, uploads: Sequence[bytes], context: PairContext) -> bytes:
        """Return this cohort's part in reading the sum of all uploads, in the roster's order.

        ProtocolError unless each is its cohort's for this round. Only one may leave in a round.
        """


@dataclass(frozen=True)
class _Upload:
    """Content that a cohort signs."""

    name: ClassVar[str] = "unpooled/encrypted-upload"

    round: PairContext
    cohort: str
    digest: bytes


@dataclass(frozen=True)
class Key:
    """One cohort's key, and its part of the one to encrypt under."""

    secret: bytes = field(repr=False)
    part: bytes = field(repr=False)

    @staticmethod
    def generate(meeting: Meeting) -> Key:
        found = worker().ask("keys", seed=_numbers(_seed(meeting)))
        return Key(found["secret"].tobytes(), found["part"].tobytes())


@dataclass(frozen=True, eq=False)
class Encrypting:
    """Encrypts for one cohort, which has the parts of all."""

    meeting: Meeting
    cohort: str
    signer: SigningKey = field(repr=False)
    secret: bytes = field(repr=False)
    parts: Sequence[bytes] = field(repr=False)
    """Parts of the key, in the roster's order."""

    @functools.cached_property
    def _joint(self) -> np.ndarray:
        """The key to encrypt under."""
        parts = np.stack([np.frombuffer(part, np.uint64).reshape(2, _RING) for part in self.parts])
        return worker().ask("joint", seed=_numbers(_seed(self.meeting)), parts=parts)["key"]

    def upload(self, share: bytes, context: PairContext) -> bytes:
        found = worker().ask("encrypt", key=self._joint, words=np.frombuffer(share, "<u4"))
        data = found["encrypted"].tobytes()
        return self.signer.sign(_signed(context, self.cohort, data)) + data

    def help(self, uploads: Sequence[bytes], context: PairContext) -> bytes:
        verify(self.meeting.roster, uploads, context)
        numbers = [np.frombuffer(upload, np.uint64, offset=SIGNATURE_BYTES) for upload in uploads]
        stacked = np.stack(numbers).reshape(len(uploads), -1, 4, _RING)
        leads = self.cohort == self.meeting.roster.members[0][0]
        try:
            found = worker().ask("share", secret=_numbers(self.secret), uploads=stacked, leads=leads)
        except WorkerError as error:
            raise ProtocolError(f"an upload of round {context.round} is no ciphertext: {error}") from error
        return found["share"].tobytes()


def verify(roster: Roster, uploads: Sequence[bytes], context: PairContext) -> None:
    """ProtocolError unless these are the uploads of all cohorts for this round, in the roster's order."""
    if len(uploads) != len(roster.members):
        raise ProtocolError(f"there are {len(uploads)} uploads; want one of each of {len(roster.members)}")
    for (name, key), upload in zip(roster.members, uploads, strict=True):
        signature, data = upload[:SIGNATURE_BYTES], upload[SIGNATURE_BYTES:]
        if len(upload) != upload_bytes(context.scheme, context.words) or not is_signed(
            signing_part(key), signature, _signed(context, name, data)
        ):
            raise ProtocolError(f"the upload of {name} in round {context.round} is not what it signed")


def total(helps: Sequence[bytes], label: str, words: int) -> np.ndarray:
    """The sum of all cohorts' shares, from the helps of all; ProtocolError if they do not open it."""
    shares = np.stack([np.frombuffer(each, np.uint64) for each in helps]).reshape(len(helps), -1, 2, _RING)
    try:
        found = worker().ask("opened", shares=shares)
    except WorkerError as error:
        raise ProtocolError(f"the shares of a decryption do not go together: {error}") from error
    if (noise := float(found["noise"][0])) > MOST_NOISE:
        raise ProtocolError(f"a decrypted sum is {noise:.2f} from a whole number; want {MOST_NOISE} at most")
    kind, at = scheme(label), CHECKS_BYTES // 4
    sums = found["sums"][: words * kind.word_bytes // 4].copy()
    data = carried(sums[:at], CHECK_BYTES // 4) + carried(sums[at:], kind.word_bytes // 4)
    return kind.from_bytes(data, words)


def upload_bytes(label: str, words: int) -> int:
    """The exact length of an upload of so many words of a scheme."""
    return SIGNATURE_BYTES + 2 * help_bytes(label, words)


def help_bytes(label: str, words: int) -> int:
    """The exact length of a help in such a round."""
    return -(-words * scheme(label).word_bytes // (4 * _RING)) * _POLYNOMIAL


def _signed(context: PairContext, cohort: str, data: bytes) -> bytes:
    return codec.encode(_Upload(context, cohort, hashlib.sha256(data).digest()))


@functools.lru_cache(16)
def _seed(meeting: Meeting) -> bytes:
    """The seed of the polynomial that all parts of a study's key share."""
    terms = ("unpooled/encrypted/1", meeting.study, meeting.plan_hash, meeting.roster.hash())
    return hashlib.sha256(codec.encode(terms)).digest()


def _numbers(data: bytes) -> np.ndarray:
    return np.frombuffer(data, np.uint8)
