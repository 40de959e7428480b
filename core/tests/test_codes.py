"""Codes of words: the same at every cohort, and nothing without both keys."""

from __future__ import annotations

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from unpooled.errors import ProtocolError
from unpooled.protocol import codes
from unpooled.protocol.codes import POINT_BYTES, Blinding

MOST, BITS = 8, 40
SERVER, COMPENSATOR = codes.new_key(), codes.new_key()


def blinding(words: list[str], secret: bytes = bytes(32), purpose: str = "study/drug") -> Blinding:
    return Blinding(secret, purpose, words, MOST)


def codes_of(own: Blinding, *keys: bytes) -> np.ndarray:
    points = own.points()
    for key in keys or (COMPENSATOR, SERVER):
        points = codes.multiply(key, points, MOST)
    return own.codes(points, BITS)


def test_the_same_word_has_the_same_code_at_every_cohort() -> None:
    here = codes_of(blinding(["aspirin", "ibuprofen"], bytes([1]) * 32))
    there = codes_of(blinding(["warfarin", "ibuprofen", "aspirin"], bytes([2]) * 32))
    assert here.tolist() == [there[2], there[1]]
    assert len(set(there)) == 3 and max(there) < 1 << BITS


def test_another_key_purpose_or_word_has_another_code() -> None:
    usual = codes_of(blinding(["aspirin"]))
    assert codes_of(blinding(["aspirin"]), COMPENSATOR, codes.new_key()) != usual
    assert codes_of(blinding(["aspirin"]), codes.new_key(), SERVER) != usual
    assert codes_of(blinding(["aspirin"], purpose="study/ward")) != usual
    assert codes_of(blinding(["Aspirin"])) != usual


def test_points_are_the_same_again_and_their_number_tells_nothing() -> None:
    one, all_of_them = blinding(["a"]), blinding([str(k) for k in range(MOST)])
    assert one.points() == blinding(["a"]).points()
    assert len(one.points()) == len(all_of_them.points()) == len(blinding([]).points()) == MOST * POINT_BYTES
    assert len(set(_each(one.points()))) == MOST


def test_points_multiply_as_points_of_the_curve_do() -> None:
    """The first coordinate of a multiple, by the coordinates of the points that the library computes."""
    base, factor, key = 1234567, 891011, codes.new_key()
    point = ec.derive_private_key(base, ec.SECP256R1()).public_key().public_numbers()
    product = base * factor * int.from_bytes(key, "big") % ec.SECP256R1().group_order
    want = ec.derive_private_key(product, ec.SECP256R1()).public_key().public_numbers().x
    once = codes.multiply(factor.to_bytes(32, "big"), point.x.to_bytes(32, "big"), 1)
    assert int.from_bytes(codes.multiply(key, once, 1), "big") == want


def test_a_word_is_hidden_from_whoever_has_both_keys_but_not_the_secret() -> None:
    """Blinded by different secrets, the points of one word have nothing in common, under any key."""
    first, second = (blinding(["a"], bytes([k]) * 32).points() for k in (1, 2))
    assert not set(_each(first)) & set(_each(second))
    assert not set(_each(codes.multiply(SERVER, first, MOST))) & set(
        _each(codes.multiply(SERVER, second, MOST))
    )


@pytest.mark.parametrize(
    "damage",
    [
        lambda points: points[:-1],
        lambda points: points + bytes(POINT_BYTES),
        lambda points: b"",
        lambda points: b"\xff" * len(points),  # beyond the field
        lambda points: bytes(len(points) - 1) + b"\x03",  # on no point of the curve
    ],
)
def test_other_points_are_refused_by_key_holder_and_cohort(damage: object) -> None:
    own = blinding([str(k) for k in range(MOST)])
    with pytest.raises(ProtocolError):
        codes.multiply(SERVER, damage(own.points()), MOST)  # type: ignore[operator]
    with pytest.raises(ProtocolError):
        own.codes(damage(codes.multiply(SERVER, own.points(), MOST)), BITS)  # type: ignore[operator]


def test_a_cohort_cannot_ask_about_more_words_than_were_agreed() -> None:
    with pytest.raises(ProtocolError, match="9 different words; at most 8"):
        blinding([str(k) for k in range(MOST + 1)])


def test_without_a_secret_there_are_no_points() -> None:
    with pytest.raises(ProtocolError, match="a secret of 0 bytes; want 32"):
        blinding(["aspirin"], b"")


def _each(points: bytes) -> list[bytes]:
    return [points[at : at + POINT_BYTES] for at in range(0, len(points), POINT_BYTES)]
