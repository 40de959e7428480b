"""Options of a study of encodings."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from unpooled.plan.options import Answer, Choice, Place, Switch, Text, Whole

if TYPE_CHECKING:
    from unpooled.plan.plan import Plan

FEWEST_PEOPLE, FEWEST_HOLDERS = 10, 2
MOST_FOLDS = 10
MISSING_STAYS, MISSING_IN_REST, MISSING_IS_VALUE = "missing", "rest", "value"
AUTO = "auto"
EVERYONE, OWN = "everyone", "own"


def is_smooth(text: str) -> bool:
    """Tell whether a text is `auto` or a number of people, at least 0."""
    try:
        return text == AUTO or 0 <= float(text) < math.inf
    except ValueError:
        return False


def _folds_problem(folds: int, plan: Plan) -> str:
    return "0 for none, or 2 and more: with one, no row is left to encode by" if folds == 1 else ""


def _holders_problem(holders: int, plan: Plan) -> str:
    too_many = holders > plan.cohorts and not plan.alone
    return f"at most as many as there are cohorts: {plan.cohorts}" if too_many else ""


PEOPLE = Whole(
    name="people",
    label="Fewest people with a value",
    hint="In the pool. A value that fewer have counts as the rest; so does the rarest one, if the rest would "
    "be fewer.",
    default=FEWEST_PEOPLE,
    least=FEWEST_PEOPLE,
    most=1_000_000,
    place=Place.FILTERS,
    fact="{}: a value that fewer people of the pool have counts as the rest",
    is_always_said=True,
    methods="Values that fewer than {} people had were taken together.",
)
HOLDERS = Whole(
    name="holders",
    label="Fewest cohorts with a value",
    hint="A value that fewer cohorts have counts as the rest. With 3, no cohort can tell another's people by "
    "subtracting its own.",
    default=FEWEST_HOLDERS,
    least=FEWEST_HOLDERS,
    most=1000,
    place=Place.FILTERS,
    fact="{}: a value that fewer cohorts have counts as the rest",
    is_always_said=True,
    methods="So were values that fewer than {} cohorts had.",
    rule=_holders_problem,
)
MISSING_WORDS = Choice(
    name="missing_words",
    label="Missing words",
    default=MISSING_STAYS,
    place=Place.MODEL,
    answers=(
        Answer(
            MISSING_STAYS,
            "Stay missing",
            "One-hot, hash and n-grams have 0 in all of their columns; other encodings an empty cell.",
            "stay missing",
            "Missing words stayed missing.",
        ),
        Answer(
            MISSING_IN_REST,
            "Count as the rest",
            "As a word that is not in the dictionary.",
            "count as the rest",
            "Missing words were taken for rare ones.",
        ),
        Answer(
            MISSING_IS_VALUE,
            "Are a value of their own",
            "If as many people lack the word as a value must have.",
            "are a value of their own",
            "Missing words were a value of their own.",
        ),
    ),
)
IGNORE_CASE = Switch(
    name="ignore_case",
    label="Ignore case",
    hint="Aspirin and ASPIRIN are one word. Blanks around a word never count, nor do two ways to write ü.",
    place=Place.MODEL,
    fact="ignored: Aspirin and ASPIRIN are one word",
    methods="Upper and lower case were not told apart.",
)
SMOOTH = Text(
    name="smooth",
    label="Smoothing of targets",
    hint="auto: by how much the target varies within the value and in all; or a number: as if so many more "
    "people with the mean of all had the value.",
    default=AUTO,
    words="auto, or a number of people from 0 on",
    fits=is_smooth,
    place=Place.MODEL,
    fact="{}: the mean of a value is drawn to the mean of all",
    methods="Means of the target were smoothed ({}) as scikit-learn's TargetEncoder does it.",
)
FOLDS = Whole(
    name="folds",
    label="Folds of targets",
    hint="0 for none. With 5, each cohort draws its rows into five folds, and a row is encoded by the other "
    "four: its own target is not in it. A value must then have enough people in each fold.",
    default=0,
    least=0,
    most=MOST_FOLDS,
    place=Place.MODEL,
    fact="{}: each row is encoded by the targets of the other folds",
    methods="Rows were encoded by the means of the other of {} folds.",
    rule=_folds_problem,
)

SPELLED = Choice(
    name="spelled",
    came_later=True,
    label="Words that are found",
    default=EVERYONE,
    place=Place.MORE,
    answers=(
        Answer(
            EVERYONE,
            "Are spelled out to everyone",
            "The dictionary names each word that enough people in enough cohorts have. A cohort that does "
            "not have a word cannot verify it.",
            "are spelled out to everyone, if enough people in enough cohorts have them; who does not have a "
            "word cannot verify it",
        ),
        Answer(
            OWN,
            "Are known to those who have them",
            "Each cohort learns which of its own words are in the dictionary; to it the others stay numbers, "
            "as all of them do to the server.",
            "stay codes: each cohort learns only which of its own words are in the dictionary",
        ),
    ),
)

OPTIONS = (MISSING_WORDS, IGNORE_CASE, SMOOTH, FOLDS, PEOPLE, HOLDERS, SPELLED)
