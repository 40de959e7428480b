"""Writes the names and shapes of the weights of a study's networks into the file in which core has them.

python -m unpooled_networks.layouts core/src/unpooled/fitted/image_layouts.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch

from unpooled_networks.studies import NETWORKS, build

_CHANNELS, _SCORES = 1009, 1013
"""Sizes that no layer has by itself: they show where a layout depends on the images and the outcome."""


def layouts() -> str:
    """Names and shapes of the weights of each network, as JSON."""
    found = {name: _layout(name) for name in NETWORKS}
    lines = (f"{json.dumps(name)}: [\n  {_joined(layout)}\n ]" for name, layout in found.items())
    return "{\n " + ",\n ".join(lines) + "\n}\n"


def _layout(name: str) -> list[tuple[str, list[int | str]]]:
    stands_for: dict[int, int | str] = {_CHANNELS: "channels", _SCORES: "scores"}
    with torch.device("meta"):
        module = build(name, (_CHANNELS, 1, 1, _SCORES))
    return [(key, [stands_for.get(n, n) for n in of.shape]) for key, of in module.named_parameters()]


def _joined(layout: list[tuple[str, list[int | str]]]) -> str:
    return ",\n  ".join(map(json.dumps, layout))


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(layouts(), encoding="utf-8")
