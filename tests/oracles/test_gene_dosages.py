"""Tests of sets of imputed dosages, and the same of the pooled dosages."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from unpooled.asking.cohort import ArrayCohort
from unpooled.kernels.dosages import COPY, NO_DOSAGE
from unpooled.methods.genes.options import BETA
from unpooled.methods.shared.genotype_counts import carriers
from unpooled.plan.plan import FEWEST_AT_A_LEVEL
from unpooled.run import run

from . import imputing
from .gene_tests import Null, p_values
from .test_gene_tests import MEMBERS, study_of

ENOUGH = 2 * FEWEST_AT_A_LEVEL
"""Capped counts of the cohorts that leave ten people without any one."""


def imputed(cohort: ArrayCohort, seed: int) -> ArrayCohort:
    return replace(cohort, imputed=imputing.near(cohort.genotypes, np.random.default_rng(seed)))


def dosages_of(cohort: ArrayCohort) -> np.ndarray:
    if cohort.imputed is None:
        return np.where(cohort.genotypes < 0, np.nan, cohort.genotypes)
    return np.where(cohort.imputed == NO_DOSAGE, np.nan, cohort.imputed / COPY)


@pytest.mark.parametrize(
    ("trait", "n", "filters"),
    [
        ("quantitative", 900, {}),
        ("quantitative", 300, {"maf": 0.004, "mach_r2_filter": 0.3}),
        ("case/control", 1000, {"geno": 0.02, "hwe": 1e-9}),
    ],
)
def test_dosages_are_tested_as_in_the_pool(trait: str, n: int, filters: dict[str, float]) -> None:
    plan, panel, called, _ = study_of(n, n, trait, BETA, dosages=True, max_maf=0.3, **filters)
    cohorts = [called[0], *(imputed(cohort, seed) for seed, cohort in enumerate(called[1:]))]
    tables = run(plan, panel, cohorts)
    y, covariates, each = people_of(cohorts)
    dosages = np.concatenate(each, axis=1)
    own = np.where(np.nanmean(dosages, axis=1, keepdims=True) > 1, 2 - dosages, dosages)
    variants, sets = tables["variants"], tables["genes"]
    few = few_carry(each) | (np.nansum(own, axis=1) <= FEWEST_AT_A_LEVEL)
    assert variants["collapsed"].tolist() == few[variants["variant"]].tolist()
    passes = (np.nanmean(own, axis=1) <= 2 * 0.3) & (np.nansum(own, axis=1) > 0)
    if not filters:
        assert variants["variant"].tolist() == np.flatnonzero(passes).tolist()
    else:
        assert 0 < len(variants["variant"]) < passes.sum()
    np.testing.assert_allclose(
        variants["a1_freq"], np.nanmean(own, axis=1)[variants["variant"]] / 2, rtol=1e-12
    )
    null = Null.of(y, covariates, cases=trait != "quantitative")
    taken: set[int] = set()
    tested = 0
    for k, members in enumerate(MEMBERS):
        listed = [v for v in dict.fromkeys(members) if v in variants["variant"]]
        alone = [v for v in listed if not few[v]]
        rare = [v for v in listed if few[v] and v not in taken]
        taken.update(rare)
        if sets["reason"][k]:
            continue
        columns = [np.where(np.isnan(own[v]), np.nanmean(own[v]), own[v]) for v in alone]
        if sets["collapsed"][k]:
            assert sets["collapsed"][k] == len(rare)
            columns.append(np.nan_to_num(own[rare]).max(axis=0))
        frequency = np.mean(columns, axis=1) / 2
        p = p_values(null, np.array(columns).T, 25 * (1 - frequency) ** 24, frequency)
        np.testing.assert_allclose(sets["neg_log10_p"][k], -np.log10(p), rtol=1e-5, atol=1e-7)
        tested += 1
    assert tested > 2 and (sets["collapsed"] > 0).any()


def people_of(cohorts: list[ArrayCohort]) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Phenotypes and covariates of whoever has complete data, and the dosages of each cohort."""
    found = []
    for cohort in cohorts:
        y, covariates = cohort.samples.phenotype, cohort.samples.covariates
        known = ~np.isnan(y) & ~np.isnan(covariates).any(axis=1)
        found.append((y[known], covariates[known], dosages_of(cohort)[:, known]))
    each = list(zip(*found, strict=True))
    return np.concatenate(each[0]), np.concatenate(each[1]), list(each[2])


def few_carry(each: list[np.ndarray]) -> np.ndarray:
    """Tell of which variants too few carry an allele, by their dosages to whole copies."""
    capped = np.zeros((len(each[0]), 2), np.int64)
    for dosages in each:
        counts = [np.count_nonzero(np.floor(dosages + 0.5) == copies, axis=1) for copies in (2, 1, 0)]
        capped += np.minimum(carriers(np.stack(counts, axis=-1)), FEWEST_AT_A_LEVEL)
    return np.asarray((capped < ENOUGH).any(axis=1))


def test_whole_dosages_give_what_calls_give() -> None:
    plan, panel, called, _ = study_of(5, 600, "quantitative", BETA)
    whole = [
        replace(
            c,
            imputed=np.where(c.genotypes < 0, NO_DOSAGE, c.genotypes.astype(np.int64) * COPY).astype(
                np.uint16
            ),
        )
        for c in called
    ]
    by_calls = run(plan, panel, called)
    by_dosages = run(replace(plan, options=(*plan.options, ("dosages", True))), panel, whole)
    for table, columns in by_calls.items():
        for name, values in columns.items():
            np.testing.assert_allclose(by_dosages[table][name], values, rtol=1e-12, err_msg=name)
