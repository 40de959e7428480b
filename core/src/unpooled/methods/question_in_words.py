"""The question of a study as people read it in its plan: a phenotype and variants, or columns of tables."""

from __future__ import annotations

from collections.abc import Sequence

from unpooled.plan.plan import NOT_REPORTED, Plan
from unpooled.plan.schema import FEATURE, IGNORED, Column
from unpooled.protocol.sealing import grouped

Fact = tuple[str, str]
"""The subject of a fact, and what the plan says of it."""


def of_variants(plan: Plan) -> tuple[Fact, ...]:
    """Return the facts about the phenotype and the variants of a plan."""
    digest = f" {grouped(plan.panel_digest.hex())}" if any(plan.panel_digest) else ""  # it may be to come
    panel = {
        "names": "by the cohorts' lists of variants, in clear",
        "list": f"by the coordinator's list{digest}, answered masked",
    }
    build = "not reported" if plan.build == NOT_REPORTED else plan.build
    return (
        *([("Phenotype", f"{plan.phenotype} ({plan.trait})")] if plan.phenotype else ()),
        ("Genome build", f"{build}, {plan.autosomes} autosomes"),
        ("Chromosomes", ", ".join(plan.chromosomes) or "all"),
        ("Agreement on variants", panel[plan.panel_mode]),
        ("Nonfounders", "counted in frequencies" if plan.nonfounders else "not counted in frequencies"),
        ("Unknown sex", "phenotype kept" if plan.allow_no_sex else "phenotype set missing"),
    )


_FEW_LEVELS = 20
"""So many values of a column are named; of more their number, and the digest of the list."""


def of_columns(plan: Plan, about: Sequence[Column]) -> tuple[Fact, ...]:
    """Return the facts about the columns of a plan, of which its method is `about` some."""
    return tuple(("Column", column_in_words(column, is_read=column in about)) for column in plan.schema)


def column_in_words(column: Column, *, is_read: bool) -> str:
    """Name a column, with its kind, its limits and the values that it may have."""
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
