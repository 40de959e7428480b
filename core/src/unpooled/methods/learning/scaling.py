"""The scaling of columns of numbers in a study of models, as each one's line in the schema says.

Quartiles and lambdas are found as by a normalization whose sums nobody reads; of a logarithm, and of
deviations, nothing is asked. All are of all rows, in whatever fold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unpooled.asking.procedure import Asks, Each, Rows, Study
from unpooled.asking.question import Arrays
from unpooled.fitted.scaler import Robust
from unpooled.methods.tables import MOST_COMPARED, RANGE_TELLS, SEEN_ONLY, FindQuartilesByBits
from unpooled.methods.tables.bends import Bends
from unpooled.methods.tables.order import between, find_elements, interpolated
from unpooled.methods.tables.ranges import FindRangeByBits
from unpooled.methods.tables.signs import FindDirection, SearchBySigns, by_signs
from unpooled.methods.tables.table import places_under
from unpooled.plan.encodings import ABOVE, ROBUST, YEO_JOHNSON
from unpooled.plan.plan import Plan

SCALES = "scales"
"""The result table: the parameters of each feature that has some."""
ASKED = (FindQuartilesByBits, FindRangeByBits, FindDirection, SearchBySigns)

_QUARTILES = (*Robust.quantiles,)
PARAMETERS = (*_QUARTILES, "lambda", "centre")


@dataclass(frozen=True, eq=False)
class Scales:
    """The parameters of some features."""

    index: np.ndarray
    """int64 (scaled,): their places among all"""
    found: Arrays
    """float64 (scaled,) by `PARAMETERS`; NaN where a feature's scaling has no such parameter"""

    @property
    def bends(self) -> Bends | None:
        """The features that each cohort transforms; None if there are none."""
        bent = np.isfinite(self.found["lambda"])
        if not bent.any():
            return None
        return Bends(self.index[bent], self.found["centre"][bent], self.found["lambda"][bent])

    def units(self, plan: Plan) -> tuple[float, ...]:
        """The unit of each feature before the outcome, 0 for its deviation; empty if all are 0."""
        found = np.zeros(len(plan.features))
        robust = np.isfinite(self.found["median"])
        quartiles = np.array([self.found[name][robust] for name in _QUARTILES]).T
        found[self.index[robust]] = _ranges(quartiles)
        before = [unit for unit, c in zip(found.tolist(), plan.features, strict=True) if not c.is_outcome]
        return tuple(before) if any(before) else ()

    def report(self) -> Iterator[Rows]:
        """Report the parameters; nothing if there are none."""
        if len(self.index):
            yield Rows(SCALES, {"index": self.index, **self.found})

    def of(self, place: int) -> dict[str, float]:
        """The parameters of the feature at a place, by name."""
        own = self.index == place
        return {name: float(x) for name in PARAMETERS for x in self.found[name][own] if np.isfinite(x)}

    def to_json(self) -> list[dict[str, Any]]:
        """A line for each of these features."""
        return [{"feature": place, **self.of(place)} for place in self.index.tolist()]

    @classmethod
    def from_json(cls, lines: Sequence[Mapping[str, Any]]) -> Scales:
        """The scales in such lines."""
        found = {name: np.array([line.get(name, np.nan) for line in lines], float) for name in PARAMETERS}
        return cls(np.array([line["feature"] for line in lines], np.int64), found)


def _ranges(quartiles: np.ndarray) -> np.ndarray:
    """Interquartile ranges, as RobustScaler has them: 1 where both quartiles are one value."""
    scaling = Robust([{"n": 1, **dict(zip(_QUARTILES, row, strict=True))} for row in quartiles.tolist()])
    return np.asarray(scaling.divisor * scaling.unit)


def find_scales(study: Study, n: np.ndarray) -> Asks[Scales]:
    """Find quartiles and lambdas of the features of `n` values, int64 (features,), that want them; report."""
    plan, parts = study.plan, []
    if places := places_under(ROBUST, plan):
        own, quantiles = n[[*places]], [*Robust.quantiles.values()]
        found = yield from find_elements(study, FindQuartilesByBits, own, between(quantiles, own))
        pairs = found.reshape(len(own), len(quantiles), 2)
        values = [interpolated(q, own, *pairs[:, k].T) for k, q in enumerate(quantiles)]
        parts.append(_part(places, dict(zip(_QUARTILES, values, strict=True))))
    if places := places_under(YEO_JOHNSON, plan):
        own = n[[*places]]
        (bends,) = yield Each([by_signs(study, own, np.zeros(len(own)))])
        parts.append(_part(places, {"lambda": bends.power, "centre": bends.centre}))
    scales = _together(parts)
    yield from scales.report()
    return scales


def _part(places: Sequence[int], known: Arrays) -> Scales:
    nothing = np.full(len(places), np.nan)
    return Scales(np.array(places), {name: known.get(name, nothing) for name in PARAMETERS})


def _together(parts: Sequence[Scales]) -> Scales:
    index = np.concatenate([np.zeros(0, np.int64), *(part.index for part in parts)])
    found = {
        name: np.concatenate([np.zeros(0), *(part.found[name] for part in parts)]) for name in PARAMETERS
    }
    return Scales(index, found)


def scales_in(tables: Mapping[str, np.ndarray]) -> Scales:
    """The scales in the columns of all result tables, by table and name."""
    if f"{SCALES}.index" not in tables:
        return _together([])
    return Scales(tables[f"{SCALES}.index"], {name: tables[f"{SCALES}.{name}"] for name in PARAMETERS})


def scaling_of(place: int, plan: Plan, scales: Scales) -> dict[str, Any]:
    """Return the scaling of the feature at a place for a model file; empty of one that is standardised."""
    scaling, numbers = plan.features[place].scaling, scales.of(place)
    return {"method": scaling, **numbers} if numbers or scaling in ABOVE else {}


def too_many(plan: Plan) -> str:
    """Say of which scaling there are more columns than are compared at once; empty if of none."""
    for kind in (FindQuartilesByBits, FindRangeByBits):
        most = MOST_COMPARED // kind.asked_under(plan)
        if len(places_under(kind.scaling, plan)) > most:
            return f"at most {most:,} columns can have the scaling {kind.scaling}"
    return ""


def tells(plan: Plan) -> str:
    """Say what becomes known of single people's values by the scalings of a plan; empty if nothing does."""
    said = {ROBUST: f"{Robust.tells}; {SEEN_ONLY}", YEO_JOHNSON: RANGE_TELLS}
    return "; ".join(text for scaling, text in said.items() if places_under(scaling, plan))
