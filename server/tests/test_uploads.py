"""Shares: bad ones are refused with the right status, and leave nothing on disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cohort_client import RAW, Client
from federation_fixtures import Federation, work

from unpooled.protocol.messages import Question
from unpooled_server.errors import Conflict, Refused, Unauthorized
from unpooled_server.models import Cohort, Round, Share, Study
from unpooled_server.services import invitations, studies, transitions, uploads
from unpooled_server.storage import store

Make = Callable[..., Federation]


@pytest.fixture
def asked(trial: Federation) -> Question:
    trial.running()
    return trial.clients[0].questions().items[0]


def share(trial: Federation, question: Question, client: int = 0) -> tuple[bytes, str]:
    sender = trial.clients[client]
    return sender.share(question, trial.cohort(sender, sender.questions().panel_digest))


def put(client: Client, round_id: int, data: bytes, nonce: str = "", **headers: str) -> Any:
    nonce = nonce or os.urandom(16).hex()
    return client.call(
        "PUT", f"shares/{round_id}", content=data, headers={**RAW, "Unpooled-Nonce": nonce, **headers}
    )


def files_of(trial: Federation) -> list[Path]:
    return sorted((store.study_folder(trial.study_id) / "shares").glob("*"))


def assert_nothing_stored(trial: Federation) -> None:
    assert files_of(trial) == []
    assert [path.name for path in (store.study_folder(trial.study_id)).glob("shares/.*")] == []
    assert not Share.objects.exists()


@pytest.mark.services
def test_a_share_is_taken_once_and_then_answered_as_done(trial: Federation, asked: Question) -> None:
    data, nonce = share(trial, asked)
    client = trial.clients[0]
    assert put(client, asked.round, data, nonce).status_code == 201
    assert put(client, asked.round, data, nonce).status_code == 200
    assert put(client, asked.round, *share(trial, asked)).status_code == 200
    assert Share.objects.get().nonce == nonce
    assert [path.read_bytes() for path in files_of(trial)] == [data]
    assert asked.round not in [question.round for question in client.questions().items]


def test_a_share_of_an_aggregated_round_is_answered_as_done(trial: Federation, asked: Question) -> None:
    data, nonce = share(trial, asked)
    trial.answer()
    work()
    assert Round.objects.get(pk=asked.round).state == "aggregated"
    assert put(trial.clients[0], asked.round, data, nonce).status_code == 200


def test_a_body_that_ends_before_its_announced_length_is_refused(trial: Federation, asked: Question) -> None:
    data, nonce = share(trial, asked)
    answer = put(trial.clients[0], asked.round, data[:-1], nonce, **{"Content-Length": str(len(data))})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "truncated")
    assert_nothing_stored(trial)


def test_a_body_without_a_length_is_refused(trial: Federation, asked: Question) -> None:
    data, nonce = share(trial, asked)
    answer = trial.clients[0].call(
        "PUT", f"shares/{asked.round}", content=iter([data]), headers={**RAW, "Unpooled-Nonce": nonce}
    )
    assert (answer.status_code, answer.json()["error"]["code"]) == (411, "no-length")
    assert_nothing_stored(trial)


ENCODED, ANOTHER_TYPE = (("Content-Encoding", 415, "encoding"), ("Content-Type", 415, "type"))
WITHOUT_A_NONCE = ("Unpooled-Nonce", 400, "no-nonce")
ODD_HEADERS = {
    ENCODED: ["gzip", "br", "identity", "x"],
    ANOTHER_TYPE: ["application/json", "text/plain", "multipart/form-data; boundary=x", ""],
    WITHOUT_A_NONCE: ["0", "0" * 31, "0" * 33, "G" * 32, "../../../../../../etc/passwd0000"],
}


@pytest.mark.parametrize("refused", ODD_HEADERS)
def test_odd_headers_are_refused(trial: Federation, asked: Question, refused: tuple[str, int, str]) -> None:
    name, *answered = refused
    for value in ODD_HEADERS[refused]:
        answer = put(trial.clients[0], asked.round, *share(trial, asked), **{name: value})
        assert [answer.status_code, answer.json()["error"]["code"]] == answered, value
        assert_nothing_stored(trial)


@pytest.mark.services
def test_an_unknown_round_is_refused(trial: Federation) -> None:
    trial.running()
    headers = {**RAW, "Unpooled-Nonce": "0" * 32}
    for number in ("0", "999999999", "9" * 30, "-1", "x"):
        answer = trial.clients[0].call("PUT", f"shares/{number}", content=b"1234", headers=headers)
        assert answer.status_code == 404, number


def test_new_bytes_under_an_old_nonce_are_refused(trial: Federation, asked: Question) -> None:
    data, nonce = share(trial, asked)
    client = trial.clients[0]
    path = store.share_path(trial.study_id, asked.round, cohort_id(trial, "Graz"), nonce)
    store.keep_share(path, iter([data]), len(data))  # the server was killed before the row was committed
    other = bytes(len(data))
    answer = put(client, asked.round, other, nonce)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "nonce-used")
    assert path.read_bytes() == data
    assert put(client, asked.round, data, nonce).status_code == 201


def test_what_a_power_failure_left_of_a_share_is_replaced(trial: Federation, asked: Question) -> None:
    data, nonce = share(trial, asked)
    path = store.share_path(trial.study_id, asked.round, cohort_id(trial, "Graz"), nonce)
    path.parent.mkdir(parents=True)
    path.write_bytes(data[:10])
    assert put(trial.clients[0], asked.round, data, nonce).status_code == 201
    assert files_of(trial) == [path]
    assert path.read_bytes() == data


def test_equal_nonces_of_two_cohorts_do_not_meet(trial: Federation, asked: Question) -> None:
    for number in (0, 1):
        data, _ = share(trial, asked, number)
        assert put(trial.clients[number], asked.round, data, "a" * 32).status_code == 201
    assert len(files_of(trial)) == 2


def cohort_id(trial: Federation, name: str) -> int:
    return int(trial.study.cohorts.get(name=name).pk)


def test_a_share_for_an_ended_study_is_told_that_it_is_over(trial: Federation, asked: Question) -> None:
    data, nonce = share(trial, asked)
    studies.abort(trial.study, "coordinator")
    answer = put(trial.clients[0], asked.round, data, nonce)
    assert (answer.status_code, answer.json()["error"]["code"]) == (410, "study-over")
    assert_nothing_stored(trial)


def test_a_share_while_paused_is_taken(trial: Federation, asked: Question) -> None:
    studies.pause_by_request(trial.study, "coordinator")
    assert put(trial.clients[0], asked.round, *share(trial, asked)).status_code == 201
    assert trial.clients[0].questions().items == ()


@pytest.mark.services
def test_a_share_that_was_received_while_another_one_was_committed_counts_nothing(
    trial: Federation, asked: Question
) -> None:
    from unpooled_server.services import uploads

    cohort = trial.study.cohorts.get(name="Graz")
    (first, nonce), (second, other) = share(trial, asked), share(trial, asked)
    assert uploads.commit(cohort, asked.round, nonce, iter([first]), len(first))
    assert not uploads.commit(cohort, asked.round, other, iter([second]), len(second))
    assert [path.read_bytes() for path in files_of(trial)] == [first]
    assert Share.objects.get().nonce == nonce


def test_nothing_is_taken_after_a_failure(trial: Federation, asked: Question) -> None:
    transitions.fail(trial.study_id, "for a test")
    assert put(trial.clients[0], asked.round, *share(trial, asked)).status_code == 410
    assert trial.clients[0].questions().state == "failed"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[]", 400),
        (b"[" * 60_000, 400),
        (b"\xff", 400),
        (b"{}", 400),
        (b'{"key": 5}', 400),
        (b'{"key": "zz"}', 400),
        (b'{"key": "' + b"a" * 62 + b'"}', 400),
        (b'{"key": "' + b"a" * 70_000 + b'"}', 413),
    ],
)
def test_a_bad_message_is_refused(federation: Make, body: bytes, status: int) -> None:
    client = federation().clients[0]
    answer = client.call("POST", "join", content=body)
    assert answer.status_code == status, answer.text
    assert client.study()["cohort_state"] == "invited"
    assert client.call("POST", "join", content=b"{}", headers={"Content-Encoding": "gzip"}).status_code == 415


def reissue(study: Study, cohort: Cohort, who: str) -> None:
    invitations.reissue(study, cohort, "https://studies.example.org", who)


@pytest.mark.services
@pytest.mark.parametrize(
    ("how", "refusal"),
    [(reissue, Unauthorized), (invitations.revoke, Conflict)],  # the latter asks all rounds anew
)
def test_a_token_that_is_revoked_in_the_middle_of_a_share_stores_nothing(
    trial: Federation, asked: Question, how: Callable[..., None], refusal: type[Refused]
) -> None:
    data, nonce = share(trial, asked)
    cohort = Cohort.objects.select_related("study").get(name="Graz")

    def body() -> Iterator[bytes]:
        yield data[:10]
        how(trial.study, Cohort.objects.get(name="Graz"), "coordinator")
        yield data[10:]

    with pytest.raises(refusal):
        uploads.commit(cohort, asked.round, nonce, body(), len(data))
    assert_nothing_stored(trial)


def test_a_full_disk_loses_nothing_and_says_so(
    trial: Federation, asked: Question, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, nonce = share(trial, asked)
    really = Path.open

    def on_a_full_disk(path: Path, mode: str = "r", *more: Any) -> Any:
        return really(Path("/dev/full"), "wb") if "x" in mode else really(path, mode, *more)

    with monkeypatch.context() as full:
        full.setattr(Path, "open", on_a_full_disk)
        answer = put(trial.clients[0], asked.round, data, nonce)
    assert answer.status_code == 507 and answer.json()["error"]["code"] == "disk-full"
    assert_nothing_stored(trial)
    assert put(trial.clients[0], asked.round, data, nonce).status_code == 201
