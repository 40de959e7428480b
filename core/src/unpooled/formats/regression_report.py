"""PLINK 1.9's reports of a regression: `.assoc.linear` and `.assoc.logistic`.

Each writer takes an open binary file, the panel, the result columns and the plan; what the columns are says
the algorithms' `regression.pool`. A variant has a row for ADD, then for each covariate
and each interaction, then on X for SEX and that with SEX.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from unpooled.asking.question import Arrays
from unpooled.formats import glm, meta, plink, ssf, titles
from unpooled.formats.adjusted import reported, write_adjusted
from unpooled.formats.association_tests import Lines, tests, tests_each, with_joint_test
from unpooled.formats.clumped import write_clumped
from unpooled.formats.plink import Variants
from unpooled.formats.table import Column, Real, Text, Whole, write_table
from unpooled.kernels.statistics import normal_quantile, p_value
from unpooled.panel.panel import Panel
from unpooled.plan.clump_option import CLUMPED
from unpooled.plan.common_options import BETA, CI
from unpooled.plan.firth_option import ALWAYS, FALLBACK, NEVER, choice
from unpooled.plan.heterogeneity_option import META
from unpooled.plan.plan import Plan


def write_linear(file: BinaryIO, panel: Panel, rows: Arrays, plan: Plan) -> None:
    """`.assoc.linear`."""
    _write(file, panel, rows, plan, odds=False)


def write_logistic(file: BinaryIO, panel: Panel, rows: Arrays, plan: Plan) -> None:
    """`.assoc.logistic`: odds ratios, or their logarithms with `beta`."""
    _write(file, panel, rows, plan, odds=not BETA.of(plan))


def _write(file: BinaryIO, panel: Panel, rows: Arrays, plan: Plan, *, odds: bool) -> None:
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


Writer = Callable[[BinaryIO, Panel, Arrays, Plan], None]

_COUNTS: dict[str, Writer] = {name: plink.WRITERS[name] for name in ("frq", "lmiss", "hwe")}
_BOTH: dict[str, Writer] = {"adjusted": write_adjusted, CLUMPED: write_clumped, **_COUNTS}
LINEAR_WRITERS: dict[str, Writer] = {
    "assoc": write_linear,
    "glm": partial(glm.write_glm, logistic=False),
    "ssf": partial(ssf.write_ssf, logistic=False),
    META: partial(meta.write_meta, logistic=False),
    **_BOTH,
}
LOGISTIC_WRITERS: dict[str, Writer] = {
    "assoc": write_logistic,
    "glm": partial(glm.write_glm, logistic=True),
    "ssf": partial(ssf.write_ssf, logistic=True),
    META: partial(meta.write_meta, logistic=True),
    **_BOTH,
}


def file_name(file: str, plan: Plan) -> str:
    """Return the part of a result file's name that follows the study's name, as PLINK has it."""
    return {
        "assoc": f"assoc.{plan.test}",
        "adjusted": f"assoc.{plan.test}.adjusted",
        "glm": f"{_in_file_names(plan.phenotype)}.glm.{_kind_of_glm(plan)}",
        "ssf": "tsv.gz",
    }.get(file, file)


def _kind_of_glm(plan: Plan) -> str:
    """Return plink2's name for its report of a regression."""
    return {FALLBACK: f"{plan.test}.hybrid", ALWAYS: "firth", NEVER: plan.test}[choice(plan)]


_MOST_OF_A_NAME = 150  # bytes: file systems take 255 with all that stands around


def _in_file_names(text: str) -> str:
    """Whatever is no letter, digit, plus or minus becomes an underscore: a name is no path."""
    plain = "".join(c if c.isalnum() or c in "+-" else "_" for c in text)
    return plain.encode()[:_MOST_OF_A_NAME].decode("utf-8", "ignore")
