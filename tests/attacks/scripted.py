"""A cohort of a few lines that holds a valid invitation: it sends what a test likes, over real HTTP."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import httpx

from unpooled.protocol import VERSION
from unpooled.protocol.invitation import Invitation
from unpooled.protocol.sealing import SigningKey

from ..patience import PATIENCE


@dataclass
class Scripted:
    invitation: Invitation
    key: SigningKey = field(default_factory=SigningKey.generate)
    instance: str = field(default_factory=lambda: os.urandom(16).hex())

    @property
    def headers(self) -> dict[str, str]:
        return {
            "Authorization": f"Bearer {self.invitation.token}",
            "Unpooled-Client": self.instance,
            "Unpooled-Protocol": str(VERSION),
        }

    def call(self, method: str, path: str, **message: Any) -> httpx.Response:
        headers = self.headers | message.pop("headers", {})
        url = f"{self.invitation.server}/api/v1/cohort/{path}"
        return httpx.request(method, url, headers=headers, timeout=PATIENCE, trust_env=False, **message)

    def study(self) -> Any:
        return self.call("GET", "study").json()

    def join(self) -> httpx.Response:
        return self.call("POST", "join", json={"key": self.key.public.hex()})
