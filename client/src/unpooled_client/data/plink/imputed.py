"""Quality of this cohort's imputed variants, and the filter of poor ones: --minimac3-r2-filter.

The quality is Minimac3's r²: of the dosages of all haplotypes in the file, each from 0 to 1, their variance
over p(1-p), where p is their mean. It is plink2's, from dosages with phase (tried with v2.00a3.5); of a VCF
without them it is what its imputation wrote into INFO. Where all people have the same there is none, and the
variant is kept, as in plink2. It stays at the cohort: a variant that is left out is one that it lacks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unpooled.asking.cohort import COPY
from unpooled_client.data.findings.report import Code, Report

if TYPE_CHECKING:
    from unpooled_client.data.options import DataOptions
    from unpooled_client.data.plink.pgen import PgenFile
    from unpooled_client.data.plink.variants import Variants


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


def well_imputed(variants: Variants, genotypes: PgenFile, options: DataOptions, report: Report) -> Variants:
    """The variants that --minimac3-r2-filter leaves; the report hears how many it does not."""
    least = options.minimac3_r2_filter
    if least is None:
        return variants
    written = None if options.quality is None else np.memmap(options.quality, "<f4", "r")
    poor, known = np.zeros(len(variants), bool), 0
    for rows, part in variants.parts():
        quality = genotypes.minimac3_r2(part.row) if written is None else written[part.row]
        poor[rows] = quality < least
        known += int(np.count_nonzero(~np.isnan(quality)))
    report.summary["imputation"] = {
        "variants with a quality": known,
        f"left out, below {least:g}": int(np.count_nonzero(poor)),
    }
    if poor.all():
        report.error(
            Code.NO_VARIANT_LEFT,
            f"no variant is left after --minimac3-r2-filter {least:g}",
            file=genotypes.path,
            remedy="Choose a smaller number, or look whether the file has phased dosages.",
        )
        return variants
    if poor.any():
        out = int(np.count_nonzero(poor))
        report.note(Code.VARIANT_NOT_CHOSEN, "a variant is left out as was asked", count=out)
    return variants.take(~poor)
