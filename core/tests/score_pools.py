"""Pools for studies of polygenic scores: made up, and the mice of `gemma-doc`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pooled as pools
from sklearn.linear_model import LinearRegression, Ridge

from tests.people import people as everyone
from tests.people import some
from unpooled.asking.cohort import ArrayCohort, Cohort, Dosages, Packed, Samples, dosages_of
from unpooled.kernels.dosages import COPY, NO_DOSAGE
from unpooled.methods import check
from unpooled.methods.polygenic.counts import groups, key_of
from unpooled.methods.polygenic.options import HELD_OUT
from unpooled.methods.shared.options import DOSAGES
from unpooled.panel.panel import Panel, canonical_order
from unpooled.plan.plan import NO_KEY, Covariate, Plan
from unpooled.run import run

Tables = dict[str, dict[str, np.ndarray]]


@dataclass(frozen=True, eq=False)
class InMemory:
    """A cohort whose genotypes are packed once."""

    samples: Samples
    genotypes: Packed

    @classmethod
    def of(cls, samples: Samples, copies: np.ndarray, swapped: np.ndarray) -> InMemory:
        return cls(samples, ArrayCohort(samples, copies, swapped).packed(slice(0, len(copies))))

    def packed(self, variants: slice | np.ndarray) -> Packed:
        return Packed(self.genotypes.words[variants], self.genotypes.swapped[variants])

    def dosages(self, variants: slice | np.ndarray) -> Dosages:
        return dosages_of(self.packed(variants), len(self.samples))


@dataclass(frozen=True, eq=False)
class Pooled:
    """The people of all cohorts, n, and m variants of the autosomes and one of X."""

    plan: Plan
    panel: Panel
    copies: np.ndarray
    """int8 (m, n), of dosages float64"""
    samples: Samples
    of_cohort: np.ndarray
    """int64 (n,)"""

    @property
    def cohorts(self) -> list[Cohort]:
        swapped = np.random.default_rng(0).random(len(self.panel)) < 0.5
        found: list[Cohort] = []
        for number in range(self.plan.cohorts):
            inside = self.of_cohort == number
            samples, copies = some(self.samples, inside), self.copies[:, inside]
            if DOSAGES.of(self.plan):
                imputed = np.where(copies < 0, NO_DOSAGE, copies * COPY).astype(np.uint16)
                found.append(ArrayCohort(samples, np.rint(copies).astype(np.int8), swapped, imputed))
            else:
                found.append(InMemory.of(samples, copies, swapped))
        return found

    def study(self) -> Tables:
        check(self.plan)
        return run(self.plan, self.panel, self.cohorts)

    def drawn(self) -> list[np.ndarray]:
        """Mark, of all people, those fitted to, and those left out: bool (n,) each."""
        found = np.zeros((2, len(self.samples)), bool)
        key, left_out = key_of(self.plan), HELD_OUT.of(self.plan)
        for number, cohort in enumerate(self.cohorts):
            found[:, self.of_cohort == number] = groups(cohort.samples, key, left_out)
        return list(found)

    def genotypes(self, variants: np.ndarray) -> np.ndarray:
        """About the means of everyone with complete data, a missing call 0: float64 (n, m)."""
        inside = np.logical_or(*self.drawn())
        copies = np.where(self.copies < 0, np.nan, self.copies.astype(float))[variants]
        return np.asarray(np.nan_to_num(copies - np.nanmean(copies[:, inside], axis=1, keepdims=True)).T)

    def ridge(self, variants: np.ndarray, share: float, who: np.ndarray) -> tuple[Any, Any, np.ndarray]:
        """The regression of what covariates leave, that on covariates, and the genotypes in deviations."""
        x, inside = self.genotypes(variants), np.logical_or(*self.drawn())
        x /= x[inside].std(axis=0)
        c, y = self.samples.covariates, self.samples.phenotype
        columns = np.column_stack([x, y])
        on_c = LinearRegression().fit(c[who], columns[who]) if c.shape[1] else _Mean(columns[who])
        left = columns - on_c.predict(c)
        penalty = len(variants) * (1 - share) / share
        model = Ridge(penalty, fit_intercept=False, solver="cholesky").fit(left[who, :-1], left[who, -1])
        return model, on_c, x


class _Mean:
    """A regression on no columns."""

    def __init__(self, columns: np.ndarray) -> None:
        self.mean = columns.mean(axis=0)

    def predict(self, c: np.ndarray) -> np.ndarray:
        return np.broadcast_to(self.mean, (len(c), len(self.mean)))


def pooled(
    people: int = 600,
    variants: int = 200,
    cohorts: int = 3,
    covariates: int = 0,
    missing: float = 0.0,
    least: float = 0.1,
    weights: np.ndarray | None = None,
    **more: Any,
) -> Pooled:
    """Neighbouring variants go together; a tenth of them has an effect. `weights` are the cohorts' sizes."""
    random = np.random.default_rng(people + variants + cohorts)
    base = random.random((variants // 4 + 1, 2, people))
    frequency = random.uniform(least, 0.5, variants)[:, None]
    haplotypes = np.where(random.random((variants, 2, people)) < 0.7, base[np.arange(variants) // 4], 0.5)
    copies = ((haplotypes + random.random((variants, 2, people))) / 2 < frequency[:, None]).sum(axis=1)
    effects = np.where(random.random(variants) < 0.1, random.normal(size=variants), 0)
    c = random.normal(size=(people, covariates)) @ np.diag(10.0 ** np.arange(covariates))
    risk = effects @ copies + c.sum(axis=1) / 10 + random.normal(size=people)
    trait = more.setdefault("trait", "quantitative")
    phenotype = 1e4 + 50 * risk if trait == "quantitative" else (risk > np.median(risk)).astype(float)
    phenotype[::31] = np.nan
    if more.get("dosages"):
        noise = random.normal(0, random.choice([0.02, 0.4], (variants, 1)), copies.shape)
        copies = np.rint(np.clip(copies + noise, 0, 2) * COPY) / COPY
    copies = np.where(random.random(copies.shape) < missing, -1, copies)
    copies = copies if more.get("dosages") else copies.astype(np.int8)
    panel = Panel.of([(1 + k % 22, 1000 + k, b"rs%d" % k, b"A", b"G") for k in range(variants)])
    order = canonical_order(panel.chromosome, panel.position, panel.name)
    assert (order == np.arange(variants)).all()
    plan = Plan(
        "polygenic",
        "height",
        cohorts,
        NO_KEY,
        files=("score", "card"),
        covariates=tuple(Covariate(f"c{k}") for k in range(covariates)),
        **more,
    )
    of_cohort = random.choice(cohorts, people, p=None if weights is None else weights / np.sum(weights))
    return Pooled(plan, panel, copies, everyone(phenotype, c), of_cohort)


def mice(phenotype: int) -> Pooled:
    """The mice of `pooled.py`, everyone a founder and without covariates."""
    found = pools.mice(5 + phenotype)
    first = np.array([a1 < a2 for *_, a1, a2 in found.variants])
    copies = np.where(first[:, None] | (found.copies < 0), found.copies, 2 - found.copies).astype(np.int8)
    y = found.samples.phenotype
    plan = Plan("polygenic", "y", 3, NO_KEY, trait="quantitative", autosomes=19, files=("score",), maf=0.01)
    of_cohort = np.random.default_rng(5).integers(0, 3, len(y))
    return Pooled(plan, Panel.of(found.variants), copies, everyone(y), of_cohort)
