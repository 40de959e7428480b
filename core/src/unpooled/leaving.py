"""What leaves a cohort's computer, and what each party gets of it: read before accepting, and afterwards.

Made from the declarations of the plan's steps, the same from which the uploads are built.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from unpooled.algorithms import algorithm, steps_of
from unpooled.plan import PARAMETERS_FILE, Plan

EVERYONE_BY_SUM = "nobody; the server reads the sum over all cohorts"
SERVER = "the server"
SINGLE_VALUES = "Values of single people"
KNOWN_FROM_SUMS = "the server, and everyone those in the results; not whose they are, nor of which cohort"


class Form(StrEnum):
    """In which form a quantity leaves the computer."""

    CLEAR = "in clear"
    MASKED = "masked"
    SEALED = "sealed"


@dataclass(frozen=True)
class Leaving:
    """One quantity that leaves the computer."""

    what: str
    detail: str
    form: str
    """in clear, masked, or sealed; of masks what they are, where they are not uniform."""
    readable_by: str


def what_leaves(plan: Plan) -> tuple[Leaving, ...]:
    """Everything that a client sends in a study by this plan, in the order in which it goes."""
    return tuple(_lines(plan))


def _lines(plan: Plan) -> Iterator[Leaving]:
    yield Leaving(
        "Public signing key",
        "made for this study; shows who this cohort is",
        Form.CLEAR,
        f"{SERVER}, all cohorts",
    )
    yield Leaving(
        "Mask seed",
        "32 random bytes, sealed to the compensator; the server passes it on unread",
        Form.SEALED,
        "the compensator",
    )
    yield _agreed(plan)
    for step in steps_of(plan):
        for array in step.sends_under(plan):
            yield Leaving(f"{step.title}: {array.name}", array.meaning, masked(plan), EVERYONE_BY_SUM)
    if tells := algorithm(plan.test).tells:
        yield Leaving(SINGLE_VALUES, f"by the sums above: {tells}", masked(plan), KNOWN_FROM_SUMS)
    yield Leaving(
        "State of the run",
        "that the client is there, whole seconds per phase, and if it must stop a code from a fixed list "
        "with the name of a quantity; never a value, an ID or the name of a file",
        Form.CLEAR,
        f"{SERVER}, the coordinator",
    )


def _agreed(plan: Plan) -> Leaving:
    """What is sent so that the cohorts can agree on what the study is about."""
    if plan.of_tables:
        return Leaving(
            "Digest of the plan",
            "says that this cohort's table is read and has the plan's columns; the table stays here, and "
            + ("so does the normalized one" if PARAMETERS_FILE in plan.files else "no other is written"),
            Form.CLEAR,
            SERVER,
        )
    if plan.panel_mode == "list":
        return Leaving(
            "Digest of the coordinator's list",
            "says that this cohort has read the list; its own variants stay here",
            Form.CLEAR,
            SERVER,
        )
    return Leaving(
        "List of variants",
        "chromosome, position, ID and the two alleles in alphabetical order; an allele 0 shows that a "
        "variant does not vary in this cohort. Of a list that equals another cohort's, only a digest is sent",
        Form.CLEAR,
        SERVER,
    )


def masked(plan: Plan) -> str:
    """The form in which shares leave, as the consent screen names it."""
    if plan.masking == "gaussian":
        return (
            f"{Form.MASKED} with normal noise of variance {plan.variance:g}, "
            "which hides less than uniform masks"
        )
    return Form.MASKED


@dataclass(frozen=True)
class Party:
    """What one party of a study gets, what of it that party can read, and what it never gets."""

    name: str
    gets: str
    reads: str
    never: str


def what_parties_get(plan: Plan) -> tuple[Party, ...]:
    """The server, the compensator, each cohort and the coordinator, by what leaves a cohort."""
    leaves = what_leaves(plan)
    clear = _listed(line.what for line in leaves if line.form == Form.CLEAR)
    arrays = sum(line.readable_by == EVERYONE_BY_SUM for line in leaves)
    agreed = "" if plan.of_tables else "the list of variants that the study is about, "
    lists = "" if plan.of_tables else "a list of variants, "
    return (
        Party(
            "server",
            f"from each cohort in clear: {clear}; masked: {arrays} arrays of numbers; "
            "sealed: the mask seed, which it passes on. From the compensator: sums of masks",
            "what came in clear; of the masked numbers the sum over all cohorts"
            + ("; by them values of single people" if algorithm(plan.test).tells else "")
            + ("; of one cohort's what the noise leaves" if plan.masking == "gaussian" else "")
            + "; who sends when, and how much",
            "one cohort's numbers, a mask seed, a data file",
        ),
        Party(
            "compensator",
            "each cohort's mask seed; the study's ID; names and public keys of the cohorts; how long each "
            "round's answers are",
            "all of that, hence when each round is"
            + ("" if plan.of_tables else ", and how many variants there are"),
            f"a share, a sum, {lists}a result, or a digest of any of these",
        ),
        Party(
            "each cohort",
            f"the plan, the names and public keys of the others, {agreed}the questions, the results",
            "all of that, and its own data",
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
    return ", ".join(name[0].lower() + name[1:] for name in names)
