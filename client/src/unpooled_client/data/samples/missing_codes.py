"""Numbers that look like codes for a missing value, such as -99 or 999, among the values of a column.

Every program that is not told about a code takes it for a value, and it silently shifts a mean.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from unpooled.memory.tokenizer import classes
from unpooled_client.data.findings.report import Code, Report, shown
from unpooled_client.data.samples.numbers import Column, is_missing

_NINES = tuple(10**digits - 1 for digits in range(1, 10))
CODES = tuple(sign * code for code in (7, 8, 77, 88, 777, 888, *_NINES) for sign in (-1, 1))
"""Numbers that questionnaires and statistics packages write for missing, unknown or refused."""

LIKE_MISSING = frozenset(
    b"unknown unk ? ?? -- --- n.a. n.a na. nil empty refused undefined missing. *".split()
)
"""Words that are no number and, but for their spelling, a code for a missing value."""


def look_like_codes(values: np.ndarray) -> list[float]:
    """Return those of some numbers, NaN apart, that look like codes.

    Such numbers are the smallest or the largest, are among CODES, and stand apart: beyond zero, where all
    others are on its other side or zero, or farther from the next than the others are from one another.
    """
    known = np.unique(values[~np.isnan(values)])
    with np.errstate(over="ignore"):
        # The smallest are looked at as the largest of the same numbers with the other sign.
        below = _codes_above(-known[::-1])
        above = _codes_above(known[below:])
    return [*known[:below].tolist(), *known[len(known) - above :].tolist()]


def _codes_above(known: np.ndarray) -> int:
    """Count the largest of some distinct ascending numbers that look like codes."""
    ends = int(np.argmin(np.append(np.isin(known, CODES)[::-1], False)))
    for count in range(min(ends, len(known) - 1), 0, -1):
        rest, first = known[:-count], known[-count]
        if rest[-1] <= 0 < first or first - rest[-1] > max(rest[-1] - rest[0], 1):
            return count
    return 0


def warn_of_codes(what: str, column: Column, missing_phenotype: int, path: Path, report: Report) -> None:
    """Tell of numbers of a column that look like codes for a missing value, and what to do.

    `what`: whose values they are, such as "the covariate age".
    """
    values = np.where(column.values == missing_phenotype, np.nan, column.values)
    for code in look_like_codes(values):
        rows = np.flatnonzero(values == code)
        report.warning(
            Code.MISSING_CODE,
            f"{what} has the value {code:g}, which looks like a code for a missing value",
            expected=f"NA or {missing_phenotype} for a missing value",
            remedy=f"It is taken as a number. If it means missing, give --missing-phenotype {code:g}, "
            f"which applies to phenotype and covariates instead of {missing_phenotype}, or write NA.",
            **column.at(path, rows),
        )


def missing_as(column: Column, missing_phenotype: int) -> dict[str, int]:
    """The codes for a missing value that stand in a column, as they are written, and how often."""
    tokens = column.tokens
    kind, first = classes(tokens.text, *tokens.column(column.index))
    counts = np.bincount(kind, minlength=len(first)).tolist()
    found = zip(column.words(first), column.values[first].tolist(), counts, strict=True)
    return {
        shown(word): count for word, value, count in found if is_missing(word) or value == missing_phenotype
    }
