"""Sets of people whose sums this cohort's studies used, as keyed hashes, beside the studies.

    unpooled-people       the hashes, and which of them each study's sums were over
    unpooled-people.key   the key: with both files one can ask whether a person was in a study

They lie in the folder that holds the folders of the studies, and stay when one of these is removed: two
results can be subtracted from one another for as long as anybody has them.
"""

from __future__ import annotations

import hmac
import os
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from filelock import FileLock

from unpooled.errors import CodecError
from unpooled.plan.common_options import FEWEST_AT_A_LEVEL
from unpooled.protocol import codec
from unpooled_client.state.events import FewApart
from unpooled_client.state.files import StateError, write_atomically

_KEY_BYTES = 32


@dataclass(frozen=True, eq=False)
class Whose:
    """The people of one study at one cohort, and the sets of them that its sums are over."""

    study: str
    """Its number and the cohort's name: no set of the same is another study's."""
    title: str
    unit: str
    """PEOPLE or ROWS."""
    ids: Sequence[bytes]
    """IDs by which a person, or a row, is known in any study."""
    sets: Mapping[str, np.ndarray]
    """bool (n,) by who they are, in words."""


@dataclass(frozen=True)
class _Set:
    """People that a sum was over, as compressed bits, the first person's the lowest, and the words for the
    set.
    """

    name: ClassVar[str] = "set"

    who: tuple[str, ...]
    bits: bytes


@dataclass(frozen=True)
class _Ran:
    """A study that has asked for sums."""

    name: ClassVar[str] = "ran"

    study: str
    title: str
    sets: tuple[_Set, ...]

    def pairs(self) -> Iterator[tuple[str, int]]:
        """Each set as words and bits."""
        for each in self.sets:
            bits = int.from_bytes(zlib.decompress(each.bits), "little")
            yield from ((who, bits) for who in each.who)


@dataclass(frozen=True, eq=False)
class _Kept:
    """The content of the file."""

    name: ClassVar[str] = "people"

    hashes: np.ndarray
    """uint64 (n,): of everybody in any study, in the order in which they came."""
    ran: tuple[_Ran, ...]


class People:
    """The record in one folder. Commands of several studies may use it at once."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "unpooled-people"
        self.key = folder / "unpooled-people.key"

    def few_apart(self, whose: Whose) -> tuple[FewApart, ...]:
        """The earlier studies from whose people these differ by few, each by its closest set; of a study that
        was entered none."""
        kept = self._load()
        if any(ran.study == whose.study for ran in kept.ran):
            return ()
        _, new = self._placed(kept, whose)
        return _few_apart(kept, whose, new)

    def enter(self, whose: Whose, told: Collection[FewApart]) -> tuple[FewApart, ...]:
        """Keep these sets, unless they are few apart from others of which nobody was `told`: gives all such.

        A study has the sets with which it was last entered.
        """
        # Read, compared and written under one lock: two studies may begin at the same moment.
        with FileLock(self.path.with_suffix(".lock")):
            kept = self._load()
            hashes, new = self._placed(kept, whose)
            found = _few_apart(kept, whose, new)
            if set(found) <= set(told):
                ran = _Ran(whose.study, whose.title, tuple(_sets(new)))
                others = [each for each in kept.ran if each.study != whose.study]
                data = codec.encode(_Kept(hashes, (*others, ran)))
                write_atomically(self.path, data, private=True)
                return ()
        return found

    def _load(self) -> _Kept:
        if not self.path.exists():
            return _Kept(np.zeros(0, np.uint64), ())
        if not self.key.exists():
            raise StateError(
                f"{self.key} is lost, without which {self.path} says nothing. Restore it from a backup; or "
                "remove the other too, and nothing is compared with earlier studies."
            )
        try:
            found: _Kept = codec.decode(self.path.read_bytes(), [_Kept, _Ran, _Set])
        except CodecError as error:
            raise StateError(
                f"{self.path} cannot be read: {error}. It says whose sums this cohort's studies were about. "
                "Restore it from a backup; or remove it, and nothing is compared with earlier studies."
            ) from error
        return found

    def _placed(self, kept: _Kept, whose: Whose) -> tuple[np.ndarray, set[tuple[str, int]]]:
        """The hashes of all, new ones behind the others; and the sets, as words and bits of these."""
        own = self._hashes(whose)
        hashes = np.concatenate([kept.hashes, np.setdiff1d(own, kept.hashes)])
        order = np.argsort(hashes)
        places = order[np.searchsorted(hashes, own, sorter=order)]
        bits: Callable[[np.ndarray], int] = lambda members: _bits(places[members], len(hashes))  # noqa: E731
        return hashes, {(who, bits(members)) for who, members in whose.sets.items()}

    def _hashes(self, whose: Whose) -> np.ndarray:
        """64 bits of HMAC-SHA256 for each, uint64 (n,); one that is there again counts as another."""
        key, times = self._secret(), Counter[bytes]()
        found = np.empty(len(whose.ids), "<u8")
        for place, identity in enumerate(whose.ids):
            said = b"%s\0%d\0%s" % (whose.unit.encode(), times[identity], identity)
            times[identity] += 1
            # 64 bits: among a million people two are alike by chance in one of thirty million records.
            found[place] = int.from_bytes(hmac.digest(key, said, "sha256")[:8], "little")
        return found

    def _secret(self) -> bytes:
        if not self.key.exists():
            write_atomically(self.key, os.urandom(_KEY_BYTES), private=True)
        return self.key.read_bytes()


def _bits(places: np.ndarray, size: int) -> int:
    inside = np.zeros(size, bool)
    inside[places] = True
    return int.from_bytes(np.packbits(inside, bitorder="little").tobytes(), "little")


def _sets(pairs: Collection[tuple[str, int]]) -> Iterator[_Set]:
    """Each different set once."""
    by_bits = defaultdict(list)
    for who, bits in sorted(pairs):
        by_bits[bits].append(who)
    for bits, names in by_bits.items():
        data = bits.to_bytes(-(-bits.bit_length() // 8), "little")
        yield _Set(tuple(names), zlib.compress(data))


def _few_apart(kept: _Kept, whose: Whose, new: set[tuple[str, int]]) -> tuple[FewApart, ...]:
    """Find the earlier studies few people apart; a set summed under the same words before tells nothing new,
    and is not compared.
    """
    earlier = [(ran, set(ran.pairs())) for ran in kept.ran]
    fresh = new.difference(*(pairs for _, pairs in earlier))
    found = (_closest(ran, pairs, whose, fresh) for ran, pairs in earlier if ran.study != whose.study)
    return tuple(each for each in found if each is not None)


def _closest(
    ran: _Ran, earlier: set[tuple[str, int]], whose: Whose, fresh: set[tuple[str, int]]
) -> FewApart | None:
    """The two sets that differ by the fewest, of those that differ by few and have more in common."""

    def told(who: str, mine: int, other: str, theirs: int) -> FewApart:
        only = (mine & ~theirs).bit_count(), (theirs & ~mine).bit_count()
        return FewApart(whose.title, who, ran.title, other, *only, whose.unit)

    few = [
        told(who, mine, other, theirs)
        for who, mine in fresh
        for other, theirs in earlier
        if 0 < (apart := (mine ^ theirs).bit_count()) < FEWEST_AT_A_LEVEL
        # Small sets with little in common differ by few as well, but then by nearly all of both.
        and apart < (mine & theirs).bit_count()
    ]
    return min(few, key=lambda each: (each.apart, each.whose, each.than), default=None)
