"""The columns of a file with examples of what is in them, for people who choose among them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unpooled.memory.tokenizer import classes
from unpooled_client.data.findings.report import Report, shown
from unpooled_client.data.findings.source import exists, select
from unpooled_client.data.samples.covariates import MANY_LEVELS
from unpooled_client.data.samples.missing_codes import look_like_codes
from unpooled_client.data.samples.numbers import is_missing, number
from unpooled_client.data.samples.phenotype import WITH_ONE, WITHOUT_ONE
from unpooled_client.data.samples.table import header_of, words_of
from unpooled_client.data.tables import cells_of

VALUES = 5
MISSING_PHENOTYPE = b"-9"
WHAT = "the file"


@dataclass(frozen=True)
class Column:
    """A column, and what it seems to be. `type`: case/control, number, category, text, constant or empty."""

    number: int
    """Number of the column, from 1; in a PLINK table the first after the IDs is 1, as --mpheno and --covar-
    number count.
    """
    name: str
    type: str
    missing: int
    values: tuple[str, ...]
    """The most frequent values, five at most, each with its count if more than one."""
    hint: str = ""


@dataclass(frozen=True)
class Columns:
    """The columns of a file. `kind`: PLINK table, CSV or Parquet."""

    kind: str
    rows: int
    columns: tuple[Column, ...]

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


def columns_of(path: Path, report: Report) -> Columns | None:
    """The columns of a PLINK, CSV or Parquet table; None if it cannot be read, which the report has."""
    if not exists(path, WHAT, report):
        return None
    with path.open("rb") as file:
        head = file.read(1 << 16)
    if head.startswith(b"PAR1") or _has_commas(head):
        return _of_cells("Parquet" if head.startswith(b"PAR1") else "CSV", path, report)
    return _of_words(path, report)


def _has_commas(head: bytes) -> bool:
    """Tell whether the first line is CSV: a PLINK table has blanks, and seldom a comma in a name."""
    line = next((line for line in head.splitlines() if line.strip()), b"")
    return line.count(b",") >= max(1, len(line.split()))


def _of_words(path: Path, report: Report) -> Columns | None:
    tokens = words_of(path, WHAT, report)
    if tokens is None:
        return None
    ids, names = header_of(tokens)
    rows = select(tokens, np.arange(len(tokens)) >= (names is not None))
    titles = names or [""] * max(0, int(tokens.widths[0]) - ids)
    found = []
    for k, title in enumerate(titles):
        there = select(rows, rows.widths > ids + k)
        kind, first = classes(there.text, *there.column(ids + k))
        words = [there.word(int(row), ids + k) for row in first]
        counts = dict(zip(words, np.bincount(kind, minlength=len(first)).tolist(), strict=True))
        known = {
            word: count
            for word, count in counts.items()
            if word != MISSING_PHENOTYPE and not is_missing(word)
        }
        found.append(_guessed(k + 1, title, known, len(rows) - sum(known.values()), of_plink=True))
    return Columns("PLINK table", len(rows), tuple(found))


def _of_cells(kind: str, path: Path, report: Report) -> Columns | None:
    columns = cells_of(path, report)
    if columns is None:
        return None
    found, rows = [], 0
    for k, (title, counts, missing) in enumerate(columns, 1):
        found.append(_guessed(k, title, counts, missing, of_plink=False))
        rows = missing + sum(counts.values())
    return Columns(kind, rows, tuple(found))


def _guessed(place: int, name: str, counts: Mapping[bytes, int], missing: int, *, of_plink: bool) -> Column:
    """A column from the words that stand in it, those apart that are missing."""
    values = {word: number(word) for word in counts}
    texts = [word for word, value in values.items() if np.isnan(value)]
    kind = type_of(values, texts, of_plink=of_plink)
    hints = _hints(name, kind, values, texts) if of_plink else ()
    often = sorted(counts.items(), key=lambda item: -item[1])
    examples = tuple(shown(word) + (f" ({count:,})" if count > 1 else "") for word, count in often[:VALUES])
    return Column(place, name, kind, missing, examples, "; ".join(hints))


def type_of(values: Mapping[bytes, float], texts: list[bytes], *, of_plink: bool = False) -> str:
    """Guess the type of a column from its different words as numbers, and from those that are none."""
    if len(values) < 2:
        return "constant" if values else "empty"
    if of_plink and not texts and set(values.values()) <= {0, 1, 2}:
        return "case/control"
    # Mostly numbers: the few words are then mistakes, or codes for a missing value.
    if 2 * len(texts) < len(values):
        return "number"
    return "category" if len(values) <= MANY_LEVELS else "text"


def _hints(name: str, kind: str, values: Mapping[bytes, float], texts: list[bytes]) -> Iterator[str]:
    """Yield advice for choosing the column as phenotype or covariate."""
    known = np.array(list(values.values()))
    if kind == "case/control":
        yield WITHOUT_ONE if 2 in known else WITH_ONE
    if kind == "number":
        if texts:
            yield f"not a number: {', '.join(map(shown, texts[:VALUES]))}"
        for code in look_like_codes(known):
            yield f"{code:g} looks like a missing value: --missing-phenotype {code:g}"
    levels = sorted(values)
    if kind == "category" or (kind == "number" and 2 < len(values) <= MANY_LEVELS and not (known % 1).any()):
        words = f"--categorical {name or 'NAME'}={','.join(map(shown, levels))}"
        yield words if kind == "category" else f"if a category: {words}"
