"""Whatever arrives, the answer is a refusal or the right one: never a 500, never a second release."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unpooled.protocol import codec
from unpooled.protocol.messages import OpeningRequest
from unpooled_compensator import state
from unpooled_compensator.app import create_app
from unpooled_compensator.service import Compensator

from .conftest import HEADERS, SECRET, Caller, Federation, in_process, unchecked

QUICK = settings(max_examples=100)

plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | st.text(max_size=20)
    | st.binary(max_size=40),
    lambda inner: st.lists(inner, max_size=4).map(tuple),
    max_leaves=8,
)


class Target:
    """One compensator for all examples, with a study whose first round is released."""

    def __init__(self, directory: Path) -> None:
        (directory / "secret").write_text(SECRET)
        store, key = state.open_state(directory / "state")
        secret = state.caller_hash(directory / "state", directory / "secret", print)
        self.client = in_process(create_app(Compensator(store, key), secret))
        self.caller = Caller(self.client)
        self.federation = Federation(key.public)
        self.enrolment, self.request = self.federation.enrolment(), self.federation.request()
        assert self.caller.enrol(self.enrolment).status_code == 201
        self.answer = self.caller.release(self.request).content
        self.store = store

    def check(self, response: Any) -> None:
        if response.status_code >= 300:
            assert set(response.json()["error"]) == {"code", "message", "remedy"}
        assert response.status_code < 500
        assert self.caller.release(self.request).content == self.answer


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    found = Target(tmp_path_factory.mktemp("hostile"))
    with found.client:
        yield found
    found.store.close()


@QUICK
@given(body=st.binary(max_size=300), study=st.sampled_from(["study-1", "study-2"]))
def test_any_bytes(target: Target, body: bytes, study: str) -> None:
    caller = target.caller
    for response in (caller.put(study, body), caller.post(study, body), caller.compare(study, body)):
        assert response.status_code in (400, 413)
        target.check(response)


@QUICK
@given(data=st.data())
def test_any_value_in_any_field_of_a_request(target: Target, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from([f.name for f in fields(target.request)]))
    forged = unchecked(target.request, **{name: data.draw(plain)})
    response = target.caller.post("study-1", codec.encode(forged))
    target.check(response)
    assert response.status_code != 200 or response.content == target.answer or name == "round"


@QUICK
@given(data=st.data())
def test_any_value_in_any_field_of_an_opening(target: Target, data: st.DataObject) -> None:
    """Behind any number of bytes for its openings."""
    opening = OpeningRequest(**{**vars(target.request), "round": 2}, circuit="at-least", shuffle=bytes(32))
    name = data.draw(st.sampled_from([f.name for f in fields(opening)]))
    forged = codec.encode(unchecked(opening, **{name: data.draw(plain)}))
    body = len(forged).to_bytes(4, "little") + forged + bytes(data.draw(st.integers(0, 3000)))
    target.check(target.caller.compare("study-1", body))


@QUICK
@given(
    round_=st.integers(-2, 2**70) | st.text(max_size=5).map(quote),
    number=st.integers(-2, 2**70) | st.text(max_size=5).map(quote),
    body=st.binary(max_size=100),
)
def test_any_turn(target: Target, round_: int | str, number: int | str, body: bytes) -> None:
    path = f"/v1/studies/study-1/comparisons/{round_}/turns/{number}"
    response = target.caller.client.post(path, content=body, headers=HEADERS)
    assert response.status_code in (404, 409)
    target.check(response)


@QUICK
@given(data=st.data())
def test_any_value_in_any_field_of_an_enrolment(target: Target, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from([f.name for f in fields(target.enrolment)]))
    forged = unchecked(target.enrolment, **{name: data.draw(plain)})
    response = target.caller.put("study-1", codec.encode(forged))
    target.check(response)
    assert response.status_code in (200, 400, 409)


@QUICK
@given(data=st.data())
def test_any_damage_to_a_message(target: Target, data: st.DataObject) -> None:
    new_study = replace(target.enrolment, study="study-9")
    for whole, send in (
        (codec.encode(target.request), target.caller.post),
        (codec.encode(new_study), target.caller.put),
    ):
        body = bytearray(whole)
        for _ in range(data.draw(st.integers(1, 4))):
            body[data.draw(st.integers(0, len(body) - 1))] ^= data.draw(st.integers(1, 255))
        target.check(send("study-9" if send == target.caller.put else "study-1", bytes(body)))


@QUICK
@given(
    path=st.text(max_size=30).map(lambda text: "/v1/studies/" + quote(text)),
    method=st.sampled_from(["GET", "PUT", "POST", "DELETE", "PATCH", "OPTIONS"]),
)
def test_any_address(target: Target, path: str, method: str) -> None:
    if path == "/v1/studies/study-1":
        return
    response = target.caller.client.request(method, path, headers=HEADERS, content=os.urandom(4))
    target.check(response)


@QUICK
@given(
    headers=st.dictionaries(
        st.sampled_from(["content-type", "content-encoding", "content-length", "accept", "authorization"]),
        st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=30),
    )
)
def test_any_header(target: Target, headers: dict[str, str]) -> None:
    body = codec.encode(target.request)
    response = target.caller.client.post(
        "/v1/studies/study-1/releases", content=body, headers=HEADERS | headers
    )
    target.check(response)
