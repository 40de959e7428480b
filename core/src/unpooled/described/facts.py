"""A plan as people read it: the coordinator who made it, and the cohorts that are asked to accept it.

Facts about options come from their declarations (`unpooled.plan.options`).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import zip_longest

from unpooled.described.file_list import about
from unpooled.described.what_leaves import SINGLE_VALUES
from unpooled.methods import algorithm, chunk_size
from unpooled.methods.algorithm import NOT_POOLED
from unpooled.methods.question_in_words import Fact
from unpooled.plan.options import Place
from unpooled.plan.plan import Plan
from unpooled.protocol.sealing import grouped


@dataclass(frozen=True)
class Facts:
    """All that decides a number or who sees it, as far as the plan's test has it."""

    question: tuple[Fact, ...]
    model: tuple[Fact, ...]
    rules: tuple[Fact, ...]

    @property
    def all(self) -> tuple[Fact, ...]:
        return self.question + self.model + self.rules


@dataclass(frozen=True)
class Change:
    """One fact that is no longer what it was, with the words of before and after."""

    label: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.label}: {self.before} → {self.after}"


NOT_SAID = "not set"
"""Text shown for a fact that only the other of two plans has."""


def changes(old: Plan, new: Plan) -> tuple[Change, ...]:
    """List the differences between two plans, in the words and in the order in which people read them.

    The hash comes last: it differs wherever the plans do, also where they differ in what this test ignores.
    """
    before, after = _by_title(old), _by_title(new)
    found = [
        Change(title, was or NOT_SAID, now or NOT_SAID)
        for title in dict.fromkeys([*after, *before])
        for was, now in _unlike(before[title], after[title])
    ]
    hashes = Change(HASH, grouped(old.hash().hex()), grouped(new.hash().hex()))
    return () if old == new else (*found, hashes)


HASH = "Plan hash"


def _by_title(plan: Plan) -> defaultdict[str, list[str]]:
    """Collect the texts of each fact's title; a title of a table's column has one per column."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for title, said in plan_facts(plan).all:
        found[title].append(said)
    return found


def _unlike(before: list[str], after: list[str]) -> list[tuple[str, str]]:
    """Pair up the texts that only one side has."""
    was, now = (
        [said for said in these if said not in those] for these, those in ((before, after), (after, before))
    )
    return list(zip_longest(was, now, fillvalue=""))


def plan_facts(plan: Plan) -> Facts:
    """Return the facts that people read of a plan."""
    return Facts(algorithm(plan.test).question(plan), _model(plan), _rules(plan))


def _model(plan: Plan) -> tuple[Fact, ...]:
    test = algorithm(plan.test)
    files = ", ".join(about(file, test).label for file in plan.files)
    return (
        (test.called, test.title),
        *([(NOT_POOLED, differs)] if (differs := test.differs(plan)) else []),
        *_options(plan, Place.MODEL),
        *([(SINGLE_VALUES, tells)] if (tells := test.told(plan)) else []),
        *_options(plan, Place.MORE),
        ("Result files", files),
    )


def _rules(plan: Plan) -> tuple[Fact, ...]:
    classes = f", {plan.min_per_class} cases and controls" if plan.trait == "case/control" else ""
    people = algorithm(plan.test).counted
    masks = {
        "modular": f"uniform, in a ring of at least {plan.ring_bits} bits: a share says nothing by itself",
        "gaussian": f"normal, of variance {plan.variance:g}: hides less, for comparison with the literature",
    }
    return (
        ("Cohorts", str(plan.cohorts)),
        ("Each cohort has at least", f"{plan.min_samples} {people}{classes}"),
        *_options(plan, Place.FILTERS),
        ("Masks", masks[plan.masking]),
        ("Questions", _questions(plan)),
        *([("Variants in one question", f"{size:,}")] if (size := chunk_size(plan)) else []),
    )


def _questions(plan: Plan) -> str:
    found = "found by each cohort itself, from this plan and the sums so far"
    return found if plan.masking == "modular" else f"{found}, which under these masks no cohort can check"


def _options(plan: Plan, place: Place) -> list[Fact]:
    of_place = (option for option in algorithm(plan.test).all_options if option.place == place)
    return [(option.name_and_flag, said) for option in of_place if (said := option.in_words(plan))]
