"""Points times both keys of a study: for each enrolled cohort's column once, and for nobody else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from unpooled.protocol import codes, messages, oprf
from unpooled.protocol.codes import Blinding, checked
from unpooled.protocol.messages import CodeRequest, Witnesses
from unpooled.protocol.oprf import POINT_BYTES
from unpooled_compensator import service

from .conftest import Caller, Federation, unchecked
from .test_enrolment import refusal

MOST = 4


def blinding(secret: int, *words: str) -> Blinding:
    return Blinding(bytes([secret]) * 32, "study-1/drug", words, MOST)


def test_the_same_word_has_the_same_code_for_each_cohort(caller: Caller, federation: Federation) -> None:
    made: Witnesses = messages.decode(caller.enrol(federation.enrolment()).content, Witnesses)
    keys = oprf.public_key(federation.code_key) + made.code_key
    graz, munich = blinding(1, "aspirin", "warfarin"), blinding(2, "ibuprofen", "aspirin")
    found = []
    for name, own in (("Graz", graz), ("Munich", munich)):
        points, about = own.points(), federation.about(name, own.points())
        request = federation.codes(name, points)
        answer = request.multiplied + caller.codes(request).content
        found.append(own.codes(checked(federation.seeds[name], keys, about, points, answer), 40))
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


def test_another_study_of_the_same_cohorts_has_another_key(caller: Caller, federation: Federation) -> None:
    other = Federation(federation.compensator_key, study="study-2")
    other.seeds = federation.seeds
    keys = {
        messages.decode(caller.enrol(each.enrolment()).content, Witnesses).code_key
        for each in (federation, other)
    }
    assert len(keys) == 2


def test_a_study_without_words_has_no_key(caller: Caller, federation: Federation) -> None:
    answer = caller.enrol(replace(federation.enrolment(), code_key=b"")).content
    assert messages.decode(answer, Witnesses).code_key == b""
    request = federation.codes("Graz", blinding(1, "aspirin").points())
    assert refusal(caller.codes(request)) == (400, "invalid_message")


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
    "points that it has not multiplied": (lambda r: replace(r, multiplied=r.points), "invalid_message"),
    "points without a proof": (lambda r: replace(r, multiplied=r.multiplied[:-64]), "invalid_message"),
    "no proof at all": (lambda r: replace(r, multiplied=b""), "invalid_message"),
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


def test_what_is_no_point_and_too_many_are_refused(caller: Caller, enrolled: Federation) -> None:
    request = enrolled.codes("Graz", blinding(1).points())
    for size in (1, service.MAX_POINTS + 1):
        points = b"\xff" * size * POINT_BYTES
        signature = enrolled.signers["Graz"].sign(enrolled.about("Graz", points))
        signed = replace(request, points=points, multiplied=points[:96], signature=signature)
        assert refusal(caller.codes(signed))[1] == "invalid_message"


def test_a_server_gets_no_code_of_a_word_that_it_guesses(caller: Caller, enrolled: Federation) -> None:
    """The server has a proof of its own key for them, but no cohort has signed the point of its guess."""
    own, guessed = blinding(1, "aspirin"), oprf.point(b"warfarin")
    request = enrolled.codes("Graz", own.points())
    about = enrolled.about("Graz", own.points())
    guess = guessed + own.points()[POINT_BYTES:]
    in_its_place = replace(request, multiplied=codes.answered(enrolled.code_key, about, guess))
    assert refusal(caller.codes(in_its_place)) == (400, "invalid_message")
    assert refusal(caller.codes(replace(in_its_place, points=guess))) == (400, "invalid_signature")


def test_nobody_gets_codes_before_a_study_has_enrolled(caller: Caller, federation: Federation) -> None:
    request = federation.codes("Graz", blinding(1, "aspirin").points())
    assert refusal(caller.codes(request)) == (404, "unknown_study")
