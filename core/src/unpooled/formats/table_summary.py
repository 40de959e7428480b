"""The summary of a table: as lines between tabs for programs, and as a page with a picture of each column."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import BinaryIO

import numpy as np

from unpooled.question import Arrays
from unpooled.schema import Column

WIDTH, HEIGHT, MARGIN = 300, 34, 6
MIDDLE = HEIGHT // 2

STYLE = """
body { font: 15px/1.4 system-ui, sans-serif; margin: 2rem; color: #1b1b1b; background: #fff }
table { border-collapse: collapse }
caption { text-align: left; font-size: 1.2rem; font-weight: 600; padding-bottom: .6rem }
th, td { padding: .3rem .8rem; border-bottom: 1px solid #d5d5d5; text-align: right; white-space: nowrap }
th:first-child, th:last-child { text-align: left }
thead th { border-bottom: 2px solid #555 }
.ends { display: flex; justify-content: space-between; font-size: .8rem; color: #555 }
"""

LEGEND = """In each picture, on a scale of its own: the box holds the middle half of the values, the line
across it is the median, the thick line reaches from the 5 % to the 95 % quantile, the thin one from 1 % to
99 %, and the diamond is the mean. With few values the outer quantiles are single people's, and left out."""

HEADS = ("Column", "Values", "Missing", "Mean", "Deviation", "Median", "Distribution")

PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"/><title>Summary of the pooled table</title><style>{style}</style></head>
<body>
<table>
<caption>Summary of the pooled table</caption>
<thead><tr>{heads}</tr></thead>
<tbody>
{rows}</tbody>
</table>
<p>{legend}</p>
</body>
</html>
"""


def write_table(
    out: BinaryIO, features: Sequence[Column], columns: Arrays, quantiles: Sequence[float]
) -> None:
    """A line for each feature: n, missing, mean, deviation, and quantiles; NA for what is not known.

    `columns` has n, missing, mean, deviation, (features,), and quantiles, (features, quantiles). Numbers read
    back as the same float64.
    """
    names = [f"q{quantile:g}" for quantile in quantiles]
    lines = ["\t".join(("name", "type", "unit", "n", "missing", "mean", "deviation", *names))]
    for feature, n, missing, numbers in _rows(features, columns):
        words = ("NA" if np.isnan(number) else repr(number) for number in numbers)
        lines.append("\t".join((feature.title, feature.type, feature.unit, str(n), str(missing), *words)))
    out.write("".join(f"{line}\n" for line in lines).encode())


def write_page(
    out: BinaryIO, features: Sequence[Column], columns: Arrays, quantiles: Sequence[float]
) -> None:
    """A page of HTML that needs nothing else, from the same columns; the numbers to four digits."""
    heads = "".join(f'<th scope="col">{head}</th>' for head in HEADS)
    rows = "".join(_row(*row, quantiles) for row in _rows(features, columns))
    out.write(PAGE.format(style=STYLE, heads=heads, rows=rows, legend=LEGEND).encode())


def _rows(features: Sequence[Column], columns: Arrays) -> Iterator[tuple[Column, int, int, list[float]]]:
    """Of each feature: n, missing, and mean, deviation and quantiles."""
    numbers = np.column_stack([columns["mean"], columns["deviation"], columns["quantiles"]])
    counts = (columns[name].tolist() for name in ("n", "missing"))
    yield from zip(features, *counts, numbers.tolist(), strict=True)


def _row(feature: Column, n: int, missing: int, numbers: list[float], quantiles: Sequence[float]) -> str:
    mean, deviation, *found = numbers
    at = dict(zip(quantiles, found, strict=True))
    unit = f" ({feature.unit})" if feature.unit else ""
    share = f"{missing:,} ({missing / (n + missing):.1%})" if missing else "0"
    cells = (f"{n:,}", share, *map(_short, (mean, deviation, at[0.5])))
    return (
        f'<tr><th scope="row">{escape(feature.title + unit)}</th>'
        f"{''.join(f'<td>{cell}</td>' for cell in cells)}<td>{_picture(at, mean)}</td></tr>\n"
    )


def _short(number: float) -> str:
    return "" if np.isnan(number) else f"{number:.4g}"


def _picture(at: dict[float, float], mean: float) -> str:
    """Box and lines between the quantiles that are known, and the ends of their scale."""
    known = {quantile: value for quantile, value in at.items() if not np.isnan(value)}
    if not known:
        return ""
    low, high = min(known.values()), max(known.values())
    span = high / 2 - low / 2  # halves, for the whole may overflow

    def x(value: float) -> float:
        share = (value / 2 - low / 2) / span if span else 0.5
        return round(MARGIN + min(max(share, 0), 1) * (WIDTH - 2 * MARGIN), 1)

    words = ", ".join(f"{quantile:g}: {_short(value)}" for quantile, value in known.items())
    return (
        f'<svg role="img" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">'
        f"<title>Quantiles {words}; mean {_short(mean)}</title>{''.join(_shapes(known, mean, x))}</svg>"
        f'<div class="ends"><span>{_short(low)}</span><span>{_short(high)}</span></div>'
    )


def _shapes(known: dict[float, float], mean: float, x: Callable[[float], float]) -> Iterator[str]:
    for outer, thickness in ((0.01, 1), (0.05, 4)):
        if outer in known and 1 - outer in known:
            ends = f'x1="{x(known[outer])}" x2="{x(known[1 - outer])}" y1="{MIDDLE}" y2="{MIDDLE}"'
            yield f'<line {ends} stroke="#555" stroke-width="{thickness}"/>'
    if 0.25 in known and 0.75 in known:
        left, right = x(known[0.25]), x(known[0.75])
        box = f'x="{left}" y="{MIDDLE - 9}" width="{max(right - left, 1):.1f}" height="18"'
        yield f'<rect {box} fill="#cfe2f3" stroke="#24527a"/>'
    if 0.5 in known:
        at = f'x1="{x(known[0.5])}" x2="{x(known[0.5])}"'
        yield f'<line {at} y1="{MIDDLE - 9}" y2="{MIDDLE + 9}" stroke="#24527a" stroke-width="3"/>'
    yield (
        f'<path d="M{x(mean)} {MIDDLE - 5}l5 5l-5 5l-5 -5z" fill="#b03a10" stroke="#fff" stroke-width="1"/>'
    )
