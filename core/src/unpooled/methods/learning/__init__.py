"""Models of an outcome: what the pooled table would give, from the products of its columns.

One round of sums gives every penalty of ridge, lasso and elastic net, with the error of each by
cross-validation. The model file and what it predicts are in `unpooled.fitted.model`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from unpooled.asking.procedure import Procedure
from unpooled.asking.question import Arrays, Question
from unpooled.methods.algorithm import AboutFile, TableMethod, Writer
from unpooled.methods.learning.card import write_card
from unpooled.methods.learning.design import MOST_COLUMNS, SumProducts, is_wide
from unpooled.methods.learning.fit import fit
from unpooled.methods.learning.floors import fewest_folds
from unpooled.methods.learning.images import features_of, problems_of_images, reads_words
from unpooled.methods.learning.logistic import fit_logistic
from unpooled.methods.learning.logistic_questions import Differentiate
from unpooled.methods.learning.models import (
    A_NUMBER,
    CLASSES,
    IMAGE_LOCAL_UPDATES,
    LOCAL_UPDATES,
    MODELS,
    PRIVATE_IMAGE_NETWORK,
    PRIVATE_NETWORK,
    PRIVATE_RIDGE,
    Model,
)
from unpooled.methods.learning.network import fit_network
from unpooled.methods.learning.network_options import IMAGE_OPTIONS, NETWORK_OPTIONS, most_numbers
from unpooled.methods.learning.network_questions import SumGradient
from unpooled.methods.learning.network_result import (
    network_model_of,
    shown_network,
    write_network,
    write_weights,
)
from unpooled.methods.learning.network_scores import (
    AverageNetworkScores,
    SiftNetworkScores,
    SumNetworkScores,
)
from unpooled.methods.learning.options import MISSING_CELLS, MODEL_PENALTIES, VALIDATION_FOLDS
from unpooled.methods.learning.performance import AverageScores, SiftScores, SumScores
from unpooled.methods.learning.procedure import foresee
from unpooled.methods.learning.questions import (
    BY_FOLD,
    CountLevelsByFold,
    CountPeople,
    CountSides,
    FindNearlyAll,
    SiftByFold,
)
from unpooled.methods.learning.reading import examples_of
from unpooled.methods.learning.result import MODEL, shown, write_coefficients, write_model
from unpooled.methods.learning.scaling import ASKED as SCALES_ASK
from unpooled.methods.learning.scaling import tells, too_many
from unpooled.methods.learning.stored import FEWEST_COHORTS, write_sums
from unpooled.methods.learning.wide_questions import ProjectColumns, SumResiduals, SumWithOutcome
from unpooled.methods.purpose import Purpose
from unpooled.methods.tables.census import CountValues
from unpooled.methods.tables.encoding.options import HOLDERS, IGNORE_CASE, MISSING_WORDS, PEOPLE
from unpooled.methods.tables.encoding.result import columns_of
from unpooled.methods.tables.moments import Average, FindMagnitude, MeasureSpread
from unpooled.pages.page import Html
from unpooled.plan.encodings import FREQUENCY, OF_NUMBERS, ONE_HOT, ORDINAL
from unpooled.plan.options import Option
from unpooled.plan.plan import Plan
from unpooled.plan.result_files import MODEL_FILE, SUMS_FILE
from unpooled.plan.schema import IMAGE

_WIDE = (SumWithOutcome, ProjectColumns, SumResiduals)
_ENCODINGS = (ONE_HOT, ORDINAL, FREQUENCY)
COEFFICIENTS_FILE, WEIGHTS_FILE, CARD_FILE = "coefficients", "weights", "card"
_ENDINGS = {COEFFICIENTS_FILE: "tsv", WEIGHTS_FILE: "safetensors", CARD_FILE: "md"}


def _rules(wanted: str, plan: Plan) -> Mapping[str, str]:
    found = dict((problems_of_images if MODELS[plan.test].of_images else _of_schema)(plan))
    if plan.outcome is not None and wanted and plan.outcome.has_classes != (wanted == CLASSES):
        found["schema"] = _WANTED[wanted]
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
    if said := too_many(plan):
        yield "schema", said
    if plan.outcome is None:
        yield "schema", "want the column that is predicted: give it the role outcome"


_WANTED = {
    A_NUMBER: "want an outcome that is a number, not classes",
    CLASSES: "want an outcome of classes: a category with its values, such as no|yes",
}


_FIRST = (
    *(CountPeople, CountValues, SiftByFold, *BY_FOLD, CountLevelsByFold, *SCALES_ASK, FindMagnitude, Average),
    *(CountSides, FindNearlyAll, MeasureSpread),
)
"""Questions of all models, up to the design."""
_OF_IMAGES = (CountPeople, FindNearlyAll)
_OF_CELLS = (MISSING_CELLS, MISSING_WORDS, IGNORE_CASE, PEOPLE, HOLDERS)


def _method(model: Model) -> TableMethod:
    by_likelihood = model.solver is None
    further = (*(_WIDE if model.is_wide else ()), *((Differentiate, AverageScores) if by_likelihood else ()))
    files: dict[str, Writer] = {
        MODEL_FILE: write_model,
        COEFFICIENTS_FILE: write_coefficients,
        CARD_FILE: write_card,
    }
    if not by_likelihood:  # from products alone a cohort can fit what the others would have had
        files[SUMS_FILE] = write_sums
    penalties = (MODEL_PENALTIES,) if model.has_penalty else ()
    return _of_model(
        model,
        asks=(SumProducts, *further),
        procedure=fit_logistic if by_likelihood else fit,
        scores=(SiftScores, SumScores),
        files=files,
        options=penalties,
        shown=shown,
        most_numbers=_products,
    )


def _products(plan: Plan, columns: int) -> int:
    """Bound the numbers in the file of sums: the products of all columns, by fold."""
    return VALIDATION_FOLDS.of(plan) * columns**2 if SUMS_FILE in plan.files else 0


def of_network(
    model: Model,
    training: type[SumGradient] = SumGradient,
    procedure: Procedure[[], None] = fit_network,
    options: tuple[Option[Any], ...] = (),
    unlike_pool: str = "",
) -> TableMethod:
    """Declare a method that trains a network: by which question, which procedure, and which options."""
    files: dict[str, Writer] = {
        MODEL_FILE: partial(write_network, of=network_model_of),
        WEIGHTS_FILE: write_weights,
        CARD_FILE: partial(write_card, of=network_model_of),
    }
    return _of_model(
        model,
        asks=(training, AverageNetworkScores),
        procedure=procedure,
        scores=(SiftNetworkScores, SumNetworkScores),
        files=files,
        options=options or (IMAGE_OPTIONS if model.of_images else NETWORK_OPTIONS),
        shown=shown_network,
        most_numbers=most_numbers,
        unlike_pool=unlike_pool,
    )


def _of_model(
    model: Model,
    asks: tuple[type[Question], ...],
    procedure: Procedure[[], None],
    scores: tuple[type[Question], type[Question]],
    files: dict[str, Writer],
    options: tuple[Option[Any], ...],
    shown: Callable[[Mapping[str, Arrays], Plan], Html],
    most_numbers: Callable[[Plan, int], int],
    unlike_pool: str = "",
) -> TableMethod:
    """A method that fits a model: what it asks after the design is `asks`, and at the end `scores`."""
    return TableMethod(
        name=model.name,
        title=model.title,
        purpose=Purpose.MODEL,
        method=model.sentence,
        unlike_pool=unlike_pool,
        asks=(*(_OF_IMAGES if model.of_images else _FIRST), *asks, *scores),
        procedure=procedure,
        files=files,
        usual_files=tuple(file for file in files if file != SUMS_FILE),
        about_files={
            MODEL_FILE: AboutFile("Model", "to predict with, as JSON"),
            COEFFICIENTS_FILE: AboutFile("Coefficients", "of each feature, as a table"),
            WEIGHTS_FILE: AboutFile("Weights", "of the network, as safetensors"),
            CARD_FILE: AboutFile(
                "Model card", "people, performance, and what the model must not be used for"
            ),
            SUMS_FILE: AboutFile("Sums", "means and covariances of the pool, as JSON: for “without us”"),
        },
        options=(
            *(VALIDATION_FOLDS, *options, *model.options),
            *((IGNORE_CASE,) if model.of_images else _OF_CELLS),
        ),
        templates=model.templates,
        file_name=lambda file, plan: f"{file}.{_ENDINGS.get(file, 'json')}",
        table=MODEL,
        columns=columns_of,
        shown=shown,
        columns_of=features_of,
        column_type=IMAGE if model.of_images else "number or category",
        reads_words=reads_words,
        prepared=examples_of,
        foresee=foresee,
        rules=partial(_rules, model.outcome),
        scalings=() if model.of_images else OF_NUMBERS,
        tells_scaled=tells,
        most_numbers=most_numbers,
    )


FITS = tuple(
    of_network(model) if model.is_network else _method(model)
    for model in MODELS.values()
    # Others have rooms of their own.
    if model.name
    not in (PRIVATE_NETWORK, PRIVATE_IMAGE_NETWORK, PRIVATE_RIDGE, LOCAL_UPDATES, IMAGE_LOCAL_UPDATES)
)
