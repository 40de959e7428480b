"""The schema of a study of tables: the columns that every cohort's table has, with their types and units."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from unpooled.errors import DataProblem

NUMBER, INTEGER, TEXT = "number", "integer", "text"
TYPES = (NUMBER, INTEGER, TEXT)
MOST_COLUMNS = 10_000

_FIELDS = ("name", "type", "unit")


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: ClassVar[str] = "unpooled/column"

    title: str
    """Its name in the first line of the cohorts' files."""
    type: str = NUMBER
    """number, integer (a number without a fraction), or text: neither read nor changed."""
    unit: str = ""
    """For people, such as mmol/l."""

    @property
    def is_number(self) -> bool:
        return self.type != TEXT

    def problem(self) -> str:
        """What is wrong with it, or nothing."""
        if not (0 < len(self.title) <= 200 and self.title.isprintable()):
            return "a column's name has 1 to 200 characters"
        if self.type not in TYPES:
            return f"{self.title}: want the type {', '.join(TYPES)}"
        if len(self.unit) > 40 or not self.unit.isprintable():
            return f"{self.title}: want a unit of at most 40 characters"
        return ""

    def to_json(self) -> dict[str, str]:
        return {"name": self.title, "type": self.type, "unit": self.unit}

    @classmethod
    def from_json(cls, value: Any) -> Column:
        """A column from JSON: its name, or name, type and unit. ValueError for anything else."""
        fields = {"name": value} if isinstance(value, str) else value
        known = isinstance(fields, dict) and {"name"} <= set(fields) <= set(_FIELDS)
        if not known or not all(isinstance(field, str) for field in fields.values()):
            raise ValueError(f"got {value!r}; want a name and, where they are known, type and unit")
        return cls(fields["name"], fields.get("type", NUMBER), fields.get("unit", ""))


def schema_problem(schema: Sequence[Column]) -> str:
    """What is wrong with the columns as a whole, or nothing."""
    titles = [column.title for column in schema]
    if found := next(filter(None, (column.problem() for column in schema)), ""):
        return found
    if len(set(titles)) < len(titles):
        return f"the column {next(title for title in titles if titles.count(title) > 1)} appears twice"
    if not any(column.is_number for column in schema):
        return "want at least one column of numbers"
    return "" if len(schema) <= MOST_COLUMNS else f"want at most {MOST_COLUMNS:,} columns"


def read_schema(text: str, file: str) -> tuple[Column, ...]:
    """The columns that a CSV text lists below the line `name,type,unit`; DataProblem says where it is wrong.

    Types and units may be left out.
    """
    lines = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    try:
        return _columns(lines, file)
    except csv.Error as error:
        line = max(1, lines.line_num)
        raise DataProblem(
            f"this is not CSV: {error}", file=file, line=line, remedy="Fix this line."
        ) from error


def _columns(lines: Any, file: str) -> tuple[Column, ...]:
    """The columns in a reader's lines, of which the first is the header."""
    header = tuple(next(lines, []))
    if not header or header != _FIELDS[: len(header)]:
        raise DataProblem(
            "a schema begins with the line name,type,unit",
            file=file,
            line=1,
            remedy=f"Below it write one line for each column of the tables; types are {', '.join(TYPES)}.",
        )
    schema: list[Column] = []
    for row in filter(None, lines):
        column = Column(*(field or default for field, default in zip(row, ("", NUMBER, ""), strict=False)))
        if problem := column.problem() or ("too many words" if len(row) > len(header) else ""):
            raise DataProblem(problem, file=file, line=lines.line_num, remedy="Fix this line.")
        schema.append(column)
    return tuple(schema)


def schema_of_header(text: str) -> tuple[Column, ...]:
    """What a table's first line says: the names of its columns, all taken to be numbers."""
    return tuple(map(Column, next(csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline="")), [])))
