"""Columns of words of a table: read, and what people are told of them before a study."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unpooled.asking import blinded_words
from unpooled.asking.blinded_words import is_looked_for
from unpooled.plan.categories import Words, is_missing, normal, text_of
from unpooled.plan.schema import LONGEST_WORD, Column
from unpooled_client.data.findings.report import EXAMPLES, Code, shown
from unpooled_client.data.samples.numbers import is_missing as is_marker
from unpooled_client.data.tables import cells, csv_table, parquet
from unpooled_client.data.tables.faults import Faults

if TYPE_CHECKING:
    import pyarrow as pa

WORDS = "words"
"""The part of a report's summary that is about these columns."""

MOST_SHOWN = 30
"""Values of a column that the summary counts: the most frequent ones."""
_IDENTIFIER = 0.9
_FEWEST = 20
"""A column of so many words, of which so many are different, looks like an identifier."""
_SENTENCE = 5
"""Blanks in the longer half of the words: then a column looks like free text."""


def read_words(path: Path, titles: Sequence[str], faults: Faults) -> dict[str, Words] | None:
    """The columns of words of these titles; None if there is any error, which `faults` tells.

    The table has been found to have the columns of the schema, and as many cells in every row.
    """
    if not titles:
        return {}
    found = _of_parquet(path, titles, faults) if parquet.is_one(path) else _of_csv(path, titles, faults)
    return found if faults.report.ok else None


def _of_csv(path: Path, titles: Sequence[str], faults: Faults) -> dict[str, Words]:
    import pyarrow as pa

    start = csv_table.opened(path, faults)
    if start is None:
        return {}
    places = {title: start.header.index(title) for title in titles}
    try:
        table = csv_table.parsed(path, start, dict.fromkeys(places.values(), pa.string()))
    except pa.ArrowInvalid:  # a line longer than a block, and what else only the slow reader can read
        rows = cells.texts(path, start.header, list(places.values()), faults)
        return {title: _coded(column) for title, column in zip(titles, rows, strict=True)}
    return {title: _words_of(table.column(str(place))) for title, place in places.items()}


def _of_parquet(path: Path, titles: Sequence[str], faults: Faults) -> dict[str, Words]:
    import pyarrow as pa

    found = {}
    for title, column in parquet.columns_of(path, titles):
        try:
            found[title] = _words_of(column)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            faults.tell(Code.WORD_TYPE, read=str(column.type), title=title)
    return found


def _words_of(column: pa.ChunkedArray) -> Words:
    """A column of any plain type as words; ArrowInvalid or ArrowNotImplementedError for lists."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    # Numbers with a point become words as `text_of` writes them, not as the library would.
    if not pa.types.is_floating(column.type):
        column = column.cast(pa.large_string())
    whole = column.combine_chunks()
    whole = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
    # Once over the cells: what follows goes over the different words alone.
    coded = whole.dictionary_encode()
    values = coded.dictionary.to_pylist()
    codes = np.asarray(coded.indices.fill_null(-1).to_numpy(zero_copy_only=False), np.int64)
    return _without_missing(codes, ["" if value != value else text_of(value) for value in values])


def _coded(column: Sequence[str]) -> Words:
    place: dict[str, int] = {}
    codes = np.array([place.setdefault(cell, len(place)) for cell in column], np.int64)
    return _without_missing(codes, list(place))


def _without_missing(codes: np.ndarray, values: Sequence[str]) -> Words:
    known = [k for k, value in enumerate(values) if not is_missing(value)]
    numbers = np.full(len(values), -1, np.int64)
    numbers[known] = np.arange(len(known))
    return Words(Words(codes, tuple(values)).taken(numbers, -1), tuple(values[k] for k in known))


def check_words(
    words: Mapping[str, Words], schema: Sequence[Column], faults: Faults, *, ignore_case: bool = False
) -> None:
    """Tell what looks wrong in columns of words, and count their values in the summary."""
    summary = []
    for column in schema:
        if column.title in words and not (column.is_patient or column.is_image):
            look = _Look(words[column.title], column, faults, ignore_case)
            look.tell()
            summary.append(look.summary())
    if summary:
        faults.report.summary[WORDS] = summary


class _Look:
    """One column of words: what it holds, beside what the plan says of it."""

    def __init__(self, words: Words, column: Column, faults: Faults, ignore_case: bool) -> None:
        self.words, self.column, self.faults, self.counts = words, column, faults, words.counts()
        self.known, self.rows = int(self.counts.sum()), len(words)
        self.normal = [normal(word, ignore_case=ignore_case) for word in words.values]
        levels = {normal(level, ignore_case=ignore_case) for level in column.levels}
        others = [k for k, word in enumerate(self.normal) if word not in levels]
        self.unlisted = others if levels else []
        self.like_missing = [k for k in others if is_marker(self.normal[k].encode(errors="replace"))]

    def tell(self) -> None:
        title = self.column.title
        if not self.known:
            if self.rows:
                self.faults.tell(Code.COLUMN_EMPTY, title=title)
            return
        if self.column.levels and len(self.unlisted) == len(self.normal):
            self._tell(Code.WORD_NONE_LISTED, self.unlisted, wanted=self._wanted())
        elif self.unlisted:
            self._tell(Code.WORD_UNLISTED, self.unlisted, remedy=self._remedy(), wanted=self._wanted())
        if self.like_missing:
            self._tell(Code.WORD_MISSING, self.like_missing)
        if self.column.most:
            self._tell_of_search()
        for alike in self._alike():
            self._tell(Code.WORD_ALIKE, alike)
        if self.known >= _FEWEST and len(set(self.normal)) >= _IDENTIFIER * self.known:
            self._tell(Code.WORD_IDENTIFIER, range(len(self.normal)), different=f"{len(set(self.normal)):,}")
        elif self._is_free_text():
            self._tell(Code.WORD_FREE_TEXT, range(len(self.normal)))

    def _tell_of_search(self) -> None:
        """Report what keeps a cohort out of the search for a dictionary, or a word out of the dictionary."""
        different, most = len({word for word in self.normal if is_looked_for(word)}), self.column.most
        if different > most:
            everything = range(len(self.normal))
            self._tell(Code.WORDS_TOO_MANY, everything, different=f"{different:,}", most=f"{most:,}")
        if long := [k for k, word in enumerate(self.normal) if word and not blinded_words.fits(word)]:
            self._tell(Code.WORD_LONG, long, most=blinded_words.WORD_BYTES)

    def summary(self) -> dict[str, object]:
        """Return the column's name and encoding, and the counts of its values, the most frequent first."""
        order = np.argsort(-self.counts, kind="stable")
        counted = {shown(self.words.values[k]): int(self.counts[k]) for k in order[:MOST_SHOWN]}
        more = len(order) - len(counted)
        beyond = int(self.counts[self.unlisted].sum())
        return {
            "name": shown(self.column.title),
            "encoding": self.column.encoding,
            "values": counted,
            "further values": f"{more:,}" if more else "",
            "missing": self.rows - self.known,
            "rows of values that the plan does not list": beyond if self.column.levels else "",
        }

    def _tell(self, code: Code, which: Sequence[int], remedy: str = "", **known: Any) -> None:
        """A fault of some values, of which the most frequent are the examples."""
        often = sorted(which, key=lambda k: -self.counts[k])
        rows = int(self.counts[list(which)].sum())
        self.faults.tell(
            code,
            read=self.words.values[often[0]],
            count=max(1, len(which)),
            examples=[f"{shown(self.words.values[k])} ({self.counts[k]:,})" for k in often[:EXAMPLES]],
            remedy=remedy,
            title=self.column.title,
            rows=f"{rows:,}",
            **known,
        )

    def _wanted(self) -> str:
        more = len(self.column.levels) - EXAMPLES
        return ", ".join(self.column.levels[:EXAMPLES]) + (f" and {more:,} more" if more > 0 else "")

    def _remedy(self) -> str:
        """Suggest a correction that turns most of the unlisted words into listed ones."""
        levels = {_loose(level): level for level in self.column.levels}
        pairs = [(k, levels[word]) for k in self.unlisted if (word := _loose(self.words.values[k])) in levels]
        if not pairs:
            return ""
        k, level = max(pairs, key=lambda pair: self.counts[pair[0]])
        return (
            f"The plan has “{shown(level)}” for “{shown(self.words.values[k])}”: case, and blanks between "
            "words, must be the same. Correct them, or have the coordinator choose to ignore case."
        )

    def _alike(self) -> Iterator[list[int]]:
        """Values that differ in case or blanks only."""
        groups: defaultdict[str, list[int]] = defaultdict(list)
        for k, word in enumerate(self.words.values):
            groups[_loose(word)].append(k)
        for group in groups.values():
            if len({self.normal[k] for k in group}) > 1:
                yield group

    def _is_free_text(self) -> bool:
        blanks = sorted(word.count(" ") for word in self.normal)
        longest = max(map(len, self.normal))
        return blanks[len(blanks) // 2] >= _SENTENCE or longest > LONGEST_WORD


def _loose(word: str) -> str:
    """A word without what is easily written otherwise: case, and blanks anywhere."""
    return "".join(normal(word, ignore_case=True).split())
