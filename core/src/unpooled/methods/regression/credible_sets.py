"""Credible sets: which variants of a locus are likely to bear its signals, by SuSiE on sums.

A locus is what lies within reach of a lead variant; a weaker lead within reach of it has none of its own.
Its variants' products with one another, with covariates and with the phenotype are summed over the people of
the regression, and read by the server alone, which takes from them what covariates explain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, ClassVar

import numpy as np

from unpooled.asking.procedure import Asks, Finish, Procedure, Rows, Study, procedure
from unpooled.asking.question import Arrays
from unpooled.formats.susie import write_susie
from unpooled.kernels.fixed_order import square
from unpooled.kernels.susie import COVERAGE, Found, susie
from unpooled.methods.algorithm import AboutFile
from unpooled.methods.features import Feature, FeatureFile
from unpooled.methods.ld.leads import Hits, Led, reach_of, window_of
from unpooled.methods.regression.listed import count_listed
from unpooled.methods.regression.locus_questions import (
    MOST_LOCI,
    MOST_VARIANTS,
    CountLoci,
    SumLocus,
    has_credible_sets,
)
from unpooled.methods.regression.null_model import Begun, NullModel, file_problem
from unpooled.methods.shared.chunks import DIPLOID, ByVariant, chromosome_class
from unpooled.methods.shared.genotype_counts import is_carried
from unpooled.methods.shared.options import DOSAGES
from unpooled.methods.shared.standardise import is_number
from unpooled.methods.shared.summary import VARIANTS
from unpooled.methods.shared.without_any import people_without_any
from unpooled.panel.panel import Panel
from unpooled.plan.plan import Plan
from unpooled.plan.result_files import CLUMPED, SUSIE

PEOPLE_A_VARIANT, OTHERS_A_VARIANT = 10, 5
"""Smallest number of people in the pool for each variant of a locus; and without any one cohort."""

TABLE = "credible sets"
"""A row per locus and variant in it. Columns:

variant              the lead
other                a variant of the locus
pip                  probability that it has an effect; NaN of a locus that has too few people or variants
credible_set         the number of its credible set in the locus, the purest first; 0 for none
log10_bayes_factor   of that set: of its effect against none
coverage             probability that one of the set's variants has the effect
purity               smallest |r| of two of its variants
"""


@dataclass(frozen=True, eq=False)
class Locus(ByVariant):
    """The variants of loci that may be summed."""

    name: ClassVar[str] = "susie/locus"

    variants: np.ndarray
    """uint32 (m,): panel indices, rising."""
    mean: np.ndarray
    """float64 (m,): copies of the panel's first allele"""


def with_credible_sets(method: Procedure[[], Any]) -> Procedure[[], Any]:
    """A regression that in the end looks for credible sets around its leads, if its plan has the file."""

    @procedure(f"{method.name} and credible sets")
    def whole(study: Study) -> Asks[None]:
        led: Led | None = yield from method(study)
        if led is not None and has_credible_sets(study.plan):
            begun = led.value_of(study)
            if isinstance(begun, Begun):
                yield from find_credible_sets(study, begun, led.leads)

    return whole


def find_credible_sets(study: Study, begun: Begun, leads: Hits) -> Asks[None]:
    """Count the genotypes of all loci, and sum each locus as far as there are people enough."""
    loci = choose(study, leads)
    if not loci:
        return
    windows = [np.arange(*window_of(study, lead), dtype=np.uint32) for lead in loci]
    near, people = np.unique(np.concatenate(windows)), begun.pool.complete
    calls, passing, counted = yield from count_listed(study, near, begun.pool, CountLoci)
    found = Locus(near, calls.means[:, 0]).some(passing & is_carried(study.plan, counted))
    most = room(study.plan, people, people_without_any(study.plan, counted, people))
    for lead, window in zip(loci, windows, strict=True):
        own = found.some(nearest(study, lead, np.isin(found.variants, window), found.variants, most))
        if len(own.variants) < 2 or np.isnan(begun.null.variance):
            yield without_result(lead)
        else:
            yield Finish(sum_locus(study, lead, own, begun.null))


def choose(study: Study, leads: Hits) -> list[int]:
    """Choose the leads of loci, the strongest first: autosomal, none within reach of another."""
    panel, found, reach = study.panel, list[int](), reach_of(study.plan)
    for lead in leads.variants[np.lexsort([leads.variants, -leads.neg_log10_p])].tolist():
        code, position = int(panel.chromosome[lead]), int(panel.position[lead])
        there = [int(panel.position[other]) for other in found if panel.chromosome[other] == code]
        is_near = any(abs(other - position) <= reach for other in there)
        if chromosome_class(code, study.plan.autosomes) == DIPLOID and not is_near:
            found.append(lead)
    return found[:MOST_LOCI]


def room(plan: Plan, people: int, others: int) -> int:
    """Count the variants of a locus that products may be told of."""
    if plan.alone:
        return MOST_VARIANTS
    return min(MOST_VARIANTS, people // PEOPLE_A_VARIANT, others // OTHERS_A_VARIANT)


def nearest(study: Study, lead: int, inside: np.ndarray, variants: np.ndarray, most: int) -> np.ndarray:
    """Places of the variants `inside`, bool (m,), that are nearest to the lead: int64, rising."""
    position, places = study.panel.position, np.flatnonzero(inside)
    away = np.abs(position[variants[places]].astype(np.int64) - int(position[lead]))
    return np.sort(places[np.argsort(away, kind="stable")[:most]])


@procedure("susie/locus")
def sum_locus(study: Study, lead: int, locus: Locus, null: NullModel) -> Asks[None]:
    """Sum the products of a locus, and report its credible sets."""
    sums = yield SumLocus(study.plan, locus.variants, locus.mean, *null.fields)
    yield Rows.later(lambda: [rows_of(lead, locus.variants, *posterior(study.plan, null, sums))])


def posterior(plan: Plan, null: NullModel, sums: Arrays) -> tuple[np.ndarray, Found]:
    """Find the posterior of the variants of a locus that vary beside the covariates, bool (m,)."""
    products = square(sums["products"], len(sums["columns"]))
    scores, covariance, varies = null.score_statistics(sums["columns"], products)
    inside = covariance[np.ix_(varies, varies)]
    return varies, susie(
        inside, scores[varies], null.residual_squares, null.people, is_number=is_number(plan)
    )


def rows_of(lead: int, variants: np.ndarray, varies: np.ndarray, found: Found) -> Rows:
    """Rows of a locus; a variant in several sets is in the purest."""
    size = int(np.count_nonzero(varies))
    number, told = np.zeros(size, np.int32), np.full((size, 3), np.nan)
    for k in reversed(range(len(found.sets))):
        one = found.sets[k]
        number[one.members] = k + 1
        told[one.members] = one.log_bayes_factor / np.log(10), one.coverage, one.purity
    return _rows(np.full(size, lead), variants[varies], found.pip, number, told)


def without_result(lead: int) -> Rows:
    """The row of a locus that is not looked at."""
    none = np.full(1, np.nan)
    return _rows(np.array([lead]), np.array([lead]), none, np.zeros(1, np.int32), np.full((1, 3), np.nan))


def _rows(lead: np.ndarray, other: np.ndarray, pip: np.ndarray, number: np.ndarray, told: np.ndarray) -> Rows:
    names = "log10_bayes_factor", "coverage", "purity"
    about = {"variant": lead.astype(np.uint32), "other": other.astype(np.uint32), "pip": pip}
    return Rows(TABLE, {**about, "credible_set": number, **dict(zip(names, told.T, strict=True))})


_NONE = np.zeros(0, np.int32)
_NO_ROWS = _rows(_NONE, _NONE, np.zeros(0), _NONE, np.zeros((0, 3))).columns


# The file


def _columns(tables: Mapping[str, Arrays]) -> Arrays:
    """Return the rows of `TABLE`, and which allele of each variant is A1 in the report."""
    found, tested = tables.get(TABLE, _NO_ROWS), tables[VARIANTS]
    other, variants = found["other"][:], tested["variant"][:]
    place = np.minimum(np.searchsorted(variants, other), len(variants) - 1)
    return {**{name: found[name][:] for name in found}, "first_is_a1": tested["first_is_a1"][:][place]}


def _write(out: BinaryIO, panel: Panel, columns: Arrays, plan: Plan) -> None:
    write_susie(out, panel, columns)


def problem(plan: Plan) -> dict[str, str]:
    """Say what is wrong with a plan that asks for the file, by the plan's field."""
    own = {
        "clumps need called genotypes: leave out this file, or dosages": bool(DOSAGES.of(plan)),
        "loci are led by clumps: choose the file clumped, too": CLUMPED not in plan.files,
    }
    return file_problem(plan, SUSIE, "credible sets", own)


_ABOUT = AboutFile(
    "Credible sets",
    ".susie: how likely each variant around a lead has an effect, and its credible set; also marks them in "
    "regions. Goes with the clumps",
    f"Credible sets of {100 * COVERAGE:g} % were found among up to {MOST_VARIANTS} variants around each lead "
    "variant by SuSiE, from sums over all cohorts, with the rules of susieR's susie_suff_stat.",
)

CREDIBLE_SETS = Feature(
    (),
    (CountLoci, SumLocus),
    file=FeatureFile(SUSIE, CLUMPED, _ABOUT, _write, _columns),
    rule=problem,
    around=with_credible_sets,
)
