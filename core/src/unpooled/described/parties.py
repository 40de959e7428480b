"""The data that each party of a study gets and can read, derived from what leaves a cohort."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from unpooled.described.what_leaves import (
    BY_NOBODY,
    BY_SUM,
    CODES,
    DEALING,
    EVERYONE_BY_SUM,
    PARTS,
    SERVER,
    Form,
    what_leaves,
)
from unpooled.methods import algorithm
from unpooled.plan.common_options import COMPENSATOR
from unpooled.plan.plan import Plan


@dataclass(frozen=True)
class Party:
    """One party of a study: what it gets, what of that it can read, and what it never gets."""

    name: str
    gets: str
    reads: str
    never: str


def what_parties_get(plan: Plan) -> tuple[Party, ...]:
    """The server, the compensator if any, each cohort and the coordinator, by what leaves a cohort."""
    return tuple(party for party in _parties(plan) if not (plan.in_pairs and party.name == COMPENSATOR))


def _parties(plan: Plan) -> tuple[Party, ...]:
    leaves = what_leaves(plan)
    clear = _listed(line.what for line in leaves if line.form == Form.CLEAR and DEALING not in line.what)
    arrays = sum(line.readable_by in (EVERYONE_BY_SUM, BY_SUM, BY_NOBODY) for line in leaves)
    compared = any(line.readable_by == BY_NOBODY for line in leaves)
    shown = any(DEALING in line.what and line.readable_by != SERVER for line in leaves)
    agreed = algorithm(plan.test).agreed
    return (
        Party(
            "server",
            f"from each cohort in clear: {clear}; masked: {arrays} arrays of numbers; "
            f"sealed: {_small(PARTS) if plan.in_pairs else 'the mask seed'}, which it passes on"
            + (f"; from one cohort after the other: {DEALING}" if compared else "")
            + (f"; {_small(CODES)}, which it passes on times a key" if plan.searched else "")
            + ("" if plan.in_pairs else ". From the compensator: sums of masks"),
            "what came in clear; of the masked numbers the sum over all cohorts"
            + (", but of sums that are compared only on which side of a bound they lie" if compared else "")
            + ("; by them values of single people" if algorithm(plan.test).told(plan) else "")
            + ("; sums over one cohort, if a covariate tells cohorts apart" if plan.shows_cohort_sums else "")
            + ("; of one cohort's, what the noise does not hide" if plan.masking == "gaussian" else "")
            + "; who sends when, and how much",
            ("" if plan.shows_cohort_sums else "one cohort's numbers, ")
            + ("a mask, a data file" if plan.in_pairs else "a mask seed, a data file"),
        ),
        Party(
            COMPENSATOR,
            "each cohort's mask seed; the study's ID; names and public keys of the cohorts; how long each "
            "round's answers are"
            + ("; masked parts of sums that are compared" if compared else "")
            + (f"; {_small(CODES)}" if plan.searched else ""),
            ("all of that but what is masked" if compared else "all of that")
            + ", and thus when each round takes place"
            + (", and how many variants there are" if agreed else ""),
            f"a share, a sum, {f'a {agreed}, ' if agreed else ''}a result, or a digest of any of these",
        ),
        Party(
            "each cohort",
            "the plan, the names and public keys of the others, "
            + (f"the {agreed} that the study is about, " if agreed else "")
            + ("of each other cohort the mask that the two share, " if plan.in_pairs else "")
            + "the sums over all cohorts on which questions depend, "
            + ("what the bits of compared sums follow from (masked), " if shown else "")
            + "the results",
            ("all of that but what is masked" if shown else "all of that")
            + ", and its own data; so of these sums, less its own numbers, what all others have together",
            "anything of one other cohort",
        ),
        Party(
            "coordinator",
            "the state of each cohort, the results",
            "all of that",
            "one cohort's numbers, a data file",
        ),
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(_small, names))


def _small(name: str) -> str:
    return name[0].lower() + name[1:]
