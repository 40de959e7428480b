"""The book of a cohort in studies of models and of linkage: counts come before sums, all of one table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from books import answerer_of, asked, started_again

from tests.contract.runs import run_of
from tests.contract.studies import NOBODY, Small
from unpooled.algorithms import ALGORITHMS, usual, with_chunks
from unpooled.algorithms.components.directions import Directions
from unpooled.algorithms.components.questions import Multiply
from unpooled.algorithms.ld.lead_questions import SumWithLeads
from unpooled.algorithms.ld.questions import SumPairs
from unpooled.algorithms.learning import questions as of_models
from unpooled.algorithms.learning.logistic_questions import Differentiate
from unpooled.algorithms.learning.questions import CountLevelsByFold, SumProducts
from unpooled.algorithms.learning.scores import SumScores
from unpooled.algorithms.learning.wide_questions import ProjectColumns
from unpooled.algorithms.polygenic import questions as of_polygenic
from unpooled.algorithms.polygenic.questions import Project, SumColumns, SumWithAlleles
from unpooled.cohort import ArrayCohort, ArrayTable, Samples
from unpooled.panel import Panel
from unpooled.plan import Plan
from unpooled.protocol.messages import Roster
from unpooled.question import Question
from unpooled.schema import Column
from unpooled.words import Words
from unpooled_client.study.rounds import Answerer
from unpooled_client.study.trust import Distrust, Terms

COHORTS, ROWS, VARIANTS = 3, 400, 12
PANEL = Panel.of([(1, 1 + k, b"rs%d" % k, b"A", b"G") for k in range(VARIANTS)])


def plan_of(method: str) -> Plan:
    ill = Column("ill", "category", levels=("no", "yes"), role="outcome")
    word = Column("word", "category", "", "one-hot", ("a", "b", "c", "rare"))
    named: dict[str, Any] = {"cohorts": COHORTS, "compensator_key": bytes(32), **usual(method)}
    named |= {"files": tuple(named["files"])}
    if method == "pca":
        return with_chunks(Plan(method, **named | {"phenotype": "y", "pca": 2, "nonfounders": True}))
    if method == "prune":
        return with_chunks(Plan(method, **named | {"phenotype": "y", "indep_pairwise": "10 1 0.2"}))
    if method == "linear":
        clumped = {"phenotype": "y", "files": ("assoc.linear", "clumped"), "clump_p1": 0.05}
        return with_chunks(Plan(method, **named | clumped))
    if method == "polygenic":
        more = {"phenotype": "y", "trait": "quantitative", "shares": (0.01,), "held_out": 2}
        return with_chunks(Plan(method, **named | more))
    return Plan(
        method,
        **named,
        schema=(Column("x"), word, ill),
        validation_folds=2,
        penalties=(100.0,),
        missing_words="rest",
    )


def cohorts_of(plan: Plan) -> list[Any]:
    random = np.random.default_rng(3)
    if not plan.of_tables:
        return [_people(random) for _ in range(COHORTS)]
    ill = Words(random.integers(0, 2, ROWS), ("no", "yes"))
    word = Words(np.where(np.arange(ROWS) < 397, np.arange(ROWS) % 4, 4), ("a", "b", "c", "other", "rare"))
    tables = [ArrayTable(random.normal(size=(ROWS, 1)), {"word": word, "ill": ill}) for _ in range(COHORTS)]
    return [ALGORITHMS[plan.test].prepared(table, plan) for table in tables]


def _people(random: np.random.Generator) -> ArrayCohort:
    everyone, copies = np.ones(ROWS, bool), random.integers(0, 3, (VARIANTS, ROWS)).astype(np.int8)
    phenotype = copies[0] + random.normal(size=ROWS)
    samples = Samples(phenotype, np.ones(ROWS, np.uint8), everyone, everyone, np.zeros((ROWS, 0)))
    return ArrayCohort(samples, copies, np.zeros(VARIANTS, bool))


class Trial:
    """A cohort, and what an honest server would ask it."""

    def __init__(self, method: str) -> None:
        self.plan = plan_of(method)
        cohorts = cohorts_of(self.plan)
        panel = NOBODY if self.plan.of_tables else PANEL
        self.data, self.honest = cohorts[0], run_of(Small(self.plan, panel, cohorts)).questions
        roster = Roster(tuple((name, bytes(31) + name.encode()) for name in "GOT"))
        terms = Terms("s", "T", self.plan, self.plan.hash(), roster, roster.hash(), False)
        self.own = answerer_of(terms)

    def place(self, kind: type[Question]) -> int:
        """Where an honest server first asks it."""
        return next(k for k, question in enumerate(self.honest) if isinstance(question, kind))

    def answered_until(self, kind: type[Question]) -> Any:
        """Answer all that comes before a kind; the first question of that kind."""
        place = self.place(kind)
        for question in self.honest[:place]:
            ask(self.own, question, self.data)
        return self.honest[place]

    def refuses(self, question: Question, match: str) -> None:
        """So it does, and so does its client if it is started again."""
        for own in (self.own, started_again(self.own)):
            with pytest.raises(Distrust, match=match):
                ask(own, question, self.data)


def ask(own: Answerer, question: Question, data: Any) -> None:
    sent = asked(question)
    panel = bytes(32) if question.reach else b""
    own.share(sent, own.question(sent), data, panel)


@pytest.fixture
def is_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_models, "MOST_COLUMNS", 2)


def test_of_very_many_columns_the_book_keeps_the_columns_once(is_wide: None) -> None:
    trial = Trial("ridge")
    for question in trial.honest:
        ask(trial.own, question, trial.data)
    turns = sum(isinstance(question, ProjectColumns) for question in trial.honest)
    assert turns > 3 and trial.own.book.path.stat().st_size < 10_000


@pytest.mark.parametrize(
    ("method", "kind", "left_out"),
    [
        ("ridge", SumProducts, "model/people"),
        ("ridge", SumProducts, "model/levels"),
        ("ridge", SumProducts, "model/sides"),
        ("logistic-model", Differentiate, "model/levels"),
        ("polygenic", SumColumns, "polygenic/people"),
        ("polygenic", SumWithAlleles, "polygenic/carriers"),
        ("pca", Multiply, "components/people"),
        ("pca", Multiply, "components/genotypes"),
        ("prune", SumPairs, "ld/founders"),
        ("prune", SumPairs, "ld/genotypes"),
        ("linear", SumWithLeads, "leads/founders"),
        ("linear", SumWithLeads, "leads/genotypes"),
    ],
)
def test_nothing_is_summed_before_it_was_counted(method: str, kind: type[Question], left_out: str) -> None:
    """A server that skips what a floor is looked at by is not answered."""
    trial = Trial(method)
    place = trial.place(kind)
    for question in trial.honest[:place]:
        if question.name != left_out and not isinstance(question, SumProducts):
            ask(trial.own, question, trial.data)
    trial.refuses(trial.honest[place], "before it has counted")


def with_levels(question: SumProducts, change: Callable[[np.ndarray], np.ndarray]) -> SumProducts:
    """The same about other levels of its only category."""
    kept = change(question.kept)
    more = int(kept.sum()) - int(question.kept.sum())
    numbers = question.columns - question.targets - len(question.shares)
    shares = np.full(len(question.shares) + more, 1 / (len(question.shares) + more))
    columns = numbers + len(shares) + question.targets
    centre, exponent = np.zeros(columns), np.zeros(columns, np.int64)
    return replace(question, kept=kept, shares=shares, centre=centre, exponent=exponent)


def test_levels_that_were_not_counted_have_no_sums() -> None:
    trial = Trial("ridge")
    honestly = trial.answered_until(SumProducts)
    assert honestly.kept.tolist() == [True, True, True, False]
    rare = with_levels(honestly, lambda kept: np.ones_like(kept))
    assert rare.agrees(trial.plan)
    trial.refuses(rare, "other values than it began with")
    fewer = with_levels(honestly, lambda kept: kept & (np.arange(4) < 2))
    trial.refuses(fewer, "other values than it began with")
    ask(trial.own, honestly, trial.data)
    trial.refuses(replace(honestly, rows=honestly.rows + 1), "again")


@pytest.mark.parametrize("kind", [Differentiate, SumScores])
def test_all_sums_are_of_one_table(kind: type[Question]) -> None:
    trial = Trial("logistic-model")
    question = trial.answered_until(kind)
    centre = question.design.centre + 1.0
    trial.refuses(replace(question, design=replace(question.design, centre=centre)), "other values")
    ask(trial.own, question, trial.data)


def test_of_very_many_columns_too(is_wide: None) -> None:
    trial = Trial("ridge")
    question = trial.answered_until(ProjectColumns)
    design = replace(question.design, exponent=question.design.exponent + 1)
    trial.refuses(replace(question, design=design), "other values")


@pytest.mark.parametrize("kind", [Project, of_polygenic.SumScores])
def test_what_comes_before_its_turn_is_not_in_the_book(kind: type[Question]) -> None:
    """Nor is it there when the client is started again; an honest server is answered as before."""
    trial = Trial("polygenic")
    trial.answered_until(SumWithAlleles)
    before = trial.own.book.path.read_bytes()
    trial.refuses(trial.honest[trial.place(kind)], "before it has asked about their variants")
    assert trial.own.book.path.read_bytes() == before
    trial.own = started_again(trial.own)
    for question in trial.honest[trial.place(SumWithAlleles) :]:
        ask(trial.own, question, trial.data)


@pytest.mark.parametrize("kind", [SumWithAlleles, Project])
def test_covariates_and_phenotype_of_a_score_are_standardised_in_one_way(kind: type[Question]) -> None:
    trial = Trial("polygenic")
    question = trial.answered_until(kind)
    design = replace(question.design, centre=question.design.centre + 1.0)
    trial.refuses(replace(question, design=design), "other values")


def test_components_are_of_the_same_variants_and_people_in_each_of_few_rounds() -> None:
    """A server that lies about the pool, looks elsewhere, or asks more than it needs is not answered."""
    trial = Trial("pca")
    first = trial.answered_until(Multiply)
    along_two = Directions.of(np.eye(2, first.variants))
    two = replace(first, packed=along_two.packed, exponent=along_two.exponent)
    trial.refuses(two, "accepted plan does not allow")
    ask(trial.own, first, trial.data)
    opposite = Directions.of(-first.directions.rows())
    trial.refuses(replace(first, packed=opposite.packed), "again what was answered")
    second = replace(first, round=2)
    trial.refuses(replace(second, people=10 * first.people), "other values than it began with")
    trial.refuses(replace(second, mean=first.mean * 0.99, packed=first.packed[:0]), "other values")
    without = replace(first, kept=first.kept[:-1], mean=first.mean[:-1], packed=first.packed[:0, :-1])
    trial.refuses(replace(without, round=2), "other values than it began with")
    rounds = first.people // 10 // first.block
    trial.refuses(replace(first, round=rounds + 1), "accepted plan does not allow")


def test_levels_are_counted_before_a_table_is_summed_not_after() -> None:
    trial = Trial("ridge")
    levels = trial.honest[trial.place(CountLevelsByFold)]
    ask(trial.own, levels, trial.data)
    trial.refuses(levels, "again")
