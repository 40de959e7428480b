"""The schema of a study of tables: the columns that every cohort's table has, with types, units and roles."""

from __future__ import annotations

import csv
import hashlib
import io
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from unpooled.errors import CodecError, DataProblem
from unpooled.plan import encodings
from unpooled.plan.categories import MISSING, REST, normal
from unpooled.plan.encodings import Encoding
from unpooled.protocol import codec

NUMBER, INTEGER, TEXT, CATEGORY, IMAGE = "number", "integer", "text", "category", "image"
TYPES = (NUMBER, INTEGER, TEXT, CATEGORY, IMAGE)
FEATURE, OUTCOME, PATIENT, IGNORED = "feature", "outcome", "patient", "ignored"
ROLES = (FEATURE, OUTCOME, PATIENT, IGNORED)
MOST_COLUMNS = 10_000
MOST_LEVELS = 20_000
"""Maximum for all columns of a schema: levels are part of the plan, which every client fetches."""
MOST_SEARCHED = 65_536
"""Different words of a column of one cohort, where they are not known beforehand."""
LONGEST_WORD = 200
MOST_CLASSES = 20
"""Maximum number of classes of an outcome."""
FEWEST_PIXELS, MOST_PIXELS = 8, 512
"""Rows and columns of an image: from what three poolings leave something of, to what a client can hold."""

_FIELDS = ("name", "type", "unit", "role", "encoding", "values", "low", "high")
_LIMITS = ("low", "high")
_TYPES: dict[str, Any] = {"levels": tuple[str, ...], "most": int, "low": float, "high": float}
"""Types of the fields of a plan's record that are not text."""
_SIZE = re.compile(r"[13](x[1-9][0-9]{0,3}){2}")
_FROM_FILE = "levels="
_BETWEEN = "|"


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: ClassVar[str] = "unpooled/column"

    title: str
    """Its name in the first line of the cohorts' files."""
    type: str = NUMBER
    """number, integer (a number without a fraction), category (words), image (names of files), or text:
    neither read nor changed.
    """
    unit: str = ""
    """Unit for people, such as mmol/l."""
    encoding: str = ""
    """Encoding of a category: one-hot, ordinal, frequency, target:COLUMN, hash:D or ngrams:D. Of a number its
    scaling in a model: z-score (also if there is none), robust, log, log1p or yeo-johnson. Of images their
    size: channels, rows and columns, such as 1x28x28.
    """
    levels: tuple[str, ...] = ()
    """All words that a category's dictionary may have, in normal form; empty if its encoding has none."""
    most: int = 0
    """Maximum number of different words that a cohort may have, for a category of words not known beforehand.
    """
    role: str = FEATURE
    """feature; outcome, which a model predicts; patient, whose row it is; ignored: not read, not changed."""
    low: float | None = None
    """Least value of a number that is allowed. Each cohort's client makes sure of it before anything is sent.
    """
    high: float | None = None
    """Likewise, more."""

    @property
    def is_number(self) -> bool:
        """True if its numbers are read."""
        return self.type in (NUMBER, INTEGER) and self.role in (FEATURE, OUTCOME)

    @property
    def is_category(self) -> bool:
        """True if it holds words that are encoded."""
        return self.type == CATEGORY and self.role == FEATURE

    @property
    def is_image(self) -> bool:
        """True if it names files of images, which are read."""
        return self.type == IMAGE and self.role == FEATURE

    @property
    def size(self) -> tuple[int, ...]:
        """Channels, rows and columns of its images."""
        return tuple(map(int, self.encoding.split("x")))

    @property
    def scaling(self) -> str:
        """The scaling of a feature that is a number, in a model; empty if nothing is said."""
        return self.encoding if self.is_number else ""

    @property
    def is_outcome(self) -> bool:
        return self.role == OUTCOME

    @property
    def has_classes(self) -> bool:
        """True if it is an outcome of classes, which its levels name."""
        return self.type == CATEGORY and self.role == OUTCOME

    @property
    def is_patient(self) -> bool:
        return self.role == PATIENT

    @property
    def left_out(self) -> str:
        """Why it is neither a feature nor the outcome; empty if it is."""
        if self.is_number or self.is_category or self.is_image or self.has_classes:
            return ""
        return "says whose row it is" if self.is_patient else IGNORED if self.role == IGNORED else self.type

    @property
    def limits(self) -> str:
        """Its lowest and highest value in words; empty if there are none."""
        above = encodings.ABOVE.get(self.scaling)
        said = (f"above {above:g}" if above is not None else "", self._named_limits)
        return ", ".join(filter(None, said))

    @property
    def _named_limits(self) -> str:
        if self.low is None:
            return "" if self.high is None else f"up to {self.high:g}"
        return f"from {self.low:g} on" if self.high is None else f"from {self.low:g} to {self.high:g}"

    @property
    def encoded(self) -> Encoding:
        """Its encoding, parsed; ValueError if that is none."""
        return encodings.read(self.encoding)

    @property
    def digest(self) -> str:
        """SHA-256 of its levels, one a line, in hexadecimal digits: for people who compare lists."""
        return hashlib.sha256("".join(f"{level}\n" for level in self.levels).encode()).hexdigest()

    def problem(self) -> str:
        """Say what is wrong with it; empty if nothing is."""
        if not (0 < len(self.title) <= 200 and self.title.isprintable()):
            return "a column's name has 1 to 200 characters"
        if self.type not in TYPES:
            return f"{self.title}: want the type {', '.join(TYPES)}"
        if len(self.unit) > 40 or not self.unit.isprintable():
            return f"{self.title}: want a unit of at most 40 characters"
        if self.role not in ROLES:
            return f"{self.title}: want the role {', '.join(ROLES)}"
        if self.is_outcome and self.type in (TEXT, IMAGE):
            return f"{self.title}: an outcome is a number, or a category with its values"
        if found := self._problem_of_limits():
            return f"{self.title}: {found}"
        if self.has_classes:
            found = self._problem_of_classes()
        elif self.is_category:
            found = self._problem_of_category()
        elif self.type == CATEGORY:
            found = ""
        elif self.is_image:
            found = self._problem_of_images()
        else:
            found = self._problem_of_scaling()
        return found and f"{self.title}: {found}"

    def _problem_of_limits(self) -> str:
        limits = [limit for limit in (self.low, self.high) if limit is not None]
        if limits and self.type not in (NUMBER, INTEGER):
            return "only numbers have a lowest and a highest value"
        if not all(map(math.isfinite, limits)) or limits != sorted(limits):
            return (
                f"want numbers, the lowest value first, not {' to '.join(f'{limit:g}' for limit in limits)}"
            )
        return ""

    def _problem_of_classes(self) -> str:
        if self.encoding or self.most:
            return "an outcome has no encoding: want its values only, such as no|yes"
        if not 2 <= len(self.levels) <= MOST_CLASSES:
            return f"an outcome of classes needs its 2 to {MOST_CLASSES} values, such as no|yes"
        return levels_problem(self.levels)

    def _problem_of_images(self) -> str:
        is_size = _SIZE.fullmatch(self.encoding) is not None
        if not is_size or not all(FEWEST_PIXELS <= n <= MOST_PIXELS for n in self.size[1:]):
            return (
                "want the size of the images as the encoding: 1 or 3 channels, then rows and columns, from "
                f"{FEWEST_PIXELS} to {MOST_PIXELS} each, such as 1x28x28"
            )
        return "images have no values" if self.levels or self.most else ""

    def _problem_of_scaling(self) -> str:
        if self.levels or (self.encoding and self.type in (TEXT, IMAGE)):
            return "only a category has an encoding and values"
        if self.encoding and self.role != FEATURE:
            return "only a feature has a scaling"
        if self.encoding and self.encoding not in encodings.OF_NUMBERS:
            return f"want the scaling {', '.join(encodings.OF_NUMBERS)}, or none; not {self.encoding}"
        return ""

    def _problem_of_category(self) -> str:
        try:
            encoding = self.encoded
        except ValueError as error:
            return str(error)
        if encoding.has_dictionary and not self.levels and not self.most:
            return (
                f"{self.encoding} needs its values, such as never|former|current, or levels=FILE; or, where "
                "they are not known, how many different ones a cohort has at most, such as 512"
            )
        if (self.levels or self.most) and not encoding.has_dictionary:
            return f"{self.encoding} takes any words: want no values"
        if self.levels and self.most:
            return "want either its values, or how many there are at most"
        if not 0 <= self.most <= MOST_SEARCHED:
            return f"want at most {MOST_SEARCHED:,} different values, not {self.most:,}"
        return levels_problem(self.levels)

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"name": self.title, "type": self.type, "unit": self.unit}
        if self.type == CATEGORY:
            found |= {"encoding": self.encoding, "levels": list(self.levels)}
        return found | {name: getattr(self, name) for name in self._rare_fields}

    @property
    def _rare_fields(self) -> list[str]:
        """Fields that came later, which an encoding has only where they say something."""
        usual = {"most": 0, "role": FEATURE, "low": None, "high": None}
        scaling = {} if self.type == CATEGORY else {"encoding": ""}
        return [name for name, none in {**scaling, **usual}.items() if getattr(self, name) != none]

    @classmethod
    def from_json(cls, value: Any) -> Column:
        """A column from JSON: its name, or its fields by their names. ValueError for anything else."""
        fields = {"name": value} if isinstance(value, str) else value
        wanted = "want a name and, where they are known, type, unit, and of a category encoding and levels"
        known = {*_FIELDS, "levels", "most"} - {"values"}
        if not isinstance(fields, dict) or not {"name"} <= set(fields) <= known:
            raise ValueError(f"got {value!r}; {wanted}")
        levels, most = fields.get("levels", []), fields.get("most", 0)
        limits: dict[str, Any] = {
            name: _limit(fields[name]) for name in _LIMITS if fields.get(name) is not None
        }
        others = [v for k, v in fields.items() if k not in ("levels", "most", *_LIMITS)]
        if not isinstance(levels, list) or not all(isinstance(each, str) for each in [*levels, *others]):
            raise ValueError(f"got {value!r}; {wanted}")
        if type(most) is not int:
            raise ValueError(f"got {most!r}; want a number of different values")
        given = {name: fields[name] for name in ("type", "unit", "encoding", "role") if name in fields}
        return cls(fields["name"], **given, levels=tuple(levels), most=most, **limits)

    def record_fields(self) -> Iterable[tuple[str, Any]]:
        """Return the fields of its encoding in a plan: other columns keep those from before there were
        categories.
        """
        names = ("title", "type", "unit", *(("encoding", "levels") if self.type == CATEGORY else ()))
        return [(name, getattr(self, name)) for name in (*names, *self._rare_fields)]

    @classmethod
    def from_record(cls, values: Mapping[str, Any]) -> Column:
        """The column of a decoded record; CodecError for any other than `record_fields` would give."""
        for name, value in values.items():
            if not codec.conforms(value, _TYPES.get(name, str)):
                raise CodecError(f"Column.{name}: {type(value).__name__} is of the wrong type")
        column = cls(**values)
        if [name for name, _ in column.record_fields()] != list(values):
            raise CodecError("these are not the fields of a column in their order")
        return column


def _limit(value: Any) -> float:
    """A limit from JSON; ValueError if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"got {value!r}; want a number that no value is below, or above")
    return float(value)


def levels_problem(levels: Sequence[str]) -> str:
    """Say what is wrong with the values of a category; empty if nothing is."""
    if not all(0 < len(level) <= LONGEST_WORD and level.isprintable() for level in levels):
        return f"a value has 1 to {LONGEST_WORD} characters that can be printed"
    if odd := next((level for level in levels if normal(level) != level), ""):
        return f"{odd!r} is written otherwise in the study: want {normal(odd)!r}"
    if kept := next((level for level in levels if level in (REST, MISSING)), ""):
        return f"{kept} stands for something else: no value may be called so"
    if len(set(levels)) < len(levels):
        seen: set[str] = set()
        twice = next(level for level in levels if level in seen or seen.add(level))  # type: ignore[func-returns-value]
        return f"the value {twice} appears twice"
    return ""


def schema_problem(schema: Sequence[Column]) -> str:
    """Say what is wrong with the columns as a whole; empty if nothing is."""
    titles = [column.title for column in schema]
    if found := next(filter(None, (column.problem() for column in schema)), ""):
        return found
    if len(set(titles)) < len(titles):
        return f"the column {next(title for title in titles if titles.count(title) > 1)} appears twice"
    if not any(column.is_number or column.is_category or column.is_image for column in schema):
        return "want at least one column of numbers, of categories, or of images"
    for role in (OUTCOME, PATIENT):
        if len(named := [column.title for column in schema if column.role == role]) > 1:
            return f"want one column with the role {role}, not {' and '.join(named[:2])}"
    numbers = {column.title for column in schema if column.is_number}
    for column in schema:
        if column.is_category and (target := column.encoded.target) and target not in numbers:
            return f"{column.title}: its target {target} is no column of numbers of this schema"
    if sum(len(column.levels) for column in schema) > MOST_LEVELS:
        return f"want at most {MOST_LEVELS:,} values of all categories together"
    return "" if len(schema) <= MOST_COLUMNS else f"want at most {MOST_COLUMNS:,} columns"


ReadLevels = Callable[[str], tuple[str, ...]]
"""The values in a file that a schema names; DataProblem if it has none."""


def schema_from_file(path: Path) -> tuple[Column, ...]:
    """The schema in a CSV file; files that it names lie beside it. DataProblem says what is wrong."""
    return read_schema(_text_of(path), str(path), lambda name: levels_from_file(path.parent / name))


def levels_from_file(path: Path) -> tuple[str, ...]:
    """The values in a file, one a line. DataProblem says which line is wrong."""
    return read_levels(_text_of(path), str(path))


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataProblem("this is not in UTF-8", file=path, remedy="Save it as UTF-8.") from error
    except OSError as error:
        remedy = "A schema names files of values as they lie beside it."
        raise DataProblem(f"cannot be read: {error.strerror}", file=path, remedy=remedy) from error


def read_levels(text: str, file: str) -> tuple[str, ...]:
    """The values in a text, one a line; what follows a tab is a remark. Blank lines are skipped."""
    found: dict[str, int] = {}
    for line, words in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        level = normal(words.partition("\t")[0])
        if not level:
            continue
        problem = levels_problem([level])
        if level in found:
            problem = f"the value {level} stands in line {found[level]}, too"
        if problem:
            raise DataProblem(problem, file=file, line=line, remedy="Fix this line, or remove it.")
        found[level] = line
    if not found:
        raise DataProblem("this list has no values", file=file, remedy="Write one value on each line.")
    return tuple(found)


def read_schema(text: str, file: str, levels: ReadLevels | None = None) -> tuple[Column, ...]:
    """The columns that a CSV text lists below a line such as `name,type,unit`.

    DataProblem says where it is wrong. All fields but the name may be left out. `levels` reads the files
    that it names.
    """
    lines = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    try:
        return _columns(lines, file, levels)
    except csv.Error as error:
        line = max(1, lines.line_num)
        raise DataProblem(
            f"this is not CSV: {error}", file=file, line=line, remedy="Fix this line."
        ) from error


def _columns(lines: Any, file: str, levels: ReadLevels | None) -> tuple[Column, ...]:
    """The columns in a reader's lines, of which the first is the header."""
    header = tuple(next(lines, []))
    if header[:1] != _FIELDS[:1] or not set(header) <= set(_FIELDS) or len(set(header)) < len(header):
        raise DataProblem(
            f"a schema begins with the line name,type,unit, or with more of the fields {','.join(_FIELDS)}",
            file=file,
            line=1,
            remedy=f"Below it write one line for each column of the tables; types are {', '.join(TYPES)}.",
        )
    schema: list[Column] = []
    for row in filter(None, lines):
        try:
            column = _column(dict(zip(header, row, strict=False)), levels)
            problem = column.problem() or ("too many words" if len(row) > len(header) else "")
        except ValueError as error:
            problem = str(error)
        if problem:
            raise DataProblem(problem, file=file, line=lines.line_num, remedy="Fix this line.")
        schema.append(column)
    return tuple(schema)


def as_csv(schema: Iterable[Column]) -> Iterator[tuple[str, ...]]:
    """The lines that `read_schema` reads, but for limits and what is searched."""
    yield _FIELDS[:6]
    for column in schema:
        role = "" if column.role == FEATURE else column.role
        yield column.title, column.type, column.unit, role, column.encoding, _BETWEEN.join(column.levels)


def _column(fields: Mapping[str, str], levels: ReadLevels | None) -> Column:
    """The column of a line; ValueError if its values cannot be had."""
    values, more = fields.get("values", "").strip(), dict[str, Any]()
    if values.isascii() and values.isdecimal():
        more["most"], values = int(values), ""
    for name in _LIMITS:
        if written := fields.get(name, "").strip():
            more[name] = _read_limit(written, name)
    return Column(
        fields["name"],
        fields.get("type") or NUMBER,
        fields.get("unit", ""),
        fields.get("encoding", ""),
        _levels(values, levels),
        role=fields.get("role") or FEATURE,
        **more,
    )


def _read_limit(written: str, name: str) -> float:
    try:
        return float(written)
    except ValueError:
        raise ValueError(f"{written} under {name}: want a number, or nothing") from None


def _levels(values: str, levels: ReadLevels | None) -> tuple[str, ...]:
    """The levels that `never|former|current` names, or `levels=FILE`."""
    if not values.strip():
        return ()
    if values.startswith(_FROM_FILE):
        if levels is None:
            raise ValueError(f"{values}: no file can be read here; want the values, such as never|former")
        return levels(values.removeprefix(_FROM_FILE))
    return tuple(normal(value) for value in values.split(_BETWEEN))


def schema_of_header(text: str) -> tuple[Column, ...]:
    """Read a schema from a table's first line: the names of its columns, all taken to be numbers."""
    return tuple(map(Column, next(csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline="")), [])))
