"""Ridge regression with differential privacy: products of columns in one round, with noise in the masks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from unpooled.methods.algorithm import AboutFile, TableMethod
from unpooled.methods.learning.card import write_card
from unpooled.methods.learning.models import MODELS, PRIVATE_RIDGE
from unpooled.methods.learning.network_result import write_network
from unpooled.methods.learning.reading import examples_of
from unpooled.methods.learning.result import MODEL
from unpooled.methods.private_ridge.procedure import fit_private_ridge
from unpooled.methods.private_ridge.questions import MOST_COLUMNS, SumProductsWithNoise
from unpooled.methods.private_ridge.result import private_ridge_of, shown_private_ridge
from unpooled.methods.purpose import Purpose
from unpooled.methods.shared.privacy_options import DELTA, EPSILON
from unpooled.methods.tables.encoding.result import columns_of
from unpooled.methods.tables.noisy import rules_of_noise
from unpooled.plan.plan import Plan
from unpooled.plan.result_files import MODEL_FILE
from unpooled.plan.templates import Template

CARD_FILE = "card"


def _rules(plan: Plan) -> Mapping[str, str]:
    found = dict(rules_of_noise(plan))
    if not EPSILON.of(plan):
        found[EPSILON.name] = "want a number above 0, such as 3: it is the promise"
    if plan.outcome is None or not plan.outcome.is_number:
        found["schema"] = "want the column that is predicted, a number: give it the role outcome"
    elif not any(column.is_number and not column.is_outcome for column in plan.schema):
        found["schema"] = "want at least one feature beside the outcome"
    elif len(plan.features) > MOST_COLUMNS:
        found["schema"] = f"want at most {MOST_COLUMNS:,} columns: noise grows with their number"
    elif categories := [c.title for c in plan.schema if c.is_category]:
        found["schema"] = (
            f"{categories[0]}: here only columns of numbers are fitted: give it the role ignored"
        )
    return found


METHOD = TableMethod(
    name=MODELS[PRIVATE_RIDGE].name,
    title=MODELS[PRIVATE_RIDGE].title,
    purpose=Purpose.MODEL,
    method=MODELS[PRIVATE_RIDGE].sentence,
    asks=(SumProductsWithNoise,),
    procedure=fit_private_ridge,
    files={
        MODEL_FILE: partial(write_network, of=private_ridge_of),
        CARD_FILE: partial(write_card, of=private_ridge_of),
    },
    usual_files=(MODEL_FILE, CARD_FILE),
    about_files={
        MODEL_FILE: AboutFile("Model", "to predict with, as JSON"),
        CARD_FILE: AboutFile("Model card", "people, privacy, and what the model must not be used for"),
    },
    options=(EPSILON, DELTA),
    templates=(
        Template(
            PRIVATE_RIDGE,
            "Risk model: ridge regression with differential privacy",
            "Predicts a number, and tells of each person no more than epsilon allows. Name the columns and "
            "the outcome with their limits.",
            {EPSILON: 3.0},
        ),
    ),
    file_name=lambda file, plan: "card.md" if file == CARD_FILE else f"{file}.json",
    table=MODEL,
    columns=columns_of,
    shown=shown_private_ridge,
    prepared=examples_of,
    rules=_rules,
)
