"""Sizes of a cohort's data that decide how much will leave: counts by name. They stay at the cohort."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from unpooled.panel.panel import Panel

Sizes: TypeAlias = Mapping[str, int]

VARIANTS, LIST_BYTES = "variants", "list_bytes"
"""All variants of a cohort's own list, and the bytes of that list."""

LONGEST_ID, LONGEST_ALLELE = "longest_id", "longest_allele"
"""Bytes of the longest ID, and of the longest allele, in it; no name of a variant by place is longer."""

AUTOSOMAL = "variants_autosomal"
LISTED = "listed"
"""Variants of the coordinator's list, where a study goes by one."""

ONE_VARIANT: Sizes = {VARIANTS: 1, AUTOSOMAL: 1, LISTED: 1}

_PLACES = {"autosomal": 1, "x": 1, "y": 2, "xy": 3, "mt": 4}
"""Parts of the variants, in the order of a panel; but for the first how far the code is from the last
autosome's."""


def of_panel(panel: Panel, autosomes: int) -> dict[str, int]:
    """The sizes of a cohort's own list of variants."""
    autosomal, beyond = np.split(panel.counts, [autosomes + 1])
    counts = [int(autosomal.sum()), *beyond.tolist()]
    parts = {_key(place): count for place, count in zip(_PLACES, counts, strict=False)}
    longest = {LONGEST_ID: panel.name.dtype.itemsize, LONGEST_ALLELE: max(map(len, panel.alleles), default=0)}
    return {VARIANTS: len(panel), **parts, LIST_BYTES: panel.canonical_bytes, **longest}


def chromosomes(sizes: Sizes | None, autosomes: int) -> np.ndarray | None:
    """The chromosome codes of a panel of these sizes: uint8 (variants,). None if they are not known."""
    if not sizes or VARIANTS not in sizes:
        return None
    codes = [code + (autosomes if place != "autosomal" else 0) for place, code in _PLACES.items()]
    return np.repeat(np.array(codes, np.uint8), [sizes.get(_key(place), 0) for place in _PLACES])


def _key(place: str) -> str:
    return f"variants_{place}"
