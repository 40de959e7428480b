"""The algorithms, each one module with both halves, and their registry."""

from __future__ import annotations

from unpooled.algorithms.algorithm import Algorithm
from unpooled.algorithms.chi_square import CHI_SQUARE
from unpooled.algorithms.linear_regression import LINEAR
from unpooled.algorithms.logistic_regression import LOGISTIC
from unpooled.algorithms.normalization import NORMALIZATIONS
from unpooled.algorithms.normalization.summary import SUMMARY
from unpooled.algorithms.presence import Presence
from unpooled.errors import UnpooledError
from unpooled.plan import NONE, Plan, PlanError
from unpooled.step import Step

TESTS: dict[str, Algorithm] = {test.name: test for test in (CHI_SQUARE, LINEAR, LOGISTIC)}
"""Those of variants."""
METHODS: dict[str, Algorithm] = {method.name: method for method in (*NORMALIZATIONS, SUMMARY)}
"""Those of tables."""
ALGORITHMS = TESTS | METHODS


def algorithm(name: str) -> Algorithm:
    """The algorithm of this name; UnpooledError lists those that there are."""
    if name not in ALGORITHMS:
        raise UnpooledError(f"no test is called {name!r}; there are {', '.join(ALGORITHMS)}")
    return ALGORITHMS[name]


def check(plan: Plan) -> Algorithm:
    """The algorithm of a plan; UnpooledError if there is none, PlanError if it lacks what the plan asks."""
    found = algorithm(plan.test)
    if problems := found.problems(plan):
        raise PlanError(problems)
    return found


def steps_of(plan: Plan) -> tuple[type[Step], ...]:
    """The steps that a study under this plan may ask."""
    steps = algorithm(plan.test).steps
    return (Presence, *steps) if plan.panel_mode == "list" else steps


def usual(test: str) -> dict[str, object]:
    """What a plan of this test says where its author said nothing: the trait, and the result files.

    One of tables has no phenotype and no variants.
    """
    found = algorithm(test)
    of_tables = {"phenotype": "", "panel_mode": NONE} if test in METHODS else {}
    return {"trait": found.traits[0], "files": list(found.usual_files), **of_tables}
