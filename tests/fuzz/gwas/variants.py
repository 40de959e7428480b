"""The variants of a random federation: who carries what, and how each cohort's files write it."""

from __future__ import annotations

import numpy as np

from .study import COMPLEMENT, UNNAMED, People, Variants

_PAIRS = ("AG", "CT", "AC", "GT", "AT", "CG", "GA", "TC", "TA", "GC")
_LONG = (("A", "ATTG"), ("CCT", "C"), ("D", "I"), ("G", "GA"))
_KINDS = {"common": 0.22, "rare": 0.2, "carried by cases": 0.22, "strong": 0.08, "tied": 0.12, "still": 0.04,
          "uncalled": 0.01, "heterozygous": 0.02, "apart": 0.05, "skewed": 0.04, "between": 0.02}  # fmt: skip
_COUNTS, _COUNT_SHARES = (12, 30, 60, 150), (0.25, 0.4, 0.25, 0.1)


def draw_variants(
    random: np.random.Generator, people: People, cohorts: int, autosomes: int, test: str, nonfounders: bool
) -> Variants:
    """Variants of every kind on every kind of chromosome, in PLINK's order."""
    m = int(random.choice(_COUNTS, p=_COUNT_SHARES))
    place = random.choice(7, m, p=[0.45, 0.1, 0.18, 0.1, 0.05, 0.09, 0.03])
    last = np.array([1, autosomes, autosomes + 1, autosomes + 2, autosomes + 3, autosomes + 4, 0])
    chromosome = np.sort(last[place])
    position = np.sort(random.integers(1, 4 * m, m))
    name = _names(random, m)
    order = np.lexsort((name.astype("S"), position, chromosome))
    chromosome, position, name = chromosome[order], position[order], name[order]
    status = people.phenotype if test != "linear" else people.phenotype > np.nanmedian(people.phenotype)
    case = np.nan_to_num(status).astype(float)
    counted = people.founder | nonfounders
    copies = np.stack(
        [_calls(random, _place(code, autosomes), people, case, counted) for code in chromosome.tolist()]
    )
    alleles = np.array([_alleles(random) for _ in range(m)])
    return Variants(chromosome, position, name, alleles, copies, *_writing(random, alleles, name, cohorts))


def _place(code: int, autosomes: int) -> str:
    return {autosomes + 1: "X", autosomes + 2: "Y", autosomes + 4: "MT"}.get(code, "")


def _names(random: np.random.Generator, m: int) -> np.ndarray:
    numbers = random.choice(10 * m, m, replace=False)
    forms = random.choice(
        ["rs{}", "{}", "chr1_{}_A_G", "a_rather_long_name_of_a_variant_{}"], m, p=[0.8, 0.1, 0.08, 0.02]
    )
    return np.array([str(form).format(number) for form, number in zip(forms, numbers, strict=True)])


def _alleles(random: np.random.Generator) -> tuple[str, str]:
    if random.random() < 0.06:
        return _LONG[random.integers(len(_LONG))]
    pair = _PAIRS[random.integers(len(_PAIRS))]
    return pair[0], pair[1]


def _calls(
    random: np.random.Generator, place: str, people: People, case: np.ndarray, counted: np.ndarray
) -> np.ndarray:
    """Everybody's calls of a variant: -1, 0, 1 or 2."""
    sex, n = people.sex, len(people.sex)
    kind = str(random.choice(list(_KINDS), p=np.array(list(_KINDS.values())) / sum(_KINDS.values())))
    single = {"X": sex == 1, "Y": sex == 1, "MT": np.ones(n, bool)}.get(place, np.zeros(n, bool))
    frequency = _frequencies(random, kind, case)
    copies = random.binomial(2, frequency)
    copies = np.where(single, 2 * random.binomial(1, frequency), copies)
    if kind == "tied":
        for group in (counted & single, counted & ~single):
            _even_out(random, copies, np.flatnonzero(group), place != "" and bool(group[single].any()))
    elif kind == "heterozygous":
        copies[:] = np.where(single, copies, 1)
    elif kind == "between":  # varies between cohorts but within none
        copies = 2 * random.integers(2, size=n)[people.cohort]
    rate = float(random.choice([0, 0.005, 0.03, 0.2], p=[0.5, 0.2, 0.2, 0.1]))
    if kind != "tied":
        copies[random.random(n) < rate * np.where(case == 1, random.choice([1, 3]), 1)] = -1
        if single.any():
            copies[single & (copies >= 0) & (random.random(n) < random.choice([0, 0, 0.02, 0.3]))] = 1
    if place == "Y":
        called = random.random(n) < random.choice([0, 0, 0.02])
        copies[(sex != 1) & ~called] = -1
    if kind == "uncalled":
        copies[:] = -1
    return _turned(random, copies)


def _turned(random: np.random.Generator, copies: np.ndarray) -> np.ndarray:
    """Count the other allele, half of the time."""
    other = random.random() < 0.5
    return np.where((copies >= 0) & other, 2 - copies, copies).astype(np.int8)


def _frequencies(random: np.random.Generator, kind: str, case: np.ndarray) -> np.ndarray:
    """Return each person's frequency of the effect's allele: that of the controls, or of the cases."""
    n = len(case)
    if kind == "common":
        low = high = random.uniform(0.05, 0.5)
    elif kind == "rare":
        low = high = random.integers(1, 30) / (2 * n)
    elif kind == "carried by cases":
        low = np.exp(random.uniform(np.log(1), np.log(max(2, min(500, n / 4))))) / (2 * n)
        high = _odds(low, np.exp(random.uniform(np.log(2), np.log(60))))
    elif kind == "strong":
        low = random.uniform(0.05, 0.5)
        high = _odds(low, np.exp(random.choice([-1, 1]) * random.uniform(np.log(1.5), np.log(60))))
    elif kind == "apart":
        low, high = [(0, random.uniform(0.05, 0.9)), (random.uniform(0.05, 0.9), 0), (0, 1)][
            random.integers(3)
        ]
    elif kind == "skewed":
        low, high = (0.02, 0.98) if random.random() < 0.5 else (0.3, 0.9)
    else:
        low = high = {"tied": 0.5, "still": 0.0}.get(kind, 0.5)
    return np.where(case == 1, high, low)


def _odds(frequency: float, ratio: float) -> float:
    odds = frequency / (1 - frequency) * ratio
    return float(odds / (1 + odds))


def _even_out(random: np.random.Generator, copies: np.ndarray, group: np.ndarray, single: bool) -> None:
    """Make both alleles equally frequent in a group: people in pairs, and who is left over heterozygous."""
    group = random.permutation(group)
    half = len(group) // 2
    copies[group[half : 2 * half]] = 2 - copies[group[:half]]
    if len(group) % 2:
        copies[group[-1]] = -1 if single else 1


def _writing(
    random: np.random.Generator, alleles: np.ndarray, name: np.ndarray, cohorts: int
) -> tuple[np.ndarray, ...]:
    """Draw how each cohort writes the variants: swapped, flipped, hidden, written, moved, clash, contig."""
    shape = (cohorts, len(name))
    swapped = random.random(shape) < random.choice([0, 0.5, 0.9], shape[1])
    can_flip = np.array(
        [a in COMPLEMENT and b in COMPLEMENT and COMPLEMENT[a] != b for a, b in alleles.tolist()]
    )
    flipped = can_flip & (random.random(shape) < random.choice([0, 0.1, 0.5], shape[1], p=[0.8, 0.1, 0.1]))
    hidden = random.random(shape) < random.choice([0, 0.5, 1], shape[1], p=[0.4, 0.2, 0.4])
    # Half of the federations have variants that are to be left out: each for one reason, at one cohort.
    odd = random.random(shape[1]) < random.choice([0, 0.06])
    why = random.choice(["absent", "again", "moved", "clash", "unnamed", "contig"], shape[1])
    there = np.arange(cohorts)[:, None] == random.integers(cohorts, size=shape[1])
    written = np.tile(name, (cohorts, 1)).astype(object)
    written[there & odd & (why == "absent")] = ""
    twice = there & odd & (why == "again") & ~np.roll(odd, 1)
    written[twice] = np.broadcast_to(np.roll(name, 1), shape)[twice]
    written[there & odd & (why == "unnamed")] = UNNAMED
    moved, clash, contig = (there & odd & (why == word) for word in ("moved", "clash", "contig"))
    return swapped, flipped, hidden, written.astype(str), moved, clash, contig
