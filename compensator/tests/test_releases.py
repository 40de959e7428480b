"""Releases of a round: what is given out, and every other request for it that is not."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from unpooled.protocol import codec, masking
from unpooled.protocol.messages import Enrolment, ReleaseRequest
from unpooled_compensator import service

from .conftest import Caller, Federation, unchecked
from .test_enrolment import refusal


@pytest.mark.parametrize("scheme", ["z32", "z64", "z128"])
@pytest.mark.parametrize("behind_the_check", [0, 1, 100, service.BLOCK_WORDS, service.BLOCK_WORDS + 1])
def test_a_release_is_the_sum_of_the_masks(
    caller: Caller, enrolled: Federation, scheme: str, behind_the_check: int
) -> None:
    """The mask of the check is one number: its carries go from word to word, and no further."""
    words = masking.scheme(scheme).check_words + behind_the_check
    request = enrolled.request(scheme=scheme, words=words)
    response = caller.release(request)
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/octet-stream"
    assert response.headers["content-length"] == str(words * masking.scheme(scheme).word_bytes)
    assert response.content == enrolled.sum_of_masks(request)


def test_a_release_of_gaussian_masks(caller: Caller, enrolled: Federation) -> None:
    request = enrolled.request(scheme="normal:1000000.0", words=service.BLOCK_WORDS + 3)
    got = np.frombuffer(caller.release(request).content)
    want = np.frombuffer(enrolled.sum_of_masks(request))
    np.testing.assert_allclose(got, want, rtol=1e-12)


def changes(request: ReleaseRequest) -> dict[str, ReleaseRequest]:
    (graz, _), *others = request.uploads
    return {
        "another nonce": replace(request, uploads=((graz, os.urandom(16)), *others)),
        "another question": replace(request, question=os.urandom(32)),
        "another scheme": replace(request, scheme="z64"),
        "fewer words": replace(request, words=request.words - 1),
        "more words": replace(request, words=request.words + 1),
    }


@pytest.mark.parametrize("change", changes(ReleaseRequest("", 0, b"", "", 0, (("", b""),))))
def test_a_round_is_released_for_one_content_for_ever(
    make_caller: Callable[..., Caller], caller: Caller, enrolled: Federation, change: str
) -> None:
    request = enrolled.request()
    other = changes(request)[change]
    answer = caller.release(request).content
    restarted = make_caller()
    for current in (caller, restarted):
        assert refusal(current.release(other)) == (409, "other_request")
        assert current.release(request).content == answer


def test_the_changed_request_is_fine_in_another_round(caller: Caller, enrolled: Federation) -> None:
    request = enrolled.request(1)
    other = replace(request, round=2)
    assert caller.release(request).content != caller.release(other).content
    assert caller.release(other).content == enrolled.sum_of_masks(other)


def test_only_all_enrolled_cohorts_together_are_released(caller: Caller, enrolled: Federation) -> None:
    request = enrolled.request()
    one, other, third = request.uploads
    for uploads in [
        (),
        (one,),
        (one, other),
        (one, other, ("Nobody", third[1])),
        (one, other, third, ("Zürich", os.urandom(16))),
        (one, (one[0], other[1]), third),
        (one, other, (other[0], third[1])),
    ]:
        asked = replace(request, uploads=tuple(sorted(uploads)))
        assert refusal(caller.release(asked)) == (409, "other_cohorts")
    # None of them used up the round.
    assert caller.release(request).content == enrolled.sum_of_masks(request)


def test_unsorted_and_repeated_uploads_are_refused(caller: Caller, enrolled: Federation) -> None:
    request = enrolled.request()
    one, other, third = request.uploads
    for uploads in [(other, one, third), (one, one, other, third), (one, other, third, third)]:
        forged = codec.encode(unchecked(request, uploads=uploads))
        assert refusal(caller.post("study-1", forged)) == (400, "invalid_message")


@pytest.mark.parametrize(
    "change",
    [
        {"words": 0},
        {"words": 7},
        {"words": 3, "scheme": "z64"},
        {"words": -1},
        {"words": service.MAX_WORDS + 1},
        {"words": 2**62},
        {"scheme": "z16"},
        {"scheme": ""},
        {"scheme": "normal:nan"},
        {"scheme": "normal:1e12"},
        {"scheme": "normal:" + "9" * 10_000},
        {"question": b""},
        {"question": bytes(33)},
        {"round": -1},
    ],
)
def test_what_no_round_can_ask_is_refused(
    caller: Caller, enrolled: Federation, change: dict[str, object]
) -> None:
    asked = replace(enrolled.request(), **change)  # type: ignore[arg-type]
    assert refusal(caller.release(asked)) == (400, "invalid_message")


@pytest.mark.parametrize("size", [0, 15, 17, 32])
def test_a_nonce_has_16_bytes(caller: Caller, enrolled: Federation, size: int) -> None:
    request = enrolled.request()
    uploads = tuple((name, os.urandom(size) if name == "Graz" else nonce) for name, nonce in request.uploads)
    assert refusal(caller.release(replace(request, uploads=uploads))) == (400, "invalid_message")


def test_a_study_that_never_enrolled_has_no_release(caller: Caller, federation: Federation) -> None:
    assert refusal(caller.release(federation.request())) == (404, "unknown_study")


def test_a_request_for_another_study_than_the_address(caller: Caller, enrolled: Federation) -> None:
    body = codec.encode(enrolled.request())
    assert refusal(caller.post("study-2", body)) == (400, "wrong_study")


def test_an_enrolment_is_no_request(caller: Caller, enrolled: Federation) -> None:
    body = codec.encode(enrolled.enrolment())
    assert refusal(caller.post("study-1", body)) == (400, "invalid_message")
    assert refusal(caller.put("study-1", codec.encode(enrolled.request()))) == (400, "invalid_message")


def test_another_plan_gives_another_sum(caller: Caller, enrolled: Federation) -> None:
    """The plan comes from the boxes: a caller cannot ask for the masks of another."""
    request = enrolled.request()
    got = caller.release(request).content
    enrolled.plan_hash = os.urandom(32)
    assert got != enrolled.sum_of_masks(request)


def test_studies_do_not_disturb_one_another(caller: Caller, enrolled: Federation) -> None:
    second = Federation(enrolled.compensator_key, study="study-2")
    assert caller.enrol(second.enrolment()).status_code == 201
    for federation in (enrolled, second):
        request = federation.request(7)
        assert caller.release(request).content == federation.sum_of_masks(request)


def test_of_many_requests_at_once_one_content_wins(caller: Caller, enrolled: Federation) -> None:
    requests = [enrolled.request(round_=5) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        responses = list(pool.map(caller.release, requests))
    won = [number for number, response in enumerate(responses) if response.status_code == 200]
    assert len(won) == 1
    assert responses[won[0]].content == enrolled.sum_of_masks(requests[won[0]])
    assert all(r.status_code == 409 for number, r in enumerate(responses) if number != won[0])


def test_the_first_request_is_on_disk_before_the_answer(
    caller: Caller, enrolled: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash between the two forgets nothing: the round answers that request only."""

    def crash(*_: object) -> None:
        raise MemoryError

    request = enrolled.request()
    with monkeypatch.context() as patch:
        patch.setattr(service, "_sum_of_masks", crash)
        with pytest.raises(MemoryError):
            caller.release(request)
    assert refusal(caller.release(enrolled.request())) == (409, "other_request")
    assert caller.release(request).content == enrolled.sum_of_masks(request)


def test_a_round_that_cannot_be_recorded_is_not_answered(
    caller: Caller, enrolled: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> bytes:
        raise sqlite3.OperationalError("database or disk is full")

    request = enrolled.request()
    with monkeypatch.context() as patch:
        patch.setattr("unpooled_compensator.store.Store.add_release", full)
        assert refusal(caller.release(request)) == (503, "storage")
    assert caller.release(request).status_code == 200


def test_enrolments_at_once_of_several_sets_leave_one(caller: Caller, federation: Federation) -> None:
    sets: list[Enrolment] = [federation.enrolment() for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        assert {response.status_code for response in pool.map(caller.enrol, sets)} == {201}
    assert caller.release(federation.request()).status_code == 200
    assert sorted(caller.enrol(one).status_code for one in sets) == [200, *[409] * 5]


def test_a_sum_is_never_of_boxes_that_were_replaced(
    caller: Caller, enrolled: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others take their place after a request has read them, and before it is recorded."""
    request, first = enrolled.request(), dict(enrolled.seeds)
    read = service.Compensator._open_boxes

    def slow(self: service.Compensator, enrolment: Enrolment) -> list[bytes]:
        monkeypatch.undo()
        found = read(self, enrolment)
        enrolled.seeds["Graz"] = os.urandom(32)
        assert caller.enrol(enrolled.enrolment()).status_code == 201
        return found

    monkeypatch.setattr(service.Compensator, "_open_boxes", slow)
    assert refusal(caller.release(request)) == (409, "other_boxes")
    assert caller.release(request).content == enrolled.sum_of_masks(request)
    assert enrolled.seeds != first


def test_releases_and_other_boxes_at_once_are_of_one_set(caller: Caller, federation: Federation) -> None:
    """Whichever is first: a sum is of the boxes that stay."""
    sets, request = {}, federation.request()
    for _ in range(6):
        federation.seeds = {name: os.urandom(32) for name in federation.names}
        sets[federation.sum_of_masks(request)] = federation.enrolment()
    first, *others = sets.values()
    caller.enrol(first)
    with ThreadPoolExecutor(6) as pool:
        released = pool.submit(caller.release, request)
        list(pool.map(caller.enrol, others))
    answer = released.result()
    if answer.status_code == 409:
        assert refusal(answer) == (409, "other_boxes")
        answer = caller.release(request)
    assert caller.enrol(sets.pop(answer.content)).status_code == 200
    assert {caller.enrol(other).status_code for other in sets.values()} == {409}
