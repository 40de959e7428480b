"""The same test as the study's, on this cohort's data alone: the study's own procedure, run here."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from unpooled.asking.cohort import Samples
from unpooled.kernels import least_squares as codes
from unpooled.methods import algorithm
from unpooled.methods.regression.own_fit import telling
from unpooled.methods.shared import summary
from unpooled.methods.shared.conditions import with_copies
from unpooled.panel.alleles import complement
from unpooled.panel.panel import Panel
from unpooled.pictures.associations import Associations
from unpooled.plan.common_options import CONDITION
from unpooled.plan.options import Place
from unpooled.plan.plan import Covariate, Plan
from unpooled.run import run_alone
from unpooled_client.compare.estimates import Across, Contrast, Estimate, Variant
from unpooled_client.compare.pool import Pool
from unpooled_client.compare.without_us import without
from unpooled_client.data.cohort import PlinkCohort, PlinkData

ABSENT = "not among this cohort's variants"
NO_ESTIMATE = "no estimate from this cohort alone"
ALL_CASES, ALL_CONTROLS = "all people here are cases", "all people here are controls"
_REASONS = {
    codes.TOO_FEW: "too few people",
    codes.CONSTANT: "all have the same genotype",
    codes.CORRELATED: "the genotype follows from a covariate",
    codes.COLLINEAR: "the genotype follows from the covariates",
    codes.UNSTABLE: "the genotype nearly follows from the covariates",
    codes.NO_RESIDUAL: "nothing is left to explain",
    codes.SEPARATED: "the genotypes of cases and controls do not overlap",
    codes.UNFINISHED: "the fit did not converge",
}


def compare(
    pool: Pool,
    data: PlinkData,
    plan: Plan,
    kept: np.ndarray | None = None,
    across: Mapping[str, Across] | None = None,
) -> list[Contrast]:
    """Each of the pool's strongest variants beside what this cohort's data alone say of it.

    `kept`, bool (n,), is who was in the study, where --mind has left people out. `across`
    is what the cohorts' estimates, combined, say of each variant, by its ID.
    """
    variants = [variant for variant, _ in pool.leads]
    cohort, panel = _beside(variants, data)
    if kept is not None:
        cohort = dataclasses.replace(cohort, samples=dataclasses.replace(cohort.samples, kept=kept))
    found = _estimates(pool, cohort, panel, plan) if len(panel) else {}
    less = without(across, variants, cohort, panel, plan) if across else {}
    return [
        dataclasses.replace(
            _compared(variant, estimate, found.get(variant.name), odds=pool.odds),
            across=less.get(variant.name),
        )
        for variant, estimate in pool.leads
    ]


def conditioned(data: PlinkData, plan: Plan) -> PlinkData:
    """Return the data with the copies of the variants that the study conditions on as covariates, of either
    allele.
    """
    if not CONDITION.of(plan):
        return data  # the names of all variants are not to be looked through
    names = np.array([name.encode() for name in CONDITION.of(plan)], np.bytes_)
    own = dataclasses.replace(data, variants=data.variants.take(np.isin(data.panel.name, names)))
    samples = with_copies(own.align(own.panel), own.panel, plan)
    return dataclasses.replace(data, samples=samples)


def left_out(samples: Samples, plan: Plan) -> list[str]:
    """Columns of covariates that say nothing of the people here, or nothing that others do not say."""
    told = telling(samples)
    return [name for k, name in enumerate(plan.covariate_columns) if k not in told]


class _Own(NamedTuple):
    """An estimate of this cohort, for its own A1."""

    a1: str
    estimate: Estimate
    why: str
    """Why there is none."""


def _compared(variant: Variant, pool: Estimate, own: _Own | None, *, odds: bool) -> Contrast:
    if own is None:
        return Contrast(variant, pool, None, ABSENT)
    same = own.a1 == variant.a1
    return Contrast(variant, pool, own.estimate if same else own.estimate.of_other_allele(odds=odds), own.why)


def _beside(variants: Iterable[Variant], data: PlinkData) -> tuple[PlinkCohort, Panel]:
    """A panel of those variants that this cohort has, with the pool's alleles, and the cohort beside it."""
    variants = list(variants)
    near = np.isin(data.panel.position, [variant.position for variant in variants])
    # Of millions of variants few are wanted: the others are not to be gone through for each.
    data = dataclasses.replace(data, variants=data.variants.take(near))
    rows = [row for row in (_row(variant, data.panel) for variant in variants) if row is not None]
    panel = Panel.of(rows)
    cohort = data.align(panel)
    # What this cohort lacks has no estimate: the procedure is to ask about the others alone.
    have = cohort.rows >= 0
    cohort = dataclasses.replace(cohort, rows=cohort.rows[have], swapped=cohort.swapped[have])
    return cohort, panel.take(have)


def _row(variant: Variant, own: Panel) -> tuple[int, int, bytes, bytes, bytes] | None:
    """The variant as a row of a panel; None if the cohort has none of this ID at this place."""
    name, a1 = variant.name.encode(), variant.a1.encode()
    here = (own.position == variant.position) & (own.chromosome == variant.chromosome)
    places = [k for k in np.flatnonzero(here).tolist() if own.name[k] == name]
    if len(places) != 1:
        return None
    pair = own.pair(places[0])
    if variant.a2:
        return variant.chromosome, variant.position, name, a1, variant.a2.encode()
    if a1 not in pair:
        pair = complement(pair) or pair  # the files are of the other strand
    a2 = pair[1] if pair[0] == a1 else pair[0]
    return variant.chromosome, variant.position, name, a1, a2


def _estimates(pool: Pool, cohort: PlinkCohort, panel: Panel, plan: Plan) -> dict[str, _Own]:
    """Estimate this cohort's own effects, by the variants' IDs."""
    columns = telling(cohort.samples)
    own_plan = _plan(plan, columns, pool)
    samples = dataclasses.replace(cohort.samples, covariates=cohort.samples.covariates[:, columns])
    tables = run_alone(own_plan, panel, dataclasses.replace(cohort, samples=samples))
    if summary.VARIANTS not in tables:
        return {}
    rows = algorithm(plan.test).columns_for(pool.file, tables)
    found = {name: _of_the_variant(rows[name][:]) for name in rows}
    found["position"] = panel.position[found["variant"]]
    read, everything = Associations(found, own_plan), slice(None)
    effect, lower, upper, se = read.effects(everything)
    score, (frequency, people) = read.neg_log10_p(everything), _people(found, read, pool)
    estimates = zip(
        *(values.tolist() for values in (frequency, effect, se, lower, upper, score)), people, strict=True
    )
    own = {}
    for k, values in enumerate(estimates):
        variant = int(found["variant"][k])
        a1 = panel.pair(variant)[0 if found["first_is_a1"][k] else 1].decode("utf-8", "replace")
        estimate = Estimate(*values)
        name = panel.name[variant].decode("utf-8", "replace")
        why = "" if estimate.is_known else _why(found, k, cohort.samples, plan)
        own[name] = _Own(a1, estimate, why)
    return own


def _plan(plan: Plan, columns: list[int], pool: Pool) -> Plan:
    """The study's plan for this cohort alone: no filter, and only covariates that tell something here."""
    names, own = plan.covariate_columns, algorithm(plan.test).options
    asked = {option.name: option.of(plan) for option in own if option.place != Place.FILTERS}
    asked |= {
        "condition": (),
        "components": 0,  # they are columns here, as any other
        "loco": False,  # nor can one cohort predict as all can
        "rint": False,  # they are phenotypes here, as any other
        "covariates": tuple(Covariate(names[k]) for k in columns),
        "beta": not pool.odds,  # a report may have betas where the plan has not
        "hide_covar": True,
    }
    return dataclasses.replace(
        plan,
        options=tuple((option.name, asked[option.name]) for option in own if option.name in asked),
        files=(pool.file, "frq") if pool.has_frequencies else (pool.file,),
    )


def _of_the_variant(column: np.ndarray) -> np.ndarray:
    """Return the variant's own test of a regression's tests."""
    return column if column.ndim == 1 else column[:, 0]


def _people(
    found: dict[str, Any], read: Associations, pool: Pool
) -> tuple[np.ndarray, list[int] | list[None]]:
    """The frequency of A1, and among how many people; as the pool's, of founders if that is from `.frq`."""
    frequency, n = read.a1_freq(slice(None)), found.get("n")
    if pool.has_frequencies:
        a1, a2 = found["founder_a1"].astype(np.int64), found["founder_a2"].astype(np.int64)
        with np.errstate(invalid="ignore"):
            frequency = a1 / (a1 + a2)
        n = (a1 + a2) // 2 if n is None else n
    return frequency, [None] * len(frequency) if n is None else n.tolist()


def _why(found: dict[str, Any], k: int, samples: Samples, plan: Plan) -> str:
    """Why a variant has no estimate here."""
    known = samples.phenotype[samples.kept & ~np.isnan(samples.phenotype)]
    if plan.trait == "case/control" and len(np.unique(known)) == 1:
        return ALL_CASES if known[0] else ALL_CONTROLS
    return _REASONS.get(int(found["code"][k]), NO_ESTIMATE) if "code" in found else NO_ESTIMATE
