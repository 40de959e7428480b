"""The first step of a whole-genome regression; and the second, the method itself, chromosome by chromosome.

A study that has it lists the `stages_of` its questions, and `LOCO` among its options.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from unpooled.asking.procedure import Asks, Each, Rows, Study, procedure
from unpooled.asking.question import Arrays, Question
from unpooled.errors import Refuse
from unpooled.kernels.fixed_order import pairs, product, solve_positive, square, total
from unpooled.methods.ld.options import PRUNE_PREDICTIONS
from unpooled.methods.ld.pruning import prune_autosomes
from unpooled.methods.loco import questions, stacking
from unpooled.methods.loco.questions import (
    OTHERS_A_COLUMN,
    PEOPLE_A_COLUMN,
    SHARES,
    Residual,
    SumColumns,
)
from unpooled.methods.loco.views import (
    BeforePredictions,
    Begun,
    OfChromosome,
    before_predictions,
    of_chromosome,
    on_view,
)
from unpooled.methods.regression.beginning import BEFORE_GENOTYPES, count_and_standardise
from unpooled.methods.regression.dependent import about_means, refuse_dependent
from unpooled.methods.regression.pool import Pool
from unpooled.methods.shared.chunks import ByVariant, Chunk, autosomal_chunks, autosome
from unpooled.methods.shared.dosage_counts import count_copies
from unpooled.methods.shared.far_out import refuse_far_out
from unpooled.methods.shared.groups import CASE, COMPLETE
from unpooled.methods.shared.options import is_apart
from unpooled.methods.shared.standardise import Columns, PooledColumns, is_number
from unpooled.methods.shared.without_any import people_without_any
from unpooled.pages.page import Html, facts, section
from unpooled.plan.common_options import LOCO
from unpooled.plan.plan import FEWEST_AT_A_LEVEL, Plan

LEAST_FREQUENCY = 0.01
"""Frequency of the rarer allele from which a variant predicts, as regenie's guide has it."""
_VARIES = 1e-6
"""Share of a variant's squares that covariates must leave."""

FIT = "predictions"
"""The result table of the first step: one row."""


BEFORE = (*BEFORE_GENOTYPES, *questions.ASKS)
"""Kinds of questions that are asked until all blocks have predicted, in their order."""


def stages_of(asks: Sequence[type[Question]]) -> tuple[tuple[type[Question], ...], ...]:
    """All kinds of questions of a study with predictions, from those of its method, in their order.

    They come in stages: phenotypes of the same people go through each of them together.
    """
    beside = tuple(on_view(kind, OfChromosome) for kind in asks if kind not in BEFORE_GENOTYPES)
    *first, of_sums, by_block = (on_view(kind, BeforePredictions) for kind in BEFORE)
    combining = tuple(on_view(kind, BeforePredictions) for kind in stacking.ASKS)
    return tuple(first), (of_sums,), (by_block,), combining, beside


@procedure("loco/first")
def predict_first(study: Study, name: str, arguments: bytes) -> Asks[None]:
    """Have each cohort keep its people's predictions; then the procedure of this name for each chromosome."""
    call = predict(study)
    (stored,) = yield Each([before_predictions(study, *call.stored)])
    return (yield from test_by_chromosome(study, call.procedure.value(study, stored), name, arguments))


@dataclass(frozen=True, eq=False)
class Predicted:
    """The first step: in numbers, and what the regressions beside predictions begin with."""

    name: ClassVar[str] = "loco/predicted"

    variants: int
    blocks: int
    explained: float
    """Share of the phenotype's variance, without what covariates explain, that predictions explain."""
    before: Begun
    kept: np.ndarray
    """float64 (1 + autosomes, 2): sums of predictions from all chromosomes, and without each, and of their
    squares"""

    def rows(self) -> Rows:
        """Return the row of the result table."""
        named = {name: np.array([getattr(self, name)]) for name in ("variants", "blocks", "explained")}
        return Rows(FIT, {"index": np.zeros(1, np.int64), **named})

    def begun(self, plan: Plan, chromosome: int) -> Begun:
        """Standardise the prediction without a chromosome beside the other columns."""
        people, columns = self.before.pool.complete, self.before.columns
        mean, square_ = self.kept[chromosome] / people
        deviation = np.sqrt(max(square_ - mean * mean, 0.0))
        # Raised a little, as the deviations of other columns are.
        exponent = int(np.frexp(deviation * (1 + 1e-6))[1])
        centre = 0.0 if is_apart(plan) else mean
        at = len(plan.covariate_columns) - 1
        standardised = PooledColumns(
            np.insert(columns.centre, at, centre),
            np.insert(columns.exponent, at, exponent),
            np.insert(columns.origin, at, 0.0),
            np.insert(columns.unit, at, 1.0),
            columns.conditions,
        )
        return replace(self.before, columns=standardised)


@procedure("loco/second")
def test_by_chromosome(study: Study, found: Predicted, name: str, arguments: bytes) -> Asks[None]:
    """The second step: the procedure of this name, with its arguments, for each chromosome."""
    yield found.rows()
    codes = {autosome(code, study.plan) for code in np.unique(study.panel.chromosome[:]).tolist()}
    ordered = sorted(codes, key=lambda code: (code == 0, code))  # of the autosomes more is asked
    yield Each(of_chromosome(study, code, found.begun(study.plan, code), name, arguments) for code in ordered)


@dataclass(frozen=True, eq=False)
class Base:
    """The covariates, and the phenotype without what they explain of it."""

    name: ClassVar[str] = "loco/base"

    residual: Residual
    products: np.ndarray
    """float64 (q, q): of one and the covariates"""
    with_y: np.ndarray
    """float64 (q,)"""


@dataclass(frozen=True, eq=False)
class Candidates(ByVariant):
    """Variants that may predict."""

    name: ClassVar[str] = "loco/candidates"

    variants: np.ndarray
    """Panel indices, rising: uint32 (m,)."""
    mean: np.ndarray
    """float64 (m,): copies of the panel's first allele"""


@dataclass(frozen=True, eq=False)
class Beginning:
    """All that is known before the first block: people, covariates, and the variants that predict."""

    name: ClassVar[str] = "loco/beginning"

    begun: Begun
    base: Base
    found: Candidates
    """The variants of all blocks, block after block."""
    sizes: np.ndarray
    """int64 (blocks,): number of variants of each"""
    chromosomes: np.ndarray
    """uint8 (blocks,)"""

    def block(self, number: int) -> Candidates:
        """Return the variants of a block."""
        end = int(self.sizes[: number + 1].sum(dtype=np.int64))
        return self.found.some(np.arange(end - self.sizes[number], end))


@procedure("loco")
def predict(study: Study) -> Asks[Predicted]:
    """Begin; predict by each block of variants; then combine the predictions."""
    start = yield from begin(study)
    known = yield Each(sum_and_predict(study, start, number) for number in range(len(start.sizes)))
    return (yield from combine(study, start, np.concatenate(known)))


@procedure("loco/begin")
def begin(study: Study) -> Asks[Beginning]:
    """Sum covariates and phenotype; choose the variants that predict, and cut them into blocks."""
    pool, columns, few, _ = yield from count_and_standardise(study)
    counted = yield questions.CountPeople()
    room = _room(study.plan, pool.complete, people_without_any(study.plan, counted, pool.complete))
    base = yield from _sum_columns(study, pool, columns)
    remain = (yield from prune_autosomes(study)) if PRUNE_PREDICTIONS.of(study.plan) else None
    found = Candidates.joined(
        (yield Each(count_chunk(study, chunk, pool) for chunk in autosomal_chunks(study)))
    )
    if remain is not None:
        found = found.some(np.isin(found.variants, remain))
    codes = study.panel.chromosome[found.variants]
    blocks = _blocks(codes, room)
    chosen = found.some(np.concatenate(blocks))
    if not study.plan.alone:
        yield from _refuse_far_out(study, chosen)
    chromosomes = np.array([codes[places[0]] for places in blocks], np.uint8)
    sizes = np.array([*map(len, blocks)], np.int64)
    return Beginning(Begun(pool, columns, few), base, chosen, sizes, chromosomes)


def _room(plan: Plan, people: int, others: int) -> int:
    """Count the columns that products may be told of."""
    return people if plan.alone else min(people // PEOPLE_A_COLUMN, others // OTHERS_A_COLUMN)


def _sum_columns(study: Study, pool: Pool, columns: Columns) -> Asks[Base]:
    """Take from the phenotype what one and the covariates explain; of cases and controls it is 1 and 0."""
    plan, people = study.plan, pool.complete
    centre, exponent = columns.centre, columns.exponent
    if not is_number(plan):
        centre = np.append(centre, pool.of(COMPLETE, CASE) / people)
        exponent = np.append(exponent, 0)
    design = SumColumns(plan, people, centre, exponent)
    sums = (yield design)["products"]
    i, _ = pairs(design.width)
    if not plan.alone:
        refuse_dependent(plan, about_means(sums[1 : design.width], sums[i > 0], people))
    whole = square(sums, design.width)
    products, with_y = whole[:-1, :-1], whole[:-1, -1]
    effects = solve_positive(products, with_y)
    deviation = float(np.sqrt((whole[-1, -1] - total(effects * with_y)) / people))
    return Base(Residual(design, effects, deviation), products, with_y)


@procedure("loco/chunk")
def count_chunk(study: Study, chunk: Chunk, pool: Pool) -> Asks[Candidates]:
    """Count the genotypes of a chunk; what is common, passes the filters and has enough carriers is in."""
    kinds = questions.CountGenotypes, questions.CountDosages
    known = yield from count_copies(study, chunk, questions.PEOPLE, [pool.complete], *kinds)
    people, copies, *_ = known.sums
    common = np.minimum(copies, 2 * people - copies) >= LEAST_FREQUENCY * 2 * people
    some = np.flatnonzero(known.passing & common & (people > 0))
    return Candidates((chunk.start + some).astype(np.uint32), copies[some] / people[some])


def _blocks(codes: np.ndarray, room: int) -> list[np.ndarray]:
    """Cut variants, of these chromosomes, into blocks of neighbours: their places, int64 each.

    Each chromosome has a block or more, and all together no more predictions than there is room for. Of more
    variants than blocks hold, each second, third, and so on is in.
    """
    of_each = [np.flatnonzero(codes == code) for code in np.unique(codes).tolist()]
    most = min(questions.MOST_BLOCKS, room // len(SHARES))
    size = min(questions.MOST_VARIANTS, room)
    if len(of_each) < 2:
        raise Refuse(
            LOCO.name,
            "fewer than two chromosomes have a variant whose rarer allele has a frequency of "
            f"{LEAST_FREQUENCY:g} and {FEWEST_AT_A_LEVEL} carriers in the pool without any one cohort, and "
            "that passes the plan's filters: predictions are from the other chromosomes than a variant's",
            "Have the cohorts give the variants of all chromosomes, choose other filters, or leave this out.",
        )
    if most < len(of_each):
        least = len(SHARES) * len(of_each)
        raise Refuse(
            LOCO.name,
            f"predictions from {len(of_each)} chromosomes take {PEOPLE_A_COLUMN * least:,} people, and "
            f"{OTHERS_A_COLUMN * least:,} without any one cohort, or sums would say much about each of them",
            "Invite further cohorts; or leave this out and adjust for principal components.",
        )
    step = 1
    while sum(-(-len(places[::step]) // size) for places in of_each) > most:
        step += 1
    thinned = [places[::step] for places in of_each]
    return [part for places in thinned for part in np.array_split(places, -(-len(places) // size))]


def _refuse_far_out(study: Study, chosen: Candidates) -> Asks[None]:
    """Refuse a pool of which few people could outweigh all others in the predictions."""
    kept = np.zeros(int(chosen.variants[-1]) + 1, bool)
    kept[chosen.variants] = True
    scale = 1 / np.sqrt(chosen.mean * (1 - chosen.mean / 2))
    squares = np.ones(len(scale))  # about: of variants in Hardy-Weinberg equilibrium
    yield from refuse_far_out(study, kept, chosen.mean, scale, squares, questions.CountFarOut)


@procedure("loco/block")
def sum_and_predict(study: Study, start: Beginning, number: int) -> Asks[np.ndarray]:
    """Sum the products of a block; then have each cohort predict by it."""
    sums = yield from sum_block(study, start, number, pairs_too=True)
    return (yield from predict_by_block(study, start, number, *sums))


@procedure("loco/sums")
def sum_block(
    study: Study, start: Beginning, number: int, pairs_too: bool
) -> Asks[tuple[np.ndarray, np.ndarray]]:
    """Sum the products of a block's genotypes with one another, and with covariates and phenotype."""
    block = start.block(number)
    asked = questions.SumBlock(study.plan, block.variants, block.mean, start.base.residual.design, pairs_too)
    sums = yield asked
    return sums["products"], sums["columns"]


@procedure("loco/predict")
def predict_by_block(
    study: Study, start: Beginning, number: int, products: np.ndarray, columns: np.ndarray
) -> Asks[np.ndarray]:
    """Have each cohort predict by a block for each penalty, from the block's sums.

    Gives the predictions' sums, and those of their squares: float64 (penalties, 2).
    """
    block, base = start.block(number), start.base
    people = base.residual.design.people
    i, j = pairs(len(block.variants))
    about_one = block.mean - 1  # as products have it
    with_columns = columns[:, :-1]
    explained = solve_positive(base.products, with_columns.T)
    left = square(products - people * about_one[i] * about_one[j], len(block.mean))
    squares = np.diagonal(left).copy()
    left = left - product(with_columns, explained)
    own = np.diagonal(left)
    varies = own > _VARIES * squares
    scale = np.where(varies, np.sqrt(people / np.where(varies, own, 1.0)), 0.0)
    with_y = columns[:, -1] - product(with_columns, base.residual.effects)
    asked = questions.PredictByBlock(
        study.plan,
        block.variants,
        block.mean,
        explained,
        scale,
        left[i, j] * scale[i] * scale[j],
        with_y * scale / base.residual.deviation,
        questions.shifts_of(SHARES, len(start.found.variants)),
        base.residual,
        number,
    )
    return np.asarray((yield asked)["sums"])


@procedure("loco/combine")
def combine(study: Study, start: Beginning, known: np.ndarray) -> Asks[Predicted]:
    """Combine the predictions of all blocks, whose sums and squares are `known`: float64 (predictions, 2)."""
    explained, kept = yield from stacking.stack(study, start.base.residual, known, start.chromosomes)
    return Predicted(len(start.found.variants), len(start.sizes), explained, start.begun, kept)


def shown(tables: Mapping[str, Arrays]) -> Html:
    """The first step as a part of the report."""
    found = tables[FIT]
    numbers = [(name.capitalize(), f"{int(found[name][0]):,}") for name in ("variants", "blocks")]
    explained = f"{100 * float(found['explained'][0]):.1f} %"
    return section(
        "Predictions from the other chromosomes",
        facts([*numbers, ("Variance explained in people left out", explained)]),
    )
