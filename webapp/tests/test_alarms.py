"""Operators are told once when something begins, once when it ends, and by whichever way they want."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.core.management import call_command
from receiver import Receiver

from unpooled_server.services import sweeping
from unpooled_webapp.notices import webhooks
from unpooled_webapp.operating import alarms, probes

pytestmark = pytest.mark.django_db
OPERATOR = "operator@example.org"


@pytest.fixture
def platform(platform: Any) -> Any:
    """A platform that is well, and whose operators have an address."""
    platform.UNPOOLED_OPERATORS = [OPERATOR]
    platform.UNPOOLED_MAIL_URL = "smtp://localhost"
    platform.UNPOOLED_PUBLIC_URL = "https://studies.example.org"
    probes._of_compensator.cache_clear()
    sweeping.sweep()
    return platform


def subjects() -> list[str]:
    return [sent.subject for sent in mail.outbox]


def test_a_compensator_that_is_away_for_five_minutes(platform: Any) -> None:
    here = platform.UNPOOLED_COMPENSATOR_URL
    alarms.look(0)
    platform.UNPOOLED_COMPENSATOR_URL = "http://127.0.0.1:1"
    probes._of_compensator.cache_clear()
    for now in (100, 399):
        alarms.look(now)
    assert subjects() == []
    for now in (400, 415, 430):
        alarms.look(now)
    (begun,) = mail.outbox
    assert begun.to == [OPERATOR] and "has not answered for five minutes" in begun.subject
    assert platform.UNPOOLED_PUBLIC_URL in begun.body
    platform.UNPOOLED_COMPENSATOR_URL = here
    probes._of_compensator.cache_clear()
    for now in (445, 460):
        alarms.look(now)
    assert subjects()[1:] == ["Unpooled: The compensator answers again."]


def test_one_that_is_back_sooner_is_nobodys_concern(platform: Any) -> None:
    here = platform.UNPOOLED_COMPENSATOR_URL
    for now, address in ((0, "http://127.0.0.1:1"), (200, here), (400, "http://127.0.0.1:1"), (699, here)):
        platform.UNPOOLED_COMPENSATOR_URL = address
        probes._of_compensator.cache_clear()
        alarms.look(now)
    assert subjects() == []


def test_a_sweep_that_is_silent_until_there_is_one(platform: Any) -> None:
    swept = Path(platform.UNPOOLED_HOME) / "swept"
    os.utime(swept, (0, 0))
    for now in (0, 15):
        alarms.look(now)
    sweeping.sweep()
    alarms.look(30)
    assert [text[:24] for text in subjects()] == ["Unpooled: No worker has ", "Unpooled: A worker looks"]


def test_a_disk_that_fills_and_a_mail_server_that_is_away(
    platform: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(platform.UNPOOLED_HOME)
    monkeypatch.setattr(alarms, "LOW", 2 * usage.free / usage.total)
    platform.UNPOOLED_MAIL_URL = ""
    alarms.look(0)
    assert subjects() == []
    platform.UNPOOLED_MAIL_URL = "smtp://localhost"
    for now in (15, 30):  # it is told by the next look
        alarms.look(now)
    assert len(subjects()) == 1
    monkeypatch.setattr(alarms, "LOW", 0.0)
    alarms.look(45)
    assert len(subjects()) == 2


def test_a_database_that_belongs_elsewhere(platform: Any) -> None:
    marker = Path(platform.UNPOOLED_HOME) / "installation"
    alarms.look(0)
    own = marker.read_text()
    marker.write_text("another")
    alarms.look(15)
    marker.write_text(own)
    alarms.look(30)
    assert [text.endswith("again.") for text in subjects()] == [False, True]


def test_an_operators_webhook_is_signed_with_the_secret_that_is_shown(
    platform: Any, receiver: Receiver, capsys: pytest.CaptureFixture[str]
) -> None:
    platform.UNPOOLED_OPERATORS = [receiver.url]
    call_command("operators")
    ((headers, body),) = receiver.got
    assert json.loads(body)["event"] == "trial"
    channel = alarms.channel(receiver.url)
    sent_at = int(headers["webhook-timestamp"])
    signed = webhooks.signed(channel, headers["webhook-id"], body, sent_at)
    assert headers["webhook-signature"] == signed["webhook-signature"]
    assert f"{receiver.url}: told   {webhooks.secret(channel)}" in capsys.readouterr().out
