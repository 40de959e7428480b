"""Both regressions share how they begin, their result files, and most of their declaration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, BinaryIO

from unpooled.asking.procedure import Asks, Procedure, Study
from unpooled.asking.question import Arrays, Question
from unpooled.formats import plink
from unpooled.formats.adjusted import write_adjusted
from unpooled.formats.glm import write_glm
from unpooled.formats.meta import write_meta
from unpooled.formats.regression_report import write_report
from unpooled.formats.ssf import write_ssf
from unpooled.methods.algorithm import AboutFile, Cost, VariantMethod
from unpooled.methods.features import Feature, FeatureFile, variant_method
from unpooled.methods.frequencies import FAR_FREQUENCIES
from unpooled.methods.ld.leads import CLUMPS
from unpooled.methods.ld.options import PRUNE_COMPONENTS
from unpooled.methods.regression.conditions import (
    CountConditions,
    OrderConditions,
    find_conditions,
    pooled_columns,
)
from unpooled.methods.regression.counts import OrderAlleles, OrderBeforeFit
from unpooled.methods.regression.floors import CountInside, find_few
from unpooled.methods.regression.heterogeneity import ESTIMATES_ASKS, with_meta
from unpooled.methods.regression.options import ALWAYS, FALLBACK, FEW_STUDIES, NEVER, choice, meta_problem
from unpooled.methods.regression.pool import Census, Pool, chunks_of, count_people
from unpooled.methods.regression.results import columns_of
from unpooled.methods.shared.chunks import Chunk
from unpooled.methods.shared.filters import COUNTED
from unpooled.methods.shared.options import OF_DOSAGES
from unpooled.methods.shared.standardise import Magnitude, Mean, PooledColumns, Spread
from unpooled.panel.panel import Panel
from unpooled.plan import genotype_model
from unpooled.plan.common_options import REGRESSION
from unpooled.plan.options import Option
from unpooled.plan.plan import META, Plan
from unpooled.plan.templates import with_components

Begun = tuple[Pool, PooledColumns, tuple[str, ...], tuple[Chunk, ...]]


def count_and_standardise(study: Study) -> Asks[Begun]:
    """Count people, and standardise the columns.

    Returns the pool, its columns, those of the `SEXES` of whom there are too few to tell sums of, and the
    chunks to ask about.
    """
    conditions = find_conditions(study)
    pool = yield from count_people(study)
    columns = yield from pooled_columns(study, pool, conditions)
    few = yield from find_few(study, columns)
    return pool, columns, few, chunks_of(study, pool)


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
    file=FeatureFile(META, "ssf", _ABOUT_META, write_meta, with_meta),
    rule=meta_problem,
)


def _write_glm(file: BinaryIO, panel: Panel, rows: Arrays, plan: Plan) -> None:
    firth = choice(plan)
    write_glm(file, panel, rows, plan, penalised=firth != NEVER, falls_back=firth == FALLBACK)


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


def regression(
    name: str,
    title: str,
    trait: str,
    method: str,
    procedure: Procedure[[], None],
    *,
    asks: tuple[type[Question], ...],
    options: tuple[Option[Any] | Feature, ...],
    rule: Callable[[Plan], dict[str, str]],
    cost: Cost,
    shares: Callable[[Plan], bool] = lambda plan: False,
) -> VariantMethod:
    """Declare a regression on each variant by what it has of its own: what it asks, and its options."""
    return variant_method(
        name=name,
        title=title,
        method=f"{method}, as plink1.9 --{name} and plink2 --glm compute it.",
        traits=(trait,),
        asks=(
            Census,
            CountConditions,
            OrderConditions,
            Magnitude,
            Mean,
            Spread,
            CountInside,
            *asks,
            OrderAlleles,
        ),
        procedure=procedure,
        files={
            "assoc": write_report,
            "glm": _write_glm,
            "ssf": write_ssf,
            "adjusted": write_adjusted,
            **{file: plink.WRITERS[file] for file in COUNTED},
        },
        usual_files=("assoc",),
        options=(
            *REGRESSION,
            PRUNE_COMPONENTS,
            *genotype_model.OPTIONS,
            *options,
            *OF_DOSAGES,
            FAR_FREQUENCIES,
            CLUMPS,
        ),
        templates=(with_components(name),),
        rules=lambda plan: genotype_model.names_problem(plan) | rule(plan),
        cost=cost,
        file_name=file_name,
        columns=columns_of,
        looked_at=with_meta,
        shares=shares,
    )
