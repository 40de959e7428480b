"""Boxes that only the compensator opens, and invitations: nothing else is taken for one."""

from __future__ import annotations

import base64
import dataclasses
import json
import os
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unpooled.errors import ProtocolError
from unpooled.protocol import sealing
from unpooled.protocol.invitation import PREFIX, Invitation, InvitationError
from unpooled.protocol.problems import Problem
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


INVITATION = Invitation("https://x.example.org:8443/unpooled", "s1", "tok_en-43", " ".join(["ab12"] * 8))


def test_it_comes_back_as_it_was() -> None:
    assert Invitation.from_text(INVITATION.to_text()) == INVITATION


def test_line_breaks_of_a_mail_do_no_harm() -> None:
    text = INVITATION.to_text()
    assert Invitation.from_text(f"  {text[:40]}\r\n {text[40:90]}\n\t{text[90:]}\n") == INVITATION


def test_the_token_does_not_print() -> None:
    assert INVITATION.token not in repr(INVITATION)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "unpooled2:abc",
        "unpooled1:",
        "unpooled1:!!!!",
        "unpooled1:" + "A" * 5000,
        INVITATION.to_text()[:-7],
        INVITATION.to_text().replace("unpooled1", "Unpooled1"),
    ],
)
def test_other_texts_are_refused_with_a_remedy(text: str) -> None:
    with pytest.raises(InvitationError, match="new invitation"):
        Invitation.from_text(text)


@pytest.mark.parametrize(
    "change",
    [
        {"server": "ftp://x.org"},
        {"server": "https://"},
        {"server": "https://x.org/"},
        {"server": "https://x.org?a=1"},
        {"server": "https://[::1"},
        {"server": "https://x.org:99999"},
        {"server": "https://x..org"},
        {"server": "https://x y.org"},
        {"server": f"https://{'x' * 64}.org"},
        {"server": "https://me:secret@x.org"},
        {"study": ""},
        {"study": "a/b"},
        {"token": "a b"},
        {"compensator": "ab12"},
        {"compensator": " ".join(["AB12"] * 8)},
        {"compensator": 5},
        {"more": "x"},
    ],
    ids=str,
)
def test_parts_that_cannot_be_are_refused(change: dict[str, object]) -> None:
    values = vars(INVITATION) | change
    packed = base64.urlsafe_b64encode(json.dumps(values).encode()).decode()
    with pytest.raises(InvitationError):
        Invitation.from_text(PREFIX + packed)


@given(st.text(max_size=300))
def test_any_text_is_an_invitation_or_an_error(text: str) -> None:
    for candidate in (text, PREFIX + text):
        with pytest.raises(InvitationError):
            Invitation.from_text(candidate)


@given(st.binary(max_size=200))
def test_any_bytes_are_an_invitation_or_an_error(data: bytes) -> None:
    with pytest.raises(InvitationError):
        Invitation.from_text(PREFIX + base64.urlsafe_b64encode(data).decode())


def test_problems_have_words_for_people() -> None:
    assert all(problem.message and problem.remedy for problem in Problem)
    assert Problem("data-changed") is Problem.DATA_CHANGED
