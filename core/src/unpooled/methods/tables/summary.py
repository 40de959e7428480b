"""A summary of the pooled table: how many values each feature has, mean, deviation and quantiles.

The smallest and the largest values of the pool are single people's, and the results have none of them: a
quantile is left out where fewer than `FEWEST_BEYOND` values are at most as large, or at least as large, as it
is. The server sees counts of the values near each quantile, and so may know those outside of it too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.asking.cohort import Table
from unpooled.asking.procedure import Asks, Each, Rows, Study, procedure
from unpooled.asking.question import Arrays, Condition, Count
from unpooled.formats import table_summary
from unpooled.methods.algorithm import DECLARED, TableMethod
from unpooled.methods.purpose import Purpose
from unpooled.methods.shared.genotype_counts import MOST_PEOPLE
from unpooled.methods.shared.privacy_options import DELTA, EPSILON, is_exact
from unpooled.methods.tables import order
from unpooled.methods.tables.census import CountValues, refuse_rare_features
from unpooled.methods.tables.moments import Average, FindMagnitude, MeasureSpread, measure
from unpooled.methods.tables.noisy import NOISES, SumWithNoise, measure_with_noise, rules_of_noise
from unpooled.methods.tables.order import Narrow, interpolated
from unpooled.methods.tables.table import FEATURES, table_values
from unpooled.plan.result_files import SUMMARY_FILES
from unpooled.plan.templates import Template

QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
FEWEST_BEYOND = 10
"""Minimum number of values on either side of a quantile, as many as the people that a sum must have."""

ROWS, ELEMENTS = "rows", "elements"


@procedure("summary")
def summary(study: Study) -> Asks[None]:
    """Count rows and values; then find moments and quantiles side by side. With noise moments alone."""
    if not is_exact(study.plan):
        yield from measure_with_noise(study)
        n = len(study.plan.features)
        nothing = np.full((n, 2 * len(QUANTILES)), np.nan)
        yield Rows(ELEMENTS, {"feature": np.arange(n), "n": np.zeros(n, np.int64), "elements": nothing})
        return
    sums = yield CountRows(study.plan)
    refuse_rare_features(study.plan, sums)
    yield Rows(ROWS, {"index": np.zeros(1, np.int64), "rows": sums["rows"]})
    yield Each([measure(study, sums["values"]), find_quantiles(study, sums["values"])])


@procedure("summary/quantiles")
def find_quantiles(study: Study, n: np.ndarray) -> Asks[None]:
    """Report the elements that the quantiles of `n` values lie between."""
    elements = yield from order.find_elements(study, FindQuantiles, n, wanted(n))
    yield Rows(ELEMENTS, {"feature": np.arange(len(n)), "n": n, "elements": elements})


@dataclass(frozen=True)
class CountRows(CountValues, name="summary/rows", title="Count rows and values"):
    """Question that counts the rows, and the values of each feature that are not missing."""

    sends: ClassVar[tuple[Count, ...]] = (
        *CountValues.sends,
        Count("rows", (1,), MOST_PEOPLE, "number of rows", "how many rows the pool has"),
    )

    def local(self, table: Table) -> Arrays:
        rows = len(table_values(table, self.features))
        return {**super().local(table), "rows": np.array([rows])}


@dataclass(frozen=True, eq=False)
class FindQuantiles(Narrow, name="summary/quantiles", title="Narrow down quantiles"):
    """The same question, whose result stands beside that of mean and deviation."""

    asked: ClassVar[Sequence[float]] = QUANTILES
    asked_if: ClassVar[Condition] = is_exact


def wanted(n: np.ndarray) -> np.ndarray:
    """The two elements of each quantile, int64 (features, 2 quantiles); 0 for both where it is left out."""
    pairs = order.between(QUANTILES, n).reshape(len(n), -1, 2)
    known = (pairs[:, :, 0] >= FEWEST_BEYOND) & (n[:, None] - pairs[:, :, 1] + 1 >= FEWEST_BEYOND)
    return np.where(known[:, :, None], pairs, 0).reshape(len(n), -1)


def _columns(file: str, tables: Mapping[str, Arrays]) -> Arrays:
    """Collect the columns of the files: numbers of each feature, and its quantiles (features, 7)."""
    found, pairs = tables[FEATURES], tables[ELEMENTS]["elements"].reshape(-1, len(QUANTILES), 2)
    quantiles = [interpolated(q, found["n"], *pairs[:, k].T) for k, q in enumerate(QUANTILES)]
    n = found["n"]
    missing = tables[ROWS]["rows"] - n if ROWS in tables else np.full(len(n), np.nan)
    return {**found, "missing": missing, "quantiles": np.stack(quantiles, axis=1)}


SUMMARY = TableMethod(
    name="summary",
    title="Summary of a table; no table is changed",
    purpose=Purpose.TABLE,
    method="For each column, the values of all cohorts together were counted, and their mean, "
    "standard deviation and quantiles computed.",
    asks=(CountRows, FindMagnitude, Average, MeasureSpread, FindQuantiles, SumWithNoise),
    procedure=summary,
    options=(EPSILON, DELTA),
    rules=rules_of_noise,
    files={
        "summary": lambda out, panel, columns, plan: table_summary.write_table(
            out, plan.features, columns, QUANTILES, NOISES
        ),
        "page": lambda out, panel, columns, plan: table_summary.write_page(
            out, plan.features, columns, QUANTILES, DECLARED[plan.test].warning(plan)
        ),
    },
    usual_files=SUMMARY_FILES,
    templates=(
        Template(
            "table-1",
            "Table 1 of a paper",
            "Count, mean, deviation and quantiles of each column over all cohorts. Name the columns below.",
        ),
    ),
    file_name=lambda file, plan: {"summary": "summary.tsv", "page": "summary.html"}[file],
    table=ELEMENTS,
    tells="quantiles of each column are in the results: single people's values, or between two; the server "
    "sees counts near them, and so may know other single values, the smallest and the largest among them",
    columns=_columns,
    shown=lambda tables, plan: table_summary.shown(plan.features, _columns("page", tables), QUANTILES),
)
