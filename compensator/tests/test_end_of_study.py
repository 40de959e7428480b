"""What stays when a study is over: that it is over."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Caller, Federation
from .test_enrolment import refusal


def files(directory: Path) -> bytes:
    return b"".join(path.read_bytes() for path in directory.iterdir() if path.is_file())


def test_nothing_is_released_after_the_end(caller: Caller, enrolled: Federation) -> None:
    request = enrolled.request()
    assert caller.release(request).status_code == 200
    assert caller.end("study-1").status_code == 204
    assert refusal(caller.release(request)) == (410, "study_over")
    assert refusal(caller.release(enrolled.request(2))) == (410, "study_over")


def test_a_study_that_is_over_never_enrols_again(
    make_caller: Callable[..., Caller], caller: Caller, federation: Federation
) -> None:
    first = federation.enrolment()
    assert caller.enrol(first).status_code == 201
    assert caller.end("study-1").status_code == 204
    for current in (caller, make_caller()):
        assert refusal(current.enrol(first)) == (410, "study_over")
        assert refusal(current.enrol(federation.enrolment())) == (410, "study_over")


def test_ending_twice_is_fine(caller: Caller, enrolled: Federation) -> None:
    assert caller.end("study-1").status_code == 204
    assert caller.end("study-1").status_code == 204


def test_an_enrolment_that_arrives_after_the_end_does_not_stay(
    caller: Caller, federation: Federation
) -> None:
    assert caller.end("study-1").status_code == 204
    assert refusal(caller.enrol(federation.enrolment())) == (410, "study_over")


def test_the_end_of_one_study_is_not_the_end_of_another(caller: Caller, enrolled: Federation) -> None:
    assert caller.end("study-2").status_code == 204
    assert caller.release(enrolled.request()).status_code == 200


def test_boxes_are_gone_from_the_disk(caller: Caller, federation: Federation, tmp_path: Path) -> None:
    enrolment = federation.enrolment()
    caller.enrol(enrolment)
    for round_ in range(20):
        caller.release(federation.request(round_))
    kept = files(tmp_path / "state")
    assert all(box.sealed[:32] in kept for box in enrolment.boxes)
    caller.end("study-1")
    kept = files(tmp_path / "state")
    assert not any(box.sealed[:32] in kept for box in enrolment.boxes)
    assert not any(box.sealed[-32:] in kept for box in enrolment.boxes)
    assert b"study-1" in kept and b"Munich" not in kept


@pytest.mark.parametrize("study", ["%20", "%2e%2e", "a%0ab", "x" * 101])
def test_only_a_study_id_can_end(caller: Caller, study: str) -> None:
    assert caller.end(study).status_code in (400, 404)
