"""The panel in chunks: neighbouring variants of one class of chromosomes, asked about together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, ClassVar, Self, cast

import numpy as np

from unpooled.asking.cohort import Cohort, blocks
from unpooled.asking.procedure import Study
from unpooled.asking.question import Foreseen, Question
from unpooled.asking.sizes import Sizes, chromosomes
from unpooled.plan.plan import Plan

DIPLOID, X, Y, MT = "diploid", "X", "Y", "MT"
"""Classes of chromosomes; `DIPLOID` are the autosomes, unplaced variants, and XY."""


@dataclass(frozen=True)
class Chunk:
    """The variants with panel indices from `start` to before `stop`."""

    name: ClassVar[str] = "chunk"

    start: int
    stop: int
    chromosome: str
    """Their class of chromosomes, or a coding of it."""

    @property
    def variants(self) -> int:
        return self.stop - self.start


def chromosome_class(code: int, autosomes: int) -> str:
    """`DIPLOID`, `X`, `Y` or `MT` for a chromosome code, where X is one more than the number of autosomes."""
    return {autosomes + 1: X, autosomes + 2: Y, autosomes + 4: MT}.get(code, DIPLOID)


def chunks_of(study: Study) -> tuple[Chunk, ...]:
    """The panel in chunks of at most `plan.chunk_size` variants; of a study of one chromosome, that one's."""
    codes, only = study.panel.chromosome, study.chromosome
    if only is None:
        return tuple(_chunks(codes, study.plan))
    return tuple(
        Chunk(start + chunk.start, start + chunk.stop, chunk.chromosome)
        for start, stop in _runs(codes)
        if autosome(int(codes[start]), study.plan) == only
        for chunk in _chunks(codes[start:stop], study.plan)
    )


def autosome(code: int, plan: Plan) -> int:
    """The code of an autosome; 0 for any other."""
    return code if code <= plan.autosomes else 0


def _runs(codes: np.ndarray) -> Iterator[tuple[int, int]]:
    """Each chromosome's first panel index, and the one behind its last."""
    edges = (np.flatnonzero(np.diff(codes)) + 1).tolist()
    ends = zip([0, *edges], [*edges, len(codes)], strict=True)
    return ((start, stop) for start, stop in ends if start < stop)


def autosomal_chunks(study: Study) -> list[Chunk]:
    """Return the chunks on the autosomes."""
    return [chunk for chunk in chunks_of(study) if chunk.chromosome == DIPLOID]


def foreseen_chunks(plan: Plan, sizes: Sizes | None) -> tuple[Chunk, ...] | None:
    """Return the chunks of a panel with all of a cohort's variants: none has more. None without the sizes."""
    codes = chromosomes(sizes, plan.autosomes)
    return None if codes is None else tuple(_chunks(codes, plan))


def foreseen_autosomal(plan: Plan, sizes: Sizes | None) -> list[Chunk] | None:
    """Return the foreseen chunks on the autosomes. None without the sizes."""
    found = foreseen_chunks(plan, sizes)
    return None if found is None else [chunk for chunk in found if chunk.chromosome == DIPLOID]


def _chunks(codes: np.ndarray, plan: Plan) -> Iterator[Chunk]:
    runs = [
        (start, stop, chromosome_class(int(codes[start]), plan.autosomes)) for start, stop in _runs(codes)
    ]
    for chromosome, parts in groupby(runs, key=lambda run: run[2]):
        bounds = [bound for start, stop, _ in parts for bound in (start, stop)]
        for start in range(bounds[0], bounds[-1], plan.chunk_size):
            yield Chunk(start, min(start + plan.chunk_size, bounds[-1]), chromosome)


def foreseen_of(
    chunks: Iterable[Chunk] | None, ask: Callable[[Chunk], Question], *, exact: bool = False, **rounds: int
) -> Foreseen | None:
    """Foresee a question about each chunk; None without the chunks."""
    return None if chunks is None else Foreseen([ask(chunk) for chunk in chunks], exact=exact, **rounds)


def flags(chunk: Chunk, variants: np.ndarray, wanted: np.ndarray | int = 1) -> np.ndarray:
    """Flag a chunk's variants: uint8 (variants,), `wanted` for those given (panel indices), else 0."""
    asked = np.zeros(chunk.variants, np.uint8)
    asked[variants - chunk.start] = wanted
    return asked


class OfAsked(Question):
    """About the variants of a chunk with a flag other than 0."""

    start: int
    """Panel index of the chunk's first variant"""
    asked: np.ndarray
    """uint8 (variants of the chunk,): what is asked of each; 0 for nothing"""

    @property
    def reach(self) -> int:
        return self.start + len(self.asked)

    @property
    def variants(self) -> int:
        return int(np.count_nonzero(self.asked))

    @property
    def items(self) -> np.ndarray:
        """The panel indices of what is asked about: int64 (m,)."""
        return np.asarray(self.start + np.flatnonzero(self.asked))


class OfChunk(Question):
    """About the variants with panel indices from `start` to before `stop`."""

    start: int
    stop: int

    @property
    def variants(self) -> int:
        return self.stop - self.start

    def parts(self, cohort: Cohort) -> Iterable[Question]:
        for part in blocks(self.variants, len(cohort.samples)):
            yield replace(cast(Any, self), start=self.start + part.start, stop=self.start + part.stop)


class ByVariant:
    """Base of records whose arrays have a row for each of m variants."""

    def some(self, which: np.ndarray) -> Self:
        """Select some of the variants: bool (m,), or their places."""
        return self._with({name: column[which] for name, column in self._columns().items()})

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Join one or more, which share whatever is not by variant."""
        each = [part._columns() for part in parts]
        return parts[0]._with({name: np.concatenate([one[name] for one in each]) for name in each[0]})

    # Of all that a record holds, arrays are by variant: a record with others must select for itself.
    def _columns(self) -> dict[str, np.ndarray]:
        return {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)}

    def _with(self, columns: dict[str, np.ndarray]) -> Self:
        return cast(Self, replace(cast(Any, self), **columns))
