"""Truth about a variant: the pooled rows of its regression, which decide who is right."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np

from unpooled.plan.genotype_model import ADDITIVE, MODELS

from ...oracles.normal_scores import scored
from ...oracles.regression import Rows
from .files import columns
from .models import conditions, indicators, interacting
from .ours import plan_of
from .study import Study


class Truth:
    """The pooled rows of a study's variants, as PLINK 1.9 counts them or as plink2 does."""

    def __init__(self, study: Study, kept: np.ndarray) -> None:
        """`kept`, bool (n,): who is left by --mind."""
        self.study, self.kept = study, kept
        people = study.people
        copied = conditions(study)
        found = [*copied, *columns(study)]
        self.conditions, self.names = len(copied), [name for name, _ in found]
        own = next(name for k in range(9) if (name := "SEX" + k * "(X)") not in self.names)
        self.of_sex = (own, f"ADDx{own}")
        """Tests that a variant has on X alone, the second beside an interaction."""
        self.by_mean = study.plan.get("missing") == "mean"
        """True if the pool's mean stands for a missing call."""
        values = np.array([column for _, column in found]).reshape(-1, len(people.sex)).T
        phenotype = people.phenotype
        if not study.plan.get("allow_no_sex"):
            phenotype = np.where(people.sex == 0, np.nan, phenotype)
        self.covariates, self.phenotype = values, phenotype
        self.complete = kept & ~np.isnan(phenotype) & ~np.isnan(values).any(axis=1)
        self.place = {name: k for k, name in enumerate(study.variants.name.tolist())}
        self._found: dict[tuple[str, str, bool], Rows] = {}

    def rows(self, name: str, a1: str, by_plink2: bool) -> Rows:
        """The regression of a variant on copies of A1, as it is called in the pool."""
        key = (name, a1, by_plink2)
        if key not in self._found:
            self._found[key] = self._rows(self.place[name], a1, by_plink2)
        return self._found[key]

    def is_filled(self, name: str, by_plink2: bool = False) -> bool:
        """Tell whether something stands for a call, or people of unknown sex count on X, so that no PLINK has
        the regression.
        """
        calls = self.study.variants.copies[self.place[name], self.complete]
        code = self.study.variants.chromosome[self.place[name]] - self.study.autosomes
        unknown = by_plink2 and code == 1 and not self.study.people.sex[self.complete].all()
        return self.by_mean and bool((calls < 0).any() or (code > 0 and (calls == 1).any()) or unknown)

    @functools.cached_property
    def of_calls(self) -> Truth:
        """The same, without those who lack a call."""
        return Truth(replace(self.study, plan={**self.study.plan, "missing": "exact"}), self.kept)

    def is_told_by_calls(self, name: str, a1: str, inside: np.ndarray | None = None) -> bool:
        """Tell whether calls alone separate cases from controls, so the mean gives no estimate either."""
        if not self.is_filled(name):
            return False
        rows = self.of_calls._rows(self.place[name], a1, False, inside=inside)
        own = rows.x[:, : 1 + len(MODELS[self.study.model])]
        return replace(rows, x=own).is_estimable() is not True

    def is_lone(self, name: str) -> bool:
        """Tell whether all men, or all others, lack a call on X, so that the variant has no mean there."""
        on_x = self.study.variants.chromosome[self.place[name]] == self.study.autosomes + 1
        calls, men = self.study.variants.copies[self.place[name]], self.study.people.sex == 1
        known = (calls >= 0) & ~(men & (calls == 1))
        both = (self.complete & men, self.complete & ~men)
        return bool(on_x) and any(group.any() and not (group & known).any() for group in both)

    def may_be_of_few(self, name: str) -> bool:
        """Tell whether so few people have an allele that ten may not be left without one of the cohorts.

        Where a genotype is more than copies, so few may have a genotype. On X and Y few of one sex suffice:
        there every variant may.
        """
        study, place = self.study, self.place[name]
        if not self.by_mean or study.variants.chromosome[place] > study.autosomes:
            return self.by_mean
        copies = [
            study.variants.copies[place][self.complete & (study.people.cohort == k)]
            for k in range(study.cohorts)
        ]
        kinds = (
            ([0], [1], [2]) if study.model != ADDITIVE or study.plan.get("interaction") else ([0, 1], [1, 2])
        )
        counts = np.array([[np.isin(own, kind).sum() for own in copies] for kind in kinds])
        return bool((np.minimum(counts, 10).sum(axis=1) < 20).any())

    def is_with_some(self, name: str) -> bool:
        """Tell whether a variant is on X and has some of all products: PLINK numbers them otherwise there."""
        some = interacting(self.study, self.names)
        on_x = self.study.variants.chromosome[self.place[name]] == self.study.autosomes + 1
        return bool(on_x) and 0 < len(some) < len(self.names)

    def people(self, name: str, a1: str, by_plink2: bool) -> int:
        """Count the people of a regression, also of cohorts that say nothing beside their own intercepts."""
        return len(self._rows(self.place[name], a1, by_plink2, telling=False).y)

    def everyone(self, name: str, a1: str) -> Rows:
        """Return the rows as plink2 has them, but with those who lack the call, whose copies are 0."""
        return self._rows(self.place[name], a1, True, called=False)

    def of_cohort(self, name: str, a1: str, cohort: int) -> Rows:
        """Return one cohort's rows as PLINK 1.9 has them, with the covariates that are informative about its
        people.
        """
        own = self.complete & (self.study.people.cohort == cohort)
        rows = self._rows(self.place[name], a1, False, inside=own, telling=False)
        x = self.covariates[own]
        told: list[int] = []
        for k in range(x.shape[1] * bool(len(x))):
            some = Rows(self.study.test, (), x[:, 0], np.column_stack([np.ones(len(x)), x[:, [*told, k]]]))
            if some.least > 3e-5:
                told.append(k)
        columns = [0, 1, *(2 + k for k in told), *range(2 + x.shape[1], rows.x.shape[1])]
        return Rows(rows.test, tuple(rows.names[k - 1] for k in columns[1:]), rows.y, rows.x[:, columns])

    def _rows(
        self,
        variant: int,
        a1: str,
        by_plink2: bool,
        called: bool = True,
        inside: np.ndarray | None = None,
        telling: bool = True,
    ) -> Rows:
        study, people = self.study, self.study.people
        inside = self.complete if inside is None else inside
        v, code = study.variants, int(study.variants.chromosome[variant])
        first, _, turned = study.pooled_pair(variant)
        second = turned == (a1 == first)  # A1 is the second of `alleles`
        copies = v.copies[variant].astype(float)
        copies = np.where(copies < 0, np.nan, 2 - copies if second else copies)
        men = people.sex == 1
        on_x, on_y, on_mt = (code == study.autosomes + k for k in (1, 2, 4))
        one = (men & (on_x or on_y)) | on_mt
        if self.by_mean or not by_plink2:
            copies = np.where(one & (copies == 1), np.nan, copies)
        copies = np.where(one & (not on_x or not by_plink2), copies / 2, copies)
        with_sex = on_x and {1, 2} <= set(people.sex[inside].tolist())
        if on_y:
            inside = inside & men
        if on_x and with_sex and by_plink2 and not self.by_mean:
            inside = inside & (people.sex != 0)
        told = self._told(inside) if by_plink2 else np.arange(len(self.names))
        if not called:
            copies = np.nan_to_num(copies)
        coded = [(column.test, _coded(copies, column.values)) for column in MODELS[study.model]]
        if self.by_mean:
            alike = [men, ~men] if on_x else [np.ones(len(men), bool)]
            for _, values in coded:
                _fill(values, inside, alike)
        inside = inside & ~np.isnan(coded[0][1])
        if telling and indicators(study) and not study.quantitative:
            inside = inside & np.isin(people.cohort, self._telling(inside))
            told = self._told(inside)
        names = [*(test for test, _ in coded), *(self.names[k] for k in told)]
        parts = [np.ones(len(men)), *(values for _, values in coded), *self.covariates[:, told].T]
        products = []
        for k in interacting(study, self.names):
            for a, (test, own) in enumerate(coded):
                products.append((len(parts), 1 + a, 1 + len(coded) + k))
                names.append(f"{test}x{self.names[k]}")
                parts.append(own * self.covariates[:, k])
        if with_sex:
            names.append(self.of_sex[0])
            sex = np.where(by_plink2, 2.0 - men, men)
            parts.append(sex)
            if products:  # there is an interaction, and so one with sex
                products.append((len(parts), 1, len(parts) - 1))
                names.append(self.of_sex[1])
                parts.append(coded[0][1] * sex)
        x = np.column_stack(parts)[inside]
        robust = bool(study.plan.get("robust"))
        return Rows(study.test, tuple(names), self.phenotype[inside], x, tuple(products), robust)

    def _telling(self, inside: np.ndarray) -> list[int]:
        """The cohorts with cases and controls: the others say nothing beside intercepts of their own."""
        of, y = self.study.people.cohort, self.phenotype
        return [k for k in range(self.study.cohorts) if len(set(y[inside & (of == k)].tolist())) > 1]

    def _told(self, inside: np.ndarray) -> np.ndarray:
        """The covariates but for indicators of cohorts that nobody of a class of chromosomes is in: plink2
        leaves these out there."""
        count = len(indicators(self.study))
        first, there = len(self.names) - count, np.unique(self.study.people.cohort[inside])
        of_cohorts = first - 1 + there[1:] if count else there[:0]
        return np.concatenate([np.arange(first), of_cohorts])


def with_scores(study: Study, kept: np.ndarray) -> Study:
    """The study with normal scores for phenotypes; 0 of whoever is in no regression."""
    people, truth = study.people, Truth(study, kept)
    known = np.where(truth.complete, truth.phenotype, np.nan)
    scores = np.nan_to_num(scored(known, people.cohort, plan_of(study)))
    return replace(
        study, people=replace(people, phenotype=np.where(np.isnan(people.phenotype), np.nan, scores))
    )


def _fill(values: np.ndarray, inside: np.ndarray, groups: list[np.ndarray]) -> None:
    """Put the mean of those who have a value for each that is missing, in each group by itself."""
    for group in groups:
        known = inside & group & ~np.isnan(values)
        values[inside & group & np.isnan(values)] = values[known].mean() if known.any() else 0


def _coded(copies: np.ndarray, values: tuple[float, float, float]) -> np.ndarray:
    """A column that copies become, NaN without a call; half a copy counts half of one."""
    return np.asarray(np.interp(copies, [0, 1, 2], values, left=np.nan, right=np.nan))
