"""Linkage with the lead variants of a study, by which a region is coloured."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unpooled.asking.question import Arrays
from unpooled.pictures.associations import Associations

Pairs = NDArray[Any]
"""Records of a lead variant and another, `lead` and `other` (rows of the tested variants), and their `r2`."""

_RECORD = np.dtype([("lead", np.uint32), ("other", np.uint32), ("r2", np.float32)])


def pairs(linkage: Arrays, tested: NDArray[np.uint32]) -> Pairs:
    """The pairs of a result table (`variant`, `other`, `r2`), given which variants were tested, rising."""
    (lead, other), known = rows_among(tested, linkage["variant"], linkage["other"])
    found = np.empty(int(known.sum()), _RECORD)
    found["lead"], found["other"] = lead[known], other[known]
    found["r2"] = np.asarray(linkage["r2"])[known]
    return found


def rows_among(
    tested: NDArray[np.uint32], *columns: NDArray[np.uint32]
) -> tuple[list[NDArray[np.int64]], NDArray[np.bool_]]:
    """Find columns of variants, (k,) each, among those tested: their rows, and where all are there."""
    rows = [np.minimum(np.searchsorted(tested, column), len(tested) - 1) for column in columns]
    return rows, np.all([tested[row] == column for row, column in zip(rows, columns, strict=True)], axis=0)


def around(
    associations: Associations, known: Pairs, inside: slice, points: NDArray[np.int64]
) -> dict[str, Any] | None:
    """The r² of some points, by their rows, with the strongest lead among the rows `inside`, for JSON.

    None where there is no lead; the r² of a variant that was not compared with it is None.
    """
    leads = np.unique(known["lead"]).astype(np.int64)
    leads = leads[(leads >= inside.start) & (leads < inside.stop)]
    if not len(leads):
        return None
    lead = int(leads[np.nanargmax(associations.neg_log10_p(leads))])
    of_lead = known[known["lead"] == lead]
    r2 = dict(zip(of_lead["other"].tolist(), of_lead["r2"].tolist(), strict=True))
    found = [r2.get(row) for row in points.tolist()]
    return {
        "lead": associations.id(np.array([lead]))[0],
        "r2": [None if value is None or np.isnan(value) else round(value, 4) for value in found],
    }
