"""Coding of allele copies on each class of chromosomes, and who is counted there.

PLINK 1.9 counts one copy for men on X and Y and for everyone on MT; a heterozygous call there counts as
missing. plink2 counts everyone's calls as they are, heterozygous ones as well, in halves on Y and MT; and
where sex is a covariate, on X, it leaves out people of unknown sex. So a study that writes `.glm` asks for
the variants on X, Y and MT again, as classes of their own. Halves are only a matter of units, which are
applied at the end.

Two sums over a variant that differ by its heterozygous calls tell of the people who have them. So by the rule
`mean` such calls are missing calls in the second question, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from unpooled.asking.cohort import MALE, Samples
from unpooled.methods.shared.chunks import DIPLOID, MT, Chunk, X, Y, chromosome_class
from unpooled.methods.shared.groups import MEN, NOT_MEN, WOMEN, members
from unpooled.methods.shared.options import DOSAGES
from unpooled.plan.plan import Plan

X2, X2_KNOWN, Y2, MT2 = "X by plink2", "X by plink2, sex known", "Y by plink2", "MT by plink2"

PLACES = {DIPLOID: DIPLOID, X: X, Y: Y, MT: MT, X2: X, X2_KNOWN: X, Y2: Y, MT2: MT}
"""Class of chromosomes on which the variants of each coding lie."""

_EVEN, _ONE = np.uint64(0x5555555555555555), np.uint64(1)

_AGAIN = {X: X2, Y: Y2, MT: MT2}

_SEXES = {X: (MEN, NOT_MEN), X2: (MEN, NOT_MEN), X2_KNOWN: (MEN, WOMEN), Y: (MEN,), Y2: (MEN,)}


def has_plink2(plan: Plan) -> bool:
    """Tell whether a study counts X, Y and MT as plink2 does.

    It does so besides PLINK 1.9's way, and with dosages only so.
    """
    return "glm" in plan.files or bool(DOSAGES.of(plan))


def with_plink2(chunks: Iterable[Chunk], sex_known: bool, *, alone: bool) -> Iterator[Chunk]:
    """The chunks, and those on X, Y and MT again, or so `alone`; on X perhaps without people of unknown
    sex."""
    for chunk in chunks:
        if chunk.chromosome not in _AGAIN or not alone:
            yield chunk
        if chunk.chromosome in _AGAIN:
            again = _AGAIN[chunk.chromosome]
            yield replace(chunk, chromosome=X2_KNOWN if again == X2 and sex_known else again)


def by_plink2(chromosome: str) -> bool:
    return PLACES[chromosome] != chromosome


def counts_as_plink2(chromosome: str) -> bool:
    """Tell whether plink2's report is of copies in this coding."""
    return chromosome not in _AGAIN


def fits(chromosome: str, codes: np.ndarray, plan: Plan) -> bool:
    """Tell whether a study may count variants with these chromosome codes in this coding."""
    places = {chromosome_class(code, plan.autosomes) for code in np.unique(codes).tolist()}
    allowed = (
        counts_as_plink2(chromosome) if DOSAGES.of(plan) else has_plink2(plan) or not by_plink2(chromosome)
    )
    return places <= {PLACES[chromosome]} and allowed


def on_x(chromosome: str) -> bool:
    return PLACES[chromosome] == X


def haploid(chromosome: str, sex: str) -> bool:
    """Tell whether these people have one copy, coded 0/1."""
    return chromosome in (Y, MT) or (chromosome == X and sex == MEN)


def heterozygous_missing(chromosome: str, sex: str, exact: bool) -> bool:
    """Tell whether heterozygous calls of these people count as missing."""
    return haploid(_as_heterozygous(chromosome, exact), sex)


def _as_heterozygous(chromosome: str, exact: bool) -> str:
    """The class of chromosomes whose rule about heterozygous calls holds: of plink2's only where `exact`."""
    return chromosome if exact else PLACES[chromosome]


def most_copies(chromosome: str) -> np.ndarray:
    """Return the copies that a homozygous call counts in each of the `sexes`, 1 or 2: float64 (s,)."""
    return np.array([1.0 if haploid(chromosome, sex) else 2.0 for sex in sexes(chromosome)])


def sexes(chromosome: str) -> tuple[str, ...]:
    """Groups of people whose sums are kept apart on a class of chromosomes; an empty word is everyone."""
    return _SEXES.get(chromosome, ("",))


def unit(chromosome: str) -> float:
    """Return the factor from copies to the report's unit: an effect of 0, 1/2, 1 is twice that of 0, 1, 2."""
    return 2.0 if chromosome in (Y2, MT2) else 1.0


def by_sex(chromosome: str, samples: Samples) -> list[np.ndarray]:
    """Mark the people of a cohort in each of the `sexes`: bool (n,) each."""
    return [members((sex,) if sex else (), samples) for sex in sexes(chromosome)]


def counted(chromosome: str, samples: Samples) -> np.ndarray:
    """Mark the people of a cohort whose sex allows them in a regression: bool (n,)."""
    return np.asarray(np.any(by_sex(chromosome, samples), axis=0))


def of_one_copy(chromosome: str, samples: Samples) -> np.ndarray:
    """Mark the people whose homozygous calls count once: bool (n,)."""
    if chromosome in (X, Y):
        return np.asarray(samples.sex == MALE)
    return np.full(len(samples), chromosome == MT)


def called_words(words: np.ndarray, samples: Samples, chromosome: str, exact: bool) -> np.ndarray:
    """Genotypes in which heterozygous calls of one copy are missing calls, but where plink2 counts them."""
    if not (single := of_one_copy(_as_heterozygous(chromosome, exact), samples)).any():
        return words
    places = np.zeros(words.shape[1] * 32, np.uint64)
    places[: len(samples)] = single
    mask = np.bitwise_or.reduce(places.reshape(-1, 32) << (2 * np.arange(32, dtype=np.uint64)), axis=1)
    het = (words >> _ONE) & ~words & _EVEN & mask
    return np.asarray(words ^ (het | het << _ONE))
