"""The coordinator's side, for commands: the REST API that the browser application uses too."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any, Self

import httpx

from unpooled.errors import UnpooledError

API = "/api/v1"

Json = Any
"""JSON that the API's schema describes; a rehearsal trusts its own server."""


class Coordinator:
    """Somebody at the server's REST API."""

    def __init__(self, address: str, **headers: str) -> None:
        self._http = httpx.Client(base_url=address, timeout=60, headers={"Referer": address, **headers})

    @classmethod
    def signed_in(cls, address: str, user: str, password: str) -> Self:
        """Sign in with a session."""
        found = cls(address)
        found._call("POST", "/session", json={"username": user, "password": password})
        return found

    @classmethod
    def by_token(cls, address: str, token: str) -> Self:
        """Act with a token of the API."""
        return cls(address, Authorization=f"Bearer {token}")

    def create_study(self, values: Json) -> Json:
        return self._call("POST", "/studies", json=values)

    def invite(self, study: str, cohort: str) -> str:
        """The invitation, as the string that its cohort pastes."""
        return str(self._call("POST", f"/studies/{study}/invitations", json={"cohort": cohort})["invitation"])

    def upload_list(self, study: str, text: bytes) -> None:
        self._call("PUT", f"/studies/{study}/list", content=text)

    def study(self, study: str) -> Json:
        return self._call("GET", f"/studies/{study}")

    def progress(self, study: str) -> Json:
        return self._call("GET", f"/studies/{study}/progress")

    def traffic(self, study: str) -> Json:
        return self._call("GET", f"/studies/{study}/traffic")

    def log(self, study: str) -> Json:
        return self._call("GET", f"/studies/{study}/log")

    def results(self, study: str) -> Json:
        return self._call("GET", f"/studies/{study}/results")

    def download(self, study: str, file: str, target: Path) -> None:
        """A result file; in place only once it is whole."""
        partial = target.with_name(target.name + ".partial")
        with self._http.stream("GET", f"{API}/studies/{study}/results/{file}") as response:
            _check(response)
            with partial.open("wb") as out:
                for block in response.iter_bytes(1 << 20):
                    out.write(block)
        partial.replace(target)

    def _call(self, method: str, path: str, **body: Any) -> Json:
        token = self._http.cookies.get("csrftoken")
        headers = {"X-CSRFToken": token} if token else {}
        response = self._http.request(method, API + path, headers=headers, **body)
        _check(response)
        return response.json() if response.content else {}


def _check(response: httpx.Response) -> None:
    if response.is_error:
        response.read()
        said = f"the server answers {response.status_code}: {response.text[:500]}"
        with contextlib.suppress(ValueError, LookupError, TypeError):  # a refusal is told in its own words
            error = response.json()["error"]
            said = f"{error['message']} {error.get('remedy', '')}".strip()
        raise UnpooledError(said)
