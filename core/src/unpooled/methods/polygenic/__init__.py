"""A polygenic score from PLINK files: the ridge regression on all variants that pooled files would give."""

from __future__ import annotations

from unpooled.formats.scoring_file import write_scoring_file
from unpooled.methods.algorithm import AboutFile, Cost, VariantMethod, Wording
from unpooled.methods.polygenic.counts import CountLeftOut, CountSides
from unpooled.methods.polygenic.options import HELD_OUT, SHARES
from unpooled.methods.polygenic.procedure import polygenic
from unpooled.methods.polygenic.questions import CountCarriers, Project, SumColumns, SumScores, SumWithAlleles
from unpooled.methods.polygenic.result import (
    CARD_FILE,
    PERFORMANCE_FILE,
    columns_of,
    shown,
    write_card,
    write_performance,
)
from unpooled.methods.purpose import Purpose
from unpooled.methods.regression.counts import CountDosages, CountGenotypes
from unpooled.methods.regression.pool import Census
from unpooled.methods.shared.far_out import CountFarOut
from unpooled.methods.shared.layout import laid_out
from unpooled.methods.shared.options import OF_DOSAGES
from unpooled.methods.shared.standardise import Magnitude, Mean, Spread
from unpooled.plan.common_options import BY_PLACE, COHORT_SUMS, COVARIATES, FILTERS, SEXES
from unpooled.plan.plan import Plan
from unpooled.plan.result_files import SCORE_FILE
from unpooled.plan.templates import QUALITY, Template

POLYGENIC_SCORE = "polygenic"
_ENDINGS = {SCORE_FILE: "score.txt", PERFORMANCE_FILE: "performance.json", CARD_FILE: "card.md"}


def _rules(plan: Plan) -> dict[str, str]:
    if plan.masking == "modular":
        return {}
    return {"masking": "modular only: normal noise would take the digits that the fit needs"}


POLYGENIC = VariantMethod(
    name=POLYGENIC_SCORE,
    title="Polygenic score",
    purpose=Purpose.SCORE,
    method="It is the ridge regression of the phenotype on all autosomal variants at once, by conjugate "
    "gradients, without a penalty on covariates; the penalty is that of the share of variance with the least "
    "error in people that were left out.",
    traits=("quantitative", "case/control"),
    asks=(
        Census,
        CountLeftOut,
        Magnitude,
        Mean,
        Spread,
        CountSides,
        SumColumns,
        CountDosages,
        CountGenotypes,
        CountCarriers,
        SumWithAlleles,
        CountFarOut,
        Project,
        SumScores,
    ),
    procedure=polygenic,
    files={
        SCORE_FILE: laid_out(write_scoring_file),
        PERFORMANCE_FILE: write_performance,
        CARD_FILE: write_card,
    },
    usual_files=(SCORE_FILE, PERFORMANCE_FILE, CARD_FILE),
    about_files={
        SCORE_FILE: AboutFile("Scoring file", "of the PGS Catalog, which plink2 --score takes"),
        PERFORMANCE_FILE: AboutFile("Performance", "of each share of variance that was tried, as JSON"),
        CARD_FILE: AboutFile("Card", "people, performance, and what the score must not be used for"),
    },
    options=(COVARIATES, COHORT_SUMS, HELD_OUT, SHARES, SEXES, BY_PLACE, *OF_DOSAGES, *FILTERS),
    templates=(
        Template(
            "polygenic",
            "Polygenic score",
            "Usual filters of people and variants. Add age, sex, principal components and whatever else "
            "you adjust for.",
            QUALITY,
        ),
    ),
    # Dosages are read twice a round, of forty or so, and scored in more time.
    cost=Cost(60e-6, lambda columns: 80e-9, 40 * (2 * 0.5 + 2) * 1e-9),
    file_name=lambda file, plan: _ENDINGS[file],
    columns=columns_of,
    shown=shown,
    rules=_rules,
    wording=Wording("A polygenic score of", "was fitted", "in the score"),
)
