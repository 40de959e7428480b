"""The audit log: what enters it, that it outlives its subjects, and that a change in it is noticed."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from django.db import OperationalError, connection
from signing_in import PASSWORD, Http, Person, signed_in
from whole_studies import PLAN, created

from unpooled_webapp import accounts, audit
from unpooled_webapp.commands.audit import audit as command
from unpooled_webapp.models import AuditEntry, Installation


def entries() -> list[tuple[str, str, int]]:
    return [(line["who"], line["what"], line["status"]) for line in audit.lines()]


def test_who_changed_what_is_there_after_it_is_gone(me: httpx.Client, person: Person) -> None:
    study = created(me, name="Asthma", plan=PLAN)
    me.post(f"/api/v1/studies/{study}/invitations", json={"cohort": "Graz"})
    person("watcher", accounts.OBSERVER).post("/api/v1/studies", json={"name": "Other", "plan": PLAN})
    assert me.delete(f"/api/v1/studies/{study}").status_code == 204
    me.delete("/api/v1/session")
    assert entries() == [
        ("me", "POST session", 200),
        ("me", "POST studies", 201),
        ("me", "POST studies/<study>/invitations", 201),
        ("watcher", "POST session", 200),
        ("watcher", "POST studies", 403),
        ("me", "DELETE studies/<study>", 204),
        ("me", "DELETE session", 204),
    ]
    subjects = list(AuditEntry.objects.order_by("pk").values_list("subject", flat=True))
    assert subjects[1] == f"id {study}, name Asthma"
    assert subjects[2] == f"study {study}, cohort Graz, name Asthma"
    assert subjects[5] == f"study {study}, name Asthma"


def test_it_has_no_secret_no_reading_and_no_stranger(me: httpx.Client, http: Http) -> None:
    me.get("/api/v1/studies")
    me.post("/api/v1/foreseen", json={"plan": PLAN})
    http().post("/api/v1/session", json={"username": "me", "password": "wrong"})
    http().post("/api/v1/studies", json={})
    made = me.post("/api/v1/account/tokens", json={"name": "nightly", "scope": "change", "days": 1}).json()
    by_token = http()
    by_token.headers["Authorization"] = f"Bearer {made['token']}"
    created(by_token, name="Asthma", plan=PLAN)
    found = entries()
    assert [who for who, what, _ in found if what == "POST studies"] == ["me, by the token nightly"]
    assert [what for _, what, _ in found] == ["POST session", "POST account/tokens", "POST studies"]
    written = json.dumps(list(audit.lines()))
    assert PASSWORD not in written and made["token"] not in written


@pytest.mark.parametrize("address", ["studies", "studies/1/pause"])
def test_while_the_database_is_away_people_are_asked_to_come_again(me: httpx.Client, address: str) -> None:
    def is_away(*_: Any) -> Any:
        raise OperationalError("no connection")

    with connection.execute_wrapper(is_away):
        answer = me.post(f"/api/v1/{address}", json={})
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")


def changed(entry: AuditEntry) -> None:
    AuditEntry.objects.filter(pk=entry.pk).update(who="nobody")


def deleted(entry: AuditEntry) -> None:
    entry.delete()


@pytest.mark.django_db
@pytest.mark.parametrize("tamper", [changed, deleted])
def test_a_change_is_noticed(tamper: Any) -> None:
    for number in range(4):
        audit.record("the operator", "a command", f"number {number}")
    exported = CliRunner().invoke(command).output.splitlines()
    assert [json.loads(line)["subject"] for line in exported] == [f"number {k}" for k in range(4)]
    last = json.loads(exported[-1])["digest"]
    assert CliRunner().invoke(command, ["--check"]).output == f"Entries: 4. Digest of the last: {last}\n"
    tamper(AuditEntry.objects.order_by("pk")[1])
    refused = CliRunner().invoke(command, ["--check"])
    assert refused.exit_code == 1 and "was changed, or one before it is gone" in refused.output


@pytest.mark.services
@pytest.mark.django_db(transaction=True)
def test_entries_of_the_same_moment_follow_one_another() -> None:
    Installation.objects.get_or_create(pk=1, defaults={"home": "of this test"})

    def record(number: int) -> None:
        audit.record(f"person {number}", "POST studies", "")
        connection.close()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(record, range(40)))
    assert {who for who, _, _ in entries()} == {f"person {number}" for number in range(40)}


def test_an_administrator_made_on_the_machine_is_recorded(platform: Any, http: Http) -> None:
    from unpooled_webapp.commands.administrator import administrator

    CliRunner().invoke(administrator, ["ada"], env={"UNPOOLED_ADMIN_PASSWORD": PASSWORD})
    signed_in(http, "ada")
    assert entries() == [("the operator", "unpooled administrator", 0), ("ada", "POST session", 200)]
