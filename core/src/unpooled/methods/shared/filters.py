"""Filters of variants by the pool's counts, --geno, --hwe and --maf, and what is reported of those that fail.

As in PLINK 1.9, allele frequencies and missing calls are reported for all variants, the Hardy-Weinberg test
for those that pass --geno, and the association test for those that pass all three.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from unpooled.asking.procedure import Rows
from unpooled.asking.question import Arrays
from unpooled.asking.result_columns import Chosen
from unpooled.methods.shared.dosage_table import DosageTable
from unpooled.methods.shared.genotype_table import GenotypeTable
from unpooled.methods.shared.options import DOSAGES, MACH_R2_FILTER, MOST_MACH_R2
from unpooled.methods.shared.summary import VARIANTS
from unpooled.plan.common_options import GENO, HWE, MAF
from unpooled.plan.plan import Plan
from unpooled.plan.result_files import FILES

FILTERED = "filtered"
"""The result table of variants that do not pass: `variant`, the columns of the counted reports, and whether
they pass --geno."""

COUNTED = tuple(file for file in FILES if file != "assoc")
"""Reports of genotype counts alone, which also have lines for variants that do not pass."""

_TOLERANCE = 2.0**-44


def reports_filtered(plan: Plan) -> bool:
    """Tell whether a report of the study has lines about variants that do not pass."""
    return not set(COUNTED).isdisjoint(plan.files)


def passing_geno(table: GenotypeTable, plan: Plan) -> np.ndarray:
    """Mark the variants with no more than the allowed share of missing calls: bool (m,).

    As in PLINK 1.9 the share of nobody's calls, on Y in a pool without men, is more than any.
    """
    if GENO.of(plan) >= 1 or not table.people:
        return np.full(len(table.counts), GENO.of(plan) >= 1)
    missing = table.people - table.counts.sum(axis=(1, 2), dtype=np.int64)
    return np.asarray(missing <= table.people * GENO.of(plan) * (1 + _TOLERANCE))


def passing(table: GenotypeTable, plan: Plan) -> np.ndarray:
    """Mark the variants that pass --geno, --hwe and --maf: bool (m,)."""
    found = passing_geno(table, plan)
    found &= passing_hwe(table, plan)
    found &= passing_maf(table, plan)
    return found


def of_calls(plan: Plan) -> bool:
    """Tell whether a plan filters by calls, which a study of dosages reads for nothing else."""
    return bool(GENO.of(plan) < 1 or HWE.of(plan) > 0)


def counts_calls(plan: Plan) -> bool:
    """Tell whether the genotypes of a study's variants are counted."""
    return not DOSAGES.of(plan) or of_calls(plan)


def passing_of_dosages(table: DosageTable, calls: GenotypeTable | None, plan: Plan) -> np.ndarray:
    """Mark the variants that pass --maf and --mach-r2-filter, and by their calls, which a plan may filter by,
    --geno and --hwe: bool (m,).
    """
    found = passing_maf(table, plan) & passing_mach_r2(table, plan)
    if calls is not None:
        found &= passing_geno(calls, plan) & passing_hwe(calls, plan)
    return np.asarray(found)


def passing_hwe(table: GenotypeTable, plan: Plan) -> np.ndarray:
    """Mark the variants that pass --hwe, by the test of everyone, or of a case/control trait's controls: bool
    (m,). Variants without a test pass.

    plink2, whose rules a study of dosages has, makes no difference between cases and controls.
    """
    if HWE.of(plan) <= 0:
        return np.ones(len(table.counts), bool)
    row = "all" if plan.trait == "quantitative" or DOSAGES.of(plan) else "control"
    some_order = np.ones(len(table.counts), bool)
    p = replace(table, files=("hwe",), hwe_rows=(row,)).columns(some_order)[f"{row}_hwe_p"]
    return np.asarray(~(p < HWE.of(plan)))


def passing_maf(table: GenotypeTable | DosageTable, plan: Plan) -> np.ndarray:
    """Mark the variants that pass --maf, with PLINK's tolerance: bool (m,).

    Without founders the frequency is 0/0, and the variant passes.
    """
    if MAF.of(plan) <= 0:
        return np.ones(len(table.counts), bool)
    first, second = table.frequency_alleles()
    with np.errstate(invalid="ignore"):
        return np.asarray(~(np.minimum(first, second) / (first + second) < MAF.of(plan) * (1 - _TOLERANCE)))


def passing_mach_r2(table: DosageTable, plan: Plan) -> np.ndarray:
    """Mark the variants whose MaCH R², by plink2's rule, is from the plan's minimum to 2: bool (m,).

    Variants without one pass.
    """
    if MACH_R2_FILTER.of(plan) <= 0:
        return np.ones(len(table.counts), bool)
    found = table.mach_r2()
    least, most = MACH_R2_FILTER.of(plan) * (1 - _TOLERANCE), MOST_MACH_R2 * (1 + _TOLERANCE)
    return np.asarray(~((found < least) | (found > most)))


def filtered(plan: Plan, variants: np.ndarray, table: GenotypeTable, first_is_a1: np.ndarray) -> Rows:
    """Rows of variants (panel indices) that do not pass."""
    reported = replace(table, files=tuple(file for file in table.files if file in COUNTED))
    columns = reported.columns(first_is_a1)
    return Rows(FILTERED, {"variant": variants, **columns, "passes_geno": passing_geno(table, plan)})


def lines(file: str, tables: Mapping[str, Arrays]) -> Arrays:
    """Result columns of the variants that a report has lines about, in the order of the panel."""
    rows = tables[VARIANTS]
    if file not in COUNTED or FILTERED not in tables:
        return rows
    others = tables[FILTERED]
    # By their places in both tables one after the other.
    told = np.arange(len(others["variant"])) if file != "hwe" else np.flatnonzero(others["passes_geno"])
    places = np.append(np.arange(len(rows["variant"])), len(rows["variant"]) + told)
    variant = np.append(rows["variant"], others["variant"][told])
    return Chosen(rows, others, places[np.argsort(variant, kind="stable")])
