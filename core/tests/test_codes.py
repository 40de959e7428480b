"""Codes of words: the same at every cohort, and nothing without the compensator's key, or of another one."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
import pytest

from unpooled.errors import ProtocolError
from unpooled.protocol import codes
from unpooled.protocol.codes import POINT_BYTES, Blinding

MOST, BITS = 8, 40
KEY, ANOTHER = os.urandom(codes.KEY_BYTES), os.urandom(codes.KEY_BYTES)
SEED = os.urandom(32)


def blinding(words: list[str], secret: bytes = bytes(32), purpose: str = "study/drug") -> Blinding:
    return Blinding(secret, purpose, words, MOST)


def codes_of(own: Blinding, key: bytes = KEY) -> np.ndarray:
    return own.codes(codes.multiply(key, own.points(), MOST), BITS)


def test_the_same_word_has_the_same_code_at_every_cohort() -> None:
    here = codes_of(blinding(["aspirin", "ibuprofen"], bytes([1]) * 32))
    there = codes_of(blinding(["warfarin", "ibuprofen", "aspirin"], bytes([2]) * 32))
    assert here.tolist() == [there[2], there[1]]
    assert len(set(there)) == 3 and max(there) < 1 << BITS


def test_another_key_purpose_or_word_has_another_code() -> None:
    usual = codes_of(blinding(["aspirin"]))
    assert codes_of(blinding(["aspirin"]), ANOTHER) != usual
    assert codes_of(blinding(["aspirin"], purpose="study/ward")) != usual
    assert codes_of(blinding(["Aspirin"])) != usual


def test_points_are_the_same_again_and_their_number_tells_nothing() -> None:
    one, all_of_them = blinding(["a"]), blinding([str(k) for k in range(MOST)])
    assert one.points() == blinding(["a"]).points()
    assert len(one.points()) == len(all_of_them.points()) == len(blinding([]).points()) == MOST * POINT_BYTES
    assert len(set(_each(one.points()))) == MOST


P, ORDER, A = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493, 486662


def times(number: int, u: int) -> int:
    """The first coordinate of a multiple of a point: the ladder of RFC 7748 in plain numbers."""
    (x2, z2), (x3, z3) = (1, 0), (u, 1)
    for bit in bin(number)[2:]:
        if bit == "1":
            (x2, z2), (x3, z3) = (x3, z3), (x2, z2)
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        x3, z3 = pow(d * a + c * b, 2, P), u * pow(d * a - c * b, 2, P) % P
        x2, z2 = a * a * b * b % P, (a * a - b * b) * (a * a + (A - 2) // 4 * (a * a - b * b)) % P
        if bit == "1":
            (x2, z2), (x3, z3) = (x3, z3), (x2, z2)
    return x2 * pow(z2, P - 2, P) % P  # 0 for the point at infinity


def is_on_curve(u: int) -> bool:
    """And not on its twist."""
    return pow(u**3 + A * u * u + u, (P - 1) // 2, P) == 1


def taken(key: bytes) -> int:
    """A factor as X25519 takes it."""
    return int.from_bytes(key, "little") & ~7 & 2**255 - 1 | 2**254


@pytest.mark.parametrize("seed", range(8))
def test_a_code_is_the_words_point_times_the_key(seed: int) -> None:
    """In plain numbers: the blinding leaves no trace, whatever it is."""
    own = blinding(["aspirin", "ü"], bytes([seed]) * 32)
    found = codes_of(own)
    for word, code in zip(own.words, found.tolist(), strict=True):
        digests = (int.from_bytes(codes._digest(own.purpose, word, k), "little") for k in range(128))
        squares = (
            u for u in (d % 2**255 for d in digests) if pow(u**3 + A * u * u + u, (P - 1) // 2, P) == 1
        )
        point = next(u for u in squares if u < P)
        assert times(ORDER, point) == 0 or times(8 * ORDER, point) == 0  # of the curve, not of its twist
        shared = times(taken(KEY), point).to_bytes(32, "little")
        assert codes._code(own.purpose, word, shared) >> 64 - BITS == code


def test_all_points_of_a_column_are_of_the_curve() -> None:
    """Also those that fill up: else their number would show."""
    for points in (blinding([]).points(), blinding(["a"]).points()):
        for point in _each(points):
            u = int.from_bytes(point, "little")
            assert is_on_curve(u) and times(ORDER, u) == 0


def test_each_column_and_each_secret_has_its_own_number() -> None:
    """So it blinds once: points of one word at two columns, or at two cohorts, share no factor."""
    numbers = [
        blinding(["a"], bytes([k]) * 32, purpose)._numbers()
        for k in range(20)
        for purpose in ("study/drug", "study/ward")
    ]
    assert len({one for one, _ in numbers}) == 40
    for number, inverse in numbers:
        assert taken(number) * int.from_bytes(inverse, "little") % ORDER == 1
        assert taken(inverse) == int.from_bytes(inverse, "little")


def test_a_word_is_hidden_from_whoever_has_the_key_but_not_the_secret() -> None:
    """Blinded by different secrets, the points of one word have nothing in common, under any key."""
    first, second = (blinding(["a"], bytes([k]) * 32).points() for k in (1, 2))
    assert not set(_each(first)) & set(_each(second))
    assert not set(_each(codes.multiply(KEY, first, MOST))) & set(_each(codes.multiply(KEY, second, MOST)))


@pytest.mark.parametrize(
    "damage",
    [
        lambda points: points[:-1],
        lambda points: points + bytes(POINT_BYTES),
        lambda points: b"",
        lambda points: b"\xff" * len(points),  # beyond the field
        lambda points: bytes(len(points)),  # of small order
        lambda points: P.to_bytes(32, "little") + points[32:],  # 0 in another form
    ],
)
def test_other_points_are_refused_by_compensator_and_cohort(damage: object) -> None:
    own = blinding([str(k) for k in range(MOST)])
    with pytest.raises(ProtocolError):
        codes.multiply(KEY, damage(own.points()), MOST)  # type: ignore[operator]
    with pytest.raises(ProtocolError):
        own.codes(damage(codes.multiply(KEY, own.points(), MOST)), BITS)  # type: ignore[operator]


LIES: dict[str, Callable[[bytes, bytes], bytes]] = {
    "a key of its own": lambda points, tag: codes.multiply(ANOTHER, points, MOST) + tag,
    "a key of its own on top": lambda points, tag: (
        codes.multiply(ANOTHER, codes.multiply(KEY, points, MOST), MOST) + tag
    ),
    "another cohort's answer": lambda points, tag: codes.tagged(
        bytes(32), 1, points, codes.multiply(KEY, points, MOST)
    ),
    "another column's answer": lambda points, tag: codes.tagged(
        SEED, 2, points, codes.multiply(KEY, points, MOST)
    ),
    "an answer to other points": lambda points, tag: codes.tagged(
        SEED, 1, points[32:] + points[:32], codes.multiply(KEY, points, MOST)
    ),
    "no tag": lambda points, tag: codes.multiply(KEY, points, MOST),
    "nothing": lambda points, tag: b"",
}


@pytest.mark.parametrize("lie", LIES)
def test_an_answer_that_the_compensator_has_not_made_is_refused(lie: str) -> None:
    """Else a server could give each cohort codes of its own, and read sums over all of one cohort alone."""
    points = blinding(["aspirin"]).points()
    honest = codes.tagged(SEED, 1, points, codes.multiply(KEY, points, MOST))
    assert codes.untagged(SEED, 1, points, honest) == codes.multiply(KEY, points, MOST)
    with pytest.raises(ProtocolError, match="the compensator has not made this answer"):
        codes.untagged(SEED, 1, points, LIES[lie](points, honest[-codes.TAG_BYTES :]))


def test_a_cohort_cannot_ask_about_more_words_than_were_agreed() -> None:
    with pytest.raises(ProtocolError, match="9 different words; at most 8"):
        blinding([str(k) for k in range(MOST + 1)])


def test_a_word_is_not_given_twice() -> None:
    with pytest.raises(ProtocolError, match="a word is given twice"):
        blinding(["a", "b", "a"])


def test_without_a_secret_there_are_no_points() -> None:
    with pytest.raises(ProtocolError, match="a secret of 0 bytes; want 32"):
        blinding(["aspirin"], b"")


def _each(points: bytes) -> list[bytes]:
    return [points[at : at + POINT_BYTES] for at in range(0, len(points), POINT_BYTES)]


def test_what_takes_long_is_told_of_every_hundred() -> None:
    own, done = Blinding(bytes(32), "study/drug", [f"word {k}" for k in range(250)], 410), list[int]()
    answered = codes.multiply(KEY, own.points(done.append), 410)
    assert done == [100, 200, 300, 400]
    own.codes(answered, BITS, done.append)
    assert done[4:] == [100, 200]
