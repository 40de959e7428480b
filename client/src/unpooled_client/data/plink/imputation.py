"""Quality of a cohort's imputed variants, from the dosages of both haplotypes.

It is Minimac3's r²: of the dosages of all haplotypes in the file, each from 0 to 1, their variance over
p(1-p), where p is their mean: plink2's, from dosages with phase (tried with v2.00a3.5).
"""

from __future__ import annotations

import numpy as np

from unpooled.kernels.dosages import COPY


def r2_of(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Minimac3's r² of variants: float64 (…, n) dosages of both haplotypes, NaN where there is none."""
    both = np.concatenate([first, second], axis=-1)
    known = np.count_nonzero(~np.isnan(both), axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean, square = np.nansum(both, axis=-1) / known, np.nansum(both**2, axis=-1) / known
        return np.asarray((square - mean**2) / (mean * (1 - mean)))


def in_units(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Haplotypes' dosages as a .pgen keeps them: their sum and their difference in 1/16384."""
    total, difference = np.floor((first + second) * COPY + 0.5), np.rint((first - second) * COPY)
    return (total + difference) / (2 * COPY), (total - difference) / (2 * COPY)
