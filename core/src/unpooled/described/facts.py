"""A plan as people read it: the coordinator who made it, and the cohorts that are asked to accept it.

Facts about options come from their declarations (`unpooled.plan.options`).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import zip_longest

from unpooled.described.file_list import about
from unpooled.described.what_leaves import SINGLE_VALUES
from unpooled.methods import METHODS, algorithm, with_chunks
from unpooled.methods.algorithm import NOT_POOLED
from unpooled.plan.options import Place
from unpooled.plan.plan import NOT_REPORTED, Plan
from unpooled.plan.schema import FEATURE, IGNORED, Column
from unpooled.protocol.sealing import grouped

Fact = tuple[str, str]
"""The subject of a fact, and what the plan says of it."""


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
    return Facts(
        question=_columns(plan) if plan.of_tables else _trait(plan), model=_model(plan), rules=_rules(plan)
    )


def _trait(plan: Plan) -> tuple[Fact, ...]:
    digest = f" {grouped(plan.panel_digest.hex())}" if any(plan.panel_digest) else ""  # it may be to come
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


_FEW_LEVELS = 20
"""So many values of a column are named; of more their number, and the digest of the list."""


def _columns(plan: Plan) -> tuple[Fact, ...]:
    about = METHODS[plan.test].columns_of(plan)
    return tuple(("Column", _column(column, is_read=column in about)) for column in plan.schema)


def _column(column: Column, *, is_read: bool) -> str:
    role = "" if column.role in (FEATURE, IGNORED) else column.role
    kind = ", ".join(filter(None, (role, column.type, column.unit, column.limits)))
    if column.has_classes and is_read:
        return f"{column.title} ({kind}{_values(column)})"
    if column.is_patient:
        return f"{column.title} ({kind}: says only which rows are one person's)"
    if column.is_category and is_read:
        return f"{column.title} ({column.encoding}{_values(column)})"
    if column.scaling:
        kind = f"{kind}, scaled: {column.scaling}"
    unread = "" if is_read or column.is_number else ": neither read nor changed"
    return f"{column.title} ({kind}{unread})"


def _values(column: Column) -> str:
    """The values that a dictionary may have."""
    if len(column.levels) > _FEW_LEVELS:
        return f", of {len(column.levels):,} values with SHA-256 {grouped(column.digest)}"
    if column.most:
        return f", of words that are looked for: at most {column.most:,} different ones in a cohort"
    return f", of {', '.join(column.levels)}" if column.levels else ", of any words"


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
        *([] if plan.of_tables else [("Variants in one question", f"{with_chunks(plan).chunk_size:,}")]),
    )


def _questions(plan: Plan) -> str:
    found = "found by each cohort itself, from this plan and the sums so far"
    return found if plan.masking == "modular" else f"{found}, which under these masks no cohort can check"


def _options(plan: Plan, place: Place) -> list[Fact]:
    of_place = (option for option in algorithm(plan.test).all_options if option.place == place)
    return [(option.name_and_flag, said) for option in of_place if (said := option.in_words(plan))]
