"""PLINK 1.9's reports of a regression: `.assoc.linear` and `.assoc.logistic`.

Each writer takes an open binary file, the panel, the result columns and the layout; what the columns are says
`unpooled.methods.regression.results`. A variant has a row for ADD, then for each covariate
and each interaction, then on X for SEX and that with SEX.
"""

from __future__ import annotations

from typing import BinaryIO

import numpy as np

from unpooled.asking.question import Arrays
from unpooled.formats import titles
from unpooled.formats.adjusted import reported
from unpooled.formats.association_tests import lines_of, tests, with_joint_test
from unpooled.formats.layout import Layout
from unpooled.formats.plink import Variants
from unpooled.formats.table import Column, Real, Text, Whole, write_table
from unpooled.kernels.statistics import p_value, with_limits
from unpooled.panel.panel import Panel


def write_report(file: BinaryIO, panel: Panel, rows: Arrays, layout: Layout) -> None:
    """`.assoc.linear`; or `.assoc.logistic`, with odds ratios, or their logarithms with `beta`."""
    odds = layout.odds
    variants = Variants(panel, rows, tests(layout, rows))
    lines = lines_of(layout, panel, rows)
    effect = titles.ODDS_RATIO if odds else titles.BETA

    def block(part: slice) -> list[Column]:
        variant, test = lines.of(part)
        beta, se, neg_log10_p = (
            reported(rows, name, variant, test) for name in ("beta", "se", "neg_log10_p")
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            statistic = beta / se
        shown, *ends = with_limits(beta, se, layout.limits, odds=odds)
        limits = [
            Real(title, 8, end) for title, end in zip(titles.of_limits(layout.limits), ends, strict=True)
        ]
        statistic, neg_log10_p = with_joint_test(rows, (variant, test), statistic, neg_log10_p)
        return [
            variants.chromosome(variant),
            variants.name(variant),
            variants.position(variant),
            variants.a1(variant),
            Text(titles.TEST.plink, 10, variants.labels + test),
            Whole(titles.PEOPLE.plink, 8, rows["n"][variant]),
            Real(effect.plink, 10, shown),
            *([Real(titles.SE.plink, 8, se), *limits] if layout.limits else []),
            Real(titles.T.plink, 12, statistic),
            Real(titles.P.plink, 12, p_value(neg_log10_p)),
        ]

    write_table(file, len(lines), block, variants.pool, header_ending=b" \n")
