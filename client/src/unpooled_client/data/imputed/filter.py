"""The filter of poorly imputed variants: --minimac3-r2-filter.

Their quality is that of `unpooled_client.data.plink.imputation`; of a VCF without phased dosages it is what
its imputation wrote into INFO. Where all people have the same there is none, and the variant is kept, as in
plink2. It stays at the cohort: a variant that is left out is one that it lacks.
"""

from __future__ import annotations

import numpy as np

from unpooled_client.data.findings.report import Code, Report
from unpooled_client.data.options import DataOptions
from unpooled_client.data.plink.pgen import PgenFile
from unpooled_client.data.plink.variants import Variants


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
