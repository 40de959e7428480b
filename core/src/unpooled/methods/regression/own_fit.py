"""Regressions on one cohort's data alone, by the study's own procedure, run at the cohort."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np

from unpooled.asking.cohort import Cohort, Dosages, Packed, Samples
from unpooled.asking.in_one_process import Alone, tables
from unpooled.asking.procedure import PROCEDURES, Study
from unpooled.kernels.least_squares import REFUSED
from unpooled.methods.regression.options import NEVER
from unpooled.methods.shared import summary
from unpooled.methods.shared.allele_coding import PLACES
from unpooled.methods.shared.chunks import DIPLOID, MT, X, Y
from unpooled.methods.shared.groups import complete
from unpooled.methods.shared.options import DOSAGES
from unpooled.panel.panel import Panel
from unpooled.plan.common_options import MAX_ITERATIONS, MISSING, TOLERANCE
from unpooled.plan.options import Covariate
from unpooled.plan.plan import NO_KEY, OwnPlan, Plan

_AUTOSOMES = 22

_CODES = {DIPLOID: 1, X: _AUTOSOMES + 1, Y: _AUTOSOMES + 2, MT: _AUTOSOMES + 4}


def own_plan(plan: Plan, covariates: int, variants: int) -> OwnPlan:
    """The plan of a cohort's own regressions: the study's, without filters.

    Where missing calls are the mean, they are the cohort's own.
    """
    # PLINK 1.9's report has no dosages, and plink2's falls back to Firth's fit unless told not to.
    of_dosages = {"files": ("glm",), "dosages": True, **({"firth": NEVER} if plan.test == "logistic" else {})}
    return OwnPlan(
        test=plan.test,
        phenotype="own",
        cohorts=1,
        compensator_key=NO_KEY,
        trait=plan.trait,
        autosomes=_AUTOSOMES,
        **(of_dosages if DOSAGES.of(plan) else {"files": ("assoc",)}),
        chunk_size=max(variants, 1),
        covariates=tuple(Covariate(f"c{k}") for k in range(covariates)),
        hide_covar=True,
        missing=MISSING.of(plan),
        max_iterations=MAX_ITERATIONS.of(plan),
        tolerance=TOLERANCE.of(plan),
    )


@dataclass(frozen=True, eq=False)
class _Some:
    """A cohort of some of its variants, with the covariates that say something here."""

    cohort: Cohort
    samples: Samples
    variants: np.ndarray

    def packed(self, variants: slice | np.ndarray) -> Packed:
        return self.cohort.packed(self.variants[variants])

    def dosages(self, variants: slice | np.ndarray) -> Dosages:
        return self.cohort.dosages(self.variants[variants])


Estimates = tuple[np.ndarray, np.ndarray]

_KEPT = 16
"""The fits that a cohort keeps: it is asked up to three times about a chunk, and about eight at once."""

_kept: WeakKeyDictionary[Cohort, deque[tuple[Plan, np.ndarray, Estimates]]] = WeakKeyDictionary()


def kept_estimates(plan: Plan, chromosome: str, variants: np.ndarray, cohort: Cohort) -> Estimates:
    """Return the result of `own_estimates`, from the cache if these variants, in ascending order, are among
    those of a recent call.
    """
    kept = _kept.setdefault(cohort, deque(maxlen=_KEPT))
    for fitted, of, (effect, se) in tuple(kept):
        places = np.searchsorted(of, variants)
        if fitted == plan and places.max(initial=0) < len(of) and np.array_equal(of[places], variants):
            return effect[places], se[places]
    kept.append((plan, variants, found := own_estimates(plan, chromosome, variants, cohort)))
    return found


def own_estimates(plan: Plan, chromosome: str, variants: np.ndarray, cohort: Cohort) -> Estimates:
    """Effect of a copy of the panel's first allele, and its standard error: float64 (m,), NaN without one.

    `variants` are panel indices, of one class of chromosomes. Where PLINK 1.9, or of dosages plink2, says NA
    there is none.
    """
    columns = telling(cohort.samples)
    samples = replace(
        cohort.samples,
        # Whoever lacks any covariate of the study is not in it, though this one may be left out here.
        phenotype=np.where(complete(cohort.samples), cohort.samples.phenotype, np.nan),
        covariates=cohort.samples.covariates[:, columns],
    )
    own, panel = own_plan(plan, len(columns), len(variants)), _panel(chromosome, len(variants))
    call = PROCEDURES[plan.test](Study(own, lambda: panel))
    rows = tables(call, Alone(own, _Some(cohort, samples, variants))).get(summary.VARIANTS)
    effect, se = np.full((2, len(variants)), np.nan)
    if rows is not None:
        sign = np.where(rows["first_is_a1"], 1.0, -1.0)
        has = ~np.isin(rows["code"], REFUSED)
        effect[rows["variant"]] = np.where(has, sign * rows["beta"][:, 0], np.nan)
        se[rows["variant"]] = np.where(has, rows["se"][:, 0], np.nan)
    return effect, se


def _panel(chromosome: str, variants: int) -> Panel:
    """So many variants of a class of chromosomes, without names: a procedure looks only at the class."""
    nothing = np.zeros(variants, np.uint32)
    return Panel(
        np.full(variants, _CODES[PLACES[chromosome]], np.uint8),
        np.arange(variants, dtype=np.int32),
        np.zeros(variants, "S1"),
        (b"A", b"B"),
        nothing,
        nothing + 1,
    )


_DEPENDENT = 1e-9
"""Share of its variance up to which a covariate follows from the others."""

_ROUNDING = 1e-14
"""A deviation that is no larger a part of the mean is that mean's rounding."""


def telling(samples: Samples) -> list[int]:
    """The columns of covariates that are neither constant here nor follow from those before them.

    With the intercept they span what all columns span here. So the model with these alone is the same, and
    its effect of the genotype is that of the model with all.
    """
    x = samples.covariates[samples.kept & complete(samples)]
    if not len(x):
        return []
    mean = x.mean(axis=0)
    x = x - mean
    size = np.sqrt((x * x).mean(axis=0))
    x = np.where(size > _ROUNDING * np.abs(mean), x / np.where(size > 0, size, 1), 0)
    chosen: list[int] = []
    for k in range(x.shape[1]):
        some = x[:, [*chosen, k]]
        least = np.linalg.eigvalsh(some.T @ some / len(x))[0]
        if least > _DEPENDENT:
            chosen.append(k)
    return chosen
