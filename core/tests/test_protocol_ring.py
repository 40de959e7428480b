"""The rings against Python's integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unpooled.errors import ProtocolError
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
