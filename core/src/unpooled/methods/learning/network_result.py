"""Results of a study that trains a network: its tables, the model file, and its report."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO

import numpy as np

from unpooled.asking.procedure import Rows
from unpooled.asking.question import Arrays
from unpooled.errors import listed
from unpooled.fitted.image_network import ImageNetwork
from unpooled.fitted.model import FORMAT
from unpooled.fitted.network import Network
from unpooled.formats import safetensors
from unpooled.methods.algorithm import DECLARED
from unpooled.methods.learning.design import targets_of
from unpooled.methods.learning.images import of_images, shape_in_words
from unpooled.methods.learning.models import LOG_LOSS, SQUARED_ERROR, link_of
from unpooled.methods.learning.network_options import ACTIVATION, ARCHITECTURE, HIDDEN, widths_of
from unpooled.methods.learning.procedure import Described, report_levels
from unpooled.methods.learning.reading import class_names
from unpooled.methods.learning.result import (
    MODEL,
    error_of,
    names_of_features,
    performance_of,
    scalings_of,
    share_explained,
    shown_performance,
    variance_explained,
    version_for,
)
from unpooled.methods.learning.training import Training
from unpooled.methods.tables.encoding.procedure import ROWS
from unpooled.methods.tables.encoding.result import columns_of, content
from unpooled.pages.page import Html, facts, joined, section, tag
from unpooled.panel.panel import Panel
from unpooled.pictures import training_svg
from unpooled.plan.plan import Plan

INPUTS, WEIGHTS, CURVE = "inputs", "weights", "curve"
"""The result tables beside `MODEL`: each column of the design, each weight, each round."""


def report(
    plan: Plan, described: Described, at: Training, scale: np.ndarray, held_out: int
) -> Iterator[Rows]:
    """Report the network with the least loss in the fold that is left out, and the loss of each round."""
    question, features = described.question, described.question.columns - described.question.targets
    unit = math.ldexp(1.0, int(question.exponent[-1])) ** 2  # of squared errors, in units of the files
    units = np.array([unit, unit, 1.0])
    curve = at.curve if question.classes else at.curve * units
    if features:
        inputs = {
            "mean": question.centre[:features],
            "deviation": described.spread[:features],
            "unit": described.units[:features],
        }
        yield Rows(INPUTS, {"index": np.arange(features), **inputs})
    yield Rows(WEIGHTS, {"index": np.arange(len(at.best)), "weight": at.best})
    names = ("loss", "held_out", "right")
    yield Rows(CURVE, {"index": np.arange(len(curve)), **dict(zip(names, curve.T, strict=True))})
    yield from report_levels(plan, described.levels, question.rows)
    yield Rows(
        MODEL,
        {
            "index": np.zeros(1, np.int64),
            "people": np.array([described.people.sum()]),
            "rows": np.array([described.rows.sum()]),
            "folds": np.array([np.count_nonzero(described.rows)]),
            "held_out": described.rows[[held_out]],
            "round": np.array([at.best_round]),
            "variance": np.array([_without_features(described)]),
            "centre": question.centre[[-1]],
            "unit": np.array([math.sqrt(unit)]),
        },
    )


def _without_features(described: Described) -> float:
    """The loss of a model without features: the outcome's variance, or the entropy of its classes."""
    if not described.question.classes:
        return float(described.spread[-1] ** 2)
    shares = described.of_class / max(1, described.of_class.sum())
    return float(-np.sum(shares * np.log(np.where(shares > 0, shares, 1.0))))


# Files


def write_network(
    out: BinaryIO, panel: Panel, columns: Arrays, plan: Plan, of: Callable[[Arrays, Plan], Any]
) -> None:
    """Write the model file, whose content `of` gives."""
    out.write(json.dumps(of(columns, plan), indent=1, ensure_ascii=False, allow_nan=False).encode() + b"\n")


def write_weights(out: BinaryIO, panel: Panel, columns: Arrays, plan: Plan) -> None:
    """Write the weights as safetensors, by the names of torch's Sequential."""
    network, weights = _network(columns, plan)
    inputs = "features less their mean, over their unit"
    about = {"activation": network.activation, "inputs": inputs}
    if isinstance(network, ImageNetwork):
        about = {"network": network.activation, "inputs": "pixels over 255"}
    out.write(safetensors.encoded(network.named(weights), about))


def _network(found: Arrays, plan: Plan) -> tuple[Network | ImageNetwork, np.ndarray]:
    weights, scores = np.asarray(found[f"{WEIGHTS}.weight"], np.float64), targets_of(len(class_names(plan)))
    if plan.images is not None:
        return ImageNetwork((*plan.images.size, scores), ARCHITECTURE.of(plan)), weights
    widths = len(found[f"{INPUTS}.mean"]), *widths_of(HIDDEN.of(plan)), scores
    return Network(widths, ACTIVATION.of(plan)), weights


def network_model_of(found: Arrays, plan: Plan) -> dict[str, Any]:
    """The content of the model file, from the columns of all result tables, by table and name."""
    best = int(found[f"{MODEL}.round"][0])
    differs = DECLARED[plan.test].differs(plan)
    return {
        **trained(found, plan),
        **({"not_pooled": differs} if differs else {}),
        "rows": int(found[f"{MODEL}.rows"][0]),
        "folds": int(found[f"{MODEL}.folds"][0]),
        "rows_left_out": int(found[f"{MODEL}.held_out"][0]),
        "loss": LOG_LOSS if class_names(plan) else SQUARED_ERROR,
        "round": best,
        "curve": _curve(found, bool(class_names(plan))),
        "error": float(found[f"{CURVE}.held_out"][best]),
        "variance": float(found[f"{MODEL}.variance"][0]),
        **performance_of(found, plan),
    }


def trained(found: Arrays, plan: Plan) -> dict[str, Any]:
    """The part of the model file that predicts, and whom it was trained on."""
    if plan.outcome is None:
        raise AssertionError("a plan without an outcome")
    encoding = content(found, plan) if f"{ROWS}.rows" in found else None
    classes, (network, weights) = class_names(plan), _network(found, plan)
    outcome: dict[str, Any] = {"name": plan.outcome.title, "unit": plan.outcome.unit}
    if classes:
        outcome["classes"] = list(classes)
    else:
        outcome |= {"centre": float(found[f"{MODEL}.centre"][0]), "scale": float(found[f"{MODEL}.unit"][0])}
    about = {"method": plan.test, "link": link_of(plan), "outcome": outcome}
    of_whom = {"people": int(found[f"{MODEL}.people"][0]), "cohorts": plan.cohorts}
    if isinstance(network, ImageNetwork):
        return {**of_images(network), **about, **of_whom}
    scalings = scalings_of(found, plan)
    features = zip(
        names_of_features(plan, encoding),
        *(found[f"{INPUTS}.{name}"].tolist() for name in ("mean", "unit")),
        found.get(f"{INPUTS}.deviation", np.full(len(found[f"{INPUTS}.unit"]), np.nan)).tolist(),
        [*scalings, *itertools.repeat({}, len(found[f"{INPUTS}.mean"]) - len(scalings))],
        strict=True,
    )
    return {
        "format": FORMAT,
        "version": version_for(scalings),
        **about,
        "features": [
            {"name": name, "mean": mean, "unit": unit}
            | ({} if math.isnan(deviation) else {"deviation": deviation})
            | ({"scaling": scaling} if scaling else {})
            for name, mean, unit, deviation, scaling in features
        ],
        "network": {
            "activation": network.activation,
            "layers": [{"weight": w.tolist(), "bias": b.tolist()} for w, b in network.layers(weights)],
        },
        "encoding": encoding,
        **of_whom,
    }


def _curve(found: Arrays, has_classes: bool) -> dict[str, list[float]]:
    """The losses of all rounds, and of classes the share that is predicted."""
    names = ("loss", "held_out", *(("right",) if has_classes else ()))
    return {name: found[f"{CURVE}.{name}"].tolist() for name in names}


_TESTED = (
    "These are the rows of the fold that was left out. Only counts by range of score are known: the AUC lies "
    "between the two numbers in brackets."
)


def shown_network(tables: Mapping[str, Arrays], plan: Plan) -> Html:
    """The network in a few numbers, its performance, and its curves, as a part of the report."""
    model = network_model_of(columns_of("", tables), plan)
    rounds = f"{len(model['curve']['loss']) - 1:,}, and the weights after {model['round']:,} are the model"
    numbers = [
        ("Outcome", model["outcome"]["name"]),
        ("People", f"{model['people']:,}"),
        *size_of(model, len(tables[WEIGHTS]["weight"])),
        ("Rounds", rounds),
        (error_of(model), f"{model['error']:.6g}"),
        (share_explained(model), f"{variance_explained(model):.4g}"),
    ]
    if classes := model["outcome"].get("classes", []):
        numbers.insert(1, ("Classes", listed(classes)))
    return joined([section("Model", facts(numbers)), *shown_performance(model, _TESTED), _training(model)])


def size_of(model: Mapping[str, Any], weights: int) -> list[tuple[str, str]]:
    """Return the number of features, or the size of images, and that of the weights, for people."""
    if images := model.get("images"):
        return [
            ("Images", shape_in_words(images)),
            ("Weights", f"{weights:,}, of {model['network']['name']}"),
        ]
    layers = f"{weights:,}, in {len(model['network']['layers'])} layers"
    return [("Features", f"{len(model['features']):,}"), ("Weights", layers)]


def _training(model: Mapping[str, Any]) -> Html:
    """The curves of the training."""
    curve = model["curve"]
    parts = [
        _figure(training_svg.losses(curve["loss"], curve["held_out"], model["round"]), "Loss by round"),
    ]
    if "right" in curve:
        picture = training_svg.shares(curve["right"], model["round"])
        parts.append(_figure(picture, "Share of the left-out rows whose class is predicted, by round"))
    return section("Training", *parts)


def _figure(picture: Html, caption: str) -> Html:
    return tag("figure", picture, tag("figcaption", caption))
