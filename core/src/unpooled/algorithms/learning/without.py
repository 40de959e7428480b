"""The pool without one cohort, at that cohort: its model, tested on the rows that it has not seen."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np

from unpooled.algorithms.learning.fit import solver_of, times_of
from unpooled.algorithms.learning.pool import folds_of, together
from unpooled.algorithms.learning.procedure import DESIGN, FOLDS, Levels, Sums, names_of, question_of
from unpooled.algorithms.learning.questions import examples
from unpooled.algorithms.learning.solve import fit_path
from unpooled.algorithms.tables.encoding.procedure import LEVELS
from unpooled.cohort import ArrayTable
from unpooled.panel import Panel
from unpooled.plan import Plan
from unpooled.question import Arrays

FORMAT, VERSION = "unpooled/sums", 1
FEWEST_COHORTS = 4
"""With three, a cohort that subtracts itself has the sums of two, and either of these those of the other."""

_ARRAYS = {
    "centre": (DESIGN, float),
    "exponent": (DESIGN, int),
    "people": (FOLDS, int),
    "rows": (FOLDS, int),
    "sums": (FOLDS, float),
    "products": (FOLDS, float),
}


def write_sums(out: BinaryIO, panel: Panel, columns: Arrays, plan: Plan) -> None:
    """Write the pooled sums that the model was computed from."""
    found = {name: columns[f"{table}.{name}"].tolist() for name, (table, _) in _ARRAYS.items()}
    levels, kept = _levels(columns, plan)
    content = {"format": FORMAT, "version": VERSION, **found, "levels": levels, "kept": kept}
    out.write(json.dumps(content, allow_nan=False).encode() + b"\n")


def _levels(columns: Arrays, plan: Plan) -> tuple[list[list[int]], list[bool]]:
    """Of each category the rows of its kept levels and the rest; and which of all levels are kept."""
    if f"{LEVELS}.kept" not in columns:
        return [], []
    counts, kept = [], []
    for k in range(len(plan.dictionaries)):
        here = columns[f"{LEVELS}.column"] == k
        of, rows = columns[f"{LEVELS}.kept"][here][:-1], columns[f"{LEVELS}.rows"][here, 0]
        counts.append([*rows[:-1][of].tolist(), int(rows[-1])])
        kept += of.tolist()
    return counts, kept


def error_without(content: Mapping[str, Any], table: ArrayTable, plan: Plan) -> float:
    """The mean squared error on a cohort's rows of the model that the other cohorts give.

    `content` is that of the file of sums, in which this cohort's own are. ValueError if it is none.
    """
    if (content.get("format"), content.get("version")) != (FORMAT, VERSION):
        raise ValueError(f"want {FORMAT} {VERSION}")
    found: dict[str, np.ndarray] = {
        name: np.array(content[name], kind) for name, (_, kind) in _ARRAYS.items()
    }
    levels = Levels(np.array(content["kept"], bool), [np.array(rows, np.int64) for rows in content["levels"]])
    design = found["centre"], found["exponent"]
    question = question_of(plan, levels, int(found["rows"].sum()), *design)
    own = {**question.local(table), "rows": np.bincount(examples(table).folds, minlength=question.folds)}
    others = {name: found[name] - own[name] for name in ("rows", "sums", "products")}
    sums = Sums(others, found, question.targets, *names_of(plan, levels))
    folds = folds_of(others, *design, question.targets, times_of(plan))
    path = fit_path(folds, solver_of(plan, sums), plan.penalties)
    here = together([pool for pool in folds.standard.pools(own) if pool.rows])
    return float(here.error(path.coefficients[None], path.intercept[None])[0])
