"""Codes of words: who gets them, when, and what a server that lies about them has of it."""

from __future__ import annotations

import httpx
import numpy as np
import pytest
from cohort_client import RAW, Client
from compared_fixtures import Compared
from federation_fixtures import Federation, work

from unpooled.asking.cohort import ArrayTable
from unpooled.methods.tables.encoding.reading import categories_of
from unpooled.plan.categories import Words
from unpooled.plan.plan import Plan
from unpooled.protocol import messages
from unpooled.protocol.codes import Blinding, checked
from unpooled.protocol.oprf import POINT_BYTES
from unpooled_server.models import Study, Traffic

MOST = 4
SCHEMA = [
    {"name": "id", "type": "text"},
    {"name": "drug", "type": "category", "encoding": "one-hot", "most": MOST},
]
WORDS = ["aspirin", "ibuprofen"]


@pytest.fixture
def begun(study_of_tables: Compared) -> Federation:
    """A study whose rows are counted: its seeds are with the compensator."""
    trial = study_of_tables("encode", opens="sums", schema=SCHEMA)
    for client in trial.clients:
        words = {"drug": Words.of(WORDS * 20)}
        values = np.zeros((40, 0))
        client.data = ArrayTable(values, words, categories_of(words, values, plan_of(client)))  # type: ignore[assignment]
    trial.running()
    return trial


@pytest.fixture
def enrolled(begun: Federation) -> Federation:
    begun.answer()
    work()
    assert begun.study.enrolled
    return begun


def plan_of(client: Client) -> Plan:
    return Plan.from_json(client.study()["plan"])


def blinding(client: Client, *words: str) -> Blinding:
    return Blinding(client.name.encode().ljust(32), "study/drug", words or WORDS, MOST)


def about(client: Client, points: bytes, column: int = 1) -> bytes:
    return messages.signed_points(client.purpose, column, points)


def signed(client: Client, points: bytes, column: int = 1) -> str:
    return client.key.sign(about(client, points, column)).hex()


def ask(client: Client, points: bytes, signature: str = "", column: int = 1) -> httpx.Response:
    headers = RAW | {"Unpooled-Signature": signature or signed(client, points, column)}
    return client.call("PUT", f"codes/{column}", content=points, headers=headers)


def codes_of(client: Client) -> np.ndarray:
    own = blinding(client)
    points, answer = own.points(), ask(client, own.points()).content
    keys = client.questions().code_keys
    return own.codes(checked(client.seed, keys, about(client, points), points, answer), 40)


def refusal(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


@pytest.mark.services
def test_cohorts_have_the_same_codes_for_the_same_words(enrolled: Federation) -> None:
    found = [codes_of(client) for client in enrolled.clients]
    assert len(set(map(bytes, found))) == 1
    assert len(set(found[0])) == len(WORDS)
    counted = Traffic.objects.get(study=enrolled.study_id, party="compensator", phase="rounds")
    assert counted.sent > len(found) * MOST * POINT_BYTES


def test_the_key_is_gone_with_the_study(enrolled: Federation) -> None:
    from unpooled_server.services import studies

    client = enrolled.clients[0]
    assert ask(client, blinding(client).points()).status_code == 200
    assert enrolled.study.code_key
    studies.abort(enrolled.study, "coordinator")
    assert Study.objects.get(pk=enrolled.study_id).code_key == b""
    work()
    assert ask(client, blinding(client).points(), "0" * 128).status_code == 410


def test_nobody_has_codes_before_a_round_was_released(begun: Federation) -> None:
    client = begun.clients[0]
    assert refusal(ask(client, blinding(client).points())) == (409, "not-enrolled")


def test_what_is_no_request_is_refused(enrolled: Federation) -> None:
    client, other = enrolled.clients[:2]
    points = blinding(client).points()
    assert refusal(ask(client, points[:-1], "0" * 128)) == (400, "wrong-length")
    assert refusal(ask(client, points + points, "0" * 128)) == (413, "wrong-length")
    assert refusal(ask(client, points, "0" * 128)) == (409, "codes-refused")
    assert refusal(ask(client, points, signed(other, points))) == (409, "codes-refused")
    assert refusal(ask(client, points, signed(client, points, column=0))) == (409, "codes-refused")
    assert refusal(ask(client, points, "no signature")) == (400, "no-signature")
    assert refusal(ask(client, points, "0" * 128, column=0)) == (404, "no-such-column")
    assert refusal(ask(client, points, "0" * 128, column=9)) == (404, "no-such-column")
    no_points = bytes(len(points))
    assert refusal(ask(client, no_points)) == (400, "bad-points")
    assert ask(client, points).status_code == 200
    others = blinding(client, "warfarin").points()
    assert refusal(ask(client, others)) == (409, "codes-refused")
    assert ask(client, points).status_code == 200
