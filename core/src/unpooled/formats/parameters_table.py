"""The content of a file of parameters, or of quantiles, as a table for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from unpooled.pages.page import Html, section, table

_NOT_NUMBERS = ("name", "unit", "n", "note")


def shown(features: Sequence[Mapping[str, Any]]) -> Html:
    """Show the number of values of each feature, and its numbers to six digits; the file has every digit."""
    rows = [dict(_numbers(feature)) for feature in features]
    names = list(rows[0]) if rows else []
    notes = any("note" in feature for feature in features)
    heads = ["Column", "Unit", "Values", *map(_title, names), *(["Note"] if notes else [])]
    lines = (
        [
            feature["name"],
            feature.get("unit", ""),
            f"{feature['n']:,}",
            *(_short(row.get(name)) for name in names),
            *([feature.get("note", "")] if notes else []),
        ]
        for feature, row in zip(features, rows, strict=True)
    )
    caption = "From the values of all cohorts together, to six digits; the file has every digit."
    return section("Columns", table(caption, heads, lines, numbers=range(2, 3 + len(names))))


def _numbers(feature: Mapping[str, Any]) -> Iterator[tuple[str, float | None]]:
    """Parameters by name, and quantiles and elements each by its own."""
    for name, value in feature.items():
        if isinstance(value, Mapping):
            what = name.removesuffix("s") if name in ("quantiles", "elements") else ""
            yield from ((f"{what} {key}".strip(), number) for key, number in value.items())
        elif name not in _NOT_NUMBERS:
            yield name, value


def _title(name: str) -> str:
    words = name.replace("_", " ")
    return words[0].upper() + words[1:]


def _short(number: float | None) -> str:
    return "" if number is None else f"{number:.6g}"
