"""Regenerates the known answers in this folder: `python core/tests/vectors/make.py`.

A second implementation of the protocol's bytes, straight from its description and slow, that shares no code
with the library: Python's integers for the rings, HKDF from HMAC, counter mode from single AES blocks, HPKE
from RFC 9180, ML-KEM in Python. If the library and these files differ, one of them is wrong. A change on
purpose is a new protocol version.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import struct
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from kyber_py.ml_kem import ML_KEM_768
from ristretto import BASE, ORDER, ZERO, Point, add, from_hash, number, packed, times, unpacked
from two_parties import session

FOLDER = Path(__file__).parent
VERSION = 6
THIRD_WORDS = 64


def main() -> None:
    for name, content in files().items():
        (FOLDER / name).write_text(content, encoding="utf-8", newline="\n")


def files() -> dict[str, str]:
    """The text of each file by its name."""
    made = {
        "values.json": values(),
        "messages.json": messages(),
        "fixed_point.json": fixed_point(),
        "masks.json": masks(),
        "checks.json": checks(),
        "digests.json": digests(),
        "boxes.json": boxes(),
        "witness.json": witness_vectors(),
        "pairs.json": pairs(),
        "codes.json": codes_of_words(),
        "comparison.json": comparison(),
    }
    return {name: json.dumps(content, indent=1, ensure_ascii=True) + "\n" for name, content in made.items()}


# Fixed inputs. They look like what they stand for, and are no secret.


def octets(text: str, length: int) -> bytes:
    """Bytes that are random for the purpose, and the same each time."""
    return hashlib.shake_256(text.encode()).digest(length)


STUDY = "8c4a1d5e-study"
PLAN_HASH = octets("plan hash", 32)
SHUFFLE = octets("shuffle", 32)
COHORTS = ("Graz", "Munich", "Tartu \u00e4\u6771")
SIGNERS = {name: Ed25519PrivateKey.from_private_bytes(octets(f"signer {name}", 32)) for name in COHORTS}
SEEDS = {name: octets(f"seed {name}", 32) for name in COHORTS}
COMPENSATOR = octets("compensator", 32)


# The codec.


@dataclass
class Record:
    name: str
    fields: dict[str, Any]


@dataclass
class Array:
    code: str
    shape: tuple[int, ...]
    data: bytes


def encode(value: Any) -> bytes:
    if value is None:
        return b"N"
    if value is True or value is False:
        return b"T" if value else b"F"
    if isinstance(value, int):
        return b"i" + struct.pack("<q", value)
    if isinstance(value, float):
        return b"d" + struct.pack("<d", value)
    if isinstance(value, str):
        return b"s" + sized(value.encode("utf-8"))
    if isinstance(value, bytes):
        return b"b" + sized(value)
    if isinstance(value, tuple):
        return b"t" + u32(len(value)) + b"".join(encode(item) for item in value)
    if isinstance(value, Array):
        shape = b"".join(u32(size) for size in value.shape)
        return b"a" + value.code.encode() + bytes([len(value.shape)]) + shape + value.data
    fields = b"".join(sized(name.encode()) + encode(field) for name, field in value.fields.items())
    return b"r" + sized(value.name.encode()) + u32(len(value.fields)) + fields


def u32(number: int) -> bytes:
    return struct.pack("<I", number)


def sized(data: bytes) -> bytes:
    return u32(len(data)) + data


def typed(value: Any) -> Any:
    """A value as JSON that says of what type it is."""
    if value is None:
        return {"none": None}
    if isinstance(value, bool):
        return {"bool": value}
    if isinstance(value, int):
        return {"int": str(value)}
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, str):
        return {"str": value}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, tuple):
        return {"tuple": [typed(item) for item in value]}
    if isinstance(value, Array):
        return {"array": {"code": value.code, "shape": list(value.shape), "data": value.data.hex()}}
    return {"record": value.name, "fields": {name: typed(field) for name, field in value.fields.items()}}


def case(value: Any) -> Any:
    return {"value": typed(value), "encoding": encode(value).hex()}


def values() -> Any:
    numbers = (0, 1, -1, 255, 2**31, 2**63 - 1, -(2**63))
    reals = (0.0, -0.0, 1.0, -1.5, 0.1, 5e-324, 1.7976931348623157e308, math.inf, -math.inf)
    arrays = (
        Array("?", (3,), b"\1\0\1"),
        Array("B", (2, 2), b"\0\1\2\xff"),
        Array("I", (2,), struct.pack("<2I", 1, 2**32 - 1)),
        Array("Q", (2, 1), struct.pack("<2Q", 1, 2**64 - 1)),
        Array("l", (1,), struct.pack("<i", -2)),
        Array("q", (1, 1, 2), struct.pack("<2q", -1, 2**62)),
        Array("d", (2,), struct.pack("<2d", -0.5, 1e300)),
        Array("d", (), struct.pack("<d", 2.5)),
        Array("I", (0, 7), b""),
    )
    texts = ("", "chi-square", "Tartu \u00e4\u6771\U0001f9ec", "\0\n")
    nested = ((), (1, ("a", b"b"), None), ((((),),),))
    simple = (None, True, False, *numbers, *reals, *texts, b"", b"\0\xff", *arrays, *nested)
    return [case(value) for value in simple]


# Messages.


def roster() -> Record:
    return Record(
        "unpooled/roster",
        {"members": tuple((name, SIGNERS[name].public_key().public_bytes_raw()) for name in sorted(COHORTS))},
    )


def purpose(cohort: str) -> Record:
    return Record(
        "unpooled/purpose",
        {
            "study": STUDY,
            "plan_hash": PLAN_HASH,
            "roster_hash": digest(roster()),
            "cohort": cohort,
            "compensator_key": hybrid_key(COMPENSATOR),
            "version": VERSION,
        },
    )


def release() -> Record:
    return Record(
        "unpooled/release",
        {
            "study": STUDY,
            "round": 12,
            "question": octets("question", 32),
            "scheme": "z32",
            "words": 40_002,
            "uploads": tuple((name, octets(f"nonce {name}", 16)) for name in sorted(COHORTS)),
        },
    )


def opening() -> Record:
    changes = {"scheme": "z64", "words": 104, "circuit": "both-at-least", "shuffle": SHUFFLE}
    return Record("unpooled/opening", release().fields | changes)


def codes() -> Record:
    fields = {
        "study": STUDY,
        "cohort": "Graz",
        "column": 1,
        "points": octets("points", 96),
        "multiplied": octets("multiplied", 96 + 64),
        "signature": octets("signature", 64),
    }
    return Record("unpooled/codes", fields)


def question(round_: int) -> Record:
    fields = {
        "round": round_,
        "salt": octets(f"salt {round_}", 32),
        "question": octets(f"question {round_}", 20),
        "place": "",
        "digest": b"",
    }
    return Record("unpooled/question", fields)


def named() -> Record:
    """A question that cohorts find by themselves, who follow the study."""
    changed = {"question": b"", "place": "0.3.2", "digest": octets("named", 32)}
    return Record("unpooled/question", {**question(14).fields, **changed})


def shown() -> Record:
    fields = {
        "uploads": release().fields["uploads"],
        "shuffle": SHUFFLE,
        "total": octets("total of masked shares", 328),
        "dealing": octets("dealing", 100),
        "answers": (octets("first answer", 50), octets("last answer", 60)),
    }
    return Record("unpooled/shown", fields)


def told() -> Record:
    fields = {"round": 12, "salt": octets("salt 12", 32), "total": octets("total", 84)}
    return Record("unpooled/told", fields)


def context(scheme: str, words: int, **changes: Any) -> Record:
    fields = {
        "study": STUDY,
        "plan_hash": PLAN_HASH,
        "roster_hash": digest(roster()),
        "cohort": "Graz",
        "round": 12,
        "question": octets("question", 32),
        "scheme": scheme,
        "words": words,
        "nonce": octets("nonce Graz", 16),
        "version": VERSION,
    }
    return Record("unpooled/mask", fields | changes)


def compared_context(scheme: str, words: int, circuit: str) -> Record:
    return Record("unpooled/compared", context(scheme, words).fields | {"circuit": circuit})


def dealing_context() -> Record:
    fields = {
        "study": STUDY,
        "plan_hash": PLAN_HASH,
        "roster_hash": digest(roster()),
        "dealer": "Graz",
        "round": 12,
        "question": octets("question", 32),
        "scheme": "z32",
        "circuit": "at-least",
        "words": 18 + THIRD_WORDS,
        "version": VERSION,
    }
    return Record("unpooled/dealing", fields)


def enrolment() -> Record:
    return Record(
        "unpooled/enrolment",
        {
            "study": STUDY,
            "plan_hash": PLAN_HASH,
            "roster": roster(),
            "boxes": tuple(box(name) for name in sorted(COHORTS)),
        },
    )


def enrolment_with_words() -> Record:
    return Record("unpooled/enrolment", enrolment().fields | {"code_key": CODE_KEYS[:32]})


def witnesses(code_keys: bytes = b"") -> Record:
    sealed = tuple((name, sealed_witness(name, code_keys)) for name in sorted(COHORTS))
    own = {"code_key": code_keys[32:]} if code_keys else {}
    return Record("unpooled/witnesses", {"sealed": sealed, **own})


def questions_with_words() -> Record:
    changed = {"witness": sealed_witness("Graz", CODE_KEYS), "code_keys": CODE_KEYS}
    return Record("unpooled/questions", questions().fields | changed)


def questions() -> Record:
    fields = {
        "state": "running",
        "panel_digest": octets("panel", 32),
        "witness": sealed_witness("Graz"),
        "items": (question(12), question(13)),
    }
    return Record("unpooled/questions", fields)


def messages() -> Any:
    made = (
        roster(),
        purpose("Graz"),
        box("Graz"),
        enrolment(),
        enrolment_with_words(),
        witnesses(),
        witnesses(CODE_KEYS),
        release(),
        opening(),
        codes(),
        question(12),
        named(),
        questions(),
        questions_with_words(),
        told(),
        shown(),
        pair_purpose("Graz", "Munich"),
        Record("unpooled/sealing-keys", {"keys": (("Graz", hybrid_key(pair_private("Graz"))),)}),
        Record("unpooled/sealed", pair_terms() | {"boxes": pair_boxes("Graz")}),
    )
    contexts = (
        pair_context("z64", 5),
        context("z32", 5),
        compared_context("z256", 2, "grows:15"),
        dealing_context(),
    )
    return [case(message) for message in (*made, *contexts)]


# Fixed point: the integer nearest to x * 2^bits, half to even, as a little-endian word.


def fixed_point() -> Any:
    reals = (0.0, 1.0, -1.0, 0.1, -0.1, 2.5, -2.5, 1e-9, -(2.0**-30), 123456.789, -123456.789)
    cases = [(x, bits, ring) for ring, bits in ((32, 8), (64, 34), (128, 60), (256, 80)) for x in reals]
    cases += [(-(2.0**30), 0, 32), (2.0**62, 0, 64), (-(2.0**63), 0, 64), (1e30, 20, 128), (-1e30, 20, 128)]
    cases += [(float(x), 0, 128) for x in (2**64, -(2**64), -(2**64) - 2**12, 2**126, -(2**127))]
    cases += [(x, 80, 256) for x in (1e50, -1e50, 2.0**174, -(2.0**175))]
    return [
        {"real": x.hex(), "fraction_bits": bits, "ring": ring, "word": word(scaled(x, bits), ring).hex()}
        for x, bits, ring in cases
    ]


def scaled(x: float, bits: int) -> int:
    return round(Fraction(x) * (1 << bits))  # Python rounds half to even


def word(number: int, ring: int) -> bytes:
    return int(number % 2**ring).to_bytes(ring // 8, "little")


# Masks.


def hkdf(seed: bytes, info: bytes) -> bytes:
    """RFC 5869, SHA-256, no salt, 32 bytes."""
    key = hmac.digest(bytes(32), seed, "sha256")
    return hmac.digest(key, info + b"\1", "sha256")


def keystream(key: bytes, length: int) -> bytes:
    """AES-256 of the blocks 0, 1, 2, ... as big-endian counters."""
    block = Cipher(algorithms.AES256(key), modes.ECB()).encryptor()  # noqa: S305 -- that is counter mode
    stream = b"".join(block.update(number.to_bytes(16, "big")) for number in range(length // 16 + 1))
    return stream[:length]


def mask(seed: bytes, named: Record) -> bytes:
    size, words = int(named.fields["scheme"][1:]) // 8, named.fields["words"]
    return keystream(hkdf(seed, encode(named)), size * words)


def normal_mask(seed: bytes, named: Record) -> list[str]:
    """Box-Muller on pairs of 53-bit uniforms in (0, 1]."""
    variance, words = float(named.fields["scheme"].partition(":")[2]), named.fields["words"]
    stream = keystream(hkdf(seed, encode(named)), 16 * math.ceil(words / 2))
    uniform = [((n >> 11) + 1) / 2**53 for (n,) in struct.iter_unpack("<Q", stream)]
    found = []
    for u, v in zip(uniform[::2], uniform[1::2], strict=True):
        radius, angle = math.sqrt(-2 * variance * math.log(u)), 2 * math.pi * v
        found += [radius * math.cos(angle), radius * math.sin(angle)]
    return [x.hex() for x in found[:words]]


def masks() -> Any:
    named = [context(scheme, 5) for scheme in ("z32", "z64", "z128")]
    named += [context("z32", 1), context("z32", 5, round=13), context("z32", 5, cohort=COHORTS[2])]
    named += [compared_context("z32", 5, "at-least"), compared_context("z256", 3, "grows:15")]
    seed = SEEDS["Graz"]
    uniform = [{"seed": seed.hex(), "context": typed(n), "mask": mask(seed, n).hex()} for n in named]
    normal = context("normal:1000000000000.0", 5)
    return [*uniform, {"seed": seed.hex(), "context": typed(normal), "normals": normal_mask(seed, normal)}]


# A comparison.


def comparison() -> Any:
    named, masks, own = dealing_context(), octets("sum of masks", 72), octets("own seed", 32)
    masks += octets("masks that nobody uses", 4 * THIRD_WORDS)
    keys = [hkdf(seed, encode(named)) for seed in (own, SEEDS["Graz"], SHUFFLE)]
    *dealt, order = (keystream(key, 1 << 15) for key in keys)
    made = session(dealt, masks, len(COHORTS), order)
    dealing = keys[0].hex() + made.pop("dealing")
    made["total"] += third_check(bytes.fromhex(made["total"])[64:], bytes.fromhex(dealing)).hex()
    asked = {**opening().fields, "scheme": "z32", "words": named.fields["words"], "circuit": "at-least"}
    sent = zip(made["server"], made["compensator"], strict=True)
    heard = bytes.fromhex("".join(message for pair in sent for message in pair))
    key = hkdf(witness(), encode(("unpooled/witness/comparison", Record("unpooled/opening", asked))))
    made["compensator"][-1] += hmac.digest(key, heard, "sha256").hex()
    about_all = {"witness": witness().hex(), "uploads": typed(asked["uploads"])}
    about = {"seed": SEEDS["Graz"].hex(), "own": own.hex(), "context": typed(named), "masks": masks.hex()}
    about["shuffle"] = SHUFFLE.hex()
    return {**about, **about_all, "dealing": dealing, **made}


def third_check(masked: bytes, dealing: bytes) -> bytes:
    """64 sums of the words that random bits choose, and a pad of each cohort, modulo 2^32."""
    words = [number for (number,) in struct.iter_unpack("<I", masked)]
    key = hkdf(witness(), encode(("unpooled/witness/third", 12, octets("question", 32))))
    rows = [number for (number,) in struct.iter_unpack("<Q", keystream(key, 8 * len(words)))]
    sums = [sum(word for word, row in zip(words, rows, strict=True) if row >> j & 1) for j in range(64)]
    for name in COHORTS:
        dealt = hashlib.sha256(dealing).digest() if name == "Graz" else b""
        named = compared_context("z32", 18 + THIRD_WORDS, "at-least")
        named.fields.update(cohort=name, nonce=octets(f"nonce {name}", 16))
        pad = keystream(
            hkdf(witness(), encode(("unpooled/witness/third-pad", named, dealt))), 4 * THIRD_WORDS
        )
        sums = [total + number for total, (number,) in zip(sums, struct.iter_unpack("<I", pad), strict=True)]
    return b"".join(word(total, 32) for total in sums)


# Checks.


def check(salt: bytes, numbers: list[int]) -> int:
    """The first coefficient times 1, and each of the others times its number."""
    stream = keystream(hkdf(salt, b"unpooled/check/1"), 8 * (1 + len(numbers)))
    first, *others = (c for (c,) in struct.iter_unpack("<Q", stream))
    return first + sum(c * x for c, x in zip(others, numbers, strict=True))


def second_check(round_: int, question: bytes, numbers: list[int], padded: bool) -> int:
    """Each coefficient times its number, and the pad where it is added."""
    key, pad = (
        hkdf(witness(), encode((f"unpooled/witness/{part}", round_, question))) for part in ("check", "pad")
    )
    coefficients = struct.iter_unpack("<Q", keystream(key, 8 * len(numbers)))
    total = sum(c * x for (c,), x in zip(coefficients, numbers, strict=True))
    return total + int.from_bytes(pad, "little") * padded


def checks() -> Any:
    """Whole shares before masking: both checks, modulo 2^256, then the numbers."""
    made = []
    for ring in (32, 64, 128):
        most = 2 ** (ring - 1) - 1
        for numbers in ([], [21, 34], [0, -1, most, -most]):
            salt = octets(f"salt {ring} {len(numbers)}", 32)
            question, texts = octets("question", 32), [str(x) for x in numbers]
            about = {"ring": ring, "salt": salt.hex(), "witness": witness().hex(), "round": 12}
            about |= {"question": question.hex(), "numbers": texts}
            for padded in (False, True):
                both = check(salt, numbers), second_check(12, question, numbers, padded)
                share = b"".join(word(x, 256) for x in both) + b"".join(word(x, ring) for x in numbers)
                made.append({**about, "padded": padded, "share": share.hex()})
    return made


# The witness: AES-256-GCM under a key of each cohort, behind a nonce that follows from the witness.


def witness(code_keys: bytes = b"") -> bytes:
    seeds = b"".join(SEEDS[name] for name in sorted(COHORTS))
    return hkdf(seeds, encode(("unpooled/witness/1", STUDY, PLAN_HASH, digest(roster()), code_keys)))


def sealed_witness(cohort: str, code_keys: bytes = b"") -> bytes:
    made = witness(code_keys)
    key = hkdf(SEEDS[cohort], encode(("unpooled/witness/seal", purpose(cohort))))
    nonce = hkdf(made, encode(("unpooled/witness/nonce", purpose(cohort))))[:12]
    return nonce + AESGCM(key).encrypt(nonce, made, encode((purpose(cohort), code_keys)))


def witness_vectors() -> Any:
    return [
        {
            "purpose": typed(purpose(name)),
            "seeds": [SEEDS[each].hex() for each in sorted(COHORTS)],
            "seed": SEEDS[name].hex(),
            "code_keys": code_keys.hex(),
            "witness": witness(code_keys).hex(),
            "sealed": sealed_witness(name, code_keys).hex(),
        }
        for name in sorted(COHORTS)
        for code_keys in (b"", CODE_KEYS)
    ]


# Masks of pairs: what each two cohorts have sealed to each other. Sealing keys follow from signing keys.


def pair_private(cohort: str) -> bytes:
    return hkdf(SIGNERS[cohort].private_bytes_raw(), encode("unpooled/sealing/1"))


def pair_roster() -> Record:
    keys = {name: SIGNERS[name].public_key().public_bytes_raw() for name in COHORTS}
    sealing = {name: hashlib.sha256(hybrid_key(pair_private(name))).digest() for name in COHORTS}
    members = tuple((name, keys[name] + sealing[name]) for name in sorted(COHORTS))
    return Record("unpooled/roster", {"members": members})


def pair_terms() -> dict[str, Any]:
    return {"plan_hash": PLAN_HASH, "roster_hash": digest(pair_roster())}


def pair_purpose(cohort: str, recipient: str) -> Record:
    who = {"cohort": cohort, "recipient": recipient, "version": VERSION}
    return Record("unpooled/pair-purpose", {"study": STUDY} | pair_terms() | who)


def pair_context(scheme: str, words: int) -> Record:
    asked = {"round": 12, "question": octets("question", 32), "scheme": scheme, "words": words}
    return Record("unpooled/pair", {"study": STUDY} | pair_terms() | asked | {"version": VERSION})


def of_pairs(secret: bytes, *names: str) -> bytes:
    return hkdf(secret, encode((*names, STUDY, PLAN_HASH, digest(pair_roster()))))


def pair_part(cohort: str, recipient: str) -> bytes:
    return of_pairs(SEEDS[cohort], "unpooled/pair/part/1", cohort, recipient)


def witness_part(cohort: str) -> bytes:
    return of_pairs(SEEDS[cohort], "unpooled/pair/of-witness/1", cohort)


def pair_box(cohort: str, recipient: str) -> Record:
    named = pair_purpose(cohort, recipient)
    parts = {"purpose": named, "part": pair_part(cohort, recipient), "witness": witness_part(cohort)}
    content, key = encode(Record("unpooled/pair-parts", parts)), hybrid_key(pair_private(recipient))
    sealed = hpke_seal(octets(f"ephemeral {cohort} {recipient}", 64), key, INFO, content)
    signature = SIGNERS[cohort].sign(encode((INFO, named, sealed)))
    return Record("unpooled/box", {"cohort": cohort, "sealed": sealed, "signature": signature})


def pair_boxes(cohort: str) -> tuple[Record, ...]:
    return tuple(pair_box(cohort, other) for other in sorted(COHORTS) if other != cohort)


def pair_witness() -> bytes:
    return of_pairs(b"".join(map(witness_part, sorted(COHORTS))), "unpooled/pair/witness/1")


def pair_mask(cohort: str, named: Record) -> bytes:
    """The checks as two numbers of 256 bits, and the words."""
    ring = int(named.fields["scheme"][1:])
    sizes = [32, 32, *[ring // 8] * (named.fields["words"] - 512 // ring)]
    totals = [0] * len(sizes)
    for other in COHORTS:
        if other == cohort:
            continue
        first, second = sorted([cohort, other])
        secret = pair_part(first, second) + pair_part(second, first) + pair_witness()
        stream = mask(of_pairs(secret, "unpooled/pair/key/1", first, second), named)
        for place, size in enumerate(sizes):
            at = sum(sizes[:place])
            number_ = int.from_bytes(stream[at : at + size], "little")
            totals[place] += number_ if cohort == first else -number_
    return b"".join(word(total, 8 * size) for total, size in zip(totals, sizes, strict=True))


def pairs() -> Any:
    return [
        {
            "study": STUDY,
            "plan_hash": PLAN_HASH.hex(),
            "roster": typed(pair_roster()),
            "cohort": name,
            "signer_private": SIGNERS[name].private_bytes_raw().hex(),
            "seed": SEEDS[name].hex(),
            "boxes": [typed(pair_box(other, name)) for other in sorted(COHORTS) if other != name],
            "witness": pair_witness().hex(),
            "masks": [
                {"context": typed(named), "mask": pair_mask(name, named).hex()}
                for named in (pair_context("z32", 21), pair_context("z64", 10), pair_context("z128", 6))
            ],
        }
        for name in sorted(COHORTS)
    ]


# Codes of words: RFC 9497 in ristretto255 (`ristretto.py`), twice.


CONTEXT = b"OPRFV1-\x01-ristretto255-SHA512"
SERVER_KEY = number(octets("server's key of codes", 64))
WORDS = ("aspirin", "warfarin")
MOST = 3


def expanded(text: bytes, domain: bytes) -> bytes:
    """expand_message_xmd of RFC 9380, for SHA-512 and 64 bytes."""
    first = hashlib.sha512(bytes(128) + text + b"\0\x40\0" + domain + bytes([len(domain)])).digest()
    return hashlib.sha512(first + b"\1" + domain + bytes([len(domain)])).digest()


def compensator_code_key() -> int:
    seeds = b"".join(SEEDS[name] for name in sorted(COHORTS))
    seed = hkdf(seeds, encode(("unpooled/code-key", STUDY)))
    return number(expanded(seed + b"\0\0" + b"\0", b"DeriveKeyPair" + CONTEXT))


CODE_KEYS = packed(times(SERVER_KEY, BASE)) + packed(times(compensator_code_key(), BASE))


def long(*parts: bytes) -> bytes:
    return b"".join(len(part).to_bytes(2, "big") + part for part in parts)


def part(key: int, about: bytes, points: list[bytes]) -> bytes:
    """One holder's answer: each point times the key, and the proof."""
    made = [packed(times(key, unpacked(point))) for point in points]
    context = CONTEXT + hashlib.sha512(encode((about, b"".join(points), b"".join(made)))).digest()
    public, scalar = packed(times(key, BASE)), b"HashToScalar-" + context
    seed = hashlib.sha512(long(public, b"Seed-" + context)).digest()
    weighed = ZERO
    for place, (one, other) in enumerate(zip(points, made, strict=True)):
        text = long(seed) + place.to_bytes(2, "big") + long(one, other) + b"Composite"
        weighed = add(weighed, times(number(expanded(text, scalar)), unpacked(one)))
    nonce = number(hmac.digest(key.to_bytes(32, "little"), context, "sha512"))
    known = (public, *map(packed, (weighed, times(key, weighed), times(nonce, BASE), times(nonce, weighed))))
    challenge = number(expanded(long(*known) + b"Challenge", scalar))
    response = (nonce - challenge * key) % ORDER
    return b"".join(made) + challenge.to_bytes(32, "little") + response.to_bytes(32, "little")


def cohort_points(secret: bytes, title: str) -> list[bytes]:
    def random(of: str | int) -> bytes:
        return hmac.digest(secret, encode(("unpooled/codes", title, of)), "sha512")

    own = [packed(times(number(random(word)), word_point(title, word))) for word in WORDS]
    return own + [packed(from_hash(random(place))) for place in range(len(WORDS), MOST)]


def word_point(title: str, word: str) -> Point:
    return from_hash(expanded(encode(("unpooled/code", title, word)), b"HashToGroup-" + CONTEXT))


def code(title: str, word: str) -> int:
    """The first 64 bits: no blinding leaves a trace."""
    point = packed(times(SERVER_KEY * compensator_code_key() % ORDER, word_point(title, word)))
    whole = hashlib.sha512(long(encode(("unpooled/code", title, word)), point) + b"Finalize").digest()
    return int.from_bytes(whole[:8], "big")


def codes_of_words() -> Any:
    secret, title = octets("secret", 32), f"{STUDY}/drug"
    points = cohort_points(secret, title)
    content = hashlib.sha256(b"".join(points)).digest()
    about = encode(("unpooled/codes", purpose("Graz"), 1, content))
    first = part(SERVER_KEY, about, points)
    between = [first[at : at + 32] for at in range(0, 32 * MOST, 32)]
    parts = first + part(compensator_code_key(), about, between)
    tag = hmac.digest(hkdf(SEEDS["Graz"], encode("unpooled/code-answer")), encode((about, parts)), "sha256")
    return {
        "secret": secret.hex(),
        "title": title,
        "words": list(WORDS),
        "most": MOST,
        "purpose": typed(purpose("Graz")),
        "column": 1,
        "server_key": SERVER_KEY.to_bytes(32, "little").hex(),
        "seeds": [SEEDS[name].hex() for name in sorted(COHORTS)],
        "seed": SEEDS["Graz"].hex(),
        "code_keys": CODE_KEYS.hex(),
        "points": b"".join(points).hex(),
        "answer": (parts + tag).hex(),
        "codes": [str(code(title, word)) for word in WORDS],
    }


# Digests.


def digest(record: Record) -> bytes:
    return hashlib.sha256(encode(record)).digest()


def plan() -> Record:
    """Every field in its order, then the options of its test by their names."""
    return Record(
        "unpooled/plan",
        {
            "test": "chi-square",
            "phenotype": "asthma",
            "cohorts": 3,
            "compensator_key": hybrid_key(COMPENSATOR),
            "trait": "case/control",
            "build": "GRCh38",
            "autosomes": 22,
            "chromosomes": (),
            "nonfounders": False,
            "allow_no_sex": False,
            "files": ("assoc", "frq", "lmiss", "hwe"),
            "min_samples": 50,
            "min_per_class": 10,
            "chunk_size": 20_000,
            "panel_mode": "names",
            "panel_digest": b"",
            "masking": "modular",
            "variance": 1e12,
            "ring_bits": 32,
            "schema": (),
            "version": VERSION,
            "ci": 0.0,
            "geno": 1.0,
            "hwe": 0.0,
            "maf": 0.0,
            "mind": 1.0,
        },
    )


def digests() -> Any:
    salt, question = octets("salt 12", 32), octets("question 12", 20)
    key = SIGNERS["Graz"].public_key().public_bytes_raw()
    digits = hashlib.sha256(key).hexdigest()
    return {
        "question": {
            "salt": salt.hex(),
            "question": question.hex(),
            "digest": hashlib.sha256(salt + question).hexdigest(),
        },
        "roster": {"value": typed(roster()), "digest": digest(roster()).hex()},
        "plan": {"value": typed(plan()), "digest": digest(plan()).hex()},
        "fingerprint": {"key": key.hex(), "text": " ".join(digits[i : i + 4] for i in range(0, 32, 4))},
    }


# Boxes: HPKE, RFC 9180, base mode: X-Wing, HKDF-SHA256, AES-256-GCM; then an Ed25519 signature.

SUITE = b"HPKE" + b"".join(number.to_bytes(2, "big") for number in (0x647A, 0x01, 0x02))
INFO = b"unpooled/box/6"
XWING = b"\\.//^\\"


def hybrid_key(private: bytes) -> bytes:
    """X-Wing's public key, draft-connolly-cfrg-xwing-kem: of ML-KEM-768, then of X25519."""
    expanded = hashlib.shake_256(private).digest(96)
    lattice, _ = ML_KEM_768.key_derive(expanded[:64])
    curve = X25519PrivateKey.from_private_bytes(expanded[64:])
    return lattice + curve.public_key().public_bytes_raw()


def encapsulated(public: bytes, randomness: bytes) -> tuple[bytes, bytes]:
    """X-Wing's shared secret and the bytes from which the holder of the private key finds it."""
    lattice, curve = public[:-32], public[-32:]
    ephemeral = X25519PrivateKey.from_private_bytes(randomness[32:])
    of_lattice, ciphertext = ML_KEM_768._encaps_internal(lattice, randomness[:32])
    of_curve = ephemeral.exchange(X25519PublicKey.from_public_bytes(curve))
    sent = ephemeral.public_key().public_bytes_raw()
    return hashlib.sha3_256(of_lattice + of_curve + sent + curve + XWING).digest(), ciphertext + sent


def extract(suite: bytes, salt: bytes, label: bytes, key: bytes) -> bytes:
    return hmac.digest(salt or bytes(32), b"HPKE-v1" + suite + label + key, "sha256")


def expand(suite: bytes, key: bytes, label: bytes, info: bytes, length: int) -> bytes:
    head = length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info
    return hmac.digest(key, head + b"\1", "sha256")[:length]  # at most one block is needed


def hpke_seal(randomness: bytes, recipient: bytes, info: bytes, plain: bytes) -> bytes:
    shared, sent = encapsulated(recipient, randomness)
    schedule = b"\0" + extract(SUITE, b"", b"psk_id_hash", b"") + extract(SUITE, b"", b"info_hash", info)
    secret = extract(SUITE, shared, b"secret", b"")
    key = expand(SUITE, secret, b"key", schedule, 32)
    nonce = expand(SUITE, secret, b"base_nonce", schedule, 12)
    return sent + AESGCM(key).encrypt(nonce, plain, b"")


def box(cohort: str) -> Record:
    content = Record("unpooled/seed", {"purpose": purpose(cohort), "seed": SEEDS[cohort]})
    sealed = hpke_seal(octets(f"ephemeral {cohort}", 64), hybrid_key(COMPENSATOR), INFO, encode(content))
    signature = SIGNERS[cohort].sign(encode((INFO, purpose(cohort), sealed)))
    return Record("unpooled/box", {"cohort": cohort, "sealed": sealed, "signature": signature})


def boxes() -> Any:
    return [
        {
            "compensator_private": COMPENSATOR.hex(),
            "signer_private": SIGNERS[name].private_bytes_raw().hex(),
            "signer_public": SIGNERS[name].public_key().public_bytes_raw().hex(),
            "purpose": typed(purpose(name)),
            "seed": SEEDS[name].hex(),
            "box": typed(box(name)),
        }
        for name in sorted(COHORTS)
    ]


if __name__ == "__main__":
    main()
