"""`/live`, `/ready`, `/metrics`: to whom they answer, by which host name, and what is missing when."""

from __future__ import annotations

import os
import shutil
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db.models import F
from django.test import Client
from django.utils import timezone
from federation_fixtures import Federation
from prometheus_client.parser import text_string_to_metric_families
from signing_in import PASSWORD, Http, signed_in

from unpooled_server.models import Cohort, Round
from unpooled_server.services import sweeping
from unpooled_webapp import accounts
from unpooled_webapp.operating import probes

SECRET = "s" * 40
pytestmark = pytest.mark.django_db


@pytest.fixture
def anybody() -> Client:
    """Somebody who knows the platform by an address that it does not know itself."""
    return Client(headers={"Host": "10.1.2.3:8000"})


def checks(anybody: Client) -> dict[str, str]:
    answer = anybody.get("/ready")
    found: dict[str, str] = answer.json()["checks"]
    assert answer.status_code == (200 if set(found.values()) == {"ok"} else 503)
    return found


def test_it_is_ready_when_nothing_is_missing(platform: Any, anybody: Client) -> None:
    assert anybody.get("/live").status_code == 200
    assert anybody.get("/nothing").status_code == 400  # of another address the host name is looked at
    assert checks(anybody)["sweep"] == "no worker has swept yet: start one"
    sweeping.sweep()
    assert set(checks(anybody).values()) == {"ok"}


def test_it_says_what_is_missing(platform: Any, anybody: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    assert checks(anybody)["database"] == "ok"  # and this home is the database's from now on
    sweeping.sweep()
    home = Path(platform.UNPOOLED_HOME)
    long_ago = time.time() - 75
    os.utime(home / "swept", (long_ago, long_ago))
    (home / "installation").write_text("another")
    monkeypatch.setattr(probes, "LEAST_FREE", shutil.disk_usage(home).total)
    platform.UNPOOLED_COMPENSATOR_URL = "http://127.0.0.1:1"
    probes._of_compensator.cache_clear()
    found = checks(anybody)
    assert found.pop("migrations") == found.pop("store") == found.pop("broker") == "ok"
    assert found.pop("database") == "the database belongs to another home folder"
    assert found.pop("sweep").startswith("no worker has swept for 7")
    assert found.pop("compensator") == "it does not answer (CompensatorAway)"
    assert found.pop("disk").endswith("GiB are free") and not found
    probes._of_compensator.cache_clear()


def test_figures_are_for_those_who_know_the_secret(platform: Any, anybody: Client) -> None:
    assert anybody.get("/metrics").status_code == 404
    platform.UNPOOLED_METRICS_SECRET = SECRET
    for shown in ({}, {"Authorization": "Bearer x"}, {"Authorization": SECRET}):
        assert anybody.get("/metrics", headers=shown).status_code == 401


def test_figures_are_those_of_the_studies(platform: Any, anybody: Client, trial: Federation) -> None:
    platform.UNPOOLED_METRICS_SECRET = SECRET
    trial.clients[0].http.headers["User-Agent"] = "unpooled-client/9.1"
    trial.running()
    asked_for = {"complete_at": F("opened_at") + timedelta(seconds=2), "aggregated_at": timezone.now()}
    Round.objects.update(release_seconds=0.5, **asked_for)
    sweeping.sweep()
    answer = anybody.get("/metrics", headers={"Authorization": f"Bearer {SECRET}"})
    found = {
        (sample.name.removeprefix("unpooled_"), *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(answer.content.decode())
        for sample in family.samples
    }
    assert found["studies", "", "running"] == 1
    assert found["round_seconds", "shares"] == 2 and found["round_seconds", "compensator"] == 0.5
    assert found["check", "sweep"] == 1 and found["check", "compensator"] == 1
    assert found["cohorts", "yes"] == len(trial.clients) and found["cohorts", "no"] == 0
    assert found["clients", "9.1"] == 1 and found["clients", ""] == len(trial.clients) - 1
    assert found[("oldest_round_seconds",)] > 0 and 0 <= found[("sweep_age_seconds",)] < 60
    assert found["traffic_bytes", "cohorts", "received"] > 0
    assert found["disk_bytes", "total"] > found["disk_bytes", "free"] > 0


def test_administrators_see_studies_and_clients(platform: Any, http: Http, trial: Federation) -> None:
    trial.clients[0].http.headers["User-Agent"] = "unpooled-client/9.1"
    trial.running()
    accounts.create("admin", PASSWORD, accounts.ADMINISTRATOR)
    client = signed_in(http, "admin")
    seen = client.get("/api/v1/platform").json()
    assert {check["name"] for check in seen["checks"] if not check["is_ok"]} == {"sweep"}
    assert (seen["workers"] is None) == (not platform.UNPOOLED_BROKER_URL)
    assert seen["swept_at"] is None and seen["disk_total"] > seen["disk_free"] > 0
    (study,) = seen["studies"]
    assert (study["id"], study["is_stuck"]) == (trial.study.pk, False)
    assert {each["release"] for each in study["clients"]} == {"9.1", ""}
    Round.objects.update(opened_at=timezone.now() - timedelta(seconds=platform.UNPOOLED_WAITED_SECONDS + 1))
    Cohort.objects.update(heard_at=timezone.now() - timedelta(seconds=platform.UNPOOLED_AWAY_SECONDS + 1))
    assert client.post("/api/v1/platform/sweep").status_code == 204
    seen = client.get("/api/v1/platform").json()
    (study,) = seen["studies"]
    assert (study["state"], study["is_stuck"]) == ("paused", True)
    assert all(each["is_silent"] for each in study["clients"])
    assert seen["swept_at"] is None  # by no worker
