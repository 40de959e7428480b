"""The tests of a variant that are reported, from estimates in the order of its design."""

from __future__ import annotations

import math

import numpy as np

from unpooled.methods.regression.pool import Pool
from unpooled.plan.common_options import HIDE_COVAR
from unpooled.plan.genotype_model import terms_of
from unpooled.plan.plan import Plan


def reported_tests(
    plan: Plan, pool: Pool, beta: np.ndarray, se: np.ndarray, with_sex: bool
) -> dict[str, np.ndarray]:
    """`beta` and `se` of the tests that are reported: (m, tests) each, NaN where a variant has none.

    `beta` and `se`, (m, p), are without the intercept. SEX and its interaction have columns wherever any
    variant has them.
    """
    c = len(plan.covariate_columns)
    order, widest = (
        terms_of(plan, sex).reported(c, sex, HIDE_COVAR.of(plan))
        for sex in (with_sex, pool.sex_varies and not terms_of(plan).is_autosomal)
    )
    found = {}
    for name, values in (("beta", beta), ("se", se)):
        found[name] = np.full((len(values), len(widest)), np.nan)
        found[name][:, : len(order)] = values[:, order]
    return found


def joint_test(
    beta: np.ndarray, se: np.ndarray, correlation: np.ndarray, people: np.ndarray
) -> dict[str, np.ndarray]:
    """Wald's test of two coefficients at once, (m, 2) with the correlation (m,) of their estimates.

    `joint`, (m,), is chi-square with two degrees of freedom, as PLINK 1.9 has it: P = exp(-joint / 2). plink2
    takes half of it for F with 2 degrees and, in linear regression too, the number of `people`, (m,):
    P = (1 + joint / people)^(-people / 2).
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        first, second = (beta / se).T
        joint = (first**2 - 2 * correlation * first * second + second**2) / (1 - correlation**2)
        by_f = people / 2 * np.log1p(joint / people)
    return {"joint": joint, "joint_neg_log10_p_by_f": by_f / math.log(10)}
