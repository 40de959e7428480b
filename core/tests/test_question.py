"""Shares: what a question declares is packed, bounded, checked, and noise is never taken for a sum."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unpooled import question as questions
from unpooled.check import check_of
from unpooled.errors import BoundError, CodecError, ProtocolError
from unpooled.protocol.masking import Gaussian, Modular, Scheme, scheme
from unpooled.protocol.ring import Ring
from unpooled.question import Arrays, Count, Question, Real

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
        Real("scores", ("variants",), 8.0, "precision", "sums of scores", "scores"),
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


def test_words_are_the_declared_arrays_and_the_check() -> None:
    for kind, check in zip(ALL, (8, 4, 2, 2), strict=True):
        assert questions.words(ASKED, kind) == check + 4 * 2 + 4 + 1
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
    """For the person at the cohort. What is fit for the server names none, whatever they are called."""
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
        kind.set_check(changed, check_of(changed, kind, SALT, K))
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
