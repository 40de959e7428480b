"""The phenotype, or several: from the .fam or .psam or from --pheno, and whether it is case/control.

As plink1.9 decides (tried with v1.90b6.26): a phenotype is case/control iff it has no values but 0, 1, 2
and missing ones; 0 is then missing too. With --1 it is always case/control with 0 for controls and 1 for
cases. In a .fam, without --1, the codes must be written as they are: a `1.0` or `01` there makes a
phenotype quantitative, in a --pheno file it does not. What the plan says takes precedence over what the
values look like.

Here `nan` is missing, which PLINK takes for a number; and text is an error (see `numbers`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unpooled.memory import tokenizer
from unpooled.plan.floors import CASE_CONTROL, QUANTITATIVE
from unpooled_client.data.findings.report import EXAMPLES, Code, Report, choose_column, shown
from unpooled_client.data.options import DataOptions
from unpooled_client.data.plink.fam import Fam
from unpooled_client.data.samples.missing_codes import LIKE_MISSING, missing_as, warn_of_codes
from unpooled_client.data.samples.numbers import Column, read_numbers
from unpooled_client.data.samples.table import Table, one_row_each, read_table

WITHOUT_ONE, WITH_ONE = "1 control, 2 case, 0 missing", "0 control, 1 case (--1)"

FEW = 12
"""A phenotype with at most so many different values is shown value by value."""


@dataclass(frozen=True, eq=False)
class Phenotype:
    """The phenotype of every sample."""

    name: str
    trait: str
    """`case/control` or `quantitative`."""
    coding: str
    """Meaning of the numbers in the file."""
    values: np.ndarray
    """float64 (n,): 1 a case and 0 a control, or the quantity; NaN is missing."""
    counts: dict[str, int]
    """Counts of the values in the file: all values if they are few, else the commonest codes."""
    missing_as: dict[str, int]
    """The codes for a missing value that stand in the file, and how often."""


def read_phenotypes(fam: Fam, options: DataOptions, report: Report) -> tuple[Phenotype, ...] | None:
    """The phenotypes that the options name, in their order; None where one cannot be read: see the report.

    There are none if the plan's test needs none, or if there is no plan and nobody has one.
    """
    if not options.needs_phenotype:
        return ()
    found = _read(fam, options, report)
    if found is None or options.test or not all(np.isnan(each.values).all() for each in found):
        return found
    report.warning(
        Code.PHENOTYPE_MISSING,
        "no sample has a phenotype",
        file=options.pheno or fam.path,
        remedy="Pruning and principal components need none. For any other study give --pheno FILE, or look "
        "at the codes of missing values (--missing-phenotype).",
    )
    return ()


def _read(fam: Fam, options: DataOptions, report: Report) -> tuple[Phenotype, ...] | None:
    if options.pheno is None:
        if not fam.place[5] and not options.test:
            return ()
        source = _in_fam(fam, report)
        return (_decide(source, len(fam), options, report),) if source else None
    table = read_table(options.pheno, "the --pheno file", fam, report)
    if table is None or not len(table.sample):
        return None
    names = options.pheno_names or (None,)
    planned = options.phenotypes or ("",) * len(names)
    chosen = [
        (_choose(table, name, about, options, report), about)
        for name, about in zip(names, planned, strict=True)
    ]
    found = [_of_table(table, index, about, fam, options, report) for index, about in chosen if index]
    return tuple(found) if len(found) == len(chosen) else None


def _in_fam(fam: Fam, report: Report) -> _Source | None:
    """The phenotype beside the sexes; None, and an error, if a .psam has none."""
    place = fam.place[5]
    if not place:
        report.error(
            Code.COLUMN_UNKNOWN,
            f"{fam.what} has no phenotype",
            file=fam.path,
            line=1,
            expected="a column after SEX",
            remedy="Give --pheno FILE, with the phenotype of each sample.",
        )
        return None
    column = read_numbers(fam.tokens, 5, place)
    name = fam.phenotype or "phenotype of the .fam"
    return _Source(fam.path, column, np.arange(len(fam)), fam.what, name, fam.kind != ".psam")


def _of_table(
    table: Table, index: int, about: str, fam: Fam, options: DataOptions, report: Report
) -> Phenotype:
    """The phenotype that is this word of each row."""
    one_row_each(table, True, index, report)
    name = table.names[index - table.ids] if table.names else f"column {index + 1} of --pheno"
    column = read_numbers(table.tokens, index)
    source = _Source(table.path, column, table.sample, table.what, name, False, about)
    return _decide(source, len(fam), options, report)


@dataclass(frozen=True, eq=False)
class _Source:
    """Source of a phenotype's values."""

    path: Path
    column: Column
    sample: np.ndarray
    what: str
    name: str
    written_codes: bool
    about: str = ""
    """Name of the phenotype in the plan, if the plan has several."""

    def at(self, rows: np.ndarray) -> dict[str, Any]:
        """Return details of a finding about these rows."""
        return self.column.at(self.path, rows) | {"about": self.about}

    @property
    def whole(self) -> dict[str, Any]:
        """Details of a finding about all of it."""
        return {"file": self.path, "about": self.about, "column": self.column.place}

    def line(self, row: int) -> dict[str, Any]:
        """Return details of a finding about one row."""
        word = self.column.words(np.array([row]))[0]
        return {"line": int(self.column.tokens.line[row]), "read": shown(word)} | self.whole


def _choose(table: Table, name: str | None, about: str, options: DataOptions, report: Report) -> int | None:
    """Find the word of a row that holds the phenotype of this name."""
    if name is None:
        if table.columns < (options.mpheno or 1):
            report.error(
                Code.COLUMN_UNKNOWN,
                f"{table.what} has no phenotype number {options.mpheno or 1}",
                file=table.path,
                line=1,
                read=f"{max(0, table.columns)} column(s) after the IDs",
                expected=f"at least {options.mpheno or 1}",
                remedy="Choose another with --mpheno or --pheno-name.",
            )
            return None
        return table.ids + (options.mpheno or 1) - 1
    if table.names is None:
        report.error(
            Code.HEADER,
            f"to find {name} by its name, {table.what} must begin with a header",
            file=table.path,
            line=1,
            read=shown(b" ".join(table.tokens.word(0, j) for j in range(min(3, table.tokens.widths[0]))))
            if len(table.tokens)
            else None,
            expected="FID IID and the names of the columns",
            remedy="Add the header, or choose by number with --mpheno.",
        )
        return None
    if name not in table.names:
        report.error(
            Code.COLUMN_UNKNOWN,
            f"{table.what} has no column {name}",
            about=about,
            file=table.path,
            line=1,
            read=", ".join(table.names),
            expected=name,
            remedy=choose_column(name, table.names),
        )
        return None
    if table.names.count(name) > 1:
        report.warning(
            Code.COLUMN_AMBIGUOUS,
            f"{table.what} has several columns {name}: the first is taken, as PLINK does",
            file=table.path,
            line=1,
            remedy="Rename them.",
        )
    return table.ids + table.names.index(name)


def _decide(source: _Source, samples: int, options: DataOptions, report: Report) -> Phenotype:
    """Settle the trait, and turn the numbers into what a method takes."""
    column = source.column
    _report_text(source, report)
    values = np.where(column.values == options.missing_phenotype, np.nan, column.values)
    trait = _trait(source, values, options, report)
    if trait == CASE_CONTROL:
        values = _cases(source, values, options, report)
    else:
        _report_few_values(source, values, options, report)
    out = np.full(samples, np.nan)
    out[source.sample] = values
    coding = "numbers" if trait == QUANTITATIVE else WITH_ONE if options.one else WITHOUT_ONE
    return Phenotype(
        source.name, trait, coding, out, _counts(source), missing_as(column, options.missing_phenotype)
    )


def _report_few_values(source: _Source, values: np.ndarray, options: DataOptions, report: Report) -> None:
    """A quantity with a code in it, or with so few values that it may be cases and controls with one."""
    before = len(report.findings)
    warn_of_codes(
        f"the phenotype {source.name}", source.column, options.missing_phenotype, source.path, report
    )
    # Up to four: cases, controls, and a code or two for a missing value.
    known = np.unique(values[~np.isnan(values)])
    if options.trait is not None or len(report.findings) > before or not 2 < len(known) <= 4:
        return
    report.warning(
        Code.PHENOTYPE_FEW_VALUES,
        f"the phenotype {source.name} has only {len(known)} different values and is taken as quantitative",
        read=_listed(known),
        remedy="Cases and controls are 2 and 1 (or 1 and 0 with --1), and everything else must be missing: "
        "write NA, or say --missing-phenotype N.",
        **source.whole,
    )


def _report_text(source: _Source, report: Report) -> None:
    column = source.column
    bad = np.flatnonzero(column.text)
    if len(bad):
        report.error(
            Code.PHENOTYPE_TEXT,
            f"the phenotype {source.name} is not a number",
            expected="a number with a decimal point, or NA",
            remedy=_text_remedy(column.words(bad[:1])[0]),
            **source.at(bad),
        )
    start, end = column.tokens.column(column.index)
    is_nan = tokenizer.strings(column.tokens.text, start, end)
    nan = np.flatnonzero(np.char.lower(is_nan) == b"nan") if len(is_nan) else is_nan
    if len(nan):
        report.warning(
            Code.PHENOTYPE_NAN,
            "nan is taken as missing; PLINK 1.9 takes it for a number and the phenotype for quantitative",
            line=int(column.tokens.line[nan[0]]),
            read="nan",
            expected="NA",
            remedy="Write NA or -9.",
            count=len(nan),
            **source.whole,
        )


def _text_remedy(word: bytes) -> str:
    if b"," in word:
        return "Write a decimal point, not a comma. PLINK would read only what comes before it."
    if word.lower() in (b"case", b"control", b"yes", b"no", b"true", b"false"):
        return "Write 2 for cases and 1 for controls, or 1 and 0 with --1."
    if word.lower() in LIKE_MISSING:
        return "It looks like a code for a missing value: write NA."
    return "Correct it, or write NA if the value is missing. Is it the right column (--pheno-name, --mpheno)?"


def _trait(source: _Source, values: np.ndarray, options: DataOptions, report: Report) -> str:
    """Return the plan's kind of trait, else the one that the values suggest; a contradiction is reported."""
    if options.one:
        return CASE_CONTROL
    known = values[~np.isnan(values)]
    looks = CASE_CONTROL if np.isin(known, (0, 1, 2)).all() else QUANTITATIVE
    if looks == CASE_CONTROL and source.written_codes and (odd := _not_as_codes(source, values)) is not None:
        looks = QUANTITATIVE
        _report_not_as_codes(source, odd, report)
    if options.trait is None or looks == options.trait:
        return looks
    if options.trait == QUANTITATIVE:
        report.warning(
            Code.PHENOTYPE_TRAIT,
            f"the phenotype {source.name} looks like case/control, but the plan says quantitative",
            read=_listed(known),
            remedy="They are taken as numbers, 0 included. Is it the right column?",
            **source.whole,
        )
        return QUANTITATIVE
    row = int(np.argmax(~np.isnan(values) & ~np.isin(values, (0, 1, 2))))
    report.error(
        Code.PHENOTYPE_TRAIT,
        f"the phenotype {source.name} is quantitative, but the plan says case/control",
        expected="1 control, 2 case, 0, NA or -9 missing (with --1: 0 control, 1 case)",
        remedy="Choose the right column (--pheno-name, --mpheno); name another missing code with "
        "--missing-phenotype.",
        **source.line(row),
    )
    return QUANTITATIVE


def _not_as_codes(source: _Source, values: np.ndarray) -> int | None:
    """The first row that has 0, 1 or 2, but not written just so."""
    start, end = source.column.tokens.column(source.column.index)
    odd = np.flatnonzero(~np.isnan(values) & (end - start > 1))
    return int(odd[0]) if len(odd) else None


def _report_not_as_codes(source: _Source, row: int, report: Report) -> None:
    report.warning(
        Code.PHENOTYPE_CODING,
        "PLINK 1.9 takes the .fam's phenotype for quantitative: its codes are not written as 0, 1 and 2",
        expected="1 or 2",
        remedy="Write 1 and 2 without a decimal point or zeros, or give the phenotype with --pheno.",
        **source.line(row),
    )


def _cases(source: _Source, values: np.ndarray, options: DataOptions, report: Report) -> np.ndarray:
    """1 for cases, 0 for controls, NaN for what is missing."""
    control = 0 if options.one else 1
    if options.one:
        _report_beyond_one(source, values, report)
    else:
        _report_zero_one(source, values, options, report)
    return np.select([values == control, values == control + 1], [0.0, 1.0], np.nan)


def _report_beyond_one(source: _Source, values: np.ndarray, report: Report) -> None:
    other = np.flatnonzero(~np.isnan(values) & ~np.isin(values, (0, 1)))
    if not len(other):
        return
    report.error(
        Code.PHENOTYPE_CODING,
        "with --1 a phenotype is 0, 1 or missing",
        expected="0 control, 1 case, NA or -9 missing",
        remedy="PLINK silently treats other values as missing. Is the coding 1/2? Then leave --1 out.",
        **source.at(other),
    )


def _report_zero_one(source: _Source, values: np.ndarray, options: DataOptions, report: Report) -> None:
    """0 and 1 without any 2 is nearly always the other coding, in which PLINK finds no cases."""
    zero, one, two = ((values == code) for code in (0, 1, 2))
    if two.any() or not (zero.any() and one.any()):
        return
    tell = report.warning if options.one_class else report.error
    tell(
        Code.PHENOTYPE_CODING,
        f"the phenotype {source.name} is coded 0/1, where PLINK takes 1 for a control and 0 as missing",
        line=int(source.column.tokens.line[int(np.argmax(zero))]),
        read=f"0 ({zero.sum()} times), 1 ({one.sum()} times), never 2",
        expected="1 for controls and 2 for cases",
        remedy="If 0 is a control and 1 a case, use --1. If this cohort has only controls and 0 is missing, "
        "use --one-class.",
        **source.whole,
    )


def _listed(values: np.ndarray) -> str:
    return ", ".join(f"{value:g}" for value in np.unique(values)) or "missing"


def _counts(source: _Source) -> dict[str, int]:
    column = source.column
    code, words = tokenizer.distinct(column.tokens.text, *column.tokens.column(column.index))
    counts = dict(zip(words, np.bincount(code, minlength=len(words)).tolist(), strict=True))
    if len(counts) > FEW:
        # Values that are typical first; then what may stand for a missing one.
        often = sorted(words, key=lambda word: -counts[word])
        codes = [word for word in often if word in (b"-9", b"0") or not re.match(rb"[+-.0-9]", word)]
        typical = [word for word in often if word not in codes][:EXAMPLES]
        return {shown(word): counts[word] for word in [*typical, *codes[:FEW]]}
    return {shown(word): counts[word] for word in sorted(counts)}
