"""A random federation and its pool, in clear: what a seed draws, files hold, and a case is cut to."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from unpooled.panel.chromosomes import chromosome_codes, chromosome_name
from unpooled.plan.genotype_model import ADDITIVE

COMPLEMENT = {"A": "T", "T": "A", "C": "G", "G": "C"}
UNSEEN, UNNAMED = "0", "."

Cut = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class People:
    """Everybody of the pool, cohort after cohort."""

    cohort: np.ndarray
    """int64 (n,): ascending, every cohort has somebody."""
    sex: np.ndarray
    """int64 (n,): 1 for men, 2 for women, 0 unknown."""
    founder: np.ndarray
    phenotype: np.ndarray
    """float64 (n,): 1 for cases and 0 for controls, or the quantity; NaN is missing."""
    covariates: np.ndarray
    """float64 (n, c): of a categorical covariate the number of the level; NaN is missing."""
    listed: np.ndarray
    """bool (n,): has a line in the file of covariates; else all are missing."""
    further: tuple[np.ndarray, ...] = ()
    """Further phenotypes of a study of several, each as `phenotype`."""

    def take(self, which: np.ndarray) -> People:
        columns = (self.cohort, self.sex, self.founder, self.phenotype, self.covariates, self.listed)
        cohort, *others = (column[which] for column in columns)
        further = tuple(values[which] for values in self.further)
        return People(np.unique(cohort, return_inverse=True)[1], *others, further)


@dataclass(frozen=True, eq=False)
class Variants:
    """m variants in PLINK's order, as n people have them and K cohorts write them."""

    chromosome: np.ndarray
    """int64 (m,): 0 unplaced, the autosomes, then X, Y, XY and MT."""
    position: np.ndarray
    name: np.ndarray
    """str (m,)."""
    alleles: np.ndarray
    """str (m, 2)."""
    copies: np.ndarray
    """int8 (m, n): calls as copies of the first allele from 0 to 2, -1 for a missing call."""
    swapped: np.ndarray
    """bool (K, m): the file's A1 is the second allele."""
    flipped: np.ndarray
    """bool (K, m): the file names the other strand."""
    hidden: np.ndarray
    """bool (K, m): the file has `0` for an allele that nobody of the cohort has."""
    written: np.ndarray
    """str (K, m): the ID in the file; empty where the variant is absent."""
    moved: np.ndarray
    """bool (K, m): the file has another position."""
    clash: np.ndarray
    """bool (K, m): the file names alleles that cannot be reconciled."""
    contig: np.ndarray
    """bool (K, m): the file has the variant on an unplaced contig."""

    def take(self, which: np.ndarray) -> Variants:
        return self._each(lambda column: column[which], lambda column: column[:, which])

    def of_people(self, which: np.ndarray, cohorts: np.ndarray) -> Variants:
        """Return the variants of some people, who are those of some cohorts."""
        kept = self._each(lambda column: column, lambda column: column[cohorts])
        return replace(kept, copies=self.copies[:, which])

    def _each(self, of_variants: Cut, of_cohorts: Cut) -> Variants:
        own = (self.chromosome, self.position, self.name, self.alleles, self.copies)
        theirs = (self.swapped, self.flipped, self.hidden, self.written, self.moved, self.clash, self.contig)
        return Variants(*map(of_variants, own), *map(of_cohorts, theirs))


@dataclass(frozen=True, eq=False)
class Study:
    """A federation: its people, its variants, its plan, and how its cohorts write their files."""

    seed: int
    test: str
    autosomes: int
    people: People
    variants: Variants
    names: tuple[str, ...]
    """Names of the covariates."""
    levels: Mapping[str, tuple[str, ...]]
    """Levels of the categorical covariates, by name."""
    plan: Mapping[str, object]
    """Settings that the plan and PLINK's options share, by the plan's names."""
    zero_one: np.ndarray
    """bool (K,): the cohort's file has 0 for controls and 1 for cases."""
    small: np.ndarray
    """bool (K,): the cohort's file has bases in small letters."""
    pheno_file: bool
    """Phenotypes are in tables of their own, and not in the .fam files."""

    @property
    def model(self) -> str:
        return str(self.plan.get("genotype_model", ADDITIVE))

    @property
    def cohorts(self) -> int:
        return int(self.people.cohort.max()) + 1

    @property
    def each(self) -> list[Study]:
        """The study of each phenotype, as if it were the only one."""
        people = self.people
        several = (people.phenotype, *people.further)
        return [replace(self, people=replace(people, phenotype=one, further=())) for one in several]

    @property
    def quantitative(self) -> bool:
        return self.test == "linear"

    @functools.cached_property
    def kept(self) -> np.ndarray:
        """bool (m,): the variants that a study keeps by the rules of docs/panel.md, found in a slow way."""
        v = self.variants
        codes = chromosome_codes(self.plan.get("chromosomes", ()), self.autosomes)  # type: ignore[arg-type]
        chosen = np.isin(v.chromosome, list(codes)) | (not codes)  # every cohort's list is cut to these first
        called = self.by_place if self.plan.get("by_place") else v.written
        rows = zip(called, v.contig, strict=True)
        times = [Counter(names[chosen & ~contig].tolist()) for names, contig in rows]
        found = [
            all(count[name] == 1 for count in times)
            and bool((called[:, k] == name).all())
            and not (v.moved[:, k].any() or v.clash[:, k].any() or v.contig[:, k].any())
            and self._is_reconcilable(k)
            for k, name in enumerate(v.name.tolist())
        ]
        return np.array(found, bool) & chosen

    @property
    def by_place(self) -> np.ndarray:
        """str (K, m): what each cohort calls its variants by their place; nothing of one that it lacks."""
        v, found = self.variants, np.full(self.variants.written.shape, "", object)
        for k, row in np.argwhere(v.written != "").tolist():
            place = int(v.chromosome[row]), int(v.position[row] + v.moved[k, row])
            found[k, row] = self.called(*place, self.pair(k, row))
        return found.astype(str)

    def called(self, chromosome: int, position: int, pair: Sequence[str]) -> str:
        """Return a variant's name by its place."""
        return ":".join(
            [
                chromosome_name(chromosome, self.autosomes) if chromosome else "0",
                str(position),
                *sorted(pair),
            ]
        )

    def _is_reconcilable(self, variant: int) -> bool:
        """Tell whether any cohort names both alleles, or all have seen the same one."""
        pairs = {frozenset(self.pair(k, variant)) for k in range(self.cohorts)}
        return len(pairs) == 1 or any(UNSEEN not in pair for pair in pairs)

    @functools.cached_property
    def seen(self) -> np.ndarray:
        """bool (K, m, 2): which alleles the people of a cohort have."""
        v, found = self.variants, []
        for k in range(self.cohorts):
            calls = v.copies[:, self.people.cohort == k]
            found.append(
                np.stack([(calls > 0).any(axis=1), ((calls == 0) | (calls == 1)).any(axis=1)], axis=1)
            )
        return np.stack(found)

    def pair(self, cohort: int, variant: int) -> tuple[str, str]:
        """Return a cohort file's names of the two alleles; 0 where it hides one that nobody has."""
        v = self.variants
        pair = [COMPLEMENT[a] if v.flipped[cohort, variant] else a for a in v.alleles[variant].tolist()]
        if self._hides[cohort, variant]:
            pair = [a if s else UNSEEN for a, s in zip(pair, self.seen[cohort, variant], strict=True)]
        if v.clash[cohort, variant]:
            pair = ["A" * 9, "C" * 9]
        return pair[0], pair[1]

    @functools.cached_property
    def _hides(self) -> np.ndarray:
        """bool (K, m): where a file hides an allele."""
        return np.asarray(self.variants.hidden & (self.seen.sum(axis=2) == 1))

    def pooled_pair(self, variant: int) -> tuple[str, str, bool]:
        """A1 and A2 of the pooled file, and whether A1 is the second allele.

        Strand and order are those of most cohorts, then of the alphabet.
        """
        pairs = [self.pair(k, variant) for k in range(self.cohorts)]
        full = [pair for pair in pairs if UNSEEN not in pair] or pairs
        times = Counter(tuple(sorted(pair)) for pair in full)
        named = min(times, key=lambda pair: (-times[pair], pair))
        first, second = next(pair for pair in full if tuple(sorted(pair)) == named)
        swapped = 2 * int(self.variants.swapped[:, variant].sum()) - self.cohorts
        turned = swapped > 0 or (swapped == 0 and second < first)
        return (second, first, turned) if turned else (first, second, turned)

    # What a case is cut to

    def with_variants(self, which: np.ndarray) -> Study:
        """Some variants, bool (m,), and the conditions among them."""
        left, plan = set(self.variants.name[which].tolist()), dict(self.plan)
        if named := plan.pop("condition", ()):
            plan |= {"condition": names} if (names := tuple(n for n in named if n in left)) else {}  # type: ignore[attr-defined]
        return replace(self, variants=self.variants.take(which), plan=plan)

    def with_people(self, which: np.ndarray) -> Study:
        """Some people, bool (n,), and the cohorts that have any."""
        cohorts = np.unique(self.people.cohort[which])
        return replace(
            self,
            people=self.people.take(which),
            variants=self.variants.of_people(which, cohorts),
            zero_one=self.zero_one[cohorts],
            small=self.small[cohorts],
        )

    def with_covariates(self, which: list[int]) -> Study:
        names = tuple(self.names[k] for k in which)
        plan = dict(self.plan)
        if with_some := plan.pop("interaction", ()):
            plan |= {"interaction": left} if (left := tuple(n for n in names if n in with_some)) else {}  # type: ignore[operator]
        return replace(
            self,
            plan=plan,
            people=replace(self.people, covariates=self.people.covariates[:, which]),
            names=names,
            levels={name: levels for name, levels in self.levels.items() if name in names},
        )
