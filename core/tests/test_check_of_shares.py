"""The check of a share: exact, a function of the sum, and no false sum passes. Weaker ones let some pass."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from hypothesis import given
from hypothesis import strategies as st

from unpooled import check
from unpooled.check import check_of
from unpooled.protocol.masking import Gaussian, Modular
from unpooled.protocol.ring import Ring

RINGS = [Modular(Ring(bits)) for bits in (32, 64, 128)]
kinds = st.sampled_from(RINGS)
each_ring = pytest.mark.parametrize("kind", RINGS, ids=lambda kind: kind.label)


def coefficients(salt: bytes, count: int) -> list[int]:
    key = HKDF(SHA256(), length=32, salt=None, info=b"unpooled/check/1").derive(salt)
    stream = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor().update(bytes(8 * count))
    return [int.from_bytes(stream[at : at + 8], "little") for at in range(0, len(stream), 8)]


def slow_check(numbers: list[int], salt: bytes, shares: int) -> int:
    """With Python's integers."""
    first, *others = coefficients(salt, 1 + len(numbers))
    return shares * first + sum(c * x for c, x in zip(others, numbers, strict=True))


def vector(kind: Modular, numbers: list[int]) -> np.ndarray:
    """Signed integers as words, behind an empty check."""
    data = b"".join((n % 2**kind.ring.bits).to_bytes(kind.word_bytes, "little") for n in numbers)
    return np.concatenate([kind.zeros(kind.check_words), kind.from_bytes(data, len(numbers))])


def share(kind: Modular, numbers: list[int], salt: bytes) -> np.ndarray:
    made = vector(kind, numbers)
    kind.set_check(made, check_of(made, kind, salt))
    return made


def summed(kind: Modular, shares: list[np.ndarray]) -> np.ndarray:
    return functools.reduce(kind.add, shares)


def signed(bits: int) -> st.SearchStrategy[int]:
    edges = st.sampled_from([-(2 ** (bits - 1)), -1, 0, 1, 2 ** (bits - 1) - 1])
    return edges | st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


@given(kinds, st.binary(min_size=32, max_size=32), st.integers(0, 1000), st.data())
def test_the_check_is_the_combination_of_signed_words(
    kind: Modular, salt: bytes, shares: int, data: st.DataObject
) -> None:
    numbers = data.draw(st.lists(signed(kind.ring.bits), max_size=20))
    assert check_of(vector(kind, numbers), kind, salt, shares) == slow_check(numbers, salt, shares)


@each_ring
@pytest.mark.parametrize("size", [check._BLOCK - 1, check._BLOCK, check._BLOCK + 1, 2 * check._BLOCK + 5])
@pytest.mark.parametrize("extreme", [False, True])
def test_the_check_goes_over_all_blocks(kind: Modular, size: int, extreme: bool) -> None:
    bits, salt = kind.ring.bits, os.urandom(32)
    numbers = [-(2 ** (bits - 1)) if extreme else (-1) ** k * (3**k % 2 ** (bits - 1)) for k in range(size)]
    assert check_of(vector(kind, numbers), kind, salt, 3) == slow_check(numbers, salt, 3)


@given(kinds, st.integers(2, 5), st.data())
def test_checks_add_up_as_the_words_do(kind: Modular, cohorts: int, data: st.DataObject) -> None:
    salt, most = os.urandom(32), (2 ** (kind.ring.bits - 1) - 1) // cohorts
    one = st.lists(st.integers(-most, most) | st.sampled_from([-most, most]), min_size=7, max_size=7)
    numbers = [data.draw(one) for _ in range(cohorts)]
    total = summed(kind, [share(kind, own, salt) for own in numbers])
    sums = [sum(column) for column in zip(*numbers, strict=True)]
    assert total.tobytes()[32:] == vector(kind, sums).tobytes()[32:]
    assert kind.has_check(total, slow_check(sums, salt, cohorts))


# What the server sees is a function of the sum.


def without_carries(kind: Modular, shares: list[np.ndarray]) -> np.ndarray:
    """Weakened: the words of a check are added as the others are."""
    return functools.reduce(kind.add_words, shares)


def different_totals(kind: Modular, add: Callable[[Modular, list[np.ndarray]], np.ndarray]) -> int:
    """Of how many ways to share the same sums out among three cohorts a total tells something."""
    salt = os.urandom(32)
    splits = (
        [[5, 0], [0, 7], [0, 0]],
        [[0, 0], [0, 0], [5, 7]],
        [[-90, 1], [100, 2], [-5, 4]],
        [[1, 7], [1, 7], [3, -7]],
    )
    return len({add(kind, [share(kind, own, salt) for own in split]).tobytes() for split in splits})


@each_ring
def test_a_total_tells_nothing_but_the_sum(kind: Modular) -> None:
    for _ in range(20):
        assert different_totals(kind, summed) == 1


@each_ring
def test_the_carries_of_a_check_would_tell_more(kind: Modular) -> None:
    assert max(different_totals(kind, without_carries) for _ in range(20)) > 1


# What a compensator can do: it knows the masks and the shapes, and shifts words and check as it likes.

WHOLE = 2**256


def constant(total: np.ndarray, kind: Modular, salt: bytes, shares: int = 1) -> int:
    """Weakened: each check is 1, as under Gaussian masks."""
    return shares


def passed(
    kind: Modular,
    change: Callable[[np.ndarray], None],
    tries: int,
    rule: Callable[..., int] = check_of,
    modulus: int = WHOLE,
) -> int:
    """How many false sums pass: in each try under another salt. Weakened: by another rule, or modulo less."""
    found = 0
    for _ in range(tries):
        salt, shares = os.urandom(32), []
        for own in ([1, -2, 3], [40, 50, -60], [700, 800, 900]):
            made = vector(kind, own)
            kind.set_check(made, rule(made, kind, salt))
            shares.append(made)
        total = summed(kind, shares)
        assert kind.has_check(total, rule(total, kind, salt, 3))
        change(total)
        found += (rule(total, kind, salt, 3) - kind._check(total)) % modulus == 0
    return found


def bits_of(kind: Modular, places: list[int]) -> Iterator[tuple[int, int]]:
    for place in places:
        yield from ((place, bit) for bit in range(kind.ring.bits))


def flip(total: np.ndarray, place: int, bit: int) -> None:
    data = total.reshape(len(total), -1)[place].view(np.uint8)
    data[bit // 8] ^= 1 << (bit % 8)


@each_ring
def test_every_flipped_bit_is_found(kind: Modular) -> None:
    """Of a word, of the last one, and of the check."""
    places = [0, kind.check_words - 1, kind.check_words, kind.check_words + 2]
    for place, bit in bits_of(kind, places):
        assert passed(kind, lambda total, at=place, b=bit: flip(total, at, b), 2) == 0, (place, bit)


@each_ring
def test_modulo_the_ring_of_the_share_half_of_the_flipped_top_bits_pass(kind: Modular) -> None:
    def flip_the_top(total: np.ndarray) -> None:
        flip(total, kind.check_words, kind.ring.bits - 1)

    assert passed(kind, flip_the_top, 200) == 0
    assert 50 < passed(kind, flip_the_top, 200, modulus=2**kind.ring.bits) < 150


def turn_around(kind: Modular) -> Callable[[np.ndarray], None]:
    """Two sums take each other's place: the sum of the words is the same."""

    def change(total: np.ndarray) -> None:
        first = kind.check_words
        total[[first, first + 1]] = total[[first + 1, first]]

    return change


def add_noise(kind: Modular) -> Callable[[np.ndarray], None]:
    def change(total: np.ndarray) -> None:
        total[kind.check_words :] = kind.add_words(
            total[kind.check_words :], kind.from_stream(os.urandom(3 * kind.word_bytes), 3)
        )

    return change


def halves(kind: Modular) -> Callable[[np.ndarray], None]:
    """Half the ring to two words: their parities cancel."""

    def change(total: np.ndarray) -> None:
        for place in (0, 1):
            flip(total, kind.check_words + place, kind.ring.bits - 1)

    return change


@each_ring
@pytest.mark.parametrize("attack", [turn_around, add_noise, halves])
def test_no_false_sum_passes_and_with_a_constant_each_does(
    kind: Modular, attack: Callable[[Modular], Callable[[np.ndarray], None]]
) -> None:
    assert passed(kind, attack(kind), 50) == 0
    assert passed(kind, attack(kind), 50, rule=constant) == 50


@each_ring
def test_a_guess_at_a_coefficient_is_found(kind: Modular) -> None:
    """One more in a word, and to the check what that might come to."""

    def guess(total: np.ndarray) -> None:
        one = vector(kind, [1, 0, 0])
        kind.set_check(one, int.from_bytes(os.urandom(8), "little"))
        total[:] = kind.add(total, one)

    assert passed(kind, guess, 200) == 0


@each_ring
def test_zeros_have_no_check(kind: Modular) -> None:
    def clear(total: np.ndarray) -> None:
        total[:] = 0

    assert passed(kind, clear, 50) == 0


@each_ring
def test_who_has_the_salt_can_forge(kind: Modular) -> None:
    """Hence the compensator has it not, and a cohort must not tell it."""
    salt = os.urandom(32)
    total = summed(kind, [share(kind, [1, 2, 3], salt)] * 3)
    total[kind.check_words :] = vector(kind, [-4, 5, 6])[kind.check_words :]
    assert not kind.has_check(total, check_of(total, kind, salt, 3))
    kind.set_check(total, slow_check([-4, 5, 6], salt, 3))
    assert kind.has_check(total, check_of(total, kind, salt, 3))
    assert not kind.has_check(total, check_of(total, kind, os.urandom(32), 3))


def test_gaussian_masks_keep_a_constant() -> None:
    kind = Gaussian(1e6)
    for numbers in ([1.0, 2.0], [-3.5, 1e9]):
        made: Any = np.concatenate([kind.zeros(kind.check_words), np.array(numbers)])
        assert check_of(made, kind, os.urandom(32), 3) == 3
