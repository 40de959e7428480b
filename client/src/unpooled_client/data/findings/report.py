"""Findings of a check, with a code from a fixed list, and the report that collects them.

Readers do not stop at the first problem. They tell the report and carry on, so that a person can fix
everything in a file at once. Equal problems of one file and column are one finding with a count and three
examples.
"""

from __future__ import annotations

import dataclasses
import difflib
import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unpooled.errors import DataProblem

if TYPE_CHECKING:
    import numpy as np

EXAMPLES = 3


class Severity(enum.StrEnum):
    """An error stops the cohort; a warning should be looked at; a note is for information."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Code(enum.StrEnum):
    """Kinds of findings. These are the only words of a finding that may ever be sent to a server."""

    OPTION = "option"

    FILE_MISSING = "file-missing"
    FILE_UNREADABLE = "file-unreadable"
    FILE_EMPTY = "file-empty"
    FILE_COMPRESSED = "file-compressed"
    FILE_NOT_TEXT = "file-not-text"
    BYTE_ORDER_MARK = "byte-order-mark"
    WINDOWS_LINE_ENDS = "windows-line-ends"
    OLD_LINE_ENDS = "old-line-ends"
    LAST_LINE = "last-line"
    TOO_FEW_COLUMNS = "too-few-columns"
    TOO_MANY_COLUMNS = "too-many-columns"
    CELL_OF_LINES = "cell-of-lines"
    CELL_EMPTY = "cell-empty"
    HEADER_LINE = "header-line"

    SAMPLE_ID = "sample-id"
    SAMPLE_ID_ODD = "sample-id-odd"
    SAMPLE_DUPLICATE = "sample-duplicate"
    SEX_UNKNOWN = "sex-unknown"
    SEX_DOUBTFUL = "sex-doubtful"
    NO_FOUNDERS = "no-founders"

    CHROMOSOME = "chromosome"
    POSITION = "position"
    POSITION_NEGATIVE = "position-negative"
    ALLELE = "allele"
    ALLELES_SEVERAL = "alleles-several"
    ALLELES_EQUAL = "alleles-equal"
    ALLELE_CODES = "allele-codes"
    ALLELES_UNSEEN = "alleles-unseen"
    NO_PLACE = "no-place"
    BEYOND_THE_END = "beyond-the-end"
    BUILD = "build"
    PSEUDO_AUTOSOMAL = "pseudo-autosomal"
    NOT_IN_ORDER = "not-in-order"
    VARIANT_ABSENT = "variant-absent"
    VARIANT_UNNAMED = "variant-unnamed"
    VARIANT_DUPLICATE = "variant-duplicate"
    VARIANT_TWIN = "variant-twin"
    VARIANT_ID_ODD = "variant-id-odd"
    VARIANT_ID_LONG = "variant-id-long"

    BED_MAGIC = "bed-magic"
    BED_SAMPLE_MAJOR = "bed-sample-major"
    BED_SIZE = "bed-size"
    ALLELES_DIFFER = "alleles-differ"
    STRAND = "strand"
    FREQUENCY = "frequency"
    PEOPLE_RELATED = "people-related"
    HETEROZYGOSITY = "heterozygosity"
    PGEN_MAGIC = "pgen-magic"
    PGEN_SIZE = "pgen-size"
    PGEN_READER = "pgen-reader"
    READER = "reader"
    COPY = "copy"
    DOSAGE = "dosage"
    SAMPLES_DIFFER = "samples-differ"
    PGEN_DOSAGES = "pgen-dosages"
    CALLS_ONLY = "calls-only"
    CALLS_MISSING = "calls-missing"

    HEADER = "header"
    COLUMN_UNKNOWN = "column-unknown"
    COLUMN_AMBIGUOUS = "column-ambiguous"
    ROW_DUPLICATE = "row-duplicate"
    ROWS_UNMATCHED = "rows-unmatched"
    SAMPLES_UNMATCHED = "samples-unmatched"
    NOBODY_MATCHED = "nobody-matched"

    MISSING_CODE = "missing-code"
    OUTLIER = "outlier"
    PHENOTYPE_TEXT = "phenotype-text"
    PHENOTYPE_NAN = "phenotype-nan"
    PHENOTYPE_CODING = "phenotype-coding"
    PHENOTYPE_TRAIT = "phenotype-trait"
    PHENOTYPE_MISSING = "phenotype-missing"
    PHENOTYPE_CONSTANT = "phenotype-constant"
    PHENOTYPE_FEW_VALUES = "phenotype-few-values"

    COVARIATE_TEXT = "covariate-text"
    COVARIATE_LEVEL = "covariate-level"
    COVARIATE_FEW_VALUES = "covariate-few-values"
    COVARIATE_SMALL_LEVEL = "covariate-small-level"
    COVARIATE_CONSTANT = "covariate-constant"
    COVARIATE_COLLINEAR = "covariate-collinear"
    COVARIATE_MISSING = "covariate-missing"
    COVARIATE_EMPTY = "covariate-empty"

    CSV = "csv"
    PARQUET = "parquet"
    COLUMN_MISSING = "column-missing"
    COLUMN_EMPTY = "column-empty"
    COLUMN_INDEX = "column-index"
    COLUMN_TYPE = "column-type"
    VALUE_TEXT = "value-text"
    VALUE_INFINITE = "value-infinite"
    VALUE_FRACTION = "value-fraction"
    VALUE_OUTSIDE = "value-outside"
    WORD_TYPE = "word-type"
    WORD_UNLISTED = "word-unlisted"
    WORD_NONE_LISTED = "word-none-listed"
    WORD_MISSING = "word-missing"
    WORD_ALIKE = "word-alike"
    WORD_IDENTIFIER = "word-identifier"
    WORD_FREE_TEXT = "word-free-text"
    WORDS_TOO_MANY = "words-too-many"
    WORD_LONG = "word-long"
    IMAGE_FOLDER = "image-folder"
    IMAGE_SOFTWARE = "image-software"
    IMAGE_MISSING = "image-missing"
    IMAGE_UNREADABLE = "image-unreadable"
    IMAGE_SIZE = "image-size"
    IMAGES_TOO_LARGE = "images-too-large"

    FLOOR = "floor"
    NOBODY_LEFT = "nobody-left"
    NO_SUCH_SEX = "no-such-sex"
    NO_VARIANT_LEFT = "no-variant-left"
    VARIANT_NOT_CHOSEN = "variant-not-chosen"
    TOO_FEW_SAMPLES = "too-few-samples"
    TOO_FEW_CASES = "too-few-cases"
    TOO_FEW_CONTROLS = "too-few-controls"


def choose_column(name: str, known: Sequence[str]) -> str:
    """The remedy where a file has no column of a name, with the one that was probably meant."""
    plain = {other.casefold(): other for other in known}
    near = difflib.get_close_matches(name.casefold(), plain, 1)
    meant = f"Did you mean {plain[near[0]]}? " if near else ""
    return f"{meant}Choose one of its columns: upper and lower case differ."


@dataclass(frozen=True)
class Finding:
    """One kind of problem at one place. Lines and columns count from 1; a column is the n-th word of a line.

    The message speaks of one case; `count` says how many there are.
    """

    severity: Severity
    code: Code
    message: str
    file: Path | None = None
    line: int | None = None
    """Line of the first example."""
    column: int | None = None
    read: str | None = None
    """Text at the first example."""
    expected: str | None = None
    remedy: str = ""
    count: int = 1
    examples: tuple[str, ...] = ()
    """Examples, three at most, in the form "line 7: A,C"."""
    about: str = ""
    """The covariate or the feature, as the plan names it."""

    @property
    def times(self) -> str:
        """Number of cases in brackets; empty for a single one."""
        return f" ({self.count:,} times)" if self.count > 1 else ""

    @property
    def where(self) -> str:
        """`file:line:column`, as far as they are known."""
        return ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)

    def alike(self, other: Finding) -> bool:
        """Tell whether both findings say the same of the same column of the same file."""
        same = ("severity", "code", "message", "file", "column")
        return all(getattr(self, name) == getattr(other, name) for name in same)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Finding:
        """The finding that `to_json` wrote."""
        typed = {
            "severity": Severity(values["severity"]),
            "code": Code(values["code"]),
            "file": None if values["file"] is None else Path(values["file"]),
            "examples": tuple(values["examples"]),
        }
        return cls(**{**values, **typed})

    def to_json(self) -> dict[str, Any]:
        values = dataclasses.asdict(self)
        return values | {
            "file": None if self.file is None else str(self.file),
            "examples": list(self.examples),
        }


def shown(word: bytes | str) -> str:
    """A word of a file, fit for a message: at most 40 characters, and no control characters."""
    text = word if isinstance(word, str) else word.decode("utf-8", "backslashreplace")
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return text if len(text) <= 40 else text[:39] + "…"


@dataclass
class Report:
    """All findings of one check, and the summary of what the files hold."""

    findings: list[Finding] = field(default_factory=list)
    summary: dict[str, Any] = field(default_factory=dict)
    """Counts for the person at the cohort; they never leave it."""

    def error(self, code: Code, message: str, **details: Any) -> None:
        self._add(Finding(Severity.ERROR, code, message, **details))

    def warning(self, code: Code, message: str, **details: Any) -> None:
        self._add(Finding(Severity.WARNING, code, message, **details))

    def note(self, code: Code, message: str, **details: Any) -> None:
        self._add(Finding(Severity.NOTE, code, message, **details))

    def _add(self, finding: Finding) -> None:
        # Gone through, not looked up: there are few kinds, and their order is that of the file.
        for k, known in enumerate(self.findings):
            if known.alike(finding):
                self.findings[k] = dataclasses.replace(
                    known,
                    count=known.count + finding.count,
                    examples=(known.examples + finding.examples)[:EXAMPLES],
                )
                return
        self.findings.append(finding)

    def of(self, severity: Severity) -> list[Finding]:
        return [finding for finding in self.findings if finding.severity == severity]

    @property
    def ok(self) -> bool:
        return not self.of(Severity.ERROR)

    @property
    def verdict(self) -> str:
        """Describe on one line whether the files are ready."""
        errors, warnings = (len(self.of(kind)) for kind in (Severity.ERROR, Severity.WARNING))
        told = f"{warnings} warning{'' if warnings == 1 else 's'}"
        if errors:
            return f"Not ready: {errors} error{'' if errors == 1 else 's'} to fix, {told}."
        return f"Ready: no errors, {told}. Nothing was sent."

    def problem(self) -> DataProblem:
        """The first error as an exception, for callers that need the data or nothing."""
        errors = self.of(Severity.ERROR)
        first = errors[0]
        more = f" ({len(errors) - 1} more: run `unpooled-client check`)" if len(errors) > 1 else ""
        return DataProblem(
            first.message + more, file=first.file, line=first.line, column=first.column, remedy=first.remedy
        )

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Report:
        """The report that `to_json` wrote, as the command prints it and the window reads it."""
        return cls([Finding.from_json(finding) for finding in values["findings"]], dict(values["summary"]))

    def to_json(self) -> dict[str, Any]:
        return {
            "ok": self.ok,
            "findings": [finding.to_json() for finding in self.findings],
            "summary": self.summary,
        }


def at(
    path: Path, lines: Sequence[int] | np.ndarray, said: Iterable[bytes | str], column: int | None = None
) -> dict[str, Any]:
    """Return details of a finding at these lines of a file: its first place, its count and examples.

    `said`: the words of the file at the first EXAMPLES of them, or texts that are fit to be shown.
    """
    texts = [text if isinstance(text, str) else shown(text) for text in said]
    examples = tuple(f"line {line}: {text}" for line, text in zip(lines, texts, strict=False))
    place: dict[str, Any] = {"file": path, "line": int(lines[0]), "column": column}
    return place | {"read": texts[0], "count": len(lines), "examples": examples[:EXAMPLES]}
