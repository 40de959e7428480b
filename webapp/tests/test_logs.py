"""Logs: one line for each request, with numbers by which to find what belongs together, and no secret."""

from __future__ import annotations

import io
import json
import logging
import logging.config
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client
from federation_fixtures import Federation
from signing_in import PASSWORD

from unpooled_webapp import accounts, log_settings

pytestmark = pytest.mark.django_db
Lines = Callable[[], list[dict[str, Any]]]


def formatter(monkeypatch: pytest.MonkeyPatch, form: str) -> logging.Formatter:
    monkeypatch.setenv("UNPOOLED_LOG", form)
    made = logging.config.DictConfigurator(log_settings.from_environment())
    found: logging.Formatter = made.configure_formatter(made.config["formatters"]["lines"])
    return found


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.setFormatter(formatter(monkeypatch, "json"))
    logging.getLogger().addHandler(handler)
    yield out
    logging.getLogger().removeHandler(handler)


@pytest.fixture
def answered(written: io.StringIO) -> Lines:
    def lines() -> list[dict[str, Any]]:
        found = [json.loads(line) for line in written.getvalue().splitlines()]
        return [line for line in found if line["logger"] == "unpooled.access"]

    return lines


def test_a_request_has_a_line_and_the_line_no_secret(answered: Lines, written: io.StringIO) -> None:
    user = accounts.create("ann", PASSWORD, accounts.COORDINATOR)
    client = Client(headers={"X-Request-ID": "from-the-proxy", "Authorization": "Bearer a-token"})
    client.get("/api/v1/studies?key=of-the-query")
    body = {"username": "ann", "password": PASSWORD}
    Client().post("/api/v1/session", body, content_type="application/json")
    refused, signed_in = answered()
    assert (refused["method"], refused["path"], refused["status"]) == ("GET", "/api/v1/studies", 401)
    assert refused["request"] == "from-the-proxy" and "user" not in refused
    assert signed_in["user"] == user.pk and signed_in["bytes"] > 0 and signed_in["ms"] > 0
    assert not any(secret in written.getvalue() for secret in ("a-token", "of-the-query", PASSWORD))


def test_nobody_writes_lines_of_their_own_into_it(answered: Lines) -> None:
    client = Client(headers={"X-Request-ID": "forged\nid"})
    client.get("/api/v1/studies/x%0A2026-01-01 all is well/progress")
    (line,) = answered()
    assert "\n" not in line["path"] + line["study"] + line["request"]


def test_a_cohorts_request_says_which_cohort_and_study(trial: Federation, answered: Lines) -> None:
    trial.join()
    named = {(line["study"], line["cohort"]) for line in answered()}
    assert named == {(trial.study.pk, cohort.pk) for cohort in trial.study.cohorts.all()}


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_traceback_shows_no_values(monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    hidden = "".join(("to", "ken"))
    try:
        raise ValueError(len(hidden))
    except ValueError:
        record = logging.getLogger("unpooled").makeRecord(
            "unpooled", logging.ERROR, __file__, 1, "it failed", (), sys.exc_info()
        )
    said = formatter(monkeypatch, form).format(record)
    assert "it failed" in said and "ValueError: 5" in said and hidden not in said
