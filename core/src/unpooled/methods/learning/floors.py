"""The floors of a study of models: which folds are joined to hold them, and what is refused where none do.

People are counted in each of the plan's folds. Where these are few, sums over the fold would tell of them, so
it is joined with others: sums are then over more people, and nothing else is asked. Joined folds hold every
floor that each of their parts holds. All that fits no number of folds is named at once.

Cohorts are told the sums over each of several folds, and subtract their own. So there the people without any
one cohort have to be enough: folds are joined so that this can be, and then the cohorts are asked whether it
is. Of a single fold, in which no penalty is chosen, only the server reads the sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from unpooled.asking.procedure import Asks
from unpooled.asking.question import Arrays
from unpooled.errors import Refuse
from unpooled.methods.learning.models import MODELS
from unpooled.methods.learning.options import VALIDATION_FOLDS
from unpooled.methods.learning.questions import MOST_JOININGS, SHARES, FindNearlyAll
from unpooled.methods.learning.reading import class_names
from unpooled.methods.shared.without_any import fewest_of_all
from unpooled.methods.tables.bends import Bends
from unpooled.methods.tables.encoding.options import MISSING_WORDS
from unpooled.plan.encodings import YEO_JOHNSON
from unpooled.plan.plan import FEWEST_AT_A_LEVEL, Plan

FEWEST_PEOPLE_A_COLUMN = 10
FEWEST_OTHERS_A_COLUMN = 5
"""Smallest number of people for each column in the pool without any one cohort, which knows its own people.
"""
PEOPLE, CLASS, COLUMN, MISSING = "people", "class", "column", "missing"
"""Kinds of floors, named for what they count."""


@dataclass(frozen=True, eq=False)
class Floor:
    """People of one kind in each of the plan's folds: enough, or perhaps none."""

    kind: str
    about: str
    """The class or the column; empty of all people."""
    counts: np.ndarray
    """int64 (folds,)"""
    only_nobody: bool = False
    """However many they are, they may be one person."""

    def holds(self, counts: np.ndarray, fewest: int = FEWEST_AT_A_LEVEL) -> np.ndarray:
        """Tell where there are enough people, or nobody: bool, of the shape of `counts`."""
        nobody = (counts == 0) & (self.kind in (COLUMN, MISSING))
        return np.asarray(((counts >= fewest) & (not self.only_nobody)) | nobody)


def fewest_folds(plan: Plan) -> int:
    """Return the number of folds that a fit needs: two if one is left out to choose by, else one."""
    model = MODELS[plan.test]
    return 2 if model.has_penalty or model.is_network else 1


def of_people(plan: Plan, counted: Arrays) -> list[Floor]:
    """The floors of the people, and of those of each class."""
    of_class = counted["of_class"].reshape(-1, VALIDATION_FOLDS.of(plan))
    classes = zip(class_names(plan), of_class, strict=True)
    return [Floor(PEOPLE, "", counted["people"]), *(Floor(CLASS, *each) for each in classes)]


def of_columns(plan: Plan, sides: Arrays) -> list[Floor]:
    """The floors of the people above, and below, the mean of each column of numbers."""
    return [
        Floor(COLUMN, column.title, folds)
        for counts in sides.values()
        for column, folds in zip(plan.features, counts.reshape(-1, VALIDATION_FOLDS.of(plan)), strict=True)
    ]


def of_missing(plan: Plan, title: str, missing: np.ndarray) -> Floor:
    """The floor of those who lack a word, given how many rows of each fold do: int64 (folds,).

    All columns of a one-hot category together are 0 for those only. Where rows have patients, however many
    rows may be one person's.
    """
    named = any(column.is_patient for column in plan.schema)
    return Floor(MISSING, title, missing, named)


def join_folds(plan: Plan, floors: Sequence[Floor]) -> np.ndarray:
    """The fold that each of the plan's folds becomes a part of: int64 (folds,); Refuse if that does not do.

    There are as many as can hold all floors without any one cohort; or one, which holds them.
    """
    count = VALIDATION_FOLDS.of(plan)
    if plan.alone:
        return np.arange(count)
    parts = _parts((1 << count) - 1, _good(floors, count, fewest_of_all(plan)))
    if len(parts) < fewest_folds(plan) or not all(
        floor.holds(floor.counts.sum(dtype=int)) for floor in floors
    ):
        refuse_few(plan, floors)
    return _part_of(parts, count)


def settle_folds(
    plan: Plan,
    floors: Sequence[Floor],
    part_of: np.ndarray,
    centre: np.ndarray,
    columns: int,
    bends: Bends | None = None,
) -> Asks[tuple[np.ndarray, int]]:
    """Join folds in other ways until all floors hold without any one cohort; Refuse if that does not do.

    `columns` are those of the design; `centre` is after `bends`. Returns also how many people there are at
    least without any one cohort; nobody else is told of one fold, and there all people count.
    """
    people, count = int(floors[0].counts.sum(dtype=int)), VALIDATION_FOLDS.of(plan)
    # The floor, and besides a half, a quarter and an eighth: by these a wide fit knows how often it may ask.
    others = np.append(FEWEST_OTHERS_A_COLUMN * columns, people // 2 ** np.arange(1, SHARES))
    good = np.zeros(0, bool)
    for _ in range(MOST_JOININGS):
        if plan.alone or not part_of.any():
            return part_of, people
        counts = np.array([joined(floor.counts, part_of) for floor in floors])
        found = yield FindNearlyAll(plan, part_of, centre, counts, people - others, bends=bends)
        if found["large"][0] and fewest_folds(plan) > 1:
            refuse_large(columns)
        if found["large"][0]:
            return np.zeros_like(part_of), people
        failing = found["nearly_all"].astype(bool)
        if not failing.any():
            return part_of, int(others[found["large"] == 0].max())
        good = good if len(good) else _good(floors, count, fewest_of_all(plan))
        good[[_set_of(part_of == fold) for fold in np.flatnonzero(failing.any(axis=0))]] = False
        parts = _parts((1 << count) - 1, good)
        if len(parts) < fewest_folds(plan):
            break
        part_of = _part_of(parts, count)
    refuse_nearly_all(plan, [floors[k] for k in np.flatnonzero(failing.any(axis=1)).tolist()])


def _part_of(parts: Sequence[int], count: int) -> np.ndarray:
    """Name for each of so many folds the first one that it is joined to: int64."""
    found = np.zeros(count, np.int64)
    for part in parts:
        places = _places(part, count)
        found[places] = places[0]
    return found


def _set_of(inside: np.ndarray) -> int:
    """The number of a set of folds, of which each is a bit."""
    return int(sum(1 << k for k in np.flatnonzero(inside).tolist()))


def _good(floors: Sequence[Floor], count: int, fewest: int) -> np.ndarray:
    """Mark the sets of folds, each a bit of its number, that hold all floors if joined: bool (2^count,)."""
    sets = np.arange(1, 1 << count)
    for floor in floors:
        if not floor.holds(floor.counts, fewest).all():  # else any folds that are joined hold it
            people = sum(((sets >> k & 1) * n for k, n in enumerate(floor.counts.tolist())), np.int64(0))
            sets = sets[floor.holds(np.asarray(people), fewest)]
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
    # The smallest first leaves the most folds for further parts.
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
    few = [floor for floor in floors if not floor.holds(floor.counts, fewest_of_all(plan)).all()]
    # If each alone can be held, they cannot beside one another.
    failing = [floor for floor in few if _most_folds(plan, floor) < fewest_folds(plan)] or few
    _refuse(_said(plan, failing), "sums over so few would reveal them")


def refuse_nearly_all(plan: Plan, failing: Sequence[Floor]) -> NoReturn:
    """Refuse floors that hold, but not without some cohort."""
    said = [
        (field, f"{of}: however folds are joined, one cohort has nearly all of these people", remedy)
        for field, of, remedy in _people_of(plan, failing)
    ]
    _refuse(said, f"it would be told sums over fewer than {FEWEST_AT_A_LEVEL} of the others")


def refuse_large(columns: int) -> NoReturn:
    """Refuse if one cohort has nearly all people."""
    raise Refuse(
        "schema",
        f"without one of the cohorts there are too few people for {columns:,} columns: that cohort would "
        "be told sums that say much about each of the others",
        f"Have {FEWEST_OTHERS_A_COLUMN} people for each column without any one cohort: invite more cohorts, "
        "or declare some features as ignored.",
    )


def _refuse(said: Iterable[tuple[str, str, str]], why: str) -> NoReturn:
    """Refuse for several reasons at once, each with its field and remedy."""
    fields, reasons, remedies = zip(*said, strict=True)
    field = fields[0] if len(set(fields)) == 1 else "schema"
    raise Refuse(field, f"{'; '.join(reasons)}, and {why}", " ".join(remedies))


def _people_of(plan: Plan, failing: Sequence[Floor]) -> Iterator[tuple[str, str, str]]:
    """The field that must change, the people whom floors are about, and the remedy, of each kind."""
    for kind, field, about, remedy in (
        (PEOPLE, VALIDATION_FOLDS.name, "people of a fold", _INVITE),
        (CLASS, "schema", "the outcome {}", _MERGE),
        (MISSING, MISSING_WORDS.name, "no word of {}", _COUNT_MISSING),
        (COLUMN, "", "people above, or below, the mean of {}", ""),
    ):
        if titles := [floor.about for floor in failing if floor.kind == kind]:
            names = ", ".join(dict.fromkeys(titles))
            yield (field or plan.field_of(titles[0]), about.format(names), remedy or _cure(plan, in_one=True))


def _most_folds(plan: Plan, floor: Floor) -> int:
    """Count the folds in which the floor could be held, were there no other; 0 if not even in one."""
    count = len(floor.counts)
    return (
        len(_parts((1 << count) - 1, _good([floor], count, fewest_of_all(plan))))
        if floor.holds(floor.counts.sum(dtype=int))
        else 0
    )


def _of_columns(plan: Plan) -> tuple[str, str, str]:
    """Say what floors of columns are not held, by in how many folds they alone could be."""
    beside, in_folds = (
        f"fewer than {fewest} people are above, or below, the mean of all"
        for fewest in (FEWEST_AT_A_LEVEL, fewest_of_all(plan))
    )
    return (
        beside,
        f"of one of two folds {in_folds}, though in one fold there are enough",
        f"no two folds suit all of these, and in one {in_folds}",
    )


_INVITE = "Invite more cohorts."
_MERGE = "Invite more cohorts, or merge this outcome with another one."
_COUNT_MISSING = "Let missing words count as the rest, or be a value of their own."


def _said(plan: Plan, failing: Sequence[Floor]) -> Iterator[tuple[str, str, str]]:
    """The field that must change, the reason and the remedy, of each kind of floors that are not held."""
    of = {
        kind: [floor for floor in failing if floor.kind == kind] for kind in (PEOPLE, CLASS, MISSING, COLUMN)
    }
    few = (
        f"fewer than {FEWEST_AT_A_LEVEL if fewest_folds(plan) == 1 else fewest_of_all(plan)} people of a fold"
    )
    if of[PEOPLE]:
        yield VALIDATION_FOLDS.name, f"there are {few}, however folds are joined", _INVITE
    if of[CLASS]:
        reason = f"{few}, however folds are joined, have the outcome {_names(of[CLASS])}"
        yield "schema", reason, _MERGE
    if of[MISSING]:
        reason = f"{_names(of[MISSING])}: so few people of a fold may lack a word"
        yield MISSING_WORDS.name, reason, _COUNT_MISSING
    least: dict[str, int] = {}
    for floor in of[COLUMN]:
        least[floor.about] = min(least.get(floor.about, 2), _most_folds(plan, floor))
    groups = {k: [title for title, most in least.items() if most == k] for k in sorted(set(least.values()))}
    if groups:
        said = (f"{', '.join(titles)}: {_of_columns(plan)[k]}" for k, titles in groups.items())
        yield plan.field_of(next(iter(least))), "; ".join(said), _cure(plan, in_one=1 in groups)


def _names(floors: Sequence[Floor]) -> str:
    return ", ".join(floor.about for floor in floors)


def _cure(plan: Plan, *, in_one: bool) -> str:
    """Say how a column can pass of which few people are above, or below, the mean."""
    return (
        f"A skewed measurement passes with the scaling {YEO_JOHNSON}: in the form, or under encoding in the "
        "schema. Leave out what only so few people have, or have the cohorts look for values that are far "
        "off, such as a code for a missing one."
        + (" A linear regression, which chooses no penalty, takes what has enough in one fold." * in_one)
    )
