"""A federated algorithm is a handful of steps: a question to the cohorts, and what follows from the sum.

         cohort                                         server
    step.local(cohort) -> arrays   ── masked sum ──▶   step.aggregate(total) -> next steps and result rows

A step is a frozen dataclass; its fields are the whole message that cohorts receive and the whole state that
the server keeps (a field made with `server_only` stays there). `sends` declares every array that leaves a
cohort, and from it follow the upload's exact length, the proof that no sum can overflow, the screen on which
a person consents, and the table in the documentation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from unpooled.check import check_of
from unpooled.cohort import Cohort
from unpooled.errors import BoundError, CodecError, ProtocolError, listed
from unpooled.plan import Plan
from unpooled.protocol import codec
from unpooled.protocol.codec import server_only
from unpooled.protocol.masking import Scheme
from unpooled.sizes import Sizes

__all__ = [
    "Arrays",
    "Asking",
    "Count",
    "Filled",
    "Foreseen",
    "Real",
    "Rows",
    "Step",
    "at_turn",
    "check_fits",
    "pack",
    "server_only",
    "unpack",
    "without_turn",
    "words",
]

Arrays: TypeAlias = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Count:
    """Declares an array of whole numbers from 0 to `bound` that leaves a cohort.

    `dims` and `bound` are numbers, or names of attributes of the step; `meaning` is read by people. A bound
    that is an attribute sizes the sum; it does not decide whether a cohort answers. `learns` says for people
    what the sum over all cohorts tells whoever reads it.
    """

    name: str
    dims: tuple[str | int, ...]
    bound: str | int
    meaning: str
    learns: str


@dataclass(frozen=True)
class Real:
    """Declares an array of real numbers of magnitude up to `bound`, sent in units of 2^-fraction_bits."""

    name: str
    dims: tuple[str | int, ...]
    bound: str | float
    fraction_bits: str | int
    meaning: str
    learns: str


@dataclass(frozen=True, eq=False)
class Rows:
    """Finished result rows: columns of equal length for a named table.

    The first is the index by which the table is sorted: of a variant in the panel, of a feature in the plan.
    """

    table: str
    columns: Mapping[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Asking:
    """What a cohort counts of a question, so that none is asked more often than an honest study asks it.

    Without a word of its own a kind of question is asked once.
    """

    search: str = ""
    """Questions of one kind are counted apart where this differs."""
    items: np.ndarray | None = None
    """int64: what it is about, panel indices or features; None where it is not about single ones."""
    most: int = 1
    """How often each may be asked about."""


@dataclass(frozen=True, eq=False)
class Filled:
    """What a question takes missing calls for."""

    variants: np.ndarray
    """Panel indices, (m,)."""
    values: np.ndarray
    """float64 (m, 3): flags of the question, and as what share of all copies that a person of up to two
    groups can have a missing call counts: the same however copies are counted."""


@dataclass(frozen=True, eq=False)
class Foreseen:
    """What of a step's questions is known before a study: they tell how large the answers will be."""

    questions: Iterable[Step]
    """Those of one round. Of their fields only those hold that decide on the shape of an answer."""
    rounds: int = 1
    exact: bool = True
    """Whether it will be these; else neither questions nor rounds can be larger or more."""
    usual_rounds: int | None = None
    """How many rounds there are as a rule, where that is far from the most."""


class Step:
    """Base of all steps. Subclasses are frozen dataclasses listed by their algorithm."""

    name: ClassVar[str]  # in messages, e.g. "chi-square/genotypes"
    title: ClassVar[str]  # for people, e.g. "Count genotypes"
    sends: ClassVar[tuple[Count | Real, ...]]
    each: ClassVar[Mapping[str, str]] = {}
    """For people, what there is one of along a dimension in `sends`: "variants" is of a "variant"."""
    ring_bits: ClassVar[int] = 32

    @property
    def reach(self) -> int:
        """Panel index behind the last variant that is asked about; 0 where it is about none."""
        return int(getattr(self, "stop", 0))

    @property
    def turn(self) -> int:
        """Of a step that is iterated, which iteration this question is of, from 1; else 0."""
        return 0

    @classmethod
    def sends_under(cls, plan: Plan) -> tuple[Count | Real, ...]:
        """Those of `sends` that this step can have numbers for under a plan."""
        return cls.sends

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        """What a cohort with data of these sizes will be asked; None where the sizes do not tell."""
        return None

    def agrees(self, plan: Any) -> bool:
        """Whether the accepted plan allows this question: asked at the cohort, before `local`."""
        return True

    def columns_under(self, plan: Plan) -> Sequence[str]:
        """Of a question about columns of a plan, the name for each row of its arrays; else none."""
        return ()

    def fits_panel(self, chromosomes: np.ndarray, plan: Any) -> bool:
        """Whether the agreed variants, of these chromosome codes, are what the question takes them for."""
        return self.reach <= len(chromosomes)

    def asking(self) -> Asking:
        """What is counted of this question in the cohort's book."""
        return Asking()

    def goes_on_from(self, earlier: Any) -> bool:
        """Whether one study can ask both this and an earlier question of the same kind."""
        return True

    def filled(self) -> Filled | None:
        """What missing calls are taken for, where the question says so: a cohort keeps to the first."""
        return None

    def local(self, cohort: Cohort) -> Arrays:
        """At the cohort: the declared arrays, of int64 or float64."""
        raise NotImplementedError

    def aggregate(self, total: Arrays) -> Iterator[Step | Rows]:
        """At the server: what follows from the sums, which have been checked against the declaration."""
        raise NotImplementedError


def at_turn(title: str, plan: Plan, first: int, last: int) -> str:
    """A step's title for people, with the iterations that its questions are of: none if these are 0."""
    if not last:
        return title
    at = f"iteration {last}" if first == last else f"iterations {first} to {last}"
    return f"{title}: {at} of at most {plan.max_iterations}"


def without_turn(title: str) -> str:
    """A step's title without what `at_turn` has added."""
    return title.partition(": iteration")[0]


def shape(step: Step, array: Count | Real) -> tuple[int, ...]:
    return tuple(_resolve(step, dim) for dim in array.dims)


def words(step: Step, scheme: Scheme) -> int:
    """Exact number of words in one cohort's share of a step."""
    return scheme.check_words + sum(math.prod(shape(step, array)) for array in step.sends)


def check_fits(step: Step, scheme: Scheme, cohorts: int) -> None:
    """BoundError unless the sum over `cohorts` of every declared array fits the scheme."""
    for array in step.sends:
        if not scheme.fits(cohorts, _resolve(step, array.bound), _fraction_bits(step, array)):
            text = f"{step.title}: the sum of {array.name} over {cohorts} cohorts could overflow"
            raise BoundError(text, array.name)


def pack(
    step: Step, arrays: Arrays, scheme: Scheme, cohorts: int, salt: bytes, columns: Sequence[str] = ()
) -> np.ndarray:
    """One cohort's share before masking: the check by the round's salt, then every array as declared.

    Raises BoundError if an element cannot be summed safely; of the step's `columns` it names those.
    """
    check_fits(step, scheme, cohorts)
    parts = [scheme.zeros(scheme.check_words)]
    for array in step.sends:
        values = np.asarray(arrays[array.name])
        _check_form(step, array, values)
        if not _may_be_sent(step, array, values, scheme, cohorts):
            rows = zip(columns, values, strict=True) if columns else ()
            bad = [column for column, row in rows if not _may_be_sent(step, array, row, scheme, cohorts)]
            raise _beyond(step, array, bad)
        parts.append(_encode(step, array, values, scheme))
    share = scheme.concatenate(parts)
    scheme.set_check(share, check_of(share, scheme, salt))
    return share


def unpack(step: Step, total: np.ndarray, scheme: Scheme, cohorts: int, salt: bytes) -> dict[str, np.ndarray]:
    """The sums in an unmasked total, as int64 and float64 arrays of the declared shapes.

    Raises ProtocolError if the check is not that of the sums: then the masks did not cancel, because cohorts
    answered different questions, a share was damaged, or what was taken for the sum of the masks is not.
    """
    if len(total) != (want := words(step, scheme)):
        raise ProtocolError(f"{step.title}: got {len(total)} words; want {want}")
    if not scheme.has_check(total, check_of(total, scheme, salt, cohorts)):
        raise ProtocolError(
            "the masks of this round do not cancel: the cohorts were not asked the same question, "
            "a share was damaged, or the compensator's answer is false"
        )
    sums, at = {}, scheme.check_words
    for array in step.sends:
        size = math.prod(shape(step, array))
        sums[array.name] = _decode(step, array, total[at : at + size], scheme, cohorts)
        at += size
    return sums


def _check_form(step: Step, array: Count | Real, values: np.ndarray) -> None:
    if values.shape != (want := shape(step, array)):
        raise ValueError(f"{step.name}: {array.name} has shape {values.shape}; want {want}")
    if isinstance(array, Count) and values.dtype.kind not in "biu":  # a float would be cut off without a word
        raise ValueError(f"{step.name}: {array.name} is of {values.dtype}; want whole numbers")


def _encode(step: Step, array: Count | Real, values: np.ndarray, scheme: Scheme) -> np.ndarray:
    if isinstance(array, Count):
        return scheme.encode_integers(values)
    return scheme.encode_reals(values, _fraction_bits(step, array))


def _may_be_sent(step: Step, array: Count | Real, values: np.ndarray, scheme: Scheme, cohorts: int) -> bool:
    """Whether a cohort's numbers may go into the sum. NaN may not, and no count below 0.

    A bound that the step names is the server's to choose: a cohort that stopped at it would tell, question
    by question, how large its numbers are. There only what the ring holds counts. Of real numbers the server
    also chooses the bits after the point, hence what the ring holds: so a question can still find out whether
    a cohort stops. Without the stop an honest study would end with wrong numbers, and no one would know.
    """
    if not values.size:
        return True
    if isinstance(array, Count) and values.min() < 0:
        return False
    largest = np.abs(values).max()
    if isinstance(array.bound, str):
        return scheme.fits(cohorts, largest.item(), _fraction_bits(step, array))
    return bool(largest <= array.bound)


def _decode(step: Step, array: Count | Real, vector: np.ndarray, scheme: Scheme, cohorts: int) -> np.ndarray:
    if isinstance(array, Real):
        return scheme.decode_reals(vector, _fraction_bits(step, array)).reshape(shape(step, array))
    counts = scheme.decode_integers(vector)
    if counts.size and not 0 <= counts.min() <= counts.max() <= cohorts * _resolve(step, array.bound):
        raise ProtocolError(f"{step.title}: a sum of {array.name} is outside what the cohorts may send")
    return counts.reshape(shape(step, array))


def _beyond(step: Step, array: Count | Real, columns: Sequence[str]) -> BoundError:
    of = f" of {listed(columns)}" if columns else ""
    return BoundError(
        f"{step.title}: {array.name}{of} is beyond the bound that the study agreed on. "
        f"Check the units and missing codes{of} in this cohort's files.",
        array.name,
    )


def _fraction_bits(step: Step, array: Count | Real) -> int:
    return int(_resolve(step, array.fraction_bits)) if isinstance(array, Real) else 0


def _resolve(step: Step, value: str | int | float) -> Any:
    return getattr(step, value) if isinstance(value, str) else value


def encode_for_cohorts(step: Step) -> bytes:
    """A step as cohorts receive it: without the fields that only the server needs."""
    return codec.encode(step, for_cohorts=True)


def encode(step: Step) -> bytes:
    """A step with all its fields, as the server stores it."""
    return codec.encode(step)


def decode(data: bytes, steps: Sequence[type[Step]]) -> Step:
    """The step in `data`, one of the given classes; CodecError for any other bytes."""
    step = codec.decode(data, steps)
    if not isinstance(step, Step):
        raise CodecError("got a value that is no step")
    return step
