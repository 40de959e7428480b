"""Rings of integers modulo a power of two, and real numbers as integers of them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from unpooled.errors import ProtocolError
from unpooled.protocol.fixed_point import decode_integers, decode_reals, encode_integers, encode_reals
from unpooled.protocol.ring import Ring

WIDTHS = (8, 32, 64, 128, 256)
widths = st.sampled_from(WIDTHS)


def vector(ring: Ring, numbers: list[int]) -> np.ndarray:
    data = b"".join((n % 2**ring.bits).to_bytes(ring.word_bytes, "little") for n in numbers)
    return ring.from_bytes(data, len(numbers))


def numbers(ring: Ring, words: np.ndarray) -> list[int]:
    data, size = ring.to_bytes(words), ring.word_bytes
    return [int.from_bytes(data[at : at + size], "little") for at in range(0, len(data), size)]


# Numbers at the edges of the words and of their limbs, where a carry or a borrow passes on.
powers = st.sampled_from([0, 7, 31, 32, 63, 64, 65, 127, 128, 191, 192, 255])
edges = st.builds(lambda e, d: 2**e + d, powers, st.integers(-2, 2))
elements = st.lists(edges | st.integers(0, 2**256 - 1), min_size=1, max_size=9)


@given(widths, st.data())
def test_sums_differences_and_products_are_those_of_integers_modulo_a_power(
    bits: int, data: st.DataObject
) -> None:
    ring = Ring(bits)
    a = data.draw(elements)
    b = data.draw(st.lists(edges | st.integers(0, 2**256 - 1), min_size=len(a), max_size=len(a)))
    added = numbers(ring, ring.add(vector(ring, a), vector(ring, b)))
    subtracted = numbers(ring, ring.subtract(vector(ring, a), vector(ring, b)))
    multiplied = numbers(ring, ring.multiply(vector(ring, a), vector(ring, b)))
    assert added == [(x + y) % 2**bits for x, y in zip(a, b, strict=True)]
    assert multiplied == [x * y % 2**bits for x, y in zip(a, b, strict=True)]
    assert subtracted == [(x - y) % 2**bits for x, y in zip(a, b, strict=True)]


@given(widths, elements, st.data())
def test_what_is_shifted_is_multiplied_with_a_power(
    bits: int, values: list[int], data: st.DataObject
) -> None:
    ring, places = Ring(bits), data.draw(st.integers(0, bits - 1))
    assert numbers(ring, ring.shifted(vector(ring, values), places)) == [
        n * 2**places % 2**bits for n in values
    ]


@given(widths, elements)
def test_bytes_are_little_endian_words(bits: int, values: list[int]) -> None:
    ring = Ring(bits)
    words = vector(ring, values)
    assert len(words) == len(values)
    assert numbers(ring, words) == [n % 2**bits for n in values]


@given(widths, elements)
def test_what_is_added_can_be_taken_away_and_zero_changes_nothing(bits: int, values: list[int]) -> None:
    ring = Ring(bits)
    words, mask = vector(ring, values), vector(ring, [n * 0x9E3779B97F4A7C15F39CC0605CEDC835 for n in values])
    assert numbers(ring, ring.subtract(ring.add(words, mask), mask)) == numbers(ring, words)
    assert numbers(ring, ring.add(words, ring.zeros(len(values)))) == numbers(ring, words)


@pytest.mark.parametrize("bits", WIDTHS)
def test_a_vector_of_another_length_is_refused(bits: int) -> None:
    ring = Ring(bits)
    for size in (0, 1, 5 * ring.word_bytes - 1, 5 * ring.word_bytes + 1, 6 * ring.word_bytes):
        with pytest.raises(ProtocolError, match="wrong length"):
            ring.from_bytes(bytes(size), 5)


@pytest.mark.parametrize("bits", WIDTHS)
def test_an_empty_vector_is_one(bits: int) -> None:
    assert len(Ring(bits).zeros(0)) == 0


@pytest.mark.parametrize("bits", [0, 1, 16, 31, 54, 512])
def test_there_is_no_other_ring(bits: int) -> None:
    with pytest.raises(ProtocolError, match="no ring"):
        Ring(bits)


@pytest.mark.parametrize("bits", WIDTHS)
def test_operands_stay_as_they_were(bits: int) -> None:
    ring = Ring(bits)
    a, b = vector(ring, [2**127, 3]), vector(ring, [2**128 - 1, 5])
    before = ring.to_bytes(a), ring.to_bytes(b)
    ring.add(a, b), ring.subtract(a, b)
    assert (ring.to_bytes(a), ring.to_bytes(b)) == before


usual_widths = st.sampled_from([32, 64, 128, 256])


def signed(ring: Ring, vector: np.ndarray) -> list[int]:
    data, size = ring.to_bytes(vector), ring.word_bytes
    return [int.from_bytes(data[i : i + size], "little", signed=True) for i in range(0, len(data), size)]


def fits(number: Fraction | int, bits: int) -> bool:
    return bool(abs(number) < 2 ** (bits - 1) - 1)


@given(usual_widths, st.data())
def test_integers_come_back(bits: int, data: st.DataObject) -> None:
    limit = 2 ** (min(bits, 64) - 1)
    numbers = data.draw(st.lists(st.integers(-limit, limit - 1), min_size=1))
    ring = Ring(bits)
    encoded = encode_integers(np.array(numbers, np.int64), ring)
    assert signed(ring, encoded) == numbers
    assert decode_integers(encoded, ring).tolist() == numbers


@given(usual_widths, st.lists(st.integers(-(2**29), 2**29), min_size=3, max_size=3))
def test_sums_of_signed_integers_are_right(bits: int, numbers: list[int]) -> None:
    ring = Ring(bits)
    total = ring.zeros(1)
    for number in numbers:
        total = ring.add(total, encode_integers(np.array([number]), ring))
    assert decode_integers(total, ring).tolist() == [sum(numbers)]


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 2**64, 2**127 - 1, -(2**127), 2**64 - 1])
def test_a_sum_of_integers_beyond_64_bits_is_noticed(number: int) -> None:
    with pytest.raises(ProtocolError, match="64 bits"):
        decode_integers(vector(Ring(128), [number]), Ring(128))


# Reals of every size with a fraction of their own, and those at the edges of words and limbs.
reals = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e38, max_value=1e38) | st.builds(
    lambda e, d, sign: sign * (2.0**e + d),
    st.sampled_from([-30, 0, 31, 32, 52, 53, 63, 64, 65, 100, 126]),
    st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]),
    st.sampled_from([-1, 1]),
)


@given(usual_widths, reals, st.integers(-4, 100))
@example(128, -1.0, 0)  # the remainder of a small negative number by 2^64 is no float64
@example(128, -0.0, 0)
@example(128, -(2.0**-60), 60)
@example(128, -(2.0**64), 0)
@example(128, -(2.0**127), 0)
@example(64, -(2.0**63), 0)
@example(32, 2.0**31 - 1, 0)
def test_a_real_becomes_the_nearest_integer(bits: int, real: float, fraction_bits: int) -> None:
    exact = Fraction(real) * Fraction(2) ** fraction_bits
    if not (fits(exact, bits) or exact == -(2 ** (bits - 1))):
        return
    ring = Ring(bits)
    assert signed(ring, encode_reals(np.array([real]), fraction_bits, ring)) == [round(exact)]


@given(usual_widths, st.integers(-(2**255), 2**255 - 1), st.integers(0, 100))
@example(128, 2**64, 0)
@example(128, -(2**64), 0)
@example(128, -1, 0)
@example(128, -(2**127), 0)
@example(128, 2**127 - 1, 0)
@example(128, -(2**64) + 1, 60)
def test_a_sum_reads_back_to_float64_precision(bits: int, number: int, fraction_bits: int) -> None:
    number >>= max(0, number.bit_length() - bits + 1)
    (got,) = decode_reals(vector(Ring(bits), [number]), fraction_bits, Ring(bits))
    want = Fraction(number) / 2**fraction_bits
    assert abs(Fraction(float(got)) - want) <= abs(want) * Fraction(5, 2**54)  # a rounding for each limb
    assert (got < 0) == (number < 0)


@given(usual_widths, st.lists(st.floats(-1000, 1000), min_size=2, max_size=6))
def test_the_sum_of_masked_reals_is_the_sum_of_the_rounded(bits: int, values: list[float]) -> None:
    ring, fraction_bits = Ring(bits), {32: 16, 64: 40, 128: 80, 256: 80}[bits]
    total = ring.zeros(1)
    for value in values:
        total = ring.add(total, encode_reals(np.array([value]), fraction_bits, ring))
    exact = sum(round(Fraction(value) * 2**fraction_bits) for value in values)
    (got,) = decode_reals(total, fraction_bits, ring)
    assert abs(Fraction(float(got)) - Fraction(exact, 2**fraction_bits)) <= Fraction(
        abs(exact), 2**fraction_bits
    ) * Fraction(3, 2**54)


def test_any_shape_is_flattened_and_many_numbers_keep_their_order() -> None:
    values = np.array([[1.5, -1.5], [0.25, -1e6]])
    for bits in (32, 64, 128, 256):
        ring = Ring(bits)
        vector_ = encode_reals(values, 2, ring)
        assert signed(ring, vector_) == [6, -6, 1, -4_000_000]
        assert decode_reals(vector_, 2, ring).tolist() == values.ravel().tolist()
        turned = values.astype(np.int64).T
        assert decode_integers(encode_integers(turned, ring), ring).tolist() == turned.ravel().tolist()
