"""Options of tests of sets of variants, and the set list that a plan holds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from unpooled.plan.options import Answer, Choice, Lines, Number, Place, is_word

MOST_LETTERS = 500_000
"""Longest set list: it is a part of the plan, which the interface takes up to a megabyte of."""
MOST_SETS = 2_000

BETA, FLAT, MADSEN_BROWNING = "beta", "flat", "madsen-browning"


@dataclass(frozen=True)
class VariantSet:
    """A set of variants, such as those of a gene."""

    title: str
    chromosome: str
    position: int
    variants: tuple[str, ...]
    """Their IDs, each once."""


_LINE = re.compile(r"(\S+)\s+(?:chr)?([0-9A-Za-z]{1,9})\s+(\d{1,10})\s+(\S+)")


@lru_cache(maxsize=8)
def read_sets(text: str) -> tuple[VariantSet, ...]:
    """Parse a set list as regenie reads it; ValueError says what is wrong, and in which line."""
    found: dict[str, VariantSet] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        parts = _LINE.fullmatch(line.strip())
        if parts is None:
            raise ValueError(f"line {number:,} is not a name, a chromosome, a position and IDs")
        title, chromosome, position, listed = parts.groups()
        names = tuple(dict.fromkeys(filter(None, listed.split(","))))
        if not (is_word(title) and names and all(map(is_word, names))):
            raise ValueError(f"line {number:,} has a name or an ID of more than 200 letters, or no ID")
        if title in found:
            raise ValueError(f"line {number:,} is about the same set as one before: {title}")
        found[title] = VariantSet(title, chromosome, int(position), names)
    if not 0 < len(found) <= MOST_SETS:
        raise ValueError(f"a list has 1 to {MOST_SETS:,} sets, not {len(found):,}")
    return tuple(found.values())


def _problem(text: str) -> str:
    if len(text) > MOST_LETTERS:
        return f"at most {MOST_LETTERS:,} letters, not {len(text):,}: leave sets out, or have several studies"
    try:
        read_sets(text)
    except ValueError as error:
        return str(error)
    return ""


def _in_short(text: str) -> str:
    titles = [each.title for each in read_sets(text)]
    return f"{len(titles):,}: {', '.join(titles[:_NAMED])}{', …' if len(titles) > _NAMED else ''}"


_NAMED = 5
"""Sets that people read the names of."""

SET_LIST = Lines(
    name="set_list",
    label="Sets of variants",
    flag="--set-list",
    hint="A set a line, as regenie reads them: its name, chromosome and position, and the IDs of its "
    "variants with commas between them, such as APOE 19 44905796 rs429358,rs7412.",
    words="lines of a name, a chromosome, a position and IDs with commas between them",
    place=Place.MODEL,
    problem_of=_problem,
    in_short=_in_short,
    fact="{}",
)

MAX_MAF = Number(
    name="max_maf",
    label="Largest frequency of the rarer allele",
    flag="--max-maf",
    hint="In the pool; more frequent variants are in no set.",
    default=0.01,
    least=0,
    most=0.5,
    place=Place.MODEL,
    fact="{}: more frequent variants are in no set",
    is_always_said=True,
    methods="Variants with a frequency of the rarer allele of at most {} were in the sets.",
)

SET_WEIGHTS = Choice(
    name="set_weights",
    label="Weights of variants",
    default=BETA,
    place=Place.MODEL,
    answers=(
        Answer(
            BETA,
            "Beta(1, 25) of the frequency",
            "As SKAT's: the rarer, the heavier.",
            "the density of Beta(1, 25) at the frequency",
            "Variants had the density of Beta(1, 25) at their frequency as weights.",
        ),
        Answer(
            MADSEN_BROWNING,
            "Madsen and Browning's",
            "1 / √(p (1 - p)) of the frequency p.",
            "1 / √(p (1 - p)) of the frequency p",
            "Variants of frequency p had the weights 1 / √(p (1 - p)).",
        ),
        Answer(FLAT, "All alike", "", "all alike", "All variants had the same weight."),
    ),
)
