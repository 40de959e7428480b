"""A server that wants to read sums that are to be compared. Without a guard of the compensator's it does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from unpooled.protocol import masking
from unpooled.protocol.masking import MaskContext
from unpooled_compensator.store import Store

from .conftest import Caller, Federation
from .test_comparisons import Side, as_release

SUMS = np.array([0, 1, 17, 63, 64, 100, 126, 127] * 4)
BITS = 7


class NotAnswered(Exception):
    """The compensator refuses, or what it gives is of no use."""


def search(caller: Caller, side: Side) -> np.ndarray:
    """Compare one round's sums again and again, each time with other numbers: a bit of each a session."""
    found = np.zeros(len(side.sums), np.int64)
    for bit in reversed(range(BITS)):
        asked = found + (1 << bit)
        try:
            at_least, _ = replace(side, sums=side.sums - asked).compare(caller)
        except AssertionError as refused:
            raise NotAnswered from refused
        found += at_least.astype(np.int64) << bit
    return found


def release(caller: Caller, side: Side) -> np.ndarray:
    """Compare a round as it should be, and then ask for the sum of its masks as well."""
    side.compare(caller)
    asked, scheme = side.request, masking.scheme(side.request.scheme)
    answer = caller.release(as_release(asked))
    if answer.status_code != 200:
        raise NotAnswered
    masks = scheme.from_bytes(answer.content, asked.words)
    total = scheme.subtract(side.masked, masks)
    if not scheme.has_check(total, len(asked.uploads)):
        raise NotAnswered
    return scheme.decode_integers(total)[scheme.check_words : -masking.THIRD_WORDS]


def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store takes whatever comes for a round, and for a turn, to be what came first."""
    monkeypatch.setattr(Store, "add_release", lambda self, study, round_, request, enrolment: request)
    monkeypatch.setattr(Store, "add_turn", lambda self, study, round_, number, openings: openings)


def one_domain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Masks of what is compared are those of a release: at the cohorts as at the compensator."""

    def context_of(circuit: str | None, **fields: Any) -> MaskContext:
        return MaskContext(**fields)

    monkeypatch.setattr(masking, "context_of", context_of)


def unguarded(monkeypatch: pytest.MonkeyPatch) -> None:
    forgetful(monkeypatch)
    one_domain(monkeypatch)


Attack = Callable[[Caller, Side], np.ndarray]
Weakness = Callable[[pytest.MonkeyPatch], None]


@pytest.mark.parametrize("attack", [search, release])
def test_it_learns_nothing_but_the_bits(caller: Caller, enrolled: Federation, attack: Attack) -> None:
    side = Side.of(enrolled, sums=SUMS)
    with pytest.raises(NotAnswered):
        attack(caller, side)


@pytest.mark.parametrize("weakness", [forgetful, one_domain])
def test_of_two_guards_before_a_release_one_is_enough(
    caller: Caller, enrolled: Federation, monkeypatch: pytest.MonkeyPatch, weakness: Weakness
) -> None:
    weakness(monkeypatch)
    with pytest.raises(NotAnswered):
        release(caller, Side.of(enrolled, sums=SUMS))


@pytest.mark.parametrize(("attack", "weakness"), [(search, forgetful), (release, unguarded)])
def test_without_the_guards_it_reads_the_sums(
    caller: Caller, enrolled: Federation, monkeypatch: pytest.MonkeyPatch, attack: Attack, weakness: Weakness
) -> None:
    weakness(monkeypatch)
    np.testing.assert_array_equal(attack(caller, Side.of(enrolled, sums=SUMS)), SUMS)
