"""HyFed's masks can be predicted from one round of masked counts; ours cannot.

Each test solves one system of equations for two captures at once: a stub, on which the attack must succeed
(else its failure on ours would say nothing), and shares as a cohort of ours sends them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from unpooled.protocol import masking

from .mersenne import HYFED, HYFED_PRIME, WORDS_OF_32_BITS, WORDS_OF_64_BITS, Layout, Recovery, recover

LARGEST_COUNT = 1781  # samples of one cohort
FURTHER = 500  # shares past those that the attack is given
SEED = bytes(range(32))


def counts(number: int) -> np.ndarray:
    return np.random.default_rng(number).integers(0, LARGEST_COUNT + 1, size=number)


def secret_generator() -> np.random.RandomState:
    """Somewhere in its stream, as it is when a round begins."""
    generator = np.random.RandomState(20_220_222)
    generator.randint(0, 2, size=1234)
    return generator


def hyfed_masks(generator: np.random.RandomState, number: int) -> np.ndarray:
    return generator.randint(0, HYFED_PRIME, size=number).astype(np.uint64)


def our_shares(scheme: str, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Shares of counts as a cohort makes them, and their masks."""
    context = masking.MaskContext(
        study="0123456789abcdef",
        plan_hash=bytes(32),
        roster_hash=bytes(32),
        cohort="Tartu",
        round=1,
        question=bytes(32),
        scheme=scheme,
        words=len(values),
        nonce=bytes(16),
    )
    kind = masking.scheme(scheme)
    mask = masking.mask(SEED, context)
    return kind.add(kind.encode_integers(values), mask), mask


def assert_no_generator_behind(recovery: Recovery) -> None:
    """Half of the equations contradict each other, as they do for random bits."""
    assert recovery.spare > 100
    assert 0.3 < recovery.contradicted / recovery.spare < 0.7


def test_recovers_the_counts_of_hyfed() -> None:
    values = counts(HYFED.shares_needed + FURTHER)
    generator = secret_generator()
    shares = (values.astype(np.uint64) + hyfed_masks(generator, len(values))) % np.uint64(HYFED_PRIME)
    ours, _ = our_shares("z64", values)

    # The same attack on the high 54 bits of ours: nothing to find.
    found, nothing = recover([shares, ours >> np.uint64(10)], HYFED)

    assert found.consistent
    predicted = hyfed_masks(found.generator, len(values))
    recovered = (shares + np.uint64(HYFED_PRIME) - predicted) % np.uint64(HYFED_PRIME)
    # Of the first share some bits of the mask are never used again, so nothing tells them.
    np.testing.assert_array_equal(recovered[1:], values[1:])
    np.testing.assert_array_equal(hyfed_masks(found.generator, 1000), hyfed_masks(generator, 1000))
    assert_no_generator_behind(nothing)


def words_64(generator: np.random.RandomState, number: int) -> np.ndarray:
    return generator.randint(0, 2**64, size=number, dtype=np.uint64)


def words_32(generator: np.random.RandomState, number: int) -> np.ndarray:
    return generator.randint(0, 2**32, size=number, dtype=np.uint32)


@pytest.mark.parametrize(
    ("scheme", "layout", "draw"), [("z64", WORDS_OF_64_BITS, words_64), ("z32", WORDS_OF_32_BITS, words_32)]
)
def test_our_masks_are_no_mersenne_twister(
    scheme: str, layout: Layout, draw: Callable[[np.random.RandomState, int], np.ndarray]
) -> None:
    values = counts(layout.shares_needed + FURTHER)
    stub_mask = draw(secret_generator(), len(values))
    ours, our_mask = our_shares(scheme, values)

    stub, nothing = recover([values.astype(stub_mask.dtype) + stub_mask, ours], layout)

    assert stub.consistent
    np.testing.assert_array_equal(draw(stub.generator, len(values))[1:], stub_mask[1:])
    assert_no_generator_behind(nothing)
    # And the generator that satisfies the most equations knows nothing of the masks to come.
    assert not (draw(nothing.generator, len(values)) == our_mask)[layout.shares_needed :].any()


def test_too_few_shares_are_refused() -> None:
    with pytest.raises(ValueError, match="960 shares are needed"):
        recover([np.zeros(900, dtype=np.uint64)], HYFED)
