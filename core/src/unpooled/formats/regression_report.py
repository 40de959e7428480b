"""PLINK 1.9's reports of a regression: `.assoc.linear` and `.assoc.logistic`.

Each writer takes an open binary file, the panel, the result columns and the plan; what the columns are says
`unpooled.methods.regression.results`. A variant has a row for ADD, then for each covariate
and each interaction, then on X for SEX and that with SEX.
"""

from __future__ import annotations

from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from unpooled.asking.question import Arrays
from unpooled.formats import titles
from unpooled.formats.adjusted import reported
from unpooled.formats.association_tests import Lines, tests, tests_each, with_joint_test
from unpooled.formats.plink import Variants
from unpooled.formats.table import Column, Real, Text, Whole, write_table
from unpooled.kernels.statistics import normal_quantile, p_value
from unpooled.panel.panel import Panel
from unpooled.plan.common_options import BETA, CI
from unpooled.plan.floors import CASE_CONTROL
from unpooled.plan.plan import Plan


def write_report(file: BinaryIO, panel: Panel, rows: Arrays, plan: Plan) -> None:
    """`.assoc.linear`; or `.assoc.logistic`, with odds ratios, or their logarithms with `beta`."""
    odds = plan.trait == CASE_CONTROL and not BETA.of(plan)
    variants = Variants(panel, rows, tests(plan, rows))
    lines = Lines(tests_each(plan, panel, rows))
    reach = normal_quantile(1 - (1 - CI.of(plan)) / 2) if CI.of(plan) else 0.0
    percent = int(CI.of(plan) * 100 + 1e-9)
    effect = titles.ODDS_RATIO if odds else titles.BETA

    def shown(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.exp(values) if odds else values

    def block(part: slice) -> list[Column]:
        variant, test = lines.of(part)
        beta, se, neg_log10_p = (
            reported(rows, name, variant, test) for name in ("beta", "se", "neg_log10_p")
        )
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            statistic = beta / se
            limits: list[Column] = [
                Real(titles.SE.plink, 8, se),
                Real(f"L{percent}", 8, shown(beta - reach * se)),
                Real(f"U{percent}", 8, shown(beta + reach * se)),
            ]
            values = shown(beta)
        statistic, neg_log10_p = with_joint_test(rows, (variant, test), statistic, neg_log10_p)
        return [
            variants.chromosome(variant),
            variants.name(variant),
            variants.position(variant),
            variants.a1(variant),
            Text(titles.TEST.plink, 10, variants.labels + test),
            Whole(titles.PEOPLE.plink, 8, rows["n"][variant]),
            Real(effect.plink, 10, values),
            *(limits if CI.of(plan) else []),
            Real(titles.T.plink, 12, statistic),
            Real(titles.P.plink, 12, p_value(neg_log10_p)),
        ]

    write_table(file, len(lines), block, variants.pool, header_ending=b" \n")
