"""The layout of a plan's result files about variants."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO

from unpooled.asking.question import Arrays
from unpooled.formats.layout import Layout
from unpooled.panel.panel import Panel
from unpooled.plan.common_options import CI, GLM_COLS, HIDE_COVAR, in_odds_ratios
from unpooled.plan.genotype_model import terms_of
from unpooled.plan.plan import Plan


def layout_of(plan: Plan) -> Layout:
    """Return the layout that a plan asks for."""
    return Layout(
        phenotype=plan.phenotype,
        trait=plan.trait,
        build=plan.build,
        autosomes=plan.autosomes,
        limits=CI.of(plan),
        odds=in_odds_ratios(plan),
        covariates=plan.covariate_columns,
        hides_covariates=HIDE_COVAR.of(plan),
        terms=terms_of(plan),
        terms_with_sex=terms_of(plan, with_sex=True),
        glm_columns=GLM_COLS.of(plan),
    )


def laid_out(
    write: Callable[[BinaryIO, Panel, Arrays, Layout], None],
) -> Callable[[BinaryIO, Panel, Arrays, Plan], None]:
    """Return the writer of a method, which has a plan, from that of a format."""
    return lambda file, panel, rows, plan: write(file, panel, rows, layout_of(plan))
