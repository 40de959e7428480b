"""Performance of a model, drawn as SVG: the ROC curve with what ranges leave open, and the calibration."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from unpooled.pages.page import Html, tag
from unpooled.pictures.drawing import dot, plot, short, text, upright

_FRAME, _SIDE = ((420, 400), 56, 24), 320


def roc(score: Mapping[str, Any]) -> Html:
    """The curve through the ends of ranges; the band is where it may run within them."""
    points = roc_points(score["rows"], score["observed"])
    low, high = [points[0]], [points[0]]
    for (x, y), (to_x, to_y) in itertools.pairwise(points):
        high += [(x, to_y), (to_x, to_y)]  # all cases of a range first
        low += [(to_x, y), (to_x, to_y)]
    said = f"ROC curve: AUC {score['auc']:.3f}, from {score['auc_low']:.3f} to {score['auc_high']:.3f}."
    return _square(
        said,
        (0.0, 1.0),
        ("1 \u2212 specificity", "Sensitivity"),
        [
            tag("path", class_="band", d=f"M{_path([*high, *reversed(low)])}z"),
            tag("path", class_="expected", d=f"M0 {_SIDE}L{_SIDE} 0"),
            tag("path", class_="even", d=f"M{_path(points)}", style="stroke-width:2"),
        ],
    )


def roc_points(rows: Sequence[int], cases: Sequence[float]) -> list[tuple[float, float]]:
    """(1 - specificity, sensitivity) at the ends of ranges, the highest scores first; from (0, 0)."""
    all_cases, all_others = sum(cases), sum(rows) - sum(cases)
    found, of_cases, of_others = [(0.0, 0.0)], 0.0, 0.0
    for n, own in zip(reversed(rows), reversed(cases), strict=True):
        of_cases += own
        of_others += n - own
        found.append((of_others / all_others, of_cases / all_cases))
    return found


def calibration(score: Mapping[str, Any]) -> Html:
    """Draw what was observed against what was expected, with intervals where there are any."""
    groups = score["calibration"]
    values = [group[name] for group in groups for name in ("expected", "observed", "low", "high")]
    known = [value for value in values if value is not None]
    low, high = min(known), max(known)
    if score["of"]:
        low, high = 0.0, min(1.0, high * 1.05) or 1.0
    elif low == high:
        low, high = low - 1, high + 1

    def at(value: float) -> float:
        return float((value - low) / (high - low) * _SIDE)

    marks = "".join(dot(at(group["expected"]), _SIDE - at(group["observed"])) for group in groups)
    bars = "".join(
        upright(at(group["expected"]), _SIDE - at(group["low"]), _SIDE - at(group["high"]))
        for group in groups
        if group["low"] is not None
    )
    first, last = groups[0], groups[-1]
    said = (
        f"Calibration: from {first['expected']:.3g} expected and {first['observed']:.3g} observed to "
        f"{last['expected']:.3g} expected and {last['observed']:.3g} observed."
    )
    return _square(
        said,
        (low, high),
        ("Expected", "Observed"),
        [
            tag("path", class_="expected", d=f"M0 {_SIDE}L{_SIDE} 0"),
            tag("path", class_="axis", d=bars),
            tag("path", class_="dots", d=marks, style="stroke-width:8"),
        ],
    )


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "L".join(f"{short(x * _SIDE)} {short(_SIDE - y * _SIDE)}" for x, y in points)


def _square(said: str, limits: tuple[float, float], titles: tuple[str, str], marks: list[Html]) -> Html:
    """A plot whose two axes are alike."""
    low, high = limits
    each = [(tick, (tick - low) / (high - low) * _SIDE) for tick in _ticks(low, high)]
    return plot(
        said,
        _FRAME,
        tag("path", class_="grid", d="".join(f"M0 {short(_SIDE - at)}H{_SIDE}" for _, at in each)),
        *marks,
        tag("path", class_="axis", d=f"M0 0V{_SIDE}H{_SIDE}"),
        *(text(f"{tick:.6g}", -8, _SIDE - at + 4, anchor="end") for tick, at in each),
        *(text(f"{tick:.6g}", at, _SIDE + 18, anchor="middle") for tick, at in each),
        text(titles[1], -8, -10, class_="title"),
        text(titles[0], _SIDE / 2, _SIDE + 38, "middle", "title"),
    )


def _ticks(low: float, high: float) -> list[float]:
    """About five round numbers from `low` to `high`."""
    step = 10 ** math.floor(math.log10((high - low) / 5))
    step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= 6)
    first = math.ceil(low / step - 1e-9)
    return [step * k for k in range(first, math.floor(high / step + 1e-9) + 1)]
