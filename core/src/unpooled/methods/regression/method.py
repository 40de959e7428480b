"""Most of the declaration that both regressions have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from unpooled.asking.procedure import Procedure
from unpooled.asking.question import Condition, Question
from unpooled.formats.meta import write_meta
from unpooled.methods.algorithm import AboutFile, Cost, VariantMethod
from unpooled.methods.features import Feature, FeatureFile, variant_method
from unpooled.methods.frequencies import FAR_FREQUENCIES
from unpooled.methods.ld.leads import CLUMPS
from unpooled.methods.ld.options import PRUNE_COMPONENTS, PRUNE_PREDICTIONS
from unpooled.methods.purpose import Purpose
from unpooled.methods.regression import normal_scores
from unpooled.methods.regression.beginning import BEFORE_GENOTYPES
from unpooled.methods.regression.counts import OrderAlleles, OrderBeforeFit
from unpooled.methods.regression.credible_sets import CREDIBLE_SETS
from unpooled.methods.regression.heterogeneity import ESTIMATES_ASKS, with_meta
from unpooled.methods.regression.null_model import Begun
from unpooled.methods.regression.options import FEW_STUDIES, ROBUST, meta_problem
from unpooled.methods.regression.results import FILES, columns_of, file_name
from unpooled.methods.shared.layout import laid_out
from unpooled.methods.shared.options import OF_DOSAGES
from unpooled.plan import genotype_model
from unpooled.plan.common_options import LOCO, REGRESSION
from unpooled.plan.floors import QUANTITATIVE
from unpooled.plan.options import Option
from unpooled.plan.plan import Plan
from unpooled.plan.result_files import META, SPA
from unpooled.plan.templates import with_components, with_predictions

_ABOUT_META = AboutFile(
    "Heterogeneity across cohorts",
    ".meta: a meta-analysis of the cohorts' own estimates",
    "The cohorts' own estimates were combined by the inverse of their variances (fixed effect, and "
    "random effect of DerSimonian and Laird) with Cochran's Q and I², from sums over the cohorts, as "
    "plink1.9 --meta-analysis computes them.",
)

HETEROGENEITY = Feature(
    (FEW_STUDIES,),
    ESTIMATES_ASKS,
    behind=OrderBeforeFit,
    file=FeatureFile(META, "ssf", _ABOUT_META, laid_out(write_meta), with_meta),
    rule=meta_problem,
)


def evaluation(columns: int, of_six: float = 3.1e-9) -> float:
    """Seconds per person and variant of the sums at a model, in double precision; `of_six`: with six columns.

    They grow with second derivatives.
    """
    return of_six * (40 + columns * (columns + 3) / 2) / (40 + 6 * 9 / 2)


_FURTHER: tuple[tuple[Condition, Cost], ...] = (
    (ROBUST.of, Cost(10e-6, evaluation)),
    # Variants are counted and summed anew; of those with P < 0.05 people are looked at one by one.
    (lambda plan: SPA in plan.files, Cost(2e-6, lambda columns: 9e-9)),
    # As many variants take part in predictions as the people allow, however many there are.
    (LOCO.of, Cost(0.0, lambda columns: 0.0, once=1.6e-3)),
)
"""Costs of what a plan may ask beside the fits, as measured by `bench/asked.py`."""


def regression(
    name: str,
    title: str,
    trait: str,
    method: str,
    procedure: Procedure[[], Begun | None],
    *,
    asks: tuple[type[Question], ...],
    options: tuple[Option[Any] | Feature, ...],
    rule: Callable[[Plan], dict[str, str]],
    cost: Cost,
    before_clumps: tuple[Feature, ...] = (),
    shares: Callable[[Plan], bool] = lambda plan: False,
) -> VariantMethod:
    """Declare a regression on each variant by what it has of its own: what it asks, and its options."""
    before = [kind for kind in BEFORE_GENOTYPES if trait == QUANTITATIVE or kind not in normal_scores.ASKS]
    return variant_method(
        name=name,
        title=title,
        purpose=Purpose.ASSOCIATION,
        method=f"{method}, as plink1.9 --{name} and plink2 --glm compute it.",
        traits=(trait,),
        asks=(*before, *asks, OrderAlleles),
        procedure=procedure,
        files=FILES,
        usual_files=("assoc",),
        options=(
            *REGRESSION,
            PRUNE_COMPONENTS,
            PRUNE_PREDICTIONS,
            *genotype_model.OPTIONS,
            ROBUST,
            *options,
            *OF_DOSAGES,
            FAR_FREQUENCIES,
            *before_clumps,
            CLUMPS,
            CREDIBLE_SETS,
        ),
        templates=(with_components(name), with_predictions(name)),
        rules=lambda plan: genotype_model.names_problem(plan) | rule(plan),
        cost=cost,
        further=_FURTHER,
        file_name=file_name,
        columns=columns_of,
        looked_at=with_meta,
        shares=shares,
    )
