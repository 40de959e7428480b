"""A federation through the client's readers, the whole protocol and its writers, beside the truth."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from unpooled.asking.cohort import ArrayTable
from unpooled.errors import UnpooledError
from unpooled.fitted.scaler import FLAT, MIN_MAX, QUANTILES, YEO_JOHNSON, Z_SCORE, Scaler
from unpooled.run import reports, run

from ...in_process import NOBODY
from . import files, truth
from .federation import Federation
from .judge import EPS, SHARE, Disagreement, Row, is_constant, is_scaled_by_1, mask_noise, parameters, spread
from .truth import LONG

UNITS = 2
"""Tolerance of a difference and of an inverted value, in units in the last place of the largest value."""
BACK = 1e-9
"""Tolerance of the inverse of a nonlinear transform, as a share of the range."""
LARGEST = 2.0**1021
"""Size beyond which the difference of two values may not be finite."""


@dataclass(frozen=True)
class Outcome:
    """Outcome of a federation."""

    disagreements: tuple[Disagreement, ...] = ()
    notes: tuple[str, ...] = ()
    """Notes of features; or why the study was refused."""
    found: Mapping[str, Any] = field(default_factory=dict)
    """The content of the result file, if there is one."""


def compare(federation: Federation, folder: Path) -> Outcome:
    """Run a federation with files in a folder, and compare whatever comes out."""
    paths = [files.write(federation, k, folder) for k in range(len(federation.cohorts))]
    try:
        tables = [files.read(federation, path) for path in paths]
    except files.RefusedFile as error:
        return Outcome((Disagreement(-1, "file", str(error)),))
    if misread := tuple(_misread(federation, tables)):
        return Outcome(misread)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = _result(federation, tables)
        except UnpooledError as error:
            return _refused(federation, error)
        wrong = tuple(_wrong(federation, found, paths, tables))
    return Outcome(wrong, tuple(row["note"] for row in found["features"] if "note" in row), found)


def _misread(federation: Federation, tables: Sequence[ArrayTable]) -> Iterator[Disagreement]:
    """Features of which a reader did not give back the same bits."""
    for cohort, (table, wanted) in enumerate(zip(tables, federation.cohorts, strict=True)):
        if table.values.shape != wanted.shape:
            yield Disagreement(-1, "read", f"cohort {cohort}: {table.values.shape}; want {wanted.shape}")
            continue
        same = (table.values == wanted) & (np.signbit(table.values) == np.signbit(wanted))
        same |= np.isnan(table.values) & np.isnan(wanted)
        for row, k in np.argwhere(~same)[:1]:
            said = f"cohort {cohort}, row {row}: {table.values[row, k]!r}; want {wanted[row, k]!r}"
            yield Disagreement(int(k), "read", said)


def _result(federation: Federation, tables: Sequence[ArrayTable]) -> dict[str, Any]:
    """The content of the result file."""
    plan = federation.plan
    (file,) = reports(plan, NOBODY, run(plan, NOBODY, tables)).values()
    found: dict[str, Any] = json.loads(file)
    return found


def _refused(federation: Federation, error: UnpooledError) -> Outcome:
    """A refusal is right where masks hide a deviation, or where numbers end."""
    plan, pool = federation.plan, federation.pool
    if not federation.holds_the_floor:  # as what is cut down may not
        return Outcome((), ("refused: too few values",))
    columns = [column[~np.isnan(column)] for column in pool.T]
    if plan.test == Z_SCORE and plan.masking == "gaussian":
        right = any(_is_hidden(mask_noise(plan), np.sort(x)) for x in columns if len(x))
    else:
        right = plan.test == YEO_JOHNSON and any(np.abs(x).max(initial=0) > 1e300 for x in columns)
    said = f"refused: {type(error).__name__}"
    return Outcome((), (said,)) if right else Outcome((Disagreement(-1, "refused", str(error)),))


def _is_hidden(noise: float, x: np.ndarray) -> bool:
    """Tell whether masks may change the deviation by a thousandth: they change its square."""
    size, deviation = LONG(np.abs(x).max()), spread(Z_SCORE, x)
    return bool(4 * noise / len(x) * size * size > 1e-4 * deviation * deviation)


def _wrong(
    federation: Federation, found: dict[str, Any], paths: Sequence[Path], tables: Sequence[ArrayTable]
) -> Iterator[Disagreement]:
    plan, pool, rows = federation.plan, federation.pool, found["features"]
    for k, (row, column) in enumerate(zip(rows, pool.T, strict=True)):
        yield from parameters(plan, k, row, column[~np.isnan(column)])
    if plan.test == QUANTILES:
        return
    scaler = Scaler(found)
    cells = scaler.transform(pool)
    yield from _written(federation, paths, tables, scaler)
    theirs, back = _by_scikit_learn(plan.test, rows, pool), scaler.inverse_transform(cells)
    for k, row in enumerate(rows):
        known = ~np.isnan(pool[:, k])
        if not np.array_equal(np.isnan(cells[:, k]), ~known):
            yield Disagreement(k, "missing", "cells are missing where values are not, or the other way")
        elif known.any():
            x, own = pool[known, k], cells[known, k]
            if theirs is not None:
                yield from _as_theirs(plan.test, k, row, x, own, theirs[known, k])
            if plan.masking == "modular":
                yield from _cells(plan.test, k, row, x, own)
            yield from _inverse(k, row, x, own, back[known, k])


def _written(
    federation: Federation, paths: Sequence[Path], tables: Sequence[ArrayTable], scaler: Scaler
) -> Iterator[Disagreement]:
    """Check the written cells of the last cohort with a table of each format."""
    for cohort in {path.suffix: cohort for cohort, path in enumerate(paths)}.values():
        path, table = paths[cohort], tables[cohort]
        cells, wanted = files.normalized(federation, path, scaler, table), scaler.transform(table.values)
        if not np.array_equal(cells, wanted, equal_nan=True):
            yield Disagreement(-1, "written", f"cohort {cohort}: other cells than the scaler's")


def _by_scikit_learn(method: str, rows: Sequence[Row], pool: np.ndarray) -> np.ndarray | None:
    """The cells of its own transformer: fitted to the pool, or with our mean and deviation."""
    if method == YEO_JOHNSON:
        return None
    if method != Z_SCORE:
        fitted = (MinMaxScaler() if method == MIN_MAX else RobustScaler()).fit(pool)
        return np.asarray(fitted.transform(pool))
    fitted = StandardScaler().fit(pool)
    mean, deviation = (np.array([row[name] for row in rows], float) for name in ("mean", "deviation"))
    noted = np.array([is_scaled_by_1(row) for row in rows])
    fitted.mean_, fitted.scale_ = mean, np.where(noted, 1.0, deviation)
    return np.asarray(fitted.transform(pool))


def _as_theirs(
    method: str, k: int, row: Row, x: np.ndarray, cells: np.ndarray, theirs: np.ndarray
) -> Iterator[Disagreement]:
    """Cells are scikit-learn's to the bit, but where it overflows, or scales by 1 what is below 2e-15."""
    small = method != Z_SCORE and spread(method, np.sort(x)) < 20 * EPS
    elsewhere = small or np.abs(x).max() > LARGEST or is_scaled_by_1(row)
    if not elsewhere and not np.array_equal(cells, theirs):
        at = int(np.argmax(cells != theirs))
        yield Disagreement(k, "scikit-learn", f"{x[at]!r} becomes {cells[at]!r}; there it is {theirs[at]!r}")


def _cells(method: str, k: int, row: Row, x: np.ndarray, cells: np.ndarray) -> Iterator[Disagreement]:
    """Cells are what the pooled column's own parameters make of the values, in long double."""
    in_order, largest = np.sort(x), LONG(np.abs(x).max())
    constant, noted = is_constant(method, in_order), is_scaled_by_1(row)
    if constant is not None and constant != noted:
        yield Disagreement(
            k, "constant", f"{row.get('note')!r}; want it {'' if constant else 'not '}scaled by 1"
        )
        return
    if method == YEO_JOHNSON and not noted:
        wanted, rounding = truth.bent(x, row["lambda"], float(np.median(x))).standardised, LONG(0)
    else:
        size = LONG(1) if noted else spread(method, in_order)
        wanted, rounding = (x.astype(LONG) - _centre(method, in_order)) / size, UNITS * EPS * largest / size
    slack = (SHARE + rounding) * np.maximum(1, np.abs(wanted))
    off = ~(np.abs(cells - wanted) <= slack) & (np.abs(wanted) <= np.finfo(float).max)
    if off.any():
        at = int(np.argmax(off))
        yield Disagreement(k, "cells", f"{x[at]!r} becomes {cells[at]!r}; want {wanted[at]!r}")


def _centre(method: str, x: np.ndarray) -> np.longdouble:
    """Return what is subtracted from a column, float64 (n,) in order."""
    if method in (Z_SCORE, YEO_JOHNSON):
        return truth.long(truth.moments(x).mean)
    return truth.long(truth.quantile(x, 0.0 if method == MIN_MAX else 0.5))


def _inverse(k: int, row: Row, x: np.ndarray, cells: np.ndarray, back: np.ndarray) -> Iterator[Disagreement]:
    """Values come back from cells that are numbers, or a note says why not."""
    if FLAT in row.get("note", ""):
        return
    share = BACK if "lambda" in row else SHARE
    slack = share * LONG(np.ptp(x.astype(LONG))) + UNITS * EPS * LONG(np.abs(x).max())
    off = ~(np.abs(back.astype(LONG) - x) <= slack) & np.isfinite(cells)
    if off.any():
        at = int(np.argmax(off))
        yield Disagreement(k, "inverse", f"{x[at]!r} comes back as {back[at]!r}")
