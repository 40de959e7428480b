"""Principal components of the pool, as `plink2 --pca meanimpute` finds them on pooled files.

    found = yield from components(study)

With x = (g - 2p) / √(2p(1 - p)) for g copies of an allele of frequency p, and 0 for a missing call, they are
the first eigenvectors of X X' / m. Those of X'X, the loadings, are found from products X'(X q).

A study that has them lists `ASKS` among its questions and `COMPONENTS` among its options.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unpooled.asking.procedure import PROCEDURES, Asks, Each, Go, Rows, Study, procedure
from unpooled.asking.question import Arrays
from unpooled.errors import Refuse, listed
from unpooled.methods.components import options, questions
from unpooled.methods.components.krylov import Krylov, first_block, standing_out
from unpooled.methods.ld.options import PRUNE_COMPONENTS
from unpooled.methods.ld.pruning import prune_autosomes
from unpooled.methods.shared.chunks import ByVariant, Chunk, autosomal_chunks
from unpooled.methods.shared.dosage_counts import Known, count_copies
from unpooled.methods.shared.far_out import refuse_far_out
from unpooled.methods.shared.without_any import people_without_any
from unpooled.pages.page import Html, facts, section, table
from unpooled.plan.common_options import COMPONENTS, MAF
from unpooled.plan.plan import FEWEST_AT_A_LEVEL, Plan
from unpooled.plan.plan import component_titles as titles

FEWEST_FOUNDERS = 50
"""Minimum number of founders to estimate a frequency from, as in PLINK."""


@dataclass(frozen=True, eq=False)
class Scaled(ByVariant):
    """m variants, about their means and in their units."""

    name: ClassVar[str] = "components/scaled"

    variants: np.ndarray
    """Panel indices, rising: uint32 (m,)."""
    first_is_a1: np.ndarray
    """bool (m,)"""
    copies: np.ndarray
    """Copies of the panel's first allele among those who count in frequencies: int64 (m,), of dosages
    float64."""
    alleles: np.ndarray
    """All alleles among them, likewise."""
    squares: np.ndarray
    """float64 (m,): of everyone's copies about the mean, summed; of a missing call 0"""

    @classmethod
    def of(cls, chunk: Chunk, known: Known) -> Scaled:
        """Take those that pass, and that vary in frequencies, of the variants of a chunk."""
        n, copies, squared, first, second = known.sums
        varies = (copies > 0) & (copies < 2 * n) & (np.minimum(first, second) > 0)
        some = np.flatnonzero(known.passing & varies)
        n, copies, squared = n[some], copies[some], squared[some]
        mean = 2 * first[some] / (first + second)[some]
        return cls(
            (chunk.start + some).astype(np.uint32),
            np.asarray(first <= second)[some],
            first[some],
            (first + second)[some],
            squared - 2 * mean * copies + n * mean * mean,
        )

    @property
    def mean(self) -> np.ndarray:
        """Copies of the panel's first allele: float64 (m,)."""
        return np.asarray(2 * self.copies / self.alleles)

    @property
    def scale(self) -> np.ndarray:
        """1 / √(2p(1 - p)): float64 (m,)."""
        return questions.scale_of(self.mean)

    @property
    def kept(self) -> np.ndarray:
        """bool (variants of the panel up to the last,)"""
        found = np.zeros(int(self.variants.max(initial=0)) + 1, bool)
        found[self.variants] = True
        return found


@dataclass(frozen=True, eq=False)
class Components:
    """k principal components of m variants."""

    name: ClassVar[str] = "components"

    scaled: Scaled
    people: int
    loadings: np.ndarray
    """float64 (k, m): of length 1 each, for copies of the panel's first allele in their units"""
    values: np.ndarray
    """float64 (k,): eigenvalues of X X' / m, falling"""
    following: float
    """The eigenvalue after these, about."""
    error: np.ndarray
    """float64 (k,): at most how far each is off, as 1 - |cos|"""
    rounds: int
    block: int


def components(study: Study) -> Asks[Components]:
    """Prune, if the plan says so; count; then multiply, until the components that stand out are known."""
    remain = (yield from prune_autosomes(study)) if PRUNE_COMPONENTS.of(study.plan) else None
    counted = yield questions.CountPeople(study.plan)
    people, everyone = counted["people"], int(counted["people"].sum(dtype=int))
    without_any = people_without_any(study.plan, counted, everyone)
    if not study.plan.alone:
        _refuse_few(study.plan, int(people[0]), without_any)
    chunks = autosomal_chunks(study)
    scaled = Scaled.joined((yield Each(count_chunk(study, chunk, people) for chunk in chunks)))
    if remain is not None:
        scaled = scaled.some(np.isin(scaled.variants, remain))
    count = options.number_of(study.plan)
    if len(scaled.variants) <= count:
        raise Refuse(
            MAF.name,
            f"no more than {count} variants of the autosomes pass the plan's filters and have "
            f"{FEWEST_AT_A_LEVEL} carriers of each allele in the pool without any one cohort",
            "Choose other filters, or fewer components.",
        )
    if not study.plan.alone:
        squares = scaled.squares * scaled.scale * scaled.scale / everyone
        yield from refuse_far_out(study, scaled.kept, scaled.mean, scaled.scale, squares)
    block, _ = options.block_of(count, len(scaled.variants), without_any, alone=study.plan.alone)
    (found,) = yield Each([begin(study, scaled, everyone, without_any, block)])
    return found  # type: ignore[no-any-return]


def _refuse_few(plan: Plan, founders: int, without_any: int) -> None:
    """Refuse a pool with too few founders, or without any one cohort too few people for the components."""
    if founders < FEWEST_FOUNDERS:
        raise Refuse(
            "nonfounders",
            f"the pool has fewer than {FEWEST_FOUNDERS} founders, people neither of whose parents is named, "
            "and frequencies of so few are mostly chance",
            "Count nonfounders in frequencies too, or invite further cohorts.",
        )
    count = options.number_of(plan)
    least = options.DIRECTIONS_PER_COMPONENT * options.PEOPLE_PER_DIRECTION * count
    if without_any < least:
        raise Refuse(
            options.PCA_COUNT.name if plan.test == options.PCA_COUNT.name else COMPONENTS.name,
            f"{count} components take {least:,} people beside those of any one cohort: sums in as many "
            "directions as there are people would tell all their genotypes. In the pool only "
            f"{without_any:,} are counted without its largest cohort",
            "Choose fewer components, or invite further cohorts.",
        )


@procedure("components/chunk")
def count_chunk(study: Study, chunk: Chunk, people: np.ndarray) -> Asks[Scaled]:
    """Count the genotypes of a chunk; what passes the filters and has enough carriers is in."""
    plan = study.plan
    inside = tuple(group for group, n in zip(questions.groups_of(plan), people.tolist(), strict=True) if n)
    # A question needs a group, also in a pool that has nobody in any.
    groups = inside or questions.groups_of(plan)
    kinds = questions.CountGenotypes, questions.CountDosages
    found = yield from count_copies(study, chunk, groups, people.tolist(), *kinds)
    return Scaled.of(chunk, found)


@procedure("components/begin")
def begin(study: Study, scaled: Scaled, people: int, without_any: int, block: int) -> Asks[Components]:
    """Begin with a block from a stream of the plan."""
    krylov = Krylov.begin(first_block(study.plan, block, len(scaled.variants)))
    return (yield from Go(iterate(study, scaled, people, without_any, krylov, 1)))


@procedure("components/climb")
def iterate(
    study: Study, scaled: Scaled, people: int, without_any: int, krylov: Krylov, turn: int
) -> Asks[Components]:
    """Multiply one block, until there is enough."""
    plan, scale = study.plan, scaled.scale
    sums = yield questions.Multiply(
        plan,
        scaled.kept,
        scaled.mean,
        krylov.next.packed,
        krylov.next.exponent,
        questions.bound(scaled.squares, scale),
        turn,
    )
    krylov = krylov.advance(sums.pop("products") * scale)  # popped: large, and no longer needed
    block, rounds = options.block_of(options.number_of(plan), len(scale), without_any, alone=plan.alone)
    found = krylov.found(options.number_of(plan))
    # No next block: the blocks so far span every direction that there is.
    has_ended = not krylov.next.shape[0] or turn >= rounds
    worst = options.WORST_COVARIATE if COMPONENTS.of(plan) else 1.0
    if not has_ended and not found.is_enough(options.STANDS_OUT, options.COMPONENT_TOLERANCE.of(plan), worst):
        return (yield from Go(iterate(study, scaled, people, without_any, krylov, turn + 1)))
    m, loadings = len(scale), krylov.vectors(found)
    following = float(found.following / m)
    values, error = found.values / m, found.error
    return Components(scaled, people, loadings, values, following, error, turn, block)


VALUES, FIT = "components", "fit"
"""Result tables beside that of the variants: a row for each component, and one in all."""


def known(found: Components) -> Iterator[Rows]:
    """The rows of both tables."""
    yield Rows(
        VALUES,
        {
            "index": np.arange(len(found.values)),
            "eigenvalue": found.values,
            "following": np.append(found.values[1:], found.following),
            "error": found.error,
            "stands_out": standing_out(found.values, found.following, options.STANDS_OUT),
        },
    )
    yield Rows(
        FIT,
        {
            "index": np.zeros(1, np.int64),
            "rounds": np.array([found.rounds]),
            "block": np.array([found.block]),
        },
    )


def refuse_unsettled(error: np.ndarray, rounds: int) -> None:
    """Refuse covariates that may be other directions than the pool's components."""
    settled, names = error <= options.WORST_COVARIATE, np.array(titles(len(error)))
    if settled.all():
        return
    first = int(settled.argmin())
    raise Refuse(
        COMPONENTS.name,
        f"after {rounds} rounds the error of {listed(names[~settled].tolist())}, of {len(names)} components, "
        f"can be more than {options.WORST_COVARIATE:g}, as 1 - |cos|"
        + (f"; that of {listed(names[settled].tolist())} is smaller" if settled.any() else ""),
        (f"Choose {first} components: those before {names[first]} are settled" if first else "Choose fewer")
        + ". Or invite further cohorts.",
    )


ABOUT = (
    f"Components stand out up to the last whose eigenvalue is at least {options.STANDS_OUT} times the next. "
    "They are those of the pooled genotypes to the plan's tolerance, unless the pool has too few people for "
    "the rounds that this takes. Among some with nearly the same eigenvalue directions may rotate: what "
    "these span is what they tell. Others are mostly chance, as they are in PLINK. The error is the most "
    "that 1 - |cos| can be where the search has missed no larger eigenvalue."
)


def shown(tables: Mapping[str, Arrays]) -> Html:
    """The tables as a part of the report."""
    found = tables[VALUES]
    columns = ("eigenvalue", "following", "error", "stands_out")
    rows = [
        [title, f"{value:.6g}", f"{value / following:.3f}", f"{error:.1e}", "yes" if stands_out else "no"]
        for title, value, following, error, stands_out in zip(
            titles(len(found["eigenvalue"])), *(found[name].tolist() for name in columns), strict=True
        )
    ]
    heads = ["Component", "Eigenvalue", "Ratio to the next", "Error at most", "Stands out"]
    rounds, block = (int(tables[FIT][name][0]) for name in ("rounds", "block"))
    return section(
        "Principal components",
        facts([("Rounds", f"{rounds:,}"), ("Directions of a round", f"{block:,}")]),
        table(ABOUT, heads, rows, numbers=(1, 2, 3)),
    )


@procedure("components/first")
def components_first(study: Study, name: str, arguments: bytes) -> Asks[None]:
    """Find components, and have each cohort keep its people's scores; then the procedure of this name.

    A score is x v / √(m λ), as plink2 has it: of all people together its squares are 1.
    """
    found = yield from components(study)
    refuse_unsettled(found.error, found.rounds)
    yield from known(found)
    scaled = found.scaled
    unit = np.sqrt(found.values * len(scaled.variants))
    weights = found.loadings * scaled.scale / unit[:, None]
    yield questions.KeepScores(study.plan, scaled.kept, scaled.mean, weights)
    yield from Go(PROCEDURES[name].call(study, arguments))
