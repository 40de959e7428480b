"""The correlations of a region's variants, drawn as SVG."""

from __future__ import annotations

import numpy as np

from unpooled.pages.page import Html, tag
from unpooled.pictures.drawing import plot, short, text

_FRAME, _SIDE = ((500, 490), 50, 10), 440
_MOST = 60
"""Largest number of squares in a row: more would be smaller than what one sees, and a page of megabytes."""
_FAINTEST = 0.02
"""r² below which a square is left out."""


def matrix(r: np.ndarray) -> Html:
    """Draw r² of every two variants, given r, float64 (m, m): darker where it is larger, and 1 at the end.

    Of many variants a square has several, and the largest r² of any two of them.
    """
    each = -(-len(r) // _MOST)
    rows = -(-len(r) // each)
    squares = np.zeros((rows * each, rows * each))
    squares[: len(r), : len(r)] = r * r
    largest, step = squares.reshape(rows, each, rows, each).max(axis=(1, 3)), _SIDE / rows
    cells = [
        tag(
            "rect",
            class_="cell",
            x=short(step * column),
            y=short(step * row),
            width=short(step),
            height=short(step),
            fill_opacity=f"{largest[row, column]:.2f}",
        )
        for row, column in zip(*np.nonzero(largest >= _FAINTEST), strict=True)
    ]
    return plot(
        f"r² of every two of {len(r):,} variants, in the order of their positions.",
        _FRAME,
        *cells,
        tag("path", class_="axis", d=f"M0 0V{_SIDE}H{_SIDE}"),
        text("1", -8, 12, "end"),
        text(f"{len(r):,}", -8, _SIDE, "end"),
        text("1", 0, _SIDE + 18),
        text(f"{len(r):,}", _SIDE, _SIDE + 18, "end"),
        text("Variants by position", _SIDE / 2, _SIDE + 34, "middle", "title"),
    )
