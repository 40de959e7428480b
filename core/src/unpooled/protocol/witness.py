"""The witness: a secret of cohorts and compensator, by which a cohort knows a true sum from one made up.

    witness = HKDF-SHA256(the mask seeds of all cohorts, in the roster's order; study, plan, roster, keys)

The compensator makes it when a study enrols, and seals it for each cohort. The server carries it unread: so
it cannot make the second check of a sum (`unpooled.asking.share_check`) that it has changed. With one cohort
it can.

Where a study searches for words, the public keys of their codes (`unpooled.protocol.codes`) come with it: it
opens beside the right ones alone, and cohorts that were given different ones have different witnesses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from unpooled.errors import ProtocolError
from unpooled.protocol import codec
from unpooled.protocol.masking import derived
from unpooled.protocol.sealing import Purpose

WITNESS_BYTES = 32
_NONCE_BYTES = 12
SEALED_BYTES = _NONCE_BYTES + WITNESS_BYTES + 16  # with the tag


def make(
    seeds: Sequence[bytes], study: str, plan_hash: bytes, roster_hash: bytes, code_keys: bytes = b""
) -> bytes:
    """Derive a study's witness from the mask seeds of all its cohorts, in the order of the roster."""
    return derived(b"".join(seeds), ("unpooled/witness/1", study, plan_hash, roster_hash, code_keys))


def seal(witness: bytes, seed: bytes, purpose: Purpose, code_keys: bytes = b"") -> bytes:
    """Seal the witness for the cohort that has this seed for this purpose: to the same bytes each time."""
    # From the witness: a cohort whose seed stays, while another one draws a new one, has two under its key.
    nonce = derived(witness, ("unpooled/witness/nonce", purpose))[:_NONCE_BYTES]
    return nonce + _cipher(seed, purpose).encrypt(nonce, witness, codec.encode((purpose, code_keys)))


def unsealed(sealed: bytes, seed: bytes, purpose: Purpose, code_keys: bytes = b"") -> bytes:
    """Open what was sealed; ProtocolError unless with this seed, for this purpose and beside these keys."""
    if len(sealed) != SEALED_BYTES:
        raise ProtocolError(f"a sealed witness has {SEALED_BYTES} bytes; got {len(sealed)}")
    try:
        nonce, box = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        return _cipher(seed, purpose).decrypt(nonce, box, codec.encode((purpose, code_keys)))
    except InvalidTag as error:
        raise ProtocolError("the witness does not open with this cohort's seed") from error


def _cipher(seed: bytes, purpose: Purpose) -> AESGCM:
    return AESGCM(derived(seed, ("unpooled/witness/seal", purpose)))


@dataclass(frozen=True)
class Witnessed:
    """Names what the second checks of one round follow from."""

    witness: bytes = field(repr=False)
    round: int
    question: bytes
    """Is the digest that every mask has, too: `masking.question`."""
    adds_pad: bool = False
    """Is True for the first cohort of the roster alone."""

    @property
    def key(self) -> bytes:
        """Derive the key of the stream of coefficients."""
        return derived(self.witness, ("unpooled/witness/check", self.round, self.question))

    @property
    def pad(self) -> int:
        """Derive 256 bits that hide the combination of the sums.

        The server knows the sums. Where all are 0 but one, it would otherwise divide, and have a coefficient.
        """
        pad = derived(self.witness, ("unpooled/witness/pad", self.round, self.question))
        return int.from_bytes(pad, "little")
