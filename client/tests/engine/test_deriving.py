"""Values that a cohort derives in a study: there after a restart, and in no other study."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from books import SIZES, asked
from client_scripted import FINGERPRINT, Scripted
from test_book import PANEL, terms_of

from unpooled.asking import question as questions
from unpooled.asking.cohort import ArrayCohort, Samples
from unpooled.errors import ProtocolError
from unpooled.methods.components.krylov import Directions
from unpooled.methods.components.questions import KeepScores, Multiply
from unpooled.methods.loco.questions import SHARES, PredictByBlock, Residual, SumColumns
from unpooled.methods.loco.stacking import SumPredictions
from unpooled.plan.plan import NO_KEY, Covariate, Plan
from unpooled.protocol.invitation import Invitation
from unpooled_client.data.options import DataOptions
from unpooled_client.state.fingerprint import Fingerprint
from unpooled_client.state.folder import Acceptance, Saved, StateFolder
from unpooled_client.study.answering import Work
from unpooled_client.study.book import Book
from unpooled_client.study.deriving import Deriving, derived_in
from unpooled_client.study.session import Session
from unpooled_client.study.trust import Distrust

LINEAR = Plan("linear", "y", 3, NO_KEY, trait="quantitative", covariates=(Covariate("c"),), files=("assoc",))
PLAN = terms_of(files=("glm",), components=2).plan


def cohort_of(people: int) -> ArrayCohort:
    random = np.random.default_rng(1)
    samples = Samples(
        np.zeros(people),
        np.ones(people, np.uint8),
        np.ones(people, bool),
        np.arange(people) > 1,
        random.normal(size=(people, 1)),
    )
    return ArrayCohort(samples, random.integers(0, 3, (5, people)).astype(np.int8), np.zeros(5, bool))


def test_scores_outlast_the_program_and_belong_to_one_seed(tmp_path: Path) -> None:
    folder, cohort, kept = StateFolder(tmp_path / "state"), cohort_of(30), np.ones(5, bool)
    folder.path.mkdir()
    scores = KeepScores(PLAN, kept, np.ones(5), np.random.default_rng(2).normal(size=(2, 5)))
    nothing = Directions.of(np.zeros((1, 5)))
    other = Multiply(PLAN, kept, np.ones(5), nothing.packed, nothing.exponent, 9, 1)

    before = Deriving(folder, b"seed")
    assert before.extended(cohort, other) is cohort
    assert before.extended(cohort, scores) is cohort  # it is answered by the data alone
    extended = before.extended(cohort, other)
    assert before.extended(cohort, other) is extended

    again = Deriving(folder, b"seed").extended(cohort, other).samples.covariates
    expected = np.where(np.arange(30)[:, None] > 1, cohort.genotypes.T - 1.0, 0) @ scores.weights.T
    np.testing.assert_allclose(again[:, 1:], expected, atol=1e-12)
    np.testing.assert_array_equal(again[:, 0], cohort.samples.covariates[:, 0])
    np.testing.assert_array_equal(extended.samples.covariates, again)
    assert Deriving(folder, b"another").extended(cohort, other) is cohort
    found = derived_in(folder)
    assert found is not None and (found == again[:, 1:]).all()
    assert folder.derived.stat().st_mode & 0o077 == 0


def test_predictions_outlast_the_program_and_are_no_covariates(tmp_path: Path) -> None:
    folder, cohort = StateFolder(tmp_path / "state"), cohort_of(30)
    folder.path.mkdir()
    design = SumColumns(LINEAR, 28, np.zeros(2), np.zeros(2, np.int64))
    residual = Residual(design, np.zeros(2), 1.0)
    variants, none = np.arange(5, dtype=np.uint32), np.ones(5)
    products = 1000 * np.eye(5)[np.triu_indices(5)]
    about = variants, none, np.zeros((2, 5)), none, products, none, np.ones(len(SHARES)), residual
    blocks = [PredictByBlock(LINEAR, *about, number) for number in range(2)]
    stack = SumPredictions(LINEAR, np.zeros(2 * len(SHARES)), np.ones(2 * len(SHARES)), residual)

    deriving = Deriving(folder, b"seed")
    sums = [questions.answer(block, deriving.extended(cohort, block))["sums"] for block in blocks]
    again = Deriving(folder, b"seed").extended(cohort, stack)
    assert again.samples.covariates is cohort.samples.covariates
    w, _ = stack.values(again)
    np.testing.assert_allclose(w.sum(axis=0), np.concatenate(sums)[:, 0], rtol=1e-12)
    assert {path.name for path in folder.path.iterdir()} == {
        "derived-predictions%200",
        "derived-predictions%201",
    }
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.path.iterdir())
    with pytest.raises(ProtocolError, match="keeps no predictions 0 of the study"):
        stack.values(Deriving(folder, b"another").extended(cohort, stack))


def test_a_question_that_the_book_refuses_leaves_what_was_derived(tmp_path: Path, scripted: Scripted) -> None:
    """Other scores would be covariates of all shares that follow, after a restart too."""
    folder, seed, cohort = StateFolder(tmp_path / "state"), bytes(range(32)), cohort_of(30)
    folder.path.mkdir()
    weights = np.random.default_rng(2).normal(size=(2, 5))
    honest = KeepScores(PLAN, np.ones(5, bool), np.ones(5), weights)
    Deriving(folder, seed).extended(cohort, honest)
    Book.begin(folder.book, seed)
    terms = terms_of(files=("glm",), components=2)
    (file := tmp_path / "table.csv").write_text("as it was accepted")
    options = DataOptions(table=file)
    saved = replace(
        Saved.new(Invitation(scripted.url, "s1", "t" * 43, FINGERPRINT)),
        acceptance=Acceptance(terms.plan_hash, terms.roster_hash, seed, b"", b""),
        files={name: Fingerprint.of(path) for name, path in options.paths.items()},
        sizes=SIZES,
    )
    alignments: Any = SimpleNamespace(cohort_for=lambda question: (cohort, PANEL), agreed_panel=lambda: None)
    work = Work(Session(folder, saved, scripted.api(), 1), terms, alignments, options)

    kinds = [KeepScores]
    work.answerer = replace(
        work.answerer, follow=lambda message: questions.decode(message.question, kinds), witness=bytes(32)
    )
    work.answerer.enter(asked(honest, place="0"), honest, PANEL)
    with pytest.raises(Distrust, match="more than was released"):
        work._answer(asked(replace(honest, weights=2 * weights), place="0"))
    assert work.deriving.covariates is None
    found = derived_in(folder, seed)
    assert found is not None and (found == honest.derives(cohort)).all()
