"""The third check: of masked words, modulo their own ring, and hidden from the server by pads."""

from __future__ import annotations

import numpy as np
import pytest

from unpooled.errors import ProtocolError
from unpooled.protocol import masking
from unpooled.protocol.dealing import DealingContext
from unpooled.protocol.masking import CHECKS_BYTES, THIRD_WORDS
from unpooled.protocol.showing import require_third_check, set_third_check

WORDS = 9000
"""More than are summed up at a time."""
RANDOM = np.random.default_rng(4)
COHORTS = ("Graz", "Oslo", "Tartu")
SCHEMES = pytest.mark.parametrize("scheme", ["z32", "z64", "z256"])


def context(scheme: str, words: int = WORDS) -> DealingContext:
    count = masking.scheme(scheme).check_words + words + THIRD_WORDS
    return DealingContext("study", b"p" * 32, b"r" * 32, "Oslo", 7, b"q" * 32, scheme, "at-least", count)


def sent(secret: bytes, about: DealingContext, data: bytes, nonce: bytes, dealt: bytes = b"") -> np.ndarray:
    """A masked share of these bytes, which look like any other."""
    masked = masking.scheme(about.scheme).from_bytes(data, about.words).copy()
    set_third_check(masked, secret, about.upload("Graz", nonce), dealt)
    return masked


def random_bytes(about: DealingContext) -> bytes:
    return RANDOM.bytes(about.words * masking.scheme(about.scheme).word_bytes)


@SCHEMES
def test_the_sum_of_shares_has_the_sum_of_their_checks(scheme: str) -> None:
    about, secret, kind = context(scheme), RANDOM.bytes(32), masking.scheme(scheme)
    total, uploads = kind.zeros(about.words), []
    for name in COHORTS:
        upload, dealt = about.upload(name, RANDOM.bytes(16)), b"dealt" * (name == "Oslo")
        share = kind.from_bytes(random_bytes(about), about.words).copy()
        set_third_check(share, secret, upload, dealt)
        total = kind.add(total, share)
        uploads.append((upload, dealt))
    require_third_check(total, secret, uploads)
    with pytest.raises(ProtocolError, match="not what cohorts have sent"):
        require_third_check(total, secret, [(upload, b"") for upload, _ in uploads])
    with pytest.raises(ProtocolError, match="not what cohorts have sent"):
        require_third_check(total, RANDOM.bytes(32), uploads)
    with pytest.raises(ProtocolError, match="not what cohorts have sent"):
        require_third_check(total, secret, uploads[:2])


@SCHEMES
@pytest.mark.parametrize("top", [False, True])
def test_each_word_is_in_half_of_the_sums_whatever_is_wrong_with_it(scheme: str, top: bool) -> None:
    """So a change passes each of the 64 with 1/2. Changed is the lowest or the highest bit of 40 words."""
    about, secret, nonce = context(scheme), RANDOM.bytes(32), bytes(16)
    data, size = random_bytes(about), masking.scheme(scheme).word_bytes
    before = sent(secret, about, data, nonce)[-THIRD_WORDS:].reshape(THIRD_WORDS, -1)
    counts = []
    for place in RANDOM.integers(0, WORDS, 40):
        changed = bytearray(data)
        changed[CHECKS_BYTES + place * size + (size - 1) * top] ^= 0x80 if top else 1
        after = sent(secret, about, bytes(changed), nonce)[-THIRD_WORDS:].reshape(THIRD_WORDS, -1)
        counts.append((after != before).any(axis=1).sum())
    # 64 fair coins are within 8..56 but for 3e-10, and 2,560 within 1,280 +- 200 but for 3e-15.
    assert 8 <= min(counts) <= max(counts) <= 56
    assert abs(sum(counts) - 1280) < 200


def test_what_is_sent_again_has_another_pad() -> None:
    """Else the server, which has both, would learn by their difference what is chosen."""
    about, secret = context("z32", 1), RANDOM.bytes(32)
    data = random_bytes(about)
    zero = data[: -4 * (THIRD_WORDS + 1)] + bytes(4 * (THIRD_WORDS + 1))
    checks = [sent(secret, about, zero, bytes([k] * 16))[-THIRD_WORDS:] for k in range(20)]
    # Of a word that is 0 the third check is the pad alone.
    assert len({check.tobytes() for check in checks}) == 20
    assert len(np.unique(np.concatenate(checks))) > 20 * THIRD_WORDS - 3
    same = sent(secret, about, zero, bytes(16))[-THIRD_WORDS:]
    assert np.array_equal(same, checks[0])
