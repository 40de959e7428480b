"""Credible sets of a study, by which a region marks its variants."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unpooled.asking.question import Arrays
from unpooled.pictures.associations import Associations
from unpooled.pictures.linkage import rows_among

Probabilities = NDArray[Any]
"""Records of the lead of a locus and a variant in it, `lead` and `other` (rows of the tested variants), the
`pip` of this, and the number of its credible `set` in the locus; 0 for none."""

_RECORD = np.dtype([("lead", np.uint32), ("other", np.uint32), ("pip", np.float64), ("set", np.int32)])


def probabilities(found: Arrays, tested: NDArray[np.uint32]) -> Probabilities:
    """The records of a result table (`variant`, `other`, `pip`, `credible_set`), given which variants were
    tested, rising."""
    (lead, other), known = rows_among(tested, found["variant"], found["other"])
    pip = np.asarray(found["pip"])
    known &= ~np.isnan(pip)
    records = np.empty(int(np.count_nonzero(known)), _RECORD)
    records["lead"], records["other"], records["pip"] = lead[known], other[known], pip[known]
    records["set"] = np.asarray(found["credible_set"])[known]
    return records


def around(
    associations: Associations, known: Probabilities, points: NDArray[np.int64]
) -> dict[str, list[Any]] | None:
    """The probabilities and sets of some points, by their rows, for JSON; None where none is in a locus.

    A variant of two loci has what the one says in which it is the more probable.
    """
    inside = known[np.isin(known["other"], points)]
    if not len(inside):
        return None
    best = {record["other"].item(): record for record in inside[np.argsort(inside["pip"], kind="stable")]}
    found = [best.get(row) for row in points.tolist()]
    keys = sorted({_key(record) for record in best.values() if record["set"]})
    places = {key: place for place, key in enumerate(keys)}
    return {
        "pip": [None if record is None else float(f"{record['pip']:.4g}") for record in found],
        "set": [None if record is None else places.get(_key(record)) for record in found],
        "sets": [_set(associations, known, *key) for key in keys],
    }


def _key(record: Any) -> tuple[int, int]:
    return int(record["lead"]), int(record["set"])


def _set(associations: Associations, known: Probabilities, lead: int, number: int) -> dict[str, Any]:
    size = int(np.count_nonzero((known["lead"] == lead) & (known["set"] == number)))
    return {"lead": associations.id(np.array([lead]))[0], "number": number, "variants": size}
