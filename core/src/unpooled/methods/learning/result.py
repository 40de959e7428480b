"""The files of a study that fits a model: the model as JSON, and a table of its coefficients."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np

from unpooled.asking.question import Arrays
from unpooled.errors import listed
from unpooled.fitted.encoder import Encoder
from unpooled.fitted.model import FORMAT, VERSION
from unpooled.kernels.statistics import normal_neg_log10_p, p_value, t_neg_log10_p
from unpooled.methods.learning import described
from unpooled.methods.learning.described import performance_of
from unpooled.methods.learning.fit_tables import COEFFICIENTS, MODEL, PATH
from unpooled.methods.learning.models import MODELS, SQUARED_ERROR, link_of
from unpooled.methods.learning.options import VALIDATION_FOLDS
from unpooled.methods.learning.reading import class_names
from unpooled.methods.tables.encoding.procedure import ROWS
from unpooled.methods.tables.encoding.result import columns_of, content
from unpooled.pages.page import Html, facts, joined, section, table
from unpooled.panel.panel import Panel
from unpooled.plan.plan import Plan

_SHOWN = 200
"""Coefficients that the report shows: the largest ones."""

__all__ = ["columns_of", "model_of", "shown", "write_coefficients", "write_model"]


def write_model(out: BinaryIO, panel: Panel, columns: Arrays, plan: Plan) -> None:
    """Write the model file."""
    out.write(json.dumps(model_of(columns, plan), indent=1, ensure_ascii=False, allow_nan=False).encode())
    out.write(b"\n")


def model_of(found: Arrays, plan: Plan) -> dict[str, Any]:
    """The content of the model file, from the columns of all result tables, by table and name."""
    if plan.outcome is None:
        raise AssertionError("a plan without an outcome")
    encoding = content(found, plan) if f"{ROWS}.rows" in found else None
    classes = class_names(plan)
    of = {name: np.asarray(found[f"{COEFFICIENTS}.{name}"]) for name in ("mean", "deviation", "coefficient")}
    errors = found.get(f"{COEFFICIENTS}.error")  # of least squares only
    features = [
        {"name": name, "mean": mean, "deviation": deviation, "coefficients": row.tolist()}
        for name, mean, deviation, row in zip(
            _names(plan, encoding),
            of["mean"].tolist(),
            of["deviation"].tolist(),
            of["coefficient"],
            strict=True,
        )
    ]
    for feature, row in zip(features, errors if errors is not None else (), strict=False):
        feature["standard_errors"] = [error if np.isfinite(error) else None for error in row.tolist()]
    outcome: dict[str, Any] = {"name": plan.outcome.title, "unit": plan.outcome.unit}
    return {
        "format": FORMAT,
        "version": VERSION,
        "method": plan.test,
        "link": link_of(plan),
        "outcome": outcome | ({"classes": list(classes)} if classes else {}),
        "features": features,
        "intercept": found[f"{MODEL}.intercept"][0].tolist(),
        "encoding": encoding,
        "people": int(found[f"{MODEL}.people"][0]),
        "rows": int(found[f"{MODEL}.rows"][0]),
        "folds": int(found[f"{MODEL}.folds"][0]),
        "cohorts": plan.cohorts,
        "loss": MODELS[plan.test].loss,
        **_validation(found),
        **performance_of(found, plan),
        **(_of_least_squares(found) if errors is not None else {}),
    }


def _of_least_squares(found: Arrays) -> dict[str, float | None]:
    """Standard error of the intercept where all features are 0, null if there is none; degrees of freedom.

    Of maximum likelihood these are null: its tests are by the normal distribution.
    """
    error, freedom = float(found[f"{MODEL}.error"][0]), float(found[f"{MODEL}.freedom"][0])
    return {
        "intercept_error": error if np.isfinite(error) else None,
        "freedom": freedom if np.isfinite(freedom) else None,
    }


def _names(plan: Plan, encoding: Mapping[str, Any] | None) -> list[str]:
    """The names of the features: the numbers, then what the categories become."""
    numbers = [column.title for column in plan.features if not column.is_outcome]
    return [*numbers, *(Encoder(encoding).get_feature_names_out() if encoding else ())]


def _validation(found: Arrays) -> dict[str, Any]:
    """The penalty that was chosen, and how well it did where it was not fitted."""
    chosen = int(np.flatnonzero(found[f"{PATH}.chosen"])[0])
    names = ("penalty", "error", "error_deviation")
    return {name: float(found[f"{PATH}.{name}"][chosen]) for name in names} | {
        "variance": float(found[f"{MODEL}.variance"][0])
    }


def variance_explained(model: Mapping[str, Any]) -> float:
    """R² in the folds that were left out, or of the fit; NaN where the outcome does not vary."""
    return 1 - float(model["error"] / model["variance"]) if model["variance"] > 0 else float("nan")


def write_coefficients(out: BinaryIO, panel: Panel, columns: Arrays, plan: Plan) -> None:
    """Write a line for each feature: a coefficient for each score, per unit of the files.

    Of least squares also its standard error, t and two-sided P. What a feature does not have is NA.
    """
    model = model_of(columns, plan)
    scores = _scores(model)
    of_errors = ["standard error", "t" if model.get("freedom") else "z", "P"] if "freedom" in model else []
    heads = ["name", "mean", "deviation", *(f"coefficient{of}" for of in scores), *of_errors]
    lines = [_intercept(model), *(_feature(feature, model) for feature in model["features"])]
    text = ("\t".join("NA" if cell is None else str(cell) for cell in line) for line in [heads, *lines])
    out.write("".join(f"{line}\n" for line in text).encode())


def _scores(model: Mapping[str, Any]) -> list[str]:
    """Name the class that each score is for; empty if there are none."""
    classes = model["outcome"].get("classes", [])
    return [f" of {name}" for name in (classes if len(classes) > 2 else classes[1:])] or [""]


def _feature(feature: Mapping[str, Any], model: Mapping[str, Any]) -> list[Any]:
    numbers = feature["coefficients"]
    tested = _tested(numbers[0], feature["standard_errors"][0], model) if "freedom" in model else []
    return [feature["name"], feature["mean"], feature["deviation"], *numbers, *tested]


def _intercept(model: Mapping[str, Any]) -> list[Any]:
    """The score where every feature is 0."""
    mean = np.array([feature["mean"] for feature in model["features"]])
    w = np.array([feature["coefficients"] for feature in model["features"]])
    zero = (np.array(model["intercept"]) - mean @ w).tolist()
    tested = _tested(zero[0], model["intercept_error"], model) if "freedom" in model else []
    return ["(intercept)", None, None, *zero, *tested]


def _tested(coefficient: float, error: float | None, model: Mapping[str, Any]) -> list[float | None]:
    """Standard error, t and two-sided P."""
    if error is None or not error > 0:
        return [error, None, None]
    t, freedom = np.array([coefficient / error]), model["freedom"]
    found = normal_neg_log10_p(t) if freedom is None else t_neg_log10_p(t, np.array([freedom]))
    return [error, float(t[0]), float(p_value(found)[0])]


def shown(tables: Mapping[str, Arrays], plan: Plan) -> Html:
    """The model in a few numbers, and its largest coefficients, as a part of the report."""
    model = model_of(columns_of("", tables), plan)
    deviation = f" (± {model['error_deviation']:.2g})" * (model["folds"] > 1)
    numbers = [
        ("Outcome", model["outcome"]["name"]),
        ("People", f"{model['people']:,}"),
        ("Features", f"{len(model['features']):,}"),
        ("Penalty", f"{model['penalty']:.6g}"),
        ("Folds", folds_of(model, plan)),
        (error_of(model), f"{model['error']:.6g}{deviation}"),
        (share_explained(model), f"{variance_explained(model):.4g}"),
    ]
    classes = model["outcome"].get("classes", [])
    if classes:
        numbers.insert(1, ("Classes", listed(classes)))
    parts = [section("Model", facts(numbers)), *described.shown(model), _coefficients(model)]
    return joined(parts if model["folds"] < 2 else [*parts, _path(tables[PATH], model)])


def _coefficients(model: Mapping[str, Any]) -> Html:
    """The features by the size of their coefficients per deviation."""
    features = sorted(
        model["features"], key=lambda feature: -max(map(abs, feature["coefficients"])) * feature["deviation"]
    )
    rows = [[each["name"], *(f"{x:.6g}" for x in each["coefficients"])] for each in features[:_SHOWN]]
    caption = "By their size per standard deviation of the feature; the file has every digit."
    heads = ["Feature", *(f"Coefficient{of}" for of in _scores(model))]
    return section("Coefficients", table(caption, heads, rows, numbers=range(1, len(heads))))


def error_of(model: Mapping[str, Any]) -> str:
    """Name the error, and the rows that it is of."""
    of = "left-out folds" if model["folds"] > 1 else "the rows that it was fitted to"
    return f"{model['loss'].capitalize()} of {of}"


def folds_of(model: Mapping[str, Any], plan: Plan) -> str:
    """Say how many folds there were, and why fewer than the plan has."""
    count, most = model["folds"], VALIDATION_FOLDS.of(plan)
    return str(count) if count == most else f"{count}, joined from {most}: these had few people of a kind"


def share_explained(model: Mapping[str, Any]) -> str:
    """Name R²: for a likelihood it is a share of the deviance."""
    of = "variance" if model["loss"] == SQUARED_ERROR else "deviance"
    return f"Share of the {of} explained there"


def _path(path: Arrays, model: Mapping[str, Any]) -> Html:
    """The penalties that were tried."""
    rows = [
        [f"{penalty:.6g}", f"{error:.6g}", f"{deviation:.2g}", "chosen" if chosen else ""]
        for penalty, error, deviation, chosen in zip(
            path["penalty"], path["error"], path["error_deviation"], path["chosen"], strict=True
        )
    ]
    caption = f"The {model['loss']} of the folds that were left out, and its standard error."
    heads = ["Penalty", "Error", "Standard error", ""]
    return section("Penalties", table(caption, heads, rows, numbers=(0, 1, 2)))
