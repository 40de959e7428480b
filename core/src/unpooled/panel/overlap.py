"""Overlap of the cohorts' lists of variants, and why one may stand apart from the rest.

One wrong file would empty the panel of everybody. So lists are compared before a study is ready: where those
of most cohorts fit together, a list that does not is that cohort's alone to mend.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from unpooled.memory.spool import forget, slices
from unpooled.panel import builds
from unpooled.panel.agreement import align, reconcile, reconciled
from unpooled.panel.alleles import strand
from unpooled.panel.chromosomes import HUMAN
from unpooled.panel.panel import Panel, between_cuts, place_cuts, places
from unpooled.panel.partition import number_of_parts
from unpooled.panel.place_names import BY_PLACE

ENOUGH = 0.5
"""Lists fit together if they share this part of the shorter one."""

_LOOKED_AT = 20_000
"""Variants of the shorter list that are looked up in the other one to find the cause."""


class Cause(StrEnum):
    """Why one list of variants may have little in common with others."""

    message: str
    remedy: str

    def __new__(cls, code: str, message: str, remedy: str) -> Cause:
        member = str.__new__(cls, code)
        member._value_ = code
        member.message, member.remedy = message, remedy
        return member

    BUILD = (
        "build",
        "IDs agree and positions do not: they are of another genome build.",
        "Take the files in the study's build, or lift these over to it.",
    )
    COLUMNS = (
        "columns",
        "IDs agree and all positions are 0: the columns of positions and centimorgans may be swapped.",
        "Swap the two columns.",
    )
    CHROMOSOMES = (
        "chromosomes",
        "Positions agree and chromosomes do not: they are named or numbered in another way.",
        "Name the chromosomes 1 to 22, X, Y, XY and MT.",
    )
    LETTERS = (
        "letters",
        "IDs agree but for small and capital letters.",
        "Write the IDs as the other cohorts do, such as rs123.",
    )
    STYLE = (
        "style",
        "Places agree and IDs do not: the variants are named in another way.",
        "Name the variants as the other cohorts do, all by rs number, for instance; or ask the coordinator "
        "for a plan that matches variants by place.",
    )
    ALLELES = (
        "alleles",
        "IDs and places agree and alleles do not: they are written in another way, such as 1 and 2.",
        "Write the alleles as bases.",
    )
    OTHER = (
        "other",
        "Neither IDs nor places agree: the files may be of another array or of another genome build.",
        "Look whether these are the right files, and in which build and style the others have theirs.",
    )


@dataclass(frozen=True)
class Overlap:
    """One cohort's list beside those of the others."""

    own: int
    """Variants in its list."""
    others: int
    """Variants that the others share."""
    shared: int
    """Number of these that its own list has as well."""
    cause: Cause | None = None
    """The likely one; None for a list that fits."""
    build: str = ""
    """The genome build that its positions look like, if that tells them from the others'."""
    others_build: str = ""

    @property
    def is_apart(self) -> bool:
        """True if this list is the one to be mended."""
        return self.cause is not None

    def numbers(self, whose: str = "the other cohorts", what: str = "share") -> str:
        """`It has 0 of the 59,812 variants that Munich and Tartu share, among 60,000 of its own.`"""
        return (
            f"It has {self.shared:,} of the {self.others:,} variants that {whose} {what}, "
            f"among {self.own:,} of its own."
        )

    @property
    def why(self) -> str:
        """The likely cause in words; empty without one."""
        if self.cause is None:
            return ""
        if not self.build:
            return self.cause.message
        builds = f"The positions look like {self.build}, the others' like {self.others_build}."
        return f"{self.cause.message} {builds}"

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "cause": self.cause and self.cause.value}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Overlap:
        """The overlap in an object of JSON; ValueError, LookupError or TypeError for any other value."""
        own, others, shared = (int(values[name]) for name in ("own", "others", "shared"))
        causes: dict[str | None, Cause | None] = {None: None, **{cause.value: cause for cause in Cause}}
        build, others_build = values["build"], values["others_build"]
        if not {build, others_build} <= {"", *builds.ENDS} or min(own, others, shared) < 0:
            raise ValueError("this is no overlap of two lists")
        return cls(own, others, shared, causes[values["cause"]], build, others_build)


@dataclass(frozen=True)
class Comparison:
    """The lists of some cohorts beside one another."""

    agreed: int
    """Variants that all of them share."""
    of_cohorts: dict[str, Overlap]
    said: tuple[str, ...] = ()
    """The problem, in words for the coordinator; empty if the lists fit together."""


def compare(
    lists: Mapping[str, Panel], agreed: int, cohorts: int, autosomes: int, *, by_place: bool = False
) -> Comparison:
    """Compare the lists of two or more cohorts, of which `agreed` variants are common to all.

    `cohorts` is how many there will be: a list is apart only if more than half of *these* fit together.
    `by_place`: the variants are called after their place and alleles already.
    """
    lists = {name: own.usable for name, own in lists.items()}
    if agreed >= ENOUGH * min(map(len, lists.values())):
        return Comparison(agreed, {name: Overlap(len(own), agreed, agreed) for name, own in lists.items()})

    shared = _shared_by_pairs(lists)
    together = _largest_group(lists, shared)
    if 2 * len(together) <= cohorts:
        overlaps = {name: Overlap(len(own), agreed, agreed) for name, own in lists.items()}
        return Comparison(agreed, overlaps, (*_pairs_in_words(lists, shared), *_proposed(lists, by_place)))

    rest = reconcile({name: lists[name] for name in together}).panel
    overlaps = {
        name: Overlap(len(own), len(rest), len(rest))
        if name in together
        else beside(own, rest, autosomes, by_place=by_place)
        for name, own in lists.items()
    }
    said = [
        f"{name}: {overlap.numbers(named(together))} {overlap.why}"
        for name, overlap in sorted(overlaps.items())
        if overlap.is_apart
    ]
    is_style = any(overlap.cause is Cause.STYLE for overlap in overlaps.values())
    return Comparison(agreed, overlaps, (*said, *(_proposed(lists, by_place) if is_style else ())))


def _proposed(lists: Mapping[str, Panel], by_place: bool) -> tuple[str, ...]:
    """Say what the coordinator can do if all lists have the places of most variants but not their IDs."""
    shared = 0 if by_place else _shared_places(list(lists.values()))
    if by_place or shared < ENOUGH * min(map(len, lists.values())):
        return ()
    return (
        f"By chromosome and position all share {shared:,}. The coordinator can duplicate the study "
        f"under Plan and choose “{BY_PLACE}”: the IDs need not agree then.",
    )


def _shared_places(panels: Sequence[Panel]) -> int:
    """Count the places that all of the lists have."""
    cuts, shared = place_cuts(panels, number_of_parts(sum(map(len, panels)))), 0
    for here in zip(*(between_cuts(panel, cuts) for panel in panels), strict=True):
        parts = [_places(panel.take(rows)) for panel, rows in zip(panels, here, strict=True)]
        shared += len(functools.reduce(np.intersect1d, parts))
    return shared


def beside(own: Panel, rest: Panel, autosomes: int, *, by_place: bool = False) -> Overlap:
    """A list that stands apart beside what the others share, or a given list; with the likely cause."""
    shared = int(np.count_nonzero(align(rest, own, np.ones(len(own), bool)).index >= 0))
    build, others_build = _builds(own, rest) if autosomes == HUMAN else ("", "")
    cause = _cause(own, rest)
    if by_place and cause is Cause.STYLE:  # the names have the alleles, and only these can differ
        cause = Cause.ALLELES
    return Overlap(len(own), len(rest), shared, cause, build, others_build)


def _shared_by_pairs(lists: Mapping[str, Panel]) -> dict[frozenset[str], int]:
    """Count the variants that every two cohorts share. Equal lists are looked at once."""
    known: dict[frozenset[bytes], int] = {}
    found = {}
    for one, other in itertools.combinations(lists, 2):
        key = frozenset((lists[one].digest, lists[other].digest))
        if key not in known:
            pair = {one: lists[one], other: lists[other]}
            known[key] = len(lists[one]) if len(key) == 1 else _agreed(pair)
        found[frozenset((one, other))] = known[key]
    return found


def _agreed(pair: Mapping[str, Panel]) -> int:
    return sum(len(part.panel) for part in reconciled(pair))


def _largest_group(lists: Mapping[str, Panel], shared: Mapping[frozenset[str], int]) -> set[str]:
    """The most cohorts of which each fits together with one of them, the first by name."""

    def fits(one: str, other: str) -> bool:
        return shared[frozenset((one, other))] >= ENOUGH * min(len(lists[one]), len(lists[other]))

    best: set[str] = set()
    for name in sorted(lists):
        group = {name} | {other for other in lists if other != name and fits(name, other)}
        best = max(best, group, key=len)
    return best


def _pairs_in_words(lists: Mapping[str, Panel], shared: Mapping[frozenset[str], int]) -> tuple[str, ...]:
    return tuple(
        f"{one} and {other} share {shared[frozenset((one, other))]:,} variants, "
        f"of {len(lists[one]):,} and {len(lists[other]):,}."
        for one, other in itertools.combinations(sorted(lists), 2)
    )


def _cause(own: Panel, rest: Panel) -> Cause:
    few, many = (own, rest) if len(own) <= len(rest) else (rest, own)
    if not len(few):
        return Cause.OTHER
    # A sample, spread evenly over the genome, is enough to tell a likely cause.
    few = few.take(np.unique(np.linspace(0, len(few) - 1, min(len(few), _LOOKED_AT)).astype(np.int64)))

    at = _found(few, many, lambda panel: np.asarray(panel.name))
    if _most(at >= 0):
        return _cause_under_one_id(few, many, at, own)
    if _most(_found(few, many, lambda panel: np.char.lower(np.asarray(panel.name))) >= 0):
        return Cause.LETTERS
    if _most(_found(few, many, _places) >= 0):
        return Cause.STYLE
    if _most(_found(few, many, lambda panel: panel.position) >= 0):
        return Cause.CHROMOSOMES
    return Cause.OTHER


def _found(few: Panel, many: Panel, what: Callable[[Panel], np.ndarray]) -> np.ndarray:
    """Find where a long list first has a variant equal by `what` to each of a few: its index, -1 if none."""
    wanted, which = np.unique(what(few), return_inverse=True)
    found = np.full(len(wanted), -1)
    for rows in slices(len(many)):
        there = what(many.take(rows))
        at = np.searchsorted(wanted, there).clip(max=len(wanted) - 1)
        like = np.flatnonzero(wanted[at] == there)[::-1]  # so that the first is what remains
        new = like[found[at[like]] < 0]
        found[at[new]] = rows.start + new
        forget(*many.columns)
    return found[which]


def _cause_under_one_id(few: Panel, many: Panel, at: np.ndarray, own: Panel) -> Cause:
    """Why lists with the same IDs have little in common; `at`: where the few are, as `_found` says."""
    same, found = at >= 0, many.take(at)
    if not _most((found.position == few.position)[same]):
        return Cause.BUILD if own.position.any() else Cause.COLUMNS
    if not _most((found.chromosome == few.chromosome)[same]):
        return Cause.CHROMOSOMES
    fit = [bool(strand(few.pair(k), found.pair(k))) for k in np.flatnonzero(same).tolist()]
    return Cause.OTHER if _most(np.array(fit)) else Cause.ALLELES


def _most(which: np.ndarray) -> bool:
    return bool(which.mean() >= ENOUGH) if len(which) else False


def _places(panel: Panel) -> np.ndarray:
    return places(panel.chromosome, panel.position)


def _builds(own: Panel, rest: Panel) -> tuple[str, str]:
    """The builds that two lists look like, if they can be told and differ; else two empty texts."""
    first, second = _build(own), _build(rest)
    return (first, second) if first and second and first != second else ("", "")


def _build(panel: Panel) -> str:
    is_beyond = dict.fromkeys(builds.ENDS, False)
    for rows in slices(len(panel)):
        for name in builds.ENDS:
            beyond = builds.beyond(panel.chromosome[rows], panel.position[rows], name)
            is_beyond[name] |= bool(beyond.any())
    return builds.guessed(is_beyond) or ""


def named(names: Collection[str]) -> str:
    """Some cohorts by name: `Munich and Tartu`."""
    *first, last = sorted(names)
    return f"{', '.join(first)} and {last}" if first else last
