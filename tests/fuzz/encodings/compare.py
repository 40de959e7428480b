"""A federation through the client's readers, the whole protocol and its writers, beside the pooled table."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from unpooled.asking.cohort import ArrayTable
from unpooled.errors import UnpooledError
from unpooled.fitted.encoder import Encoder
from unpooled.methods.tables.encoding.coding import coded
from unpooled.methods.tables.encoding.dictionary import code_text
from unpooled.methods.tables.encoding.options import FOLDS, IGNORE_CASE, MISSING_WORDS, SPELLED
from unpooled.plan.encodings import NGRAMS, ONE_HOT, ORDINAL, TARGET
from unpooled.plan.plan import Plan
from unpooled.plan.schema import Column
from unpooled.run import reports, run

from ...in_process import NOBODY
from ..tables.compare import Outcome
from ..tables.files import RefusedFile
from ..tables.judge import Disagreement
from . import files, judge, learned, truth
from .federation import Federation
from .judge import SHARE, Found
from .truth import Dictionary, Rows

One = tuple[Column, Rows, Dictionary | None]
"""A column of the pool, with its dictionary if its encoding has one."""


def compare(federation: Federation, folder: Path) -> Outcome:
    """Run a federation with files in a folder, and compare whatever comes out."""
    plan = federation.plan
    paths = [files.write(federation, k, folder) for k in range(len(federation.cohorts))]
    plain = [_rows(federation, column, None) for column in plan.categories]
    wanted = [
        truth.refusal(plan, column, rows)
        for column, rows in zip(plan.categories, plain, strict=True)
        if column.encoded.has_dictionary
    ]
    try:
        tables = _coded(plan, [files.read(plan, path) for path in paths])
        found = _result(plan, tables)
    except (RefusedFile, UnpooledError) as error:
        return _refused(wanted, error)
    if any(wanted):
        return Outcome((Disagreement(-1, "refused", f"it is not; want {wanted}"),))
    if misread := tuple(_misread(federation, tables)):
        return Outcome(misread)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrong = tuple(_wrong(federation, found, paths, tables))
    return Outcome(wrong, tuple(column["note"] for column in found["columns"] if "note" in column))


def _refused(wanted: Sequence[str], error: Exception) -> Outcome:
    """A refusal is right for a reason that is known beforehand."""
    if any(reason and reason in str(error) for reason in wanted):
        return Outcome((), (f"refused: {next(filter(None, wanted))}",))
    return Outcome((Disagreement(-1, "refused", str(error)),))


def _coded(plan: Plan, tables: Sequence[ArrayTable]) -> list[ArrayTable]:
    """The tables with the codes of their words, which the study is to use and the tests to see."""
    return coded(tables, plan)  # type: ignore[return-value]


def _result(plan: Plan, tables: Sequence[ArrayTable]) -> Found:
    """The content of the result file."""
    (file,) = reports(plan, NOBODY, run(plan, NOBODY, tables)).values()
    found: Found = json.loads(file)
    return found


def _rows(federation: Federation, column: Column, tables: Sequence[ArrayTable] | None) -> Rows:
    """A column of the pool. Folds are drawn by the cohorts, so `tables` tell them, if they count."""
    plan, words, targets, folds = federation.plan, list[str](), [], []
    by_target = column.encoded.target
    for k, cohort in enumerate(federation.cohorts):
        words += [
            "" if truth.is_missing(cell) else truth.form(cell or "", IGNORE_CASE.of(plan))
            for cell in cohort.cells[column.title]
        ]
        place = [feature.title for feature in plan.features].index(by_target) if by_target else -1
        targets.append(cohort.values[:, place] if by_target else np.zeros(len(cohort)))
        counts = tables and by_target and FOLDS.of(plan) > 1
        folds.append(tables[k].categories.folds if counts else np.zeros(len(cohort), int))  # type: ignore[index]
    cohorts = np.repeat(np.arange(plan.cohorts), [len(cohort) for cohort in federation.cohorts])
    return Rows(words, cohorts, np.concatenate(folds), np.concatenate(targets))


def _misread(federation: Federation, tables: Sequence[ArrayTable]) -> Iterator[Disagreement]:
    """Numbers and words that a reader did not give back, and folds that are not of one size."""
    plan = federation.plan
    for k, (table, cohort) in enumerate(zip(tables, federation.cohorts, strict=True)):
        if not np.array_equal(table.values, cohort.values, equal_nan=True):
            yield Disagreement(-1, "read", f"cohort {k}: other numbers than were written")
        for at, column in enumerate(plan.categories):
            read = table.words[column.title]
            words = [*read.values, ""]
            for row, cell in enumerate(cohort.cells[column.title]):
                want = "" if truth.is_missing(cell) else truth.form(cell or "", False)
                if truth.form(words[read.codes[row]], False) != want:
                    yield Disagreement(
                        at, "read", f"cohort {k}, row {row}: {words[read.codes[row]]!r}; want {want!r}"
                    )
                    break
        sizes = np.bincount(table.categories.folds, minlength=max(1, FOLDS.of(plan)))
        if len(sizes) != max(1, FOLDS.of(plan)) or np.ptp(sizes) > 1:
            yield Disagreement(-1, "folds", f"cohort {k}: {sizes.tolist()} rows")


def _wrong(
    federation: Federation, found: Found, paths: Sequence[Path], tables: Sequence[ArrayTable]
) -> Iterator[Disagreement]:
    plan, count = federation.plan, sum(map(len, federation.cohorts))
    if found["rows"] != count or [c["name"] for c in found["columns"]] != [c.title for c in plan.categories]:
        yield Disagreement(-1, "result", f"{found['rows']} rows; want {count}; or other columns")
        return
    every: list[One] = []
    for k, (column, said) in enumerate(zip(plan.categories, found["columns"], strict=True)):
        rows, of = _rows(federation, column, tables), None
        if column.encoded.has_dictionary:
            of = truth.dictionary(plan, column, rows, partial(_name, plan, tables, column))
            if wrong := tuple(judge.dictionary(said, of, rows, plan)):
                yield from (Disagreement(k, *one) for one in wrong)
                return
        every.append((column, rows, of))
    yield from _in_memory(federation, found, every)
    yield from _written(federation, found, paths, tables, every)


def _name(plan: Plan, tables: Sequence[ArrayTable], column: Column, word: str) -> str:
    """Return the name of a word found by the study: its code, if the plan names words so."""
    if SPELLED.of(plan) != "own":
        return word
    place = plan.dictionaries.index(column)
    for found in (table.categories for table in tables):
        if word in found.searched[place]:
            return code_text(int(found.codes[place][found.searched[place].index(word)]))
    raise AssertionError(f"no table has {word!r}")


def _in_memory(federation: Federation, found: Found, every: Sequence[One]) -> Iterator[Disagreement]:
    """The pooled table through `Encoder`, and back, beside scikit-learn."""
    plan, first = federation.plan, 0
    said = [_spelled(plan, of, *one) for of, one in zip(found["columns"], every, strict=True)]
    cells = np.array([_as_in_memory(federation, column.title) for column in plan.categories], object).T
    made = Encoder({**found, "columns": said}, sparse=False).transform(cells)
    for k, (column, rows, of) in enumerate(every):
        want = learned.cells(plan, column, rows, of)
        own = made[:, first : (first := first + want.shape[1])]
        yield from _same_cells(k, "scikit-learn", own, want, _slack(column, rows))
        if column.encoding in (ONE_HOT, ORDINAL) and of is not None:
            back = Encoder({**found, "columns": [said[k]]}).inverse_transform(own)[:, 0]
            names = [*said[k]["values"], truth.REST]
            places = [of.place(key) for key in truth.keys(rows, MISSING_WORDS.of(plan))]
            if back.tolist() != [None if place is None else names[place] for place in places]:
                yield Disagreement(k, "inverse", "other words come back")
    if first != made.shape[1]:
        yield Disagreement(-1, "scikit-learn", f"{made.shape[1]} columns; want {first}")


def _spelled(plan: Plan, said: Found, column: Column, rows: Rows, of: Dictionary | None) -> Found:
    """A column of the result file with words as its values, where those are codes."""
    has_codes = of is not None and SPELLED.of(plan) == "own" and column.most
    return {**said, "values": list(of.keys)} if has_codes else said  # type: ignore[union-attr]


def _as_in_memory(federation: Federation, title: str) -> list[str | None]:
    """The cells of a column, None where a word is missing."""
    return [
        None if truth.is_missing(cell) else cell
        for cohort in federation.cohorts
        for cell in cohort.cells[title]
    ]


def _slack(column: Column, rows: Rows) -> float:
    """Return the tolerance of cells: tiny for targets and n-grams, zero for all others."""
    largest = float(np.nanmax(np.abs(rows.targets), initial=0))
    return SHARE * {TARGET: largest, NGRAMS: 1.0}.get(column.encoded.kind, 0.0)


def _same_cells(
    k: int, what: str, made: np.ndarray, want: np.ndarray, slack: float
) -> Iterator[Disagreement]:
    if made.shape != want.shape:
        yield Disagreement(k, what, f"cells {made.shape}; want {want.shape}")
        return
    close = np.isclose(made, want, rtol=0, atol=slack, equal_nan=True)
    if not close.all():
        row, place = np.argwhere(~close)[0]
        yield Disagreement(k, what, f"row {row} has {made[row, place]!r}; want {want[row, place]!r}")


def _written(
    federation: Federation,
    found: Found,
    paths: Sequence[Path],
    tables: Sequence[ArrayTable],
    every: Sequence[One],
) -> Iterator[Disagreement]:
    """The cohorts' encoded tables, read by others, beside scikit-learn and the tables they were made of."""
    plan, encoder, first = federation.plan, Encoder(found), 0
    wanted = [learned.cells(plan, *one, by_fold=True) for one in every]
    titles = {column.title: learned.titles(column, of) for column, _, of in every}
    for cohort, (path, table) in enumerate(zip(paths, tables, strict=True)):
        rows = slice(first, first := first + len(table.values))
        target = files.encoded(plan, path, encoder, table, is_known=bool(cohort % 2))
        before, after = files.columns_of(path), files.columns_of(target)
        if list(after) != [name for title in before for name in titles.get(title, [title])]:
            yield Disagreement(-1, "written", f"cohort {cohort}: columns {list(after)[:9]}")
            continue
        for k, (column, of_rows, _) in enumerate(every):
            made, slack = files.numbers(after, titles[column.title]), _slack(column, of_rows)
            yield from _same_cells(k, f"written by cohort {cohort}", made, wanted[k][rows], slack)
        for title in set(before) - set(titles) if target.suffix == path.suffix else ():
            if repr(before[title]) != repr(after[title]):
                yield Disagreement(-1, "written", f"cohort {cohort}: {title} is changed")
