"""Faults of a table, in words: each is worded here, and whoever finds it adds the place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unpooled.plan.encodings import ABOVE, YEO_JOHNSON
from unpooled.plan.schema import Column
from unpooled_client.data.findings.report import EXAMPLES, Code, Report, Severity, shown

WHAT = "the table"

_THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]*)?")
_LIMIT = re.compile(r"[<>≤≥]=?\s*[+-]?[0-9.,]+")
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")


@dataclass(frozen=True)
class Words:
    """Wording of a fault. Braces stand for what its finder knows."""

    message: str
    expected: str | None = None
    remedy: str = ""
    severity: Severity = Severity.ERROR


FAULTS = {
    Code.FILE_EMPTY: Words(f"{WHAT} is empty", remedy="Write the file again."),
    Code.FILE_NOT_TEXT: Words(
        f"{WHAT} is not in UTF-8",
        remedy="Save it as UTF-8 (spreadsheets call it CSV UTF-8; often it is Latin-1 or Windows-1252 now).",
    ),
    Code.CSV: Words(
        f"{WHAT} is not CSV: {{why}}",
        "cells separated by commas, in double quotes if they contain a comma or a quote",
        "Export the table as CSV again.",
    ),
    Code.CELL_OF_LINES: Words(
        f"a cell of {WHAT} goes over several lines with as many commas as rows have",
        remedy="If it is no text of several lines, a quote is missing or in a wrong place: rows are lost.",
        severity=Severity.WARNING,
    ),
    Code.PARQUET: Words(f"{WHAT} is not a readable Parquet file: {{why}}", remedy="Write the file again."),
    Code.TOO_FEW_COLUMNS: Words(
        f"a line of {WHAT} does not have as many cells as its first line",
        "{width} cells",
        "A missing value is an empty cell. A cell that contains a comma must be in double quotes; a number "
        "has a decimal point.",
    ),
    Code.COLUMN_AMBIGUOUS: Words(
        f"the column {{title}} appears twice in {WHAT}",
        "the columns of the plan: {wanted}",
        "Remove the wrong one, or give it another name.",
    ),
    Code.COLUMN_MISSING: Words(
        f"the column {{title}} is missing in {WHAT}",
        "the columns of the plan: {wanted}",
        "Add it. If this cohort has no such values, the column may be empty if three other cohorts have "
        "values of it; otherwise ask the coordinator to declare it as text in the schema.",
    ),
    Code.COLUMN_UNKNOWN: Words(
        f"{WHAT} has a column that the plan does not have",
        "the columns of the plan: {wanted}",
        "Leave it out, or have the coordinator name it in the schema, if need be as text.",
    ),
    Code.COLUMN_INDEX: Words(
        f"{WHAT} has a column that is the index of a pandas data frame: it is left out",
        remedy="If it is wanted, have the coordinator name it in the schema.",
        severity=Severity.NOTE,
    ),
    Code.COLUMN_TYPE: Words(
        "the column {title} contains no numbers",
        "integers, floating-point or decimal numbers",
        "Write the column as numbers. If it is not a number, its type in the schema is text.",
    ),
    Code.VALUE_TEXT: Words(
        "the column {title} contains text",
        "a number such as 12 or 1.5e-3, or an empty cell, NA or NaN for a missing value",
        "Write numbers with a decimal point. If the column is not a number, its type in the schema is text.",
    ),
    Code.VALUE_INFINITE: Words(
        "the column {title} contains an infinite number",
        "numbers of size up to 1.8e308",
        "Leave the cell empty if the value is not known.",
    ),
    Code.VALUE_FRACTION: Words(
        "the column {title} contains a fraction",
        "whole numbers, because the plan says integer",
        "Correct the value, or ask the coordinator to declare the column as a number.",
    ),
    Code.VALUE_OUTSIDE: Words(
        "the column {title} contains a value outside the plan's limits",
        "values {limits}",
        "Correct the value, or leave the cell empty if it stands for a missing one, such as 999. Is it in "
        "the plan's unit? If it is right, ask the coordinator to widen the limits.",
    ),
    Code.COLUMN_EMPTY: Words(
        "every value of {title} is missing here",
        remedy="It counts 0 in the pool, and the study ends unless three other cohorts have values of it. "
        "Is it the right table?",
        severity=Severity.WARNING,
    ),
    Code.WORD_TYPE: Words(
        "the column {title} contains no words",
        "text, whole numbers, or true and false",
        "Write the column as text, or have the coordinator declare it as text: then it is left as it is.",
    ),
    Code.WORD_UNLISTED: Words(
        "{rows} rows of {title} have a value that the plan does not list: they count as the rest",
        "the values of the plan: {wanted}",
        "Correct what is misspelt. If a value is meant, have the coordinator add it to the plan.",
        Severity.WARNING,
    ),
    Code.WORD_NONE_LISTED: Words(
        "no value of {title} is one that the plan lists",
        "the values of the plan: {wanted}",
        "Is it the right column, and in the same code? Write its values as the plan has them, or have the "
        "coordinator correct the plan.",
    ),
    Code.WORD_MISSING: Words(
        "{rows} rows of {title} have a word that may stand for a missing one, and count as any other word",
        "an empty cell where a word is missing",
        "Leave the cells empty if so. If it is a value, have the coordinator list it in the plan.",
        Severity.WARNING,
    ),
    Code.WORD_ALIKE: Words(
        "values of {title} differ in case or blanks only, and are different words",
        remedy="Write them the same way, or have the coordinator choose to ignore case.",
        severity=Severity.WARNING,
    ),
    Code.WORD_IDENTIFIER: Words(
        "nearly every row of {title} has another value ({different} different ones): it looks like an "
        "identifier",
        "a category, which many people have in common",
        "If it names people, have the coordinator declare it as text: then it is left as it is.",
        Severity.WARNING,
    ),
    Code.WORDS_TOO_MANY: Words(
        "{title} has {different} different words, and the plan looks for {most} at most",
        "a category, which many people have in common",
        "If it is one, have the coordinator raise the number. If these are identifiers or free text, have it "
        "declared as text: then it is left as it is.",
    ),
    Code.WORD_LONG: Words(
        "{rows} rows of {title} have a word that is too long to be spelled: they count as the rest",
        "at most {most} bytes in UTF-8",
        "Use a code in its place, or have the coordinator list the words in the plan.",
        Severity.WARNING,
    ),
    Code.WORD_FREE_TEXT: Words(
        "the column {title} looks like free text",
        "one word or code in each row, of a few that many people have in common",
        "If it is free text, have the coordinator declare it as text: then it is left as it is.",
        Severity.WARNING,
    ),
    Code.IMAGE_FOLDER: Words(
        "{title} are images, which are given as a folder, and {why}",
        "a folder with one CSV table and the images that it names, or with a folder of images for each class",
        "Give that folder as the table.",
    ),
    Code.IMAGE_SOFTWARE: Words("what reads images, and trains networks on them, is not installed here"),
    Code.IMAGE_MISSING: Words(
        "an image that {title} names is not in the folder",
        "for each row a file in the folder of the table, by its path from there",
        "Add the file, or remove the row.",
    ),
    Code.IMAGE_UNREADABLE: Words(
        "an image of {title} cannot be read",
        "a whole image, such as PNG, JPEG or TIFF",
        "Export the file again, or remove it and its row.",
    ),
    Code.IMAGE_SIZE: Words(
        "an image of {title} has another size, or other channels, than the plan says",
        "{wanted}",
        "Nothing is resized or converted here: all cohorts have to do that alike. Agree on it with them, and "
        "write the images so.",
    ),
    Code.IMAGES_TOO_LARGE: Words(
        "the images of {title} do not fit in memory",
        "4 GiB in all, a byte for each pixel and channel",
        "Agree with all cohorts on smaller images, or take part with fewer.",
    ),
    Code.TOO_FEW_SAMPLES: Words(
        f"{WHAT} has too few rows", "at least {fewest}", "A cohort this small must not take part."
    ),
}


@dataclass(frozen=True)
class Faults:
    """Tells the report what is wrong with one table."""

    path: Path
    report: Report

    def tell(self, code: Code, *, line: int | None = None, column: int | None = None,
             read: str | None = None, count: int = 1, examples: Sequence[str] = (), remedy: str = "",
             **known: Any) -> None:  # fmt: skip
        """One fault, and where it is first. `known` fills the braces of its words."""
        words = FAULTS[code]
        known = {name: shown(str(value)) for name, value in known.items()}
        say = getattr(self.report, words.severity)
        say(
            code,
            words.message.format(**known),
            file=self.path,
            line=line,
            column=column,
            read=None if read is None else shown(read),
            expected=words.expected and words.expected.format(**known),
            remedy=remedy or words.remedy,
            count=count,
            examples=tuple(examples),
            about=known.get("title", ""),
        )


@dataclass
class Tally:
    """Faulty cells, counted by fault and column; the first three of each are kept."""

    faults: Faults
    unit: str
    """Name of a row of the file: line, or row."""
    _seen: dict[tuple[Code, int], list[tuple[int, str]]] = field(default_factory=dict)
    _count: dict[tuple[Code, int], int] = field(default_factory=dict)

    def add(self, code: Code, place: int, row: int, cell: str, count: int = 1) -> None:
        """`count` cells of column `place`, from 0, of which one stands in line `row`."""
        key = code, place
        self._count[key] = self._count.get(key, 0) + count
        seen = self._seen.setdefault(key, [])
        if len(seen) < EXAMPLES:
            seen.append((row, cell))

    def tell(self, header: Sequence[str], schema: Sequence[Column]) -> None:
        """Tell all of them."""
        columns = {column.title: column for column in schema}
        for (code, place), seen in self._seen.items():
            row, cell = seen[0]
            self.faults.tell(
                code,
                line=row if self.unit == "line" else None,
                column=place + 1,
                read=cell,
                count=self._count[code, place],
                examples=[f"{self.unit} {row}: {shown(cell)}" for row, cell in seen],
                remedy=_remedy(code, cell, columns[header[place]]),
                title=header[place],
                limits=columns[header[place]].limits,
            )


def _remedy(code: Code, cell: str, column: Column) -> str:
    """Say how to write what is nearly a number, or what to do without a logarithm; empty of other faults."""
    cell = cell.strip()
    if code == Code.VALUE_OUTSIDE and column.scaling in ABOVE and column.low is column.high is None:
        return (
            f"Such a value has no {column.scaling}. Correct it, or leave the cell empty if it stands for a "
            f"missing one. If it is right, ask the coordinator for the scaling {YEO_JOHNSON}, which takes "
            "any number."
        )
    if code != Code.VALUE_TEXT:
        return ""
    if _THOUSANDS.fullmatch(cell):
        whole = f"Write numbers without commas between thousands: {cell.replace(',', '')}."
        is_clear = "." in cell or cell.count(",") > 1
        return (
            whole if is_clear else f"{whole} If the comma is a decimal one, write {cell.replace(',', '.')}."
        )
    if _DECIMAL_COMMA.fullmatch(cell):
        return f"Write numbers with a decimal point, not with a comma: {cell.replace(',', '.')}."
    if _LIMIT.fullmatch(cell):
        return (
            "A value beyond a limit of detection is no number. Agree with all cohorts on what stands for it, "
            "such as half of a lower limit, or leave the cell empty."
        )
    return ""
