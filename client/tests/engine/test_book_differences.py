"""Whatever a server asks: two questions that a client answers differ by nobody, or by many.

Random sequences of questions about a few variants come from a server that changes groups, classes of
chromosomes, fillings and panels as it likes. Of those that are answered, each two that are equal but for
people, filling, coding or panel are compared: by how many of this cohort they differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from books import answerer_of, asked, started_again
from test_book import question, terms_of

from unpooled.algorithms.regression.people import People
from unpooled.algorithms.regression.pool import finest
from unpooled.algorithms.shared.coding import PLACES, X, has_place, most_copies
from unpooled.algorithms.shared.groups import members
from unpooled.cohort import ArrayCohort, Samples
from unpooled.errors import UnpooledError
from unpooled.panel import Panel
from unpooled.question import Question
from unpooled_client.study.reading import Alignments
from unpooled_client.study.rounds import Answerer

FEWEST = 10
CODES = np.repeat(np.array([1, 23, 24, 26], np.uint8), 3)
LISTED = Panel.of(
    [(code, place, b"rs%d" % place, b"A", b"C") for place, code in enumerate(CODES.tolist(), 1)]
)
PEOPLE = 90


def cohort(random: np.random.Generator) -> ArrayCohort:
    """Women and men, some of unknown sex, one nonfounder; calls are missing, often of one person only."""
    sex = random.choice(np.array([0, 1, 2], np.uint8), PEOPLE, p=[0.05, 0.45, 0.5])
    founder = np.ones(PEOPLE, bool)
    founder[random.integers(PEOPLE)] = False
    case = random.integers(0, 2, PEOPLE).astype(float)
    samples = Samples(case, sex, founder, np.ones(PEOPLE, bool), random.normal(size=(PEOPLE, 1)))
    copies = random.integers(0, 3, (len(CODES), PEOPLE)).astype(np.int8)
    for row in copies:
        row[random.choice(PEOPLE, random.choice([0, 1, 2, 30]), replace=False)] = -1
    return ArrayCohort(samples, copies, np.zeros(len(CODES), bool))


def any_question(random: np.random.Generator) -> Any:
    """About a run of variants, as a server that keeps to nothing might ask it."""
    start = int(random.integers(len(CODES)))
    stop = min(start + int(random.integers(1, 4)), len(CODES))
    chromosome = str(random.choice([*PLACES]))
    kind = random.choice(["genotypes", "start", "evaluate", "null"])
    if kind == "genotypes":
        known = finest("case/control")
        groups = [known[k] for k in random.choice(len(known), 3, replace=False)]
        some = [tuple(word for word in group if random.random() < 0.8) for group in groups]
        return question(
            "genotypes", start=start, stop=stop, groups=tuple(dict.fromkeys(some)), chromosome=chromosome
        )
    if kind == "null":
        return question("null", chromosome=chromosome, evaluation=int(random.integers(1, 4)))
    flags = random.choice(np.array([1, 2, 5, 6], np.uint8), stop - start)
    lacking, sexes = int(np.count_nonzero(flags & 4)), 2 if PLACES[chromosome] == X else 1
    fill = random.choice([0.25, 0.5], (lacking, sexes))
    beta = {"start": np.zeros(2), "evaluate": np.zeros((len(flags), 3))}[str(kind)]
    return question(str(kind), start=start, asked=flags, chromosome=chromosome, fill=fill, beta=beta)


def honest(answerer: Answerer, random: np.random.Generator) -> Iterator[Any]:
    """Questions that a study asks, so that others come beside them: genotypes in the plan's groups."""
    plan = answerer.terms.plan
    for chromosome in PLACES:
        kind = type(question("genotypes"))
        groups = kind.foreseen_groups(chromosome, plan)
        for k in range(len(CODES)):
            if has_place(chromosome, CODES[k : k + 1], plan):
                yield question("genotypes", start=k, stop=k + 1, groups=groups, chromosome=chromosome)


def answered(seed: int) -> tuple[ArrayCohort, list[tuple[Question, bytes]]]:
    """What a client has answered of a random sequence; it is started again now and then."""
    random = np.random.default_rng(seed)
    answerer, own = answerer_of(terms_of(nonfounders=bool(random.random() < 0.5))), cohort(random)
    answerer = answerer_of(terms_of(nonfounders=answerer.terms.plan.nonfounders))
    mine = [*honest(answerer, random)]
    found: list[tuple[Question, bytes]] = []
    for _ in range(120):
        step = mine[random.integers(len(mine))] if random.random() < 0.3 else any_question(random)
        panel = bytes(31) + bytes([int(random.random() < 0.1)])
        if random.random() < 0.1:
            answerer = started_again(answerer)
        alignments = Alignments(own, answerer.terms.plan, agreed=(own, panel), panel=LISTED)  # type: ignore[arg-type]
        sent = asked(step)
        try:
            known = answerer.question(sent)
            answerer.share(sent, known, *alignments.cohort_for(known))
        except UnpooledError:
            continue
        found.append((known, panel))
    return own, found


def contributions(step: Any, own: ArrayCohort) -> Iterator[tuple[tuple[Any, ...], np.ndarray]]:
    """What each person adds to a sum, float64 (people,), after what is equal in sums that are compared."""
    samples = own.samples
    if step.name.endswith("genotypes"):
        for k in range(step.start, step.stop):
            for group in step.groups:
                yield ("genotypes", k), np.where(members(group, samples), 1.0, 0.0)
        return
    if step.name.endswith("null"):
        yield ("null", step.evaluation), inside(step, samples).astype(float)
        return
    fill = iter(step.fill)
    for k, flags in zip(step.items, step.asked[step.asked > 0], strict=True):
        row = np.where(own.genotypes[k] < 0, np.nan, own.genotypes[k]).astype(float)
        if flags & 4:
            men, women = np.broadcast_to(next(fill) / most_copies(step.chromosome), 2)
            row = np.where(np.isnan(row), 2 * np.where(samples.sex == 1, men, women), row)
        yield (step.name, int(k), int(flags & 2)), np.where(inside(step, samples), row, 0.0)


def inside(step: Any, samples: Samples) -> np.ndarray:
    return People.of(samples, step.chromosome, False, np.zeros(1), np.zeros(1, np.int64)).inside


@pytest.mark.parametrize("seed", range(25))
def test_no_two_answers_differ_by_a_few_people(seed: int) -> None:
    own, found = answered(seed)
    assert len(found) > 1
    assert len({panel for step, panel in found if not step.name.endswith("null")}) <= 1
    sums: dict[tuple[Any, ...], list[np.ndarray]] = {}
    for step, _ in found:
        for key, each in contributions(step, own):
            sums.setdefault(key, []).append(each)
    for key, several in sums.items():
        for one, other in permutations(several, 2):
            apart = np.flatnonzero(~np.isclose(one, other, equal_nan=True))
            # Groups of people are the plan's, and may be small. They must not lie within one another.
            nested = key[0] != "genotypes" or ((one * other).any() and not (one * (1 - other)).any())
            assert not nested or len(apart) == 0 or len(apart) >= FEWEST, (key, len(apart))


def test_without_the_book_they_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """The weakened client: it agrees with every question, and keeps no book."""
    monkeypatch.setattr("unpooled_client.study.book.Book._check", lambda book, asked: None)
    caught = 0
    for seed in range(25):
        try:
            test_no_two_answers_differ_by_a_few_people(seed)
        except AssertionError:
            caught += 1
    assert caught > 10
