"""Parts that the results of all models with differential privacy have: the promise, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unpooled.asking.question import Arrays
from unpooled.methods.learning.card import NOT_MEASURED
from unpooled.methods.learning.result import MODEL
from unpooled.methods.shared.privacy_options import DELTA
from unpooled.plan.plan import Plan

ERROR_HERE = "mean squared error here"
"""Name of what is measured on a cohort's own rows where the outcome is a number."""


def promised(found: Arrays, plan: Plan) -> dict[str, Any]:
    """The part of a model file that says what was promised, from the columns of all result tables."""
    spent, noise = (float(found[f"{MODEL}.{name}"][0]) for name in ("spent", "noise"))
    return {"epsilon": spent, "delta": DELTA.of(plan), "noise": noise}


def shown_promise(privacy: Mapping[str, Any], of_what: str) -> list[tuple[str, str]]:
    """Return the promise for people; `of_what`: in what the noise is measured."""
    return [
        ("Epsilon", f"{privacy['epsilon']:.4g} at most, with delta {privacy['delta']:g}"),
        ("Noise", f"{privacy['noise']:.4g} {of_what}"),
        ("Performance", f"{NOT_MEASURED}."),
    ]
