"""Shapes of the arrays that leave a computer, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from unpooled.asking.question import Count, Question, Sent

_TIMES = " \u00d7 "


def shape_in_words(
    kind: type[Question], array: Sent, shapes: Sequence[tuple[int, ...]] | None, bits: int
) -> str:
    """12,345 variants by 6 groups of people by 3 counts of 32 bits, with signs of multiplication.

    Where the sizes are not known: 3 counts of 32 bits for each variant and group of people.
    """
    unit = "count" if isinstance(array, Count) else "number"
    named = [dim for dim in array.dims if isinstance(dim, str) and dim in kind.each]
    inner = range(len(named), len(array.dims))  # numbers of one such: their dimensions have no name
    if shapes is None:
        each = [kind.each[dim] for dim in named]
        words = f"{_inner([array.dims], inner, unit)} of {bits} bits"
        return f"{words} for each {_and(each)}" if each else words
    if not sum(map(math.prod, shapes)):
        return f"no {unit}s"
    parts = []
    for place, dim in enumerate(named):
        sizes = [shape[place] for shape in shapes]
        # Along the first dimension one question goes on where another ends.
        number = f"{sum(sizes):,}" if place == 0 else _range(sizes)
        parts.append(plural(number, kind.each[dim]))
    if not named and len(shapes) > 1:
        parts.append(f"{len(shapes):,}")
    return _TIMES.join([*parts, f"{_inner(shapes, inner, unit)} of {bits} bits"])


def _inner(shapes: Sequence[tuple[str | int, ...]], inner: range, unit: str) -> str:
    sizes = [[shape[place] for place in inner] for shape in shapes]
    known = [math.prod(dim for dim in found if isinstance(dim, int)) for found in sizes]
    is_known = all(isinstance(dim, int) for found in sizes for dim in found)
    return plural(_range(known), unit) if is_known else f"{unit}s"


def _range(sizes: Sequence[int]) -> str:
    low, high = min(sizes), max(sizes)
    return f"{low:,} to {high:,}" if low < high else f"{low:,}"


def plural(number: str, noun: str) -> str:
    """Return a number of a noun: 1 count, 2 counts, 6 groups of people."""
    if number == "1":
        return f"1 {noun}"
    head, *rest = noun.split(" ")
    return " ".join([number, head + ("es" if head.endswith("x") else "s"), *rest])


def _and(nouns: Sequence[str]) -> str:
    return ", ".join(nouns[:-1]) + (" and " if nouns[:-1] else "") + nouns[-1]
