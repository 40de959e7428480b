"""Normalization of tables: the parameters that the pooled table would give.

Each method begins with the number of values of each feature. What follows are sums (`moments`, `yeo_johnson`)
or nothing but counts (`order`). The parameters file and what it does to a table are in
`unpooled.fitted.scaler`, whose classes this module binds to the procedures that fit them. A study of
quantiles only finds numbers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO, ClassVar

import numpy as np

from unpooled.asking.procedure import Asks, Procedure, Study, procedure
from unpooled.asking.question import Arrays, Question
from unpooled.fitted import scaler
from unpooled.formats import parameters_table
from unpooled.methods.algorithm import DECLARED, TableMethod
from unpooled.methods.purpose import Purpose
from unpooled.methods.shared.privacy_options import DELTA, EPSILON, is_exact
from unpooled.methods.tables.census import CountValues, count_values
from unpooled.methods.tables.moments import Average, FindMagnitude, MeasureSpread, measure
from unpooled.methods.tables.noisy import NOISES, SumWithNoise, measure_with_noise, rules_of_noise
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
from unpooled.plan.plan import Plan
from unpooled.plan.result_files import PARAMETERS_FILE, QUANTILES_FILE
from unpooled.plan.templates import Template
from unpooled.protocol.two_party import MAX_COMPARISONS

Content = Callable[[Arrays, Plan], dict[str, Any]]
"""The content of a method's file, as JSON has it, from the columns of the table `FEATURES`."""

SEEN_ONLY = "the server learns nothing else of the column"
ALSO_CLOSE = (
    "server and cohorts see other single values that lie close to these, and a coarse histogram of the column"
)

RANGE_TELLS = (
    "server and cohorts see how far the smallest and the largest value of each column lie from 0, or from "
    "the middle between them, to 12 bits"
)

MOST_AT_ONCE = 250_000
"""Elements, over all features, of one question: each takes a kilobyte of the answer."""
MOST_COMPARED = MAX_COMPARISONS // THRESHOLDS
"""The same of one that is compared."""


@procedure("z-score")
def z_score(study: Study) -> Asks[None]:
    """Count the values of each feature; then report mean and deviation. With noise one round does."""
    if not is_exact(study.plan):
        yield from measure_with_noise(study)
        return
    n = yield from count_values(study)
    yield from measure(study, n)


@procedure("quantiles")
def quantiles(study: Study) -> Asks[None]:
    """Report the values that the plan's quantiles lie between, and its elements."""
    yield from report_elements(study, Narrow, NarrowByBits)


@dataclass(frozen=True, eq=False)
class FindEnds(Narrow, name="normalization/ends"):
    asked: ClassVar[Sequence[float]] = (*scaler.MinMax.quantiles.values(),)
    scaling = scaler.MinMax.name


@dataclass(frozen=True, eq=False)
class FindEndsByBits(FindEnds, NarrowByBits, name="normalization/ends-by-bits"):
    """The same search, of which the server learns the ends alone."""


@dataclass(frozen=True, eq=False)
class FindQuartiles(Narrow, name="normalization/quartiles"):
    asked: ClassVar[Sequence[float]] = (*scaler.Robust.quantiles.values(),)
    scaling = scaler.Robust.name


@dataclass(frozen=True, eq=False)
class FindQuartilesByBits(FindQuartiles, NarrowByBits, name="normalization/quartiles-by-bits"):
    """The same search, of which the server learns the quartiles alone."""


_FINDERS: Sequence[tuple[type[Narrow], type[Narrow]]] = (
    (FindEnds, FindEndsByBits),
    (FindQuartiles, FindQuartilesByBits),
)
"""The questions that find quantiles, by sums and by bits."""


def _quantiles(quantiles: Sequence[float], columns: Arrays) -> list[np.ndarray]:
    """Each quantile of all features, float64 (features,). Its elements stand in pairs."""
    features, count = len(columns["n"]), len(quantiles)
    pairs = columns["elements"][:, : 2 * count].reshape(features, count, 2)
    return [interpolated(quantile, columns["n"], *pairs[:, k].T) for k, quantile in enumerate(quantiles)]


def _parameters(columns: Arrays, plan: Plan) -> dict[str, Any]:
    """The parameters file of a scaling, as JSON has it."""
    scaling = scaler.SCALINGS[plan.test]
    if quantiles := scaling.quantiles:
        found = dict(zip(quantiles, _quantiles([*quantiles.values()], columns), strict=True))
    else:
        found = {name: columns[name] for name in scaling.parameters}
    marks = {note: columns[name] for name, note in scaler.NOTES.items() if name in columns}
    content = scaler.parameters(plan.test, plan.features, columns["n"], found, marks)
    return with_noise(content, columns, plan)


def with_noise(content: dict[str, Any], columns: Arrays, plan: Plan) -> dict[str, Any]:
    """The same content with how large the noise of each feature's numbers is, if there is any."""
    for name in NOISES:
        for row, noise in zip(content["features"], columns.get(name, np.zeros(0)).tolist(), strict=False):
            row[name] = noise
    differs = DECLARED[plan.test].differs(plan)
    return {**content, **({"not_pooled": differs} if differs else {})}


def _order_statistics(columns: Arrays, plan: Plan) -> dict[str, Any]:
    """The file of a study of quantiles, as JSON has it."""
    ranks = options.QUANTILES.of(plan)
    quantiles = dict(zip(ranks, _quantiles(ranks, columns), strict=True))
    places = range(2 * len(ranks), columns["elements"].shape[1])
    elements = {k: columns["elements"][:, place] for k, place in zip(ELEMENTS.of(plan), places, strict=True)}
    return scaler.order_statistics(plan.features, columns["n"], quantiles, elements)


def _write(content: Content, out: BinaryIO, panel: Panel, columns: Arrays, plan: Plan) -> None:
    out.write(json.dumps(content(columns, plan), indent=2, allow_nan=False).encode() + b"\n")


def _shown(content: Content, tables: Mapping[str, Arrays], plan: Plan) -> Html:
    """Show the contents of a parameters or quantiles file as an HTML table."""
    return parameters_table.shown(content(tables[FEATURES], plan)["features"])


def _scaling(
    scaling: type[scaler.Scaling],
    fit: Procedure[[], None],
    asks: tuple[type[Question], ...],
    rules: Callable[[Plan], Mapping[str, str]] = lambda plan: {},
    **more: Any,
) -> TableMethod:
    """The method that a way to normalize is, once there is a procedure that fits it."""
    return TableMethod(
        name=scaling.name,
        title=scaling.title,
        purpose=Purpose.TABLE,
        method=scaling.sentence,
        asks=(CountValues, *asks),
        procedure=fit,
        files={PARAMETERS_FILE: partial(_write, _parameters)},
        usual_files=(PARAMETERS_FILE,),
        table=FEATURES,
        shown=partial(_shown, _parameters),
        rules=lambda plan: {**_changed_outcome(plan), **rules(plan)},
        **more,
    )


def _of_quantiles(scaling: type[scaler.Scaling]) -> TableMethod:
    """The method of a scaling whose parameters are quantiles of the pool."""
    finders = next(kinds for kinds in _FINDERS if [*kinds[0].asked] == [*scaling.quantiles.values()])

    @procedure(scaling.name)
    def fit(study: Study) -> Asks[None]:
        """Report the values that the parameters of each feature lie between."""
        yield from report_elements(study, *finders)

    rules = partial(_too_many, finders[0], "schema")
    return _scaling(scaling, fit, finders, rules, **_of_elements(scaling.tells))


def _of_elements(tells: str) -> dict[str, Any]:
    """Return the fields shared by the methods that find elements."""
    return {
        "options": (options.OPENS,),
        "tells": f"{tells}; {ALSO_CLOSE}",
        "tells_by_bits": f"{tells}; {SEEN_ONLY}",
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
    return _too_many(Narrow, "quantiles", plan)


def _too_many(kind: type[Narrow], field: str, plan: Plan) -> dict[str, str]:
    most = MOST_COMPARED if OPENS.of(plan) == BITS else MOST_AT_ONCE
    if kind.asked_under(plan) * len(plan.features) <= most:
        return {}
    return {field: f"too many for so many columns: at most {most:,} elements in all"}


NORMALIZATIONS = (
    _scaling(
        scaler.ZScore,
        z_score,
        (FindMagnitude, Average, MeasureSpread, SumWithNoise),
        rules_of_noise,
        options=(EPSILON, DELTA),
        templates=(
            Template(
                "z-score",
                "Table to z-scores",
                "Each column by mean and deviation of all cohorts. Name the columns below.",
            ),
        ),
    ),
    *(_of_quantiles(scaling) for scaling in scaler.SCALINGS.values() if scaling.quantiles),
    _scaling(
        scaler.YeoJohnson,
        yeo_johnson,
        (
            *(AverageLogarithms, FindRange, Search, MeasureTransformed),
            *(FindRangeByBits, FindDirection, SearchBySigns, MeasureUnderway),
        ),
        _needs_modular_masks,
        options=(options.OPENS,),
        tells_by_bits=RANGE_TELLS,
        tells="server and cohorts see how far the smallest and the largest value of each column lie from its "
        "centre, to 12 bits, and sums in which few of such values may outweigh all others: they may know "
        "them exactly",
    ),
)
FOUND = TableMethod(
    name=scaler.QUANTILES,
    title="Quantiles and k-th elements; no table is changed",
    purpose=Purpose.TABLE,
    method="For each column, quantiles or order statistics of all cohorts' values together were found.",
    asks=(CountValues, Narrow, NarrowByBits),
    procedure=quantiles,
    files={QUANTILES_FILE: partial(_write, _order_statistics)},
    usual_files=(QUANTILES_FILE,),
    table=FEATURES,
    shown=partial(_shown, _order_statistics),
    rules=_needs_quantiles,
    **_of_elements("the quantiles and elements that the plan names are in the results")
    | {"options": (options.QUANTILES, options.ELEMENTS, options.OPENS)},
)
