"""Points times the key of a study: for each enrolled cohort's column once, and for nobody else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from unpooled.protocol.codes import POINT_BYTES, Blinding, untagged
from unpooled.protocol.messages import CodeRequest
from unpooled_compensator import service

from .conftest import Caller, Federation, unchecked
from .test_enrolment import refusal

MOST = 4


def blinding(secret: int, *words: str) -> Blinding:
    return Blinding(bytes([secret]) * 32, "study-1/drug", words, MOST)


def test_the_same_word_has_the_same_code_for_each_cohort(caller: Caller, enrolled: Federation) -> None:
    graz, munich = blinding(1, "aspirin", "warfarin"), blinding(2, "ibuprofen", "aspirin")
    found = []
    for name, own in (("Graz", graz), ("Munich", munich)):
        points = own.points()
        answer = caller.codes(enrolled.codes(name, points)).content
        found.append(own.codes(untagged(enrolled.seeds[name], 0, points, answer), 40))
    assert found[0][0] == found[1][1]
    assert len({*found[0], *found[1]}) == 3


def test_the_key_outlives_the_process_and_not_the_study(
    make_caller: Callable[..., Caller], federation: Federation
) -> None:
    first = make_caller()
    first.enrol(federation.enrolment())
    request = federation.codes("Graz", blinding(1, "aspirin").points())
    points = first.codes(request).content
    second = make_caller()
    assert second.codes(request).content == points
    second.end(federation.study)
    assert refusal(second.codes(request)) == (410, "study_over")


def test_another_study_of_the_same_cohorts_has_another_key(caller: Caller, enrolled: Federation) -> None:
    other = Federation(enrolled.compensator_key, study="study-2")
    caller.enrol(other.enrolment())
    points = blinding(1, "aspirin").points()
    assert (
        caller.codes(other.codes("Graz", points)).content
        != caller.codes(enrolled.codes("Graz", points)).content
    )


def test_a_column_has_one_batch(caller: Caller, enrolled: Federation) -> None:
    """Else a server that has guessed a cohort's words could have any number of points multiplied."""
    first = enrolled.codes("Graz", blinding(1, "aspirin").points())
    assert caller.codes(first).status_code == 200
    other = enrolled.codes("Graz", blinding(1, "warfarin").points())
    assert refusal(caller.codes(other)) == (409, "other_request")
    assert caller.codes(first).status_code == 200
    assert caller.codes(enrolled.codes("Graz", blinding(1, "warfarin").points(), column=1)).status_code == 200


LIES: dict[str, tuple[Callable[[CodeRequest], CodeRequest], str]] = {
    "another cohort's name": (lambda r: replace(r, cohort="Munich"), "invalid_signature"),
    "a cohort that is not there": (lambda r: replace(r, cohort="Bern"), "other_cohorts"),
    "another column": (lambda r: replace(r, column=1), "invalid_signature"),
    "other points": (lambda r: replace(r, points=r.points[POINT_BYTES:]), "invalid_signature"),
    "a short point": (lambda r: replace(r, points=r.points[:-1]), "invalid_message"),
    "no point": (lambda r: replace(r, points=b""), "invalid_message"),
    "a negative column": (lambda r: replace(r, column=-1), "invalid_message"),
    "no signature": (lambda r: replace(r, signature=b""), "invalid_signature"),
    "a number as points": (lambda r: unchecked(r, points=7), "invalid_message"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lying_server_gets_nothing(caller: Caller, enrolled: Federation, lie: str) -> None:
    change, code = LIES[lie]
    request = enrolled.codes("Graz", blinding(1, "aspirin").points())
    assert refusal(caller.codes(change(request)))[1] == code
    assert caller.codes(request).status_code == 200


def test_points_off_the_curve_and_too_many_are_refused(caller: Caller, enrolled: Federation) -> None:
    assert refusal(caller.codes(enrolled.codes("Graz", b"\xff" * POINT_BYTES)))[1] == "invalid_message"
    many = bytes((service.MAX_POINTS + 1) * POINT_BYTES)
    assert refusal(caller.codes(enrolled.codes("Munich", many)))[1] == "invalid_message"


def test_nobody_gets_codes_before_a_study_has_enrolled(caller: Caller, federation: Federation) -> None:
    request = federation.codes("Graz", blinding(1, "aspirin").points())
    assert refusal(caller.codes(request)) == (404, "unknown_study")
