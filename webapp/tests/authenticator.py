"""A device with one passkey (ES256), as a browser asks it; it signs also what is not right."""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from webauthn.helpers import base64url_to_bytes, bytes_to_base64url, encode_cbor

PRESENT, VERIFIED, ATTESTED = 1, 4, 64


@dataclass
class Authenticator:
    origin: str = "http://localhost"
    host: str = "localhost"
    flags: int = PRESENT | VERIFIED
    count: int = 0
    credential: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    user: bytes = b""
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    def make(self, options: dict[str, Any]) -> dict[str, Any]:
        """Answer to what `navigator.credentials.create` is given."""
        self.user = base64url_to_bytes(options["user"]["id"])
        attested = bytes(16) + len(self.credential).to_bytes(2, "big") + self.credential + self._cose()
        data = self._data(ATTESTED) + attested
        attestation = encode_cbor({"fmt": "none", "attStmt": {}, "authData": data})
        client = self._client("webauthn.create", options)
        return self._answer({"clientDataJSON": client, "attestationObject": attestation})

    def sign(self, options: dict[str, Any]) -> dict[str, Any]:
        """Answer to what `navigator.credentials.get` is given."""
        self.count += 1
        data, client = self._data(), self._client("webauthn.get", options)
        signature = self.key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(hashes.SHA256()))
        response = {"clientDataJSON": client, "authenticatorData": data, "signature": signature}
        return self._answer(response | {"userHandle": self.user})

    def _data(self, more: int = 0) -> bytes:
        host = hashlib.sha256(self.host.encode()).digest()
        return host + bytes([self.flags | more]) + self.count.to_bytes(4, "big")

    def _client(self, kind: str, options: dict[str, Any]) -> bytes:
        return json.dumps({"type": kind, "challenge": options["challenge"], "origin": self.origin}).encode()

    def _cose(self) -> bytes:
        numbers = self.key.public_key().public_numbers()
        x, y = numbers.x.to_bytes(32, "big"), numbers.y.to_bytes(32, "big")
        return encode_cbor({1: 2, 3: -7, -1: 1, -2: x, -3: y})

    def _answer(self, response: dict[str, bytes]) -> dict[str, Any]:
        name = bytes_to_base64url(self.credential)
        encoded = {key: bytes_to_base64url(value) for key, value in response.items()}
        return {"id": name, "rawId": name, "type": "public-key", "response": encoded}
