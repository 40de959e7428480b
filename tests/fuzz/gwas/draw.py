"""Drawing of people, covariates and a plan from a seed; `variants` draws the rest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .models import (
    draw_apart,
    draw_errors,
    draw_genotype_model,
    draw_models,
    draw_phenotypes,
    draw_ranks,
    draw_tests,
    draw_way,
)
from .study import People, Study
from .variants import draw_variants

TESTS = ("chi-square", "linear", "logistic")

_COHORTS, _COHORT_SHARES = (3, 4, 5, 7, 12, 30), (0.5, 0.15, 0.1, 0.1, 0.1, 0.05)
_SIZES, _SIZE_SHARES = ((24, 90), (90, 400), (400, 1500), (1500, 4000)), (0.15, 0.45, 0.32, 0.08)
_FEWEST_AT_A_LEVEL = 12
"""A study refuses levels of fewer than 10 people with complete data."""
_FIRTH = ("firth-fallback", "firth", "no-firth")


def draw(seed: int, test: str | None = None) -> Study:
    """The federation of a seed; `test` takes the place of the test that the seed would draw."""
    random = np.random.default_rng(seed)
    drawn = str(random.choice(TESTS))
    test = test or drawn
    autosomes = int(random.choice([22, 22, 22, 1, 5, 19, 38, 95]))
    people, names, levels = _draw_people(random, test)
    plan = _draw_plan(random, test, autosomes) | draw_genotype_model(seed, test, names)
    if plan.get("genotype_model"):
        for name in ("chromosomes", "mind"):  # PLINK 1.9 is told about other variants then
            plan.pop(name, None)
    if test == "logistic" and plan.get("interaction"):  # a search for Firth's maximum begins at all estimates
        plan.pop("hide_covar", None)
    cohorts = int(people.cohort.max()) + 1
    study = Study(
        seed=seed,
        test=test,
        autosomes=autosomes,
        people=people,
        variants=draw_variants(random, people, cohorts, autosomes, test, bool(plan.get("nonfounders"))),
        names=names,
        levels=levels,
        plan=plan,
        small=random.random(cohorts) < random.choice([0, 0.3], p=[0.8, 0.2]),
        zero_one=(random.random(cohorts) < 0.2) & (test != "linear"),
        pheno_file=bool(random.random() < 0.3),
    )
    study = draw_way(study)
    study = replace(study, plan={**study.plan, **draw_models(study)})
    study = replace(study, plan={**study.plan, **draw_apart(study)})
    study = replace(study, plan={**study.plan, **draw_errors(study), **draw_ranks(study)})
    return draw_phenotypes(replace(study, plan={**study.plan, **draw_tests(study)}))


def _draw_people(
    random: np.random.Generator, test: str
) -> tuple[People, tuple[str, ...], dict[str, tuple[str, ...]]]:
    cohorts = int(random.choice(_COHORTS, p=_COHORT_SHARES))
    low, high = _SIZES[random.choice(len(_SIZES), p=_SIZE_SHARES)]
    n = max(int(np.exp(random.uniform(np.log(low), np.log(high)))), 3 * cohorts)
    status = np.zeros(n)
    fraction = np.exp(random.uniform(np.log(0.002), np.log(0.5)))
    status[: max(int(random.choice([1, 2, 3, 5], p=[0.1, 0.2, 0.3, 0.4])), round(fraction * n))] = 1
    random.shuffle(status)
    cohort = _dealt(random, n, cohorts, status)
    order = np.argsort(cohort, kind="stable")
    cohort, status = cohort[order], status[order]
    shares = [
        [0.5, 0.5, 0],
        [0.5, 0.45, 0.05],
        [0.4, 0.4, 0.2],
        [0.05, 0.95, 0],
        [0, 1, 0],
        [1, 0, 0],
        [0, 0.9, 0.1],
    ]
    sex = random.choice(
        [1, 2, 0], n, p=shares[random.choice(len(shares), p=[0.3, 0.3, 0.1, 0.1, 0.08, 0.08, 0.04])]
    )
    founder = random.random(n) < random.choice([1, 1, 0.9, 0.5, 0.02, 0])
    covariates, names, levels = _draw_covariates(random, test, status, sex, cohort)
    listed = random.random(n) >= random.choice([0, 0.02, 0.2], p=[0.8, 0.1, 0.1])
    listed[np.flatnonzero(np.diff(cohort, prepend=-1))] = True  # somebody of each cohort
    covariates[~listed] = np.nan
    phenotype = status if test != "linear" else _quantity(random, covariates, sex, n)
    phenotype = _lacking(random, phenotype, cohort, float(random.choice([0, 0, 0.03, 0.3])))
    return People(cohort, sex, founder, phenotype, covariates, listed), names, levels


def _dealt(random: np.random.Generator, n: int, cohorts: int, status: np.ndarray) -> np.ndarray:
    """Deal people to cohorts: unevenly, at least three each; perhaps one has cases only."""
    cohort = random.choice(cohorts, n, p=random.dirichlet(np.full(cohorts, 2.0)))
    if random.random() < 0.3 and (status == 1).sum() > 9:
        cohort = np.where((cohort == 0) & (status == 0), cohorts - 1, cohort)
        first = random.permutation(np.flatnonzero(status == 1))[:3]
    else:
        first = random.permutation(n)[:3]
    cohort[first] = 0
    others = random.permutation(np.setdiff1d(np.arange(n), first))
    cohort[others[: 3 * (cohorts - 1)]] = np.repeat(np.arange(1, cohorts), 3)
    return cohort


def _draw_covariates(
    random: np.random.Generator, test: str, status: np.ndarray, sex: np.ndarray, cohort: np.ndarray
) -> tuple[np.ndarray, tuple[str, ...], dict[str, tuple[str, ...]]]:
    n = len(status)
    count = int(random.choice([0, 1, 2, 4, 7], p=[0.4, 0.2, 0.2, 0.15, 0.05])) * (test != "chi-square")
    columns: list[np.ndarray] = []
    levels: dict[str, tuple[str, ...]] = {}
    names = []
    for k in range(count):
        kind = str(random.choice(["plain", "scaled", "binary", "whole", "sex", "levels", "near"],
                                 p=[0.35, 0.15, 0.12, 0.12, 0.06, 0.15, 0.05]))  # fmt: skip
        name, values = f"{kind}{k}", random.normal(size=n) + random.choice([0, 0.5]) * status
        if kind == "scaled":
            values = values * float(random.choice([1e-3, 100, 1e5])) + float(random.choice([0, 50, 1950]))
        elif kind == "binary":
            values = (random.random(n) < random.choice([0.5, 0.1, 0.02])).astype(float)
        elif kind == "whole":
            values = np.round(50 + 12 * values)
        elif kind == "sex":
            values = np.where(sex == 0, np.nan, sex == 1)
        elif kind == "near" and columns:
            values = columns[-1] + random.choice([1, 0.3, 0.1, 1e-3]) * np.nanstd(columns[-1]) * values
        elif kind == "levels":
            most = min(int(random.choice([2, 3, 6])), n // (4 * _FEWEST_AT_A_LEVEL))
            if most >= 2:
                values = (cohort if random.random() < 0.3 else random.integers(most, size=n)) % most
                if np.bincount(values, minlength=most).min() < 2 * _FEWEST_AT_A_LEVEL:
                    values = random.permutation(n) % most
                levels[name] = tuple(f"L{level}" for level in range(most))
        rate = float(random.choice([0, 0, 0.02, 0.1]))
        values = values.astype(float) if name in levels else np.array([float(f"{x:.6g}") for x in values])
        columns.append(_lacking(random, values, cohort, rate))
        names.append(name)
    return np.column_stack(columns) if columns else np.zeros((n, 0)), tuple(names), levels


def _quantity(random: np.random.Generator, covariates: np.ndarray, sex: np.ndarray, n: int) -> np.ndarray:
    noise = random.normal(size=n) if random.random() < 0.7 else random.standard_t(2, size=n)
    values = noise + 0.5 * (sex == 1)
    for column in covariates.T:
        size = np.nanstd(column)
        values = values + 0.3 * np.nan_to_num((column - np.nanmean(column)) / (size if size > 0 else 1))
    if random.random() < 0.2:
        values = np.round(values * 2)  # many are equal
    if random.random() < 0.1:
        values[random.integers(n)] += 10 ** random.uniform(2, 5) * random.choice([-1, 1])
    scale, shift = random.choice([1, 1, 1e-3, 1e4]), random.choice([0, 0, 100, -30])
    return np.array([float(f"{x:.6g}") for x in values * scale + shift + 0.01 * scale])


def _lacking(random: np.random.Generator, values: np.ndarray, cohort: np.ndarray, rate: float) -> np.ndarray:
    """Draw missing values, but keep at least two known in each cohort: a client refuses an empty column."""
    missing = random.random(len(values)) < rate
    for k in range(int(cohort.max()) + 1):
        missing[np.flatnonzero(cohort == k)[:2]] = False
    return np.where(missing, np.nan, values)


def _draw_plan(random: np.random.Generator, test: str, autosomes: int) -> dict[str, object]:
    """Draw what differs from the usual plan."""

    def one(*values: object, share: float = 0.2) -> object | None:
        return values[random.integers(len(values))] if random.random() < share else None

    regression = test != "chi-square"
    found: dict[str, object | None] = {
        "files": ("assoc", "glm", "frq", "lmiss", "hwe") if regression else None,
        "nonfounders": one(True, share=0.3),
        "allow_no_sex": one(True, share=0.5),
        "chunk_size": one(23, 60),
        "maf": one(0.01, 0.05, 0.2),
        "geno": one(0.0, 0.02, 0.1, 0.4),
        "hwe": one(1e-6, 0.001, 0.05),
        "mind": one(0.05, 0.1, 0.2, share=0.15),
        "ci": one(0.95, 0.9, 0.99, share=0.4),
        "chromosomes": one(("X", "Y", "MT", "1"), ("1", f"{autosomes + 1}"), share=0.06),
        "hide_covar": one(True) if regression else None,
        "beta": one(True, share=0.3) if test == "logistic" else None,
        "max_iterations": one(100, 60, 8, share=0.15) if test == "logistic" else None,
        "tolerance": one(1e-4, 1e-8, share=0.1) if test == "logistic" else None,
        "firth": str(random.choice(_FIRTH)) if test == "logistic" else None,
    }
    return {name: value for name, value in found.items() if value is not None}
