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
from scipy.stats import norm
from test_book import PANEL, terms_of

from tests.people import people as samples_of
from unpooled.asking import question as questions
from unpooled.asking.cohort import ArrayCohort
from unpooled.errors import ProtocolError, UnpooledError
from unpooled.kernels.ordered_keys import keys
from unpooled.methods.components.krylov import Directions
from unpooled.methods.components.questions import KeepScores, Multiply
from unpooled.methods.loco.questions import SHARES, PredictByBlock, Residual, SumColumns
from unpooled.methods.loco.stacking import SumPredictions
from unpooled.methods.phenotypes import kind_of
from unpooled.methods.regression.normal_scores import CountBins
from unpooled.methods.regression.normal_scores import KeepScores as KeepNormalScores
from unpooled.methods.shared.standardise import Mean
from unpooled.plan.plan import NO_KEY, Covariate, Plan
from unpooled.protocol.invitation import Invitation
from unpooled_client.data.options import DataOptions
from unpooled_client.state.fingerprint import Fingerprint
from unpooled_client.state.folder import Acceptance, Saved, StateFolder
from unpooled_client.study.answering import Work
from unpooled_client.study.book import Book
from unpooled_client.study.deriving import Deriving, derived_in, with_derived
from unpooled_client.study.session import Session
from unpooled_client.study.trust import Distrust

LINEAR = Plan("linear", "y", 3, NO_KEY, trait="quantitative", covariates=(Covariate("c"),), files=("assoc",))
PLAN = terms_of(files=("glm",), components=2).plan


def cohort_of(people: int) -> ArrayCohort:
    random = np.random.default_rng(1)
    samples = samples_of(np.zeros(people), random.normal(size=(people, 1)), kept=np.arange(people) > 1)
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


def test_normal_scores_take_the_place_of_the_phenotype_once(tmp_path: Path) -> None:
    folder, raw = StateFolder(tmp_path / "state"), cohort_of(30)
    folder.path.mkdir()
    cohort = replace(raw, samples=replace(raw.samples, phenotype=np.arange(30.0)))
    edges = (keys(np.array([10.0, 20.0])),)
    count, keep = CountBins(LINEAR, edges), KeepNormalScores(LINEAR, edges, (np.array([8, 10, 10]),))
    mean = Mean(LINEAR, 28, np.zeros(2, np.int64))

    deriving = Deriving(folder, b"seed")
    assert deriving.extended(cohort, mean) is deriving.extended(cohort, count) is cohort
    kept = deriving.extended(cohort, keep).samples.phenotype
    expected = np.repeat(norm.ppf([4 / 28, 13 / 28, 23 / 28]), 10)
    np.testing.assert_allclose(kept, expected, rtol=1e-8)
    for again in (deriving, Deriving(folder, b"seed")):
        assert (again.extended(cohort, mean).samples.phenotype == kept).all()
        # What is asked once more is answered as it was.
        assert again.extended(cohort, count) is cohort
        assert (again.extended(cohort, keep).samples.phenotype == kept).all()
    assert Deriving(folder, b"another").extended(cohort, mean) is cohort


@pytest.mark.parametrize("apart", [False, True])
def test_normal_scores_are_the_phenotypes_of_a_study_that_has_ended(tmp_path: Path, apart: bool) -> None:
    """So a cohort's own effects are in the units of the pool's."""
    folder, raw = StateFolder(tmp_path / "state"), cohort_of(30)
    folder.path.mkdir()
    samples = replace(raw.samples, phenotype=np.arange(30.0), further=(-np.arange(30.0),))
    edges, counts = (keys(np.array([10.0])), keys(np.array([-9.0]))), (np.array([9, 19]), np.array([20, 8]))
    plan = replace(LINEAR, options=(("rint", True), ("phenotypes", ("z",)), ("require_pheno", not apart)))
    of_each = zip(plan.each, edges, counts, strict=True)
    asked = (
        [kind_of(KeepNormalScores, plan, one.phenotype)(one, (e,), (c,)) for one, e, c in of_each]
        if apart
        else [KeepNormalScores(plan, edges, counts)]
    )
    with pytest.raises(UnpooledError, match="not there any more"):
        with_derived(samples, plan, folder)
    deriving = Deriving(folder, b"seed")
    for question in asked:
        deriving.extended(replace(raw, samples=samples), question)
    found = with_derived(samples, plan, folder).phenotypes
    for values, low, count in zip(found, [range(10), range(10, 30)], (9, 20), strict=True):
        np.testing.assert_allclose(values[low], norm.ppf(count / 56), rtol=1e-8)
    assert with_derived(samples, LINEAR, folder) is samples


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
