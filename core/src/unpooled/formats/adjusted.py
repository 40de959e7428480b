"""PLINK 1.9's `.adjusted`, which every association test can have beside its own report."""

from __future__ import annotations

from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from unpooled.asking.question import Arrays
from unpooled.formats.association_tests import Which, of_test
from unpooled.formats.layout import Layout
from unpooled.formats.plink import Variants
from unpooled.formats.table import Column, Real, blocks, write_table
from unpooled.kernels import least_squares as codes
from unpooled.kernels.multiple_testing import Adjusted, adjust
from unpooled.panel.panel import Panel

_ADJUSTED = ("UNADJ", "GC", "BONF", "HOLM", "SIDAK_SS", "SIDAK_SD", "FDR_BH", "FDR_BY")


def refused(code: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Mark the variants whose estimate PLINK 1.9 prints as NA, by their `code`: bool (m,)."""
    return np.isin(code, codes.REFUSED)


def reported(rows: Arrays, name: str, part: Which, test: NDArray[np.int64] | int = 0) -> NDArray[np.float64]:
    """`beta`, `se` or `neg_log10_p` of one test of some rows, (k,); NaN where PLINK 1.9 says NA."""
    return np.where(refused(rows["code"][part]), np.nan, of_test(rows[name], part, test))


def statistic(rows: Arrays) -> NDArray[np.float64]:
    """Return the statistic that PLINK 1.9 adjusts, (m,): t or z of the variant, or the root of chi-square, of
    the joint test if there is one; NaN without a test.
    """
    found = np.empty(len(rows["variant"]))
    with np.errstate(invalid="ignore", divide="ignore"):
        for part in blocks(len(found)):
            if "chi_square" in rows:
                found[part] = np.sqrt(rows["chi_square"][part])
            elif "joint" in rows:
                found[part] = np.sqrt(np.where(refused(rows["code"][part]), np.nan, rows["joint"][part]))
            else:
                found[part] = reported(rows, "beta", part) / reported(rows, "se", part)
    return found


def adjusted(rows: Arrays) -> Adjusted:
    """Adjusted P values of the variants."""
    freedom = None if "joint" in rows else rows.get("freedom")
    return adjust(statistic(rows), freedom, rows.get("joint_freedom"))


def write_adjusted(file: BinaryIO, panel: Panel, rows: Arrays, layout: Layout) -> None:
    """`.adjusted`: the variants with a P, from the smallest P on. PLINK prints INF where P has become 0."""
    found = adjusted(rows)
    variants = Variants(panel, rows)
    titles = [title for title in _ADJUSTED if title != "GC" or "joint" not in rows]

    def block(part: slice) -> list[Column]:
        which, columns = found.order[part], found.columns(part)
        return [
            variants.chromosome(which),
            variants.name(which),
            *(Real(title, 10, p := columns[title], p <= 0, instead=b"INF") for title in titles),
        ]

    write_table(file, len(found.order), block, variants.pool, ending=b" \n")
