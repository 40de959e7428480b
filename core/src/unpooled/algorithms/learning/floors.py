"""The floors of a study of models: which folds are joined to hold them, and what is refused where none do.

People are counted in each of the plan's folds. Where these are few, sums over the fold would tell of them, so
it is joined with others: sums are then over more people, and nothing else is asked. Joined folds hold every
floor that each of their parts holds. All that fits no number of folds is named at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from unpooled.algorithms.learning.names import LINEAR
from unpooled.algorithms.learning.options import VALIDATION_FOLDS
from unpooled.algorithms.learning.reading import class_names
from unpooled.algorithms.tables.encoding.options import MISSING_WORDS
from unpooled.errors import Refuse
from unpooled.plan import FEWEST_AT_A_LEVEL, Plan
from unpooled.question import Arrays
from unpooled.scaler import YEO_JOHNSON

PEOPLE, CLASS, COLUMN, MISSING = "people", "class", "column", "missing"
"""What a floor is about."""


@dataclass(frozen=True, eq=False)
class Floor:
    """People of one kind in each of the plan's folds: enough, or perhaps none."""

    kind: str
    about: str
    """The class or the column; empty of all people."""
    counts: np.ndarray
    """int64 (folds,)"""
    fewest: int = FEWEST_AT_A_LEVEL

    def holds(self, counts: np.ndarray) -> np.ndarray:
        """Tell where there are enough people, or nobody: bool, of the shape of `counts`."""
        nobody = (counts == 0) & (self.kind in (COLUMN, MISSING))
        return np.asarray((counts >= self.fewest) | nobody)


def fewest_folds(plan: Plan) -> int:
    """How many folds a fit needs: a second one, where it has a penalty to choose."""
    return 1 if plan.test == LINEAR else 2


def of_people(plan: Plan, counted: Arrays) -> list[Floor]:
    """The floors of the people, and of those of each class."""
    of_class = counted["of_class"].reshape(-1, plan.validation_folds)
    classes = zip(class_names(plan), of_class, strict=True)
    return [Floor(PEOPLE, "", counted["people"]), *(Floor(CLASS, *each) for each in classes)]


def of_columns(plan: Plan, sides: Arrays) -> list[Floor]:
    """The floors of the people above, and below, the mean of each column of numbers."""
    return [
        Floor(COLUMN, column.title, folds)
        for counts in sides.values()
        for column, folds in zip(plan.features, counts.reshape(-1, plan.validation_folds), strict=True)
    ]


def of_missing(plan: Plan, title: str, missing: np.ndarray) -> Floor:
    """The floor of those who lack a word, given how many rows of each fold do: int64 (folds,).

    All columns of a one-hot category together are 0 for those only. Where rows have patients, however many
    rows may be one person's.
    """
    named = any(column.is_patient for column in plan.schema)
    return Floor(MISSING, title, missing, int(missing.sum(dtype=int)) + 1 if named else FEWEST_AT_A_LEVEL)


def join_folds(plan: Plan, floors: Sequence[Floor]) -> np.ndarray:
    """The fold that each of the plan's folds becomes a part of: int64 (folds,); Refuse if that does not do.

    There are as many as hold all floors.
    """
    count = plan.validation_folds
    if plan.alone:
        return np.arange(count)
    parts = _parts((1 << count) - 1, _good(floors, count))
    if len(parts) < fewest_folds(plan) or not all(
        floor.holds(floor.counts.sum(dtype=int)) for floor in floors
    ):
        refuse_few(plan, floors)
    found = np.zeros(count, np.int64)
    for part in parts:
        places = _places(part, count)
        found[places] = places[0]
    return found


def _good(floors: Sequence[Floor], count: int) -> np.ndarray:
    """Which sets of folds, each a bit of its number, hold all floors if joined: bool (2^count,)."""
    sets = np.arange(1, 1 << count)
    for floor in floors:
        if not floor.holds(floor.counts).all():  # else any folds that are joined hold it
            people = sum(((sets >> k & 1) * n for k, n in enumerate(floor.counts.tolist())), np.int64(0))
            sets = sets[floor.holds(np.asarray(people))]
    good = np.zeros(1 << count, bool)
    good[sets] = True
    return good


def _parts(whole: int, good: np.ndarray) -> list[int]:
    """Part a set of folds into good sets, as many as there can be.

    The smallest is taken off whose rest is good, and so on: of all ways to part five folds, none has more.
    """
    sets = np.flatnonzero(good)
    sets = sets[(sets & whole == sets) & good[whole ^ sets]]
    if not len(sets):
        return [whole]
    size = sum((sets >> k & 1 for k in range(whole.bit_length())), np.int64(0))
    first = int(sets[np.argmin(size)])
    return [*_parts(first, good), *_parts(whole ^ first, good)]


def _places(part: int, count: int) -> np.ndarray:
    return np.flatnonzero(part >> np.arange(count) & 1)


def joined(counts: np.ndarray, part_of: np.ndarray) -> np.ndarray:
    """Counts by the plan's folds as those of the joined ones: int64 (folds,), 0 of those that ended."""
    return np.bincount(part_of, counts, len(counts)).astype(np.int64)


def refuse_few(plan: Plan, floors: Sequence[Floor]) -> NoReturn:
    """Refuse, naming everything that is not held, and what it would be held with."""
    few = [floor for floor in floors if not floor.holds(floor.counts).all()]
    # If each alone can be held, they cannot beside one another.
    failing = [floor for floor in few if _most_folds(floor) < fewest_folds(plan)] or few
    fields, reasons, remedies = zip(*_said(plan, failing), strict=True)
    raise Refuse(
        fields[0] if len(set(fields)) == 1 else "schema",
        "; ".join(reasons) + ", and sums over so few would reveal them",
        " ".join(remedies),
    )


def _most_folds(floor: Floor) -> int:
    """Count the folds in which the floor could be held, were there no other; 0 if not even in one."""
    count = len(floor.counts)
    return (
        len(_parts((1 << count) - 1, _good([floor], count)))
        if floor.holds(floor.counts.sum(dtype=int))
        else 0
    )


_BESIDE = f"fewer than {FEWEST_AT_A_LEVEL} people are above, or below, the mean of all"
_OF_COLUMNS = (
    _BESIDE,
    f"of one of two folds {_BESIDE}, though in one fold there are enough",
    f"no two folds suit all of these, and in one {_BESIDE}",
)
"""By in how many folds they alone could be."""


def _said(plan: Plan, failing: Sequence[Floor]) -> Iterator[tuple[str, str, str]]:
    """The field that must change, the reason and the remedy, of each kind of floors that are not held."""
    of = {
        kind: [floor for floor in failing if floor.kind == kind] for kind in (PEOPLE, CLASS, MISSING, COLUMN)
    }
    few = f"fewer than {FEWEST_AT_A_LEVEL} people of a fold"
    if of[PEOPLE]:
        yield VALIDATION_FOLDS.name, f"there are {few}, however folds are joined", "Invite more cohorts."
    if of[CLASS]:
        reason = f"{few}, however folds are joined, have the outcome {_names(of[CLASS])}"
        yield "schema", reason, "Invite more cohorts, or merge this outcome with another one."
    if of[MISSING]:
        reason = f"{_names(of[MISSING])}: so few people of a fold may lack a word"
        yield MISSING_WORDS.name, reason, "Let missing words count as the rest, or be a value of their own."
    least: dict[str, int] = {}
    for floor in of[COLUMN]:
        least[floor.about] = min(least.get(floor.about, 2), _most_folds(floor))
    groups = {k: [title for title, most in least.items() if most == k] for k in sorted(set(least.values()))}
    if groups:
        said = (f"{', '.join(titles)}: {_OF_COLUMNS[k]}" for k, titles in groups.items())
        yield plan.field_of(next(iter(least))), "; ".join(said), _cure(plan, in_one=1 in groups)


def _names(floors: Sequence[Floor]) -> str:
    return ", ".join(floor.about for floor in floors)


def _cure(plan: Plan, *, in_one: bool) -> str:
    """Say how a column can pass of which few people are above, or below, the mean."""
    fit = plan.test.removesuffix("-model")
    return (
        "A skewed measurement passes once it is normalized: "
        f"`unpooled rehearse --normalize {YEO_JOHNSON} …`, then `unpooled rehearse --fit {fit} …` with the "
        "tables that this writes; or a study of either kind in the browser. Leave out what only so few "
        "people have, or have the cohorts look for values that are far off, such as a code for a missing one."
        + (" A linear regression, which chooses no penalty, takes what has enough in one fold." * in_one)
    )
