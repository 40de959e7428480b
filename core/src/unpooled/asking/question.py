"""Questions, the same for every cohort, and the data that leave the cohorts in answer to them.

         cohort                                                     server
    question.local(cohort) -> arrays   ── masked, added, unmasked ──▶   sums, to the procedure that asked

A question is a frozen dataclass; server and cohorts find it each by themselves, and its digest is in every
mask. `sends` declares every array that leaves a cohort. From it follow the upload's exact length, the proof
that no sum can overflow, the screen on which a person consents, and the table in the documentation. What
asks, and goes on from the sums, is in `unpooled.asking.procedure`.
"""

from __future__ import annotations

import functools
import math
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import numpy as np

from unpooled.asking.cohort import FURTHER_COVARIATES, NORMAL_SCORES
from unpooled.asking.share_check import check_of, second_check_of
from unpooled.asking.sizes import Sizes
from unpooled.errors import BoundError, CodecError, ProtocolError, listed
from unpooled.plan.common_options import MAX_ITERATIONS
from unpooled.plan.plan import Plan
from unpooled.protocol import codec
from unpooled.protocol.masking import NOT_CANCELLED, THIRD_WORDS, Scheme
from unpooled.protocol.witness import Witnessed

Arrays: TypeAlias = Mapping[str, np.ndarray]
Condition: TypeAlias = Callable[[Plan], object]

UNREAD = "nothing: nobody reads this sum"
"""Entry for what the sum of an array tells, where the sums are compared."""


@dataclass(frozen=True)
class Count:
    """Declares an array of whole numbers from 0 to `bound` that leaves a cohort.

    `dims` and `bound` are numbers, or names of attributes of the question; `meaning` is read by people. A
    bound that is an attribute sizes the sum; it does not decide whether a cohort answers. `learns` says for
    people what the sum over all cohorts tells whoever reads it; `of_one` whether that may be of one person.
    """

    name: str
    dims: tuple[str | int, ...]
    bound: str | int
    meaning: str
    learns: str
    of_one: bool = False


@dataclass(frozen=True)
class Real:
    """Declares an array of real numbers of magnitude up to `bound`, sent in units of 2^-fraction_bits.

    Where these are None, they are as many as fit: see `fraction_bits`.
    """

    name: str
    dims: tuple[str | int, ...]
    bound: str | float
    meaning: str
    learns: str
    of_one: bool = False
    fraction_bits: str | int | None = None


@dataclass(frozen=True)
class Residue:
    """Declares an array of uint64 numbers that leaves a cohort, of which the sum modulo 2^64 is meant.

    So nothing can overflow, and the check of a share cannot be of these: it is 1 in every share.
    """

    name: str
    dims: tuple[str | int, ...]
    meaning: str
    learns: str
    of_one: bool = False


@dataclass(frozen=True)
class Bits:
    """Declares what is told of the sums of a question where they are compared, and read by nobody.

    An array of truth values of shape `dims` by which the procedure continues; `learns` says for people what
    it tells. The circuit, as `unpooled.protocol.circuits` names it, takes all arrays of `sends`.
    """

    name: str
    dims: tuple[str | int, ...]
    circuit: str
    learns: str


Sent: TypeAlias = Count | Real | Residue
"""Declaration of an array that leaves a cohort."""


@dataclass(frozen=True, eq=False)
class Foreseen:
    """Forecast of a kind of question before a study: how large the answers will be."""

    questions: Iterable[Question]
    """Questions of one round. Only the fields that decide the shape of an answer are meaningful."""
    rounds: int = 1
    exact: bool = True
    """True if these are the questions; else they are the largest, and the most rounds, that there can be."""
    usual_rounds: int | None = None
    """Number of rounds that there usually are, where that is far from the most."""


class Question:
    """Base of all questions. Subclasses are frozen dataclasses that their algorithm lists."""

    name: ClassVar[str]  # in messages, e.g. "chi-square/genotypes"
    title: ClassVar[str]  # for people, e.g. "Count genotypes"
    sends: ClassVar[tuple[Sent, ...]]
    opens: ClassVar[Bits | None] = None
    """The bits that are read of the sums; None for the sums themselves."""
    each: ClassVar[Mapping[str, str]] = {}
    """Singular of each dimension's name in `sends`, for people: "variant" of "variants"."""
    ring_bits: ClassVar[int] = 32
    asked_if: ClassVar[Condition] = lambda plan: True
    """Condition on the plan for questions of this kind to be asked."""
    only_server: ClassVar[Condition] = lambda plan: False
    """Condition on the plan for cohorts not to be told the sums, on which then no question depends."""
    place_of_phenotype: ClassVar[int] = 0
    """Place of the phenotype that questions of this kind are about, among several."""

    def __init_subclass__(cls, *, name: str = "", title: str = "", ring_bits: int = 0) -> None:
        """Take these three from the head of a class, where it gives them there."""
        super().__init_subclass__()
        declared = {"name": name, "title": title, "ring_bits": ring_bits}
        for attribute, value in declared.items():
            if value:
                setattr(cls, attribute, value)

    @property
    def reach(self) -> int:
        """Panel index behind the last variant that is asked about; 0 where it is about none."""
        return int(getattr(self, "stop", 0))

    @property
    def turn(self) -> int:
        """Iteration, from 1, of a question that is iterated; else 0."""
        return int(getattr(self, "iteration", 0))

    @classmethod
    def most_turns(cls, plan: Plan) -> int:
        """Return the maximum number of iterations, where it is iterated."""
        return int(MAX_ITERATIONS.of(plan))

    @property
    def needs_codes(self) -> bool:
        """True if it is answered by the codes of words (`unpooled.protocol.codes`), to be had first."""
        return False

    @property
    def draws(self) -> bool:
        """True if it is answered by chance: by draws from the table's secret (`unpooled.asking.draws`)."""
        return False

    @classmethod
    def plan_of(cls, plan: Plan) -> Plan:
        """Return the plan that questions of this kind go by in the study of a plan."""
        return plan

    @classmethod
    def goes_over_variants(cls) -> bool:
        """Tell whether questions of this kind are each about a stretch of the panel, from `start` on."""
        return "start" in getattr(cls, "__dataclass_fields__", {})

    @classmethod
    def sends_under(cls, plan: Plan) -> tuple[Sent, ...]:
        """Return the declarations in `sends` that this question can have numbers for under a plan."""
        return cls.sends if cls.asked_if(plan) else ()

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        """Foresee what a cohort with data of these sizes will be asked; None if the sizes do not tell."""
        return None

    def columns_under(self, plan: Plan) -> Sequence[str]:
        """Return the name of each row of its arrays if it asks about columns of a plan; else none."""
        return ()

    def local(self, cohort: Any) -> Arrays:
        """Compute the declared arrays, of int64 or float64, at the cohort: a `Cohort` or a `Table`."""
        raise NotImplementedError

    def derives(self, cohort: Any) -> np.ndarray | None:
        """Compute, at the cohort, numbers of its people, float64 (n, k), for this question and later ones.

        None as a rule. The cohort keeps them; they leave it in no other way than its covariates.
        """
        return None

    @property
    def derived_as(self) -> str:
        """Return the name under which the cohort keeps them: these are covariates, unless it is another."""
        return FURTHER_COVARIATES

    @property
    def uses(self) -> tuple[str, ...]:
        """Return the names of what it is answered with, if the cohort has derived it, beside covariates."""
        return (NORMAL_SCORES,)

    def thresholds(self) -> Arrays:
        """Return the whole numbers, by array, that the server compares sums with in place of 0."""
        return {}

    def parts(self, cohort: Any) -> Iterable[Question]:
        """The question in parts that fit a memory: the rows of their arrays follow one another."""
        return (self,)


@dataclass(frozen=True, eq=False)
class UnderPlan(Question):
    """Base of questions that go by the plan, which server and cohorts have: so it is not sent with them."""

    plan: Plan = field(repr=False, compare=False, metadata=codec.NOT_SENT)

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        """Foresee the question once; those that hold more than the plan say themselves what."""
        return Foreseen([cls(plan)])


def at_turn(title: str, most: int, first: int, last: int) -> str:
    """A title for people, with the iterations, of `most`, that its questions are of: none if these are 0."""
    if not last:
        return title
    at = f"iteration {last}" if first == last else f"iterations {first} to {last}"
    return f"{title}: {at} of at most {most}"


def without_turn(title: str) -> str:
    """A title without what `at_turn` has added."""
    return title.partition(": iteration")[0]


def answer(question: Question, cohort: Any) -> Arrays:
    """Compute a cohort's answer: the arrays of `local`, part by part."""
    parts = [part.local(cohort) for part in question.parts(cohort)] or [question.local(cohort)]
    if len(parts) == 1:
        return parts[0]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def returns(question: Question) -> tuple[str, ...]:
    """The names of the arrays that the procedure gets: of the sums, or of what is told of them."""
    return (question.opens.name,) if question.opens else tuple(array.name for array in question.sends)


def shape(question: Question, array: Sent | Bits) -> tuple[int, ...]:
    return tuple(_resolve(question, dim) for dim in array.dims)


def words(question: Question, scheme: Scheme) -> int:
    """Exact number of words in one cohort's share of a question."""
    sizes = (math.prod(shape(question, array)) for array in question.sends)
    return check_words(question, scheme) + sum(sizes)


def check_words(question: Question | type[Question], scheme: Scheme) -> int:
    """Number of words of its checks: in a share whose sums are compared, the last are the third one."""
    return scheme.check_words + (THIRD_WORDS if question.opens else 0)


def check_fits(question: Question, scheme: Scheme, cohorts: int) -> None:
    """BoundError unless the sum over `cohorts` of every declared array fits the scheme."""
    for array in question.sends:
        if not isinstance(array, Residue) and not scheme.fits(
            cohorts, _resolve(question, array.bound), _fraction_bits(question, array, cohorts)
        ):
            raise BoundError(
                f"{question.title}: the sum of {array.name} over {cohorts} cohorts could overflow",
                "Have fewer cohorts take part, or choose uniform masks of more bits.",
                quantity=array.name,
                field="cohorts",
            )


def pack(
    question: Question,
    arrays: Arrays,
    scheme: Scheme,
    cohorts: int,
    salt: bytes,
    columns: Sequence[str] = (),
    witnessed: Witnessed | None = None,
) -> np.ndarray:
    """One cohort's share before masking: both checks, by the round's salt and witness, then every array.

    Where sums are compared, or may wrap, the checks are 1 and 0 in every share: a combination of sums would
    tell of them, or not fit. The second is also 0 without a witness, where sums are told to nobody. There is
    room for the third check, which is of masked words.

    Raises BoundError if an element cannot be summed safely; of the question's `columns` it names those.
    """
    share = _vector(question, arrays, scheme, cohorts, columns)
    if not _is_combined(question):
        scheme.set_checks(share, 1)
        return share
    second = second_check_of(share, scheme, witnessed, padded=witnessed.adds_pad) if witnessed else 0
    scheme.set_checks(share, check_of(share, scheme, salt), second)
    return share


def rounded(question: Question, arrays: Arrays, scheme: Scheme) -> dict[str, np.ndarray]:
    """One cohort's arrays, as rounded as sums are: for its own eyes, so that nothing is checked."""
    return _sums(question, _vector(question, arrays, scheme, 1), scheme, 1)


def _vector(
    question: Question, arrays: Arrays, scheme: Scheme, cohorts: int, columns: Sequence[str] = ()
) -> np.ndarray:
    """One cohort's share, with room for its checks."""
    check_fits(question, scheme, cohorts)
    parts = [scheme.zeros(scheme.check_words)]
    for array in question.sends:
        values = np.asarray(arrays[array.name])
        _check_form(question, array, values)
        if not _may_be_sent(question, array, values, scheme, cohorts):
            rows = zip(columns, values, strict=True) if columns else ()
            bad = [column for column, row in rows if not _may_be_sent(question, array, row, scheme, cohorts)]
            raise _beyond(question, array, bad)
        parts.append(_encode(question, array, values, scheme, cohorts))
    if question.opens:
        parts.append(scheme.zeros(THIRD_WORDS))
    return np.concatenate(parts)


def unpack(
    question: Question, total: np.ndarray, scheme: Scheme, cohorts: int, salt: bytes
) -> dict[str, np.ndarray]:
    """The sums in an unmasked total, as int64 and float64 arrays of the declared shapes.

    Raises ProtocolError if the check is not that of the sums: then the masks did not cancel, because cohorts
    answered different questions, a share was damaged, or what was taken for the sum of the masks is not.
    """
    if len(total) != (want := words(question, scheme)):
        raise ProtocolError(f"{question.title}: got {len(total)} words; want {want}")
    if question.opens:
        raise ProtocolError(f"{question.title}: these sums are compared, and read by nobody")
    check = check_of(total, scheme, salt, cohorts) if _is_combined(question) else cohorts
    if not scheme.has_check(total, check):
        raise ProtocolError(NOT_CANCELLED)
    return _sums(question, total, scheme, cohorts)


def _sums(question: Question, total: np.ndarray, scheme: Scheme, cohorts: int) -> dict[str, np.ndarray]:
    """Read the arrays behind the checks of a total."""
    sums, at = {}, scheme.check_words
    for array in question.sends:
        size = math.prod(shape(question, array))
        sums[array.name] = _decode(question, array, total[at : at + size], scheme, cohorts)
        at += size
    return sums


def verified(
    question: Question, data: bytes, scheme: Scheme, cohorts: int, salt: bytes, witnessed: Witnessed
) -> dict[str, np.ndarray]:
    """Read the sums in a total that the server sends back to a cohort, as `unpack` gives them.

    Raises ProtocolError unless the second check is that of these sums, in this round, for this question. Sums
    that may wrap, and those under Gaussian masks, have none: these a cohort takes as it is told them.
    """
    total = scheme.from_bytes(data, words(question, scheme))
    second = second_check_of(total, scheme, witnessed, padded=True) if _is_combined(question) else 0
    if not scheme.has_second_check(total, second):
        raise ProtocolError(
            f"{question.title}: what the server tells as the sums of round {witnessed.round} is not what the "
            "cohorts have sent"
        )
    return unpack(question, total, scheme, cohorts, salt)


def _is_combined(question: Question) -> bool:
    """Tell whether the check combines the numbers; it does not if they are compared, or may wrap."""
    return question.opens is None and not any(isinstance(array, Residue) for array in question.sends)


def _check_form(question: Question, array: Sent, values: np.ndarray) -> None:
    if values.shape != (want := shape(question, array)):
        raise ValueError(f"{question.name}: {array.name} has shape {values.shape}; want {want}")
    if isinstance(array, Count) and values.dtype.kind not in "biu":  # a float would be cut off without a word
        raise ValueError(f"{question.name}: {array.name} is of {values.dtype}; want whole numbers")
    if isinstance(array, Residue) and (values.dtype != np.uint64 or question.ring_bits != 64):
        raise ValueError(f"{question.name}: {array.name} is of {values.dtype}; want uint64, in 64 bits")


def _encode(question: Question, array: Sent, values: np.ndarray, scheme: Scheme, cohorts: int) -> np.ndarray:
    if isinstance(array, Residue):
        return values.ravel()
    if isinstance(array, Count):
        return scheme.encode_integers(values)
    return scheme.encode_reals(values, _fraction_bits(question, array, cohorts))


def _may_be_sent(question: Question, array: Sent, values: np.ndarray, scheme: Scheme, cohorts: int) -> bool:
    """Tell whether a cohort's numbers may go into the sum. NaN may not, and no count below 0.

    A bound that the question names follows from sums: a cohort that stopped at it would tell, question by
    question, how large its numbers are. There only what the ring holds counts. Without that stop a study
    would end with wrong numbers, and no one would know.
    """
    if not values.size or isinstance(array, Residue):
        return True
    if isinstance(array, Count) and values.min() < 0:
        return False
    largest = np.abs(values).max()
    if isinstance(array.bound, str):
        return scheme.fits(cohorts, largest.item(), _fraction_bits(question, array, cohorts))
    return bool(largest <= array.bound)


def _decode(question: Question, array: Sent, vector: np.ndarray, scheme: Scheme, cohorts: int) -> np.ndarray:
    if isinstance(array, Residue):
        return vector.reshape(shape(question, array))
    if isinstance(array, Real):
        bits = _fraction_bits(question, array, cohorts)
        return scheme.decode_reals(vector, bits).reshape(shape(question, array))
    counts = scheme.decode_integers(vector)
    if counts.size and not 0 <= counts.min() <= counts.max() <= cohorts * _resolve(question, array.bound):
        raise ProtocolError(f"{question.title}: a sum of {array.name} is outside what the cohorts may send")
    return counts.reshape(shape(question, array))


def _beyond(question: Question, array: Sent, columns: Sequence[str]) -> BoundError:
    of = f" of {listed(columns)}" if columns else ""
    return BoundError(
        f"{question.title}: {array.name}{of} is beyond the bound that the study agreed on",
        f"Check the units and missing codes{of} in this cohort's files.",
        quantity=array.name,
    )


def fraction_bits(bound: float, cohorts: int, ring_bits: int) -> int:
    """The most bits after the point with which `cohorts` numbers of size up to `bound` cannot overflow."""
    return max(0, ring_bits - 2 - int(bound * cohorts).bit_length())


def _fraction_bits(question: Question, array: Sent, cohorts: int) -> int:
    if not isinstance(array, Real):
        return 0
    if array.fraction_bits is None:
        return fraction_bits(_resolve(question, array.bound), cohorts, question.ring_bits)
    return int(_resolve(question, array.fraction_bits))


def _resolve(question: Question, value: str | int | float) -> Any:
    return getattr(question, value) if isinstance(value, str) else value


def encode(question: Question) -> bytes:
    """A question as cohorts receive it."""
    return codec.encode(question)


def pieces(question: Question) -> list[bytes | memoryview]:
    """The same in pieces: what it is about can be large."""
    return codec.pieces(question)


def decode(data: bytes, kinds: Sequence[type[Question]], plan: Plan | None = None) -> Question:
    """The question in `data`, of one of the given kinds, under a plan; CodecError for any other bytes."""
    question = codec.decode(data, _records_of(tuple(kinds)), lambda kind: plan and kind.plan_of(plan))
    if not isinstance(question, Question) or type(question) not in kinds:
        raise CodecError("got a value that is no question, or one of another kind")
    return question


@functools.cache
def _records_of(kinds: tuple[type[Question], ...]) -> Mapping[str, type]:
    """The records that such questions are, or hold, by name."""
    found: dict[str, type] = {kind.name: kind for kind in kinds}
    for kind in kinds:
        hints = typing.get_type_hints(kind)
        held = (hints[each.name] for each in codec.sent(kind))  # type: ignore[arg-type]
        parts: Iterable[Any] = (part for hint in held for part in (hint, *typing.get_args(hint)))
        found |= {part.name: part for part in parts if isinstance(part, type) and hasattr(part, "name")}
    return found
