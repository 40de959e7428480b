"""Estimates of several studies of the same effect, combined from sums over the studies.

With a study's estimate b and its weight w = 1 / SE^2: the fixed effect, Cochran's Q (Biometrics 1954), I^2
(Higgins and Thompson, Statistics in Medicine 2002) and the random effect of DerSimonian and Laird (Controlled
Clinical Trials 1986), as `plink1.9 --meta-analysis` computes them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FixedEffect:
    """Of m effects, float64 (m,) each; NaN where no study has an estimate."""

    studies: NDArray[np.int64]
    effect: Floats
    se: Floats
    q: Floats
    """Cochran's Q: chi-square with one degree of freedom less than there are studies."""
    between: Floats
    """DerSimonian and Laird's variance of the effect between studies, 0 or more; 0 of a single study."""

    @property
    def q_p(self) -> Floats:
        """P of Q; NaN of a single study."""
        from scipy.special import gammaincc  # slow to load, and few processes ask for P

        freedom = np.where(self.studies > 1, self.studies - 1, np.nan)
        return np.asarray(gammaincc(freedom / 2, self.q / 2))

    @property
    def i_squared(self) -> Floats:
        """How much of the variation between estimates is more than chance, in per cent; NaN of one study."""
        with np.errstate(invalid="ignore", divide="ignore"):
            share = 100 * (self.q - (self.studies - 1)) / self.q
        return np.where(self.studies > 1, np.fmax(share, 0), np.nan)


def fixed_effect(
    studies: NDArray[np.int64], weight: Floats, effect: Floats, square: Floats, weight_square: Floats
) -> FixedEffect:
    """From the sums over studies of 1, w, wb, wb^2 and w^2, (m,) each."""
    with np.errstate(invalid="ignore", divide="ignore"):
        combined = effect / weight
        # Less than nothing is rounding: where all studies agree.
        q = np.maximum(square - effect * combined, 0)
        spread = (q - (studies - 1)) / (weight - weight_square / weight)
        se = np.sqrt(1 / weight)
    several = (studies > 1) & np.isfinite(spread)
    none = studies == 0
    combined, se, q = (np.where(none, np.nan, values) for values in (combined, se, q))
    return FixedEffect(studies, combined, se, q, np.where(several, np.maximum(spread, 0), 0.0))


def random_weight(weight: Floats, between: Floats) -> Floats:
    """A study's weight where effects differ between studies: 1 / (SE^2 + between); 0 stays 0."""
    return np.asarray(weight / (1 + weight * between))
