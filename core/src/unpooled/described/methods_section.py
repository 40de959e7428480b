"""The methods section of a paper, from the plan and the numbers of the run."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from unpooled.described.file_list import about
from unpooled.kernels.statistics import inflation_text
from unpooled.methods import algorithm
from unpooled.methods.algorithm import TableMethod, VariantMethod
from unpooled.methods.shared.summary import Summary
from unpooled.plan.options import Number, Place
from unpooled.plan.plan import NOT_REPORTED, Plan

_WIDTH = 100


@dataclass(frozen=True)
class Run:
    """Facts of a run that a methods section states besides its plan."""

    cohorts: Sequence[str]
    summaries: Sequence[Summary]
    """One summary for each phenotype; none for a study of tables."""
    plan_hash: str
    """SHA-256 of the study's plan, in hex: of all its phenotypes."""
    panel_size: int | None
    """Variants that the cohorts agreed on."""
    one_operator: bool
    """True if the same people ran server and compensator."""
    ended: str
    """The date, as 2024-12-31."""
    software: str
    """Program and version."""


def methods(plan: Plan, run: Run) -> str:
    """Paragraphs of plain text, in lines of at most 100 characters."""
    match algorithm(plan.test):
        case VariantMethod() as method:
            about = [_people(plan, run, method), _variants(plan, run, method), _test(plan)]
        case TableMethod() as method:
            about = [_tables(plan, run, method)]
    paragraphs = [*about, _privacy(plan, run), _software(plan, run)]
    return "\n\n".join(textwrap.fill(" ".join(filter(None, lines)), _WIDTH) for lines in paragraphs) + "\n"


def _tables(plan: Plan, run: Run, method: TableMethod) -> list[str]:
    columns = ", ".join(column.title for column in method.columns_of(plan))
    return [
        f"The tables of {_cohorts(run)} were analysed jointly, without pooling them.",
        *_test(plan),
        f"The columns were {columns}.",
    ]


def _people(plan: Plan, run: Run, method: VariantMethod) -> list[str]:
    complete = " with complete data" if plan.covariate_columns else ""
    said = method.wording
    names = plan.phenotype_names if method.needs_phenotype else ("",)
    tested = (
        f"{f'{name} ({plan.trait}) ' if name else ''}{said.done} in {_counted(plan, numbers)}{complete}"
        for name, numbers in zip(names, run.summaries, strict=True)
    )
    return [f"{said.about} {', with '.join(tested)} of {_cohorts(run)}, without pooling their data."]


def _counted(plan: Plan, numbers: Summary) -> str:
    people = f"{numbers['people'] or 0:,} people"
    if plan.trait == "case/control":
        people += f" ({numbers['cases'] or 0:,} cases and {numbers['controls'] or 0:,} controls)"
    return people


def _variants(plan: Plan, run: Run, method: VariantMethod) -> list[str]:
    how = (
        "a list that was set before the study"
        if plan.panel_mode == "list"
        else "their names, positions and alleles in all cohorts' files"
    )
    options, done = method.options, method.wording.variants
    limits = (option.in_limits(plan) for option in options if isinstance(option, Number))
    kept = " and ".join(filter(None, limits))
    tested = _of_each(plan, [f"{numbers['variants'] or 0:,}" for numbers in run.summaries])
    return [
        f"Positions are those of {plan.build}." if plan.build != NOT_REPORTED else "",
        f"The cohorts agreed on {run.panel_size or 0:,} variants by {how}.",
        f"Only chromosomes {', '.join(plan.chromosomes)} were considered." if plan.chromosomes else "",
        *(option.in_methods(plan) for option in options if option.place == Place.FILTERS),
        f"Variants were {done} if they had, in all cohorts together, {kept}: {tested}."
        if kept
        else f"No filter was applied to variants; {tested} were {done}.",
    ]


def _test(plan: Plan) -> list[str]:
    test = algorithm(plan.test)
    others = (option for option in test.options if option.place != Place.FILTERS)
    of_files = (about(file, test).methods for file in dict.fromkeys(plan.files))
    said = (option.in_methods(plan) for option in others)
    return [test.method, test.warning(plan), *said, *of_files]


def _privacy(plan: Plan, run: Run) -> list[str]:
    masks = (
        f"normally distributed masks of variance {plan.variance:g}"
        if plan.masking == "gaussian"
        else "masks that are uniform modulo a power of two, so that sums are exact"
    )
    if plan.in_pairs:
        return [
            f"{algorithm(plan.test).data} stayed with the cohorts.",
            f"Each cohort sent sums under {masks}; each two cohorts shared some of these, so that the masks "
            "of all added up to nothing, and the server obtained the sums over all cohorts.",
            "There was no compensator."
            + " What was masked was encrypted besides, under threshold CKKS (experimental)."
            * plan.is_encrypted,
        ]
    operators = (
        "Server and compensator were run by one operator, who could have worked out each cohort's numbers."
        if run.one_operator
        else "The platform's operator states that server and compensator were run by different operators."
    )
    return [
        f"{algorithm(plan.test).data} stayed with the cohorts.",
        f"Each cohort sent sums under {masks}; a compensator sent the server the sum of the masks alone, "
        "from which the server obtained the sums over all cohorts.",
        operators,
    ]


def _software(plan: Plan, run: Run) -> list[str]:
    inflation = [
        inflation_text(found)
        for numbers in run.summaries
        if (found := numbers["genomic_inflation"]) is not None
    ]
    return [
        f"The study ended on {run.ended}. It was run with {run.software}, protocol version {plan.version},",
        f"under the plan with SHA-256 {run.plan_hash}.",
        f"The genomic inflation factor was {_of_each(plan, inflation)}."
        if len(inflation) == len(run.summaries) > 0
        else "",
    ]


def _of_each(plan: Plan, said: Sequence[str]) -> str:
    """Write what is said of the only phenotype, or of each with its name."""
    if len(said) == 1:
        return said[0]
    return ", ".join(f"{one} of {name}" for name, one in zip(plan.phenotype_names, said, strict=True))


def _cohorts(run: Run) -> str:
    return f"{len(run.cohorts)} cohorts ({', '.join(run.cohorts)})"
