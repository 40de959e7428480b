"""Performance of a model, described for people: in the model file, on its card, and as pictures in the
report.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from unpooled.asking.question import Arrays
from unpooled.methods.learning.performance import PERFORMANCE, RANGES
from unpooled.methods.learning.reading import class_names
from unpooled.pages.page import Html, facts, section, table, tag
from unpooled.pictures import performance_svg
from unpooled.plan.plan import Plan

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
        told: dict[str, Any] = {"of": name, **{column: _known(values) for column, values in own.items()}}
        if classes:
            told |= {at: _number(found[f"{PERFORMANCE}.{at}"][k]) for at in ("auc", "auc_low", "auc_high")}
        scores.append({**told, "calibration": calibration(own, of_numbers=not classes)})
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
    for k in np.unique(group):
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


def shown(model: Mapping[str, Any]) -> list[Html]:
    """A part of the report; none where nothing is known."""
    performance = model.get("performance")
    if performance is None:
        return []
    parts: list[Html] = [facts(lines(model)), tag("p", ABOUT, class_="muted")]
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
