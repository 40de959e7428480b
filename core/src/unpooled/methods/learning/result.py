"""Results of a study of models: its tables, the model and its coefficients as files, and its report."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np

from unpooled.asking.procedure import Rows
from unpooled.asking.question import Arrays
from unpooled.errors import listed
from unpooled.fitted import yeo_johnson as transform
from unpooled.fitted.curves import CURVES
from unpooled.fitted.encoder import Encoder
from unpooled.fitted.model import BENT, FORMAT, VERSION
from unpooled.kernels.elementary import exp
from unpooled.kernels.statistics import normal_neg_log10_p, p_value, t_neg_log10_p
from unpooled.methods.learning.models import MODELS, SQUARED_ERROR, Errors, Path, link_of
from unpooled.methods.learning.options import VALIDATION_FOLDS
from unpooled.methods.learning.performance import PERFORMANCE, RANGES
from unpooled.methods.learning.pool import Folds
from unpooled.methods.learning.reading import class_names
from unpooled.methods.learning.scaling import scales_in, scaling_of
from unpooled.methods.tables.encoding.procedure import ROWS
from unpooled.methods.tables.encoding.result import columns_of, content
from unpooled.pages.page import Html, facts, joined, section, table, tag
from unpooled.panel.panel import Panel
from unpooled.pictures import performance_svg
from unpooled.plan.plan import Plan

PATH, COEFFICIENTS, MODEL = "path", "coefficients", "model"
"""The result tables of a fit: each penalty, each column of the design, and the model as a whole."""


def report(
    folds: Folds, path: Path, counted: Arrays, errors: Errors | None, variance: float
) -> Iterator[Rows]:
    """Report a path and its model, with coefficients per unit of the files.

    `counted` are people and rows of each fold, `variance` is the error of a model without features.
    """
    count = path.errors.shape[1]
    index = np.arange(len(path.penalties))
    yield Rows(
        PATH,
        {
            "index": index,
            "penalty": path.penalties,
            "error": path.errors.mean(axis=1),
            "error_deviation": path.errors.std(axis=1, ddof=min(1, count - 1)) / np.sqrt(count),
            "chosen": index == path.chosen,
        },
    )
    more = {} if errors is None else {"error": (errors.coefficients / folds.unit)[:, None]}
    yield Rows(
        COEFFICIENTS,
        {
            "index": np.arange(len(folds.mean)),
            "mean": folds.mean,
            "deviation": np.where(folds.varies, folds.deviation, 0.0),
            "coefficient": path.coefficients / folds.unit[:, None],
            **more,
        },
    )
    last = (
        {}
        if errors is None
        else {"error": np.array([errors.intercept]), "freedom": np.array([errors.freedom])}
    )
    yield Rows(
        MODEL,
        {
            "index": np.zeros(1, np.int64),
            "intercept": (folds.origin + path.intercept)[None, :],
            "people": np.array([counted["people"].sum()]),
            "rows": np.array([counted["rows"].sum()]),
            "folds": np.array([np.count_nonzero(counted["rows"])]),
            "variance": np.array([variance]),
            **last,
        },
    )


# Files

_SHOWN = 200
"""Coefficients that the report shows: the largest ones."""


def write_model(out: BinaryIO, panel: Panel, columns: Arrays, plan: Plan) -> None:
    """Write the model file."""
    out.write(json.dumps(model_of(columns, plan), indent=1, ensure_ascii=False, allow_nan=False).encode())
    out.write(b"\n")


def model_of(found: Arrays, plan: Plan) -> dict[str, Any]:
    """The content of the model file, from the columns of all result tables, by table and name."""
    if plan.outcome is None:
        raise AssertionError("a plan without an outcome")
    encoding = content(found, plan) if f"{ROWS}.rows" in found else None
    scalings = scalings_of(found, plan)
    classes = class_names(plan)
    of = {name: np.asarray(found[f"{COEFFICIENTS}.{name}"]) for name in ("mean", "deviation", "coefficient")}
    errors = found.get(f"{COEFFICIENTS}.error")  # of least squares only
    features = [
        {"name": name, "mean": mean, "deviation": deviation, "coefficients": row.tolist()}
        for name, mean, deviation, row in zip(
            names_of_features(plan, encoding),
            of["mean"].tolist(),
            of["deviation"].tolist(),
            of["coefficient"],
            strict=True,
        )
    ]
    for feature, row in zip(features, errors if errors is not None else (), strict=False):
        feature["standard_errors"] = [error if np.isfinite(error) else None for error in row.tolist()]
    for feature, scaling in zip(features, scalings, strict=False):
        if scaling:
            feature["scaling"] = scaling
        if "lambda" in scaling:
            _recentre(feature, scaling)
    outcome: dict[str, Any] = {"name": plan.outcome.title, "unit": plan.outcome.unit}
    return {
        "format": FORMAT,
        "version": version_for(scalings),
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


def version_for(scalings: Sequence[Mapping[str, Any]]) -> int:
    """The version of a model file whose features are scaled so."""
    return BENT if any(scaling.get("method") in CURVES for scaling in scalings) else VERSION


def scalings_of(found: Arrays, plan: Plan) -> list[dict[str, Any]]:
    """Say of each column of numbers how it is scaled; of one that is standardised nothing."""
    scales = scales_in(found)
    return [
        scaling_of(place, plan, scales) for place, column in enumerate(plan.features) if not column.is_outcome
    ]


def _recentre(feature: dict[str, Any], scaling: dict[str, Any]) -> None:
    """Take the value whose transform is the mean as the centre, so that a coefficient is per unit there.

    The centre of the search is the middle of the range, which is nobody's to know beyond the cohorts.
    """
    centre, power = np.array(scaling["centre"]), np.array(scaling["lambda"])
    mean = np.array(feature["mean"])
    middle = transform.inverse(mean, centre, power)
    slope = float(exp((power - 1) * transform.offsets(middle, centre)))
    if not 0 < slope < math.inf:  # so flat there that no unit is left
        return
    scaling["centre"] = float(middle)
    feature["mean"] = float(mean - transform.about(middle, centre, power)) / slope
    feature["deviation"] /= slope
    for name in ("coefficients", "standard_errors"):
        if name in feature:
            feature[name] = [None if x is None else x * slope for x in feature[name]]


def _of_least_squares(found: Arrays) -> dict[str, float | None]:
    """Standard error of the intercept where all features are 0, null if there is none; degrees of freedom.

    Of maximum likelihood these are null: its tests are by the normal distribution.
    """
    error, freedom = float(found[f"{MODEL}.error"][0]), float(found[f"{MODEL}.freedom"][0])
    return {
        "intercept_error": error if np.isfinite(error) else None,
        "freedom": freedom if np.isfinite(freedom) else None,
    }


def names_of_features(plan: Plan, encoding: Mapping[str, Any] | None) -> list[str]:
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
    if any(map(scaling_said, model["features"])):
        heads.append("scaling")
        for line, feature in zip(lines, [{}, *model["features"]], strict=True):
            line.append(scaling_said(feature) or None)
    text = ("\t".join("NA" if cell is None else str(cell) for cell in line) for line in [heads, *lines])
    out.write("".join(f"{line}\n" for line in text).encode())


def scaling_said(feature: Mapping[str, Any]) -> str:
    """Name the scaling of a feature, with its lambda; empty if it is standardised."""
    scaling = feature.get("scaling", {})
    power = f" (lambda {scaling['lambda']:.4g})" if "lambda" in scaling else ""
    return f"{scaling['method']}{power}" if scaling else ""


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
    parts = [section("Model", facts(numbers)), *shown_performance(model), _coefficients(model)]
    return joined(parts if model["folds"] < 2 else [*parts, _path(tables[PATH], model)])


def _coefficients(model: Mapping[str, Any]) -> Html:
    """The features by the size of their coefficients per deviation."""
    features = sorted(
        model["features"], key=lambda feature: -max(map(abs, feature["coefficients"])) * feature["deviation"]
    )
    rows = [[each["name"], *(f"{x:.6g}" for x in each["coefficients"])] for each in features[:_SHOWN]]
    if scaled := any(map(scaling_said, features)):
        rows = [[*row, scaling_said(each)] for row, each in zip(rows, features, strict=False)]
    caption = "By their size per standard deviation of the feature; the file has every digit."
    heads = ["Feature", *(f"Coefficient{of}" for of in _scores(model))]
    numbers = range(1, len(heads))
    return section("Coefficients", table(caption, heads + ["Scaling"] * scaled, rows, numbers=numbers))


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


# Performance

_GROUPS = 10
_Z = 1.959963984540054
"""Quantile of the standard normal distribution for a 95 % interval."""


def performance_of(found: Arrays, plan: Plan) -> dict[str, Any]:
    """Return the performance as the model file states it, from the columns of all result tables; empty if
    unknown.
    """
    if f"{RANGES}.rows" not in found:
        return {}
    classes, place = class_names(plan), found[f"{RANGES}.score"]
    of = classes if len(classes) > 2 else classes[1:] or ("",)
    ranges = {name: found[f"{RANGES}.{name}"] for name in ("rows", "observed", "expected")}
    scores: list[dict[str, Any]] = []
    for k, name in enumerate(of):
        own = {column: values[place == k] for column, values in ranges.items()}
        line: dict[str, Any] = {"of": name, **{column: _known(values) for column, values in own.items()}}
        if classes:
            line |= {at: _number(found[f"{PERFORMANCE}.{at}"][k]) for at in ("auc", "auc_low", "auc_high")}
        scores.append({**line, "calibration": calibration(own, of_numbers=not classes)})
    brier = _number(found[f"{PERFORMANCE}.brier"][0]) if classes else None
    return {"performance": {"brier": brier, "scores": scores}}


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _known(values: np.ndarray) -> list[Any] | None:
    return None if np.isnan(values.astype(float)).any() else values.tolist()


def calibration(ranges: Mapping[str, np.ndarray], *, of_numbers: bool) -> list[dict[str, Any]]:
    """Compare expected with observed values in about ten groups of similar size, by the score.

    Classes give shares, with Wilson's 95 % interval of the observed one; numbers give means.
    """
    rows, expected = ranges["rows"], ranges["expected"]
    if np.isnan(expected).any() or not rows.sum():
        return []
    middle = np.cumsum(rows) - rows / 2
    group = np.minimum((middle / rows.sum() * _GROUPS).astype(int), _GROUPS - 1)
    found = []
    for k in np.unique(group[rows > 0]):  # alone, a range may have no rows
        n, seen, hoped = (float(ranges[name][group == k].sum()) for name in ("rows", "observed", "expected"))
        low, high = (None, None) if of_numbers else wilson(seen, n)
        share = {"observed": seen / n, "expected": hoped / n}
        found.append({"rows": int(n), **share, "low": low, "high": high})
    return found


def wilson(cases: float, n: float) -> tuple[float, float]:
    """The interval of 95 % for a share (Wilson 1927)."""
    centre, total = cases + _Z**2 / 2, n + _Z**2
    half = _Z * math.sqrt(cases * (n - cases) / n + _Z**2 / 4)
    return max(0.0, (centre - half) / total), min(1.0, (centre + half) / total)


def lines(model: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Names and numbers of what is known."""
    performance = model.get("performance", {"scores": []})
    for score in performance["scores"]:
        if score.get("auc") is not None:
            of = f" of {score['of']}" if len(performance["scores"]) > 1 else ""
            yield f"AUC{of}", f"{score['auc']:.4f} ({score['auc_low']:.4f} to {score['auc_high']:.4f})"
    if performance.get("brier") is not None:
        yield "Brier score", f"{performance['brier']:.4g}"


ABOUT = (
    "Each row was scored by a model of the same penalty that was fitted without the row's fold. Only counts "
    "by range of score are known: the AUC lies between the two numbers in brackets."
)


def shown_performance(model: Mapping[str, Any], about: str = ABOUT) -> list[Html]:
    """A part of the report; none where nothing is known. `about` says which rows are tested."""
    performance = model.get("performance")
    if performance is None:
        return []
    parts: list[Html] = [facts(lines(model)), tag("p", about, class_="muted")]
    for score in performance["scores"]:
        of = f" of {score['of']}" if score["of"] else ""
        if score.get("auc") is not None:
            parts.append(_figure(performance_svg.roc(score), f"Receiver operating characteristic{of}"))
        if score["calibration"]:
            parts.append(_figure(performance_svg.calibration(score), f"Calibration{of}"))
            parts.append(_groups(score, of))
    return [section("Performance on rows that were left out", *parts)]


def _figure(picture: Html, caption: str) -> Html:
    return tag("figure", picture, tag("figcaption", caption))


def _groups(score: Mapping[str, Any], of: str) -> Html:
    has_interval = score["calibration"][0]["low"] is not None
    heads = ["Group", "Rows", "Expected", "Observed", *(["95 % interval"] * has_interval)]
    rows = [
        [
            str(k),
            f"{group['rows']:,}",
            f"{group['expected']:.4g}",
            f"{group['observed']:.4g}",
            *([f"{group['low']:.4g} to {group['high']:.4g}"] if has_interval else []),
        ]
        for k, group in enumerate(score["calibration"], 1)
    ]
    return table(f"Expected and observed{of}, by the score", heads, rows, numbers=range(1, len(heads)))
