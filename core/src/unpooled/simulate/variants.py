"""The variants of a simulated study, and how each cohort's file shows them.

A variant has two alleles, a and b, on the forward strand. `frequency` is that of a. A cohort's file shows
them in one order or the other, on one strand or the other, perhaps `0` for the one it never saw.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

#: Lengths of the human chromosomes 1 to 22 and X, Y in megabases (GRCh38, rounded down).
_LENGTHS = (248, 242, 198, 190, 181, 170, 159, 145, 138, 133, 135, 133, 114, 107, 101, 90, 83, 80,
            58, 64, 46, 50)  # fmt: skip
_LENGTH_OF_OTHERS = 100  # for autosomes past the 22nd
_LENGTH_X, _LENGTH_Y, _LENGTH_XY, _LENGTH_MT = 156e6, 57e6, 2.7e6, 16_569

#: Share of all variants on X, Y, XY and MT, in this order; autosomes get the rest.
_SHARE_OF_SEX_CHROMOSOMES = (0.03, 0.005, 0.003, 0.003)

#: F_ST between cohorts of one population: allele frequencies differ by about 0.02.
_FST = 0.002

#: Pairs of alleles and how often: transitions twice as often as transversions, a sixth of A/T and C/G.
_PAIRS = ((b"A", b"G", 0.28), (b"C", b"T", 0.28), (b"A", b"C", 0.14), (b"G", b"T", 0.14), (b"A", b"T", 0.08),
          (b"C", b"G", 0.08))  # fmt: skip
_COMPLEMENT = bytes.maketrans(b"ACGT", b"TGCA")


@dataclass(frozen=True, eq=False)
class Variants:
    """m variants in canonical order (chromosome code, position, ID in ASCII order), seen by K cohorts."""

    autosomes: int
    chromosome: np.ndarray  # uint8 (m,): 0 unplaced, 1..autosomes, then X, Y, XY, MT
    position: np.ndarray  # int32 (m,)
    name: np.ndarray  # S (m,)
    a: np.ndarray  # S (m,)
    b: np.ndarray  # S (m,)
    frequency: np.ndarray  # float64 (K, m), of a
    missing: np.ndarray  # float64 (m,): share of calls that are missing
    present: np.ndarray  # bool (K, m)
    swapped: np.ndarray  # bool (K, m): A1 of the file is b
    flipped: np.ndarray  # bool (K, m): on the other strand
    hidden: np.ndarray  # uint8 (K, m): 1 = a is shown as `0`, 2 = b is
    clash: np.ndarray  # bool (K, m): b is shown as its complement, a is not
    shift: np.ndarray  # int32 (K, m): added to the position
    uncalled: np.ndarray  # bool (K, m): not one call
    planted: np.ndarray  # int64 (effects,): indices of the variants with an effect
    kinds: dict[str, np.ndarray]  # oddity -> indices
    renamed: dict[int, dict[int, bytes]] = field(default_factory=dict)  # cohort -> variant -> ID

    def __len__(self) -> int:
        return len(self.chromosome)

    @property
    def sex_code(self) -> dict[str, int]:
        return {label: self.autosomes + i for i, label in enumerate(("X", "Y", "XY", "MT"), start=1)}

    def names(self, cohort: int) -> np.ndarray:
        """S (m,): the IDs in this cohort's file."""
        names = self.name.copy()
        for variant, name in self.renamed.get(cohort, {}).items():
            names[variant] = name
        return names

    def positions(self, cohort: int) -> np.ndarray:
        """int32 (m,)."""
        moved: np.ndarray = self.position + self.shift[cohort]
        return moved

    def alleles(self, cohort: int) -> tuple[np.ndarray, np.ndarray]:
        """A1 and A2 of this cohort's file, S (m,) each."""
        a, b = self.a.copy(), self.b.copy()
        b[self.clash[cohort]] = complement(b[self.clash[cohort]])
        for allele in (a, b):
            allele[self.flipped[cohort]] = complement(allele[self.flipped[cohort]])
        a[self.hidden[cohort] == 1] = b"0"
        b[self.hidden[cohort] == 2] = b"0"
        return np.where(self.swapped[cohort], b, a), np.where(self.swapped[cohort], a, b)

    def pooled_swapped(self) -> np.ndarray:
        """bool (m,): most files have b as A1; where the files are divided, b comes first in the alphabet."""
        for_b = (self.swapped & self.present).sum(axis=0) * 2 - self.present.sum(axis=0)
        a, b = self._pooled_strand()
        swapped: np.ndarray = np.where(for_b == 0, b < a, for_b > 0)
        return swapped

    def pooled_alleles(self) -> tuple[np.ndarray, np.ndarray]:
        """A1 and A2 of the pooled file, S (m,) each."""
        a, b = self._pooled_strand()
        swapped = self.pooled_swapped()
        return np.where(swapped, b, a), np.where(swapped, a, b)

    def _pooled_strand(self) -> tuple[np.ndarray, np.ndarray]:
        """Alleles a and b on the strand that most cohorts show, on a tie the one whose pair comes first.

        Only files that show both alleles count. `0` stands where no file shows the allele.
        """
        vote = self.present & (self.hidden == 0)
        for_other = (self.flipped & vote).sum(axis=0) * 2 - vote.sum(axis=0)
        a, b = self.a.copy(), self.b.copy()
        for i in np.flatnonzero(self.flipped.any(axis=0) & (for_other >= 0)):
            pair, other = ([self.a[i], self.b[i]], complement(np.array([self.a[i], self.b[i]])).tolist())
            if for_other[i] > 0 or sorted(other) < sorted(pair):
                a[i], b[i] = other
        a[(self.hidden == 1).all(axis=0)] = b"0"
        b[(self.hidden == 2).all(axis=0)] = b"0"
        return a, b


def complement(alleles: np.ndarray) -> np.ndarray:
    """The other strand's alleles; only for single letters."""
    return np.array([allele.translate(_COMPLEMENT) for allele in alleles.tolist()], dtype=alleles.dtype)


def draw_variants(
    rng: np.random.Generator,
    *,
    cohorts: int,
    count: int,
    autosomes: int,
    sex_chromosomes: bool,
    missing: tuple[float, float],
    effects: int,
    oddities: bool,
) -> Variants:
    """Draw `count` variants; `missing` is the share of variants with missing calls, and their mean share."""
    chromosome, position = _places(rng, count, autosomes, sex_chromosomes)
    if oddities:
        _unplace(chromosome, position, max(2, count // 500))
        _share_positions(rng, chromosome, position, max(1, count // 200))
    name = _names(rng, count)
    order = np.lexsort((name, position, chromosome))
    name = name[order]  # places are in order already; names at one place are put in order
    a, b = _alleles(rng, count)
    frequency = _frequencies(rng, cohorts, count)
    empty = np.zeros((cohorts, count), dtype=bool)
    variants = Variants(
        autosomes=autosomes,
        chromosome=chromosome,
        position=position,
        name=name,
        a=a,
        b=b,
        frequency=frequency,
        missing=_missing_rates(rng, count, missing),
        present=~empty,
        swapped=frequency > 0.5,  # each cohort's own PLINK made its minor allele A1
        flipped=empty.copy(),
        hidden=empty.astype(np.uint8),
        clash=empty.copy(),
        shift=empty.astype(np.int32),
        uncalled=empty.copy(),
        planted=_planted(rng, chromosome, frequency, autosomes, effects),
        kinds={},
    )
    variants.missing[variants.planted] = 0.0
    return variants


def _places(
    rng: np.random.Generator, count: int, autosomes: int, sex_chromosomes: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Chromosomes and positions in order; positions on one chromosome are distinct."""
    lengths = [1e6 * length for length in _LENGTHS[:autosomes]]
    lengths += [1e6 * _LENGTH_OF_OTHERS] * (autosomes - len(lengths))
    share = np.array(lengths) / sum(lengths)
    if sex_chromosomes:
        lengths += [_LENGTH_X, _LENGTH_Y, _LENGTH_XY, _LENGTH_MT]
        rest = 1 - sum(_SHARE_OF_SEX_CHROMOSOMES)
        share = np.concatenate([share * rest, _SHARE_OF_SEX_CHROMOSOMES])
    each = np.floor(share * count).astype(int)
    if sex_chromosomes:
        each[-4:] = np.maximum(each[-4:], 2)
    each[0] += count - each.sum()
    parts = [
        np.sort(rng.integers(1, max(2, int(length) - size), size=size)) + np.arange(size)
        for length, size in zip(lengths, each, strict=True)
    ]
    chromosome = np.repeat(np.arange(1, len(each) + 1), each).astype(np.uint8)
    return chromosome, np.concatenate(parts).astype(np.int32)


def _unplace(chromosome: np.ndarray, position: np.ndarray, count: int) -> None:
    """Take the place from the first variants of the first chromosome, in place."""
    chromosome[:count], position[:count] = 0, 0


def _share_positions(
    rng: np.random.Generator, chromosome: np.ndarray, position: np.ndarray, count: int
) -> None:
    """Move some variants to the place of the one before, in place: order is then by ID."""
    candidates = np.flatnonzero((chromosome[1:] == chromosome[:-1]) & (chromosome[1:] > 0)) + 1
    for i in np.sort(rng.choice(candidates, size=min(count, len(candidates)), replace=False)):
        position[i] = position[i - 1]


def _names(rng: np.random.Generator, count: int) -> np.ndarray:
    """Distinct rs numbers of 6 to 10 digits, and some names as exome arrays have them."""
    numbers = np.zeros(0, dtype=np.int64)
    while len(numbers) < count:
        more = np.exp(rng.uniform(np.log(1e5), np.log(1.5e9), size=2 * count)).astype(np.int64)
        numbers = np.unique(np.concatenate([numbers, more]))
    chosen = rng.permutation(numbers)[:count]
    prefix = np.where(rng.random(count) < 0.02, b"exm", b"rs")
    return np.char.add(prefix, chosen.astype("S10"))


def _alleles(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    first, second, share = zip(*_PAIRS, strict=True)
    which = rng.choice(len(share), size=count, p=share)
    exchanged = rng.random(count) < 0.5
    one, two = np.array(first, dtype="S8")[which], np.array(second, dtype="S8")[which]
    return np.where(exchanged, two, one), np.where(exchanged, one, two)


def _frequencies(rng: np.random.Generator, cohorts: int, count: int) -> np.ndarray:
    """Many rare alleles, and each cohort near the common frequency (Balding and Nichols 1995)."""
    common = 0.01 + 0.98 * rng.beta(0.7, 0.7, size=count)
    scale = (1 - _FST) / _FST
    return rng.beta(common * scale, (1 - common) * scale, size=(cohorts, count))


def _missing_rates(rng: np.random.Generator, count: int, missing: tuple[float, float]) -> np.ndarray:
    """Exactly the asked share of variants is incomplete; rates vary from variant to variant as on arrays."""
    share, mean = missing
    rates = np.zeros(count)
    chosen = rng.permutation(count)[: round(share * count)]
    rates[chosen] = np.clip(rng.exponential(mean, size=len(chosen)), mean / 10, 0.5)
    return rates


def _planted(
    rng: np.random.Generator, chromosome: np.ndarray, frequency: np.ndarray, autosomes: int, effects: int
) -> np.ndarray:
    """Common variants on autosomes, in canonical order."""
    mean = frequency.mean(axis=0)
    placed = (chromosome >= 1) & (chromosome <= autosomes)
    common = np.flatnonzero(placed & (mean > 0.2) & (mean < 0.8))
    if effects > len(common):
        raise ValueError(
            f"{effects} effects cannot be planted: only {len(common)} variants are common enough"
        )
    return np.sort(rng.choice(common, size=effects, replace=False))
