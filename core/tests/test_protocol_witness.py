"""Witnesses: each cohort opens its own, and nobody else does."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pytest

from unpooled.errors import ProtocolError
from unpooled.protocol import messages, witness
from unpooled.protocol.messages import Witnesses
from unpooled.protocol.sealing import Purpose

SEEDS = [os.urandom(32) for _ in range(3)]
PURPOSE = Purpose("study", b"p" * 32, b"r" * 32, "Graz", b"c" * 32)
NAMES = ("study", b"p" * 32, b"r" * 32)
WITNESS = witness.make(SEEDS, *NAMES)
SEALED = witness.seal(WITNESS, SEEDS[0], PURPOSE)


def test_a_cohort_opens_its_own_which_is_sealed_to_the_same_bytes_each_time() -> None:
    assert witness.unsealed(SEALED, SEEDS[0], PURPOSE) == WITNESS
    assert witness.seal(WITNESS, SEEDS[0], PURPOSE) == SEALED
    assert len(SEALED) == witness.SEALED_BYTES and WITNESS not in SEALED


@pytest.mark.parametrize(
    "change",
    [
        {"study": "other"},
        {"plan_hash": b"P" * 32},
        {"roster_hash": b"R" * 32},
        {"cohort": "Munich"},
        {"compensator_key": b"C" * 32},
        {"version": 1},
    ],
)
def test_a_witness_does_not_open_for_another_cohort_or_purpose(change: dict[str, Any]) -> None:
    other = replace(PURPOSE, **change)
    with pytest.raises(ProtocolError, match="does not open"):
        witness.unsealed(SEALED, SEEDS[0], other)
    with pytest.raises(ProtocolError, match="does not open"):
        witness.unsealed(SEALED, SEEDS[1], PURPOSE)


def test_a_witness_opens_beside_the_keys_of_codes_with_which_it_was_sealed_alone() -> None:
    keys = os.urandom(64)
    made = witness.make(SEEDS, *NAMES, keys)
    sealed = witness.seal(made, SEEDS[0], PURPOSE, keys)
    assert made != WITNESS and witness.unsealed(sealed, SEEDS[0], PURPOSE, keys) == made
    for others in (b"", keys[32:] + keys[:32], os.urandom(64)):
        with pytest.raises(ProtocolError, match="does not open"):
            witness.unsealed(sealed, SEEDS[0], PURPOSE, others)


def test_two_witnesses_under_one_seed_and_purpose_have_nonces_of_their_own() -> None:
    """Another cohort drew a new seed: the key stays, and both are known to the server."""
    other = witness.seal(witness.make([SEEDS[0], os.urandom(32)], *NAMES), SEEDS[0], PURPOSE)
    assert other[:12] != SEALED[:12]


def test_damaged_witnesses_do_not_open() -> None:
    for place in range(len(SEALED)):
        damaged = bytearray(SEALED)
        damaged[place] ^= 1
        with pytest.raises(ProtocolError, match="does not open"):
            witness.unsealed(bytes(damaged), SEEDS[0], PURPOSE)
    for data in (b"", SEALED[:-1], SEALED + b"0"):
        with pytest.raises(ProtocolError, match="60 bytes"):
            witness.unsealed(data, SEEDS[0], PURPOSE)


def test_a_witness_follows_from_all_seeds_in_their_order_and_from_all_that_names_the_study() -> None:
    others = [
        witness.make(SEEDS[:2], *NAMES),
        witness.make([*SEEDS[:2], os.urandom(32)], *NAMES),
        witness.make(SEEDS[::-1], *NAMES),
        witness.make(SEEDS, "other", *NAMES[1:]),
        witness.make(SEEDS, "study", b"P" * 32, b"r" * 32),
        witness.make(SEEDS, "study", b"p" * 32, b"R" * 32),
    ]
    assert len({WITNESS, *others}) == 7


@pytest.mark.parametrize(
    "sealed",
    [(("Munich", SEALED), ("Graz", SEALED)), (("Graz", SEALED), ("Graz", SEALED)), (("Graz", SEALED[:-1]),)],
)
def test_witnesses_are_one_a_cohort_and_sorted(sealed: tuple[tuple[str, bytes], ...]) -> None:
    assert Witnesses in messages.RECORDS
    with pytest.raises(ProtocolError):
        Witnesses(sealed)
