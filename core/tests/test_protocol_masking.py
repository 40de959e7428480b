"""Masks: uniform or normal, the same for who knows the seed, and another one for any other context."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unpooled.errors import ProtocolError
from unpooled.protocol import masking
from unpooled.protocol.masking import Gaussian, MaskContext, Modular, mask, mask_blocks, question, scheme
from unpooled.protocol.ring import Ring

SEED = bytes(range(32))
LABELS = ["z32", "z64", "z128", "normal:1000000.0"]


def context(label: str = "z32", words: int = 1000, **changes: Any) -> MaskContext:
    fields: dict[str, Any] = {
        "study": "study",
        "plan_hash": b"p" * 32,
        "roster_hash": b"r" * 32,
        "cohort": "Graz",
        "round": 3,
        "question": b"q" * 32,
        "scheme": label,
        "words": words,
        "nonce": b"n" * 16,
    }
    return MaskContext(**fields | changes)


@pytest.mark.parametrize("label", LABELS)
def test_seed_and_context_decide_the_mask(label: str) -> None:
    first, again = mask(SEED, context(label)), mask(SEED, context(label))
    assert first.tobytes() == again.tobytes()
    assert len(scheme(label).to_bytes(first)) == 1000 * scheme(label).word_bytes


CHANGES: list[dict[str, Any]] = [
    {"study": "study "},
    {"plan_hash": b"P" * 32},
    {"roster_hash": b"R" * 32},
    {"cohort": "Gra"},
    {"round": 4},
    {"round": -3},
    {"question": b"Q" * 32},
    {"scheme": "z64"},
    {"words": 999},
    {"words": 1001},
    {"nonce": b"N" * 16},
    {"nonce": b"n" * 15},
    {"version": 1},
    # What one field ends with must not become what the next begins with.
    {"plan_hash": b"p" * 32 + b"r", "roster_hash": b"r" * 31},
    {"study": "studyp", "plan_hash": b"p" * 31},
]


def test_every_field_of_a_context_is_changed_below() -> None:
    changed = {name for change in CHANGES for name in change}
    assert changed == {field.name for field in dataclasses.fields(MaskContext)}


@pytest.mark.parametrize("change", CHANGES)
def test_any_other_context_gives_an_unrelated_mask(change: dict[str, Any]) -> None:
    one, other = mask(SEED, context()).tobytes(), mask(SEED, context(**change)).tobytes()
    a, b = (np.frombuffer(m[: 4 * 999], np.uint8) for m in (one, other))
    # Five standard deviations: of so many contexts one or the other is beyond three.
    assert abs(np.unpackbits(a ^ b).mean() - 0.5) < 5 * 0.5 / np.sqrt(8 * len(a))


@pytest.mark.parametrize("bit", [0, 100, 255])
def test_any_other_seed_gives_an_unrelated_mask(bit: int) -> None:
    other = (int.from_bytes(SEED, "big") ^ 1 << bit).to_bytes(32, "big")
    a, b = (np.frombuffer(mask(seed, context()).tobytes(), np.uint8) for seed in (SEED, other))
    assert 0.49 < np.unpackbits(a ^ b).mean() < 0.51


@pytest.mark.parametrize("label", ["z32", "z64", "z128"])
def test_words_are_uniform(label: str) -> None:
    """A smoke test of the stream's use: each byte of a word, and each of its bits, is even."""
    words = 100_000
    data = np.frombuffer(mask(SEED, context(label, words)).tobytes(), np.uint8).reshape(words, -1)
    bits = np.unpackbits(data, axis=1).mean(axis=0)
    assert np.abs(bits - 0.5).max() < 5 * 0.5 / np.sqrt(words)
    for column in data.T:
        expected = words / 256
        chi_square = ((np.bincount(column, minlength=256) - expected) ** 2 / expected).sum()
        assert 255 - 5 * np.sqrt(510) < chi_square < 255 + 5 * np.sqrt(510)


@pytest.mark.parametrize("variance", [1.0, 1e6, 1e12])
def test_gaussian_masks_have_the_moments_of_a_normal(variance: float) -> None:
    n = 200_000
    z = mask(SEED, context(f"normal:{variance!r}", n)) / np.sqrt(variance)
    # Each within five of its standard errors.
    assert abs(z.mean()) < 5 / np.sqrt(n)
    assert abs(z.var() - 1) < 5 * np.sqrt(2 / n)
    assert abs((z**3).mean()) < 5 * np.sqrt(15 / n)
    assert abs((z**4).mean() - 3) < 5 * np.sqrt(96 / n)
    assert abs(np.mean(z[::2] * z[1::2])) < 5 / np.sqrt(n / 2)  # the two of a pair
    assert abs(np.mean(z[:-2] * z[2:])) < 5 / np.sqrt(n)
    assert abs(np.mean(np.abs(z) < 1.959963985) - 0.95) < 5 * np.sqrt(0.95 * 0.05 / n)
    assert 4 < np.abs(z).max() < 8.6  # 53 bits reach no further


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("words", [0, 1, 2, 7, 8, 9, 100])
def test_blocks_put_together_are_the_mask(label: str, words: int) -> None:
    check = scheme(label).check_words
    whole = mask(SEED, context(label, check + words))
    blocks = list(mask_blocks(SEED, context(label, check + words), 8))
    assert [len(block) for block in blocks[:-1]] == [check, *[8] * (words // 8)][: len(blocks) - 1]
    np.testing.assert_allclose(np.concatenate(blocks), whole, rtol=1e-13 if label[0] == "n" else 0)


@given(st.sampled_from(LABELS), st.integers(0, 20), st.integers(2, 5), st.integers(-(2**20), 2**20))
def test_masks_cancel(label: str, words: int, cohorts: int, check: int) -> None:
    kind = scheme(label)
    numbers, size = np.arange(words) * 7 - 3, kind.check_words + words
    share = np.concatenate([kind.zeros(kind.check_words), kind.encode_integers(numbers)])
    kind.set_checks(share, check)
    masked, masks = kind.zeros(size), kind.zeros(size)
    for _ in range(cohorts):
        own = mask(os.urandom(32), context(label, size))
        masked = kind.add(masked, kind.add(share, own))
        masks = kind.add(masks, own)
    total = kind.subtract(masked, masks)
    assert kind.decode_integers(total[kind.check_words :]).tolist() == (cohorts * numbers).tolist()
    assert kind.has_check(total, cohorts * check) and not kind.has_check(total, cohorts * check + 1)


@pytest.mark.parametrize("label", LABELS)
def test_a_label_names_its_scheme(label: str) -> None:
    assert scheme(label).label == label


@pytest.mark.parametrize(
    "label",
    [
        *("", "z", "z16", "z032", "Z32", "z32 ", "z32:1", "normal", "normal:", "normal:1e12", "normal:1"),
        *("normal:0.0", "normal:-1.0", "normal:nan", "normal:inf", "normal:1e+40", "normal: 1.0"),
        *("normal:1_0.0", "normal:1.0\n", "uniform:1.0", "normal:" + "9" * 5000),
    ],
)
def test_any_other_label_is_refused(label: str) -> None:
    with pytest.raises(ProtocolError):
        scheme(label)


def test_a_share_with_a_number_that_is_not_finite_is_refused() -> None:
    kind = Gaussian(1.0)
    for bad in (np.nan, np.inf, -np.inf):
        with pytest.raises(ProtocolError, match="finite"):
            kind.from_bytes(np.array([0.0, bad]).tobytes(), 2)
    with pytest.raises(ProtocolError, match="wrong length"):
        kind.from_bytes(bytes(17), 2)


def test_what_fits_is_decided_exactly() -> None:
    """K times the bound, after rounding to the step's precision, is at most 2^(bits-1) - 1."""
    for bits in (32, 64, 128):
        kind, most = Modular(Ring(bits)), 2 ** (bits - 1) - 1
        whole = most // 3
        if bits < 128:
            assert kind.fits(3, whole, 0) and not kind.fits(3, whole + 1, 0)
        assert kind.fits(1, most if bits < 128 else 2.0**126, 0)
        assert not kind.fits(1, float(most + 1), 0)
        assert kind.fits(1, 2.0 ** (bits - 12), 10) and not kind.fits(1, 2.0 ** (bits - 11), 10)
    assert not Modular(Ring(64)).fits(4, 2**61, 0)  # 2^63, which as a float looks like 2^63 - 1
    assert Modular(Ring(32)).fits(3, 0.6, 30) and not Modular(Ring(32)).fits(3, 0.7, 30)


@pytest.mark.parametrize("bound", [float("nan"), float("inf"), -1, -0.5, 1e300])
@pytest.mark.parametrize("label", LABELS)
def test_a_bound_that_is_no_bound_does_not_fit(label: str, bound: float) -> None:
    assert not scheme(label).fits(3, bound, 0)


@pytest.mark.parametrize("fraction_bits", [10**9, -(10**9), 2**62])
def test_a_precision_that_is_none_does_not_fit(fraction_bits: int) -> None:
    assert not Modular(Ring(64)).fits(3, 1, fraction_bits)


def test_a_question_is_bound_to_salt_step_and_panel() -> None:
    salt = os.urandom(32)
    assert question(salt, b"step") != question(salt, b"step ") != question(os.urandom(32), b"step ")
    panels = [b"", b"p" * 32, b"q" * 32]
    assert len({question(salt, b"step", panel) for panel in panels}) == len(panels)
    for wrong in (b"", bytes(31), bytes(33)):
        with pytest.raises(ProtocolError, match="salt"):
            question(wrong, b"step")


def test_no_other_randomness_is_near_a_mask() -> None:
    """Mersenne Twister's state can be recovered from what it masked."""
    source = Path(masking.__file__).read_text(encoding="utf-8")
    assert "random" not in source.replace("32 random bytes", "")
