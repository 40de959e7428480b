"""PLINK 1.9's `.adjusted`, which every association test can have beside its own report."""

from __future__ import annotations

from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from unpooled.formats.plink import Variants
from unpooled.formats.table import Column, Real, write_table
from unpooled.kernels import least_squares as codes
from unpooled.multiple_testing import Adjusted, adjust
from unpooled.panel import Panel
from unpooled.plan import Plan
from unpooled.step import Arrays

_ADJUSTED = ("UNADJ", "GC", "BONF", "HOLM", "SIDAK_SS", "SIDAK_SD", "FDR_BH", "FDR_BY")


def refused(code: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Which variants have an estimate that PLINK 1.9 says NA to, by their `code`: bool (m,)."""
    return np.isin(code, codes.REFUSED)


def as_plink(rows: Arrays) -> Arrays:
    """Result columns without the estimates that PLINK 1.9 says NA to."""
    unsaid = refused(rows["code"])[:, None]
    shown = {name: np.where(unsaid, np.nan, rows[name]) for name in ("beta", "se", "neg_log10_p")}
    return {**rows, **shown}


def statistic(rows: Arrays) -> NDArray[np.float64]:
    """What PLINK 1.9 adjusts, (m,): t or z of the variant, or the root of chi-square; NaN without a test."""
    if "chi_square" in rows:
        return np.sqrt(rows["chi_square"])
    shown = as_plink(rows)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(shown["beta"][:, 0] / shown["se"][:, 0])


def adjusted(rows: Arrays) -> Adjusted:
    """Adjusted P values of the variants."""
    return adjust(statistic(rows), rows["freedom"].astype(np.int64) if "freedom" in rows else None)


def write_adjusted(file: BinaryIO, panel: Panel, rows: Arrays, plan: Plan) -> None:
    """`.adjusted`: the variants with a P, from the smallest P on. PLINK prints INF where P has become 0."""
    found = adjusted(rows)
    variants = Variants(panel, rows)

    def block(part: slice) -> list[Column]:
        which = found.order[part]
        return [
            variants.chromosome(which),
            variants.name(which),
            *(
                Real(title, 10, p := found.columns[title][part], p <= 0, instead=b"INF")
                for title in _ADJUSTED
            ),
        ]

    write_table(file, len(found.order), block, variants.pool, ending=b" \n")
