"""Enrolment: the sets of boxes that a compensator takes, and what stays of a study that is over."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from unpooled.errors import ProtocolError
from unpooled.protocol import codec, messages, oprf, two_party, witness
from unpooled.protocol.messages import Enrolment, Roster, Witnesses
from unpooled.protocol.sealing import Box, SealingKey, SigningKey, fingerprint, seal_seed
from unpooled_compensator import state

from .conftest import Caller, Federation, unchecked


def refusal(response: httpx.Response) -> tuple[int, str]:
    error = response.json()["error"]
    assert error["message"] and error["remedy"]
    return response.status_code, error["code"]


def with_box(enrolment: Enrolment, index: int, box: Box) -> Enrolment:
    boxes = list(enrolment.boxes)
    boxes[index] = box
    return replace(enrolment, boxes=tuple(boxes))


def test_three_cohorts_enrol(caller: Caller, federation: Federation) -> None:
    assert caller.enrol(federation.enrolment()).status_code == 201


def test_each_cohort_is_answered_its_own_witness(caller: Caller, federation: Federation) -> None:
    answer = caller.enrol(federation.enrolment())
    assert answer.headers["content-type"] == "application/octet-stream"
    seeds = [federation.seeds[name] for name in sorted(federation.names)]
    keys = oprf.public_key(federation.code_key) + messages.decode(answer.content, Witnesses).code_key
    made = witness.make(seeds, federation.study, federation.plan_hash, federation.roster.hash(), keys)
    assert federation.opened(answer.content) == made
    assert made not in answer.content
    (_, graz), (_, munich), _ = messages.decode(answer.content, Witnesses).sealed
    purpose = federation.enrolment().purpose("Graz", federation.compensator_key)
    for sealed, seed in ((munich, federation.seeds["Graz"]), (graz, federation.seeds["Munich"])):
        with pytest.raises(ProtocolError):
            witness.unsealed(sealed, seed, purpose, keys)


def test_the_same_set_again_is_fine_in_any_order(
    make_caller: Callable[..., Caller], caller: Caller, federation: Federation
) -> None:
    enrolment = federation.enrolment()
    first = caller.enrol(enrolment)
    assert first.status_code == 201
    caller.release(federation.request())
    for current in (caller, make_caller()):
        for again in (enrolment, replace(enrolment, boxes=enrolment.boxes[::-1])):
            answer = current.enrol(again)
            assert (answer.status_code, answer.content) == (200, first.content)


@pytest.mark.parametrize("what", ["plan", "roster", "seeds"])
def test_a_newer_set_takes_the_place_of_one_that_nothing_was_answered_with(
    caller: Caller, enrolled: Federation, what: str
) -> None:
    if what == "plan":
        enrolled.plan_hash = os.urandom(32)
    elif what == "roster":
        enrolled.signers["Graz"] = SigningKey.generate()
    enrolled.seeds["Graz"] = os.urandom(32)
    answer = caller.enrol(enrolled.enrolment())
    assert answer.status_code == 201
    assert enrolled.opened(answer.content)
    request = enrolled.request()
    assert caller.release(request).content == enrolled.sum_of_masks(request)


def test_an_invalid_set_takes_no_place(caller: Caller, enrolled: Federation) -> None:
    for what, forged in forgeries(enrolled.enrolment(), enrolled).items():
        if what != "for another study":
            assert refusal(caller.enrol(forged)) == (400, "invalid_box"), what
    request = enrolled.request()
    assert caller.release(request).content == enrolled.sum_of_masks(request)


def released(caller: Caller, federation: Federation) -> httpx.Response:
    return caller.release(federation.request())


def compared(caller: Caller, federation: Federation) -> httpx.Response:
    request = federation.opening()
    return caller.open(
        request, bytes(two_party.lengths(request.scheme, request.circuit, request.words).server[0])
    )


def coded(caller: Caller, federation: Federation) -> httpx.Response:
    return caller.codes(federation.codes("Graz", oprf.point(b"a word")))


@pytest.mark.parametrize("ask", [released, compared, coded])
def test_after_the_first_answer_another_set_of_boxes_is_refused(
    make_caller: Callable[..., Caller],
    caller: Caller,
    enrolled: Federation,
    ask: Callable[[Caller, Federation], httpx.Response],
) -> None:
    assert ask(caller, enrolled).status_code == 200
    other = Federation(enrolled.compensator_key)
    for current in (caller, make_caller()):
        assert refusal(current.enrol(enrolled.enrolment())) == (409, "other_boxes")
        assert refusal(current.enrol(other.enrolment())) == (409, "other_boxes")
    request = enrolled.request(2)
    assert caller.release(request).content == enrolled.sum_of_masks(request)


def test_a_refused_request_does_not_fix_the_boxes(caller: Caller, enrolled: Federation) -> None:
    request = enrolled.request()
    assert refusal(caller.release(replace(request, uploads=request.uploads[1:]))) == (409, "other_cohorts")
    enrolled.plan_hash = os.urandom(32)
    assert caller.enrol(enrolled.enrolment()).status_code == 201


@pytest.mark.parametrize("names", [(), ("Graz",), ("Graz", "Munich")])
def test_fewer_than_three_cohorts_are_refused(
    caller: Caller, key: SealingKey, names: tuple[str, ...]
) -> None:
    federation = Federation(key.public, names=names)
    assert refusal(caller.enrol(federation.enrolment())) == (400, "too_few_cohorts")


def test_more_cohorts_than_a_study_may_have_are_refused(caller: Caller, key: SealingKey) -> None:
    roster = Roster(tuple((f"cohort {k:05}", os.urandom(32)) for k in range(1001)))
    enrolment = Enrolment("study-1", bytes(32), roster, ())
    assert refusal(caller.enrol(enrolment)) == (400, "invalid_message")


def test_a_missing_an_additional_and_a_repeated_box_are_refused(
    caller: Caller, federation: Federation
) -> None:
    enrolment = federation.enrolment()
    first, second, third = enrolment.boxes
    stranger = replace(third, cohort="Nobody")
    for boxes in [
        (first, second),
        (first, second, third, stranger),
        (first, second, stranger),
        (first, second, second),
        (first, first, second, third),
    ]:
        assert refusal(caller.enrol(replace(enrolment, boxes=boxes))) == (400, "wrong_boxes")


def test_a_roster_with_a_name_or_a_key_twice_is_refused(caller: Caller, federation: Federation) -> None:
    enrolment = federation.enrolment()
    graz, munich, tartu = enrolment.roster.members
    for members in [
        (graz, (munich[0], graz[1]), tartu),
        (graz, (graz[0], munich[1]), tartu),
        (graz, graz, tartu),
        (munich, graz, tartu),
    ]:
        forged = unchecked(enrolment, roster=unchecked(enrolment.roster, members=members))
        assert refusal(caller.put("study-1", codec.encode(forged))) == (400, "invalid_message")


def test_a_key_has_32_bytes(caller: Caller, federation: Federation) -> None:
    enrolment = federation.enrolment()
    for key in (b"", bytes(31), bytes(33)):
        roster = Roster((*enrolment.roster.members[:2], ("Tartu", key)))
        assert refusal(caller.enrol(replace(enrolment, roster=roster))) == (400, "invalid_message")


def sealed_for_graz(
    enrolment: Enrolment, federation: Federation, key: bytes, signer: SigningKey
) -> Enrolment:
    seed = federation.seeds["Graz"]
    return with_box(enrolment, 0, seal_seed(seed, enrolment.purpose("Graz", key), signer))


def changed(enrolment: Enrolment, **fields: bytes) -> Enrolment:
    return with_box(enrolment, 0, replace(enrolment.boxes[0], **fields))  # type: ignore[arg-type]


def forgeries(right: Enrolment, federation: Federation) -> dict[str, Enrolment]:
    one, other, third = right.boxes
    elsewhere, stranger = SealingKey.generate().public, SigningKey.generate()
    swapped = (replace(other, cohort=one.cohort), replace(one, cohort=other.cohort), third)
    invented = Roster((*right.roster.members[:2], ("Tartu", os.urandom(32))))
    return {
        "zeros for a signature": changed(right, signature=bytes(64)),
        "noise for a signature": changed(right, signature=os.urandom(64)),
        "no signature": changed(right, signature=b""),
        "another one's signature": changed(right, signature=other.signature),
        "cut": changed(right, sealed=one.sealed[:-1]),
        "longer": changed(right, sealed=one.sealed + b"\0"),
        "empty": changed(right, sealed=b""),
        "tampered with": changed(right, sealed=bytes([one.sealed[0] ^ 1]) + one.sealed[1:]),
        # By whoever knows all public values but not the cohort's signing key.
        "sealed by somebody else": sealed_for_graz(right, federation, federation.compensator_key, stranger),
        "to another compensator": sealed_for_graz(right, federation, elsewhere, federation.signers["Graz"]),
        "swapped": replace(right, boxes=swapped),
        "for another study": replace(right, study="study-2"),
        "for another plan": replace(right, plan_hash=os.urandom(32)),
        "for another roster": replace(right, roster=invented),
    }


def test_forged_boxes_are_refused_and_leave_the_study_free_for_the_right_ones(
    caller: Caller, federation: Federation
) -> None:
    right = federation.enrolment()
    for what, forged in forgeries(right, federation).items():
        assert refusal(caller.enrol(forged)) == (400, "invalid_box"), what
    assert caller.enrol(right).status_code == 201


def test_the_address_and_the_message_name_one_study(caller: Caller, federation: Federation) -> None:
    response = caller.put("study-2", codec.encode(federation.enrolment()))
    assert refusal(response) == (400, "wrong_study")


@pytest.mark.parametrize("study", ["", "a b", "..", "ä", "x" * 101, "a/b"])
def test_a_study_id_is_a_short_plain_word(caller: Caller, key: SealingKey, study: str) -> None:
    response = caller.put("study-1", codec.encode(Federation(key.public, study=study).enrolment()))
    assert response.status_code == 400


@pytest.mark.parametrize("name", ["", "x" * 201])
def test_a_name_is_neither_empty_nor_endless(caller: Caller, key: SealingKey, name: str) -> None:
    federation = Federation(key.public, names=(name, "Munich", "Tartu"))
    assert refusal(caller.enrol(federation.enrolment())) == (400, "invalid_message")


def test_names_may_be_of_any_script(caller: Caller, key: SealingKey) -> None:
    federation = Federation(key.public, names=("Ærø", "東京", "Ῥόδος"))
    assert caller.enrol(federation.enrolment()).status_code == 201
    request = federation.request()
    assert caller.release(request).content == federation.sum_of_masks(request)


def test_only_known_keys_enrol_where_the_operator_keeps_a_list(
    make_caller: Callable[..., Caller], federation: Federation, tmp_path: Path
) -> None:
    known = tmp_path / "known"
    graz, munich, tartu = (federation.signers[name].public for name in federation.names)
    known.write_text(f"# ours\n{graz.hex()}  # Graz\n\n{fingerprint(munich)}\n")
    caller = make_caller(known_keys=lambda: state.known_keys(known))
    response = caller.enrol(federation.enrolment())
    assert refusal(response) == (403, "unknown_key")
    assert "Tartu" in response.text and "Graz" not in response.text
    with known.open("a") as more:  # no restart is needed
        more.write(fingerprint(tartu).replace(" ", "").upper())
    assert caller.enrol(federation.enrolment()).status_code == 201


def test_a_spoilt_list_of_known_keys_lets_nobody_in(
    make_caller: Callable[..., Caller], federation: Federation, tmp_path: Path
) -> None:
    known = tmp_path / "known"
    caller = make_caller(known_keys=lambda: state.known_keys(known))
    for text in (None, "graz 12\n"):
        if text is not None:
            known.write_text(text)
        assert refusal(caller.enrol(federation.enrolment())) == (503, "storage")


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
