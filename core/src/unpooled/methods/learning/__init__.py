"""Models of an outcome: what the pooled table would give, from the products of its columns.

One round of sums gives every penalty of ridge, lasso and elastic net, with the error of each by
cross-validation. The model file and what it predicts are in `unpooled.fitted.model`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from unpooled.asking.procedure import Procedure
from unpooled.asking.question import Question
from unpooled.methods.algorithm import AboutFile, Algorithm, Writer
from unpooled.methods.learning.card import write_card
from unpooled.methods.learning.fit import fit
from unpooled.methods.learning.fit_tables import MODEL
from unpooled.methods.learning.floors import fewest_folds
from unpooled.methods.learning.logistic import fit_logistic
from unpooled.methods.learning.logistic_questions import Differentiate
from unpooled.methods.learning.names import (
    ELASTIC_NET,
    FEDHEONN,
    LASSO,
    LINEAR,
    LOGISTIC_MODEL,
    RIDGE,
    WITHOUT_PRODUCTS,
)
from unpooled.methods.learning.options import L1_SHARE, MISSING_CELLS, MODEL_PENALTIES, VALIDATION_FOLDS
from unpooled.methods.learning.procedure import foresee
from unpooled.methods.learning.questions import (
    BY_FOLD,
    MOST_COLUMNS,
    CountLevelsByFold,
    CountPeople,
    CountSides,
    FindNearlyAll,
    SiftByFold,
    SumProducts,
    is_wide,
)
from unpooled.methods.learning.reading import examples_of
from unpooled.methods.learning.result import columns_of, shown, write_coefficients, write_model
from unpooled.methods.learning.scores import AverageScores, SiftScores, SumScores
from unpooled.methods.learning.stored import FEWEST_COHORTS, write_sums
from unpooled.methods.learning.wide_questions import ProjectColumns, SumResiduals, SumWithOutcome
from unpooled.methods.shared.sums_returned import BITS, COUNTS, FLOORS, VALUES
from unpooled.methods.tables.census import CountValues
from unpooled.methods.tables.encoding.options import HOLDERS, IGNORE_CASE, MISSING_WORDS, PEOPLE
from unpooled.methods.tables.moments import Average, FindMagnitude, MeasureSpread
from unpooled.plan.encodings import FREQUENCY, ONE_HOT, ORDINAL
from unpooled.plan.options import Option
from unpooled.plan.plan import MODEL_FILE, NONE, SUMS_FILE, Plan
from unpooled.plan.schema import Column
from unpooled.plan.templates import Template

_WIDE = (SumWithOutcome, ProjectColumns, SumResiduals)
_ENCODINGS = (ONE_HOT, ORDINAL, FREQUENCY)
COEFFICIENTS_FILE, CARD_FILE = "coefficients", "card"
_ENDINGS = {COEFFICIENTS_FILE: "tsv", CARD_FILE: "md"}


def _features(plan: Plan) -> Sequence[Column]:
    """The columns that a study of models is about: those whose numbers or words are read."""
    return [c for c in plan.schema if c.is_number or c.is_category or c.has_classes]


def _reads_words(column: Column) -> bool:
    return column.is_category or column.has_classes or column.is_patient


def _rules(plan: Plan) -> Mapping[str, str]:
    found = dict(_of_schema(plan))
    if SUMS_FILE in plan.files and plan.cohorts < FEWEST_COHORTS and not plan.alone:
        found["files"] = (
            f"sums are given to the cohorts from {FEWEST_COHORTS} cohorts on: of three, one that \
subtracts its own sees those of two"
        )
    elif SUMS_FILE in plan.files and is_wide(plan):
        found["files"] = f"no sums: of more than {MOST_COLUMNS:,} columns the products are not asked for"
    if VALIDATION_FOLDS.of(plan) < (fewest := fewest_folds(plan)):
        found["validation_folds"] = f"want {fewest} or more: the penalty is chosen by what a fit has not seen"
    if plan.masking != "modular":
        found["masking"] = "modular only: under normal noise covariances lose the digits that a fit needs"
    return found


def _of_schema(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the columns of a study of models."""
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


def _with_a_number(plan: Plan) -> Mapping[str, str]:
    """Rules of a method whose outcome is a number."""
    wrong = plan.outcome is not None and plan.outcome.has_classes
    return {**_rules(plan), **({"schema": "want an outcome that is a number, not classes"} if wrong else {})}


def _with_classes(plan: Plan) -> Mapping[str, str]:
    """Rules of a method whose outcome has classes."""
    wrong = plan.outcome is not None and not plan.outcome.has_classes
    wanted = "want an outcome of classes: a category with its values, such as no|yes"
    return {**_rules(plan), **({"schema": wanted} if wrong else {})}


_BEFORE = (VALIDATION_FOLDS, MODEL_PENALTIES)
_AFTER = (MISSING_CELLS, MISSING_WORDS, IGNORE_CASE, PEOPLE, HOLDERS)


def _fit(
    name: str,
    title: str,
    method: str,
    options: tuple[Option[Any], ...] = (*_BEFORE, *_AFTER),
    templates: tuple[Template, ...] = (),
    rules: Callable[[Plan], Mapping[str, str]] = _rules,
    procedure: Procedure[[], None] = fit,
    more: tuple[type[Question], ...] = (),
) -> Algorithm:
    wide = _WIDE if name in WITHOUT_PRODUCTS else ()
    files: dict[str, Writer] = {
        MODEL_FILE: write_model,
        COEFFICIENTS_FILE: write_coefficients,
        CARD_FILE: write_card,
    }
    if procedure is fit:  # from products alone a cohort can fit what the others would have had
        files[SUMS_FILE] = write_sums
    return Algorithm(
        name=name,
        title=title,
        method=method,
        traits=(NONE,),
        asks=(
            CountPeople,
            CountValues,
            SiftByFold,
            *BY_FOLD,
            CountLevelsByFold,
            FindMagnitude,
            Average,
            CountSides,
            FindNearlyAll,
            MeasureSpread,
            SumProducts,
            *wide,
            *more,
            SiftScores,
            SumScores,
        ),
        procedure=procedure,
        files=files,
        usual_files=(MODEL_FILE, COEFFICIENTS_FILE, CARD_FILE),
        about_files={
            MODEL_FILE: AboutFile("Model", "to predict with, as JSON"),
            COEFFICIENTS_FILE: AboutFile("Coefficients", "of each feature, as a table"),
            CARD_FILE: AboutFile("Model card", "people, performance, and what the model is not for"),
            SUMS_FILE: AboutFile("Sums", "means and covariances of the pool, as JSON: for “without us”"),
        },
        options=options,
        templates=templates,
        file_name=lambda file, plan: f"{file}.{_ENDINGS.get(file, 'json')}",
        table=MODEL,
        columns=columns_of,
        shown=shown,
        summarise=lambda tables: None,
        columns_of=_features,
        column_type="number or category",
        reads_words=_reads_words,
        prepared=examples_of,
        foresee=foresee,
        rules=rules,
        told_to_cohorts={
            **dict.fromkeys((CountPeople, CountValues, CountLevelsByFold, CountSides, FindNearlyAll), COUNTS),
            **dict.fromkeys((SiftByFold, *BY_FOLD, SiftScores), BITS),
            **dict.fromkeys((FindMagnitude, Average, MeasureSpread), VALUES),
            **dict.fromkeys((SumProducts, *wide, *more), FLOORS),
        },
    )


_CHOSEN = "with the penalty of the least error by cross-validation."

FITS = (
    _fit(
        LOGISTIC_MODEL,
        "Logistic model",
        "A logistic model (multinomial, if there were more than two classes) with a ridge penalty was fitted "
        f"by Newton's method to the standardised features of all cohorts, {_CHOSEN}",
        templates=(
            Template(
                "risk",
                "Risk model: logistic",
                "Predicts how likely each class of an outcome is, from columns of a table. Name them below.",
            ),
        ),
        rules=_with_classes,
        procedure=fit_logistic,
        more=(Differentiate, AverageScores),
    ),
    _fit(
        LINEAR,
        "Linear regression of an outcome",
        "A linear model was fitted by least squares to the features of all cohorts.",
        options=(VALIDATION_FOLDS, *_AFTER),
        rules=_with_a_number,
    ),
    _fit(
        RIDGE,
        "Ridge regression",
        f"Ridge regression was fitted to the standardised features of all cohorts, {_CHOSEN}",
        templates=(
            Template(
                "ridge",
                "Risk model: ridge regression",
                "Predicts a number, or classes, from columns of a table. Name them and the outcome below.",
            ),
        ),
    ),
    _fit(LASSO, "Lasso", f"A lasso was fitted to the standardised features of all cohorts, {_CHOSEN}"),
    _fit(
        ELASTIC_NET,
        "Elastic net",
        f"An elastic net was fitted to the standardised features of all cohorts, {_CHOSEN}",
        options=(*_BEFORE, L1_SHARE, *_AFTER),
    ),
    _fit(
        FEDHEONN,
        "FedHEONN: a one-layer network",
        "A one-layer network with logistic outputs was fitted in closed form, as FedHEONN (Fontenla-Romero "
        f"et al. 2023), to the standardised features of all cohorts, {_CHOSEN}",
        rules=_with_classes,
    ),
)
