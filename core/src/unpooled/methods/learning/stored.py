"""The sums that a model was computed from, as a file: for the pool without one cohort, and for more rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from unpooled.asking.cohort import ArrayTable
from unpooled.asking.question import Arrays
from unpooled.methods.learning.design import SumProducts
from unpooled.methods.learning.fit import fit_sums, folds_under, solver_of
from unpooled.methods.learning.models import fit_path
from unpooled.methods.learning.options import MODEL_PENALTIES
from unpooled.methods.learning.pool import over_classes, together
from unpooled.methods.learning.procedure import (
    DESIGN,
    FOLDS,
    Levels,
    Sums,
    names_of,
    question_of,
    report_levels,
)
from unpooled.methods.learning.reading import examples
from unpooled.methods.learning.result import model_of
from unpooled.methods.learning.scaling import Scales, scales_in
from unpooled.methods.tables.encoding.procedure import LEVELS
from unpooled.methods.tables.encoding.result import columns_of
from unpooled.panel.panel import Panel
from unpooled.plan.encodings import FREQUENCY
from unpooled.plan.plan import Plan

FORMAT, VERSION = "unpooled/sums", 1
FEWEST_COHORTS = 4
"""Smallest number of cohorts. Of three, a cohort that subtracts itself has the sums of two, and either of
these those of the other.
"""

_ARRAYS = {
    "centre": (DESIGN, float),
    "exponent": (DESIGN, int),
    "people": (FOLDS, int),
    "rows": (FOLDS, int),
    "sums": (FOLDS, float),
    "products": (FOLDS, float),
    "part_of": (FOLDS, int),
}


def write_sums(out: BinaryIO, panel: Panel, columns: Arrays, plan: Plan) -> None:
    """Write the pooled sums that the model was computed from."""
    found = {name: columns[f"{table}.{name}"].tolist() for name, (table, _) in _ARRAYS.items()}
    levels, kept = _levels(columns, plan)
    content = {"format": FORMAT, "version": VERSION, **found, "levels": levels, "kept": kept}
    if len((scales := scales_in(columns)).index):
        content["scales"] = scales.to_json()
    out.write(json.dumps(content, allow_nan=False).encode() + b"\n")


def _levels(columns: Arrays, plan: Plan) -> tuple[list[list[int]], list[bool]]:
    """Return the rows of the kept levels and of the rest, by category; and flags of the levels kept."""
    if f"{LEVELS}.kept" not in columns:
        return [], []
    counts, kept = [], []
    for k in range(len(plan.dictionaries)):
        here = columns[f"{LEVELS}.column"] == k
        of, rows = columns[f"{LEVELS}.kept"][here][:-1], columns[f"{LEVELS}.rows"][here, 0]
        counts.append([*rows[:-1][of].tolist(), int(rows[-1])])
        kept += of.tolist()
    return counts, kept


@dataclass(frozen=True, eq=False)
class Stored:
    """A file of sums, as it was read."""

    levels: Levels
    arrays: Mapping[str, np.ndarray]
    """Answers to `SumProducts`, rows and people of each fold, and the columns' standardisation."""
    scales: Scales

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> Stored:
        """Read from the content of the file; ValueError if it is none."""
        if (content.get("format"), content.get("version")) != (FORMAT, VERSION):
            raise ValueError(f"got {content.get('format')} {content.get('version')}; want {FORMAT} {VERSION}")
        try:
            # Releases that joined no folds do not say which are parts of which.
            content = {"part_of": [*range(len(content["rows"]))], **content}
            arrays: Arrays = {name: np.array(content[name], kind) for name, (_, kind) in _ARRAYS.items()}
            rows = tuple(np.array(counts, np.int64) for counts in content["levels"])
            scales = Scales.from_json(content.get("scales", []))
            return cls(Levels(np.array(content["kept"], bool), rows), arrays, scales)
        except (KeyError, TypeError) as error:
            raise ValueError(f"these are not the sums of a model: {error!r}") from error

    def question(self, plan: Plan, rows: int) -> SumProducts:
        """Make the question that was asked, of so many rows."""
        centre, exponent, part_of = (self.arrays[name] for name in ("centre", "exponent", "part_of"))
        return question_of(plan, self.levels, rows, centre, exponent, part_of, self.scales)

    def sums(self, plan: Plan, without: Arrays | None = None) -> Sums:
        """Return the sums that a model is computed from, less a part of them."""
        less = without or {}
        names = ("people", "rows", "sums", "products")
        found: dict[str, Any] = {name: self.arrays[name] - less.get(name, 0) for name in names}
        question = self.question(plan, int(found["rows"].sum(dtype=int)))
        return Sums(question, **found, **names_of(plan, self.levels))


def error_without(content: Mapping[str, Any], table: ArrayTable, plan: Plan) -> float:
    """The mean squared error on a cohort's rows of the model that the other cohorts give.

    `content` is that of the file of sums, in which this cohort's own are. ValueError if it is none.
    """
    stored = Stored.read(content)
    question = stored.question(plan, int(stored.arrays["rows"].sum()))
    # The plan's folds, as they were joined: a cohort's own rows are subtracted from the joined ones.
    in_folds = question.part_of[examples(table).folds]
    own = {**question.local(table), "rows": np.bincount(in_folds, minlength=question.folds)}
    others = stored.sums(plan, without=own)
    folds = folds_under(plan, others)
    path = fit_path(folds, solver_of(plan, others.references), MODEL_PENALTIES.of(plan))
    whole, _ = over_classes(own, question.exponent)
    here = together([pool for pool in folds.standard.pools(whole) if pool.rows])
    return float(here.error(path.coefficients[None], path.intercept[None])[0])


def refitted(contents: Sequence[Mapping[str, Any]], plan: Plan) -> dict[str, Any]:
    """The content of the model file that the sums of several studies give together, as if they were one.

    As `refitted_columns` has it.
    """
    return model_of(refitted_columns(contents, plan), plan)


def refitted_columns(contents: Sequence[Mapping[str, Any]], plan: Plan) -> Arrays:
    """Return the columns that a model's files are written from, from the sums of several studies.

    `plan` is that of the first, whose columns, levels and folds all must have; ValueError if one has others.
    Each row must be in one study only. A missing cell counts as the mean of its own study.
    """
    if any(column.encoded.kind == FREQUENCY for column in plan.dictionaries):
        raise ValueError("the frequencies of words are each study's own: encode them otherwise")
    first, *others = map(Stored.read, contents)
    for other in others:
        first = _added(first, other)
    sums = first.sums(plan)
    tables: dict[str, Arrays] = {}
    rows = int(sums.rows.sum(dtype=int))
    made = (*report_levels(plan, first.levels, rows), *first.scales.report(), *fit_sums(plan, sums)[2])
    for table in made:
        tables[table.table] = table.columns
    return columns_of("", tables)


def _added(first: Stored, other: Stored) -> Stored:
    """The sums of two studies, in the first one's units: of z = a z' + b, with a and b from both."""
    one, two = first.arrays, other.arrays
    same = one["sums"].shape == two["sums"].shape and one["products"].shape == two["products"].shape
    if one_of := first.scales.bends or other.scales.bends:
        raise ValueError(f"{len(one_of.columns)} columns have a lambda, which is each study's own")
    if not same or not np.array_equal(first.levels.kept, other.levels.kept):
        raise ValueError("these studies have other columns, other levels, or another number of folds")
    if one["sums"].shape[1] != len(one["exponent"]):
        raise ValueError("these sums are of each class apart: they are not added")
    a = np.ldexp(1.0, (two["exponent"] - one["exponent"]).astype(np.int32))
    b = np.ldexp(two["centre"] - one["centre"], -one["exponent"].astype(np.int32))
    i, j = np.triu_indices(len(a))
    n, s = two["rows"][:, None], two["sums"] * a
    products = two["products"] * a[i] * a[j] + s[:, i] * b[j] + b[i] * s[:, j] + n * b[i] * b[j]
    found = {
        **one,
        **{name: one[name] + two[name] for name in ("people", "rows")},
        "sums": one["sums"] + s + n * b,
        "products": one["products"] + products,
    }
    rows = tuple(x + y for x, y in zip(first.levels.rows, other.levels.rows, strict=True))
    return Stored(Levels(first.levels.kept, rows), found, first.scales)
