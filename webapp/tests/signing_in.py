"""Somebody in the browser."""

from __future__ import annotations

from collections.abc import Callable

import httpx

Http = Callable[[], httpx.Client]
PASSWORD = "a long password 1"


def signed_in(http: Http, name: str = "owner", password: str = PASSWORD) -> httpx.Client:
    """A client in which this person, who has an account, is signed in."""
    client = http()
    answer = client.post("/api/v1/session", json={"username": name, "password": password})
    assert answer.status_code == 200, answer.text
    client.headers["X-CSRFToken"] = client.cookies["csrftoken"]
    return client
