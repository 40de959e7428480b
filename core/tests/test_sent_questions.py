"""What a regression asks comes back from its bytes, and is asked under its own plan only."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from asking import followed
from pooled import quantities, statuses

from unpooled import question as questions
from unpooled.algorithms.regression.linear import LINEAR, SumColumns, SumWithGenotypes
from unpooled.algorithms.regression.logistic import LOGISTIC
from unpooled.panel import Panel
from unpooled.plan import Covariate, Plan


@pytest.mark.parametrize("autosomes", [22, 30])
def test_every_question_of_a_linear_study_can_be_sent(autosomes: int) -> None:
    """With 30 autosomes none of these variants is on X or Y, and no sum is about men."""
    pooled = quantities(1, n=200, each=4)
    pooled.copies[:3] = 1  # a tie, and out of equilibrium: not fitted, but reported
    pooled.copies[3] = np.arange(200) % 3  # a tie that is fitted
    plan = Plan(
        "linear", "trait", 3, bytes(32), trait="quantitative", missing="exact", hwe=1e-20,
        files=("assoc", "hwe"), covariates=tuple(map(Covariate, pooled.covariates)), autosomes=autosomes,
    )  # fmt: skip
    cohorts = pooled.cohorts((1, 2, 4), 0)
    found = followed(plan, Panel.of(pooled.variants), cohorts)
    for question in found.questions:
        asked = questions.decode(questions.encode(question), LINEAR.asks)
        assert questions.encode(asked) == questions.encode(question)
        assert asked.agrees(plan)
        if isinstance(asked, SumWithGenotypes):  # nobody's values without the rule that sends them
            assert not asked.agrees(replace(plan, missing="mean"))
        if isinstance(asked, SumColumns):
            assert asked.men_apart == (autosomes == 22)
    assert {question.name for question in found.questions} == {
        kind.name for kind in LINEAR.asks if kind.sends_under(plan)
    }


def test_every_question_of_a_logistic_study_can_be_sent() -> None:
    pooled = statuses(1, n=200, each=4)
    plan = Plan(
        "logistic", "status", 3, bytes(32), covariates=(Covariate("C1"), Covariate("C2")), missing="exact"
    )
    found = followed(plan, Panel.of(pooled.variants), pooled.cohorts((1, 2, 4)))
    for question in found.questions:
        asked = questions.decode(questions.encode(question), LOGISTIC.asks)
        assert questions.encode(asked) == questions.encode(question)
        assert asked.agrees(plan)
    seen = {question.name for question in found.questions}
    assert seen >= {"logistic/null", "logistic/start", "logistic/evaluate", "standardise/spread"}
