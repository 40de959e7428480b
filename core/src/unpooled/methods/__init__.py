"""The methods, each with both halves in one place, and their registry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

from unpooled import method_modules
from unpooled.asking.procedure import PROCEDURES, Call, Study
from unpooled.asking.question import Question
from unpooled.errors import UnpooledError
from unpooled.methods.algorithm import Method, Registry, TableMethod, VariantMethod
from unpooled.methods.phenotypes import after_predictions
from unpooled.methods.presence import Presence
from unpooled.plan.common_options import COMPENSATOR, COMPONENTS, LOCO, PHENOTYPES, REQUIRE_PHENO, TRUST
from unpooled.plan.plan import Plan, PlanError

TESTS: Registry[VariantMethod] = Registry(method_modules.VARIANTS)
"""The methods for genotypes."""
FITS: Registry[TableMethod] = Registry(method_modules.MODELS)
"""The methods for tables that fit a model."""
METHODS: Registry[TableMethod] = Registry(method_modules.TABLES, method_modules.MODELS)
"""The methods for tables."""
ALGORITHMS: Registry[Method] = Registry(method_modules.VARIANTS, method_modules.TABLES, method_modules.MODELS)


def algorithm(name: str) -> Method:
    """The method of this name; UnpooledError lists those that there are."""
    if name not in ALGORITHMS:
        raise UnpooledError(f"no test is called {name!r}; there are {', '.join(ALGORITHMS)}")
    return ALGORITHMS[name]


def check(plan: Plan) -> Method:
    """The method of a plan; UnpooledError if there is none, PlanError if it lacks what the plan asks."""
    found = algorithm(plan.test)
    if problems := found.problems(plan):
        raise PlanError(problems)
    if plan.in_pairs and compares(plan):
        what = " with ".join(filter(None, (found.title, " and ".join(_comparing(plan)))))
        problem = f"{what} compares sums, for which a compensator is needed: choose {COMPENSATOR}"
        raise PlanError({TRUST.name: problem})
    return found


def compares(plan: Plan) -> bool:
    """Tell whether a study under this plan may compare sums that nobody reads."""
    return bool(_compared(plan))


def _compared(plan: Plan) -> set[str]:
    return {kind.name for kind in questions_of(plan) if kind.opens and kind.sends_under(plan)}


def _comparing(plan: Plan) -> Iterator[str]:
    """Name the options and files of a plan without which fewer sums would be compared."""
    for option in algorithm(plan.test).options:
        if _compared(plan.without(option.name)) < _compared(plan):
            yield f"{option.label} ({option.flag_here})"
    for file in plan.files:
        others = tuple(other for other in plan.files if other != file)
        if others and _compared(replace(plan, files=others)) < _compared(plan):
            yield f"the file {file}"


def completed(fields: Mapping[str, Any]) -> Plan:
    """The plan of these fields; what its author left out is as usual for its test. Raises as `check` does."""
    plan = Plan.from_json({**(usual(str(fields["test"])) if "test" in fields else {}), **fields})
    check(plan)
    return plan


def questions_of(plan: Plan) -> tuple[type[Question], ...]:
    """The kinds of questions that a study under this plan may ask, in their order."""
    stages: tuple[tuple[type[Question], ...], ...] = (algorithm(plan.test).asks,)
    # Few studies have predictions, several phenotypes or components: others need not load what asks of these.
    if LOCO.of(plan):
        from unpooled.methods.loco.procedure import stages_of

        stages = stages_of(*stages)
    asks = tuple(chain(*stages))
    if is_each_apart(plan):
        from unpooled.methods.phenotypes import kinds_of

        # Phenotypes of the same people go through the stages together, others one after another.
        asks = tuple(kinds_of(plan, stages if REQUIRE_PHENO.of(plan) else [asks]))
    if COMPONENTS.of(plan):
        from unpooled.methods.components.questions import ASKS_FIRST

        asks = (*ASKS_FIRST, *asks)
    return (Presence, *asks) if plan.panel_mode == "list" else asks


def is_each_apart(plan: Plan) -> bool:
    """Tell whether there are several phenotypes, each asked about by itself."""
    return bool(PHENOTYPES.of(plan)) and not (REQUIRE_PHENO.of(plan) and TESTS[plan.test].shares(plan))


def whole(study: Study) -> Call[None]:
    """The whole study, not begun yet."""
    plan, method = study.plan, algorithm(study.plan.test).procedure
    if is_each_apart(plan):
        call = PROCEDURES["phenotypes"](study, method.name)
    else:
        call = after_predictions(method(study))
    if not COMPONENTS.of(plan):
        return call
    return PROCEDURES["components/first"](study, *call.stored)


def chunk_size(plan: Plan) -> int:
    """Count the variants in one question, which the method chooses if the plan does not; 0 of tables."""
    return algorithm(plan.test).chunk_of(plan, questions_of(plan))


def with_chunks(plan: Plan) -> Plan:
    """Return the plan with a size of chunks, which its method chooses if it names none."""
    size = chunk_size(plan)
    return plan if size == plan.chunk_size else replace(plan, chunk_size=size)


def usual(test: str) -> dict[str, object]:
    """Return the defaults of a plan of this test."""
    return algorithm(test).usual()
