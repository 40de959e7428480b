"""Networks that are trained with differential privacy, by noise inside the masks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from unpooled.methods.algorithm import AboutFile, TableMethod
from unpooled.methods.learning.card import write_card
from unpooled.methods.learning.images import features_of, problems_of_images, reads_words
from unpooled.methods.learning.models import MODELS, PRIVATE_IMAGE_NETWORK, PRIVATE_NETWORK, Model
from unpooled.methods.learning.network_options import LBFGS, OPTIMIZER, most_numbers
from unpooled.methods.learning.network_result import write_network, write_weights
from unpooled.methods.learning.reading import examples_of
from unpooled.methods.learning.result import MODEL
from unpooled.methods.private_network.options import CLIP, PRIVATE_IMAGE_OPTIONS, PRIVATE_OPTIONS
from unpooled.methods.private_network.procedure import fit_private_network
from unpooled.methods.private_network.questions import CountTrained, SumClipped
from unpooled.methods.private_network.result import private_model_of, shown_private_network
from unpooled.methods.purpose import Purpose
from unpooled.methods.shared.privacy_options import DELTA, EPSILON
from unpooled.methods.tables.encoding.options import IGNORE_CASE, MISSING_WORDS
from unpooled.methods.tables.encoding.result import columns_of
from unpooled.plan.encodings import ABOVE, ONE_HOT, ORDINAL
from unpooled.plan.options import Option
from unpooled.plan.plan import Plan
from unpooled.plan.result_files import MODEL_FILE
from unpooled.plan.schema import IMAGE
from unpooled.plan.templates import Template

_ENCODINGS = (ONE_HOT, ORDINAL)
WEIGHTS_FILE, CARD_FILE = "weights", "card"


def _rules(plan: Plan) -> Mapping[str, str]:
    found = dict((problems_of_images if MODELS[plan.test].of_images else _of_schema)(plan))
    for option, such_as in ((EPSILON, 3), (DELTA, 1e-5), (CLIP, 1)):
        if not option.of(plan):
            found[option.name] = f"want a number above 0, such as {such_as:g}: it is a part of the promise"
    if OPTIMIZER.of(plan) == LBFGS:
        found["optimizer"] = "no L-BFGS, which noise leads astray"
    if plan.masking != "modular":
        found["masking"] = "modular only: noise is measured out by epsilon, and no more of it belongs there"
    return found


def _of_schema(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the columns: everything that scales them has to be in the plan."""
    if plan.outcome is None:
        yield "schema", "want the column that is predicted: give it the role outcome"
    if not any((c.is_number or c.is_category) and not c.is_outcome for c in plan.schema):
        yield "schema", "want at least one feature beside the outcome"
    for column in plan.schema:
        if column.is_number and (column.low is None or column.high is None or column.low == column.high):
            yield (
                "schema",
                f"{column.title}: want its lowest and highest value, which scale it: to ask the cohorts for "
                "these would cost privacy",
            )
        above = ABOVE.get(column.scaling)
        if above is not None and column.low is not None and column.low <= above:
            yield "schema", f"{column.title}: want a lowest value above {above:g}, for {column.scaling}"
        if column.is_category and (column.encoded.kind not in _ENCODINGS or column.most):
            yield "schema", f"{column.title}: want its values, and the encoding {' or '.join(_ENCODINGS)}"


def _method(model: Model, options: tuple[Option[Any], ...], templates: tuple[Template, ...]) -> TableMethod:
    return TableMethod(
        name=model.name,
        title=model.title,
        purpose=Purpose.MODEL,
        method=model.sentence,
        asks=(CountTrained, SumClipped),
        procedure=fit_private_network,
        files={
            MODEL_FILE: partial(write_network, of=private_model_of),
            WEIGHTS_FILE: write_weights,
            CARD_FILE: partial(write_card, of=private_model_of),
        },
        usual_files=(MODEL_FILE, WEIGHTS_FILE, CARD_FILE),
        about_files={
            MODEL_FILE: AboutFile("Model", "to predict with, as JSON"),
            WEIGHTS_FILE: AboutFile("Weights", "of the network, as safetensors"),
            CARD_FILE: AboutFile("Model card", "people, privacy, and what the model must not be used for"),
        },
        options=options,
        templates=templates,
        file_name=lambda file, plan: {WEIGHTS_FILE: "weights.safetensors", CARD_FILE: "card.md"}.get(
            file, f"{file}.json"
        ),
        table=MODEL,
        columns=columns_of,
        shown=shown_private_network,
        columns_of=features_of,
        column_type=IMAGE if model.of_images else "number or category",
        reads_words=reads_words,
        prepared=examples_of,
        rules=_rules,
        most_numbers=most_numbers,
        # For others the cohorts would be asked, which would cost privacy.
        scalings=() if model.of_images else tuple(ABOVE),
    )


METHOD = _method(
    MODELS[PRIVATE_NETWORK],
    (*PRIVATE_OPTIONS, MISSING_WORDS, IGNORE_CASE),
    (
        Template(
            PRIVATE_NETWORK,
            "Risk model: network with differential privacy",
            "Predicts as a network does, and tells of each person no more than epsilon allows. Name the "
            "columns with their limits, and the outcome.",
            {EPSILON: 3.0},
        ),
    ),
)
OF_IMAGES = _method(
    MODELS[PRIVATE_IMAGE_NETWORK],
    (*PRIVATE_IMAGE_OPTIONS, IGNORE_CASE),
    (
        Template(
            PRIVATE_IMAGE_NETWORK,
            "Images: network with differential privacy",
            "Predicts as a network on images does, and tells of each person no more than epsilon allows. Say "
            "the size of the images, and name the classes.",
            {EPSILON: 8.0},
        ),
    ),
)
