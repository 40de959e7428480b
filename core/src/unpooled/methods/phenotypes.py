"""Several phenotypes in one study: each is analysed by the study's method, as if the study had only that one.

A method need not know of this. Its procedure is run once for each phenotype, on what the plan says of that
one. What it asks becomes a question about that phenotype, which a cohort answers from a view of its data; its
rows go to tables of that phenotype. Only of a method that shares what it asks (`VariantMethod.shares`) the
procedure is run once for all phenotypes, if they are of the same people.

Before anything else the study compares who is in which analysis. Sums over nearly the same people would be,
subtracted from one another, sums over the few who are in one of them only: docs/several-phenotypes.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, TypeVar, cast

import numpy as np

from unpooled.asking.cohort import NORMAL_SCORES, Cohort, Extended, Samples, WithSamples
from unpooled.asking.made_kinds import Made
from unpooled.asking.procedure import PROCEDURES, Asks, Call, Each, Go, Rows, Study, on_a_view, procedure
from unpooled.asking.question import Arrays, Count, Foreseen, Question, Sent, UnderPlan
from unpooled.asking.sizes import Sizes
from unpooled.errors import Refuse
from unpooled.methods.shared.genotype_counts import MOST_PEOPLE
from unpooled.methods.shared.groups import CASE, COMPLETE, CONTROL, Group, members
from unpooled.methods.shared.without_any import capped, capped_count, is_few_without_any
from unpooled.plan.common_options import FEWEST_AT_A_LEVEL, LOCO, PHENOTYPES, REQUIRE_PHENO
from unpooled.plan.plan import Plan

Columns = TypeVar("Columns", bound=Mapping[str, Any])


@procedure("phenotypes")
def each_phenotype(study: Study, method: str) -> Asks[None]:
    """The procedure of a method for each phenotype, unless the people of two of them differ by few.

    They run side by side: what is wrong with one is known before the genotypes of another are asked about.
    """
    plan = study.plan
    if not plan.alone:
        refuse_few_apart(plan, (yield CountApart(plan)))
    call = PROCEDURES[method](study)
    if LOCO.of(plan) and REQUIRE_PHENO.of(plan):
        yield from Go(PROCEDURES["loco/several"](study, *call.stored))
    begin = after_predictions(call).stored
    yield Each(one_phenotype(study, phenotype, *begin) for phenotype in plan.phenotype_names)


def after_predictions(call: Call[None]) -> Call[None]:
    """The procedure of a method, which begins once there are predictions if the plan wants them."""
    return PROCEDURES["loco/first"](call.study, *call.stored) if LOCO.of(call.study.plan) else call


@procedure("phenotype")
def one_phenotype(study: Study, phenotype: str, name: str, arguments: bytes) -> Asks[bytes]:
    """A procedure of the method for one phenotype, with its encoded arguments; gives its value, encoded."""
    of_one = replace(study, plan=study.plan.of_phenotype(phenotype), load_panel=lambda: study.panel)
    # A refusal names the phenotype here, once: above, nobody knows of which branch it came.
    try:
        return (
            yield from on_a_view(
                PROCEDURES[name].call(of_one, arguments),
                lambda call: one_phenotype(study, phenotype, *call.stored),
                lambda question: _about(question, study.plan, phenotype),
                lambda rows: of_several(rows, phenotype),
            )
        )
    except Refuse as refused:
        raise _named(refused, study.plan, phenotype) from refused


def _named(refused: Refuse, plan: Plan, phenotype: str) -> Refuse:
    """The refusal of a study of one phenotype, as one of a study of several."""
    of_further = refused.field == "phenotype" and phenotype != plan.phenotype
    field = PHENOTYPES.name if of_further else refused.field
    return Refuse(field, f"{phenotype}: {refused.reason}", refused.remedy)


# Tables


def tables_of(plan: Plan, tables: Mapping[str, Columns], phenotype: str) -> dict[str, Columns]:
    """The result tables of one phenotype, under the names that they have in a study of that one alone.

    A table that is of no phenotype is of each.
    """
    if not PHENOTYPES.of(plan):
        return dict(tables)
    endings, own = tuple(map(ending, plan.phenotype_names)), ending(phenotype)
    return {
        name.removesuffix(own): columns
        for name, columns in tables.items()
        if name.endswith(own) or not name.endswith(endings)
    }


# Cohorts


def required(cohort: Cohort, plan: Plan) -> Cohort:
    """The cohort without whoever lacks one of the phenotypes, if the plan wants it so."""
    if not REQUIRE_PHENO.of(plan):
        return cohort
    samples = cohort.samples
    return _with(cohort, replace(samples, kept=samples.kept & have_all(samples.phenotypes)))


def have_all(phenotypes: Sequence[np.ndarray]) -> np.ndarray:
    """Mark the people with a value of each phenotype: bool (n,)."""
    return np.asarray(~np.isnan(phenotypes).any(axis=0))


def of_phenotype(cohort: Cohort, place: int) -> Cohort:
    """The cohort as if it had only the phenotype at this place."""
    return _with(cohort, cohort.samples.of_phenotype(place))


def _with(cohort: Cohort, samples: Samples) -> Cohort:
    if isinstance(cohort, WithSamples):
        return replace(cohort, samples=samples)
    return WithSamples(cohort, samples)


# Questions


class OfPhenotype(Made):
    """Mixin of questions about one of several phenotypes: these see only its view of plan and cohort."""

    name_of_phenotype: ClassVar[str]

    @classmethod
    def plan_of(cls, plan: Plan) -> Plan:
        return super().plan_of(plan.of_phenotype(cls.name_of_phenotype))

    def _view(self, cohort: Cohort) -> Cohort:
        seen, own = of_phenotype(cohort, self.place_of_phenotype), ending(self.name_of_phenotype)
        if not isinstance(seen, Extended):
            return seen
        derived = {name.removesuffix(own): each for name, each in seen.derived.items() if name.endswith(own)}
        if NORMAL_SCORES in derived:
            seen = replace(seen, samples=seen.samples.with_phenotypes(derived[NORMAL_SCORES]))
        return replace(seen, derived=derived)

    @classmethod
    def sends_under(cls, plan: Plan) -> tuple[Sent, ...]:
        return super().sends_under(cls.plan_of(plan))

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen | None:
        return super().foreseen(cls.plan_of(plan), sizes)

    def columns_under(self, plan: Plan) -> Sequence[str]:
        return super().columns_under(self.plan_of(plan))

    def local(self, cohort: Cohort) -> Arrays:
        return super().local(self._view(cohort))

    def parts(self, cohort: Cohort) -> Iterable[Question]:
        return super().parts(self._view(cohort))

    def derives(self, cohort: Cohort) -> np.ndarray | None:
        return super().derives(self._view(cohort))

    @property
    def derived_as(self) -> str:
        return super().derived_as + ending(self.name_of_phenotype)

    @property
    def uses(self) -> tuple[str, ...]:
        return tuple(name + ending(self.name_of_phenotype) for name in super().uses)


_kinds: dict[tuple[type[Question], int, str], type[Question]] = {}
"""Kinds made so far, each once, because kinds are compared by identity."""


def kind_of(kind: type[Question], plan: Plan, phenotype: str) -> type[Question]:
    """The kind of questions that asks the same about one phenotype."""
    return _kind_of(kind, plan.phenotype_names.index(phenotype), phenotype)


def _kind_of(kind: type[Question], place: int, phenotype: str) -> type[Question]:
    """The same of a phenotype that a cohort has at this place."""
    known = _kinds.get((kind, place, phenotype))
    if known is not None:
        return known
    named = {"name": _name_of(kind.name, phenotype), "title": f"{kind.title} ({phenotype})"}
    about = {"place_of_phenotype": place, "name_of_phenotype": phenotype, "__module__": kind.__module__}
    about["made_by"] = _kind_of, (kind, place, phenotype)
    made: type[Question] = type(kind.__name__, (OfPhenotype, kind), named | about)
    return _kinds.setdefault((kind, place, phenotype), made)


def _name_of(kind: str, phenotype: str) -> str:
    """The name of the kind of questions that asks the same about one phenotype."""
    return f"{kind} of {phenotype}"


def kinds_of(plan: Plan, stages: Iterable[Sequence[type[Question]]]) -> Iterator[type[Question]]:
    """All kinds of questions of a study of several phenotypes, in their order."""
    yield CountApart
    for asks in stages:
        for phenotype in plan.phenotype_names:
            yield from (kind_of(kind, plan, phenotype) for kind in asks)


def _about(question: Question, plan: Plan, phenotype: str) -> Question:
    made = kind_of(type(question), plan, phenotype)
    return made(**{field.name: getattr(question, field.name) for field in fields(cast(Any, question))})


# Who is in which analysis


def _sets(trait: str) -> tuple[Group, ...]:
    """The groups of people of one phenotype that sums are over: all first, then each class."""
    return ((COMPLETE,), (COMPLETE, CASE), (COMPLETE, CONTROL)) if trait == "case/control" else ((COMPLETE,),)


@dataclass(frozen=True)
class CountApart(
    UnderPlan, name="phenotypes/apart", title="Compare the people of the phenotypes", ring_bits=64
):
    """Question that counts the people in the analysis of one phenotype and not in that of another."""

    sends: ClassVar[tuple[Count, ...]] = (
        Count(
            "apart",
            ("sets", "sets"),
            MOST_PEOPLE,
            "for each two phenotypes: number of people with complete data for the one and not for the other; "
            "if case/control also of cases and of controls of the one who are not cases, or controls, of the "
            "other",
            f"by how many people of the pool these differ; 1 to {FEWEST_AT_A_LEVEL - 1} end the study",
        ),
        capped_count(
            ("sets", "sets"),
            f"whether they differ by {FEWEST_AT_A_LEVEL} people without any one cohort; fewer end the study",
        ),
        Count(
            "capped_either",
            ("sets", "sets"),
            FEWEST_AT_A_LEVEL,
            "likewise, but of the number of people in either and not in the other",
            f"whether {FEWEST_AT_A_LEVEL} are in one of both without any one cohort; fewer end the study",
        ),
    )
    each: ClassVar[dict[str, str]] = {"sets": "group of people"}

    @property
    def sets(self) -> int:
        return len(self.plan.phenotype_names) * len(_sets(self.plan.trait))

    def local(self, cohort: Cohort) -> Arrays:
        views = map(cohort.samples.of_phenotype, range(len(self.plan.phenotype_names)))
        sets = _sets(self.plan.trait)
        return sums_apart(np.array([members(group, view) for view in views for group in sets], np.int64))


def sums_apart(inside: np.ndarray) -> Arrays:
    """Count who is in a set and not in another, and capped, from who is in each: int64 (sets, people)."""
    apart = inside @ (1 - inside).T
    return {"apart": apart, "capped": capped(apart), "capped_either": capped(apart + apart.T)}


def refuse_few_apart(plan: Plan, sums: Arrays) -> None:
    """Refuse two phenotypes whose people differ by few, in the pool or without one of the cohorts.

    `sums` are of what `CountApart` asks for. Of all with complete data few may not
    even be in the one and not in the other while many are the other way round: a third phenotype may be of
    those. Two classes are refused only if all who differ are few: few cases of one phenotype may well be
    among the many controls of another, and the difference of such sums is about the many.
    """
    names, size, apart = plan.phenotype_names, len(_sets(plan.trait)), sums["apart"]
    few = is_few_without_any(plan, apart, sums["capped"])
    few_either = is_few_without_any(plan, apart + apart.T, sums["capped_either"])
    for place, name in enumerate(names):
        for later, other in enumerate(names[place + 1 :], place + 1):
            one, two = slice(size * place, size * (place + 1)), slice(size * later, size * (later + 1))
            everyone = few[one, two][0, 0] or few[two, one][0, 0]
            if everyone or few_either[one, two][1:, 1:].any():
                raise _few_apart(plan, name, other, of_classes=not everyone)


def _few_apart(plan: Plan, name: str, other: str, *, of_classes: bool) -> Refuse:
    who = "cases or controls of" if of_classes else "people with"
    helps = not of_classes and not REQUIRE_PHENO.of(plan)
    return Refuse(
        PHENOTYPES.name,
        f"the {who} {name} and {other} in the pool differ by fewer than {FEWEST_AT_A_LEVEL} people, perhaps "
        "without one of the cohorts, and the difference of two sums would reveal these",
        (f"Choose “{REQUIRE_PHENO.label}”, or leave" if helps else "Leave")
        + " one of the two out; two studies of one each would reveal the same.",
    )


def ending(phenotype: str) -> str:
    """Return the end of its tables' names. Names of phenotypes hold no space, so no other's end the same."""
    return f" of {phenotype}"


def of_several(rows: Rows, phenotype: str) -> Rows:
    """Rows of a table of this phenotype."""
    return Rows(rows.table + ending(phenotype), rows.columns)
