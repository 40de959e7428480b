"""Result tables and files of a regression, and the tests that are reported of a variant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import BinaryIO

import numpy as np

from unpooled.asking.question import Arrays
from unpooled.asking.result_columns import Chosen
from unpooled.formats import plink
from unpooled.formats.adjusted import write_adjusted
from unpooled.formats.glm import write_glm
from unpooled.formats.regression_report import write_report
from unpooled.formats.ssf import write_ssf
from unpooled.kernels.least_squares import wald
from unpooled.methods.algorithm import Writer
from unpooled.methods.regression.options import ALWAYS, FALLBACK, NEVER, choice
from unpooled.methods.regression.pool import Pool
from unpooled.methods.shared import filters, summary
from unpooled.methods.shared.allele_coding import by_plink2
from unpooled.methods.shared.layout import laid_out, layout_of
from unpooled.methods.shared.options import DOSAGES
from unpooled.panel.panel import Panel
from unpooled.plan.common_options import HIDE_COVAR
from unpooled.plan.genotype_model import terms_of
from unpooled.plan.plan import Plan

TABLE = summary.VARIANTS
"""A row per variant that passes the filters. Columns, beside those of `GenotypeTable`:

variant, first_is_a1    the panel index; whether the panel's first allele is A1
n                       people in this variant's regression
a1_freq                 frequency of A1 among them
beta, se                (m, tests): effect per copy of A1 and per unit of each covariate; NaN without a result
neg_log10_p             (m, tests)
code                    why there is no result, or none in PLINK 1.9's files: `unpooled.kernels.least_squares`

`tests` are ADD, then, unless they are hidden, the covariates and, if X is in the panel and there are men and
women, SEX.
"""

TABLE_BY_PLINK2 = "variants by plink2"
"""The same for variants that plink2 codes in another way."""

TABLE_BY_FIRTH = "variants by Firth"
"""The same for variants of plink2's report that are fitted by Firth's penalised likelihood."""


def table_of(chromosome: str, plan: Plan) -> str:
    return TABLE_BY_PLINK2 if by_plink2(chromosome) and not DOSAGES.of(plan) else TABLE


def columns_of(file: str, tables: Mapping[str, Arrays]) -> Arrays:
    """The result columns that a file is written from."""
    columns = filters.lines(file, tables)
    for table in (TABLE_BY_PLINK2, TABLE_BY_FIRTH):
        if file == "glm" and table in tables:
            columns = _replaced(columns, tables[table])
    return columns


def _replaced(columns: Arrays, others: Arrays) -> Arrays:
    """The same variants, those that the others are about as they have them."""
    order = np.arange(len(columns["variant"]))
    replaced = np.searchsorted(columns["variant"][:], others["variant"])
    order[replaced] = len(order) + np.arange(len(replaced))
    return Chosen(columns, others, order)


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


def joint_test(beta: np.ndarray, covariance: np.ndarray) -> dict[str, np.ndarray]:
    """Wald's test of several coefficients at once, (m, t), with their covariance, (m, t, t); none of no
    coefficients.

    `joint`, (m,), is chi-square with `joint_freedom` degrees of freedom, (m,), as PLINK 1.9 has it.
    """
    if not (tested := beta.shape[1]):
        return {}
    return {"joint": wald(beta, covariance), "joint_freedom": np.full(len(beta), tested, np.uint8)}


def _write_glm(file: BinaryIO, panel: Panel, rows: Arrays, plan: Plan) -> None:
    firth = choice(plan)
    write_glm(file, panel, rows, layout_of(plan), penalised=firth != NEVER, falls_back=firth == FALLBACK)


def file_name(file: str, plan: Plan) -> str:
    """Return the part of a result file's name that follows the study's name, as PLINK has it."""
    kind_of_glm = {FALLBACK: f"{plan.test}.hybrid", ALWAYS: "firth", NEVER: plan.test}[choice(plan)]
    return {
        "assoc": f"assoc.{plan.test}",
        "adjusted": f"assoc.{plan.test}.adjusted",
        "glm": f"{_in_file_names(plan.phenotype)}.glm.{kind_of_glm}",
        "ssf": "tsv.gz",
    }.get(file, file)


_MOST_OF_A_NAME = 150  # bytes: file systems take 255 with all that stands around


def _in_file_names(text: str) -> str:
    """Whatever is no letter, digit, plus or minus becomes an underscore: a name is no path."""
    plain = "".join(c if c.isalnum() or c in "+-" else "_" for c in text)
    return plain.encode()[:_MOST_OF_A_NAME].decode("utf-8", "ignore")


FILES: dict[str, Writer] = {
    "assoc": laid_out(write_report),
    "glm": _write_glm,
    "ssf": laid_out(write_ssf),
    "adjusted": laid_out(write_adjusted),
    **{file: laid_out(plink.WRITERS[file]) for file in filters.COUNTED},
}
"""Result files of a regression, beside those of its features."""
