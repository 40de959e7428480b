"""Codes of words: the same at every cohort, and of nobody who has not used both keys of the study."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
import pytest

from unpooled.errors import ProtocolError
from unpooled.protocol import codes, oprf
from unpooled.protocol.codes import PROOF_BYTES, TAG_BYTES, Blinding, answer_bytes
from unpooled.protocol.oprf import POINT_BYTES

MOST, BITS = 8, 40
SERVER, COMPENSATOR, ANOTHER = (oprf.random_key() for _ in range(3))
KEYS = oprf.public_key(SERVER) + oprf.public_key(COMPENSATOR)
SEED = os.urandom(32)
ABOUT = b"what the cohort has signed"


def blinding(words: list[str], secret: bytes = bytes(32), purpose: str = "study/drug") -> Blinding:
    return Blinding(secret, purpose, words, MOST)


def answer(
    points: bytes,
    server: bytes = SERVER,
    compensator: bytes = COMPENSATOR,
    seed: bytes = SEED,
    about: bytes = ABOUT,
) -> bytes:
    """Return what the two holders of these keys answer."""
    first = codes.answered(server, about, points)
    parts = first + codes.answered(compensator, about, first[:-PROOF_BYTES])
    return parts + codes.tagged(seed, about, parts)


def checked(points: bytes, answered: bytes) -> bytes:
    return codes.checked(SEED, KEYS, ABOUT, points, answered)


def codes_of(own: Blinding, *keys: bytes) -> np.ndarray:
    multiplied = own.points()
    for key in keys or (SERVER, COMPENSATOR):
        multiplied = codes.multiplied(key, multiplied)
    return own.codes(multiplied, BITS)


def test_another_key_purpose_or_word_has_another_code() -> None:
    usual = codes_of(blinding(["aspirin"]))
    assert codes_of(blinding(["aspirin"]), SERVER, ANOTHER) != usual
    assert codes_of(blinding(["aspirin"]), ANOTHER, COMPENSATOR) != usual
    assert codes_of(blinding(["aspirin"], purpose="study/ward")) != usual
    assert codes_of(blinding(["Aspirin"])) != usual


def test_a_code_is_that_of_the_rfc_under_both_keys() -> None:
    """The blinding leaves no trace, whatever it is."""
    for seed in range(4):
        own = blinding(["aspirin", "ü"], bytes([seed]) * 32)
        for word, code in zip(own.words, codes_of(own).tolist(), strict=True):
            point = oprf.product(COMPENSATOR, oprf.product(SERVER, oprf.point(own._input(word))))
            whole = int.from_bytes(oprf.finalized(own._input(word), point)[:8], "big")
            assert whole >> 64 - BITS == code


def test_points_are_the_same_again_and_their_number_tells_nothing() -> None:
    one, all_of_them = blinding(["a"]), blinding([str(k) for k in range(MOST)])
    assert one.points() == blinding(["a"]).points()
    assert len(one.points()) == len(all_of_them.points()) == len(blinding([]).points()) == MOST * POINT_BYTES
    assert len(set(_each(one.points()))) == MOST


def test_each_word_column_and_secret_has_its_own_number() -> None:
    """So the points of a word at two cohorts, of two words or at two columns have nothing in common."""
    numbers = [
        blinding([], bytes([k]) * 32, purpose)._number(word)
        for k in range(5)
        for purpose in ("study/drug", "study/ward")
        for word in ("a", "b", "0")
    ]
    assert len(set(numbers)) == 30
    first, second = (blinding(["a"], bytes([k]) * 32).points() for k in (1, 2))
    assert not set(_each(first)) & set(_each(second))


def test_both_holders_are_believed_and_what_comes_back_has_the_length_that_is_foreseen() -> None:
    own = blinding(["aspirin"])
    found = answer(own.points())
    assert len(found) == answer_bytes(len(own.points()))
    assert own.codes(checked(own.points(), found), BITS) == codes_of(own)
    assert answer(own.points()) == found  # so a client that is started again gets the same


NO_POINTS: dict[str, Callable[[bytes], bytes]] = {
    "a byte less": lambda points: points[:-1],
    "beyond the field": lambda points: b"\xff" * len(points),
    "the origin": lambda points: bytes(len(points)),
    "the origin among others": lambda points: bytes(POINT_BYTES) + points[POINT_BYTES:],
    "another form of the origin": lambda points: (2**255 - 19).to_bytes(32, "little") + points[32:],
    "half of all numbers": lambda points: b"\1" + bytes(31) + points[32:],
}


@pytest.mark.parametrize("damage", NO_POINTS)
def test_what_is_no_point_is_refused_by_everybody(damage: str) -> None:
    own = blinding([str(k) for k in range(MOST)])
    with pytest.raises(ProtocolError):
        codes.multiplied(SERVER, NO_POINTS[damage](own.points()))
    with pytest.raises(ProtocolError):
        own.codes(NO_POINTS[damage](codes.multiplied(SERVER, own.points())), BITS)


def by_the_compensator(points: bytes, first: bytes, compensator: bytes = COMPENSATOR) -> bytes:
    """An answer of which the compensator has taken somebody's first part."""
    parts = first + codes.answered(compensator, ABOUT, first[:-PROOF_BYTES])
    return parts + codes.tagged(SEED, ABOUT, parts)


def with_proof(points: bytes, multiplied: bytes, proof: bytes) -> bytes:
    return by_the_compensator(points, multiplied + proof)


def proof_of(key: bytes, points: bytes, about: bytes = ABOUT) -> bytes:
    return codes.answered(key, about, points)[-PROOF_BYTES:]


OF_SERVER, OF_COMPENSATOR = "the server has not", "the compensator has not multiplied"
LIES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "a server's key for one cohort": (lambda points: answer(points, server=ANOTHER), OF_SERVER),
    "a compensator's key for one cohort": (
        lambda points: answer(points, compensator=ANOTHER),
        OF_COMPENSATOR,
    ),
    "the server's points as they came": (
        lambda points: with_proof(points, points, proof_of(SERVER, points)),
        OF_SERVER,
    ),
    "one point under another key": (
        lambda points: with_proof(
            points,
            codes.multiplied(ANOTHER, points[:POINT_BYTES]) + codes.multiplied(SERVER, points[POINT_BYTES:]),
            proof_of(SERVER, points),
        ),
        OF_SERVER,
    ),
    "two points in each other's place": (
        lambda points: with_proof(
            points, codes.multiplied(SERVER, _swapped(points)), proof_of(SERVER, points)
        ),
        OF_SERVER,
    ),
    "a proof of other points": (
        lambda points: with_proof(
            points, codes.multiplied(SERVER, points), proof_of(SERVER, _swapped(points))
        ),
        OF_SERVER,
    ),
    "a proof of another column": (
        lambda points: with_proof(
            points, codes.multiplied(SERVER, points), proof_of(SERVER, points, b"another column")
        ),
        OF_SERVER,
    ),
    "no proof": (lambda points: with_proof(points, codes.multiplied(SERVER, points), b""), OF_SERVER),
    "a proof of nothing": (
        lambda points: with_proof(points, codes.multiplied(SERVER, points), bytes(PROOF_BYTES)),
        OF_SERVER,
    ),
    "a proof by the other holder": (
        lambda points: answer(points, server=COMPENSATOR, compensator=SERVER),
        OF_SERVER,
    ),
    "another cohort's answer": (lambda points: answer(points, seed=bytes(32)), "has not made this answer"),
    "another column's answer": (lambda points: answer(points, about=b"other"), "has not made this answer"),
    "an answer to other points": (lambda points: answer(_swapped(points)), OF_SERVER),
    "no tag": (lambda points: answer(points)[:-TAG_BYTES], "has not made this answer"),
    "nothing": (lambda points: b"", "has not made this answer"),
    "a point less": (lambda points: answer(points[POINT_BYTES:]), OF_SERVER),
}


def _swapped(points: bytes) -> bytes:
    return points[POINT_BYTES : 2 * POINT_BYTES] + points[:POINT_BYTES] + points[2 * POINT_BYTES :]


@pytest.mark.parametrize("lie", LIES)
def test_an_answer_that_is_not_of_both_keys_of_the_study_is_refused(lie: str) -> None:
    """Else each cohort could be given codes of its own, and sums over all would be of one cohort alone."""
    points = blinding(["aspirin"]).points()
    assert checked(points, answer(points))
    make, said = LIES[lie]
    with pytest.raises(ProtocolError, match=said):
        checked(points, make(points))


def test_a_proof_weighs_each_point_by_all_of_them() -> None:
    """Else who makes up products chooses them, one by one, so that the weighed errors add up to 0."""
    points = blinding(["aspirin"]).points()
    made = codes.multiplied(SERVER, points)
    last = oprf.product(ANOTHER, made[-POINT_BYTES:])
    weights = [
        oprf._weights(KEYS[:POINT_BYTES], _each(points), _each(each), codes._context(ABOUT, points, each))
        for each in (made, made[:-POINT_BYTES] + last)
    ]
    assert not set(weights[0]) & set(weights[1])


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
    multiplied = codes.multiplied(SERVER, own.points(done.append))
    assert done == [100, 200, 300, 400]
    own.codes(multiplied, BITS, done.append)
    assert done[4:] == [100, 200]
