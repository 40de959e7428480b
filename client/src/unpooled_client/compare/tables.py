"""A study of tables: what the pool's parameters are, and what this cohort's table alone would give.

The same steps as the study's, run within this program on the table as it is.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from unpooled.asking.cohort import ArrayTable
from unpooled.fitted.model import FORMAT as MODEL_FORMAT
from unpooled.methods import METHODS
from unpooled.methods.learning.models import PRIVATE_NETWORK, PRIVATE_RIDGE
from unpooled.methods.learning.reading import examples
from unpooled.methods.learning.stored import error_without
from unpooled.methods.private_network.result import tried
from unpooled.methods.private_ridge.result import tried_on_rows
from unpooled.panel.panel import Panel
from unpooled.plan.categories import MISSING, REST
from unpooled.plan.plan import Plan
from unpooled.plan.result_files import (
    ENCODING_FILE,
    MODEL_FILE,
    PARAMETERS_FILE,
    QUANTILES_FILE,
    SUMMARY_FILES,
    SUMS_FILE,
)
from unpooled.run import run_alone, written
from unpooled_client.compare.pool import NothingToCompare, file_of

_NO_NUMBERS = {"name", "type", "unit", "note"}
_SOURCES = (PARAMETERS_FILE, QUANTILES_FILE, ENCODING_FILE, MODEL_FILE, SUMMARY_FILES[0])
_WHOLE = "(model)"
"""Stands for the feature of a number that is of the model as a whole."""

WITHOUT = "mean squared error here of the model without this cohort"

Found = dict[str, dict[str, float]]
"""Numbers by their names, by feature."""


@dataclass(frozen=True)
class PoolAndOwn:
    """One number of a feature, in the pool and here."""

    feature: str
    unit: str
    what: str
    pool: float
    own: float
    """NaN where this cohort has no such number."""


def compare_tables(files: Iterable[Path], table: ArrayTable, plan: Plan) -> list[PoolAndOwn]:
    """Each number of the pool beside that of this cohort's table.

    `files` are the delivered result files. Raises NothingToCompare if none has parameters.
    """
    files = list(files)
    given = {file: file_of(file, files, plan) for file in _SOURCES if file in plan.files}
    file, path = next(((file, path) for file, path in given.items() if path), (None, None))
    if file is None or path is None:
        raise NothingToCompare("the results have no file with parameters, quantiles or a summary")
    if plan.images is not None:
        raise NothingToCompare("alone, this cohort would have to train a network of its own")
    content = path.read_bytes()
    # Nothing was counted in the pool, and alone there would be other noise.
    if try_on := {PRIVATE_NETWORK: tried, PRIVATE_RIDGE: tried_on_rows}.get(plan.test):
        what, number = try_on(json.loads(content), examples(table), plan)
        return [PoolAndOwn(_WHOLE, "", what, number, math.nan)]
    pool, own = _read(content), _own(file, *_by_the_pools_words(content, table, plan))
    if sums := file_of(SUMS_FILE, files, plan) if SUMS_FILE in plan.files else None:
        pool[_WHOLE][WITHOUT] = error_without(json.loads(sums.read_bytes()), table, plan)
    units = {feature.title: feature.unit for feature in plan.features}
    return [
        PoolAndOwn(feature, units.get(feature, ""), what, number, own.get(feature, {}).get(what, math.nan))
        for feature, numbers in pool.items()
        for what, number in numbers.items()
    ]


def _by_the_pools_words(content: bytes, table: ArrayTable, plan: Plan) -> tuple[ArrayTable, Plan]:
    """Table and plan as if the plan listed the words that were found: alone a cohort looks for none."""
    if not plan.searched:
        return table, plan
    found = {column["name"]: column for column in json.loads(content)["columns"]}
    schema = tuple(
        replace(column, most=0, levels=tuple(w for w in found[column.title]["values"] if w != MISSING))
        if column.most
        else column
        for column in plan.schema
    )
    listed = Plan(**{**vars(plan), "schema": schema})
    return METHODS[plan.test].prepared(table, listed), listed


def _own(file: str, table: ArrayTable, plan: Plan) -> Found:
    """Return the numbers that the study's file would hold for this table alone."""
    nobody = Panel.of([])
    return _read(written(file, plan, nobody, run_alone(plan, nobody, table)))


def _read(content: bytes) -> Found:
    """The numbers in a file of parameters, of quantiles, of encodings, or of a summary."""
    text = content.decode("utf-8")
    if not text.lstrip().startswith("{"):
        rows = list(_lines(text))
    elif (found := json.loads(text))["format"] == MODEL_FORMAT:
        return {
            **{row["name"]: dict(_of_model(row, found)) for row in found["features"]},
            _WHOLE: _of_fit(found),
        }
    elif "features" not in found:
        return {column["name"]: dict(_of_words(column)) for column in found["columns"] if "values" in column}
    else:
        rows = found["features"]
    return {str(row["name"]): dict(_numbers(row)) for row in rows}


def _of_words(column: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield the share of each value of a column of words; if it is encoded by a target, also the encoded
    numbers.
    """
    counts, total = [*column["counts"], column["rest"]], max(1, column["known"])
    for value, count in zip([*column["values"], REST], counts, strict=True):
        yield f"share of {value}", count / total
    if "mean" in column and column["mean"] is not None:
        yield "mean of the target", column["mean"]
        for value, number in zip(column["values"], column["encoded"], strict=True):
            yield f"encoded {value}", number


def _of_model(feature: Mapping[str, Any], model: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield the coefficients of a model's feature, one for each score, and the numbers of its scaling; of a
    network mean and deviation instead.
    """
    yield from ((name, x) for name, x in feature.get("scaling", {}).items() if name != "method")
    if "coefficients" not in feature:
        yield from ((name, feature[name]) for name in ("mean", "deviation", "unit") if name in feature)
        return
    classes = model["outcome"].get("classes", [])
    names = [f"coefficient of {name}" for name in classes] if len(classes) > 2 else ["coefficient"]
    yield from zip(names, feature["coefficients"], strict=True)


def _of_fit(model: Mapping[str, Any]) -> dict[str, float]:
    """Return the performance of a whole model on folds that were left out."""
    chosen = {"rounds": float(model["round"])} if "network" in model else {"penalty": model["penalty"]}
    found = {**chosen, f"{model['loss']} of folds left out": model["error"]}
    performance = model.get("performance", {"scores": []})
    for score in performance["scores"]:
        of = f" of {score['of']}" if len(performance["scores"]) > 1 else ""
        if score.get("auc") is not None:
            found[f"AUC{of} in folds left out"] = score["auc"]
    if performance.get("brier") is not None:
        found["Brier score in folds left out"] = performance["brier"]
    return found


def _lines(text: str) -> Iterator[dict[str, Any]]:
    head, *lines = (line.split("\t") for line in text.splitlines())
    for line in lines:
        row = dict(zip(head, line, strict=True))
        known = {name: word for name, word in row.items() if word != "NA"}
        yield {name: word if name in _NO_NUMBERS else _number(word) for name, word in known.items()}


def _number(word: str) -> float:
    return int(word) if word.isdigit() else float(word)


def _numbers(row: Mapping[str, Any], of: str = "") -> Iterator[tuple[str, float]]:
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from _numbers(value, f"{name.removesuffix('s')} ")
        elif name not in _NO_NUMBERS and value is not None:
            yield f"{of}{name}", value
