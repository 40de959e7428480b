"""Normalization of tables: the parameters that the pooled table would give.

Each method begins with the number of values of each feature. What follows are sums (`moments`, `yeo_johnson`)
or nothing but counts (`order`). The parameters file and what it does to a table are in
`unpooled.fitted.scaler`; a study of quantiles only finds them.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO, ClassVar

import numpy as np

from unpooled.asking.procedure import Asks, Procedure, Study, procedure
from unpooled.asking.question import Arrays, Question
from unpooled.fitted.scaler import (
    MIN_MAX,
    NOTES,
    PARAMETERS,
    QUANTILES,
    ROBUST,
    YEO_JOHNSON,
    Z_SCORE,
    order_statistics,
    parameters,
)
from unpooled.formats import parameters_table
from unpooled.methods.algorithm import Algorithm, Writer
from unpooled.methods.shared.sums_returned import AS_ASKED, COUNTS, RESULTS, VALUES
from unpooled.methods.shared.sums_returned import BITS as ONLY_BITS
from unpooled.methods.tables.census import CountValues, count_values
from unpooled.methods.tables.moments import Average, FindMagnitude, MeasureSpread, measure
from unpooled.methods.tables.order import THRESHOLDS, Narrow, NarrowByBits, interpolated, report_elements
from unpooled.methods.tables.ranges import FindRange, FindRangeByBits
from unpooled.methods.tables.search import MeasureTransformed, Search
from unpooled.methods.tables.signs import FindDirection, MeasureUnderway, SearchBySigns
from unpooled.methods.tables.table import FEATURES
from unpooled.methods.tables.yeo_johnson import AverageLogarithms, yeo_johnson
from unpooled.pages.page import Html
from unpooled.panel.panel import Panel
from unpooled.plan import common_options as options
from unpooled.plan.common_options import BITS, ELEMENTS, OPENS
from unpooled.plan.plan import NONE, PARAMETERS_FILE, QUANTILES_FILE, Plan
from unpooled.plan.templates import Template
from unpooled.protocol.two_party import MAX_COMPARISONS

Found = Callable[[Arrays], Mapping[str, np.ndarray]]
"""The parameters by name, float64 (features,) each, from the columns of the table `FEATURES`."""

SEEN_ONLY = "the server learns nothing else of the column"
ALSO_CLOSE = (
    "server and cohorts see other single values that lie close to these, and a coarse histogram of the column"
)

MOST_AT_ONCE = 250_000
"""Elements, over all features, of one question: each takes a kilobyte of the answer."""
MOST_COMPARED = MAX_COMPARISONS // THRESHOLDS
"""The same of one that is compared."""


@procedure("z-score")
def z_score(study: Study) -> Asks[None]:
    """Count the values of each feature; then report mean and deviation."""
    n = yield from count_values(study)
    yield from measure(study, n)


@procedure("min-max")
def min_max(study: Study) -> Asks[None]:
    """Report the smallest and the largest value of each feature."""
    yield from report_elements(study, FindEnds, FindEndsByBits)


@procedure("robust")
def robust(study: Study) -> Asks[None]:
    """Report the values that median and quartiles of each feature lie between."""
    yield from report_elements(study, FindQuartiles, FindQuartilesByBits)


@procedure("quantiles")
def quantiles(study: Study) -> Asks[None]:
    """Report the values that the plan's quantiles lie between, and its elements."""
    yield from report_elements(study, Narrow, NarrowByBits)


ENDS = {"min": 0.0, "max": 1.0}
QUARTILES = {"lower_quartile": 0.25, "median": 0.5, "upper_quartile": 0.75}
"""Parameters that are quantiles."""


class _OfEnds:
    """About the smallest and the largest value."""

    @classmethod
    def quantiles(cls, plan: Plan) -> Sequence[float]:
        return tuple(ENDS.values())


class _OfQuartiles:
    """About median and quartiles."""

    @classmethod
    def quantiles(cls, plan: Plan) -> Sequence[float]:
        return tuple(QUARTILES.values())


@dataclass(frozen=True, eq=False)
class FindEnds(_OfEnds, Narrow):
    name: ClassVar[str] = "normalization/ends"


@dataclass(frozen=True, eq=False)
class FindEndsByBits(_OfEnds, NarrowByBits):
    name: ClassVar[str] = "normalization/ends-by-bits"


@dataclass(frozen=True, eq=False)
class FindQuartiles(_OfQuartiles, Narrow):
    name: ClassVar[str] = "normalization/quartiles"


@dataclass(frozen=True, eq=False)
class FindQuartilesByBits(_OfQuartiles, NarrowByBits):
    name: ClassVar[str] = "normalization/quartiles-by-bits"


def _columns(names: Sequence[str], columns: Arrays) -> Arrays:
    return {name: columns[name] for name in names}


def _quantiles(quantiles: Sequence[float], columns: Arrays) -> list[np.ndarray]:
    """Each quantile of all features, float64 (features,). Its elements stand in pairs."""
    features, count = len(columns["n"]), len(quantiles)
    pairs = columns["elements"][:, : 2 * count].reshape(features, count, 2)
    return [interpolated(quantile, columns["n"], *pairs[:, k].T) for k, quantile in enumerate(quantiles)]


def _named_quantiles(names: Mapping[str, float], columns: Arrays) -> Mapping[str, np.ndarray]:
    return dict(zip(names, _quantiles(tuple(names.values()), columns), strict=True))


def _write_parameters(of: Found, out: BinaryIO, panel: Panel, columns: Arrays, plan: Plan) -> None:
    marks = {note: columns[name] for name, note in NOTES.items() if name in columns}
    _write(out, parameters(plan.test, plan.features, columns["n"], of(columns), marks))


def _write_quantiles(out: BinaryIO, panel: Panel, columns: Arrays, plan: Plan) -> None:
    ranks = options.QUANTILES.of(plan)
    quantiles = dict(zip(ranks, _quantiles(ranks, columns), strict=True))
    places = range(2 * len(ranks), columns["elements"].shape[1])
    elements = {k: columns["elements"][:, place] for k, place in zip(ELEMENTS.of(plan), places, strict=True)}
    _write(out, order_statistics(plan.features, columns["n"], quantiles, elements))


def _write(out: BinaryIO, found: Mapping[str, Any]) -> None:
    out.write(json.dumps(found, indent=2, allow_nan=False).encode() + b"\n")


def _shown(write: Writer, tables: Mapping[str, Arrays], plan: Plan) -> Html:
    """Show the contents of a parameters or quantiles file as an HTML table."""
    write(out := io.BytesIO(), Panel.of([]), tables[FEATURES], plan)
    return parameters_table.shown(json.loads(out.getvalue())["features"])


def _method(
    name: str,
    title: str,
    method: str,
    asks: tuple[type[Question], ...],
    procedure: Procedure[[], None],
    write: Writer,
    file: str = PARAMETERS_FILE,
    rules: Callable[[Plan], dict[str, str]] = lambda plan: {},
    **more: Any,
) -> Algorithm:
    return Algorithm(
        name=name,
        title=title,
        method=method,
        traits=(NONE,),
        asks=(CountValues, *asks),
        procedure=procedure,
        files={file: write},
        usual_files=(file,),
        file_name=lambda file, plan: f"{file}.json",
        table=FEATURES,
        shown=partial(_shown, write),
        summarise=lambda tables: None,
        rules=lambda plan: {**(_changed_outcome(plan) if file == PARAMETERS_FILE else {}), **rules(plan)},
        **more,
    )


def _by_sums(
    name: str, title: str, method: str, procedure: Procedure[[], None], *asks: type[Question], **more: Any
) -> Algorithm:
    write = partial(_write_parameters, partial(_columns, PARAMETERS[name]))
    return _method(name, title, method, asks, procedure, write, **more)


def _by_quantiles(
    name: str,
    title: str,
    method: str,
    procedure: Procedure[[], None],
    kinds: tuple[type[Narrow], type[Narrow]],
    quantiles: Mapping[str, float],
    tells: str,
) -> Algorithm:
    write = partial(_write_parameters, partial(_named_quantiles, quantiles))
    return _method(name, title, method, kinds, procedure, write, **_of_elements(*kinds, tells))


def _of_elements(kind: type[Narrow], by_bits: type[Narrow], tells: str) -> dict[str, Any]:
    """Return the `Algorithm` fields shared by the methods that find elements."""
    return {
        "options": (options.OPENS,),
        "told_to_cohorts": {CountValues: COUNTS, by_bits: RESULTS, kind: AS_ASKED},
        "tells": f"{tells}; {ALSO_CLOSE}",
        "tells_by_bits": f"{tells}; {SEEN_ONLY}",
        "rules": lambda plan: _too_many(kind, plan, "schema"),
    }


def _changed_outcome(plan: Plan) -> dict[str, str]:
    """A normalization would change the outcome too, if it is a number."""
    if plan.outcome is None or not plan.outcome.is_number:
        return {}
    return {"schema": f"{plan.outcome.title}: give an outcome the role ignored here, or it is normalized too"}


def _needs_modular_masks(plan: Plan) -> dict[str, str]:
    if plan.masking == "modular":
        return {}
    return {"masking": "modular only: under normal noise the sign of a derivative is lost"}


def _needs_quantiles(plan: Plan) -> dict[str, str]:
    if not options.QUANTILES.of(plan) and not ELEMENTS.of(plan):
        return {"quantiles": "name quantiles from 0 to 1, or elements"}
    return _too_many(Narrow, plan, "quantiles")


def _too_many(kind: type[Narrow], plan: Plan, field: str) -> dict[str, str]:
    most = MOST_COMPARED if OPENS.of(plan) == BITS else MOST_AT_ONCE
    if kind.asked_under(plan) * len(plan.features) <= most:
        return {}
    return {field: f"too many for so many columns: at most {most:,} elements in all"}


NORMALIZATIONS = (
    _by_sums(
        Z_SCORE,
        "Normalization to mean 0, deviation 1",
        "The mean of all cohorts' values was subtracted from each column, and the result divided by "
        "their standard deviation.",
        z_score,
        *(FindMagnitude, Average, MeasureSpread),
        told_to_cohorts={CountValues: COUNTS, FindMagnitude: VALUES, Average: VALUES},
        templates=(
            Template(
                "z-score",
                "Table to z-scores",
                "Each column by mean and deviation of all cohorts. Name the columns below.",
            ),
        ),
    ),
    _by_quantiles(
        MIN_MAX,
        "Normalization to the range 0 to 1",
        "Each column was scaled so that the smallest of all cohorts' values became 0 and the largest 1.",
        min_max,
        (FindEnds, FindEndsByBits),
        ENDS,
        "the smallest and the largest value of each column are in the results, and each is a single person's",
    ),
    _by_quantiles(
        ROBUST,
        "Normalization by median and quartiles",
        "The median of all cohorts' values was subtracted from each column, and the result divided by "
        "their interquartile range.",
        robust,
        (FindQuartiles, FindQuartilesByBits),
        QUARTILES,
        "median and quartiles of each column are in the results: single people's values, or between two",
    ),
    _by_sums(
        YEO_JOHNSON,
        "Normalization by Yeo and Johnson's power transform",
        "Each column was transformed as by Yeo and Johnson (2000), with the maximum-likelihood lambda of all "
        "cohorts' values; their mean was subtracted, and the result divided by their standard deviation.",
        yeo_johnson,
        *(AverageLogarithms, FindRange, Search, MeasureTransformed),
        *(FindRangeByBits, FindDirection, SearchBySigns, MeasureUnderway),
        rules=_needs_modular_masks,
        options=(options.OPENS,),
        told_to_cohorts={
            CountValues: COUNTS,
            **dict.fromkeys((FindRangeByBits, FindDirection, SearchBySigns), ONLY_BITS),
            MeasureUnderway: RESULTS,
            **dict.fromkeys((AverageLogarithms, FindRange, Search), AS_ASKED),
        },
        tells_by_bits="server and cohorts see how far the smallest and the largest value of each column lie "
        "from 0, or from the middle between them, to 12 bits",
        tells="server and cohorts see how far the smallest and the largest value of each column lie from its "
        "centre, to 12 bits, and sums in which few of such values may outweigh all others: they may know "
        "them exactly",
    ),
    _method(
        QUANTILES,
        "Quantiles and k-th elements; no table is changed",
        "For each column, quantiles or order statistics of all cohorts' values together were found.",
        (Narrow, NarrowByBits),
        quantiles,
        _write_quantiles,
        file=QUANTILES_FILE,
        **{
            **_of_elements(
                Narrow, NarrowByBits, "the quantiles and elements that the plan names are in the results"
            ),
            "options": (options.QUANTILES, options.ELEMENTS, options.OPENS),
            "rules": _needs_quantiles,
        },
    ),
)
