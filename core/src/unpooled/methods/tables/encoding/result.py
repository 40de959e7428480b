"""The encoding file: the dictionary of each column, and the numbers that stand for its words."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np

from unpooled.asking.question import Arrays
from unpooled.fitted.encoder import FORMAT, VERSION, distinct, outputs_of
from unpooled.methods.tables.encoding import options
from unpooled.methods.tables.encoding.dictionary import WORDS, words_of
from unpooled.methods.tables.encoding.procedure import COLUMNS, LEVELS, ROWS, TARGETS
from unpooled.methods.tables.encoding.questions import folds_of
from unpooled.pages.page import Html, joined, section, table
from unpooled.panel.panel import Panel
from unpooled.plan.categories import MISSING, REST
from unpooled.plan.encodings import FREQUENCY, TARGET
from unpooled.plan.plan import Plan
from unpooled.plan.schema import Column

_SHOWN = 50
"""Values of a column that the report shows: the most frequent ones."""

NOBODY = "no cohort has a word: everything is the rest"
NOTHING_KEPT = "no value has enough people, in enough cohorts: everything is the rest"


def columns_of(file: str, tables: Mapping[str, Arrays]) -> Arrays:
    """Collect the columns of all result tables, by table and name, to write the file from."""
    return {f"{name}.{key}": found for name in tables for key, found in tables[name].items()}


def write(out: BinaryIO, panel: Panel, columns: Arrays, plan: Plan) -> None:
    """Write the encoding file."""
    out.write(json.dumps(content(columns, plan), indent=1, ensure_ascii=False, allow_nan=False).encode())
    out.write(b"\n")


def content(found: Arrays, plan: Plan) -> dict[str, Any]:
    """The content of the encoding file."""
    places = {column.title: place for place, column in enumerate(plan.dictionaries)}
    columns = [
        _with_dictionary(column, places[column.title], found, plan)
        if column.title in places
        else {"name": column.title, "encoding": column.encoding}
        for column in plan.categories
    ]
    outputs = {of["name"]: outputs_of(of["name"], of["encoding"], of.get("values", ())) for of in columns}
    return {
        "format": FORMAT,
        "version": VERSION,
        "rows": int(found[f"{ROWS}.rows"][0]),
        "people": options.PEOPLE.of(plan),
        "holders": options.HOLDERS.of(plan),
        "missing_words": options.MISSING_WORDS.of(plan),
        "ignore_case": options.IGNORE_CASE.of(plan),
        "columns": columns,
        **({"beside": list(plan.beside)} if distinct(outputs, plan.beside) != distinct(outputs) else {}),
    }


def _with_dictionary(column: Column, place: int, found: Arrays, plan: Plan) -> dict[str, Any]:
    """A column with its dictionary: counts, and the number for each value, if its encoding has such."""
    here = np.asarray(found[f"{LEVELS}.column"]) == place
    kept = np.asarray(found[f"{LEVELS}.kept"])[here][:-1]
    lines = np.append(np.flatnonzero(kept), len(kept))
    folds = int(folds_of(plan)[place])

    def cells(name: str) -> np.ndarray:
        return np.asarray(np.asarray(found[name])[here][lines, :folds])

    rows = cells(f"{LEVELS}.rows")
    missing = [MISSING] if options.MISSING_WORDS.of(plan) == options.MISSING_IS_VALUE else []
    levels = [*_listed(column, place, found), *missing]
    counts = rows.sum(axis=1)
    said: dict[str, Any] = {
        "name": column.title,
        "encoding": column.encoding,
        "known": int(counts.sum()),
        "values": [level for level, is_kept in zip(levels, kept, strict=True) if is_kept],
        "counts": counts[:-1].tolist(),
        "rest": int(counts[-1]),
        "folded": [level for level, is_kept in zip(levels, kept, strict=True) if not is_kept],
    }
    if not kept.any():
        said["note"] = NOTHING_KEPT if counts.sum() else NOBODY
    if column.encoded.kind == FREQUENCY:
        shares = counts / max(1, counts.sum())
        return said | {"encoded": shares[:-1].tolist(), "rest_encoded": float(shares[-1])}
    if column.encoded.kind == TARGET:
        moments = [float(found[f"{COLUMNS}.{name}"][place]) for name in ("mean", "deviation")]
        return said | _by_target(plan, moments, rows, cells(f"{TARGETS}.sums"), cells(f"{TARGETS}.squares"))
    return said


def _listed(column: Column, place: int, found: Arrays) -> Sequence[str]:
    """The levels of a column: of the plan, or those that were found."""
    if not column.most:
        return column.levels
    columns, words = words_of(found, f"{WORDS}.")
    return [word for k, word in zip(columns, words, strict=True) if k == place]


def _by_target(
    plan: Plan, moments: list[float], rows: np.ndarray, sums: np.ndarray, squares: np.ndarray
) -> dict[str, Any]:
    """The numbers for the kept values and the rest, whose rows, sums and squares are (kept + 1, folds)."""
    mean, deviation = moments
    if math.isnan(mean):
        return {"mean": None, "encoded": [], "rest_encoded": None, "folds": []}
    one = deviation if deviation > 0 else 1.0

    def numbers(left: np.ndarray) -> dict[str, Any]:
        """Compute the numbers from the folds where `left` is True."""
        all_of, encoded = smoothed(
            options.SMOOTH.of(plan), *(part[:, left].sum(axis=1) for part in (rows, sums, squares))
        )
        *values, rest = (mean + one * encoded).tolist()
        return {"mean": mean + one * all_of, "encoded": values, "rest_encoded": rest}

    folds = rows.shape[1]
    others = [numbers(np.arange(folds) != fold) for fold in range(folds)] if folds > 1 else []
    return numbers(np.ones(folds, bool)) | {"folds": others}


def smoothed(
    smooth: str, rows: np.ndarray, sums: np.ndarray, squares: np.ndarray
) -> tuple[float, np.ndarray]:
    """The mean of all rows, and that of each value drawn to it, as scikit-learn's TargetEncoder draws it.

    `rows`, `sums` and `squares` are the numbers of rows of the values, and the sums of their targets and of
    the squares of these, (values,). With a number m a value counts as if m more rows had the mean of all.
    With `auto` its weight is a = v n / (v n + s / n), v the variance of all and s the sum of the squared
    deviations from the mean of its own n rows (Micci-Barreca, SIGKDD Explorations 3:27, 2001).
    """
    n = rows.sum()
    if not n:
        return 0.0, np.zeros(len(rows))
    mean = float(sums.sum() / n)
    variance = max(0.0, float(squares.sum() / n) - mean * mean)
    # Of a value without rows the fraction is 0 / 1, and is not taken.
    some = np.maximum(rows, 1)
    if smooth == options.AUTO:
        own = np.maximum(squares - sums * sums / some, 0)
        whole = variance * rows + own / some
        weight = np.divide(variance * rows, whole, out=np.zeros(len(rows)), where=whole > 0)
        return mean, np.where(rows > 0, weight * (sums / some) + (1 - weight) * mean, mean)
    m = float(smooth)
    return mean, np.where(rows > 0, (sums + m * mean) / (some + m), mean)


def shown(tables: Mapping[str, Arrays], plan: Plan) -> Html:
    """The dictionaries, as a part of the report."""
    found = content(columns_of("", tables), plan)
    spelled = (
        {plan.dictionaries[k].title for k in plan.searched} if options.SPELLED.of(plan) != options.OWN else ()
    )
    return joined(_shown(column, column["name"] in spelled) for column in found["columns"])


def _shown(column: Mapping[str, Any], is_spelled: bool) -> Html:
    name = f"{column['name']} ({column['encoding']})"
    if "values" not in column:
        return section(name, "Computed by each cohort from its own words; nothing was asked.")
    has_numbers = "encoded" in column
    numbers = [*column["encoded"], column["rest_encoded"]] if has_numbers else []
    lines = list(zip([*column["values"], REST], [*column["counts"], column["rest"]], strict=True))
    order = sorted(range(len(lines) - 1), key=lambda k: -lines[k][1])[:_SHOWN]
    rows = [
        [word, f"{count:,}", *([f"{numbers[k]:.6g}"] if has_numbers and numbers[k] is not None else [])]
        for k, (word, count) in ((k, lines[k]) for k in [*order, len(lines) - 1])
    ]
    more = len(lines) - 1 - len(order)
    caption = f"{len(lines) - 1:,} values kept, {len(column['folded']):,} counted as the rest" + (
        f"; the {len(order)} most frequent ones are shown" if more else ""
    )
    if is_spelled:
        caption += "; words are as the server told them, and a cohort can verify those that it has"
    heads = ["Value", "People", *(["Encoded"] if has_numbers else [])]
    return section(
        name,
        *([column["note"] + "."] if "note" in column else []),
        table(caption, heads, rows, numbers=(1, 2)),
    )
