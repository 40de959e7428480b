"""Options of a study, each declared once: which values it may have, and how people read about it.

A method lists the options that it has. Validation of plans, the API's schema, the browser's form, what
coordinators and cohorts read of a plan, the flags of `rehearse`, the methods section and the documentation's
table are all made from the declarations. `unpooled.plan.common_options` has those of the first release.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from unpooled import method_modules
from unpooled.protocol import codec

if TYPE_CHECKING:
    from unpooled.plan.plan import Plan

LONGEST_LIST, LARGEST = 100, 1 << 30
"""Entries of a list; and a whole number of one is less."""
MOST_COVARIATES = 60
"""Columns of covariates: what a cohort computes and sends for a variant grows with their square."""


Value = TypeVar("Value")
Entry = TypeVar("Entry", str, int, float)


class Place(StrEnum):
    """Position of an option in a form, and among the facts about a plan."""

    MODEL = "model"
    FILTERS = "filters"
    MORE = "more"


@dataclass(frozen=True)
class Covariate:
    """A covariate of a regression: a number, or one of several levels."""

    name: ClassVar[str] = "unpooled/covariate"

    title: str
    """Its name in the cohorts' files."""
    levels: tuple[str, ...] = ()
    """All levels of a categorical covariate, the reference first; empty for a number."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of its columns in the model: itself, or a dummy `title=level` per level but the first."""
        return tuple(f"{self.title}={level}" for level in self.levels[1:]) if self.levels else (self.title,)

    def problem(self) -> str:
        """Say what is wrong with it; empty if nothing is."""
        if not is_word(self.title):
            return "a covariate's name has 1 to 200 characters and no blanks"
        if self.levels and (len(self.levels) < 2 or len(set(self.levels)) < len(self.levels)):
            return f"{self.title} needs at least two different levels, the reference first"
        if not all(map(is_word, self.levels)):
            return f"{self.title}: a level is empty or too long, or has a blank in it"
        return ""


@dataclass(frozen=True, kw_only=True)
class Option(Generic[Value]):
    """Base of every kind of option; `MAF.of(plan)` is its value in a plan."""

    kind: ClassVar[str]
    type: ClassVar[Any]
    """Annotation of its value in a plan."""

    name: str
    """Name of the plan's field."""
    label: str
    default: Value
    hint: str = ""
    flag: str = ""
    """PLINK's flag for the same, such as --maf."""
    place: Place = Place.MORE
    needs: str = ""
    """Another option, without which this one means nothing."""
    file: str = ""
    """A result file, without which this one means nothing."""
    meant_if: Callable[[Plan], bool] = lambda plan: True
    """Whatever else it needs of a plan to mean something."""
    fact: str = "{}"
    """The value as it is shown to people who accept the plan; {} stands for it."""
    is_always_said: bool = False
    """True if people are shown it even at its default."""
    came_later: bool = False
    """True if plans had been accepted before this option existed. It changes nothing at its default, and a
    plan's encoding then leaves it out, so that those plans keep their hash.
    """
    usual: Any = None
    """Value in a new plan whose author says nothing, if that is not the default."""
    methods: str = ""
    """A sentence for the methods section where the option is not at its default."""
    rule: Callable[[Any, Plan], str] = lambda value, plan: ""
    """Further check of a value in a plan: says what is wrong; empty if nothing is."""

    def of(self, plan: Plan) -> Value:
        """Return its value in a plan."""
        found: Value = dict(plan.options).get(self.name, self.default)
        return found

    @property
    def flag_here(self) -> str:
        """The flag of `unpooled rehearse`."""
        return self.flag or f"--{self.name.replace('_', '-')}"

    @property
    def name_and_flag(self) -> str:
        """The label with PLINK's flag beside it, for those who know that."""
        return f"{self.label} ({self.flag})" if self.flag else self.label

    @property
    def explained(self) -> str:
        """The hint, for those who have no form before them."""
        return self.hint

    @property
    def wanted(self) -> str:
        """The values that it takes, as in “a number from 0 to 1, not 2”."""
        raise NotImplementedError

    def holds(self, value: Any) -> bool:
        """Tell whether a value of the right type is within the bounds."""
        return True

    def problem(self, value: Any, plan: Plan) -> str:
        """Say what is wrong with a value; empty if nothing is."""
        if not codec.conforms(value, self.type) or not self.holds(value):
            return refused(self.wanted, self.to_json(value))
        return self.rule(value, plan)

    def from_json(self, value: Any) -> Any:
        """The value that JSON gives; ValueError says what is wanted instead."""
        found = as_typed(value, self.type)
        if not codec.conforms(found, self.type):
            raise ValueError(refused(self.wanted, value))
        return found

    def to_json(self, value: Any) -> Any:
        return list(value) if isinstance(value, tuple) else value

    def shown(self, value: Any) -> str:
        """The value in words."""
        return str(value)

    def in_words(self, plan: Plan) -> str:
        """Say what a plan's people read of it; empty if there is nothing to say."""
        value = self.of(plan)
        if value == self.default and not self.is_always_said:
            return ""
        return self.fact.format(self.shown(value)) if self.is_meant(plan) else ""

    def is_meant(self, plan: Plan) -> bool:
        """Tell whether the plan has what this option is about."""
        needed = not self.needs or bool(called(self.needs).of(plan))
        return needed and (not self.file or self.file in plan.files) and self.meant_if(plan)

    def in_methods(self, plan: Plan) -> str:
        """Say what the methods section reports of it; empty if nothing."""
        value = self.of(plan)
        if value == self.default or not self.is_meant(plan):
            return ""
        return self.methods.format(self.shown(value))


@dataclass(frozen=True, kw_only=True)
class Number(Option[float]):
    kind = "number"
    type = float

    least: float
    most: float
    is_below: bool = False
    """True if `most` itself is too much."""
    none: float | None = None
    """A value outside these bounds that means: not at all."""
    keeps: str = ""
    """Property of the variants that a filter keeps, for the methods section."""

    @property
    def explained(self) -> str:
        off = f"{self.default:g} for no filter." if self.place == Place.FILTERS else ""
        return f"{self.hint} {off}".strip()

    @property
    def wanted(self) -> str:
        none = "" if self.none is None else f"{self.none:g}, or "
        return f"{none}a number from {self.least:g} to {'below ' * self.is_below}{self.most:g}"

    def holds(self, value: Any) -> bool:
        inside = self.least <= value < self.most or (value == self.most and not self.is_below)
        return bool(inside or value == self.none)

    def shown(self, value: Any) -> str:
        return f"{value:g}"

    def in_limits(self, plan: Plan) -> str:
        """Say what variants have that a filter keeps; empty if it keeps all."""
        value = self.of(plan)
        return "" if value == self.default else self.keeps.format(self.shown(value))


@dataclass(frozen=True, kw_only=True)
class Whole(Option[int]):
    kind = "whole"
    type = int

    least: int
    most: int

    @property
    def wanted(self) -> str:
        return f"a whole number from {self.least:,} to {self.most:,}"

    def holds(self, value: Any) -> bool:
        return bool(self.least <= value <= self.most)


@dataclass(frozen=True, kw_only=True)
class Switch(Option[bool]):
    kind = "switch"
    type = bool

    default: bool = False
    fact: str = "yes"
    off: str = "no"
    """Text that people read when it is off, if it is always mentioned."""

    @property
    def wanted(self) -> str:
        return "true or false"

    def in_words(self, plan: Plan) -> str:
        said = super().in_words(plan)
        return self.off if said and not self.of(plan) else said


@dataclass(frozen=True, kw_only=True)
class Text(Option[str]):
    kind = "text"
    type = str

    default: str = ""
    words: str
    """The values that it takes, in words."""
    fits: Callable[[str], bool]

    @property
    def wanted(self) -> str:
        return self.words

    def holds(self, value: Any) -> bool:
        return value == self.default or self.fits(value)


@dataclass(frozen=True, kw_only=True)
class Lines(Option[str]):
    """Lines of a text, such as a file has."""

    kind = "lines"
    type = str

    default: str = ""
    words: str
    """The lines that it takes, in words."""
    problem_of: Callable[[str], str]
    """Function that says what is wrong with a text; empty if nothing is."""
    in_short: Callable[[str], str]
    """Function that says what people read of a text in its place."""

    @property
    def wanted(self) -> str:
        return self.words

    def problem(self, value: Any, plan: Plan) -> str:
        if value == self.default or not codec.conforms(value, self.type):
            return super().problem(value, plan)
        return self.problem_of(value) or super().problem(value, plan)

    def shown(self, value: Any) -> str:
        return self.in_short(value)


@dataclass(frozen=True)
class Answer:
    """One of the values of a choice."""

    value: str
    label: str
    hint: str = ""
    fact: str = ""
    methods: str = ""
    flag: str = ""
    """PLINK's flag for this answer, such as --filter-males."""


@dataclass(frozen=True, kw_only=True)
class Choice(Option[str]):
    kind = "choice"
    type = str

    answers: tuple[Answer, ...]
    as_plink: str = ""
    """PLINK's own behaviour, which a rehearsal uses unless told otherwise."""
    is_always_said: bool = True

    @property
    def wanted(self) -> str:
        *others, last = (answer.value for answer in self.answers)
        return f"{', '.join(others)} or {last}"

    def holds(self, value: Any) -> bool:
        return any(answer.value == value for answer in self.answers)

    def answer(self, value: str) -> Answer:
        return next(answer for answer in self.answers if answer.value == value)

    def shown(self, value: Any) -> str:
        answer = self.answer(value)
        return answer.fact or answer.label

    def in_methods(self, plan: Plan) -> str:
        return self.answer(self.of(plan)).methods if self.is_meant(plan) else ""


@dataclass(frozen=True, kw_only=True)
class Entries(Option[tuple[Entry, ...]]):
    """A list of different entries."""

    item: ClassVar[Callable[[str], Any]]
    """Reads an entry."""

    default: tuple[Entry, ...] = ()

    def holds(self, value: Any) -> bool:
        return len(set(value)) == len(value) <= LONGEST_LIST and all(map(self.fits, value))

    def fits(self, entry: Any) -> bool:
        return True

    def read(self, text: str) -> tuple[Any, ...]:
        """The entries of a text, with commas between them; ValueError for others."""
        try:
            return tuple(map(type(self).item, filter(None, text.split(","))))
        except ValueError:
            raise ValueError(refused(self.wanted, text)) from None

    def shown(self, value: Any) -> str:
        return ", ".join(map(str, value))


@dataclass(frozen=True, kw_only=True)
class Numbers(Entries[float]):
    kind = "numbers"
    type = tuple[float, ...]
    item = float

    least: float
    most: float

    @property
    def wanted(self) -> str:
        return f"up to {LONGEST_LIST} different numbers from {self.least:g} to {self.most:g}"

    def fits(self, entry: Any) -> bool:
        return bool(self.least <= entry <= self.most)


@dataclass(frozen=True, kw_only=True)
class Wholes(Entries[int]):
    kind = "wholes"
    type = tuple[int, ...]
    item = int

    has_zero: bool = True

    @property
    def wanted(self) -> str:
        return f"up to {LONGEST_LIST} different whole numbers{'' if self.has_zero else ' other than 0'}"

    def fits(self, entry: Any) -> bool:
        return bool(abs(entry) < LARGEST and (entry or self.has_zero))


@dataclass(frozen=True, kw_only=True)
class Words(Entries[str]):
    kind = "words"
    type = tuple[str, ...]
    item = str

    among: tuple[str, ...] = ()
    """All permitted words; empty where any will do."""
    reader: Callable[[str], tuple[str, ...]] | None = None
    """Reads what is typed after the flag, if that is more than words between commas."""

    @property
    def wanted(self) -> str:
        return f"some of {', '.join(self.among)}" if self.among else f"up to {LONGEST_LIST} different words"

    def fits(self, entry: Any) -> bool:
        return entry in self.among if self.among else is_word(entry)

    def read(self, text: str) -> tuple[Any, ...]:
        return self.reader(text) if self.reader else super().read(text)


@dataclass(frozen=True, kw_only=True)
class Covariates(Option[tuple[Covariate, ...]]):
    kind = "covariates"
    type = tuple[Covariate, ...]

    default: tuple[Covariate, ...] = ()
    is_always_said: bool = True

    @property
    def wanted(self) -> str:
        return "a list of covariates"

    def problem(self, value: Any, plan: Plan) -> str:
        names = [column for covariate in value for column in covariate.columns]
        if found := next(filter(None, (covariate.problem() for covariate in value)), ""):
            return found
        if len(set(names)) < len(names):
            return "a covariate is listed twice"
        if len(names) > MOST_COVARIATES:
            return f"at most {MOST_COVARIATES} columns, dummies counted, not {len(names)}"
        return self.rule(value, plan)

    def from_json(self, value: Any) -> Any:
        return tuple(map(_covariate, value)) if isinstance(value, list) else super().from_json(value)

    def to_json(self, value: Any) -> Any:
        return [{"name": covariate.title, "levels": list(covariate.levels)} for covariate in value]

    def shown(self, value: Any) -> str:
        of = (f"{c.title} ({', '.join(c.levels)})" if c.levels else c.title for c in value)
        return ", ".join(of) or "none"

    def in_methods(self, plan: Plan) -> str:
        value = self.of(plan)
        names = (f"{c.title} (categorical)" if c.levels else c.title for c in value)
        return self.methods.format(", ".join(names)) if value else ""


_called: dict[str, Option[Any]] = {}
_of_test: dict[str, tuple[Option[Any], ...]] = {}


def remember(options: Iterable[Option[Any]], test: str = "") -> None:
    """Make options known, so that plans can hold them; of a method, as those that its plans have."""
    listed = tuple(options)
    for option in listed:
        if _called.setdefault(option.name, option) is not option:
            raise ValueError(f"there is another option called {option.name}")
    if test:
        _of_test[test] = listed


def called(name: str) -> Option[Any]:
    """The option of this name; KeyError if no method has one."""
    if name not in _called:
        method_modules.load_all()
    return _called[name]


def of_test(test: str) -> tuple[Option[Any], ...] | None:
    """The options that a plan of this test has; None if there is no such test."""
    method_modules.load(test)
    return _of_test.get(test)


def refused(wanted: str, value: Any) -> str:
    """Say that a value is not as it is wanted."""
    value = int(value) if isinstance(value, float) and value.is_integer() else value
    return f"{wanted}, not {json.dumps(value, default=str)[:200]}"


def as_typed(value: Any, hint: Any) -> Any:
    """A value from JSON, which has one kind of numbers and writes 1.0 as 1, and has lists for tuples."""
    if isinstance(value, list):
        return tuple(as_typed(item, float if hint == tuple[float, ...] else None) for item in value)
    return float(value) if hint is float and type(value) is int else value


def is_word(text: str) -> bool:
    """Tell whether a text can be a word of a table, and be shown as it is."""
    return is_name(text, 200) and not any(c.isspace() for c in text)


def is_name(text: str, most: int) -> bool:
    """Tell whether a text is a short one that any terminal and any database takes as it is."""
    return 0 < len(text) <= most and text.isprintable()


def _covariate(value: Any) -> Covariate:
    """A covariate from JSON: its name, or name and levels."""
    if isinstance(value, str):
        return Covariate(value)
    fields = value if isinstance(value, Mapping) else {}
    name, levels = fields.get("name"), fields.get("levels", [])
    is_listed = isinstance(levels, list) and all(isinstance(level, str) for level in levels)
    if not isinstance(name, str) or not is_listed or not set(fields) <= {"name", "levels"}:
        raise ValueError(refused("a name and, of a categorical covariate, its levels", value))
    return Covariate(name, tuple(levels))
