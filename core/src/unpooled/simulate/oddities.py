"""Oddities of real files, planted on purpose: one line per kind in `ODDITIES`.

Each kind has variants of its own. Whether a study keeps them follows from the rules of
`unpooled.panel.agreement`; the reasons given here are for the reader of `truth.json`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unpooled.simulate.variants import Variants, complement

#: Fewer variants than this cannot hold every kind.
LEAST_VARIANTS = 300

_TRANSITION = bytes.maketrans(b"ACGT", b"GTAC")


@dataclass(frozen=True)
class Oddity:
    name: str
    share: float  # of all variants; at least one is planted
    plant: Callable[[np.random.Generator, Variants, np.ndarray], None]
    left_out: str = ""  # why a study leaves such a variant out; empty if it is kept


def _swap(rng: np.random.Generator, v: Variants, at: np.ndarray) -> None:
    v.swapped[:, at] = _some_cohorts(rng, v, at)


def _flip(rng: np.random.Generator, v: Variants, at: np.ndarray) -> None:
    _exclude_ambiguous(v, at)
    v.flipped[:, at] = _some_cohorts(rng, v, at)
    v.swapped[:, at] = rng.random((len(v.present), len(at))) < 0.5


def _absent(rng: np.random.Generator, v: Variants, at: np.ndarray) -> None:
    v.present[:, at] = ~_one_cohort(rng, v, at)


def _monomorphic(rng: np.random.Generator, v: Variants, at: np.ndarray) -> None:
    v.frequency[:, at] = 0.0


def _monomorphic_unseen(rng: np.random.Generator, v: Variants, at: np.ndarray) -> None:
    v.frequency[:, at] = 0.0
    v.hidden[:, at] = 1
    v.swapped[:, at] = False


def _monomorphic_once(rng: np.random.Generator, v: Variants, at: np.ndarray) -> None:
    _exclude_ambiguous(v, at)
    where = _one_cohort(rng, v, at)
    # Rare elsewhere too: a common allele that one cohort lacks would look like a hit.
    v.frequency[:, at] = np.where(where, 0.0, rng.uniform(0.005, 0.05, size=where.shape))
    v.swapped[:, at] = False
    v.hidden[:, at] = where
    v.flipped[:, at] = where & (rng.random(len(at)) < 0.5)


def _tie(rng: np.random.Generator, v: Variants, at: np.ndarray) -> None:
    v.frequency[:, at] = 0.5
    v.swapped[:, at] = _some_cohorts(rng, v, at)


def _duplicate(rng: np.random.Generator, v: Variants, at: np.ndarray) -> None:
    """Half of the pairs share an ID in every cohort, the others in one."""
    single = _one_cohort(rng, v, at)
    for number, (one, two) in enumerate(zip(at[0::2].tolist(), at[1::2].tolist(), strict=False)):
        for cohort in range(len(v.present)):
            if number % 2 == 0 or single[cohort, 2 * number]:
                v.renamed.setdefault(cohort, {})[two] = v.name[one]


def _unname(rng: np.random.Generator, v: Variants, at: np.ndarray) -> None:
    for cohort in range(len(v.present)):
        v.renamed.setdefault(cohort, {}).update((variant, b".") for variant in at.tolist())


def _clash(rng: np.random.Generator, v: Variants, at: np.ndarray) -> None:
    _exclude_ambiguous(v, at)
    v.clash[:, at] = _one_cohort(rng, v, at)


def _move(rng: np.random.Generator, v: Variants, at: np.ndarray) -> None:
    v.shift[:, at] = _one_cohort(rng, v, at) * rng.integers(1, 5000, size=len(at))


def _below_zero(rng: np.random.Generator, v: Variants, at: np.ndarray) -> None:
    v.shift[:, at] = -2 * v.position[at]


def _insertion(rng: np.random.Generator, v: Variants, at: np.ndarray) -> None:
    letters = np.array([b"A", b"C", b"G", b"T"])
    for i in at.tolist():
        v.b[i] = v.a[i] + b"".join(rng.choice(letters, size=rng.integers(1, 7)).tolist())
    v.swapped[:, at] = rng.random((len(v.present), len(at))) < 0.5


def _no_calls(rng: np.random.Generator, v: Variants, at: np.ndarray) -> None:
    v.uncalled[:, at] = True


def _no_calls_once(rng: np.random.Generator, v: Variants, at: np.ndarray) -> None:
    v.uncalled[:, at] = _one_cohort(rng, v, at)


TIED = "tied frequencies"

ODDITIES = (
    Oddity("swapped", 0.05, _swap),
    Oddity("flipped", 0.03, _flip),
    Oddity("absent in one cohort", 0.01, _absent, "a cohort lacks it"),
    Oddity("monomorphic", 0.005, _monomorphic),
    Oddity("monomorphic, one allele 0", 0.005, _monomorphic_unseen),
    Oddity("monomorphic in one cohort, allele 0", 0.005, _monomorphic_once),
    Oddity(TIED, 0.005, _tie),
    Oddity("duplicate ID", 0.004, _duplicate, "its ID appears twice"),
    Oddity("no ID", 0.001, _unname, "it has no ID"),
    Oddity("incompatible alleles", 0.003, _clash, "the alleles fit on neither strand"),
    Oddity("differing positions", 0.002, _move, "the positions differ"),
    Oddity("position below zero", 0.0002, _below_zero, "PLINK skips positions below zero"),
    Oddity("insertion", 0.01, _insertion),
    Oddity("no calls", 0.0002, _no_calls),
    Oddity("no calls in one cohort", 0.0005, _no_calls_once),
)


def plant_oddities(rng: np.random.Generator, variants: Variants) -> None:
    """Give each kind of `ODDITIES` its own variants on autosomes, in place, and none to effects."""
    usable = (variants.chromosome >= 1) & (variants.chromosome <= variants.autosomes)
    usable[variants.planted] = False
    free = rng.permutation(np.flatnonzero(usable))
    for oddity in ODDITIES:
        count = max(1, round(oddity.share * len(variants)))
        if oddity.plant is _duplicate:
            count = 4 * -(-count // 4)  # pairs, and as many of one form as of the other
        at, free = np.sort(free[:count]), free[count:]
        oddity.plant(rng, variants, at)
        variants.kinds[oddity.name] = at


def left_out(variants: Variants) -> dict[int, str]:
    """Variant index -> why a study leaves it out."""
    reasons = {o.name: o.left_out for o in ODDITIES if o.left_out}
    return {
        int(i): reason for kind, reason in reasons.items() for i in variants.kinds.get(kind, np.zeros(0, int))
    }


def _exclude_ambiguous(v: Variants, at: np.ndarray) -> None:
    """Make A/T and C/G pairs among these variants transitions: their strand could not be told."""
    same = at[v.b[at] == complement(v.a[at])]
    v.b[same] = [allele.translate(_TRANSITION) for allele in v.a[same].tolist()]


def _some_cohorts(rng: np.random.Generator, v: Variants, at: np.ndarray) -> np.ndarray:
    """bool (K, len(at)): for each variant some of the cohorts, never none, never all (if there are two)."""
    cohorts = len(v.present)
    order = rng.random((cohorts, len(at))).argsort(axis=0)
    chosen: np.ndarray = order < rng.integers(1, max(2, cohorts), size=len(at))
    return chosen


def _one_cohort(rng: np.random.Generator, v: Variants, at: np.ndarray) -> np.ndarray:
    """bool (K, len(at)): one cohort for each variant."""
    cohorts = len(v.present)
    chosen: np.ndarray = np.arange(cohorts)[:, None] == rng.integers(0, cohorts, size=len(at))
    return chosen
