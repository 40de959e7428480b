"""Estimates of several studies of the same effect, combined from sums over the studies.

With a study's estimate b and its weight w = 1 / SE^2: the fixed effect, Cochran's Q (Biometrics 1954), I^2
(Higgins and Thompson, Statistics in Medicine 2002) and the random effect of DerSimonian and Laird (Controlled
Clinical Trials 1986), as `plink1.9 --meta-analysis` computes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FixedEffect:
    """Holds m effects, float64 (m,) each; NaN where no study has an estimate or nothing is known of one."""

    name: ClassVar[str] = "meta-analysis"

    studies: np.ndarray
    """int64 (m,)"""
    effect: np.ndarray
    se: np.ndarray
    q: np.ndarray
    """Cochran's Q: chi-square with one degree of freedom less than there are studies."""
    between: np.ndarray
    """DerSimonian and Laird's variance of the effect between studies, 0 or more; 0 of a single study."""

    @classmethod
    def none(cls, studies: NDArray[np.int64]) -> FixedEffect:
        """Make effects of which nothing is known but how many studies have an estimate."""
        nothing = np.full(len(studies), np.nan)
        return cls(studies, nothing, nothing, nothing, np.zeros(len(studies)))

    def some(self, which: NDArray[np.bool_]) -> FixedEffect:
        """Select effects: bool (m,)."""
        each = (self.studies, self.effect, self.se, self.q, self.between)
        return FixedEffect(*(values[which] for values in each))

    @property
    def q_p(self) -> Floats:
        """P of Q; NaN of a single study."""
        from scipy.special import gammaincc  # slow to load, and few processes ask for P

        freedom = np.where(self.studies > 1, self.studies - 1, np.nan)
        return np.asarray(gammaincc(freedom / 2, self.q / 2))

    @property
    def i_squared(self) -> Floats:
        """Share of the variation between estimates beyond chance, in per cent; NaN for one study."""
        with np.errstate(invalid="ignore", divide="ignore"):
            share = 100 * (self.q - (self.studies - 1)) / self.q
        return np.where((self.studies > 1) & ~np.isnan(self.q), np.fmax(share, 0), np.nan)


def fixed_effect(
    studies: NDArray[np.int64], weights: Floats, effects: Floats, squares: Floats, weight_squares: Floats
) -> FixedEffect:
    """Compute the fixed effect from the sums over studies of 1, w, wb, wb^2 and w^2, (m,) each."""
    with np.errstate(invalid="ignore", divide="ignore"):
        combined = effects / weights
        # Less than nothing is rounding: where all studies agree.
        q = np.maximum(squares - effects * combined, 0)
        spread = (q - (studies - 1)) / (weights - weight_squares / weights)
        se = np.sqrt(1 / weights)
    several = (studies > 1) & np.isfinite(spread)
    none = studies == 0
    combined, se, q = (np.where(none, np.nan, values) for values in (combined, se, q))
    return FixedEffect(studies, combined, se, q, np.where(several, np.maximum(spread, 0), 0.0))


def random_weight(weight: Floats, between: Floats) -> Floats:
    """A study's weight where effects differ between studies: 1 / (SE^2 + between); 0 stays 0."""
    return np.asarray(weight / (1 + weight * between))
