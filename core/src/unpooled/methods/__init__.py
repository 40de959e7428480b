"""The algorithms, each one module with both halves, and their registry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from unpooled import method_modules
from unpooled.asking.procedure import PROCEDURES, Call, Study
from unpooled.asking.question import Question, words
from unpooled.asking.sizes import AUTOSOMAL, LISTED, VARIANTS, Sizes
from unpooled.errors import UnpooledError
from unpooled.methods.algorithm import Algorithm
from unpooled.methods.presence import Presence
from unpooled.methods.registry import Registry
from unpooled.plan.common_options import COMPONENTS, PHENOTYPES, REQUIRE_PHENO
from unpooled.plan.plan import NONE, Plan, PlanError

SHARE_BYTES = 4_500_000
FEWEST_IN_A_CHUNK = 1000

TESTS = Registry(method_modules.VARIANTS)
"""The methods for genotypes."""
FITS = Registry(method_modules.MODELS)
"""The methods for tables that fit a model."""
METHODS = Registry(method_modules.TABLES, method_modules.MODELS)
"""The methods for tables."""
ALGORITHMS = Registry(method_modules.VARIANTS, method_modules.TABLES, method_modules.MODELS)


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


def completed(fields: Mapping[str, Any]) -> Plan:
    """The plan of these fields; what its author left out is as usual for its test. Raises as `check` does."""
    plan = Plan.from_json({**(usual(str(fields["test"])) if "test" in fields else {}), **fields})
    check(plan)
    return plan


def questions_of(plan: Plan) -> tuple[type[Question], ...]:
    """The kinds of questions that a study under this plan may ask, in their order."""
    asks = algorithm(plan.test).asks
    # Few studies have several phenotypes or components, and the others need not load what asks of these.
    if is_each_apart(plan):
        from unpooled.methods.phenotypes import kinds_of

        asks = tuple(kinds_of(plan, asks))
    if COMPONENTS.of(plan):
        from unpooled.methods.components.questions import ASKS_FIRST

        asks = (*ASKS_FIRST, *asks)
    return (Presence, *asks) if plan.panel_mode == "list" else asks


def is_each_apart(plan: Plan) -> bool:
    """Tell whether there are several phenotypes, each asked about by itself."""
    return bool(PHENOTYPES.of(plan)) and not (REQUIRE_PHENO.of(plan) and algorithm(plan.test).shares(plan))


def whole(study: Study) -> Call[None]:
    """The whole study, not begun yet."""
    plan, method = study.plan, algorithm(study.plan.test).procedure
    call = PROCEDURES["phenotypes"](study, method.name) if is_each_apart(plan) else method(study)
    if not COMPONENTS.of(plan):
        return call
    return PROCEDURES["components/first"](study, *call.stored)


def with_chunks(plan: Plan) -> Plan:
    """The plan with a size of chunks: if it names none, the one with which no share is beyond `SHARE_BYTES`.

    Smaller ones take no less time, for each is a request of its own; larger ones take memory, and keep the
    other parties waiting.
    """
    if plan.chunk_size or plan.of_tables:
        return plan
    one, by_one = {VARIANTS: 1, AUTOSOMAL: 1, LISTED: 1}, replace(plan, chunk_size=1)
    each = max(_variant_bytes(kind, by_one, one) for kind in questions_of(plan))
    return replace(plan, chunk_size=max(FEWEST_IN_A_CHUNK, SHARE_BYTES // each))


def _variant_bytes(kind: type[Question], plan: Plan, one: Sizes) -> int:
    """Bytes of a share of this kind per variant, from the question about `one`; 0 if it is about none."""
    if (
        not (kind.goes_over_variants() and kind.sends_under(plan))
        or (foreseen := kind.foreseen(plan, one)) is None
    ):
        return 0
    scheme = plan.scheme(kind.ring_bits)
    most = max(words(question, scheme) for question in foreseen.questions)
    return scheme.word_bytes * (most - scheme.check_words)


def usual(test: str) -> dict[str, object]:
    """Return the defaults of a plan of this test: the trait, the result files, some options.

    A study of tables has no phenotype and no variants.
    """
    found = algorithm(test)
    of_tables = {"phenotype": "", "panel_mode": NONE} if test in METHODS else {}
    options = {option.name: option.usual for option in found.options if option.usual is not None}
    return {"trait": found.traits[0], "files": list(found.usual_files), **of_tables, **options}
