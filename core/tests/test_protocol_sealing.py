"""Boxes open for their purpose, with their key, unchanged; and for nothing else."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unpooled.errors import ProtocolError
from unpooled.protocol import sealing
from unpooled.protocol.sealing import (
    Box,
    Purpose,
    SealingKey,
    SigningKey,
    fingerprint,
    open_box,
    seal_seed,
    verify_box,
)

SEED = os.urandom(32)
COMPENSATOR, SIGNER = SealingKey.generate(), SigningKey.generate()
PURPOSE = Purpose("study", b"p" * 32, b"r" * 32, "Graz", COMPENSATOR.public)
BOX = seal_seed(SEED, PURPOSE, SIGNER)


def test_a_box_opens_with_the_key_it_was_sealed_to() -> None:
    assert open_box(BOX, PURPOSE, SIGNER.public, COMPENSATOR) == SEED


def test_two_boxes_of_one_seed_do_not_look_alike() -> None:
    other = seal_seed(SEED, PURPOSE, SIGNER)
    assert other.sealed[:32] != BOX.sealed[:32] and other.sealed[32:] != BOX.sealed[32:]
    assert SEED not in BOX.sealed


def test_another_compensator_cannot_open_it() -> None:
    with pytest.raises(ProtocolError, match="does not open"):
        open_box(BOX, PURPOSE, SIGNER.public, SealingKey.generate())


CHANGES: list[dict[str, Any]] = [
    {"study": "other"},
    {"plan_hash": b"P" * 32},
    {"roster_hash": b"R" * 32},
    {"cohort": "Munich"},
    {"compensator_key": SealingKey.generate().public},
    {"version": 1},
]


def test_every_field_of_a_purpose_is_changed_below() -> None:
    assert {name for change in CHANGES for name in change} == {f.name for f in dataclasses.fields(Purpose)}


@pytest.mark.parametrize("change", CHANGES)
def test_a_box_serves_no_other_purpose(change: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError, match="signature"):
        open_box(BOX, replace(PURPOSE, **change), SIGNER.public, COMPENSATOR)


@pytest.mark.parametrize("change", CHANGES)
def test_a_stolen_box_signed_anew_serves_no_other_purpose(change: dict[str, Any]) -> None:
    """A cohort that takes another's box for its own: the purpose is inside the seal too."""
    other = replace(PURPOSE, **change)
    thief = SigningKey.generate()
    signature = seal_and_sign(thief, other, BOX.sealed)
    with pytest.raises(ProtocolError, match="something else"):
        open_box(Box(other.cohort, BOX.sealed, signature), other, thief.public, COMPENSATOR)


def seal_and_sign(signer: SigningKey, purpose: Purpose, sealed: bytes) -> bytes:
    return signer.sign(sealing._signed(purpose, sealed))


def test_a_box_of_another_signer_is_refused() -> None:
    with pytest.raises(ProtocolError, match="signature"):
        open_box(BOX, PURPOSE, SigningKey.generate().public, COMPENSATOR)


@pytest.mark.parametrize("key", [b"", bytes(31), bytes(33), b"\xff" * 32])
def test_what_is_no_key_verifies_nothing(key: bytes) -> None:
    with pytest.raises(ProtocolError, match="signature"):
        verify_box(BOX, PURPOSE, key)


@given(st.sampled_from(["sealed", "signature"]), st.data())
def test_a_changed_bit_is_noticed(field: str, data: st.DataObject) -> None:
    original = getattr(BOX, field)
    bit = data.draw(st.integers(0, 8 * len(original) - 1))
    changed = bytearray(original)
    changed[bit // 8] ^= 1 << bit % 8
    change: dict[str, Any] = {field: bytes(changed)}
    with pytest.raises(ProtocolError):
        open_box(replace(BOX, **change), PURPOSE, SIGNER.public, COMPENSATOR)


@given(st.binary(max_size=200) | st.binary(min_size=32, max_size=32).map(lambda tail: bytes(32) + tail))
def test_any_signed_bytes_are_no_box(sealed: bytes) -> None:
    signature = seal_and_sign(SIGNER, PURPOSE, sealed)
    with pytest.raises(ProtocolError):
        open_box(Box("Graz", sealed, signature), PURPOSE, SIGNER.public, COMPENSATOR)


@pytest.mark.parametrize("size", [0, 16, 31, 33, 64])
def test_a_seed_has_32_bytes(size: int) -> None:
    box = seal_seed(bytes(size), PURPOSE, SIGNER)
    with pytest.raises(ProtocolError, match="something else"):
        open_box(box, PURPOSE, SIGNER.public, COMPENSATOR)


def test_keys_are_kept_and_come_back() -> None:
    assert SigningKey(SIGNER.private).public == SIGNER.public
    assert SealingKey(COMPENSATOR.private).public == COMPENSATOR.public
    assert len({SigningKey.generate().public for _ in range(5)}) == 5


def test_keys_and_seeds_do_not_print() -> None:
    for thing in (SIGNER, COMPENSATOR, sealing._Content(PURPOSE, SEED)):
        for secret in (SIGNER.private, COMPENSATOR.private, SEED):
            shown = f"{thing!r} {thing}"
            assert secret.hex() not in shown and repr(secret)[2:-1] not in shown


def test_a_fingerprint_is_128_bits_in_groups_of_four() -> None:
    groups = fingerprint(SIGNER.public).split(" ")
    assert [len(group) for group in groups] == [4] * 8
    assert len(bytes.fromhex("".join(groups))) == 16
