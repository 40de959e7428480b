"""The plan of a study: everything that decides a number, or who sees it. Frozen at the first joining.

Its hash is shown to every person before a data file is opened, and is part of every mask's key.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from unpooled import glm_columns
from unpooled.chromosomes import chromosome_codes
from unpooled.errors import UnpooledError
from unpooled.protocol import VERSION, codec
from unpooled.protocol.masking import MAX_VARIANCE, Gaussian, Modular, Scheme
from unpooled.protocol.messages import MIN_COHORTS, digest
from unpooled.protocol.ring import Ring
from unpooled.schema import Column, schema_problem

DEFAULT_CHUNK = 20_000
FILES = ("assoc", "frq", "lmiss", "hwe")
REGRESSION_FILES = ("assoc", "adjusted", "glm", "ssf")
"""What a regression can also write; its `assoc` is PLINK 1.9's `.assoc.linear` or `.assoc.logistic`."""
PARAMETERS_FILE, QUANTILES_FILE, SUMMARY_FILES = "parameters", "quantiles", ("summary", "page")
"""What a study of tables writes. With parameters each cohort also writes its own table, normalized."""
ALL_FILES = tuple(dict.fromkeys((*FILES, *REGRESSION_FILES, PARAMETERS_FILE, QUANTILES_FILE, *SUMMARY_FILES)))

MOST_COVARIATES = 60
"""Columns of covariates: what a cohort computes and sends for a variant grows with their square."""

OPTIONS: dict[str, object] = {
    "covariates": (),
    "cohort_sums": False,
    "missing": "mean",
    "maf": 0.0,
    "geno": 1.0,
    "hwe": 0.0,
    "mind": 1.0,
    "ci": 0.0,
    "hide_covar": False,
    "beta": False,
    "max_iterations": 25,
    "tolerance": 0.0,
    "glm_cols": (),
    "quantiles": (),
    "elements": (),
}
"""Fields that not every test heeds, with what they are where nothing is asked."""

OF_VARIANTS = ("phenotype", "build", "autosomes", "chromosomes", "nonfounders", "allow_no_sex", "panel_mode")
"""Fields that mean nothing in a study of tables."""

MOST_QUANTILES = 100
"""Quantiles, and likewise elements, that a study of tables finds: nearly each is a single person's value."""

FEWEST_AT_A_LEVEL = 10
"""A level of a covariate that fewer people of the pool have is refused: sums over them are records."""

FEWEST_COHORTS = MIN_COHORTS
"""A level that fewer cohorts have so many people at is refused unless the plan has `cohort_sums`: a sum over
one cohort is its own, and a sum over two tells either of them the numbers of the other."""

NONE = "none"
"""Trait, and way to agree on variants, of a study of tables: it has no phenotype and no variants."""

MOST_PEOPLE = 1_000_000_000
"""That a plan can want of a cohort: more than a study could ever have."""

EXACT, MEAN = "exact", "mean"
"""Rules for missing calls: leave the person out of that variant, as PLINK, or take the pooled mean."""


class PlanError(UnpooledError):
    """A plan that cannot be. `problems` maps a field's name to what is wrong with it."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        self.problems = dict(problems)
        super().__init__("; ".join(f"{field}: {problem}" for field, problem in self.problems.items()))


@dataclass(frozen=True)
class Covariate:
    """A covariate of a regression: a number, or one of several levels."""

    name: ClassVar[str] = "unpooled/covariate"

    title: str
    """Its name in the cohorts' files."""
    levels: tuple[str, ...] = ()
    """Of a categorical covariate all levels, the reference first. Empty for a number."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of its columns in the model: itself, or a dummy `title=level` per level but the first."""
        return tuple(f"{self.title}={level}" for level in self.levels[1:]) if self.levels else (self.title,)

    def problem(self) -> str:
        """What is wrong with it, or nothing."""
        if not _is_word(self.title):
            return "name a covariate in 1 to 200 characters without blanks"
        if self.levels and (len(self.levels) < 2 or len(set(self.levels)) < len(self.levels)):
            return f"{self.title}: want at least two different levels, the reference first"
        if not all(map(_is_word, self.levels)):
            return f"{self.title}: a level is empty or too long, or has a blank in it"
        return ""


NOT_REPORTED = "NR"
"""The genome build of a plan that names none; GWAS-SSF's word for whatever a study does not know."""


@dataclass(frozen=True)
class Plan:
    """What the cohorts agree to. Field names are what people read in the API and in the manifest."""

    name: ClassVar[str] = "unpooled/plan"

    test: str
    phenotype: str
    cohorts: int
    compensator_key: bytes
    trait: str = "case/control"
    build: str = "GRCh38"
    autosomes: int = 22
    chromosomes: tuple[str, ...] = ()
    """Only variants on these, as PLINK's --chr takes them: 1-4, 22, X. Empty for all."""
    nonfounders: bool = False
    allow_no_sex: bool = False
    files: tuple[str, ...] = FILES
    min_samples: int = 50
    min_per_class: int = 10
    chunk_size: int = DEFAULT_CHUNK
    panel_mode: str = "names"
    panel_digest: bytes = b""
    masking: str = "modular"
    variance: float = 1e12
    ring_bits: int = 32
    covariates: tuple[Covariate, ...] = ()
    cohort_sums: bool = False
    """Whether the server may see sums over one cohort, as a covariate makes them that tells cohorts apart."""
    missing: str = MEAN
    maf: float = 0.0
    geno: float = 1.0
    hwe: float = 0.0
    mind: float = 1.0
    ci: float = 0.0
    hide_covar: bool = False
    beta: bool = False
    max_iterations: int = 25
    tolerance: float = 0.0
    """A variant has converged, too, where its log-likelihood changes by no more than this; 0 for never."""
    glm_cols: tuple[str, ...] = ()
    """Sets of columns of the report `glm`: `unpooled.glm_columns`. Empty for the usual ones."""
    schema: tuple[Column, ...] = ()
    """Columns of the cohorts' tables, in a study of tables."""
    quantiles: tuple[float, ...] = ()
    """From 0 to 1, such as 0.5 for the median."""
    elements: tuple[int, ...] = ()
    """1 for the smallest value of the pool, 2 for the next; -1 for the largest, -2 for the one before."""
    version: int = VERSION

    def __post_init__(self) -> None:
        problems = {field: problem for field, good, problem in self._rules() if not good}
        if problems:
            raise PlanError(problems)

    def _rules(self) -> list[tuple[str, bool, str]]:
        return [
            *self._rules_of_its_kind(),
            (
                "cohorts",
                MIN_COHORTS <= self.cohorts <= 1000,
                f"got {self.cohorts}; want {MIN_COHORTS} to 1000",
            ),
            ("compensator_key", len(self.compensator_key) == 32, "want the compensator's 32-byte public key"),
            ("build", _is_name(self.build, 40), "name the genome build, e.g. GRCh38"),
            ("autosomes", 1 <= self.autosomes <= 95, f"got {self.autosomes}; want 1 to 95"),
            ("chromosomes", not (misnamed := self._misnamed_chromosome()), misnamed),
            (
                "files",
                bool(self.files) and set(self.files) <= set(ALL_FILES),
                f"want some of {', '.join(ALL_FILES)}",
            ),
            ("min_samples", 1 <= self.min_samples <= MOST_PEOPLE, f"want 1 to {MOST_PEOPLE:,}"),
            ("min_per_class", 0 <= self.min_per_class <= MOST_PEOPLE, f"want 0 to {MOST_PEOPLE:,}"),
            ("chunk_size", 1 <= self.chunk_size <= 1_000_000, "want 1 to 1,000,000 variants"),
            (
                "panel_digest",
                len(self.panel_digest) == (32 if self.panel_mode == "list" else 0),
                "goes with panel_mode list, and only with it",
            ),
            ("masking", self.masking in ("modular", "gaussian"), "want modular or gaussian"),
            ("variance", not (blurred := self._bad_variance()), blurred),
            ("ring_bits", self.ring_bits in (32, 64, 128), "want 32, 64 or 128"),
            ("covariates", not (bad := self._bad_covariates()), bad),
            ("missing", self.missing in (EXACT, MEAN), "want exact or mean"),
            ("maf", 0 <= self.maf <= 0.5, "want 0 to 0.5; 0 is no filter"),
            ("geno", 0 <= self.geno <= 1, "want 0 to 1; 1 is no filter"),
            ("hwe", 0 <= self.hwe < 1, "want 0 to below 1; 0 is no filter"),
            ("mind", 0 <= self.mind <= 1, "want 0 to 1; 1 is no filter"),
            ("ci", self.ci == 0 or 0.01 <= self.ci < 1, "want 0.01 to below 1, such as 0.95; 0 is none"),
            (
                "quantiles",
                all(0 <= q <= 1 for q in self.quantiles) and _are_different(self.quantiles),
                f"want up to {MOST_QUANTILES} different ones from 0 to 1, such as 0.5 for the median",
            ),
            (
                "elements",
                all(1 <= abs(k) < 1 << 30 for k in self.elements) and _are_different(self.elements),
                f"want up to {MOST_QUANTILES} different ones: 1 is the smallest value, -1 the largest",
            ),
            ("max_iterations", 1 <= self.max_iterations <= 100, "want 1 to 100"),
            ("tolerance", 0 <= self.tolerance <= 1, "want 0 to 1, such as 1e-4; 0 is none"),
            ("glm_cols", not (columns := glm_columns.problem(self.glm_cols, self.hide_covar)), columns),
            ("version", self.version == VERSION, f"this program speaks protocol version {VERSION}"),
        ]

    def _rules_of_its_kind(self) -> list[tuple[str, bool, str]]:
        """What a study of variants needs, or one of tables: the columns instead of phenotype and panel."""
        if self.of_tables:
            return [
                ("phenotype", self.phenotype == "", "a study of tables has none"),
                ("panel_mode", self.panel_mode == NONE, f"want {NONE}: a study of tables has no variants"),
                ("schema", not (bad := schema_problem(self.schema)), bad),
            ]
        return [
            ("phenotype", _is_name(self.phenotype, 200), "name the phenotype in 1 to 200 characters"),
            ("trait", self.trait in ("case/control", "quantitative"), "want case/control or quantitative"),
            ("panel_mode", self.panel_mode in ("names", "list"), "want names or list"),
            ("schema", not self.schema, f"goes with the trait {NONE}: a study of tables"),
        ]

    @property
    def of_tables(self) -> bool:
        """Whether the study is about tables, and not about variants."""
        return self.trait == NONE

    @property
    def features(self) -> tuple[Column, ...]:
        """The columns of the schema that hold numbers, in its order."""
        return tuple(column for column in self.schema if column.is_number)

    def _bad_variance(self) -> str:
        if not 0 < self.variance < MAX_VARIANCE:
            return f"want a positive number below {MAX_VARIANCE:g}"
        if self.masking == "gaussian" and self.noise >= 0.5:  # then a count comes back as another one
            return f"want less: over {self.cohorts} cohorts masks of this variance would change counts"
        return ""

    def _misnamed_chromosome(self) -> str:
        if self.chromosomes and self.panel_mode == "list":
            return "goes with panel_mode names; a list says by itself which variants there are"
        try:
            chromosome_codes(self.chromosomes, self.autosomes)
        except ValueError as error:
            return str(error)
        return ""

    def _bad_covariates(self) -> str:
        names = [column for covariate in self.covariates for column in covariate.columns]
        found = next(filter(None, (covariate.problem() for covariate in self.covariates)), "")
        if not found and len(set(names)) < len(names):
            found = "a covariate stands twice"
        if not found and len(names) > MOST_COVARIATES:
            found = f"want at most {MOST_COVARIATES} columns, dummies counted"
        return found

    @property
    def covariate_columns(self) -> tuple[str, ...]:
        """Names of the columns that the covariates become, in the order of `Samples.covariates`."""
        return tuple(column for covariate in self.covariates for column in covariate.columns)

    @property
    def dummies(self) -> tuple[tuple[int, ...], ...]:
        """Of each categorical covariate those of these columns that say whether somebody has a level."""
        numbers = itertools.count()
        columns = [(c, tuple(itertools.islice(numbers, len(c.columns)))) for c in self.covariates]
        return tuple(own for covariate, own in columns if covariate.levels)

    @property
    def shows_cohort_sums(self) -> bool:
        """Whether the server sees sums over one cohort if a covariate tells cohorts apart."""
        return self.cohort_sums and bool(self.covariates)

    def hash(self) -> bytes:
        """SHA-256 of the plan's canonical encoding."""
        return digest(self)

    def scheme(self, ring_bits: int) -> Scheme:
        """How the shares of a step are masked that needs a ring of `ring_bits`."""
        if self.masking == "gaussian":
            return Gaussian(self.variance)
        return Modular(Ring(max(ring_bits, self.ring_bits)))

    @property
    def noise(self) -> float:
        """By how much the masks may change a sum over the cohorts; 0 if they never do."""
        return self.scheme(self.ring_bits).noise(self.cohorts)

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON values; bytes become hex."""
        return {field.name: _plain(getattr(self, field.name)) for field in dataclasses.fields(self)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Plan:
        """The plan that JSON values describe; PlanError names every field that is wrong."""
        hints = typing.get_type_hints(cls)
        fields = {field.name: field for field in dataclasses.fields(cls)}
        problems = {_shown(field): "no such field" for field in values if field not in fields}
        found = {}
        for field, value in values.items():
            if field in fields:
                try:
                    found[field] = _typed(value, hints[field])
                except (ValueError, OverflowError) as error:
                    problems[field] = str(error)
        for name, declared in fields.items():
            if declared.default is dataclasses.MISSING and name not in values:
                problems[name] = "is missing"
        if problems:
            raise PlanError(problems)
        return cls(**found)

    @classmethod
    def from_text(cls, text: str) -> Plan:
        return cls.from_json(json.loads(text))


def _are_different(numbers: tuple[float, ...]) -> bool:
    """Whether a list of a plan has no number twice, and not too many."""
    return len(set(numbers)) == len(numbers) <= MOST_QUANTILES


def _is_word(text: str) -> bool:
    """Whether a text can be a word of a table, and be shown as it is."""
    return _is_name(text, 200) and not any(c.isspace() for c in text)


def _is_name(text: str, most: int) -> bool:
    """Whether a text is a short one that any terminal and any database takes as it is."""
    return 0 < len(text) <= most and text.isprintable()


def _shown(text: str) -> str:
    """A text from elsewhere, fit for a terminal and for UTF-8."""
    return text if _is_name(text, 60) else ascii(text[:60])


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Covariate):
        return {"name": value.title, "levels": list(value.levels)}
    if isinstance(value, Column):
        return value.to_json()
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _typed(value: Any, hint: Any) -> Any:
    """A field's value from JSON; ValueError says what was wanted in words."""
    if hint is bytes and isinstance(value, str):
        return _bytes(value)
    found = value
    if hint is float:
        found = _number(value)
    if isinstance(value, list):
        item = typing.get_args(hint)[0] if typing.get_origin(hint) is tuple else None
        read = _RECORDS.get(item, _number if item is float else None)
        found = tuple(map(read, value)) if read else tuple(value)
    if not codec.conforms(found, hint):
        raise ValueError(f"got {json.dumps(value, default=str)[:200]}; want {_WANTED[hint]}")
    return found


_WANTED: dict[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    bytes: "hexadecimal digits, two for each byte",
    tuple[int, ...]: "a list of whole numbers",
    tuple[float, ...]: "a list of numbers",
    tuple[str, ...]: "a list of texts",
    tuple[Covariate, ...]: "a list of covariates",
    tuple[Column, ...]: "a list of columns",
}
"""What a field takes, for people."""


def _bytes(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise ValueError(f"got {text[:80]!r}; want {_WANTED[bytes]}") from None


def _number(value: Any) -> Any:
    """JSON has one kind of numbers, and writes 1.0 as 1."""
    return float(value) if type(value) is int else value


def _covariate(value: Any) -> Covariate:
    """A covariate from JSON: its name, or name and levels."""
    if isinstance(value, str):
        return Covariate(value)
    if not isinstance(value, dict) or not {"name"} <= set(value) <= {"name", "levels"}:
        raise ValueError(f"got {value!r}; want a name and, of a categorical covariate, its levels")
    levels = value.get("levels", [])
    if not isinstance(value["name"], str) or not (
        isinstance(levels, list) and all(isinstance(level, str) for level in levels)
    ):
        raise ValueError(f"got {value!r}; want a name and, of a categorical covariate, its levels")
    return Covariate(value["name"], tuple(levels))


_RECORDS: dict[Any, Callable[[Any], Any]] = {Covariate: _covariate, Column: Column.from_json}
"""How the entries of a plan's lists are read that are no plain values."""
