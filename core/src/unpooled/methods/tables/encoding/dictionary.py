"""The dictionary of columns whose words are not known beforehand: by codes, which tell nobody a word.

A code is a random number that a cohort can have made for as many of its words as the plan lets it have
(`unpooled.protocol.codes`). The codes that enough people have, in enough cohorts, are found by going down
their bits: of each prefix that passes, its continuations are compared with the floors, and nobody reads a
count. At full depth a prefix is one word. Only words that pass are spelled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.asking import blinded_words
from unpooled.asking.cohort import Categories, Table
from unpooled.asking.procedure import Asks, Rows, Study
from unpooled.asking.question import UNREAD, Arrays, Bits, Condition, Count, Foreseen, Question, Residue
from unpooled.asking.sizes import Sizes
from unpooled.errors import Refuse
from unpooled.methods.shared.genotype_counts import MOST_PEOPLE
from unpooled.methods.tables.encoding.options import OWN, SPELLED
from unpooled.methods.tables.encoding.questions import Codes, OfFloors
from unpooled.plan.plan import Plan
from unpooled.plan.schema import MOST_LEVELS

CODE_BITS = 40
"""Two of a thousand words have the same code once in two million dictionaries."""
STEP_BITS = 8
MOST_CELLS = 1 << 17
WORDS = "words"
"""The result table of the words that were found: column, and the word in UTF-8."""


def find_words(study: Study) -> Asks[Codes]:
    """The codes of the words of each searched column that pass the floors, sorted by word: uint64 each."""
    plan = study.plan
    columns, codes = yield from sift_codes(plan)
    words: list[str | None] = [code_text(code) for code in codes.tolist()]
    if SPELLED.of(plan) != OWN and len(codes):
        sums = yield SpellWords(columns, codes)
        words = blinded_words.read(sums["spelled"])
    spelled = sorted((word, place) for place, word in enumerate(words) if word is not None)
    # By word, for codes are random: the order of the file would be another one each time.
    order = np.array([place for _, place in spelled], np.int64)
    columns, codes = columns[order], codes[order]
    yield Rows(WORDS, _table([word for word, _ in spelled], columns))
    return tuple(codes[columns == column] for column in range(len(plan.dictionaries)))


def code_text(code: int) -> str:
    """Write a code as it stands in a dictionary whose words are spelled out to nobody."""
    return f"code {code:0{CODE_BITS // 4}x}"


def sift_codes(plan: Plan) -> Asks[tuple[np.ndarray, np.ndarray]]:
    """The codes that pass the floors: column, int64, and code, uint64, of each."""
    columns = np.array(plan.searched, np.int64)
    codes, known = np.zeros(len(columns), np.uint64), 0
    while known < CODE_BITS and len(codes):
        # As many bits as fit a question: fewer while many beginnings pass together.
        step = min(STEP_BITS, CODE_BITS - known, (MOST_CELLS // len(codes)).bit_length() - 1)
        kept = (yield SiftCodes(plan, columns, codes, known, step))["kept"]
        below = (codes[:, None] << np.uint64(step)) | np.arange(1 << step, dtype=np.uint64)
        columns, codes = np.repeat(columns, 1 << step)[kept], below.ravel()[kept]
        known += step
        # On the way several rare words may pass together.
        refuse_many(len(codes), MOST_LEVELS if known == CODE_BITS else MOST_CELLS // 2)
    return columns, codes


def refuse_many(words: int, most: int) -> None:
    """Refuse more words, or beginnings of their codes, than a study can go on with."""
    if words > most:
        raise Refuse(
            "schema",
            f"more than {most:,} words pass the floors, and a study encodes {MOST_LEVELS:,} at most",
            "Raise the fewest people with a value, or declare columns with many different words as text.",
        )


def _table(words: list[str], columns: np.ndarray) -> Arrays:
    width = max((len(word.encode()) for word in words), default=0)
    spelled = b"".join(word.encode().ljust(width, b"\0") for word in words)
    return {
        "index": np.arange(len(words)),
        "column": columns,
        "word": np.frombuffer(spelled, np.uint8).reshape(len(words), width),
    }


def words_of(found: Arrays, prefix: str = "") -> tuple[np.ndarray, list[str]]:
    """The column and the word of each row of the table, whose columns' names begin with `prefix`."""
    rows = np.asarray(found[f"{prefix}word"])
    return np.asarray(found[f"{prefix}column"]), [bytes(row).rstrip(b"\0").decode() for row in rows]


@dataclass(frozen=True, eq=False)
class OfCodes(Question):
    """About words of searched columns by their codes, or by how these begin."""

    asked_if: ClassVar[Condition] = lambda plan: plan.searched

    columns: np.ndarray
    """int64 (codes,): the place of each one's column among those with a dictionary"""
    codes: np.ndarray
    """uint64 (codes,): what is known of each code, its last bits"""

    @property
    def words(self) -> int:
        return len(self.codes)

    @property
    def needs_codes(self) -> bool:
        return True


@dataclass(frozen=True, eq=False)
class SiftCodes(
    OfCodes, OfFloors, name="encoding/sift-codes", title="Look for words, bit by bit", ring_bits=64
):
    """Question that finds which continuations of codes enough people in enough cohorts have."""

    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "rows",
            ("cells",),
            MOST_PEOPLE,
            "per beginning of a code, which is a random number: number of rows with a word of such a code",
            UNREAD,
        ),
        Count("held", ("cells",), 1, "per beginning of a code: 1 if there are any, else 0", UNREAD),
    )
    opens: ClassVar[Bits] = Bits(
        "kept",
        ("cells",),
        "both-at-least",
        "which beginnings enough people in enough cohorts have: of a few, by several rare words together",
    )
    each: ClassVar[dict[str, str]] = {"cells": "beginning of a code"}

    known: int
    """Number of bits of each code that are known."""
    step: int
    """Number of further bits that are asked for."""

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        codes = np.zeros(MOST_CELLS >> STEP_BITS, np.uint64)
        widest = cls(plan, codes.astype(np.int64), codes, 0, STEP_BITS)
        return Foreseen([widest], rounds=CODE_BITS, exact=False, usual_rounds=CODE_BITS // STEP_BITS)

    @property
    def turn(self) -> int:
        """Number of bits of each code that are known after this question."""
        return self.known + self.step

    @classmethod
    def most_turns(cls, plan: Plan) -> int:
        return CODE_BITS

    @property
    def cells(self) -> int:
        return len(self.codes) << self.step

    def thresholds(self) -> Arrays:
        return {"rows": np.full(self.cells, self.people), "held": np.full(self.cells, self.holders)}

    def local(self, table: Table) -> Arrays:
        rows = np.zeros(self.cells, np.int64)
        for column in np.unique(self.columns):
            codes, counts = words_with_counts(table.categories, int(column))
            asked = np.flatnonzero(self.columns == column)
            asked = asked[np.argsort(self.codes[asked])]
            begins = codes >> np.uint64(CODE_BITS - self.known)
            # A beginning behind the last one that is asked for is compared with that, and differs.
            place = np.minimum(np.searchsorted(self.codes[asked], begins), len(asked) - 1)
            here = self.codes[asked][place] == begins
            step = (codes >> np.uint64(CODE_BITS - self.known - self.step)) & np.uint64((1 << self.step) - 1)
            cells = (asked[place] << self.step) + step.astype(np.int64)
            np.add.at(rows, cells[here], counts[here])
        return {"rows": rows, "held": (rows > 0).astype(np.int64)}


@dataclass(frozen=True, eq=False)
class SpellWords(OfCodes, name="encoding/spell", title="Spell words", ring_bits=64):
    """The words that have these codes."""

    sends: ClassVar[tuple[Residue, ...]] = (
        Residue(
            "spelled",
            ("words", blinded_words.NUMBERS),
            "per code that was kept: the word in pieces, times a random number, if this table has it; else 0",
            "the words that enough people have; not how many cohorts have one. Nobody can verify the "
            "spelling but who has the word",
        ),
    )
    each: ClassVar[dict[str, str]] = {"words": "word kept"}
    asked_if: ClassVar[Condition] = lambda plan: plan.searched and SPELLED.of(plan) != OWN

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        most = sum(plan.cohorts * plan.dictionaries[k].most for k in plan.searched)
        codes = np.zeros(min(most, MOST_LEVELS), np.uint64)
        return Foreseen([cls(codes.astype(np.int64), codes)], exact=False)

    def local(self, table: Table) -> Arrays:
        found, spelled = table.categories, np.zeros((self.words, blinded_words.NUMBERS), np.uint64)
        for column in np.unique(self.columns).tolist():
            place = {int(self.codes[k]): k for k in np.flatnonzero(self.columns == column)}
            own = zip(found.codes[column].tolist(), found.searched[column], strict=True)
            asked = [(place[code], word) for code, word in own if code in place]
            rows = np.array([row for row, _ in asked], np.int64)
            # Not assigned: of two words with the same code both must be added, so that their sum spells none.
            np.add.at(spelled, rows, blinded_words.blinded([word for _, word in asked]))
        return {"spelled": spelled}


def words_with_counts(found: Categories, column: int) -> tuple[np.ndarray, np.ndarray]:
    """The codes of the different words of a column, uint64, and how many rows have each, int64."""
    codes, levels = found.codes[column], found.levels[:, column]
    words = levels[(levels >= 0) & (levels < len(codes))]
    return codes, np.bincount(words, minlength=len(codes))
