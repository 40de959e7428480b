"""Dishonest dealers: what is dealt wrong is found at any place, and by guessing as seldom as the docs say."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from comparing_parties import SHUFFLE, Comparison, words_of
from test_comparing import sums_to_grow, words_to_grow

from unpooled.protocol import gates, masking, sacrificing
from unpooled.protocol.circuits import KNOWN, AtLeast, Circuit, circuit
from unpooled.protocol.dealing import KEY_BYTES
from unpooled.protocol.gates import Side
from unpooled.protocol.ring import Ring
from unpooled.protocol.two_party import WrongDealing

COMPARISONS = {
    "at-least": lambda: Comparison("at-least", "z32", words_of(Ring(32), [5, -7, 0])),
    "both-at-least": lambda: Comparison("both-at-least", "z64", words_of(Ring(64), [5, -7, 0, 1])),
    "grows:3": lambda: Comparison("grows:3", "z256", words_to_grow(sums_to_grow(3, 3, 1))),
}
SAME = "products that were dealt twice differ"


def layout(one: Comparison) -> Iterator[tuple[int, int]]:
    """Yield begin and end of each bound part of a dealing: layers, their spares, what compares digests."""
    found = circuit(one.circuit, masking.scheme(one.scheme))
    rows = len(one.words) // found.row_words + len(found.known()[1])
    at = KEY_BYTES
    for layer in sacrificing.with_spares(found.dealt(rows)):
        yield at, at + layer.bound_bytes
        at += layer.bound_bytes


def flipped(dealing: bytes, *bits: int) -> bytes:
    """Invert these bits of a dealing."""
    changed = bytearray(dealing)
    for bit in bits:
        changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


@pytest.mark.parametrize("label", COMPARISONS)
def test_one_wrong_bit_at_any_place_is_found(label: str) -> None:
    """Also one that would change no result: whether it is found does not depend on the sums."""
    one, random = COMPARISONS[label](), np.random.default_rng(4)
    dealing = one.dealt()
    parts = list(layout(one))
    assert parts[-1][1] == len(dealing)
    for first, end in parts:
        for bit in {8 * first, 8 * end - 10, *random.integers(8 * first, 8 * end - 9, 2).tolist()}:
            with pytest.raises(WrongDealing, match=SAME):
                one.run(flipped(dealing, bit))


# Who deals a wrong product, and a spare that is wrong in the same way


class Dealer:
    """A small circuit as a dealer deals it, with one spare for each layer."""

    def __init__(self, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(gates, "_LONG_PLANE", 0)
        random = np.random.default_rng(rows)
        self.layers = AtLeast(Ring(8)).dealt(rows)
        self.server, self.compensator = [], []
        for layer in sacrificing.with_spares(self.layers)[:-1]:
            free = [random.bytes(layer.free_bytes) for _ in range(2)]
            bound = random.bytes(layer.bound_bytes)
            self.server.append((free[0], layer.bound(free, bound)))
            self.compensator.append((free[1], bound))

    def passes(self, changes: dict[int, list[int]]) -> bool:
        """Tell whether both digests are the same if these bits of these bound parts are dealt wrong."""
        server = [
            (free, flipped(bound, *changes.get(number, ())))
            for number, (free, bound) in enumerate(self.server)
        ]
        sides = [
            sacrificing.sacrificed(side, self.layers, half, masking.keystream(SHUFFLE))
            for side, half in zip(Side, (server, self.compensator), strict=True)
        ]
        opened = [next(side) for side in sides]
        digests = []
        for side, other in zip(sides, reversed(opened), strict=True):
            with pytest.raises(StopIteration) as end:
                side.send(other)
            digests.append(end.value.value)
        return bool(digests[0] == digests[1])


@pytest.mark.parametrize(("rows", "columns"), [(60, 128), (120, 192)])
@pytest.mark.parametrize("number", [0, 1, 2], ids=["bits", "first products", "last products"])
def test_one_of_all_guesses_passes(
    monkeypatch: pytest.MonkeyPatch, number: int, rows: int, columns: int
) -> None:
    """One wrong column, and one spare: it is the right one for a single column of all."""
    dealer = Dealer(rows, monkeypatch)
    assert dealer.passes({})
    own, spare = dealer.layers[number], len(dealer.layers) + number
    (of_spares,) = own.spares
    assert of_spares.columns == columns
    # In the last plane of its bound part: the highest bit of a number, or the last product.
    last, end = 8 * own.bound_bytes - (columns - 64), 8 * of_spares.bound_bytes - columns
    passed = [dealer.passes({number: [last + 7], spare: [end + column]}) for column in range(columns)]
    assert sum(passed) == 1


def test_all_columns_wrong_alike_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    dealer = Dealer(60, monkeypatch)
    plane, spare = dealer.layers[2].bound_bytes * 8, dealer.layers[2].spares[0].bound_bytes * 8
    every = {2: list(range(plane - 64, plane)), 5: list(range(spare - 128, spare))}
    assert not dealer.passes(every)


@pytest.mark.parametrize("long", [0, 10_000], ids=["1 spare", "2 spares"])
def test_who_knows_all_but_the_rows_hits_a_known_one(monkeypatch: pytest.MonkeyPatch, long: int) -> None:
    """Each guess counts as right: the row is one of those that are asked for in n of n + 64 cases."""
    monkeypatch.setattr(gates, "_LONG_PLANE", long)
    numbers = [5, -7, 0, 9, -1, 70]
    one = Comparison("both-at-least", "z32", words_of(Ring(32), numbers + numbers))
    found: Circuit = circuit("both-at-least", masking.scheme("z32"))
    rows = len(numbers) + KNOWN
    layers, parts, dealing = found.dealt(rows), list(layout(one)), one.dealt()
    secret = masking.keystream(masking.derived(one.shuffle, one.context))
    shuffled = sacrificing.shuffled(rows, secret)
    spares = len(layers[0].spares)
    wide = [sacrificing.shuffled(layers[0].spares[0].columns, secret) for _ in range(spares)]
    order = [sacrificing.shuffled(layers[-1].spares[0].columns, secret) for _ in range(spares)]
    assert len(wide[0]) > len(order[0])
    changed = []
    for column in range(rows):
        wrong = [8 * parts[len(layers) - 1][0] + column]
        wrong += [8 * parts[-1 - spares + k][0] + int(order[k][column]) for k in range(spares)]
        try:
            bits = one.run(flipped(dealing, *wrong))[:, 0]
        except WrongDealing as error:
            assert "known came out wrong" in str(error)
            assert shuffled[column] >= len(numbers)
        else:
            (row,) = np.flatnonzero(bits != (np.array(numbers) >= 0))
            assert row == shuffled[column]
            changed.append(row)
    assert sorted(changed) == list(range(len(numbers)))
