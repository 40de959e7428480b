"""What a cohort derives in a study is there after a restart, and in no other study."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from unpooled.algorithms.components.directions import Directions
from unpooled.algorithms.components.questions import KeepScores, Multiply
from unpooled.cohort import ArrayCohort, Samples
from unpooled_client.state.folder import StateFolder
from unpooled_client.study.deriving import Deriving, derived_in


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
    scores = KeepScores(kept, np.ones(5), np.random.default_rng(2).normal(size=(2, 5)), 3, 90)
    nothing = Directions.of(np.zeros((1, 5)))
    other = Multiply(kept, np.ones(5), nothing.packed, nothing.exponent, 9, 3, 90, 1)

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
