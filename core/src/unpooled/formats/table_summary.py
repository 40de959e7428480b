"""The summary of a table: as lines between tabs for programs, and as a page with a picture of each column."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO

import numpy as np

from unpooled.asking.question import Arrays
from unpooled.pages.page import Html, document, encoded, joined, section, table, tag
from unpooled.plan.schema import Column

WIDTH, HEIGHT, MARGIN = 300, 64, 6
BARS = 30
"""Height of the histogram, above the box."""
MIDDLE = (HEIGHT + BARS) // 2

TITLE = "Summary of the pooled table"

STYLE = """
.ends { display: flex; justify-content: space-between; width: 300px; font-size: .8rem; color: var(--muted) }
.strip line { stroke: var(--muted) }
.strip .bar { fill: var(--soft) }
.strip .middle { fill: var(--soft); stroke: var(--mark) }
.strip .median { stroke: var(--mark); stroke-width: 3 }
.strip .mean { fill: var(--mean); stroke: var(--surface) }
:root { --soft: #cfe2ea; --mean: #b03a10 }
@media screen and (prefers-color-scheme: dark) { :root { --soft: #23424f; --mean: #ff9d66 } }
"""
"""Goes with `unpooled.pages.page.STYLE`."""

LEGEND = """In each picture, on a scale of its own: above, a histogram whose bars reach from each known
quantile to the next, each as large as its share of the values; below, the box holds the middle half of the
values, the line across it is the median, the thick line reaches from the 5 % to the 95 % quantile, the thin
one from 1 % to 99 %, and the diamond is the mean. With few values the outer quantiles are single people's,
and left out."""

HEADS = ("Column", "Values", "Missing", "Mean", "Deviation", "Median", "Distribution")


def write_table(
    out: BinaryIO,
    features: Sequence[Column],
    columns: Arrays,
    quantiles: Sequence[float],
    more: Sequence[str] = (),
) -> None:
    """A line for each feature: n, missing, mean, deviation, and quantiles; NA for what is not known.

    `columns` has n, missing, mean, deviation, (features,), and quantiles, (features, quantiles); those of
    `more` come last, where it has them. Numbers read back as the same float64.
    """
    further = [name for name in more if name in columns]
    names = [*(f"q{quantile:g}" for quantile in quantiles), *further]
    lines = ["\t".join(("name", "type", "unit", "n", "missing", "mean", "deviation", *names))]
    for k, (feature, n, missing, numbers) in enumerate(_rows(features, columns)):
        numbers = [*numbers, *(float(columns[name][k]) for name in further)]
        words = ("NA" if np.isnan(number) else repr(number) for number in numbers)
        lines.append("\t".join((feature.title, feature.type, feature.unit, str(n), _count(missing), *words)))
    out.write("".join(f"{line}\n" for line in lines).encode())


def write_page(
    out: BinaryIO,
    features: Sequence[Column],
    columns: Arrays,
    quantiles: Sequence[float],
    warning: str = "",
) -> None:
    """A page of HTML that needs nothing else, from the same columns; the numbers to four digits.

    `warning`: a sentence that comes first.
    """
    first = [tag("p", warning)] if warning else []
    out.write(encoded(document(TITLE, *first, shown(features, columns, quantiles), style=STYLE)))


def shown(features: Sequence[Column], columns: Arrays, quantiles: Sequence[float]) -> Html:
    """The table with a picture of each column, as a part of a page."""
    rows = (_row(*row, quantiles) for row in _rows(features, columns))
    whole = table(TITLE, HEADS, rows, numbers=range(1, 6))
    return section("Columns", whole, tag("p", LEGEND, class_="muted"))


def _rows(features: Sequence[Column], columns: Arrays) -> Iterator[tuple[Column, int, float, list[float]]]:
    """Yield each feature with n, missing, and mean, deviation and quantiles."""
    numbers = np.column_stack([columns["mean"], columns["deviation"], columns["quantiles"]])
    counts = (columns[name].tolist() for name in ("n", "missing"))
    yield from zip(features, *counts, numbers.tolist(), strict=True)


def _count(number: float) -> str:
    return "NA" if np.isnan(number) else str(number)


def _row(
    feature: Column, n: int, missing: float, numbers: list[float], quantiles: Sequence[float]
) -> tuple[str, ...]:
    mean, deviation, *found = numbers
    at = dict(zip(quantiles, found, strict=True))
    unit = f" ({feature.unit})" if feature.unit else ""
    share = f"{missing:,} ({missing / (n + missing):.1%})" if missing else "0"
    share = "" if np.isnan(missing) else share
    cells = (f"{n:,}", share, *map(_short, (mean, deviation, at[0.5])))
    return (feature.title + unit, *cells, _picture(at, mean))


def _short(number: float) -> str:
    return "" if np.isnan(number) else f"{number:.4g}"


def _picture(at: dict[float, float], mean: float) -> Html:
    """Box and lines between the quantiles that are known, and the ends of their scale."""
    known = {quantile: value for quantile, value in at.items() if not np.isnan(value)}
    if not known:
        return Html("")
    low, high = min(known.values()), max(known.values())
    span = high / 2 - low / 2  # halves, for the whole may overflow

    def x(value: float) -> float:
        share = (value / 2 - low / 2) / span if span else 0.5
        return round(MARGIN + min(max(share, 0), 1) * (WIDTH - 2 * MARGIN), 1)

    words = ", ".join(f"{quantile:g}: {_short(value)}" for quantile, value in known.items())
    picture = tag(
        "svg",
        tag("title", f"Quantiles {words}; mean {_short(mean)}"),
        *_shapes(known, mean, x),
        class_="strip",
        role="img",
        width=WIDTH,
        height=HEIGHT,
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
    )
    ends = tag("div", tag("span", _short(low)), tag("span", _short(high)), class_="ends")
    return joined((picture, ends))


def _shapes(known: dict[float, float], mean: float, x: Callable[[float], float]) -> Iterator[Html]:
    yield from _bars(known, x)
    for outer, thickness in ((0.01, 1), (0.05, 4)):
        if outer in known and 1 - outer in known:
            ends = {"x1": x(known[outer]), "x2": x(known[1 - outer]), "y1": MIDDLE, "y2": MIDDLE}
            yield tag("line", **ends, stroke_width=thickness)
    if 0.25 in known and 0.75 in known:
        left, right = x(known[0.25]), x(known[0.75])
        width = f"{max(right - left, 1):.1f}"
        yield tag("rect", class_="middle", x=left, y=MIDDLE - 9, width=width, height=18)
    if 0.5 in known:
        at = x(known[0.5])
        yield tag("line", class_="median", x1=at, x2=at, y1=MIDDLE - 9, y2=MIDDLE + 9)
    yield tag("path", class_="mean", d=f"M{x(mean)} {MIDDLE - 5}l5 5l-5 5l-5 -5z")


def _bars(known: dict[float, float], x: Callable[[float], float]) -> Iterator[Html]:
    """Draw a histogram between the known quantiles: a bar's area is the share of values in it."""
    between = list(itertools.pairwise(known.items()))
    widths = [max(x(right) - x(left), 1) for (_, left), (_, right) in between]  # ties are still seen
    heights = [(high - low) / width for ((low, _), (high, _)), width in zip(between, widths, strict=True)]
    for ((_, left), _), width, height in zip(between, widths, heights, strict=True):
        tall = round(BARS * height / max(heights), 1)
        yield tag(
            "rect", class_="bar", x=x(left), y=round(BARS - tall, 1), width=round(width, 1), height=tall
        )
