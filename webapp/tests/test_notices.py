"""Notices to people about their studies: who asks for one, how it gets there, and where it never goes."""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import httpx
import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core import mail
from django.db import connection
from django.utils import timezone
from federation_fixtures import Federation
from receiver import Receiver
from signing_in import PASSWORD, Http, signed_in

from tests.patience import PATIENCE, until
from unpooled_server.models import Study
from unpooled_server.names import PauseKind, StudyState
from unpooled_server.services import transitions
from unpooled_webapp import accounts
from unpooled_webapp.models import Channel, Delivery, Event, Following, Outcome
from unpooled_webapp.notices import delivering, webhooks

EVERYTHING = ["done", "failed", "paused", "waited-for"]


@pytest.fixture
def owner(platform: Any) -> User:
    platform.UNPOOLED_MAIL_URL = "smtp://localhost"  # Django keeps the mail of tests in memory
    platform.DEFAULT_FROM_EMAIL = "studies@example.org"
    platform.UNPOOLED_PUBLIC_URL = "https://studies.example.org"
    return accounts.create("owner", PASSWORD, accounts.COORDINATOR)


@pytest.fixture
def study(owner: User, federation: Callable[..., Federation]) -> Study:
    """The owner's study, which is said to be running."""
    made = federation().study
    made.owner, made.name, made.state = owner, "Asthma", StudyState.RUNNING
    made.save()
    return made


def add(client: httpx.Client, address: str, **changed: Any) -> dict[str, Any]:
    kind = "webhook" if address.startswith("https:") else "mail"
    body = {"kind": kind, "address": address, "events": EVERYTHING, "all_own": True} | changed
    answer = client.post("/api/v1/account/channels", json=body)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def fails(study: Study) -> None:
    """It fails, and whoever is told of that is told."""
    transitions.fail(study.pk, "for a test")
    delivering.deliver_due()


def told() -> list[tuple[str, str]]:
    return sorted(Delivery.objects.values_list("channel__address", "event"))


def lapse() -> None:
    """All that waits is due: time has passed."""
    Delivery.objects.update(due_at=timezone.now())


# What is told, and to whom


@pytest.mark.parametrize(
    "state, kind, event",
    [
        (StudyState.DONE, PauseKind.NONE, "done"),
        (StudyState.FAILED, PauseKind.NONE, "failed"),
        (StudyState.PAUSED, PauseKind.PROBLEM, "paused"),
        (StudyState.PAUSED, PauseKind.AWAY, "waited-for"),
        (StudyState.ABORTED, PauseKind.NONE, None),
    ],
)
def test_each_state_is_told_once(
    http: Http, study: Study, state: StudyState, kind: PauseKind, event: str | None
) -> None:
    add(signed_in(http), "a@example.org")
    for _ in range(2):  # the second one moves nothing
        transitions.move(study.pk, [StudyState.RUNNING], state, "platform", "moved", pause_kind=kind)
    assert told() == ([("a@example.org", event)] if event else [])


def test_only_what_is_asked_for_is_told(http: Http, study: Study) -> None:
    add(signed_in(http), "a@example.org", events=["failed"])
    transitions.pause(study.pk, PauseKind.ASKED, "for a while")
    assert told() == []
    transitions.fail(study.pk, "for a test")
    assert told() == [("a@example.org", "failed")]


def test_a_cohort_that_is_soon_back_is_not_told_and_one_that_stays_away_is(http: Http, study: Study) -> None:
    add(signed_in(http), "a@example.org")
    transitions.pause(study.pk, PauseKind.AWAY, "Waiting for Tartu.")
    delivering.deliver_due()
    assert (told(), mail.outbox) == ([("a@example.org", "waited-for")], [])
    transitions.resume(study.pk, [PauseKind.AWAY])
    assert told() == []
    transitions.pause(study.pk, PauseKind.AWAY, "Waiting for Tartu.")
    wait = Delivery.objects.get().due_at - timezone.now()
    assert timedelta(minutes=9) < wait <= timedelta(seconds=settings.UNPOOLED_WAITED_SECONDS)
    lapse()
    delivering.deliver_due()
    assert [sent.subject for sent in mail.outbox] == ["Asthma: waits for a cohort"]


@pytest.mark.services
def test_who_follows_a_study_is_told_as_long_as_they_may_see_it(http: Http, study: Study) -> None:
    for name in ("watcher", "former", "stranger"):
        accounts.create(name, PASSWORD, accounts.OBSERVER)
        add(signed_in(http, name), f"{name}@example.org")
    study.observers.set(User.objects.filter(username__in=["watcher", "former"]))
    for name in ("watcher", "former"):
        address = f"/api/v1/studies/{study.pk}/following"
        assert signed_in(http, name).put(address).status_code == 204
    Following.objects.create(user=User.objects.get(username="stranger"), study=study)
    transitions.fail(study.pk, "for a test")
    assert told() == [("former@example.org", "failed"), ("watcher@example.org", "failed")]
    study.observers.remove(User.objects.get(username="former"))
    delivering.deliver_due()
    assert [sent.to for sent in mail.outbox] == [["watcher@example.org"]]
    assert told() == [("watcher@example.org", "failed")]


def test_who_does_not_follow_is_not_told_of_the_studies_of_others(http: Http, study: Study) -> None:
    accounts.create("admin", PASSWORD, accounts.ADMINISTRATOR)
    add(signed_in(http, "admin"), "admin@example.org")
    client = signed_in(http)
    add(client, "mine@example.org", all_own=False)
    client.put(f"/api/v1/studies/{study.pk}/following").raise_for_status()
    assert client.get(f"/api/v1/studies/{study.pk}").json()["is_followed"] is True
    client.delete(f"/api/v1/studies/{study.pk}/following").raise_for_status()
    transitions.fail(study.pk, "for a test")
    assert told() == []


@pytest.mark.services
def test_an_error_of_who_listens_spoils_no_transition(http: Http, study: Study) -> None:
    add(signed_in(http), "a@example.org", events=["failed"])
    Channel.objects.update(events=7)  # no list, which raises
    assert transitions.fail(study.pk, "for a test")
    assert Study.objects.get(pk=study.pk).state == StudyState.FAILED


# Mail


def test_a_mail_says_which_study_how_it_stands_and_where_to_look(http: Http, study: Study) -> None:
    Study.objects.filter(pk=study.pk).update(name="Asthma\r\nBcc: everybody@example.org")
    add(signed_in(http), "a@example.org")
    transitions.fail(study.pk, "Tartu, 317 people: a reason that stays on the platform")
    delivering.deliver_due()
    (sent,) = mail.outbox
    assert (sent.from_email, sent.to, sent.bcc) == ("studies@example.org", ["a@example.org"], [])
    assert sent.subject == "Asthma Bcc: everybody@example.org: failed"
    assert f"https://studies.example.org/studies/{study.pk}\n" in sent.body
    assert "Tartu" not in sent.message().as_string()  # digits could stand in its ID by chance
    assert sent.message().get_all("Bcc") is None


def test_without_a_mail_server_nobody_is_promised_mail(http: Http, owner: User, platform: Any) -> None:
    platform.UNPOOLED_MAIL_URL = ""
    client = signed_in(http)
    assert client.get("/api/v1/account/channels").json() == {"sends_mail": False, "channels": []}
    body = {"kind": "mail", "address": "a@example.org", "events": ["done"], "all_own": True}
    assert client.post("/api/v1/account/channels", json=body).status_code == 409


# Webhooks


def test_a_webhook_is_signed_over_time_and_body_with_the_secret_that_was_shown(
    http: Http, study: Study, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    made = add(signed_in(http), receiver.url)
    transitions.fail(study.pk, "a reason that stays on the platform")
    delivering.deliver_due()
    ((headers, body),) = receiver.got
    number, sent_at = headers["webhook-id"], headers["webhook-timestamp"]
    key = base64.b64decode(made["secret"].removeprefix("whsec_"))
    expected = hmac.new(key, f"{number}.{sent_at}.".encode() + body, hashlib.sha256).digest()
    assert headers["webhook-signature"] == "v1," + base64.b64encode(expected).decode()
    assert abs(int(sent_at) - time.time()) < 60
    said = json.loads(body)
    assert set(said) == {"id", "event", "time", "study", "link"}
    assert said["study"] == {"id": study.pk, "name": "Asthma", "state": "failed"}
    assert said["link"] == f"https://studies.example.org/studies/{study.pk}"
    assert Delivery.objects.get().outcome == Outcome.DELIVERED
    for place in (caplog.text, str(list(Channel.objects.values())), str(list(Delivery.objects.values()))):
        assert made["secret"] not in place
        assert made["secret"].removeprefix("whsec_") not in place


def test_what_is_refused_is_tried_again_later_and_in_the_end_given_up(
    http: Http, study: Study, receiver: Receiver
) -> None:
    receiver.answers = [500]
    client = signed_in(http)
    add(client, receiver.url)
    transitions.fail(study.pk, "for a test")
    waits = []
    for _ in range(10):
        delivering.deliver_due()
        waits.append(round((Delivery.objects.get().due_at - timezone.now()).total_seconds() / 60))
        delivering.deliver_due()  # not before it is due
        lapse()
    assert len(receiver.got) == 1 + len(delivering.PAUSES)
    assert waits[:5] == [1, 5, 30, 120, 600]
    assert len({body for _, body in receiver.got}) == len({got["webhook-id"] for got, _ in receiver.got}) == 1
    (row,) = client.get("/api/v1/account/deliveries").json()
    assert (row["outcome"], row["tries"], row["said"]) == ("given-up", 6, "answered with status 500")
    assert (row["study_name"], row["event"], row["address"]) == ("Asthma", "failed", receiver.url)


@pytest.mark.services
def test_a_receiver_that_is_back_gets_it(http: Http, study: Study, receiver: Receiver) -> None:
    receiver.answers = [503, 200]
    add(signed_in(http), receiver.url)
    fails(study)
    lapse()
    delivering.deliver_due()
    delivery = Delivery.objects.get()
    assert (delivery.outcome, delivery.tries, delivery.said) == (Outcome.DELIVERED, 2, "")


def test_a_redirect_is_not_followed(http: Http, study: Study, receiver: Receiver) -> None:
    receiver.answers, receiver.location = [302], receiver.url + "&elsewhere"
    add(signed_in(http), receiver.url)
    fails(study)
    assert len(receiver.got) == 1
    assert Delivery.objects.get().said == "answered with status 302, a redirect"


def test_a_receiver_that_never_ends_its_answer_is_left(
    http: Http, study: Study, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver.drips = True
    monkeypatch.setattr(webhooks, "SECONDS", 1)
    add(signed_in(http), receiver.url)
    transitions.fail(study.pk, "for a test")
    delivering.deliver_due()  # it would drip for twenty
    assert Delivery.objects.get().said == "no answer within 1 seconds"


@pytest.mark.services
def test_slow_receivers_are_waited_for_side_by_side(
    http: Http, study: Study, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None is answered before all are asked."""
    monkeypatch.setattr(webhooks, "SECONDS", PATIENCE)
    receiver.go_on.clear()
    client = signed_in(http)
    for number in range(8):
        add(client, f"{receiver.url}&number={number}")
    transitions.fail(study.pk, "for a test")
    with ThreadPoolExecutor(1) as pool:
        all_asked = pool.submit(until, lambda: len(receiver.got) == 8, lambda: "not all are asked")
        all_asked.add_done_callback(lambda done: receiver.go_on.set())
        delivering.deliver_due()
        all_asked.result()
    assert {delivery.outcome for delivery in Delivery.objects.all()} == {Outcome.DELIVERED}


@pytest.mark.services
@pytest.mark.django_db(transaction=True)
def test_a_worker_that_is_killed_loses_no_notice(http: Http, study: Study, receiver: Receiver) -> None:
    add(signed_in(http), receiver.url)
    transitions.fail(study.pk, "for a test")
    receiver.go_on.clear()
    program = (
        "import django; django.setup(); from unpooled_webapp.notices import delivering as d; d.deliver_due()"
    )
    worker = subprocess.Popen([sys.executable, "-c", program], env=worker_environment())
    assert receiver.asked.wait(PATIENCE)
    worker.kill()
    worker.wait()
    receiver.go_on.set()
    delivering.deliver_due()  # it may still be under way
    assert (len(receiver.got), Delivery.objects.get().outcome) == (1, Outcome.WAITING)
    lapse()
    delivering.deliver_due()
    first, second = receiver.got
    assert (first[0]["webhook-id"], first[1]) == (second[0]["webhook-id"], second[1])
    assert (Delivery.objects.get().outcome, Delivery.objects.get().tries) == (Outcome.DELIVERED, 2)


def worker_environment() -> dict[str, str]:
    """Return the environment that a process needs to work on this test's database."""
    at = connection.settings_dict
    if connection.vendor == "sqlite":
        url = f"sqlite:///{at['NAME']}"
    else:
        url = f"postgresql://{at['USER']}:{at['PASSWORD']}@{at['HOST']}:{at['PORT']}/{at['NAME']}"
    return os.environ | {
        "DJANGO_SETTINGS_MODULE": "unpooled_webapp.settings",
        "UNPOOLED_DATABASE_URL": url,
        "UNPOOLED_HOME": str(settings.UNPOOLED_HOME),
        "UNPOOLED_SECRET_KEY": settings.SECRET_KEY,
        "UNPOOLED_WEBHOOKS_INSIDE": "1",
        "UNPOOLED_WEBHOOK_PORTS": ",".join(map(str, settings.UNPOOLED_WEBHOOK_PORTS)),
        "UNPOOLED_PUBLIC_URL": settings.UNPOOLED_PUBLIC_URL,
    }


# Where no webhook goes


def test_nothing_is_sent_into_a_private_network(
    http: Http, study: Study, receiver: Receiver, platform: Any
) -> None:
    platform.UNPOOLED_WEBHOOKS_INSIDE = False
    client = signed_in(http)
    port = httpx.URL(receiver.url).port
    names = ("localhost", "127.0.0.1", "127.1", "0x7f000001", "2130706433", "[::1]", "[::ffff:127.0.0.1]")
    for name in names:
        add(client, f"https://{name}:{port}/")
    fails(study)
    assert receiver.got == []
    said = set(Delivery.objects.values_list("said", flat=True))
    assert said == {"its host is in a private network, where this platform sends nothing"}


@pytest.mark.parametrize(
    "inside",
    [
        *("127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.1"),
        *("224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fc00::1", "ff02::1", "::ffff:10.0.0.1"),
        *("64:ff9b::a00:1", "2002:a00:1::", "2001:db8::1", "fd00:ec2::254", "fec0::1", "64:ff9b:1::1"),
        *("::127.0.0.1", "::a00:1", "2001::1", "100::1", "5f00::1", "3fff::1", "192.0.0.8", "198.18.0.1"),
    ],
)
def test_a_host_with_one_address_inside_is_inside(platform: Any, inside: str) -> None:
    public = [ipaddress.ip_address("93.184.215.14"), ipaddress.ip_address("2606:2800:21f:cb07::1")]
    assert webhooks.choose(public) == public[0]
    with pytest.raises(webhooks.Undelivered, match="private network"):
        webhooks.choose([*public, ipaddress.ip_address(inside)])


@pytest.mark.parametrize("public", ["1.1.1.1", "::ffff:1.1.1.1", "64:ff9b::101:101", "2a00:1450::1"])
def test_a_public_address_may_be_written_in_any_way(platform: Any, public: str) -> None:
    assert webhooks.choose([ipaddress.ip_address(public)])


def test_a_webhook_has_a_port_of_the_web_or_one_that_the_operator_allows(platform: Any) -> None:
    for port in (80, 443):
        assert webhooks.destination(f"https://example.org:{port}/") == ("example.org", port)
    assert webhooks.destination("https://example.org/") == ("example.org", 443)
    for port in (22, 6379, 8443):
        with pytest.raises(webhooks.Undelivered, match=f"port {port}"):
            webhooks.destination(f"https://example.org:{port}/")
    platform.UNPOOLED_WEBHOOK_PORTS = [8443]
    assert webhooks.destination("https://example.org:8443/") == ("example.org", 8443)


@pytest.mark.parametrize(
    "address",
    [
        *(
            "http://example.org/",
            "ftp://example.org/",
            "https://",
            "https:///x",
            "example.org",
            "//example.org",
        ),
        *("https://user:secret@example.org/", "https://example.org/#x", "https://example.org:99999/"),
        *("https://exa mple.org/", "https://example.org/\r\nX: y", "https://exämple.org/", "https://[::1/"),
    ],
)
def test_an_address_that_no_webhook_has_is_refused(http: Http, owner: User, address: str) -> None:
    body = {"kind": "webhook", "address": address, "events": ["done"], "all_own": True}
    answer = signed_in(http).post("/api/v1/account/channels", json=body)
    assert (answer.status_code, list(answer.json()["error"]["fields"])) == (400, ["address"])
    assert Channel.objects.count() == 0


# The account's page


def test_a_trial_goes_the_way_of_all_notices(http: Http, owner: User, receiver: Receiver) -> None:
    client = signed_in(http)
    made = add(client, receiver.url)
    answer = client.post(f"/api/v1/account/channels/{made['id']}/trial")
    assert (answer.status_code, answer.json()["outcome"]) == (202, "waiting")
    delivering.deliver_due()
    ((_, body),) = receiver.got
    assert (json.loads(body)["event"], json.loads(body)["study"]) == ("trial", None)
    for _ in range(accounts.TRIALS - 1):
        client.post(f"/api/v1/account/channels/{made['id']}/trial").raise_for_status()
    assert client.post(f"/api/v1/account/channels/{made['id']}/trial").status_code == 429


def test_nobody_sees_the_deliveries_of_others(http: Http, study: Study) -> None:
    accounts.create("admin", PASSWORD, accounts.ADMINISTRATOR)
    add(signed_in(http), "a@example.org")
    transitions.fail(study.pk, "for a test")
    other = signed_in(http, "admin")
    assert other.get("/api/v1/account/deliveries").json() == []


@pytest.mark.services
def test_a_channel_is_changed_and_removed_with_what_it_waits_for(http: Http, study: Study) -> None:
    client = signed_in(http)
    made = add(client, "a@example.org", events=["done"])
    assert made["secret"] == ""
    address = f"/api/v1/account/channels/{made['id']}"
    assert client.patch(address, json={"events": []}).status_code == 400
    assert client.patch(address, json={"events": ["failed", "failed"]}).json()["events"] == ["failed"]
    again = {"kind": "mail", "address": "a@example.org", "events": ["done"], "all_own": True}
    assert client.post("/api/v1/account/channels", json=again).status_code == 409
    transitions.fail(study.pk, "for a test")
    assert told() == [("a@example.org", "failed")]
    assert client.delete(address).status_code == 204
    assert Delivery.objects.count() == 0


@pytest.mark.services
def test_deliveries_are_forgotten_after_a_month(http: Http, owner: User) -> None:
    channel = Channel.objects.get(pk=add(signed_in(http), "a@example.org")["id"])
    long_ago = timezone.now() - delivering.KEPT - timedelta(days=1)
    for outcome in Outcome:
        due_at = timezone.now() + timedelta(days=1)
        Delivery.objects.create(
            channel=channel, event=Event.TRIAL, outcome=outcome, time=long_ago, due_at=due_at
        )
    sessions = Session.objects.all()
    Session.objects.create(session_key="ended", expire_date=long_ago)
    before = sessions.count()
    delivering.deliver_due()
    assert [row.outcome for row in Delivery.objects.all()] == [Outcome.WAITING]
    assert sessions.count() == before - 1 and not sessions.filter(session_key="ended").exists()
