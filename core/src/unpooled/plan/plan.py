"""The plan of a study: everything that decides a number, or who sees it. Final once a sum is released.

Its hash is shown to every person before a data file is opened, and is part of every mask's key.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import typing
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from unpooled.errors import CodecError, UnpooledError
from unpooled.panel.chromosomes import MOST_AUTOSOMES, problem_of
from unpooled.plan import floors, json_values, options
from unpooled.plan.common_options import (
    COHORT_SUMS,
    COMPENSATOR,
    COMPONENTS,
    CONDITION,
    COVARIATES,
    ENCRYPTED,
    LOCO,
    OF_EVERY_STUDY,
    PHENOTYPES,
    PREDICTION,
    TRUST,
)
from unpooled.plan.common_options import EXACT as EXACT
from unpooled.plan.common_options import FEWEST_AT_A_LEVEL as FEWEST_AT_A_LEVEL
from unpooled.plan.common_options import FEWEST_COHORTS as FEWEST_COHORTS
from unpooled.plan.common_options import MEAN as MEAN
from unpooled.plan.common_options import component_titles as component_titles
from unpooled.plan.options import Covariate as Covariate
from unpooled.plan.options import as_typed, is_name
from unpooled.plan.result_files import FILES
from unpooled.plan.schema import Column, schema_problem
from unpooled.plan.with_schema import WithSchema
from unpooled.protocol import SEALING_KEY_BYTES, VERSION, codec
from unpooled.protocol.masking import MAX_VARIANCE, Gaussian, Modular, Scheme
from unpooled.protocol.messages import MIN_COHORTS, digest
from unpooled.protocol.ring import Ring

NONE = "none"
"""Trait, and way to agree on variants, of a study of tables: it has no phenotype and no variants."""

NO_KEY = bytes(SEALING_KEY_BYTES)
"""Stands for the compensator's key in a plan by which nothing is sent."""

VERSIONS = (1, 2, 3, 4, 5, 6)
"""Protocol versions that a plan can have; the first has a canonical encoding of its own."""

_FIRST_LAYOUT = (
    *("test", "phenotype", "cohorts", "compensator_key", "trait", "build", "autosomes", "chromosomes"),
    *("nonfounders", "allow_no_sex", "files", "min_samples", "min_per_class", "chunk_size", "panel_mode"),
    *("panel_digest", "masking", "variance", "ring_bits", "covariates", "cohort_sums", "missing", "maf"),
    *("geno", "hwe", "mind", "ci", "hide_covar", "beta", "max_iterations", "tolerance", "glm_cols", "schema"),
    *("quantiles", "elements", "version"),
)
"""Fields and options in the encoding of version 1, whether the test has them or not: ended studies keep the
hash that people have compared."""


class PlanError(UnpooledError):
    """A plan that cannot be. `problems` maps a field's name to what is wrong with it."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        self.problems = dict(problems)
        super().__init__("; ".join(f"{field}: {problem}" for field, problem in self.problems.items()))


NAMELESS = "the phenotype's name has 1 to 200 characters"

NOT_REPORTED = "NR"
"""The genome build of a plan that names none; GWAS-SSF's word for whatever a study does not know."""


@dataclass(frozen=True, init=False)
class Plan(WithSchema):
    """The plan that the cohorts agree to: the fields that every study has, and the options of its test.

    Names are what people read in the API and in the manifest. An option is given by keyword, like a field,
    and read by its declaration: `MAF.of(Plan(..., maf=0.01))`. One that is not given is at its default.
    """

    name: ClassVar[str] = "unpooled/plan"
    alone: ClassVar[bool] = False
    """True if it is for one cohort's own eyes: then no floor applies."""
    of_several: ClassVar[bool] = False
    """True if it is about one of the several phenotypes of a study."""

    test: str
    phenotype: str
    cohorts: int
    compensator_key: bytes
    trait: str = floors.CASE_CONTROL
    build: str = "GRCh38"
    autosomes: int = 22
    chromosomes: tuple[str, ...] = ()
    """Only variants on these, as PLINK's --chr takes them: 1-4, 22, X. Empty for all."""
    nonfounders: bool = False
    allow_no_sex: bool = False
    files: tuple[str, ...] = FILES
    min_samples: int = floors.MIN_SAMPLES
    min_per_class: int = floors.MIN_PER_CLASS
    chunk_size: int = 0
    """Variants in one question; 0 for as many as make a share of a few megabytes."""
    panel_mode: str = "names"
    panel_digest: bytes = b""
    masking: str = "modular"
    variance: float = 1e12
    ring_bits: int = 32
    schema: tuple[Column, ...] = ()
    """Columns of the cohorts' tables, in a study of tables."""
    version: int = VERSION
    options: tuple[tuple[str, Any], ...] = ()
    """Names and values of those that are not at their default, sorted."""

    def __init__(self, test: str, phenotype: str, cohorts: int, compensator_key: bytes, **more: Any) -> None:
        given = dict(more.pop("options", ())) | more
        given |= {
            "test": test,
            "phenotype": phenotype,
            "cohorts": cohorts,
            "compensator_key": compensator_key,
        }
        options.of_test(test)  # loads its options, so that no other test's are looked through
        fields = {name: given.pop(name, field.default) for name, field in _fields().items()}
        vars(self).update(fields, options=_held(given))
        if problems := {field: problem for field, problem in self._problems() if problem}:
            raise PlanError(problems)

    def _problems(self) -> Iterator[tuple[str, str]]:
        """Each field with what is wrong with it, or nothing."""
        yield from ((field, "" if good else problem) for field, good, problem in self._rules())
        for name, value in self.options:
            yield name, options.called(name).problem(value, self)

    def _rules(self) -> list[tuple[str, bool, str]]:
        key_bytes = SEALING_KEY_BYTES if self.version > 5 else 32
        has_key = len(self.compensator_key) == key_bytes
        has_files = bool(self.files) and all(is_name(file, 40) for file in self.files)
        has_digest = len(self.panel_digest) == (32 if self.panel_mode == "list" else 0)
        chunks = f"1 to {floors.MOST_IN_CHUNK:,} variants, or 0 for automatic; not {self.chunk_size:,}"
        return [
            *self._rules_of_its_kind(),
            self._within("cohorts", 1 if self.alone else MIN_COHORTS, floors.MOST_COHORTS, " cohorts"),
            ("compensator_key", has_key, f"the compensator's public key has {key_bytes:,} bytes"),
            ("build", is_name(self.build, 40), "name the genome build, such as GRCh38"),
            self._within("autosomes", 1, MOST_AUTOSOMES, " autosomes"),
            ("chromosomes", not (misnamed := self._misnamed_chromosome()), misnamed),
            ("files", has_files, "choose at least one result file"),
            self._within("min_samples", 1, floors.MOST_PEOPLE),
            self._within("min_per_class", 0, floors.MOST_PEOPLE),
            ("chunk_size", 0 <= self.chunk_size <= floors.MOST_IN_CHUNK, chunks),
            ("panel_digest", has_digest, "goes with a list of variants, and only with that"),
            ("masking", self.masking in ("modular", "gaussian"), "modular or gaussian"),
            ("variance", not (blurred := self._bad_variance()), blurred),
            ("ring_bits", self.ring_bits in (32, 64, 128), f"32, 64 or 128, not {self.ring_bits:,}"),
            ("version", self.version in VERSIONS, f"this program speaks protocol version {VERSION}"),
        ]

    def _within(self, field: str, least: int, most: int, what: str = "") -> tuple[str, bool, str]:
        value = getattr(self, field)
        return field, least <= value <= most, f"{least:,} to {most:,}{what}, not {value:,}"

    def _rules_of_its_kind(self) -> list[tuple[str, bool, str]]:
        """Return the rules for a study of variants, or for one of tables: columns in place of phenotype and
        panel.
        """
        if self.of_tables:
            return [
                ("phenotype", self.phenotype == "", "a study of tables has none"),
                ("panel_mode", self.panel_mode == NONE, f"{NONE}: a study of tables has no variants"),
                ("schema", not (bad := schema_problem(self.schema)), bad),
            ]
        return [
            ("phenotype", self.phenotype == "" or is_name(self.phenotype, 200), NAMELESS),
            ("trait", self.trait in floors.TRAITS, " or ".join(floors.TRAITS)),
            ("panel_mode", self.panel_mode in ("names", "list"), "names or list"),
            ("schema", not self.schema, f"goes with the trait {NONE}: a study of tables"),
        ]

    @property
    def in_pairs(self) -> bool:
        """True if each two cohorts share masks, and there is no compensator."""
        return TRUST.of(self) != COMPENSATOR

    @property
    def is_encrypted(self) -> bool:
        """True if what is masked is encrypted besides (experimental)."""
        return TRUST.of(self) == ENCRYPTED

    @property
    def of_tables(self) -> bool:
        """True if the study is about tables, and not about variants."""
        return self.trait == NONE

    def _bad_variance(self) -> str:
        if not 0 < self.variance < MAX_VARIANCE:
            return f"a positive number below {MAX_VARIANCE:g}, not {self.variance:g}"
        if self.masking == "gaussian" and self.noise >= 0.5:  # then a count comes back as another one
            return f"too much: over {self.cohorts} cohorts, masks of this variance would change counts"
        return ""

    def _misnamed_chromosome(self) -> str:
        if self.chromosomes and self.panel_mode == "list":
            return "only without a list of variants, which says by itself which there are"
        return problem_of(self.chromosomes, self.autosomes)

    @property
    def phenotype_names(self) -> tuple[str, ...]:
        """All phenotypes of the study; none in a study of tables."""
        return (self.phenotype, *PHENOTYPES.of(self)) if self.phenotype else ()

    def of_phenotype(self, name: str) -> Plan:
        """Return the plan of one of its phenotypes, as if the study had only that; KeyError for others."""
        if name not in self.phenotype_names:
            raise KeyError(name)
        return _of_phenotype(self, name) if PHENOTYPES.of(self) else self

    def without(self, option: str) -> Plan:
        """Return the plan that a part of the study goes by, before this option means something."""
        return _without(self, option) if option in dict(self.options) else self

    @property
    def each(self) -> tuple[Plan, ...]:
        """The plan of each phenotype; of one only, or of tables, itself."""
        return tuple(map(self.of_phenotype, self.phenotype_names)) or (self,)

    def field_of(self, column: str) -> str:
        """The field or option that names a column of the cohorts' files; empty if none does."""
        if column in (feature.title for feature in self.schema):
            return "schema"
        if any(column in (each.title, *each.columns) for each in COVARIATES.of(self)):
            return COVARIATES.name
        if column in CONDITION.of(self):
            return CONDITION.name
        if column in PHENOTYPES.of(self):
            return PHENOTYPES.name
        return "phenotype" if column and column == self.phenotype else ""

    @property
    def covariate_columns(self) -> tuple[str, ...]:
        """Names of the columns that conditions, covariates, components and predictions become, as
        `Samples.covariates` has them."""
        own = (column for covariate in COVARIATES.of(self) for column in covariate.columns)
        components = component_titles(COMPONENTS.of(self))
        return (*CONDITION.of(self), *own, *components, *((PREDICTION,) if LOCO.of(self) else ()))

    @property
    def dummies(self) -> tuple[tuple[int, ...], ...]:
        """Indices among these columns of each categorical covariate's indicators, one per level but the
        first.
        """
        numbers = itertools.count(len(CONDITION.of(self)))
        columns = [(c, tuple(itertools.islice(numbers, len(c.columns)))) for c in COVARIATES.of(self)]
        return tuple(own for covariate, own in columns if covariate.levels)

    @property
    def shows_cohort_sums(self) -> bool:
        """True if the server sees sums over one cohort if a covariate tells cohorts apart."""
        return COHORT_SUMS.of(self) and bool(COVARIATES.of(self))

    def hash(self) -> bytes:
        """SHA-256 of the plan's canonical encoding."""
        return digest(self)

    @property
    def chance(self) -> bytes:
        """Hash by which people and directions are drawn: the same whoever is trusted with the masks."""
        others = tuple(option for option in self.options if option[0] != TRUST.name)
        return type(self)(**{**vars(self), "options": others}).hash() if self.in_pairs else self.hash()

    def scheme(self, ring_bits: int) -> Scheme:
        """Return the masking of the shares of a step that needs a ring of `ring_bits`."""
        if self.masking == "gaussian":
            return Gaussian(self.variance)
        return Modular(Ring(max(ring_bits, self.ring_bits)))

    @property
    def noise(self) -> float:
        """Bound on the change that the masks make to a sum over the cohorts; 0 if they never make any."""
        return self.scheme(self.ring_bits).noise(self.cohorts)

    def record_fields(self) -> Iterable[tuple[str, Any]]:
        """Return the fields of the canonical encoding of the plan's version, in order."""
        if self.version > 1 and options.of_test(self.test) is None:
            raise UnpooledError(f"no test is called {json_values.shown(self.test)}, or it is not loaded")
        listed = _FIRST_LAYOUT if self.version == 1 else tuple(_fields())
        others = [name for name in self._option_names() if name not in listed and self._is_encoded(name)]
        return [(name, self._value(name)) for name in (*listed, *others)]

    @classmethod
    def from_record(cls, values: Mapping[str, Any]) -> Plan:
        """The plan of a decoded record; CodecError for any other than `record_fields` would give."""
        options.of_test(str(values.get("test")))
        for name, value in values.items():
            if not codec.conforms(value, _type_of(name)):
                raise CodecError(f"Plan.{name}: {type(value).__name__} is of the wrong type")
        plan = cls(**values)
        if [name for name, _ in plan.record_fields()] != list(values):
            raise CodecError("these are not the fields of a plan in their order")
        return plan

    def _value(self, name: str) -> Any:
        """Return a field or an option."""
        return getattr(self, name) if name in _fields() else options.called(name).of(self)

    def _option_names(self) -> list[str]:
        """The options of the test, and what else is asked of it."""
        own = (option.name for option in options.of_test(self.test) or ())
        known = (name for name in own if self.version > 1 or name in _FIRST_LAYOUT)
        return sorted({*known, *(name for name, _ in self.options)})

    def _is_encoded(self, name: str) -> bool:
        return name in dict(self.options) or not options.called(name).came_later

    def to_json(self) -> dict[str, Any]:
        """Fields and options as JSON values; bytes become hex."""
        found = {name: json_values.plain(getattr(self, name)) for name in _fields()}
        for name in sorted({*self._option_names(), *(option.name for option in OF_EVERY_STUDY)}):
            found[name] = options.called(name).to_json(self._value(name))
        return found

    def save(self, path: Path | str) -> None:
        """Write the plan as `unpooled studies create` takes it: the server adds its compensator's key."""
        told = {name: value for name, value in self.to_json().items() if name != "compensator_key"}
        Path(path).write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Plan:
        """The plan that JSON values describe; PlanError names every field that is wrong."""
        problems, found = {}, {}
        options.of_test(str(values.get("test")))
        for name, value in values.items():
            try:
                found[name] = _read(name, value)
            except (ValueError, OverflowError) as error:
                problems[json_values.shown(name)] = str(error)
        for name, field in _fields().items():
            if field.default is dataclasses.MISSING and name not in values:
                problems[name] = "is missing"
        if problems:
            raise PlanError(problems)
        return cls(**found)

    @classmethod
    def from_text(cls, text: str) -> Plan:
        return cls.from_json(json.loads(text))


class PlanOfOne(Plan):
    """A plan of several phenotypes, reduced to one. No message holds it: the hash is the whole plan's."""

    name: ClassVar[str] = "unpooled/plan-of-one-phenotype"
    of_several: ClassVar[bool] = True


@functools.lru_cache(maxsize=256)
def _of_phenotype(plan: Plan, name: str) -> Plan:
    options = tuple(option for option in plan.options if option[0] != PHENOTYPES.name)
    kind = OwnPlan if plan.alone else PlanOfOne
    return kind(**{**vars(plan), "phenotype": name, "options": options})


class PlanOfPart(Plan):
    """A plan without one of its options. No message holds it: the hash is the whole plan's."""

    name: ClassVar[str] = "unpooled/plan-of-a-part"


@functools.lru_cache(maxsize=256)
def _without(plan: Plan, name: str) -> Plan:
    options = tuple(option for option in plan.options if option[0] != name)
    kind = PlanOfPart if type(plan) is Plan else type(plan)
    return kind(**{**vars(plan), "options": options})


class OwnPlan(Plan):
    """A plan for what one cohort computes of its own data and keeps. No message holds one."""

    name: ClassVar[str] = "unpooled/own-plan"
    alone: ClassVar[bool] = True


@functools.cache
def _fields() -> dict[str, dataclasses.Field[Any]]:
    """The fields that every plan has."""
    return {field.name: field for field in dataclasses.fields(Plan) if field.name != "options"}


@functools.cache
def _hints() -> dict[str, Any]:
    return typing.get_type_hints(Plan)


def _type_of(name: str) -> Any:
    """Return the annotation of a field or an option; KeyError if there is none of this name."""
    return _hints()[name] if name in _fields() else options.called(name).type


def _held(given: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Return the options that a plan holds of those that are given."""
    held = {}
    for name, value in given.items():
        try:
            option = options.called(name)
        except KeyError:
            name = json_values.shown(name)
            raise TypeError(f"a plan has neither a field nor an option called {name}") from None
        if (typed := as_typed(value, option.type)) != option.default:
            held[name] = typed
    return tuple(sorted(held.items()))


def _read(name: str, value: Any) -> Any:
    """The value of a field or an option from JSON; ValueError says what was wanted in words."""
    if name not in _fields():
        try:
            return options.called(name).from_json(value)
        except KeyError:
            raise ValueError("no such field") from None
    return json_values.read(value, _hints()[name])
