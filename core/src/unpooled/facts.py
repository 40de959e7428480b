"""A plan as people read it: the coordinator who made it, and the cohorts that are asked to accept it.

Facts about options come from their declarations (`unpooled.options`).
"""

from __future__ import annotations

from dataclasses import dataclass

from unpooled.algorithms import algorithm, with_chunks
from unpooled.algorithms.result_files import about
from unpooled.leaving import SINGLE_VALUES
from unpooled.options import Place
from unpooled.plan import NOT_REPORTED, Plan
from unpooled.schema import Column

Fact = tuple[str, str]
"""What a fact is about, and what the plan says of it."""


@dataclass(frozen=True)
class Facts:
    """All that decides a number or who sees it, as far as the plan's test has it."""

    question: tuple[Fact, ...]
    model: tuple[Fact, ...]
    rules: tuple[Fact, ...]

    @property
    def all(self) -> tuple[Fact, ...]:
        return self.question + self.model + self.rules


def plan_facts(plan: Plan) -> Facts:
    """What people read of a plan."""
    return Facts(
        question=_columns(plan) if plan.of_tables else _trait(plan),
        model=_model(plan),
        rules=_rules(plan),
    )


def _trait(plan: Plan) -> tuple[Fact, ...]:
    digest = f" {plan.panel_digest.hex()[:16]}…" if any(plan.panel_digest) else ""  # it may be to come
    panel = {
        "names": "by the cohorts' lists of variants, in clear",
        "list": f"by the coordinator's list{digest}, answered masked",
    }
    build = "not reported" if plan.build == NOT_REPORTED else plan.build
    return (
        ("Phenotype", f"{plan.phenotype} ({plan.trait})"),
        ("Genome build", f"{build}, {plan.autosomes} autosomes"),
        ("Chromosomes", ", ".join(plan.chromosomes) or "all"),
        ("Agreement on variants", panel[plan.panel_mode]),
        ("Nonfounders", "counted in frequencies" if plan.nonfounders else "not counted in frequencies"),
        ("Unknown sex", "phenotype kept" if plan.allow_no_sex else "phenotype set missing"),
    )


def _columns(plan: Plan) -> tuple[Fact, ...]:
    return tuple(("Column", _column(column)) for column in plan.schema)


def _column(column: Column) -> str:
    kind = f"{column.type}, {column.unit}" if column.unit else column.type
    unread = "" if column.is_number else ": neither read nor changed"
    return f"{column.title} ({kind}{unread})"


def _model(plan: Plan) -> tuple[Fact, ...]:
    test = algorithm(plan.test)
    files = ", ".join(about(file, test).label for file in plan.files)
    return (
        ("Method" if plan.of_tables else "Test", test.title),
        *_options(plan, Place.MODEL),
        *([(SINGLE_VALUES, test.tells)] if test.tells else []),
        *_options(plan, Place.MORE),
        ("Result files", files),
    )


def _rules(plan: Plan) -> tuple[Fact, ...]:
    classes = f", {plan.min_per_class} cases and controls" if plan.trait == "case/control" else ""
    people = "rows" if plan.of_tables else "people"
    masks = {
        "modular": f"uniform, in a ring of at least {plan.ring_bits} bits: a share says nothing by itself",
        "gaussian": f"normal, of variance {plan.variance:g}: hides less, for comparison with the literature",
    }
    return (
        ("Cohorts", str(plan.cohorts)),
        ("Each cohort has at least", f"{plan.min_samples} {people}{classes}"),
        *_options(plan, Place.FILTERS),
        ("Masks", masks[plan.masking]),
        *([] if plan.of_tables else [("Variants in one question", f"{with_chunks(plan).chunk_size:,}")]),
    )


def _options(plan: Plan, place: Place) -> list[Fact]:
    of_place = (option for option in algorithm(plan.test).options if option.place == place)
    return [(option.label, said) for option in of_place if (said := option.in_words(plan))]
