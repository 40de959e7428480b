"""The browser's tokens, read from its own file: colours in pairs of light and dark, and sizes."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("tokens.css")
_PAIR = re.compile(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);")
_SIZE = re.compile(r"--([\w-]+): ([\d.]+)(rem|px);")
_REM = 16.0  # pixels, where a reader has chosen no other


@cache
def colours(*, dark: bool) -> dict[str, str]:
    """Every colour by its name, such as `accent-soft`."""
    return {name: (light, night)[dark] for name, light, night in _PAIR.findall(_text())}


@cache
def sizes() -> dict[str, float]:
    """Sizes and distances by their names, in the browser's pixels."""
    return {
        name: float(size) * (_REM if unit == "rem" else 1.0) for name, size, unit in _SIZE.findall(_text())
    }


@cache
def _text() -> str:
    return FILE.read_text("utf-8")
