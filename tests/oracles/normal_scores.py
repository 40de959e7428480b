"""Bins of a phenotype and their normal scores, from the values of all cohorts, in a slow way."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import norm, rankdata

from unpooled.kernels.ordered_keys import keys
from unpooled.methods.regression.normal_scores import fewest_in_bins
from unpooled.plan.plan import Plan


def narrowest(parts: Sequence[np.ndarray], fewest: int, start: int = 0, bits: int = 64) -> list[int]:
    """The least keys of the narrowest intervals with so many people without any one part."""
    if sum(min(len(part), fewest) for part in parts) < 2 * fewest:
        return []
    if bits == 64 - 48:
        return [start]
    middle = start + (1 << (bits - 1))
    below = [part[part < np.uint64(middle)] for part in parts]
    above = [part[part >= np.uint64(middle)] for part in parts]
    found = [
        least
        for half, at in ((below, start), (above, middle))
        for least in narrowest(half, fewest, at, bits - 1)
    ]
    return found or [start]


def cut(values: np.ndarray, cohort: np.ndarray, plan: Plan) -> np.ndarray:
    """The number of each person's bin, from 1: float64 (n,); NaN is who is left out."""
    known = ~np.isnan(values)
    own = [keys(values[known & (cohort == k)]) for k in range(plan.cohorts)]
    edges = np.array(narrowest(own, fewest_in_bins(plan, int(known.sum())))[1:], np.uint64)
    return np.where(known, np.searchsorted(edges, keys(values), side="right") + 1.0, np.nan)


def scored(values: np.ndarray, cohort: np.ndarray, plan: Plan) -> np.ndarray:
    """The normal score of each person, of the mean rank in a bin: float64 (n,); NaN is who is left out."""
    bins = cut(values, cohort, plan)
    known = ~np.isnan(bins)
    bins[known] = norm.ppf((rankdata(bins[known]) - 0.5) / max(1, known.sum()))
    return bins
