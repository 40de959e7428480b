"""The meta-analysis of the cohorts' own estimates, with the columns of `plink1.9 --meta-analysis`.

Beside them the standard errors. PLINK prints four decimals of an effect, here it is six digits.
"""

from __future__ import annotations

from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from unpooled.asking.question import Arrays
from unpooled.formats import titles
from unpooled.formats.layout import Layout
from unpooled.formats.plink import Variants
from unpooled.formats.table import Column, Real, Whole, write_table
from unpooled.kernels.statistics import normal_neg_log10_p, p_value
from unpooled.panel.panel import Panel

_DIGITS = 6
OF_EFFECTS = ("fixed", "fixed_se", "random", "random_se")


def write_meta(file: BinaryIO, panel: Panel, rows: Arrays, layout: Layout) -> None:
    """`.meta`: a line per variant, NA where too few cohorts have an estimate of their own."""
    variants = Variants(panel, rows)
    odds = layout.odds
    effect = titles.ODDS_RATIO if odds else titles.BETA
    random_effect = titles.RANDOM_ODDS_RATIO if odds else titles.RANDOM_BETA

    def block(part: slice) -> list[Column]:
        fixed, fixed_se, random, random_se = (rows[f"across_{name}"][part] for name in OF_EFFECTS)

        def shown(values: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.exp(values) if odds else values

        def p(z: NDArray[np.float64]) -> NDArray[np.float64]:
            return p_value(normal_neg_log10_p(z))

        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return [
                variants.chromosome(part),
                variants.position(part),
                variants.name(part),
                variants.a1(part),
                variants.a2(part),
                Whole(titles.STUDIES.plink, 4, rows["across_studies"][part]),
                Real(titles.P.plink, 12, p(fixed / fixed_se)),
                Real(titles.RANDOM_P.plink, 12, p(random / random_se)),
                Real(effect.plink, 10, shown(fixed), digits=_DIGITS),
                Real(random_effect.plink, 10, shown(random), digits=_DIGITS),
                Real(titles.Q_P.plink, 8, rows["across_q_p"][part]),
                Real(titles.I_SQUARED.plink, 8, rows["across_i_squared"][part]),
                Real(titles.SE.plink, 10, fixed_se, digits=_DIGITS),
                Real(titles.RANDOM_SE.plink, 10, random_se, digits=_DIGITS),
            ]

    write_table(file, len(variants), block, variants.pool)
