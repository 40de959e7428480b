"""People in the plane of two principal components, over the density of a pool, drawn as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from unpooled.formats.density import Cell
from unpooled.pages.page import Html, tag
from unpooled.pictures.drawing import dot, plot, short, text, ticks

_FRAME, _SIDE = ((540, 520), 60, 28), 440
SHADED = (
    "Cells are shaded by how many people of all cohorts are in them, a step for each doubling from 10 on; "
    "cells with fewer are blank, and nobody knows how many are there. Whoever is beyond the outermost cells "
    "is counted in these."
)
_FAINTEST, _STEP = 0.12, 0.1
"""Opacity of the faintest cell, and how much a doubling adds to it."""
STYLE = """
.plot .cell { fill: var(--mark) }
.plot .people { stroke: var(--lead); stroke-width: 4; stroke-linecap: round }
"""
"""Goes with that of `unpooled.pictures.drawing`."""


def people_over_density(cells: Sequence[Cell], scores: np.ndarray, titles: tuple[str, str]) -> Html:
    """Draw scores, float64 (people, 2), as dots over cells: whoever is beyond all of them, where they end."""
    low, high = _ends(cells, scores)

    def at(values: np.ndarray | float) -> np.ndarray:
        return np.clip((np.asarray(values) - low) / (high - low), 0, 1) * _SIDE

    shaded = [
        tag(
            "rect",
            class_="cell",
            x=short(float(at(cell.left))),
            y=short(_SIDE - float(at(cell.high))),
            width=short(float(at(cell.right) - at(cell.left))),
            height=short(float(at(cell.high) - at(cell.low))),
            fill_opacity=f"{_shade(cell.at_least, cells):.2f}",
        )
        for cell in cells
    ]
    marks = "".join(dot(x, _SIDE - y) for x, y in at(scores).tolist())
    own = f"{len(scores):,} people of this cohort over " if len(scores) else ""
    said = f"{own}{len(cells):,} cells with the pool's people."
    return plot(
        said,
        _FRAME,
        *shaded,
        tag("path", class_="people", d=marks),
        tag("path", class_="axis", d=f"M0 0V{_SIDE}H{_SIDE}"),
        *(text(f"{tick:g}", -8, _SIDE - float(at(tick)) + 4, "end") for tick in _ticks(high)),
        *(text(f"{tick:g}", float(at(tick)), _SIDE + 18, "middle") for tick in _ticks(high)),
        text(titles[1], -8, -10, class_="title"),
        text(titles[0], _SIDE / 2, _SIDE + 38, "middle", "title"),
    )


def _ends(cells: Sequence[Cell], scores: np.ndarray) -> tuple[float, float]:
    """A square with all cells; with all people, where there is no cell."""
    ends = [edge for cell in cells for edge in (cell.left, cell.right, cell.low, cell.high)]
    ends = ends or [*scores.ravel().tolist(), -1.0, 1.0]
    most = max(map(abs, ends))
    return -most, most


def _ticks(most: float) -> list[float]:
    """Return round numbers on both sides of 0."""
    upwards = ticks(most, 3)
    return [*(-tick for tick in reversed(upwards) if tick), *upwards]


def _shade(people: int, cells: Sequence[Cell]) -> float:
    doublings = math.log2(people / min(cell.at_least for cell in cells))
    return min(0.9, _FAINTEST + _STEP * doublings)
