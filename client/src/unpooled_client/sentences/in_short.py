"""Summary of what will leave this computer, in five lines: people read it before the whole table, or instead
of it.

Made from the rows of that table (`unpooled.described.what_leaves`), so that it cannot say anything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from unpooled.described.what_leaves import (
    BY_SUM,
    COHORT_SUMS,
    EVERYONE_BY_SUM,
    OPERATOR,
    SINGLE_VALUES,
    Form,
    Leaving,
)
from unpooled.errors import listed

_COUNTED = {"samples": "people", "variants": "variants", "rows": "rows", "columns": "columns of numbers"}
"""Sizes that a person knows, by their names in the state: `unpooled_client.study.reading.sizes_of`."""


def in_short(rows: Sequence[Leaving], sizes: Mapping[str, int], how_much: str) -> list[tuple[str, str]]:
    """Summarize of whom, what, who can read it, how much, and what it does not tell."""
    return [
        ("Of whom", _of_whom(sizes)),
        ("What leaves", _what(rows)),
        ("Who can read it", _who(rows)),
        ("How much", how_much),
        ("What it does not tell", _not_told(rows)),
    ]


def _of_whom(sizes: Mapping[str, int]) -> str:
    known = [f"{sizes[name]:,} {noun}" for name, noun in _COUNTED.items() if name in sizes]
    return f"{' and '.join(known) or 'the data'} of this cohort"


def _what(rows: Sequence[Leaving]) -> str:
    clear = _distinct(row.what for row in rows if row.form == Form.CLEAR)
    sealed = _distinct(row.what for row in rows if row.form == Form.SEALED)
    masked = _distinct(row.what.split(":")[0] for row in _shares(rows))
    steps = f"Masked, the sums that {len(masked)} steps ask for: {listed(_quoted(masked))}"
    return f"{steps}. Sealed: {_joined(sealed)}. In clear: {_joined(clear)}"


def _who(rows: Sequence[Leaving]) -> str:
    if any(row.readable_by == OPERATOR for row in rows):
        return f"All of it: {OPERATOR}, the same people here. Masks hide nothing from them"
    sealed, clear = (
        _distinct(party for row in rows if row.form == form for party in row.readable_by.split(", "))
        for form in (Form.SEALED, Form.CLEAR)
    )
    readers = _distinct(row.readable_by for row in _shares(rows))
    widest = [each for each in readers if each != BY_SUM or EVERYONE_BY_SUM not in readers]
    masked = ", or where sums are compared ".join(widest)
    return (
        f"What is masked: {masked}. What is sealed: {', '.join(sealed)}. "
        f"What is in clear: at most {', '.join(clear)}"
    )


def _not_told(rows: Sequence[Leaving]) -> str:
    """Describe what stays unknown, together with the exceptions."""
    never = "No file leaves, and no ID or name of a person"
    if not any(row.readable_by == OPERATOR for row in rows):
        but = f", but for “{COHORT_SUMS}”" if any(row.what == COHORT_SUMS for row in rows) else ""
        never += f", and nobody learns what this cohort's part in a sum is{but}"
    steps = _distinct(row.what.split(":")[0] for row in rows if row.of_one and row.bytes != 0)
    if any(row.what == SINGLE_VALUES for row in rows):
        steps = [*steps, SINGLE_VALUES]
    if not steps:
        return f"{never}. No sum is of a single person"
    return (
        f"{never}. But a sum may be of one person, without name or cohort, where few have what it counts: "
        f"{listed(_quoted(steps), 6)}"
    )


def _shares(rows: Iterable[Leaving]) -> list[Leaving]:
    """The rows of what is masked, which the steps of the study ask for."""
    clear_or_sealed = (Form.CLEAR, Form.SEALED)
    return [
        row
        for row in rows
        if row.form not in clear_or_sealed and row.what not in (SINGLE_VALUES, COHORT_SUMS)
    ]


def _distinct(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def _quoted(names: Iterable[str]) -> list[str]:
    return [f"“{name}”" for name in names]


def _joined(names: Iterable[str]) -> str:
    return ", ".join(name[:1].lower() + name[1:] for name in names)
