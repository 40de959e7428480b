"""A comparison of two counts, less their thresholds, by `at-least`: slow, in Python's integers, for make.py.

Bit k of a plane is of the k-th row in the secret order. The 64 rows whose result is known are behind the two.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
from typing import Any

NUMBERS = (5, -7)
KNOWN = [number for k in range(32) for size in [2**k - 1] for number in (size, -1 - size)]
ROWS = len(NUMBERS) + len(KNOWN)
PLANE = 16  # bytes of 66 bits, in whole words of 64
ALL = 2 ** (8 * PLANE) - 1
SPARE = PLANE + 8
SPARES = 2
PRIME = 2**255 - 19


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
    """Return for each layer of ANDs how many planes are opened, and for each group of places which are
    multiplied.

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
    """Return the sets of planes whose products are dealt: two and more factors of each product, all groups of
    a kind together.
    """
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
    return functools.reduce(int.__and__, (planes_[k] for k in places), ALL << 64 | 2**64 - 1)


def packed(planes_: list[int], size: int) -> bytes:
    return b"".join(plane.to_bytes(size, "little") for plane in planes_)


def spare_layers() -> list[tuple[int, list[tuple[int, ...]]]]:
    """Return for all spares, in order, how many planes they have, and of which of them the products are
    dealt.
    """
    of_bits = (64, [(k, 32 + k) for k in range(32)])
    return [
        kind for kind in (of_bits, *((n, subsets(wanted)) for n, wanted in tree())) for _ in range(SPARES)
    ]


def halves(server: Stream, compensator: Stream) -> tuple[bytes, list[Any], list[Any]]:
    """The bound parts of the dealing; and what each side has of every layer, of spares, and of the end."""
    free = [server.words(ROWS, 4), compensator.words(ROWS, 4)]
    bound = compensator.words(32, PLANE)
    both = [
        a ^ b
        for a, b in zip(planes([(a + b) % 2**32 for a, b in zip(*free, strict=True)]), bound, strict=True)
    ]
    sides: tuple[list[Any], list[Any]] = ([(free[0], both)], [(free[1], bound)])
    dealt = packed(both, PLANE)
    products_of = [(factors, subsets(wanted), PLANE) for factors, wanted in tree()]
    products_of += [(factors, wanted, SPARE) for factors, wanted in spare_layers()]
    for factors, wanted, size in products_of:
        free = [server.words(factors, size), compensator.words(factors, size)]
        bound = compensator.words(len(wanted), size)
        a = [x ^ y for x, y in zip(*free, strict=True)]
        both = [product(a, places) ^ b for places, b in zip(wanted, bound, strict=True)]
        dealt += packed(both, size)
        sides[0].append((free[0], both))
        sides[1].append((free[1], bound))
    [a], [b], [w] = server.words(1, 32), compensator.words(1, 32), compensator.words(1, 32)
    u = (a * b - w) % PRIME
    sides[0].append((a, u))
    sides[1].append((b, w))
    return dealt + u.to_bytes(32, "little"), *sides


def product_shares(
    opened: list[int], masked: dict[tuple[int, ...], int], places: tuple[int, ...], leads: bool
) -> int:
    total = product(opened, places) if leads else 0
    for size in range(1, len(places) + 1):
        for some in itertools.combinations(places, size):
            others = tuple(k for k in places if k not in some)
            total ^= masked[some] & product(opened, others)
    return total


def claims(side: int, half: list[Any]) -> list[tuple[list[int], list[int]]]:
    """Return each layer's factors, and what their products should be."""
    words, bits = half[0]
    carries = [bit ^ own for bit, own in zip(bits, planes(words), strict=True)]
    pair = [[0, *bits[:-1]], [0, *carries[:-1]]]
    products = [carry ^ below for carry, below in zip(carries, pair[1], strict=True)]
    return [(pair[side] + pair[1 - side], products), *half[1 : 1 + len(tree())]]


def sacrifice(sides: list[list[Any]], secret: Stream) -> tuple[list[bytes], list[bytes]]:
    """Return what each side opens of the spares, and its digest."""
    opened, digests = [b"", b""], [hashlib.sha256(), hashlib.sha256()]
    claimed = [[claim for claim in claims(k, sides[k]) for _ in range(SPARES)] for k in range(2)]
    orders = [ordered(secret, 8 * SPARE) for _ in range(SPARES)]
    for number, (_, wanted) in enumerate(spare_layers()):
        order = orders[number % SPARES]
        halves_of = [half[1 + len(tree()) + number] for half in sides]
        spares = [[[moved(plane, order) for plane in part] for part in half] for half in halves_of]
        own = [[x ^ a for x, a in zip(claimed[k][number][0], spares[k][0], strict=True)] for k in range(2)]
        both = [x ^ y for x, y in zip(*own, strict=True)]
        for k in range(2):
            opened[k] += packed(own[k], SPARE)
            masked = dict(zip(wanted, spares[k][1], strict=True))
            masked |= {(place,): a for place, a in enumerate(spares[k][0])}
            found = [product_shares(both, masked, places, k == 0) for places in wanted]
            differences = [x ^ y for x, y in zip(found, claimed[k][number][1], strict=True)]
            digests[k].update(packed(differences, SPARE))
    return opened, [digest.digest() for digest in digests]


def ordered(secret: Stream, count: int) -> list[int]:
    numbers = secret.words(count, 8)
    return sorted(range(count), key=lambda k: numbers[k])


def moved(plane: int, order: list[int]) -> int:
    return sum((plane >> place & 1) << k for k, place in enumerate(order))


def and_layer(layer: int, half: list[Any], factors: list[int], leads: bool) -> Any:
    """Return what is opened of the factors, and the function that makes the products from what is opened in
    all.
    """
    free, bound = half[layer]
    wanted = tree()[layer - 1][1]
    masked = dict(zip(subsets(wanted), bound, strict=True)) | {(k,): a for k, a in enumerate(free)}

    def products(opened: list[int]) -> list[list[int]]:
        return [[product_shares(opened, masked, places, leads) for places in of] for of in wanted]

    return [x ^ a for x, a in zip(factors, free, strict=True)], products


def layers(shares: list[list[int]], sides: tuple[list[Any], list[Any]]) -> tuple[list[list[bytes]], int]:
    """Return what each side opens in each layer, and the bits."""
    own = [
        [(x + r) % 2**32 for x, r in zip(share, side[0][0], strict=True)]
        for share, side in zip(shares, sides, strict=True)
    ]
    opened = [[b"".join(x.to_bytes(4, "little") for x in words)] for words in own]
    known = [~plane & ALL for plane in planes([(a + b) % 2**32 for a, b in zip(*own, strict=True)])]
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
            opened[place].append(packed(made[-1][0], PLANE))
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
    opened[1].append(bits[1].to_bytes(PLANE, "little"))
    return opened, bits[0] ^ bits[1]


def session(streams: list[bytes], masks: bytes, cohorts: int, shuffle: bytes) -> dict[str, Any]:
    """All that is sent, from the streams of server, compensator, and order; `masks` is the sum of masks."""
    dealt, *sides = halves(*map(Stream, streams))
    secret = Stream(shuffle)
    order = ordered(secret, ROWS)
    check, words = int.from_bytes(masks[:32], "little"), Stream(masks[64:]).words(len(NUMBERS), 4)
    masked = [(x + r) % 2**32 for x, r in zip(NUMBERS, words, strict=True)]
    own = [masked + [x % 2**32 for x in KNOWN], [-r % 2**32 for r in words] + [0] * len(KNOWN)]
    shares = [[each[k] for k in order] for each in own]
    (from_server, from_compensator), bits = layers(shares, (sides[0], sides[1]))
    spares, digests = sacrifice(sides, secret)
    (a, _), (b, w) = (half[-1] for half in sides)
    asked = (int.from_bytes(digests[0], "little") - a) % PRIME
    told = (b * (asked - int.from_bytes(digests[1], "little")) + w) % PRIME
    heads = [[spares[0], asked.to_bytes(32, "little")], [masks[:64] + spares[1], told.to_bytes(32, "little")]]
    messages = [
        [b"".join(from_server[max(0, k) : k + 2]) for k in range(-1, len(from_server) - 1, 2)],
        [b"".join(from_compensator[k : k + 2]) for k in range(0, len(from_compensator), 2)],
    ]
    sent = [
        [(head + message).hex() for head, message in itertools.zip_longest(*of, fillvalue=b"")]
        for of in zip(heads, messages, strict=True)
    ]
    total = ((check + cohorts) % 2**256).to_bytes(32, "little") + masks[32:64]  # the second check is 0
    told_bits = dict(zip(order, (bool(bits >> k & 1) for k in range(ROWS)), strict=True))
    return {
        "dealing": dealt.hex(),
        "total": (total + packed(masked, 4)).hex(),
        "server": sent[0],
        "compensator": sent[1],
        "bits": [told_bits[row] for row in range(ROWS)],
    }
