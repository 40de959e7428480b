"""Declaration of a method for the registry: a few parts for all, and more for each of the two kinds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO, ClassVar, Generic, TypeVar, cast

from unpooled import method_modules
from unpooled.asking.cohort import ArrayTable, Table
from unpooled.asking.procedure import Procedure
from unpooled.asking.question import Arrays, Condition, Question, check_words, words
from unpooled.asking.sizes import LONGEST_ALLELE, LONGEST_ID, ONE_VARIANT, VARIANTS, Sizes
from unpooled.methods import question_in_words
from unpooled.methods.phenotypes import required
from unpooled.methods.purpose import Purpose
from unpooled.methods.question_in_words import Fact
from unpooled.methods.shared import summary
from unpooled.methods.shared.conditions import Conditioned, conditioned
from unpooled.methods.shared.privacy_options import is_exact, noise_in_words
from unpooled.pages.page import Html
from unpooled.panel.list_file import MOST_VARIANTS
from unpooled.panel.panel import Panel
from unpooled.plan import options
from unpooled.plan.common_options import BITS, OF_EVERY_STUDY, OPENS
from unpooled.plan.options import Option
from unpooled.plan.plan import NAMELESS, NONE, Plan
from unpooled.plan.schema import MOST_CLASSES, MOST_LEVELS, NUMBER, Column
from unpooled.plan.templates import Template

SHARE_BYTES = 4_500_000
"""Largest share about a chunk: a larger one takes memory, and keeps the other parties waiting."""
FEWEST_IN_A_CHUNK = 1000

# Bounds of result files, generous: they keep a disk from being filled, and must never refuse an honest file.
_LINE = 1 << 12  # bytes of a line beside its ID and alleles
_FEWEST_LINES = 3  # that a report may have of a variant: PLINK's `.hwe` has three
_ALLELES = 8  # that a line may name
_USUAL_WORD = 1 << 10  # bytes of an ID or an allele, where nobody has measured the longest
_FEATURE = 1 << 16  # bytes about a column of a table
_LEVEL = 1 << 11  # bytes about one of its values
_NUMBER = 1 << 5  # bytes of a number

NOT_POOLED = "Not the pooled result"

Writer = Callable[[BinaryIO, Panel, Arrays, Plan], None]
"""Writes one result file from the panel and the result columns, sorted by variant."""


@dataclass(frozen=True)
class AboutFile:
    """Description of a result file, for people."""

    label: str
    hint: str = ""
    methods: str = ""
    """Sentence about the file for a paper; empty for most, whose method says enough."""


@dataclass(frozen=True)
class Wording:
    """Words of the methods section of a study of variants."""

    about: str = "The association of genetic variants with"
    """Words before the phenotypes."""
    done: str = "was tested"
    """Words after each phenotype."""
    variants: str = "tested"
    """Participle that says what was done to the variants that pass the filters."""


@dataclass(frozen=True)
class Cost:
    """Cost of a study to a cohort, in seconds of one core, as measured in docs/performance.md."""

    each: float = 6e-6
    """Seconds per variant, however many people there are: masking, sending, writing."""
    person: Callable[[int], float] = lambda columns: 0.02e-9
    """Seconds per person and variant, by the number of columns with phenotype and covariates; by default, as
    a count.
    """
    dosed: float = 0.0
    """Seconds per person and variant that dosages take beyond calls: every question reads them anew."""
    once: float = 0.0
    """Seconds per person, however many variants there are."""

    def seconds(
        self, people: int, variants: int, covariates: int, threads: int = 1, *, dosages: bool = False
    ) -> float:
        """Estimate the seconds of computing, masking and sending, waits for others excluded; `covariates`
        counts columns.
        """
        person = self.person(covariates + 2) + (self.dosed if dosages else 0)
        return variants * (people * person / threads + self.each) + people * self.once / threads


@dataclass(frozen=True, kw_only=True)
class Method:
    """A federated method. Forms, consent, progress and documentation are made from this."""

    called: ClassVar[str]
    """Title of the fact that names it."""
    counted: ClassVar[str]
    """Plural of what a cohort has a minimum number of."""
    data: ClassVar[str]
    """The data of a cohort, at the beginning of a sentence."""
    file: ClassVar[tuple[str, str]]
    """The file that a cohort gives, in words, and the client's option for it."""
    agreed: ClassVar[str] = ""
    """Name of the list that cohorts agree on before they are asked; empty if the plan says all."""
    fields: ClassVar[tuple[str, ...]]
    """Fields of a plan that mean nothing to the other kind."""
    given: ClassVar[Mapping[str, object]] = {}
    """Fields that every plan of its kind has."""

    name: str
    title: str
    purpose: Purpose
    method: str
    """Sentence for a paper that says what it computes."""
    unlike_pool: str = ""
    """Sentence that says why its result is not that of the pooled data, shown wherever a study of its kind or
    its results are; empty if it is.
    """
    traits: tuple[str, ...]
    asks: tuple[type[Question], ...]
    """The kinds of questions that it may ask, in their order."""
    procedure: Procedure[[], None]
    """The whole study."""
    files: Mapping[str, Writer]
    """Result files by the name that a plan has for them, e.g. `assoc`."""
    usual_files: tuple[str, ...]
    """The files that a study writes unless its plan says otherwise."""
    about_files: Mapping[str, AboutFile] = field(default_factory=dict)
    """Descriptions of the files that `result_files` does not know."""
    options: tuple[Option[Any], ...] = ()
    """Options of a plan of this test besides the fields of every plan, in the order of the form."""
    templates: tuple[Template, ...] = ()
    """Usual studies of this kind, to begin a plan with."""
    file_name: Callable[[str, Plan], str] = lambda file, plan: file
    """Function from a file's name in `files` to the end of its name: `assoc` may become `assoc.linear`."""
    table: str
    """The result table without which there are no results."""
    columns: Callable[[str, Mapping[str, Arrays]], Arrays] | None = None
    """The result columns that a file is written from, among the result tables; those of `table` if None."""
    shown: Callable[[Mapping[str, Arrays], Plan], Html] | None = None
    """Function that shows the result tables of a study of tables, as a part of the report."""
    summarise: Callable[[Mapping[str, Arrays]], summary.Summary | None] = summary.summarise
    """The result tables in a few numbers, for people."""
    tells: str = ""
    """Statement for the consent screen of what becomes known of single people's values besides sums; empty if
    nothing does.
    """
    tells_by_bits: str = ""
    """The same where the plan says that nobody reads the sums."""
    tells_scaled: Callable[[Plan], str] = lambda plan: ""
    """The same of the scalings that the plan's columns have, which nobody reads the sums of."""
    rules: Callable[[Plan], Mapping[str, str]] = lambda plan: {}
    """Further problems of a plan of this test, by the plan's field."""

    def __post_init__(self) -> None:
        options.remember(self.options, self.name)
        DECLARED[self.name] = self

    @property
    def is_compared(self) -> bool:
        """True if sums are compared in every study of this kind, whatever its plan says."""
        return OPENS not in self.options and any(kind.opens for kind in self.asks)

    @property
    def all_options(self) -> tuple[Option[Any], ...]:
        """Its own options, and those that every study has."""
        return (*self.options, *OF_EVERY_STUDY)

    def told(self, plan: Plan) -> str:
        """Return what is revealed of single people's values under a plan; empty if nothing."""
        if not is_exact(plan):
            return ""  # no more than the noise allows
        return (self.tells_by_bits if OPENS.of(plan) == BITS else self.tells) or self.tells_scaled(plan)

    def differs(self, plan: Plan) -> str:
        """Say why the result of a plan is not that of the pooled data; empty if it is."""
        return self.unlike_pool or noise_in_words(plan)

    def warning(self, plan: Plan) -> str:
        """The same as a sentence of its own."""
        return f"{NOT_POOLED}: {said}." if (said := self.differs(plan)) else ""

    def columns_for(self, file: str, tables: Mapping[str, Arrays]) -> Arrays:
        """The result columns that a file is written from."""
        return self.columns(file, tables) if self.columns else tables[self.table]

    def usual(self) -> dict[str, object]:
        """Return the defaults of a plan of this test: the trait, the result files, some options."""
        own = {option.name: option.usual for option in self.options if option.usual is not None}
        return {"trait": self.traits[0], "files": self.usual_files, **self.given, **own}

    def question(self, plan: Plan) -> tuple[Fact, ...]:
        """Return the facts about what is asked under a plan."""
        raise NotImplementedError

    def key_numbers(self, plan: Plan) -> list[tuple[str, str, str]]:
        """Return names, numbers and what goes with them that a report shows first, beside its results."""
        return []

    def chunk_of(self, plan: Plan, asks: Sequence[type[Question]]) -> int:
        """Count the variants in one question; 0 if there are none. `asks`: the questions of the study."""
        return 0

    def ready(self, cohorts: Sequence[Any], panel: Panel, plan: Plan) -> Sequence[Any]:
        """Return all cohorts, in one process, as the questions find them; as they are, if a client has made
        them ready.
        """
        raise NotImplementedError

    def most_bytes(self, plan: Plan, sizes: Sizes) -> int:
        """Bound the bytes of a result file, beyond its head, from the sizes of one cohort's data."""
        raise NotImplementedError

    def most_bytes_of_page(self, plan: Plan) -> int:
        """Bound the bytes of the report for people, beyond its head."""
        return 0

    def problems(self, plan: Plan) -> dict[str, str]:
        """Return what a plan asks of this test that it does not offer, by the plan's field."""
        found = {}
        if plan.trait not in self.traits:
            found["trait"] = f"{self.title} is for the trait {' or '.join(self.traits)}"
        if unknown := [file for file in plan.files if file not in self.files]:
            found["files"] = f"{self.title} has the files {', '.join(self.files)}, not {', '.join(unknown)}"
        # What its own rules say of an option that it lacks is more than that it lacks it.
        own, rules = {option.name for option in self.all_options}, self.rules(plan)
        for name, _ in plan.options:
            if name not in own:
                found[name] = rules.get(name, f"{self.title} does not have this")
        return {**rules, **found}


@dataclass(frozen=True, kw_only=True)
class VariantMethod(Method):
    """A method for genotypes: of each variant, or of people by their variants."""

    called = "Test"
    counted = "people"
    data = "Genotypes and phenotypes"
    file = "genotypes", "--bfile PREFIX"
    agreed = "list of variants"
    fields = ("phenotype", "build", "autosomes", "chromosomes", "nonfounders", "allow_no_sex", "panel_mode")

    table: str = summary.VARIANTS
    wording: Wording = Wording()
    needs_phenotype: bool = True
    """Tell whether a cohort without phenotypes can take no part."""
    looked_at: Callable[[Mapping[str, Arrays]], Arrays] = lambda tables: tables[summary.VARIANTS]
    """The result columns that people look at, of the variants that were tested."""
    shares: Callable[[Plan], bool] = lambda plan: False
    """True if its procedure is about all phenotypes at once, given a plan in which they are of the same
    people: it asks once about what does not depend on the phenotype, and gives tables of each.
    """
    cost: Cost = Cost()
    further: tuple[tuple[Condition, Cost], ...] = ()
    """Costs beside this one, each of a study under a plan that fulfils the condition."""

    def question(self, plan: Plan) -> tuple[Fact, ...]:
        return question_in_words.of_variants(plan)

    def problems(self, plan: Plan) -> dict[str, str]:
        found = {"phenotype": NAMELESS} if self.needs_phenotype and not plan.phenotype else {}
        return {**super().problems(plan), **found}

    def chunk_of(self, plan: Plan, asks: Sequence[type[Question]]) -> int:
        """Return the plan's size of chunks, or else that of which no share is beyond `SHARE_BYTES`.

        Smaller ones take no less time, for each is a request of its own.
        """
        if plan.chunk_size:
            return plan.chunk_size
        by_one = replace(plan, chunk_size=1)
        each = max(_variant_bytes(kind, by_one, ONE_VARIANT) for kind in asks)
        return max(FEWEST_IN_A_CHUNK, SHARE_BYTES // each)

    def ready(self, cohorts: Sequence[Any], panel: Panel, plan: Plan) -> Sequence[Any]:
        # Whoever lacks a phenotype is left out first: whom a condition lacks has none afterwards, and counts.
        return [
            cohort if isinstance(cohort, Conditioned) else conditioned(required(cohort, plan), panel, plan)
            for cohort in cohorts
        ]

    def most_bytes(self, plan: Plan, sizes: Sizes) -> int:
        words = sizes.get(LONGEST_ID, _USUAL_WORD) + _ALLELES * sizes.get(LONGEST_ALLELE, _USUAL_WORD)
        lines = (_FEWEST_LINES + len(plan.covariate_columns)) * sizes.get(VARIANTS, MOST_VARIANTS)
        return lines * (_LINE + words)


def _variant_bytes(kind: type[Question], plan: Plan, one: Sizes) -> int:
    """Bytes of a share of this kind per variant, from the question about `one`; 0 if it is about none."""
    if (
        not (kind.goes_over_variants() and kind.sends_under(plan))
        or (foreseen := kind.foreseen(plan, one)) is None
    ):
        return 0
    scheme = plan.scheme(kind.ring_bits)
    most = max(words(question, scheme) for question in foreseen.questions)
    return scheme.word_bytes * (most - check_words(kind, scheme))


@dataclass(frozen=True, kw_only=True)
class TableMethod(Method):
    """A method for tables: their columns are named in the plan, and there are no variants to agree on."""

    called = "Method"
    counted = "rows"
    data = "The tables"
    file = "a table", "--table FILE"
    fields = ("schema",)
    given: ClassVar[Mapping[str, object]] = {"phenotype": "", "panel_mode": NONE}

    traits: tuple[str, ...] = (NONE,)
    file_name: Callable[[str, Plan], str] = lambda file, plan: f"{file}.json"
    summarise: Callable[[Mapping[str, Arrays]], summary.Summary | None] = lambda tables: None
    columns_of: Callable[[Plan], Sequence[Column]] = lambda plan: plan.features
    """Columns of the plan that it is about."""
    column_type: str = NUMBER
    """The type of these columns, as a schema has it."""
    reads_words: Callable[[Column], bool] = lambda column: False
    """True if it reads the words of a column."""
    prepared: Callable[[ArrayTable, Plan], ArrayTable] = lambda table, plan: table
    """A cohort's table as the questions see it, from what was read."""
    coded: Callable[[Sequence[Table], Plan], Sequence[Table]] = lambda tables, plan: tables
    """The tables of all cohorts, in one process, with what only all parties together can add to them."""
    scalings: tuple[str, ...] = ()
    """Scalings of a column of numbers that it knows, as a schema names them."""
    foresee: Callable[[ArrayTable, Plan], None] = lambda table, plan: None
    """Raises the Refuse of a study whose cohorts all have a table as this one, which was prepared."""
    most_numbers: Callable[[Plan, int], int] = lambda plan, columns: 0
    """Bound on the numbers in its files beside those about one column, given how many columns there are."""

    def question(self, plan: Plan) -> tuple[Fact, ...]:
        return question_in_words.of_columns(plan, self.columns_of(plan))

    def key_numbers(self, plan: Plan) -> list[tuple[str, str, str]]:
        return [("Columns", f"{len(plan.features):,}", "of numbers")]

    def ready(self, cohorts: Sequence[Any], panel: Panel, plan: Plan) -> Sequence[Any]:
        return self.coded(cohorts, plan)

    def most_bytes(self, plan: Plan, sizes: Sizes) -> int:
        found = (min(plan.cohorts * column.most, MOST_LEVELS) for column in plan.categories)
        levels = sum(found) + sum(len(column.levels) + 2 for column in plan.categories)  # 2: missing, rest
        columns = len(plan.features) + len(plan.categories) + levels + MOST_CLASSES
        return columns * _FEATURE + levels * _LEVEL + self.most_numbers(plan, columns) * _NUMBER

    def most_bytes_of_page(self, plan: Plan) -> int:
        return self.most_bytes(plan, {})

    def problems(self, plan: Plan) -> dict[str, str]:
        wanted = f"{self.title} is about columns of type {self.column_type}: want at least one"
        scaled = [c for c in plan.schema if c.scaling and c.scaling not in self.scalings]
        one_of = f"here a scaling is {' or '.join(self.scalings)}"
        known = one_of if self.scalings else "only a model scales its columns of numbers"
        unscaled = f"{', '.join(c.title for c in scaled[:1])}: {known}"
        found = {"schema": wanted} if not self.columns_of(plan) else {"schema": unscaled} if scaled else {}
        if plan.images is not None and plan.images not in self.columns_of(plan):
            found["schema"] = f"{plan.images.title}: only a network on images reads images"
        return {**super().problems(plan), **found}


DECLARED: dict[str, Method] = {}
"""All whose modules have been imported; `Registry` imports others."""

Kind = TypeVar("Kind", bound=Method)


class Registry(Mapping[str, Kind], Generic[Kind]):
    """The methods that some tables of modules have, in their order: loaded when they are looked up."""

    def __init__(self, *tables: Mapping[str, str]) -> None:
        self._tables = tables

    def __getitem__(self, name: str) -> Kind:
        if name not in self:
            raise KeyError(name)
        method_modules.load(name)
        return cast(Kind, DECLARED[name])

    def __contains__(self, name: object) -> bool:
        return any(name in table for table in self._tables)

    def __iter__(self) -> Iterator[str]:
        for table in self._tables:
            yield from table

    def __len__(self) -> int:
        return sum(map(len, self._tables))


def __getattr__(name: str) -> object:
    """Give what the release before called `Algorithm`, of both kinds. Goes with the next release."""
    if name != "Algorithm":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn("Algorithm is VariantMethod or TableMethod from this release on", DeprecationWarning, 2)
    return lambda **fields: (TableMethod if fields["traits"] == (NONE,) else VariantMethod)(**fields)
