"""One upload from the formats on this page alone: its checks and its mask, compared with the library's."""

import hashlib
import struct
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from unpooled.asking.share_check import check_of, second_check_of
from unpooled.protocol.masking import MaskContext, mask, scheme
from unpooled.protocol.witness import Witnessed


def sized(payload: bytes) -> bytes:
    return struct.pack("<I", len(payload)) + payload


def value(x: str | bytes | int) -> bytes:
    if isinstance(x, str):
        return b"s" + sized(x.encode())
    return b"b" + sized(x) if isinstance(x, bytes) else b"i" + struct.pack("<q", x)


def several(*values: str | bytes | int) -> bytes:
    return b"t" + struct.pack("<I", len(values)) + b"".join(map(value, values))


def record(name: str, **fields: str | bytes | int) -> bytes:
    body = b"".join(sized(field.encode()) + value(x) for field, x in fields.items())
    return b"r" + sized(name.encode()) + struct.pack("<I", len(fields)) + body


def derived(secret: bytes, info: bytes) -> bytes:
    return HKDF(SHA256(), length=32, salt=None, info=info).derive(secret)


def stream(secret: bytes, info: bytes, length: int) -> bytes:
    cipher = Cipher(algorithms.AES256(derived(secret, info)), modes.CTR(bytes(16)))
    return cipher.encryptor().update(bytes(length))


seed, salt, witness = bytes(range(32)), bytes([7]) * 32, bytes([9]) * 32
counts = (21, 34)
upload: dict[str, Any] = {
    "study": "5f1c",
    "plan_hash": bytes([1]) * 32,
    "roster_hash": bytes([2]) * 32,
    "cohort": "Tartu",
    "round": 12,
    "question": hashlib.sha256(salt + b"the encoding of a question").digest(),
    "scheme": "z32",
    "words": 16 + len(counts),  # each check is as long as eight
    "nonce": bytes([3]) * 16,
}

first, *others = struct.unpack("<3Q", stream(salt, b"unpooled/check/1", 3 * 8))
check = first + sum(c * x for c, x in zip(others, counts, strict=True))

about = upload["round"], upload["question"]
coefficients = struct.unpack("<2Q", stream(witness, several("unpooled/witness/check", *about), 2 * 8))
pad = int.from_bytes(derived(witness, several("unpooled/witness/pad", *about)), "little")
second = pad + sum(c * x for c, x in zip(coefficients, counts, strict=True))

bits = stream(seed, record("unpooled/mask", **upload, version=6), 4 * upload["words"])
of_check, of_second = (int.from_bytes(part, "little") for part in (bits[:32], bits[32:64]))
of_counts = struct.unpack("<2I", bits[64:])

print("check ", check)
print("second", hex(second % 2**256)[:36], "…")
print("mask  ", bits[:16].hex(), "…", *of_counts)
print("sent  ", hex((check + of_check) % 2**256)[:36], "…", end=" ")
print(hex((second + of_second) % 2**256)[:36], "…", end=" ")
print(*((x + r) % 2**32 for x, r in zip(counts, of_counts, strict=True)))
if mask(seed, MaskContext(**upload)).tobytes() != bits:
    raise SystemExit("the library's mask is another one")
share = np.array([0] * 16 + list(counts), np.uint32)
if check_of(share, scheme("z32"), salt) != check:
    raise SystemExit("the library's check is another one")
if second_check_of(share, scheme("z32"), Witnessed(witness, *about), padded=True) != second:
    raise SystemExit("the library's second check is another one")
print("the library's are the same")
