"""A comparison of two counts, less their thresholds, by `at-least`: slow, in Python's integers, for make.py.

Bit k of a plane is of row k. The sixteen rows whose result is known are behind the two.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

NUMBERS = (5, -7)
KNOWN = [number for k in range(8) for size in [2 ** (31 * k // 7) - 1] for number in (size, -1 - size)]
ROWS = len(NUMBERS) + len(KNOWN)


class Stream:
    """Numbers from a stream of bytes."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def words(self, count: int, size: int) -> list[int]:
        part = self.data[self.at : self.at + count * size]
        self.at += count * size
        return [int.from_bytes(part[k : k + size], "little") for k in range(0, len(part), size)]


def planes(numbers: list[int]) -> list[int]:
    return [sum((number >> bit & 1) << row for row, number in enumerate(numbers)) for bit in range(32)]


def tree() -> list[tuple[int, list[list[tuple[int, ...]]]]]:
    """Of each layer of ANDs how many planes are opened, and of each group of places which are multiplied.

    A group's planes are the passes of its places but the lowest, the borrows of those but the highest, and
    the pass of the lowest, which the last layer does not need. Each kind lies together for all groups.
    """
    found, left = [], 32
    for joined in (2, 4, 4):
        groups = left // joined
        kinds = 2 * joined - 2 + (groups > 1)
        wanted = [(*range(k, joined - 1), joined - 1 + k) for k in range(joined - 1)]
        wanted += [(*range(joined - 1), 2 * joined - 2)] * (groups > 1)
        found.append(
            (
                kinds * groups,
                [[tuple(kind * groups + g for kind in of) for g in range(groups)] for of in wanted],
            )
        )
        left = groups
    return found


def subsets(wanted: list[list[tuple[int, ...]]]) -> list[tuple[int, ...]]:
    """What is dealt products of: two and more factors of each product, all groups of a kind together."""
    groups = len(wanted[0])
    chosen = {
        tuple(of[0][k] // groups for k in places)
        for of in wanted
        for size in range(2, len(of[0]) + 1)
        for places in itertools.combinations(range(len(of[0])), size)
    }
    ordered = sorted(chosen, key=lambda kinds: (len(kinds), kinds))
    return [tuple(kind * groups + g for kind in kinds) for kinds in ordered for g in range(groups)]


def product(planes_: list[int], places: tuple[int, ...]) -> int:
    return functools.reduce(int.__and__, (planes_[k] for k in places), 2**64 - 1)


def halves(server: Stream, compensator: Stream) -> tuple[bytes, list[Any], list[Any]]:
    """The bound parts of the dealing; and what each side has of every layer."""
    dealt = b""
    free = [server.words(ROWS, 4), compensator.words(ROWS, 4)]
    bound = compensator.words(32, 8)
    both = [
        a ^ b
        for a, b in zip(planes([(a + b) % 2**32 for a, b in zip(*free, strict=True)]), bound, strict=True)
    ]
    sides: tuple[list[Any], list[Any]] = ([(free[0], both)], [(free[1], bound)])
    dealt += b"".join(plane.to_bytes(8, "little") for plane in both)
    for factors, wanted in tree():
        free = [server.words(factors, 8), compensator.words(factors, 8)]
        bound = compensator.words(len(subsets(wanted)), 8)
        a = [x ^ y for x, y in zip(*free, strict=True)]
        both = [product(a, places) ^ b for places, b in zip(subsets(wanted), bound, strict=True)]
        dealt += b"".join(plane.to_bytes(8, "little") for plane in both)
        sides[0].append((free[0], both))
        sides[1].append((free[1], bound))
    return dealt, *sides


def and_layer(layer: int, half: list[Any], factors: list[int], leads: bool) -> Any:
    """What is opened of the factors; and how, with what is opened in all, the products follow."""
    free, bound = half[layer]
    wanted = tree()[layer - 1][1]
    masked = dict(zip(subsets(wanted), bound, strict=True)) | {(k,): a for k, a in enumerate(free)}

    def products(opened: list[int]) -> list[list[int]]:
        found = []
        for of in wanted:
            found.append([])
            for places in of:
                total = product(opened, places) if leads else 0
                for size in range(1, len(places) + 1):
                    for some in itertools.combinations(places, size):
                        others = tuple(k for k in places if k not in some)
                        total ^= masked[some] & product(opened, others)
                found[-1].append(total)
        return found

    return [x ^ a for x, a in zip(factors, free, strict=True)], products


def layers(shares: list[list[int]], sides: tuple[list[Any], list[Any]]) -> tuple[list[list[bytes]], int]:
    """What each side opens in each layer, and the bits."""
    own = [
        [(x + r) % 2**32 for x, r in zip(share, side[0][0], strict=True)]
        for share, side in zip(shares, sides, strict=True)
    ]
    opened = [[b"".join(x.to_bytes(4, "little") for x in words)] for words in own]
    known = [~plane & (2**64 - 1) for plane in planes([(a + b) % 2**32 for a, b in zip(*own, strict=True)])]
    state = []
    for place, side in enumerate(sides):
        r = side[0][1]
        plus = known if place == 0 else [0] * 32
        state.append(
            (
                [0, *(r[k] & known[k] for k in range(31))],
                [0, *(r[k] ^ plus[k] for k in range(31))],
                r[31] ^ plus[31],
            )
        )
    for layer in range(1, 1 + len(tree())):
        joined = (2, 4, 4)[layer - 1]
        groups = len(state[0][0]) // joined
        made = []
        for place, (borrows, passes, _) in enumerate(state):
            factors = [passes[k] for j in range(1, joined) for k in range(j, len(passes), joined)]
            factors += [borrows[k] for j in range(joined - 1) for k in range(j, len(passes), joined)]
            factors += passes[::joined] if groups > 1 else []
            made.append(and_layer(layer, sides[place], factors, place == 0))
            opened[place].append(b"".join(plane.to_bytes(8, "little") for plane in made[-1][0]))
        both = [a ^ b for a, b in zip(made[0][0], made[1][0], strict=True)]
        for place, (borrows, _, top) in enumerate(state):
            found = made[place][1](both)
            highest = borrows[joined - 1 :: joined]
            state[place] = (
                [
                    functools.reduce(int.__xor__, parts)
                    for parts in zip(highest, *found[: joined - 1], strict=True)
                ],
                found[-1],
                top,
            )
    bits = [top ^ borrows[0] for borrows, _, top in state]
    opened[0].append(b"")
    opened[1].append(bits[1].to_bytes(8, "little"))
    return opened, bits[0] ^ bits[1]


def session(streams: list[bytes], masks: bytes, cohorts: int) -> dict[str, Any]:
    """All that is sent, from the streams of server and compensator; `masks` is the sum of the masks."""
    dealt, *sides = halves(*map(Stream, streams))
    check, words = int.from_bytes(masks[:32], "little"), Stream(masks[32:]).words(len(NUMBERS), 4)
    masked = [(x + r) % 2**32 for x, r in zip(NUMBERS, words, strict=True)]
    own = [masked + [x % 2**32 for x in KNOWN], [-r % 2**32 for r in words] + [0] * len(KNOWN)]
    (from_server, from_compensator), bits = layers(own, (sides[0], sides[1]))
    answers = [b"".join(from_compensator[k : k + 2]) for k in range(0, len(from_compensator), 2)]
    total = ((check + cohorts) % 2**256).to_bytes(32, "little")
    return {
        "dealing": dealt.hex(),
        "total": (total + b"".join(x.to_bytes(4, "little") for x in masked)).hex(),
        "server": [
            b"".join(from_server[max(0, k) : k + 2]).hex() for k in range(-1, len(from_server) - 1, 2)
        ],
        "compensator": [(masks[:32] * (k == 0) + answer).hex() for k, answer in enumerate(answers)],
        "bits": [bool(bits >> row & 1) for row in range(ROWS)],
    }
