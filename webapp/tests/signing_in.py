"""Somebody in the browser, and accounts that they have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from unpooled_webapp import accounts

Http = Callable[[], httpx.Client]
Person = Callable[[str, str], httpx.Client]
PASSWORD = "a long password 1"


def signed_in(http: Http, name: str = "owner", password: str = PASSWORD) -> httpx.Client:
    """A client in which this person, who has an account, is signed in."""
    client = http()
    answer = client.post("/api/v1/session", json={"username": name, "password": password})
    assert answer.status_code == 200, answer.text
    client.headers["X-CSRFToken"] = client.cookies["csrftoken"]
    return client


@pytest.fixture
def person(http: Http, platform: Any) -> Person:
    """Somebody new with this name and this role, signed in."""

    def make(name: str, role: str) -> httpx.Client:
        accounts.create(name, PASSWORD, role)
        return signed_in(http, name)

    return make


@pytest.fixture
def me(person: Person) -> httpx.Client:
    return person("me", accounts.COORDINATOR)
