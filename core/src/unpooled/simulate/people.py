"""The people of a simulated cohort: families, sex, trait, covariates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

#: Average of the quantitative trait and its deviation before any effect (arbitrary units).
TRAIT_MEAN, TRAIT_DEVIATION = 100.0, 15.0
#: What one standard deviation of each covariate adds to a quantitative trait (same units).
COVARIATE_EFFECT = 2.0


@dataclass(frozen=True, eq=False)
class People:
    """One cohort's rows of a `.fam` file, n of them, and their covariates."""

    family: list[str]
    name: list[str]
    father: list[str]
    mother: list[str]
    sex: np.ndarray  # uint8 (n,): 1 male, 2 female; the truth, which decides the genotypes on X, Y and MT
    sex_unknown: np.ndarray  # bool (n,): the file shows 0
    case: np.ndarray  # bool (n,); all False for a quantitative trait
    phenotype_missing: np.ndarray  # bool (n,)
    covariates: np.ndarray  # float64 (n, c), nan = missing

    @property
    def founder(self) -> np.ndarray:
        """bool (n,): both parents are `0`, which is what PLINK calls a founder."""
        return np.array([f == "0" and m == "0" for f, m in zip(self.father, self.mother, strict=True)])


@dataclass(frozen=True)
class Rates:
    """Shares between 0 and 1 of the samples of a cohort."""

    case: float
    missing_phenotype: float = 0.0
    nonfounder: float = 0.0
    sex_unknown: float = 0.0
    missing_covariate: float = 0.0
    one_parent: float = 0.0  # of the nonfounders: only one parent is named


def draw_people(rng: np.random.Generator, cohort: int, samples: int, rates: Rates, covariates: int) -> People:
    """Draw `samples` people; exactly round(case · samples) of them are cases. `cohort` counts from 1."""
    name = [f"C{cohort}S{i:05d}" for i in range(1, samples + 1)]
    sex = rng.integers(1, 3, size=samples).astype(np.uint8)
    case = np.zeros(samples, dtype=bool)
    case[rng.permutation(samples)[: round(rates.case * samples)]] = True
    family, father, mother = _families(rng, cohort, name, sex, rates)
    return People(
        family=family,
        name=name,
        father=father,
        mother=mother,
        sex=sex,
        sex_unknown=_some(rng, samples, rates.sex_unknown),
        case=case,
        phenotype_missing=_some(rng, samples, rates.missing_phenotype),
        covariates=_covariates(rng, case, covariates, rates.missing_covariate),
    )


def quantitative_trait(rng: np.random.Generator, people: People, genetic: np.ndarray) -> np.ndarray:
    """float64 (n,): genetic value (units of the trait's deviation) + covariates + normal noise."""
    noise = rng.normal(TRAIT_MEAN, TRAIT_DEVIATION, size=len(people.name))
    columns = np.nan_to_num(people.covariates)
    spread = columns.std(axis=0) if columns.size else np.ones(columns.shape[1])
    scaled = (columns - columns.mean(axis=0)) / np.where(spread > 0, spread, 1.0) if columns.size else columns
    value: np.ndarray = noise + TRAIT_DEVIATION * genetic + COVARIATE_EFFECT * scaled.sum(axis=1)
    return value


def covariate_names(count: int) -> list[str]:
    """AGE, BMI, then PC1, PC2, …"""
    return ["AGE", "BMI", *(f"PC{i}" for i in range(1, count - 1))][:count]


def _covariates(rng: np.random.Generator, case: np.ndarray, count: int, missing: float) -> np.ndarray:
    """Cases are a little older and heavier, so that a covariate matters; components have mean 0."""
    columns = rng.normal(size=(len(case), count)) + np.where(case, 0.2, 0.0)[:, None]
    for column, (mean, deviation) in zip(range(min(count, 2)), ((54.0, 9.0), (26.0, 4.0)), strict=False):
        columns[:, column] = mean + deviation * columns[:, column]
    columns[:, 2:] *= 0.02
    columns = np.round(columns, 4)
    columns[_some(rng, columns.size, missing).reshape(columns.shape)] = np.nan
    return columns


def _families(
    rng: np.random.Generator, cohort: int, name: Sequence[str], sex: np.ndarray, rates: Rates
) -> tuple[list[str], list[str], list[str]]:
    """Nonfounders get parents among the founders, and the family of the one that is named."""
    count = len(name)
    family = [f"C{cohort}F{i:05d}" for i in range(1, count + 1)]
    father, mother = ["0"] * count, ["0"] * count
    child = _some(rng, count, rates.nonfounder)
    men, women = np.flatnonzero(~child & (sex == 1)), np.flatnonzero(~child & (sex == 2))
    if men.size == 0 or women.size == 0:
        return family, father, mother
    for i in np.flatnonzero(child):
        dad, mum = rng.choice(men), rng.choice(women)
        alone = rng.random() < rates.one_parent
        family[i] = family[mum]
        mother[i] = name[mum]
        father[i] = "0" if alone else name[dad]
    return family, father, mother


def _some(rng: np.random.Generator, count: int, rate: float) -> np.ndarray:
    """bool (count,): exactly round(rate · count) are True."""
    chosen = np.zeros(count, dtype=bool)
    chosen[rng.permutation(count)[: round(rate * count)]] = True
    return chosen
