"""Results of a study that trains a network with differential privacy: its weights, and what was promised."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from unpooled.asking.procedure import Rows
from unpooled.asking.question import Arrays
from unpooled.errors import listed
from unpooled.fitted.model import Layers
from unpooled.methods.learning.network_questions import predicted
from unpooled.methods.learning.network_result import INPUTS, WEIGHTS, size_of, trained
from unpooled.methods.learning.private_result import ERROR_HERE, promised, shown_promise
from unpooled.methods.learning.procedure import Levels, report_levels
from unpooled.methods.learning.reading import Examples
from unpooled.methods.learning.result import MODEL
from unpooled.methods.private_network.options import CLIP, promise_of
from unpooled.methods.private_network.questions import SumClipped, scaled_by_limits
from unpooled.methods.tables.encoding.questions import sizes_of
from unpooled.methods.tables.encoding.result import columns_of
from unpooled.pages.page import Html, facts, section
from unpooled.plan.plan import Plan


def report(plan: Plan, weights: np.ndarray, people: int) -> Iterator[Rows]:
    """Report the weights, with what the privacy cost; how good they are was not counted."""
    design, scale = scaled_by_limits(plan)
    unit, promise = math.ldexp(1.0, int(design.exponent[-1])), promise_of(plan)
    width = np.ldexp(1.0, design.exponent[: len(scale)].astype(np.int32))
    if len(scale):
        scaled = np.divide(width, scale, out=np.zeros(len(scale)), where=scale > 0)
        inputs = {"mean": design.centre[: len(scale)], "unit": scaled}
        yield Rows(INPUTS, {"index": np.arange(len(scale)), **inputs})
    yield Rows(WEIGHTS, {"index": np.arange(len(weights)), "weight": weights})
    unknown = tuple(np.zeros(size + 1, np.int64) for size in sizes_of(plan).tolist())
    yield from report_levels(plan, Levels(design.kept, unknown), 0)
    yield Rows(
        MODEL,
        {
            "index": np.zeros(1, np.int64),
            "people": np.array([people]),
            "centre": design.centre[[-1]],
            "unit": np.array([unit]),
            "noise": np.array([promise.noise]),
            "spent": np.array([promise.spent]),
        },
    )


def private_model_of(found: Arrays, plan: Plan) -> dict[str, Any]:
    """The content of the model file, from the columns of all result tables, by table and name."""
    promise = promise_of(plan)
    return {
        **trained(found, plan),
        "privacy": {
            **promised(found, plan),
            "clip": CLIP.of(plan),
            "share": promise.share,
            "rounds": promise.rounds,
        },
    }


def tried(model: Mapping[str, Any], rows: Examples, plan: Plan) -> tuple[str, float]:
    """Try a model file's content on rows, as its study could not; return what is measured, and the number."""
    weights = Layers(model["network"], model["features"], model["outcome"]).weights
    question = SumClipped(plan, weights, 1)
    everyone = np.arange(len(rows.values))
    z = question.design.standardised(rows, everyone)
    scores = question.scores(rows, everyone, z)
    if question.design.classes:
        right = predicted(scores) == rows.classes
        return "share of rows here whose class is predicted", float(np.mean(right))
    off = np.ldexp(scores[:, 0] - z[:, -1], int(question.design.exponent[-1]))
    return ERROR_HERE, float(np.mean(off * off))


def shown_private_network(tables: Mapping[str, Arrays], plan: Plan) -> Html:
    """The network in a few numbers, and what was promised, as a part of the report."""
    model = private_model_of(columns_of("", tables), plan)
    privacy = model["privacy"]
    numbers = [
        ("Outcome", model["outcome"]["name"]),
        *([("Classes", listed(names))] if (names := model["outcome"].get("classes")) else []),
        ("People", f"{model['people']:,}"),
        *size_of(model, len(tables[WEIGHTS]["weight"])),
        ("Rounds", f"{privacy['rounds']:,}"),
        *shown_promise(privacy, f"times the longest gradient of a person, {privacy['clip']:g}"),
    ]
    return section("Model", facts(numbers))
