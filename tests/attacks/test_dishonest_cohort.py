"""A dishonest cohort: whoever holds an invitation of a study sends what no client does, to real programs.

Nothing of it is recorded, and the study ends with the same bytes. Four guards are taken away once, and their
attacks succeed: forged seals, lists without end, free text for a problem, a share of whom is no longer
admitted. Others are not: a token names study and cohort, so there is no way to name others; equal messages
at once meet a constraint of the database; no body is decompressed, whatever its headers say; and a share of
another length would only fail its round.
"""

from __future__ import annotations

import functools
import json
import os
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from unpooled.methods import check
from unpooled.panel.panel import Panel
from unpooled.plan.plan import Plan
from unpooled.protocol.invitation import Invitation
from unpooled.protocol.sealing import Purpose, SigningKey, seal_seed

from .. import launch
from ..federation import Federation, Trial
from ..leaks import GUARDS
from ..patience import PATIENCE, until
from ..relay import Exchange, Message, Relay
from .scripted import Scripted

RAW = {"Content-Type": "application/octet-stream"}
FREE_TEXT = "Anna Novak has the disease"


# A study that runs, and waits for this cohort alone


@pytest.fixture
def waiting(running: Federation, small: tuple[Path, ...]) -> Iterator[Trial]:
    """Its genotypes were counted by all others; the answer of the last cohort's client is held back."""
    trial = running.study(small)
    gate = trial.cohorts[-1].gate(launch.PUT_SHARE)
    gate.close(passing=1)
    trial.start()
    trial.until(lambda: gate.is_reached and len(open_rounds(trial)) == 1, "the study waits for one cohort")
    yield trial
    trial.stop()


def open_rounds(trial: Trial) -> list[tuple[int, int]]:
    """Rounds that only the last cohort has not answered, and the bytes of a share."""
    query = (
        "SELECT r.id, max(s.size) FROM unpooled_server_round r "
        "JOIN unpooled_server_share s ON s.round_id = r.id WHERE r.study_id = ? AND r.state = ? "
        "GROUP BY r.id HAVING count(*) = 2 ORDER BY max(s.size) DESC"
    )
    return trial.federation.rows(query, trial.id, "open")[:1]


def as_its_client(trial: Trial) -> Scripted:
    """Return an attacker with the last cohort's token and signing key, as if it were its client."""
    cohort = trial.cohorts[-1]
    state = json.loads((cohort.folder / "state" / "state.json").read_bytes())
    return Scripted(cohort.invitation, SigningKey(bytes.fromhex(state["signing_key"])), state["instance"])


def put_share(attacker: Scripted, number: int, data: bytes, **headers: str) -> httpx.Response:
    nonce = {"Unpooled-Nonce": os.urandom(16).hex()}
    return attacker.call("PUT", f"shares/{number}", content=data, headers=RAW | nonce | headers)


def code(answer: httpx.Response) -> str:
    return f"{answer.status_code} {answer.json()['error']['code']}"


def recorded(trial: Trial) -> tuple[set[Any], set[str]]:
    """Rows, and files, of shares."""
    return trial.shares(), {path.name for path in shares_folder(trial).glob("*")}


def shares_folder(trial: Trial) -> Path:
    return trial.federation.home / "studies" / trial.id / "shares"


def test_nothing_is_recorded_that_is_not_asked_for(
    waiting: Trial, running: Federation, small: tuple[Path, ...], undisturbed: dict[str, bytes]
) -> None:
    attacker, before = as_its_client(waiting), recorded(waiting)
    ((number, size),) = open_rounds(waiting)
    share = functools.partial(put_share, attacker)
    answered = min(round_id for round_id, _, _ in before[0])
    elsewhere = running.rows(
        "SELECT id FROM unpooled_server_round WHERE study_id <> ? ORDER BY id DESC", waiting.id
    )
    assert code(share(number, os.urandom(size - 1))) == "400 wrong-length"
    assert code(share(number, b"")) == "400 wrong-length"
    assert code(share(number, os.urandom(size + 1))) == "413 wrong-length"
    assert code(share(number, bytes(8 << 20))) == "413 wrong-length"
    assert code(share(number, os.urandom(size), **{"Content-Encoding": "gzip"})) == "415 encoding"
    assert code(share(number + 10**6, os.urandom(size))) == "404 no-such-round"
    for (other,) in elsewhere[:3]:
        assert code(share(other, os.urandom(size))) == "404 no-such-round"
    assert share(answered, os.urandom(size)).status_code == 200, "done already: what comes again is not read"
    assert code(share(number, os.urandom(size), **{"Unpooled-Nonce": "../" * 10})) == "400 no-nonce"
    assert code(attacker.call("POST", "timing", json={"x": "y" * (1 << 16)})) == "413 too-large"
    digest = Panel.of([(1, 1, b"rs1", b"A", b"C")]).digest.hex()
    assert code(attacker.call("PUT", "panel/digest", json={"digest": digest})) == "409 panel-agreed"
    stranger = Scripted(replace(attacker.invitation, token="t" * 43))
    assert code(put_share(stranger, number, os.urandom(size))) == "401 unknown-token"
    second = Scripted(attacker.invitation)
    assert code(put_share(second, number, os.urandom(size))) == "409 second-client"
    for name in ("study.assoc", "panel.bin", "..%2F..%2Fdb.sqlite3"):
        assert attacker.call("GET", f"results/{name}").status_code == 404
    assert recorded(waiting) == before

    waiting.cohorts[-1].gate(launch.PUT_SHARE).open()
    waiting.until_over()
    assert waiting.cohorts[0].results() == undisturbed
    late = Scripted(attacker.invitation, instance=attacker.instance)
    assert code(late.join()) == "410 study-over"


def test_nothing_is_recorded_of_whom_is_revoked_in_mid_request(
    waiting: Trial, undisturbed: dict[str, bytes]
) -> None:
    before, cohort = recorded(waiting), waiting.cohorts[-1]
    invitation, answer = share_of_whom_is_revoked(waiting)
    assert answer.startswith(b"HTTP/1.1 401 ") and b"revoked-token" in answer
    assert recorded(waiting) == before
    # With its new invitation, the cohort goes on.
    cohort.party.kill()
    cohort.gate(launch.PUT_SHARE).open()
    cohort.renew(invitation)
    cohort.party.spawn()
    waiting.until_over()
    assert waiting.cohorts[0].results() == undisturbed


def share_of_whom_is_revoked(trial: Trial) -> tuple[Invitation, bytes]:
    """The answer to a share of which the second half comes after the invitation was replaced, by which."""
    attacker, folder = as_its_client(trial), shares_folder(trial)
    ((number, size),) = open_rounds(trial)
    assert size > 16 << 10, "smaller bodies are gathered before a view sees them"
    with begun(attacker, "PUT", f"shares/{number}", size) as connection:
        connection.sendall(os.urandom(size // 2))
        until(
            lambda: list(folder.glob(".*")), lambda: f"the share is not read\n{trial.federation.web.said()}"
        )
        issued = trial.call("POST", f"invitations/{attacker.study()['cohort']}/reissue")
        connection.sendall(os.urandom(size - size // 2))
        return Invitation.from_text(issued["invitation"]), answer_on(connection)


@contextmanager
def begun(attacker: Scripted, method: str, path: str, size: int) -> Iterator[socket.socket]:
    """A request of which nothing but the head was sent; its body is to have so many bytes."""
    headers = attacker.headers | RAW | {"Unpooled-Nonce": os.urandom(16).hex(), "Content-Length": str(size)}
    lines = [f"{method} /api/v1/cohort/{path} HTTP/1.1", "Host: 127.0.0.1", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    where = urlsplit(attacker.invitation.server)
    with socket.create_connection((where.hostname, where.port), 30) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        yield connection


def answer_on(connection: socket.socket) -> bytes:
    with connection.makefile("rb") as answer:
        return answer.read()


# Everything at once


def test_what_comes_eight_times_at_once_is_recorded_once(
    running: Federation, small: tuple[Path, ...], undisturbed: dict[str, bytes]
) -> None:
    """Each message of one cohort: its key, acceptance, list, and shares."""
    trial, relay = running.study(small), Relay(running.address)
    trial.cohorts[-1].through(relay.url)
    pool, several = ThreadPoolExecutor(8), list[list[Exchange]]()

    send = relay.send

    def send_at_once(request: Message) -> Message:
        if request.line.startswith("GET"):
            return send(request)
        barrier = threading.Barrier(8)

        def one(_: int) -> Message:
            barrier.wait(PATIENCE)
            return send(request)

        answers = list(pool.map(one, range(8)))
        several.append([Exchange(request, answer) for answer in answers])
        return min(answers, key=lambda answer: answer.line)

    relay.send = send_at_once  # type: ignore[method-assign]
    trial.start()
    trial.until_over()
    relay.close()
    assert trial.cohorts[0].results() == undisturbed
    kinds = {exchanges[0].request.line.split("/")[4].split(" ")[0] for exchanges in several}
    assert kinds >= {"join", "accept", "panel", "shares"}
    lost = {exchange.status for exchanges in several for exchange in exchanges} - {200, 201}
    assert lost <= {503}, lost  # a list that is coming in already
    shares = trial.shares()
    assert len({(round_id, cohort) for round_id, cohort, _ in shares}) == len(shares)
    for once in ("joined with key", "accepted the plan and the roster"):
        assert trial.log().count(once) == len(trial.cohorts)


# A study that has not begun


@pytest.fixture
def opened(running: Federation) -> Iterator[tuple[Trial, list[Scripted]]]:
    """Three cohorts that have joined and are all the attacker's to script."""
    trial = running.study([Path("none")] * 3)
    cohorts = [Scripted(cohort.invitation) for cohort in trial.cohorts]
    for cohort in cohorts:
        assert cohort.join().is_success
    yield trial, cohorts
    trial.call("POST", "abort")


def acceptance(cohort: Scripted, signer: SigningKey) -> dict[str, str]:
    seen = cohort.study()
    plan, roster_hash = Plan.from_json(seen["plan"]), seen["roster_hash"]
    check(plan)
    about = seen["study"]["id"], plan.hash(), bytes.fromhex(roster_hash), seen["cohort"]
    box = seal_seed(os.urandom(32), Purpose(*about, plan.compensator_key), signer)
    return {
        "plan_hash": plan.hash().hex(),
        "roster_hash": roster_hash,
        "box": box.sealed.hex(),
        "signature": box.signature.hex(),
    }


def forged(cohort: Scripted) -> httpx.Response:
    """A seal in this cohort's name that somebody else has signed."""
    return cohort.call("POST", "accept", json=acceptance(cohort, SigningKey.generate()))


def reported(trial: Trial, cohort: Scripted) -> bool:
    """Tell whether free text from a cohort reaches the coordinator."""
    cohort.call("POST", "problem", json={"code": "data", "name": FREE_TEXT})
    return FREE_TEXT in trial.log() + trial.reason


def lists_kept(trial: Trial, cohort: Scripted) -> int:
    """Count the lists on the server's disk after a cohort has sent several."""
    for position in range(1, 6):
        own = Panel.of([(1, position, b"rs1", b"A", b"C")])
        wanted = cohort.call("PUT", "panel/digest", json={"digest": own.digest.hex()}).json()["list_wanted"]
        assert wanted
        assert cohort.call("PUT", "panel/list", content=own.canonical, headers=RAW).status_code == 201
    return len(list((trial.federation.home / "studies" / trial.id / "lists").glob("*.bin")))


def test_before_the_start_nothing_is_believed_either(opened: tuple[Trial, list[Scripted]]) -> None:
    trial, (cohort, other, _) = opened
    assert code(forged(cohort)) == "400 bad-box"
    theirs = acceptance(other, other.key)
    assert code(cohort.call("POST", "accept", json=theirs)) == "400 bad-box"
    assert (
        code(cohort.call("POST", "accept", json=theirs | {"roster_hash": "0" * 64})) == "409 roster-changed"
    )
    assert code(cohort.call("POST", "join", json={"key": other.key.public.hex()})) == "409 key-taken"
    assert trial.states() == ["joined"] * 3
    own = Panel.of([(1, 1, b"rs1", b"A", b"C")]).digest.hex()
    assert code(cohort.call("PUT", "panel/digest", json={"digest": own})).startswith("409 ")
    assert cohort.call("POST", "accept", json=acceptance(cohort, cohort.key)).is_success
    assert lists_kept(trial, cohort) == 1
    with begun(cohort, "PUT", "panel/list", 10**12) as connection:
        assert answer_on(connection).startswith(b"HTTP/1.1 413 ")
    gzip = RAW | {"Content-Encoding": "gzip"}
    assert code(cohort.call("PUT", "panel/list", content=b"1", headers=gzip)) == "415 encoding"
    assert not reported(trial, cohort)
    told = {"code": FREE_TEXT, "name": ""}
    assert code(cohort.call("POST", "problem", json=told)) == "400 unknown-problem"
    assert FREE_TEXT not in trial.log()


# Where the guards are taken away


@contextmanager
def weakened(running: Federation) -> Iterator[None]:
    try:
        running.stub("web", GUARDS)
        running.web.restart()
        yield
    finally:
        running.stub("web", {})
        running.web.restart()


def test_a_weakened_platform_records_it(waiting: Trial, opened: tuple[Trial, list[Scripted]]) -> None:
    before = recorded(waiting)
    trial, (cohort, *_) = opened
    with weakened(waiting.federation):
        _, answer = share_of_whom_is_revoked(waiting)
        assert answer.startswith(b"HTTP/1.1 201 ")
        assert len(recorded(waiting)[0] - before[0]) == 1
        assert forged(cohort).is_success and "ready" not in trial.states()
        assert lists_kept(trial, cohort) == 5
        assert reported(trial, cohort)
