"""Most of the declaration that both regressions have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from unpooled.asking.procedure import Procedure
from unpooled.asking.question import Question
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
from unpooled.plan.common_options import REGRESSION
from unpooled.plan.floors import QUANTITATIVE
from unpooled.plan.options import Option
from unpooled.plan.plan import Plan
from unpooled.plan.result_files import META
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
        file_name=file_name,
        columns=columns_of,
        looked_at=with_meta,
        shares=shares,
    )
