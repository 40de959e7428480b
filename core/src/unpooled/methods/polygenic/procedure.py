"""A polygenic score: ridge regression of the phenotype on all genotypes, by conjugate gradients.

    (X'MX + k I) b = X'My,    k = m (1 - h) / h

with X the standardised genotypes of m variants, M what takes away the covariates, and h the share of the
phenotype's variance that the variants explain: the best linear unbiased prediction if each variant explains
as much (Meuwissen, Hayes and Goddard, Genetics 2001). Two fits run side by side: without some people, by whom
h is chosen, and to everyone, which is the result.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unpooled.asking.procedure import Asks, Each, Finish, Go, Study, procedure
from unpooled.asking.question import Arrays
from unpooled.errors import Refuse
from unpooled.kernels.fixed_order import grid_of, settled
from unpooled.methods.polygenic import questions
from unpooled.methods.polygenic.base import OF_ALL, OF_SOME, Base, Part, of_fit
from unpooled.methods.polygenic.counts import GROUPS, CountLeftOut, CountSides
from unpooled.methods.polygenic.options import HELD_OUT, MOST_ROUNDS, ROUNDS_PER_PERSON, SHARES, TOLERANCE
from unpooled.methods.polygenic.result import rows_of, score
from unpooled.methods.regression.calls import Calls
from unpooled.methods.regression.counts import count_variants
from unpooled.methods.regression.dependent import about_means, refuse_dependent
from unpooled.methods.regression.pool import Pool, count_people
from unpooled.methods.shared.beside_means import few_beside, refuse_few_beside
from unpooled.methods.shared.chunks import Chunk, autosomal_chunks
from unpooled.methods.shared.far_out import refuse_far_out
from unpooled.methods.shared.gradients import Gradients, dot
from unpooled.methods.shared.groups import CASE, COMPLETE
from unpooled.methods.shared.standardise import column_names, standardise
from unpooled.methods.shared.without_any import holds_without_any, is_few_without_any, people_without_any
from unpooled.plan.common_options import COVARIATES, MAF
from unpooled.plan.plan import FEWEST_AT_A_LEVEL, Plan

WEIGHT_BITS = 36
"""Precision, in bits of the largest weight, to which the weights of tested scores are settled."""


@procedure("polygenic")
def polygenic(study: Study) -> Asks[None]:
    """Count and standardise; sum genotypes with the phenotype chunk by chunk; then fit."""
    plan = study.plan
    pool = yield from count_people(study)
    found = yield CountLeftOut(plan)
    if not plan.alone:
        refuse_few_left_out(plan, found)
    design = yield from _columns(study, pool)
    products = (yield design)["products"]
    if not plan.alone:
        _refuse_dependent(plan, design, products)
    chunks = autosomal_chunks(study)
    parts = yield Each(about_chunk(study, chunk, pool, design) for chunk in chunks)
    if not any(part.kept.any() for part in parts):
        refuse_no_variant()
    without_any = people_without_any(plan, found, int(found["people"].sum(dtype=int)))
    base = Base.of(design, [chunk.start for chunk in chunks], parts, products, without_any)
    if not plan.alone:
        yield from refuse_far_out(study, base.kept, base.mean, base.scale, np.ones(len(base.mean)))
    yield from Go(begin(study, base))


def _columns(study: Study, pool: Pool) -> Asks[questions.SumColumns]:
    """The question about covariates and phenotype; of cases and controls the phenotype is 1 and 0."""
    plan, people = study.plan, pool.complete
    columns = yield from standardise(study, people)
    centre, exponent = columns.centre, columns.exponent
    if len(centre):
        few = few_beside(plan, (yield CountSides(plan, centre)))
        whom = "of the people that are left out, or of the others"
        remedy = "Choose fewer groups of people"
        refuse_few_beside(plan, few, column_names(plan), whom, remedy)
    if plan.trait != "quantitative":
        centre = np.append(centre, pool.of(COMPLETE, CASE) / people)
        exponent = np.append(exponent, 0)
    return replace(questions.SumColumns.none(plan), people=people, centre=centre, exponent=exponent)


def refuse_few_left_out(plan: Plan, found: Arrays) -> None:
    """Refuse a draw in which too few people are fitted to or left out, or have a level of a covariate."""
    remedy = "Choose fewer groups of people, or invite further cohorts"
    if not holds_without_any(plan, found["capped"]).all():
        raise Refuse(
            HELD_OUT.name,
            f"fewer than {FEWEST_AT_A_LEVEL} people, cases or controls of the pool, perhaps without one of "
            "the cohorts, are left out, and sums over so few would reveal single people",
            f"{remedy}.",
        )
    levels = [(level, covariate.title) for covariate in COVARIATES.of(plan) for level in covariate.levels]
    few = is_few_without_any(plan, found["levels"], found["capped_levels"])
    few = few | (found["levels"] < FEWEST_AT_A_LEVEL)
    for k in np.flatnonzero(few.any(axis=0)).tolist():
        level, title = levels[k]
        raise Refuse(
            COVARIATES.name,
            f"fewer than {FEWEST_AT_A_LEVEL} of the people that are left out, or of the others, perhaps "
            f"without one of the cohorts, have the level {level} of the covariate {title}, and sums over so "
            "few would reveal single people",
            f"Merge the level with another, leave the covariate out, or: {remedy.lower()}.",
        )


def refuse_no_variant() -> None:
    """Refuse a study in which nothing is left to fit."""
    raise Refuse(
        MAF.name,
        f"no variant of the autosomes passes the plan's filters and has {FEWEST_AT_A_LEVEL} carriers of "
        "each allele among the people that are fitted to and among those left out, without any one cohort",
        "Choose other filters, or invite further cohorts.",
    )


def _refuse_dependent(plan: Plan, design: questions.SumColumns, products: np.ndarray) -> None:
    """Refuse covariates that determine one another, among the people of either fit."""
    width = design.width
    i, _ = np.triu_indices(width)
    for sums in (of_fit(products, fit) for fit in (OF_SOME, OF_ALL)):
        of_columns = about_means(sums[1:width], sums[i > 0], sums[0])
        refuse_dependent(plan, of_columns)


@procedure("polygenic/chunk")
def about_chunk(study: Study, chunk: Chunk, pool: Pool, design: questions.SumColumns) -> Asks[Part]:
    """Count the genotypes of a chunk; sum those that pass the filters and are carried by enough people."""
    counted, _ = yield from count_variants(study, chunk, pool)
    carried = (yield questions.CountCarriers(study.plan, chunk.start, chunk.stop))["capped"]
    table = counted.table
    calls = Calls.of(table, chunk.chromosome, pool, exact=False)
    n, total, squares = (each[:, 0].astype(float) for each in (calls.called, calls.copies, calls.squares))
    of_kept = carried[counted.variants - chunk.start]
    good = (holds_without_any(study.plan, of_kept) & (of_kept > 0)).all(axis=(1, 2))
    good &= n * squares > total * total
    kept = np.zeros(chunk.variants, bool)
    kept[counted.variants[good] - chunk.start] = True
    n, mean = n[good], total[good] / np.maximum(n[good], 1)
    # A missing call is the mean, so that it adds nothing to the squares about it.
    scale = np.sqrt(pool.complete / (squares[good] - n * mean * mean))
    sums = np.zeros((0, GROUPS, design.width))
    if kept.any():
        asked = questions.SumWithAlleles(study.plan, chunk.start, chunk.stop, kept, mean, design)
        sums = (yield asked)["sums"]
    first, tied = counted.order()
    return Part(kept, mean, scale, (first | tied)[good], sums * scale[:, None, None])


@procedure("polygenic/begin")
def begin(study: Study, base: Base) -> Asks[None]:
    """Both fits at zero."""
    shares = np.array(questions.shares_of(study.plan)[::-1])
    penalties = len(base.mean) * (1 - shares) / shares
    targets = [base.target(fit) for fit in (OF_SOME, OF_ALL)]
    fits = [Gradients.begin(penalties, target, TOLERANCE).settled() for target in targets]
    yield from Go(iterate(study, base, fits[OF_SOME], fits[OF_ALL], 1))


def most_rounds(plan: Plan, people: int) -> int:
    """Count the directions of both fits that may be asked about: each sums over so many people at least."""
    return MOST_ROUNDS if plan.alone else min(MOST_ROUNDS, people // (2 * ROUNDS_PER_PERSON))


@procedure("polygenic/climb")
def iterate(study: Study, base: Base, of_some: Gradients, of_all: Gradients, turn: int) -> Asks[None]:
    """One turn of both fits."""
    fits = [of_some, of_all]
    running = [fit for fit in (OF_SOME, OF_ALL) if not fits[fit].has_ended]
    if not running or turn > most_rounds(study.plan, base.without_any):
        if not (of_some.solved & of_all.solved).any():
            refuse_unsolved(base, turn - 1)
        yield Finish(choose(study, base, of_some, of_all, turn - 1))
        return
    lengths = [float(np.sqrt(dot(fits[fit].direction, fits[fit].direction))) for fit in running]
    sums = yield questions.Project(
        study.plan,
        base.kept,
        base.mean,
        np.array([fits[fit].direction / n * base.scale for fit, n in zip(running, lengths, strict=True)]),
        tuple(fit == OF_ALL for fit in running),
        base.design,
        turn,
    )
    for place, (fit, length) in enumerate(zip(running, lengths, strict=True)):
        product = sums["genotypes"][place] * base.scale
        product = base.without_columns(fit, product, sums["columns"][place])
        fits[fit] = fits[fit].advance(length * product).settled()
    yield from Go(iterate(study, base, fits[OF_SOME], fits[OF_ALL], turn + 1))


@procedure("polygenic/choose")
def choose(study: Study, base: Base, of_some: Gradients, of_all: Gradients, rounds: int) -> Asks[None]:
    """Test the scores of all shares of variance, and report the best."""
    solved = np.flatnonzero(of_some.solved & of_all.solved)
    scores = [score(base, of_some.shifts[k], of_some.solutions[k]) for k in solved.tolist()]
    weights = np.array([each.weights / each.deviation * base.scale for each in scores])
    weights = settled(weights, grid_of(weights, WEIGHT_BITS))
    sums = yield questions.SumScores(study.plan, base.kept, base.mean, weights, base.design)
    shares = np.array(questions.shares_of(study.plan)[::-1])[solved]
    yield from rows_of(base, shares, scores, sums, of_all.solutions[solved], rounds)


def refuse_unsolved(base: Base, rounds: int) -> None:
    """Refuse a pool in which no share of variance could be solved."""
    raise Refuse(
        SHARES.name,
        f"{base.without_any:,} people beside those of the largest cohort allow {rounds:,} rounds, since "
        "each tells a sum over them, and no share of variance that is tried is solved by then",
        "Try smaller shares, or invite further cohorts.",
    )
