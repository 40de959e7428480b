"""A study in a few numbers: who and what is in it, and its genomic inflation."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from unpooled.asking.procedure import Rows
from unpooled.asking.question import Arrays
from unpooled.formats import adjusted
from unpooled.kernels.statistics import genomic_inflation

POOL = "pool"
"""The result table that a census gives: one row, of the people with complete data, and of case/control
traits how many of them are cases and controls."""

FREQUENCIES = "frequencies"
"""The result table of a study that counts frequencies far from the pool's: a row per chunk with variants on
autosomes, by the first of the chunk, and `far`: over how many variants and cohorts they are."""

VARIANTS = "variants"
"""The result table of every test: a row per variant."""

FREQUENCIES_FAR = "frequencies_far"
"""Key in a summary of the sum of that table's counts."""

Summary = dict[str, int | float | None]


def pool(people: int, cases: int | None = None, controls: int | None = None) -> Rows:
    """The row of `POOL`. For a quantitative trait there are neither cases nor controls."""
    sizes = {"people": people, "cases": cases, "controls": controls}
    known = {name: np.array([size]) for name, size in sizes.items() if size is not None}
    return Rows(POOL, {"variant": np.zeros(1, np.uint32), **known})


def summarise(tables: Mapping[str, Arrays]) -> Summary:
    """People, cases, controls, variants, genomic inflation, and over how many variants and cohorts allele
    frequencies are far from the pool's; None for what there is not."""
    sizes, variants = tables[POOL], tables[VARIANTS]
    inflation = genomic_inflation(chi_square(variants))
    return {
        **{name: int(sizes[name][0]) if name in sizes else None for name in ("people", "cases", "controls")},
        "variants": len(variants["variant"]),
        "genomic_inflation": None if math.isnan(inflation) else inflation,
        FREQUENCIES_FAR: int(tables[FREQUENCIES]["far"].sum()) if FREQUENCIES in tables else None,
    }


def chi_square(variants: Arrays) -> np.ndarray:
    """The statistic whose median is the genomic inflation: float64 (m,), NaN where PLINK 1.9 has no test.

    Of a regression it is the square of t or z, as PLINK takes it, whatever the degrees of freedom.
    """
    if "chi_square" in variants:
        return variants["chi_square"]
    if "beta" not in variants:
        return np.empty(0)
    statistic = adjusted.statistic(variants)
    return np.square(statistic, out=statistic)
