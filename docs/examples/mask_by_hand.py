"""One upload's mask from nothing but the formats on this page, compared with the library's."""

import hashlib
import struct
from typing import Any

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from unpooled.protocol.masking import MaskContext, mask


def sized(payload: bytes) -> bytes:
    return struct.pack("<I", len(payload)) + payload


def value(x: str | bytes | int) -> bytes:
    if isinstance(x, str):
        return b"s" + sized(x.encode())
    return b"b" + sized(x) if isinstance(x, bytes) else b"i" + struct.pack("<q", x)


def record(name: str, **fields: str | bytes | int) -> bytes:
    body = b"".join(sized(field.encode()) + value(x) for field, x in fields.items())
    return b"r" + sized(name.encode()) + struct.pack("<I", len(fields)) + body


seed = bytes(range(32))
question = hashlib.sha256(bytes([7]) * 32 + b"the encoding of a step").digest()
upload: dict[str, Any] = {
    "study": "5f1c",
    "plan_hash": bytes([1]) * 32,
    "roster_hash": bytes([2]) * 32,
    "cohort": "Tartu",
    "round": 12,
    "question": question,
    "scheme": "z32",
    "words": 4,
    "nonce": bytes([3]) * 16,
}

info = record("unpooled/mask", **upload, version=1)
key = HKDF(SHA256(), length=32, salt=None, info=info).derive(seed)
stream = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor().update(bytes(4 * 4))
words = struct.unpack("<4I", stream)

share = (21, 34, 1, 1)  # two counts, then the two check words
masked = [(x + r) % 2**32 for x, r in zip(share, words, strict=True)]

print("info  ", info[:40].hex(), f"… {len(info)} bytes")
print("key   ", key.hex())
print("mask  ", *words)
print("sent  ", *masked)
if mask(seed, MaskContext(**upload)).tolist() != list(words):
    raise SystemExit("the library's mask is another one")
print("the library's mask is the same")
