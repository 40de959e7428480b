"""The covariates of --covar.

As plink1.9 chooses (tried with v1.90b6.26): all columns, or those that --covar-name or --covar-number
name, in the order of the file; `a-b` is a range; a name that appears twice, in the header or among the
names, is an error, and so are two rows of one sample. Without a header the columns are COV1, COV2, … . A
value is missing if it is the missing phenotype code (-9) or no number. What the plan says takes precedence:
its covariates, in its order.

A categorical covariate becomes a dummy for each level but the first. The levels come from the plan:
agreeing on them in clear would tell who has a rare one. So a value that the plan does not list is an
error.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unpooled.memory import tokenizer
from unpooled.plan.plan import FEWEST_AT_A_LEVEL, FEWEST_COHORTS
from unpooled_client.data.findings.report import EXAMPLES, Code, Report, choose_column, shown
from unpooled_client.data.options import Covariate, DataOptions
from unpooled_client.data.plink.fam import Fam
from unpooled_client.data.samples.missing_codes import LIKE_MISSING, missing_as, warn_of_codes
from unpooled_client.data.samples.numbers import Column, is_missing, mean, read_numbers
from unpooled_client.data.samples.table import Table, one_row_each, read_table

MANY_LEVELS = 10

AS_A_NUMBER = (
    "Sums with it then tell the server this cohort's allele frequencies and means, and numbers are not "
    "refused as levels are. Ask the coordinator to leave it out."
)
IF_IN_FEW_COHORTS = (
    f"The study refuses a level at which fewer than {FEWEST_COHORTS} cohorts have {FEWEST_AT_A_LEVEL} "
    "people, unless its plan allows sums over one cohort"
)


@dataclass(frozen=True, eq=False)
class Covariates:
    """The covariates of every sample."""

    names: tuple[str, ...]
    """One for each column; a dummy is called NAME=LEVEL."""
    values: np.ndarray
    """float64 (n, c); NaN is missing."""
    unlisted: np.ndarray | None = None
    """bool (n,): the file has no row of the sample; None without a file."""
    summary: list[dict[str, Any]] = field(default_factory=list)


def no_covariates(samples: int) -> Covariates:
    return Covariates((), np.empty((samples, 0)))


def read_covariates(fam: Fam, options: DataOptions, kept: np.ndarray, report: Report) -> Covariates | None:
    """The covariates that the options name, or None where they cannot be read; the report says why.

    `kept`, bool (n,), are the samples among which a constant covariate is looked for.
    """
    if options.covar is None or (options.from_plan and not options.covariates):
        return no_covariates(len(fam))
    table = read_table(options.covar, "the --covar file", fam, report)
    if table is None or not len(table.sample):
        return None
    chosen = _choose(table, options, report)
    if chosen is None:
        return None
    one_row_each(table, False, 0, report)
    reader = _Reader(table, len(fam), options, kept, report)
    for covariate, index in chosen:
        reader.read(covariate, index)
    return reader.covariates()


def _choose(table: Table, options: DataOptions, report: Report) -> list[tuple[Covariate, int]] | None:
    """Choose the columns to read, as (covariate, word of a row); None with the reason in the report."""
    names = table.names or [f"COV{k + 1}" for k in range(table.columns)]
    if table.columns < 1:
        report.error(
            Code.COLUMN_UNKNOWN,
            f"{table.what} has no covariates",
            file=table.path,
            line=1,
            remedy="Columns: FID, IID, then the covariates.",
        )
        return None
    if options.from_plan:
        if not _known(table, names, [c.name for c in options.covariates], report):
            return None
        return [(c, table.ids + names.index(c.name)) for c in options.covariates]
    if options.covar_number:
        columns = _numbers(table, options.covar_number, report)
    elif options.covar_name:
        columns = _names(table, names, options.covar_name, report)
    else:
        columns = list(range(table.columns))
    if columns is None:
        return None
    if not _known(table, names, [c.name for c in options.covariates], report):
        return None
    levels = {c.name: c for c in options.covariates}
    return [(levels.get(names[k], Covariate(names[k])), table.ids + k) for k in columns]


def _known(table: Table, names: list[str], wanted: list[str], report: Report) -> bool:
    """Tell whether every name stands exactly once in the header."""
    good = True
    for name in wanted:
        times = names.count(name)
        if times == 1:
            continue
        good = False
        report.error(
            Code.COLUMN_AMBIGUOUS if times else Code.COLUMN_UNKNOWN,
            f"{table.what} has {'several columns' if times else 'no column'} {name}",
            file=table.path,
            line=1,
            read=", ".join(names),
            expected=name,
            remedy="Rename them." if times else choose_column(name, names),
            about=name,
        )
    return good


def _names(table: Table, names: list[str], wanted: tuple[str, ...], report: Report) -> list[int] | None:
    """Columns of --covar-name, ascending."""
    if table.names is None:
        report.error(
            Code.HEADER,
            f"--covar-name needs {table.what} to begin with a header",
            file=table.path,
            line=1,
            expected="FID IID and the names of the columns",
            remedy="Add the header, or choose by number with --covar-number.",
        )
        return None
    columns: list[int] = []
    for part in wanted:
        ends = [part] if part in names else part.split("-")
        if len(ends) > 2 or not _known(table, names, ends, report):
            if len(ends) > 2:
                _option_error(report, f"--covar-name {part} is neither a name nor a range", "Write A or A-B.")
            return None
        first, last = names.index(ends[0]), names.index(ends[-1])
        if last < first:
            _option_error(report, f"--covar-name {part} ends before it begins", f"Write {ends[1]}-{ends[0]}.")
            return None
        columns += range(first, last + 1)
    return _once(columns, "--covar-name", report)


def _numbers(table: Table, wanted: tuple[str, ...], report: Report) -> list[int] | None:
    """Columns of --covar-number, ascending."""
    columns: list[int] = []
    for part in wanted:
        ends = part.split("-")
        if len(ends) > 2 or not all(end.isdecimal() and int(end) for end in ends):
            _option_error(report, f"--covar-number {part} is neither a number nor a range", "Write 1,3-5.")
            return None
        if int(ends[-1]) > table.columns:
            report.error(
                Code.COLUMN_UNKNOWN,
                f"{table.what} has no covariate number {ends[-1]}",
                file=table.path,
                line=1,
                read=f"{table.columns} covariate(s)",
                remedy="Numbers count from the first column after FID and IID.",
            )
            return None
        columns += range(int(ends[0]) - 1, int(ends[-1]))
    return _once(columns, "--covar-number", report)


def _once(columns: list[int], option: str, report: Report) -> list[int] | None:
    if len(set(columns)) < len(columns):
        _option_error(report, f"{option} names a covariate twice", "Name each once.")
        return None
    return sorted(columns)


def _option_error(report: Report, message: str, remedy: str) -> None:
    report.error(Code.OPTION, message, remedy=remedy)


class _Reader:
    """One reading of a --covar file: a column after the other."""

    def __init__(
        self, table: Table, samples: int, options: DataOptions, kept: np.ndarray, report: Report
    ) -> None:
        self.table, self.samples, self.options, self.kept, self.report = table, samples, options, kept, report
        self.names: list[str] = []
        self.columns: list[np.ndarray] = []
        self.summary: list[dict[str, Any]] = []

    def read(self, covariate: Covariate, index: int) -> None:
        if covariate.levels:
            self._read_levels(covariate, index)
        else:
            self._read_number(covariate, index)

    def covariates(self) -> Covariates:
        values = np.column_stack(self.columns) if self.columns else np.empty((self.samples, 0))
        unlisted = np.ones(self.samples, bool)
        unlisted[self.table.sample] = False
        return Covariates(tuple(self.names), values, unlisted, self.summary)

    def _read_number(self, covariate: Covariate, index: int) -> None:
        column = read_numbers(self.table.tokens, index)
        readable = self._report_text(covariate, column)
        values = np.where(column.values == self.options.missing_phenotype, np.nan, column.values)
        self._add(covariate.name, values)
        spread = self.columns[-1][self.kept]
        known = spread[~np.isnan(spread)]
        about: dict[str, Any] = {
            "name": covariate.name,
            "known": len(known),
            "missing": int(len(spread) - len(known)),
        }
        if len(known):
            about |= {"smallest": float(known.min()), "mean": mean(known), "largest": float(known.max())}
        self.summary.append(about | self._missing_as(column))
        if readable:
            what = f"the covariate {covariate.name}"
            warn_of_codes(what, column, self.options.missing_phenotype, self.table.path, self.report)
            self._report_few_values(covariate, index, known)
            self._report_missing(covariate, index, len(spread) - len(known), len(known))
            self._report_nearly_constant(covariate, index, known)

    def _read_levels(self, covariate: Covariate, index: int) -> None:
        tokens = self.table.tokens
        words = tokenizer.strings(tokens.text, *tokens.column(index))
        missing = np.array(
            [is_missing(w) or w == b"%d" % self.options.missing_phenotype for w in words], bool
        )
        levels = [level.encode() for level in covariate.levels]
        # A level that is spelled like a missing code is a level: the plan says so.
        missing &= ~np.isin(words, levels)
        column = Column(tokens, index, np.zeros(len(words)), ~missing & ~np.isin(words, levels), index + 1)
        self._report_levels(covariate, column)
        for level in levels[1:]:
            dummy = np.where(np.isin(words, levels), (words == level).astype(float), np.nan)
            self._add(f"{covariate.name}={level.decode()}", dummy)
        out = np.zeros(self.samples, "S1" if not len(words) else words.dtype)
        out[self.table.sample] = np.where(missing, b"", words)
        here = out[self.kept]
        counts = {level.decode(): int((here == level).sum()) for level in levels}
        known = sum(counts.values())
        self._report_missing(covariate, index, len(here) - known, known)
        about = {"name": covariate.name, "known": known, "missing": len(here) - known, "levels": counts}
        self.summary.append(about | self._missing_as(column))
        if known and max(counts.values()) == known:
            only = max(counts, key=lambda level: counts[level])
            self._report_constant(covariate, index, only, f"{IF_IN_FEW_COHORTS}.")
        elif known:
            self._report_small_levels(covariate, index, counts)

    def _add(self, name: str, values: np.ndarray) -> None:
        column = np.full(self.samples, np.nan)
        column[self.table.sample] = values
        self.names.append(name)
        self.columns.append(column)

    def _missing_as(self, column: Column) -> dict[str, Any]:
        """Return the codes for a missing value that were seen, for the summary."""
        seen = missing_as(column, self.options.missing_phenotype)
        return {"missing as": seen} if seen else {}

    def _report_few_values(self, covariate: Covariate, index: int, known: np.ndarray) -> None:
        """A few whole numbers are often names of categories, which no sum of them can mean."""
        values = np.unique(known)
        if self.options.from_plan or not 2 < len(values) <= MANY_LEVELS or (values % 1).any():
            return
        levels = ",".join(f"{value:g}" for value in values)
        self.report.note(
            Code.COVARIATE_FEW_VALUES,
            f"the covariate {covariate.name} has only {len(values)} values and is taken as a number",
            file=self.table.path,
            column=index + 1,
            read=levels,
            remedy="If they name categories, such as sites, the plan must list them as levels (here: "
            f"--categorical {covariate.name}={levels}).",
        )

    def _report_small_levels(self, covariate: Covariate, index: int, counts: dict[str, int]) -> None:
        small = {level: count for level, count in counts.items() if count < FEWEST_AT_A_LEVEL}
        if not small:
            return
        level, count = next(iter(small.items()))
        self.report.note(
            Code.COVARIATE_SMALL_LEVEL,
            f"a level of {covariate.name} has fewer than {FEWEST_AT_A_LEVEL} people here",
            file=self.table.path,
            column=index + 1,
            read=f"{shown(level)}: {count}",
            remedy=f"{IF_IN_FEW_COHORTS}. One that fewer than {FEWEST_AT_A_LEVEL} people in all cohorts have "
            "is refused in any case. Merge it with another level then.",
            count=len(small),
            examples=tuple(f"{shown(level)}: {count}" for level, count in list(small.items())[:EXAMPLES]),
        )

    def _report_text(self, covariate: Covariate, column: Column) -> bool:
        """Tell whether all values are numbers or missing."""
        bad = np.flatnonzero(column.text)
        if not len(bad):
            return True
        words = column.words(bad)
        first, kinds = words[0], Counter(words)
        categorical = ""
        if 1 < len(kinds) <= MANY_LEVELS and len(bad) > len(column.text) // 2:
            found = ", ".join(f"{shown(kind)} ({count} times)" for kind, count in sorted(kinds.items()))
            levels = ",".join(shown(kind) for kind in sorted(kinds))
            categorical = (
                f" It has {found}. If it is categorical, the plan must list its levels (here: --categorical "
                f"{covariate.name}={levels})."
            )
        self.report.error(
            Code.COVARIATE_TEXT,
            f"the covariate {covariate.name} is not a number",
            about=covariate.name,
            expected="a number with a decimal point, or NA",
            remedy=(
                "Write a decimal point, not a comma."
                if b"," in first
                else "It looks like a code for a missing value: write NA."
                if first.lower() in LIKE_MISSING
                else "Correct it, or write NA if the value is missing; PLINK would take it as missing."
            )
            + categorical,
            **column.at(self.table.path, bad),
        )
        return False

    def _report_levels(self, covariate: Covariate, column: Column) -> None:
        bad = np.flatnonzero(column.text)
        if not len(bad):
            return
        self.report.error(
            Code.COVARIATE_LEVEL,
            f"a value of {covariate.name} is not among the levels of the plan",
            about=covariate.name,
            expected=" or ".join(covariate.levels),
            remedy="Correct it, write NA if it is missing, or ask the coordinator to add the level to "
            "the plan.",
            **column.at(self.table.path, bad),
        )

    def _report_missing(self, covariate: Covariate, index: int, missing: int, known: int) -> None:
        if not known:
            self.report.error(
                Code.COVARIATE_EMPTY,
                f"the covariate {covariate.name} has no value",
                about=covariate.name,
                file=self.table.path,
                column=index + 1,
                remedy="Choose another column, or look at the missing codes (--missing-phenotype).",
            )
        elif missing:
            self.report.note(
                Code.COVARIATE_MISSING,
                f"a sample lacks the covariate {covariate.name}: a regression leaves it out",
                file=self.table.path,
                column=index + 1,
                count=missing,
            )

    def _report_nearly_constant(self, covariate: Covariate, index: int, known: np.ndarray) -> None:
        """Report a numeric covariate that is constant or nearly so: its values are counted neither in the
        pool nor in a cohort.
        """
        values, counts = np.unique(known, return_counts=True)
        others = len(known) - counts.max(initial=0)
        if len(values) == 1:
            self._report_constant(covariate, index, f"{values[0]:g}", AS_A_NUMBER)
        elif len(values) and others < FEWEST_AT_A_LEVEL <= counts.max():
            self.report.note(
                Code.COVARIATE_SMALL_LEVEL,
                f"fewer than {FEWEST_AT_A_LEVEL} people here differ from the others in {covariate.name}",
                file=self.table.path,
                column=index + 1,
                read=f"{others} other than {values[counts.argmax()]:g}",
                remedy=f"If all cohorts together have fewer than {FEWEST_AT_A_LEVEL}, sums with it are over "
                "these people alone, and numbers are not refused as levels are. Leave it out then.",
            )

    def _report_constant(self, covariate: Covariate, index: int, value: str, tells: str) -> None:
        self.report.warning(
            Code.COVARIATE_CONSTANT,
            f"the covariate {covariate.name} is the same for everybody here",
            file=self.table.path,
            column=index + 1,
            read=value,
            remedy="If other cohorts have another value, it tells which cohort somebody is in. "
            f"{tells} If all have the same, the result is NA everywhere.",
        )
