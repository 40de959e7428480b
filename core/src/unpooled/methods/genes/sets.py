"""Set lists, annotations and masks, as regenie's step 2 reads them.

ValueError says what is wrong with a text, and where.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from unpooled.plan.options import is_word

MOST_SETS, MOST_MASKS = 2_000, 20
LEAST_WEIGHT, MOST_WEIGHT = 1e-6, 1e6
"""Smallest weight other than 0, and the largest: products of others are not told from 0, or from infinity."""

NO_MASK = "set"
"""Name of the mask of a set that has all variants of its line."""


@dataclass(frozen=True)
class VariantSet:
    """A set of variants, such as those of a gene, or of a gene that are in a mask."""

    title: str
    chromosome: str
    position: int
    variants: tuple[str, ...]
    """Their IDs, each once."""
    weights: tuple[float, ...] = ()
    """The weight of each; empty where they have none of their own."""
    mask: str = NO_MASK


@dataclass(frozen=True)
class Annotated:
    """A variant's annotation in a set."""

    annotation: str
    weight: float | None
    """None where the file has no weights."""


_LINE = re.compile(r"(\S+)\s+(?:chr)?([0-9A-Za-z]{1,9})\s+(\d{1,10})\s+(\S+)")


@lru_cache(maxsize=8)
def read_sets(text: str) -> tuple[VariantSet, ...]:
    """Parse a set list: lines of a name, a chromosome, a position and IDs with commas between them."""
    found: dict[str, VariantSet] = {}
    for number, line in _lines(text):
        parts = _LINE.fullmatch(line)
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


@lru_cache(maxsize=8)
def read_annotations(text: str) -> dict[tuple[str, str], Annotated]:
    """Parse annotations: lines of a variant, a set, an annotation, and in all of them a weight or in none.

    Returns what is said of each set's title and variant.
    """
    found: dict[tuple[str, str], Annotated] = {}
    width = 0
    for number, line in _lines(text):
        words = line.split()
        if len(words) not in (3, 4):
            raise ValueError(
                f"line {number:,} has {len(words)} columns, not three, a variant, a set and an annotation, "
                "or four, with a weight behind these"
            )
        width = width or len(words)
        if len(words) != width:
            raise ValueError(f"line {number:,} has {len(words)} columns, those before have {width}")
        variant, title, annotation = words[:3]
        for column, word in enumerate(words[:3], 1):
            if not is_word(word) or (column == 3 and "," in word):
                raise ValueError(
                    f"column {column} of line {number:,} is longer than 200 letters, has one that cannot be "
                    "shown, or is an annotation with a comma"
                )
        if (title, variant) in found:
            raise ValueError(
                f"line {number:,} is about the same variant and set as one before: {variant}, {title}"
            )
        weight = _weight(words[3], number) if width == 4 else None
        found[title, variant] = Annotated(annotation, weight)
    if not found:
        raise ValueError("no line has an annotation")
    return found


def _weight(word: str, line: int) -> float:
    try:
        found = float(word)
    except ValueError:
        found = math.nan
    if not (found == 0 or LEAST_WEIGHT <= found <= MOST_WEIGHT):
        raise ValueError(
            f"column 4 of line {line:,} is no weight, 0 or a number from {LEAST_WEIGHT:f} to "
            f"{MOST_WEIGHT:,.0f}: {word[:50]}. Domains, which regenie reads there, are to be left out"
        )
    return found


@lru_cache(maxsize=8)
def read_masks(text: str) -> dict[str, tuple[str, ...]]:
    """Parse masks: lines of a name, and annotations with commas between them; those of each mask."""
    found: dict[str, tuple[str, ...]] = {}
    for number, line in _lines(text):
        words = line.split()
        names = tuple(dict.fromkeys(filter(None, words[1].split(",")))) if len(words) == 2 else ()
        if not names or not all(map(is_word, (words[0], *names))):
            raise ValueError(f"line {number:,} is not a name, and annotations with commas between them")
        if words[0] in found:
            raise ValueError(f"line {number:,} is about the same mask as one before: {words[0]}")
        found[words[0]] = names
    if not 0 < len(found) <= MOST_MASKS:
        raise ValueError(f"there are 1 to {MOST_MASKS} masks, not {len(found):,}")
    return found


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers from 1."""
    return ((number, line.strip()) for number, line in enumerate(text.splitlines(), 1) if line.strip())


@lru_cache(maxsize=8)
def masked_sets(sets: str, annotations: str, masks: str) -> tuple[VariantSet, ...]:
    """The sets of a set list, one for each mask, in the order of the list, then of the masks.

    Variants of weight 0 are in none.
    """
    annotated, named = read_annotations(annotations), read_masks(masks)
    known = {each.annotation for each in annotated.values()}
    for mask, wanted in named.items():
        if lacking := sorted(set(wanted) - known):
            raise ValueError(f"no variant has the annotation {lacking[0]}, which the mask {mask} names")
    listed = read_sets(sets)
    if len(listed) * len(named) > MOST_SETS:
        raise ValueError(
            f"{len(listed):,} sets with {len(named)} masks each are more than {MOST_SETS:,}: leave sets or "
            "masks out, or have several studies"
        )
    found = tuple(
        _in_mask(each, annotated, mask, wanted) for each in listed for mask, wanted in named.items()
    )
    if not any(each.variants for each in found):
        raise ValueError("no set has a variant in a mask: the annotations name other sets or other variants")
    (title, times), *_ = Counter(each.title for each in found).most_common(1)
    if times > 1:
        raise ValueError(f"two sets with their masks would both be called {title}")
    return found


def _in_mask(
    listed: VariantSet, annotated: dict[tuple[str, str], Annotated], mask: str, wanted: tuple[str, ...]
) -> VariantSet:
    found = ((name, annotated.get((listed.title, name))) for name in listed.variants)
    inside = [
        (name, each.weight)
        for name, each in found
        if each is not None and each.annotation in wanted and each.weight != 0
    ]
    weights = tuple(weight for _, weight in inside if weight is not None)
    names = tuple(name for name, _ in inside)
    return VariantSet(f"{listed.title}.{mask}", listed.chromosome, listed.position, names, weights, mask)
