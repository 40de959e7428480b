"""Shares: what a question declares is packed, bounded and checked; noise is never taken for a sum."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from hypothesis import given
from hypothesis import strategies as st

from unpooled.asking import question as questions
from unpooled.asking import share_check
from unpooled.asking.question import Arrays, Bits, Count, Question, Real, Residue
from unpooled.asking.share_check import check_of
from unpooled.errors import BoundError, CodecError, ProtocolError
from unpooled.protocol.masking import Gaussian, Modular, Scheme, scheme
from unpooled.protocol.ring import Ring
from unpooled.protocol.witness import Witnessed

K, SALT = 3, bytes(range(32))
MODULAR = [Modular(Ring(bits)) for bits in (32, 64, 128)]
ALL: list[Scheme] = [*MODULAR, Gaussian(1e6)]


@dataclass(frozen=True)
class Sums(Question):
    """Counts and reals, of shapes and bounds that its fields decide."""

    name: ClassVar[str] = "test/sums"
    title: ClassVar[str] = "Sum things"
    sends: ClassVar[tuple[Count | Real, ...]] = (
        Count("calls", ("variants", 2), "most", "calls of each allele", "calls"),
        Real("scores", ("variants",), 8.0, "sums of scores", "scores", fraction_bits="precision"),
        Count("people", (), 10, "number of people", "people"),
    )

    variants: int
    most: int = 100
    precision: int = 12


ASKED = Sums(4)


def pack(
    question: Question, values: Arrays, kind: Scheme, cohorts: int, columns: Sequence[str] = ()
) -> np.ndarray:
    return questions.pack(question, values, kind, cohorts, SALT, columns)


def unpack(question: Question, total: np.ndarray, kind: Scheme, cohorts: int) -> dict[str, np.ndarray]:
    return questions.unpack(question, total, kind, cohorts, SALT)


def arrays(question: Sums = ASKED, **changes: Any) -> dict[str, np.ndarray]:
    n = question.variants
    made: dict[str, Any] = {
        "calls": np.arange(2 * n).reshape(n, 2),
        "scores": np.linspace(-8, 8, n),
        "people": np.array(7),
    }
    return made | changes


def summed(kind: Scheme, shares: list[np.ndarray]) -> np.ndarray:
    total = kind.zeros(len(shares[0]))
    for share in shares:
        total = kind.add(total, share)
    return total


def test_words_are_the_declared_arrays_and_the_checks() -> None:
    for kind, of_checks in zip(ALL, (16, 8, 4, 2), strict=True):
        assert questions.words(ASKED, kind) == of_checks + 4 * 2 + 4 + 1
        assert len(pack(ASKED, arrays(), kind, K)) == questions.words(ASKED, kind)


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.label)
def test_the_sum_of_shares_unpacks_to_the_sums(kind: Scheme) -> None:
    total = unpack(ASKED, summed(kind, [pack(ASKED, arrays(), kind, K)] * K), kind, K)
    assert set(total) == {"calls", "scores", "people"}
    assert total["calls"].dtype == np.int64 and total["calls"].tolist() == (K * arrays()["calls"]).tolist()
    np.testing.assert_allclose(total["scores"], K * arrays()["scores"], atol=K * 2.0**-13)
    assert total["people"].shape == () and total["people"] == 21


@pytest.mark.parametrize("kind", MODULAR, ids=lambda kind: kind.label)
@given(data=st.data())
def test_any_numbers_within_their_bounds(kind: Scheme, data: st.DataObject) -> None:
    question = Sums(data.draw(st.integers(0, 3)), most=data.draw(st.integers(1, 10**6)))
    counts = st.integers(0, question.most)
    own = [
        arrays(
            question,
            calls=np.array(data.draw(lists(counts, 2 * question.variants)), np.int64).reshape(-1, 2),
            scores=np.array(data.draw(lists(st.floats(-8, 8), question.variants)), np.float64),
            people=np.array(data.draw(st.integers(0, 10))),
        )
        for _ in range(K)
    ]
    total = unpack(question, summed(kind, [pack(question, one, kind, K) for one in own]), kind, K)
    assert total["calls"].tolist() == np.sum([one["calls"] for one in own], axis=0).tolist()
    np.testing.assert_allclose(
        total["scores"], np.sum([one["scores"] for one in own], axis=0), atol=K * 2.0**-13
    )


def lists(elements: st.SearchStrategy[Any], size: int) -> st.SearchStrategy[list[Any]]:
    return st.lists(elements, min_size=size, max_size=size)


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.label)
@pytest.mark.parametrize(
    "change",
    [
        {"calls": np.full((4, 2), -1)},
        {"scores": np.array([0, 0, 0, 8.001])},
        {"scores": np.array([0, 0, 0, -9.0])},
        {"scores": np.array([0, np.nan, 0, 0])},
        {"scores": np.array([0, np.inf, 0, 0])},
        {"people": np.array(11)},
    ],
)
def test_a_number_beyond_its_bound_is_never_sent(kind: Scheme, change: dict[str, Any]) -> None:
    (name,) = change
    with pytest.raises(BoundError, match=name) as caught:
        pack(ASKED, arrays(**change), kind, K)
    for value in ("8.001", "nan", "11"):  # the quantity, never the value
        assert value not in str(caught.value)


@pytest.mark.parametrize("beyond", [[2], [0, 1], [0, 1, 2, 3]])
def test_the_columns_that_are_beyond_are_named(beyond: list[int]) -> None:
    """The person at the cohort reads the names. The text for the server has none, whatever they are."""
    columns = ("people", "glucose", "calls", "age")
    scores = np.zeros(4)
    scores[beyond] = -9
    with pytest.raises(BoundError) as caught:
        pack(ASKED, arrays(scores=scores), MODULAR[0], K, columns)
    named = [columns[k] for k in beyond]
    said = ", ".join(named[:3]) + (" and 1 more" if len(named) > 3 else "")
    assert f"scores of {said} is beyond" in str(caught.value)
    assert f"missing codes of {said} in" in str(caught.value) and caught.value.quantity == "scores"


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.label)
def test_a_bound_that_the_server_chose_does_not_decide_whether_a_cohort_answers(kind: Scheme) -> None:
    """Else a server that asks the same under many bounds learns how large one cohort's numbers are."""
    for most in (0, 3, 6, 7, 100):
        assert len(pack(Sums(4, most=most), arrays(), kind, K)) == questions.words(ASKED, kind)


@pytest.mark.parametrize(("kind", "most"), [(MODULAR[0], 2**31), (MODULAR[1], 2**63 - 1), (ALL[3], 2**53)])
def test_a_number_that_the_ring_cannot_sum_is_never_sent(kind: Scheme, most: int) -> None:
    with pytest.raises(BoundError, match="calls") as caught:
        pack(ASKED, arrays(calls=np.full((4, 2), most)), kind, K)
    assert str(most) not in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        {"calls": np.zeros((4, 3), int)},
        {"calls": np.zeros(8, int)},
        {"scores": np.zeros(5)},
        {"people": np.zeros(1, int)},
        {"calls": np.zeros((4, 2))},
        {"calls": np.full((4, 2), np.nan)},
    ],
)
def test_another_shape_or_type_than_declared_is_an_error(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(change))):
        pack(ASKED, arrays(**change), MODULAR[0], K)


@pytest.mark.parametrize(
    ("question", "bits", "cohorts"),
    [
        (Sums(1, most=(2**31 - 1) // 3 + 1), 32, 3),
        (Sums(1, most=100), 32, 2**31 // 100 + 1),
        (Sums(1, precision=28), 32, 3),
        (Sums(1, precision=59), 64, 3),
        (Sums(1, most=2**61), 64, 4),
        (Sums(1, precision=10**9), 128, 3),
        (Sums(1, most=-1), 64, 3),
    ],
)
def test_a_question_whose_sum_could_overflow_is_refused_before_any_number_is_seen(
    question: Sums, bits: int, cohorts: int
) -> None:
    with pytest.raises(BoundError, match="could overflow"):
        pack(question, arrays(question), Modular(Ring(bits)), cohorts)


def test_a_sum_at_the_very_bound_is_right() -> None:
    most = (2**31 - 1) // 3
    question = Sums(1, most=most)
    share = pack(question, arrays(question, calls=np.full((1, 2), most)), MODULAR[0], K)
    assert unpack(question, summed(MODULAR[0], [share] * K), MODULAR[0], K)["calls"].tolist() == [
        [3 * most] * 2
    ]


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.label)
def test_noise_is_noticed(kind: Scheme) -> None:
    """Masks that do not cancel, because one cohort was asked another question."""
    words = questions.words(ASKED, kind)
    for _ in range(20):
        noise = kind.from_stream(os.urandom(kind.stream_bytes(words)), words)
        with pytest.raises(ProtocolError, match="do not cancel"):
            unpack(ASKED, kind.add(summed(kind, [pack(ASKED, arrays(), kind, K)] * K), noise), kind, K)


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.label)
def test_a_share_too_few_or_too_many_is_noticed(kind: Scheme) -> None:
    share = pack(ASKED, arrays(), kind, K)
    for count in (1, K - 1, K + 1):
        with pytest.raises(ProtocolError, match="do not cancel"):
            unpack(ASKED, summed(kind, [share] * count), kind, K)


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.label)
def test_a_total_of_another_length_is_noticed(kind: Scheme) -> None:
    total = summed(kind, [pack(ASKED, arrays(), kind, K)] * K)
    for wrong in (total[1:], np.concatenate([total[:1], total])):
        with pytest.raises(ProtocolError, match="words"):
            unpack(ASKED, wrong, kind, K)


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.label)
def test_a_count_that_no_cohorts_could_have_sent_is_noticed(kind: Scheme) -> None:
    total = summed(kind, [pack(ASKED, arrays(), kind, K)] * K)
    for wrong in (-1, 301):
        changed = total.copy()
        changed[kind.check_words :][:1] = kind.encode_integers(np.array([wrong]))
        kind.set_checks(changed, check_of(changed, kind, SALT, K))
        with pytest.raises(ProtocolError, match="outside"):
            unpack(ASKED, changed, kind, K)


def test_a_question_comes_back_as_it_was() -> None:
    assert questions.decode(questions.encode(Sums(9)), [Sums]) == Sums(9)


def test_what_is_no_question_is_refused() -> None:
    with pytest.raises(CodecError):
        questions.decode(b"N", [Sums])
    with pytest.raises(CodecError):
        questions.decode(questions.encode(ASKED), [])


def test_labels_of_schemes_used_here_are_known() -> None:
    assert [scheme(kind.label) for kind in ALL] == ALL


RINGS = [Modular(Ring(bits)) for bits in (32, 64, 128)]
kinds = st.sampled_from(RINGS)
each_ring = pytest.mark.parametrize("kind", RINGS, ids=lambda kind: kind.label)


def coefficients(salt: bytes, count: int) -> list[int]:
    key = HKDF(SHA256(), length=32, salt=None, info=b"unpooled/check/1").derive(salt)
    stream = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor().update(bytes(8 * count))
    return [int.from_bytes(stream[at : at + 8], "little") for at in range(0, len(stream), 8)]


def slow_check(numbers: list[int], salt: bytes, shares: int) -> int:
    """Compute the check with Python's integers."""
    first, *others = coefficients(salt, 1 + len(numbers))
    return shares * first + sum(c * x for c, x in zip(others, numbers, strict=True))


def vector(kind: Modular, numbers: list[int]) -> np.ndarray:
    """Signed integers as words, behind empty checks."""
    data = b"".join((n % 2**kind.ring.bits).to_bytes(kind.word_bytes, "little") for n in numbers)
    return np.concatenate([kind.zeros(kind.check_words), kind.from_bytes(data, len(numbers))])


def share(kind: Modular, numbers: list[int], salt: bytes) -> np.ndarray:
    made = vector(kind, numbers)
    kind.set_checks(made, check_of(made, kind, salt))
    return made


def summed_up(kind: Modular, shares: list[np.ndarray]) -> np.ndarray:
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
@pytest.mark.parametrize(
    "size", [share_check._BLOCK - 1, share_check._BLOCK, share_check._BLOCK + 1, 2 * share_check._BLOCK + 5]
)
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
    total = summed_up(kind, [share(kind, own, salt) for own in numbers])
    sums = [sum(column) for column in zip(*numbers, strict=True)]
    assert total.tobytes()[64:] == vector(kind, sums).tobytes()[64:]
    assert kind.has_check(total, slow_check(sums, salt, cohorts))


# What the server sees is a function of the sum.


def without_carries(kind: Modular, shares: list[np.ndarray]) -> np.ndarray:
    """Weakened: the words of a check are added as the others are."""
    return functools.reduce(kind.add_words, shares)


def different_totals(kind: Modular, add: Callable[[Modular, list[np.ndarray]], np.ndarray]) -> int:
    """Count the different totals of ways to share the same sums out among three cohorts."""
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
        assert different_totals(kind, summed_up) == 1


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
    """Count the false sums that pass: in each try under another salt. Weakened: by another rule, or modulo
    less.
    """
    found = 0
    for _ in range(tries):
        salt, shares = os.urandom(32), []
        for own in ([1, -2, 3], [40, 50, -60], [700, 800, 900]):
            made = vector(kind, own)
            kind.set_checks(made, rule(made, kind, salt))
            shares.append(made)
        total = summed_up(kind, shares)
        assert kind.has_check(total, rule(total, kind, salt, 3))
        change(total)
        found += (rule(total, kind, salt, 3) - kind._checks(total)[0]) % modulus == 0
    return found


def bits_of(kind: Modular, places: list[int]) -> Iterator[tuple[int, int]]:
    for place in places:
        yield from ((place, bit) for bit in range(kind.ring.bits))


def flip(total: np.ndarray, place: int, bit: int) -> None:
    data = total.reshape(len(total), -1)[place].view(np.uint8)
    data[bit // 8] ^= 1 << (bit % 8)


@each_ring
def test_every_flipped_bit_is_found(kind: Modular) -> None:
    """The bits are those of a word, of the last one, and of the check."""
    places = [0, kind.check_words // 2 - 1, kind.check_words, kind.check_words + 2]
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
        kind.set_checks(one, int.from_bytes(os.urandom(8), "little"))
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
    total = summed_up(kind, [share(kind, [1, 2, 3], salt)] * 3)
    total[kind.check_words :] = vector(kind, [-4, 5, 6])[kind.check_words :]
    assert not kind.has_check(total, check_of(total, kind, salt, 3))
    kind.set_checks(total, slow_check([-4, 5, 6], salt, 3))
    assert kind.has_check(total, check_of(total, kind, salt, 3))
    assert not kind.has_check(total, check_of(total, kind, os.urandom(32), 3))


def test_gaussian_masks_keep_a_constant() -> None:
    kind = Gaussian(1e6)
    for numbers in ([1.0, 2.0], [-3.5, 1e9]):
        made: Any = np.concatenate([kind.zeros(kind.check_words), np.array(numbers)])
        assert check_of(made, kind, os.urandom(32), 3) == 3


# The second check: what a cohort makes sure of when it is told sums. A server has the salt, and no witness.

WITNESSED = Witnessed(os.urandom(32), 7, os.urandom(32))


def of_cohort(place: int) -> Witnessed:
    return replace(WITNESSED, adds_pad=place == 0)


def told(question: Question, values: Sequence[Arrays], kind: Scheme) -> np.ndarray:
    """The sum of what the cohorts pack."""
    shares = [
        questions.pack(question, own, kind, K, SALT, witnessed=of_cohort(place))
        for place, own in enumerate(values)
    ]
    return functools.reduce(kind.add, shares)


def verified(
    total: np.ndarray,
    kind: Scheme,
    question: Question = ASKED,
    salt: bytes = SALT,
    witnessed: Witnessed = WITNESSED,
) -> dict[str, np.ndarray]:
    return questions.verified(question, kind.to_bytes(total), kind, K, salt, witnessed)


def forged(total: np.ndarray, kind: Modular) -> np.ndarray:
    """Set the first check to that of what the sums are by now: the server can make it."""
    data = kind.to_bytes(total[: kind.check_words])
    kind.set_checks(total, check_of(total, kind, SALT, K), int.from_bytes(data[32:], "little"))
    return total


each_scheme = pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.label.partition(":")[0])


@each_scheme
def test_sums_that_are_told_as_they_are_pass(kind: Scheme) -> None:
    values = [arrays(scores=np.full(4, value)) for value in (-3.5, 0.25, 1.0)]
    found, sums = verified(total := told(ASKED, values, kind), kind), unpack(ASKED, total, kind, K)
    assert found.keys() == sums.keys()
    for name, array in sums.items():
        np.testing.assert_array_equal(found[name], array)


@each_ring
def test_no_changed_sum_passes_the_second_check(kind: Modular) -> None:
    """A word, or the check itself, by one bit; the first check is made to fit."""
    total = told(ASKED, [arrays()] * K, kind)
    places = [kind.check_words // 2, kind.check_words - 1, kind.check_words, len(total) - 1]
    for place, bit in bits_of(kind, places):
        flip(changed := total.copy(), place, bit)
        with pytest.raises(ProtocolError, match="what the server tells"):
            verified(forged(changed, kind), kind)


@each_ring
def test_sums_that_are_one_anothers_do_not_pass_either(kind: Modular) -> None:
    total = told(ASKED, [arrays(calls=np.arange(8).reshape(4, 2))] * K, kind)
    turn_around(kind)(total)
    with pytest.raises(ProtocolError, match="what the server tells"):
        verified(forged(total, kind), kind)


@each_ring
def test_a_sum_of_another_round_question_or_study_is_refused(kind: Modular) -> None:
    total = told(ASKED, [arrays()] * K, kind)
    assert verified(total, kind)
    for change in ({"round": 8}, {"question": os.urandom(32)}, {"witness": os.urandom(32)}):
        with pytest.raises(ProtocolError, match="what the server tells"):
            verified(total, kind, witnessed=replace(WITNESSED, **change))
        assert replace(WITNESSED, **change).key != WITNESSED.key
    with pytest.raises(ProtocolError, match="do not cancel"):  # a salt is in the digest, too
        verified(total, kind, salt=os.urandom(32))
    with pytest.raises(ProtocolError, match="bytes"):
        verified(total, kind, question=Sums(5))


@each_ring
def test_a_sum_without_the_first_cohort_or_with_it_twice_is_refused(kind: Modular) -> None:
    one = functools.partial(questions.pack, ASKED, arrays(), kind, K, SALT)
    shares = [one(witnessed=of_cohort(place)) for place in range(K)]
    for chosen in ((1, 1, 2), (0, 0, 2), (1, 2)):
        total = functools.reduce(kind.add, [shares[place] for place in chosen])
        with pytest.raises(ProtocolError, match="what the server tells"):
            verified(forged(total, kind), kind)


@each_ring
def test_who_knows_the_sums_but_no_witness_finds_no_coefficient(kind: Modular) -> None:
    """Sums are 0 but for one word: without a pad a division finds what this word is multiplied by."""
    for _ in range(20):
        round_ = replace(WITNESSED, question=os.urandom(32))
        total = vector(kind, [0, 0, 5, 0])
        bare = share_check.second_check_of(total, kind, round_, padded=False)
        padded = share_check.second_check_of(total, kind, round_, padded=True)
        assert bare % 5 == 0 and bare // 5 < 2**64
        assert padded % 2**256 > 2**200


@dataclass(frozen=True)
class Wrapping(Question):
    """Residues, which wrap modulo 2^64."""

    name: ClassVar[str] = "test/wrapping"
    title: ClassVar[str] = "Wrap things"
    sends: ClassVar[tuple[Residue, ...]] = (Residue("hashes", (2,), "hashes", "hashes"),)
    ring_bits: ClassVar[int] = 64


@dataclass(frozen=True)
class Compared(Question):
    """Counts that nobody reads."""

    name: ClassVar[str] = "test/compared"
    title: ClassVar[str] = "Compare things"
    sends: ClassVar[tuple[Count, ...]] = (Count("people", (1,), 10, "people", "nothing"),)
    opens: ClassVar[Bits | None] = Bits("enough", (1,), "at-least", "whether there are enough")


def test_sums_that_may_wrap_or_are_compared_have_no_second_check() -> None:
    kind, hashes = Modular(Ring(64)), np.array([2**64 - 1, 2**63], np.uint64)
    total = told(Wrapping(), [{"hashes": hashes}] * K, kind)
    assert kind.has_check(total, K) and kind.has_second_check(total, 0)
    found = verified(total, kind, Wrapping())["hashes"]
    assert found.tolist() == [2**64 - 3, 2**63]
    total = told(Compared(), [{"people": np.array([3])}] * K, kind)
    assert kind.has_check(total, K) and kind.has_second_check(total, 0)
    with pytest.raises(ProtocolError, match="read by nobody"):
        verified(total, kind, Compared())
