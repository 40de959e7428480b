"""Views of a study with predictions: what is asked before there are any, and what is of one chromosome.

The procedures behind know nothing of predictions. What they ask becomes a question on a view.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, cast

from unpooled.asking.cohort import Cohort, derived
from unpooled.asking.made_kinds import Made
from unpooled.asking.procedure import PROCEDURES, Asks, Study, on_a_view, procedure
from unpooled.asking.question import Arrays, Foreseen, Question, Sent
from unpooled.asking.sizes import ONE_VARIANT, Sizes
from unpooled.methods.ld.options import PRUNE_COMPONENTS
from unpooled.methods.regression.pool import Pool
from unpooled.methods.shared.standardise import PooledColumns
from unpooled.plan.common_options import LOCO
from unpooled.plan.plan import Plan

PREDICTIONS = "predictions"
"""Name of what each cohort keeps of its people: float64 (n, 1 + autosomes), predictions from all chromosomes,
and from all but each."""


def before(plan: Plan) -> Plan:
    """Return the plan of what is asked before there are predictions."""
    return plan.without(LOCO.name).without(PRUNE_COMPONENTS.name)


class BeforePredictions(Made):
    """Mixin of questions that are asked before there are predictions, of a plan without them."""

    ending: ClassVar[str] = "before predictions"

    @classmethod
    def plan_of(cls, plan: Plan) -> Plan:
        return before(super().plan_of(plan))

    @classmethod
    def sends_under(cls, plan: Plan) -> tuple[Sent, ...]:
        return super().sends_under(cls.plan_of(plan))

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        return super().foreseen(cls.plan_of(plan), sizes)

    def columns_under(self, plan: Plan) -> Sequence[str]:
        return super().columns_under(self.plan_of(plan))


@dataclass(frozen=True, eq=False)
class OfChromosome(Made):
    """Mixin of questions about one chromosome: the prediction without it is the last covariate."""

    ending: ClassVar[str] = "beside predictions"

    without: int = 0
    """The autosome that the prediction leaves out; 0 for none."""

    @property
    def uses(self) -> tuple[str, ...]:
        return (*super().uses, PREDICTIONS)

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        """Foresee it once for each chromosome; or of all variants, with chunks that end where these do."""
        found = super().foreseen(plan, sizes)
        if found is None:
            return None
        if super().foreseen(plan, None) is None:
            end = super().foreseen(plan, ONE_VARIANT)
            ends = [question for question in end.questions for _ in range(plan.autosomes)] if end else []
            return replace(found, questions=[*found.questions, *ends], exact=False)
        return replace(found, rounds=found.rounds * (plan.autosomes + 1), exact=False)

    def _with_prediction(self, cohort: Cohort) -> Cohort:
        column = derived(cohort, PREDICTIONS)[:, self.without, None]
        return cast(Cohort, replace(cast(Any, cohort), samples=cohort.samples.with_covariates(column)))

    def local(self, cohort: Cohort) -> Arrays:
        return super().local(self._with_prediction(cohort))


@dataclass(frozen=True, eq=False)
class Begun:
    """The beginning of a regression: its people are counted, and its columns standardised."""

    name: ClassVar[str] = "loco/begun"

    pool: Pool
    columns: PooledColumns
    few: tuple[str, ...]
    """The `SEXES` of whom there are too few to tell sums of."""

    @property
    def parts(self) -> tuple[Pool, PooledColumns, tuple[str, ...]]:
        return self.pool, self.columns, self.few


View = type[BeforePredictions] | type[OfChromosome]

_kinds: dict[tuple[type[Question], View], type[Question]] = {}
"""Kinds made so far, each once, because kinds are compared by identity."""


def on_view(kind: type[Question], view: View) -> type[Question]:
    """The kind of questions that asks the same on a view."""
    if (known := _kinds.get((kind, view))) is not None:
        return known
    named = {"name": f"{kind.name} {view.ending}", "made_by": (on_view, (kind, view))}
    made: Any = type(kind.__name__, (view, kind), named | {"__module__": kind.__module__})
    # Of two threads that make it at once both are to have the same.
    return _kinds.setdefault((kind, view), dataclass(frozen=True, eq=False)(made))


def _seen(question: Question, view: View, **more: Any) -> Question:
    kind = on_view(type(question), view)
    return kind(
        **{field.name: getattr(question, field.name) for field in fields(cast(Any, question))}, **more
    )


@procedure("loco/before")
def before_predictions(study: Study, name: str, arguments: bytes) -> Asks[bytes]:
    """A procedure that is run before there are predictions; gives its value, encoded."""
    seen = replace(study, plan=before(study.plan), load_panel=lambda: study.panel)
    return (
        yield from on_a_view(
            PROCEDURES[name].call(seen, arguments),
            lambda call: before_predictions(study, *call.stored),
            lambda question: _seen(question, BeforePredictions),
        )
    )


@procedure("loco/chromosome")
def of_chromosome(study: Study, chromosome: int, begun: Begun, name: str, arguments: bytes) -> Asks[bytes]:
    """The method's procedure on one chromosome, or on all that are no autosomes; gives its value, encoded."""
    alone = replace(study, chromosome=chromosome, begun=begun.parts, load_panel=lambda: study.panel)
    return (
        yield from on_a_view(
            PROCEDURES[name].call(alone, arguments),
            lambda call: of_chromosome(study, chromosome, begun, *call.stored),
            lambda question: _seen(question, OfChromosome, without=chromosome),
        )
    )
