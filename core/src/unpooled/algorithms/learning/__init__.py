"""Models of an outcome: what the pooled table would give, from the products of its columns.

One round of sums gives every penalty of ridge, lasso and elastic net, with the error of each by
cross-validation. The model file and what it predicts are in `unpooled.model`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from unpooled.algorithms.algorithm import AboutFile, Algorithm
from unpooled.algorithms.learning.fit import MODEL, RIDGE, fit
from unpooled.algorithms.learning.options import MISSING_CELLS, MODEL_PENALTIES, VALIDATION_FOLDS
from unpooled.algorithms.learning.questions import (
    CountLevelsByFold,
    CountPeople,
    CountSides,
    SiftByFold,
    SumProducts,
)
from unpooled.algorithms.learning.reading import examples_of
from unpooled.algorithms.learning.result import columns_of, shown, write_coefficients, write_model
from unpooled.algorithms.tables.census import CountValues
from unpooled.algorithms.tables.encoding.options import HOLDERS, IGNORE_CASE, MISSING_WORDS, PEOPLE
from unpooled.algorithms.tables.moments import Average, FindMagnitude, MeasureSpread
from unpooled.encodings import FREQUENCY, ONE_HOT, ORDINAL
from unpooled.plan import NONE, Plan
from unpooled.schema import Column
from unpooled.templates import Template

_ENCODINGS = (ONE_HOT, ORDINAL, FREQUENCY)
MODEL_FILE, COEFFICIENTS_FILE = "model", "coefficients"


def _features(plan: Plan) -> Sequence[Column]:
    """The columns that a study of models is about: those whose numbers or words are read."""
    return [c for c in plan.schema if c.is_number or c.is_category or c.has_classes]


def _reads_words(column: Column) -> bool:
    return column.is_category or column.has_classes or column.is_patient


def _rules(plan: Plan) -> Mapping[str, str]:
    found = dict(_of_schema(plan))
    if plan.masking != "modular":
        found["masking"] = "modular only: under normal noise covariances lose the digits that a fit needs"
    return found


def _of_schema(plan: Plan) -> Iterator[tuple[str, str]]:
    """What is wrong with the columns of a study of models."""
    if not any(column.is_number for column in plan.schema):
        yield "schema", "want at least one feature, or an outcome, that is a number"
    if not any((c.is_number or c.is_category) and not c.is_outcome for c in plan.schema):
        yield "schema", "want at least one feature beside the outcome"
    for column in plan.categories:
        if column.encoded.kind not in _ENCODINGS:
            yield (
                "schema",
                f"{column.title}: here a category is encoded as {', '.join(_ENCODINGS)}; for others \
fit to the table that a study of encodings has written",
            )
        elif column.most:
            yield (
                "schema",
                f"{column.title}: list its values, or fit to the table that a study of encodings has \
written",
            )
    if plan.outcome is None:
        yield "schema", "want the column that is predicted: give it the role outcome"


def _fit(name: str, title: str, method: str, *templates: Template, **more: Any) -> Algorithm:
    return Algorithm(
        name=name,
        title=title,
        method=method,
        traits=(NONE,),
        asks=(
            CountPeople,
            CountValues,
            SiftByFold,
            CountLevelsByFold,
            FindMagnitude,
            Average,
            MeasureSpread,
            CountSides,
            SumProducts,
        ),
        procedure=fit,
        files={MODEL_FILE: write_model, COEFFICIENTS_FILE: write_coefficients},
        usual_files=(MODEL_FILE, COEFFICIENTS_FILE),
        about_files={
            MODEL_FILE: AboutFile("Model", "to predict with, as JSON"),
            COEFFICIENTS_FILE: AboutFile("Coefficients", "of each feature, as a table"),
        },
        options=(
            VALIDATION_FOLDS, MODEL_PENALTIES, MISSING_CELLS, MISSING_WORDS, IGNORE_CASE, PEOPLE, HOLDERS
        ),
        templates=templates,
        file_name=lambda file, plan: {MODEL_FILE: "model.json", COEFFICIENTS_FILE: "coefficients.tsv"}[file],
        table=MODEL,
        columns=columns_of,
        shown=shown,
        summarise=lambda tables: None,
        columns_of=_features,
        column_type="number or category",
        reads_words=_reads_words,
        prepared=examples_of,
        rules=_rules,
        **more,
    )  # fmt: skip


FITS = (
    _fit(
        RIDGE,
        "Ridge regression",
        "Ridge regression was fitted to the standardised features of all cohorts, with the penalty of the "
        "least error by cross-validation.",
        Template(
            "ridge",
            "Risk model: ridge regression",
            "Predicts a number, or classes, from the columns of a table. Name them below, and the outcome.",
        ),
    ),
)
