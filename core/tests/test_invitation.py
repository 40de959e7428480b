"""Invitations: one string to paste, and nothing else is taken for one."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unpooled.protocol.invitation import PREFIX, Invitation, InvitationError
from unpooled.protocol.problems import Problem

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
