"""Results of a ridge regression with differential privacy: its model, and what was promised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from unpooled.asking.question import Arrays
from unpooled.fitted.model import FORMAT, VERSION, Model
from unpooled.methods.algorithm import DECLARED
from unpooled.methods.learning.models import link_of
from unpooled.methods.learning.private_result import ERROR_HERE, promised, shown_promise
from unpooled.methods.learning.reading import Examples, outcome_place
from unpooled.methods.learning.result import COEFFICIENTS, MODEL, names_of_features
from unpooled.methods.tables.encoding.result import columns_of
from unpooled.pages.page import Html, facts, joined, section, table
from unpooled.plan.plan import Plan


def private_ridge_of(found: Arrays, plan: Plan) -> dict[str, Any]:
    """The content of the model file, from the columns of all result tables, by table and name."""
    if plan.outcome is None:
        raise AssertionError("a plan without an outcome")
    of = {name: found[f"{COEFFICIENTS}.{name}"].tolist() for name in ("mean", "unit", "coefficient")}
    names = names_of_features(plan, None)
    differs = DECLARED[plan.test].differs(plan)
    return {
        "format": FORMAT,
        "version": VERSION,
        "method": plan.test,
        "link": link_of(plan),
        "outcome": {"name": plan.outcome.title, "unit": plan.outcome.unit},
        "features": [
            {"name": name, "mean": mean, "unit": unit, "coefficients": [w]}
            for name, mean, unit, w in zip(names, *of.values(), strict=True)
        ],
        "intercept": found[f"{MODEL}.intercept"].tolist(),
        "encoding": None,
        "people": int(found[f"{MODEL}.people"][0]),
        "cohorts": plan.cohorts,
        "penalty": float(found[f"{MODEL}.penalty"][0]),
        "privacy": promised(found, plan),
        **({"not_pooled": differs} if differs else {}),
    }


def tried_on_rows(model: Mapping[str, Any], rows: Examples, plan: Plan) -> tuple[str, float]:
    """Try a model file's content on rows, as its study could not; return what is measured, and the number."""
    if (place := outcome_place(plan)) is None:
        raise AssertionError("a plan without an outcome that is a number")
    features = np.delete(rows.values, place, axis=1)
    return ERROR_HERE, float(np.mean((Model(model).predict(features) - rows.values[:, place]) ** 2))


def shown_private_ridge(tables: Mapping[str, Arrays], plan: Plan) -> Html:
    """The model in a few numbers, and its coefficients, as a part of the report."""
    model = private_ridge_of(columns_of("", tables), plan)
    numbers = [
        ("Outcome", model["outcome"]["name"]),
        ("People", f"{model['people']:,}, with noise"),
        ("Features", f"{len(model['features']):,}"),
        ("Penalty", f"{model['penalty']:.6g}"),
        *shown_promise(model["privacy"], "in each sum of numbers from -1 to 1"),
    ]
    rows = [[each["name"], f"{each['coefficients'][0]:.6g}"] for each in model["features"]]
    caption = "Per unit of the feature, with noise: without standard errors, which need exact sums."
    coefficients = table(caption, ["Feature", "Coefficient"], rows, numbers=(1,))
    return joined([section("Model", facts(numbers)), section("Coefficients", coefficients)])
