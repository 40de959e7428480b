"""Threshold CKKS by OpenFHE: adds up words that only all cohorts together can decrypt. EXPERIMENTAL.

Started by `worker.py` under an interpreter for which OpenFHE is packaged, where Unpooled is not installed.

What others have sent is never given to OpenFHE to parse: it comes as numbers, which are checked against their
moduli and put in the place of those of an object made here. All public keys share one polynomial, which
follows from a seed; so keys are made side by side, and their sum is the key to encrypt under.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import openfhe
from arrays_by_pipe import read, write

SIZE = 4096
"""Number of coefficients of the ring."""
SCALE = 40
"""Bits of the scale, and of the second modulus; the first has 60, so that a ring of 4096 has 128 bits of
security without room for products."""
UNIT = 2.0**22
"""Encrypted is each word of 32 bits times this: sums of 16 then have 98 of 100 bits, and 1 is 2^62."""
FLOOD = 2.0**14
"""Bound of the noise of each slot that covers a share of a decryption: 16 change a sum by 2^-4 at most, and a
coefficient's is 2^36 times that of the sum of 16 ciphertexts."""


class Ring:
    """A context, and the forms of what is sent."""

    def __init__(self) -> None:
        given = openfhe.CCParamsCKKSRNS()
        given.SetMultiplicativeDepth(1)
        given.SetScalingModSize(SCALE)
        given.SetFirstModSize(60)
        given.SetSecurityLevel(openfhe.HEStd_128_classic)
        given.SetScalingTechnique(openfhe.FIXEDMANUAL)
        given.SetKeySwitchTechnique(openfhe.BV)
        given.SetCKKSDataType(openfhe.COMPLEX)
        self.context = openfhe.GenCryptoContext(given)
        for feature in ("PKE", "LEVELEDSHE", "ADVANCEDSHE", "MULTIPARTY"):
            self.context.Enable(getattr(openfhe, feature))
        if self.context.GetRingDimension() != SIZE:
            raise AssertionError("OpenFHE has chosen another ring")
        pair = self.context.KeyGen()
        encrypted = self.context.Encrypt(pair.publicKey, self.plain(np.zeros(SIZE)))
        [share] = self.context.MultipartyDecryptLead([encrypted], pair.secretKey)
        self.key = Form(pair.publicKey, openfhe.DeserializePublicKeyString)
        self.encrypted = Form(encrypted, openfhe.DeserializeCiphertextString)
        self.share = Form(share, openfhe.DeserializeCiphertextString)

    def plain(self, values: np.ndarray) -> Any:
        """A number for each coefficient: half of them real, half imaginary parts."""
        real, imaginary = values.reshape(2, -1)
        return self.context.MakeCKKSPackedPlaintext((real + 1j * imaginary).tolist())


class Form:
    """The places of the residues of polynomials in OpenFHE's bytes of one kind of object."""

    def __init__(self, example: Any, made: Callable[[bytes, Any], Any]) -> None:
        self.bytes, self.made = openfhe.Serialize(example, openfhe.BINARY), made
        self.places = _places(self.bytes)
        listed = _residues(json.loads(openfhe.Serialize(example, openfhe.JSON)))
        numbers, moduli = zip(*listed, strict=True)
        self.moduli = np.array(moduli, np.uint64)[:, None]
        if not np.array_equal(self.numbers(example), np.array(numbers, np.uint64)):
            raise AssertionError("OpenFHE writes numbers in another way than this program reads them")

    def numbers(self, thing: Any) -> np.ndarray:
        data = openfhe.Serialize(thing, openfhe.BINARY)
        return np.stack([np.frombuffer(data, np.uint64, SIZE, at) for at in _places(data)])

    def of(self, numbers: np.ndarray) -> Any:
        """The object that has these numbers."""
        data = bytearray(self.bytes)
        for at, row in zip(self.places, self.checked(numbers), strict=True):
            data[at : at + 8 * SIZE] = row.tobytes()
        return self.made(bytes(data), openfhe.BINARY)

    def checked(self, numbers: np.ndarray) -> np.ndarray:
        """The same; ValueError for numbers that are no residues."""
        if not (numbers < self.moduli).all():
            raise ValueError("a number is not below its modulus")
        return numbers

    def sum(self, numbers: np.ndarray) -> np.ndarray:
        """Add up objects: (objects, polynomials, ring)."""
        total: np.ndarray = np.zeros_like(numbers[0])
        for each in numbers:  # one by one: two residues fit 64 bits, sixteen would not
            total = (total + self.checked(each)) % self.moduli
        return total


def _places(data: bytes) -> list[int]:
    """Find where the residues of polynomials begin: behind a pointer's mark, and their number."""
    found, at = [], 0
    while begin := _BEGIN.search(data, at):
        found.append(begin.end())
        at = begin.end() + 8 * SIZE
    return found


_BEGIN = re.compile(rb"\0\0\0\x40\x01(?:\0{4})?" + re.escape(SIZE.to_bytes(8, "little")))


def _residues(of: Any) -> Iterator[tuple[list[int], int]]:
    """Polynomials in OpenFHE's JSON of an object, each with its modulus, in their order."""
    if isinstance(of, dict) and isinstance(of.get("v"), list) and len(of["v"]) == SIZE:
        yield of["v"], int(of["m"]["v"])
        return
    for part in of.values() if isinstance(of, dict) else of if isinstance(of, list) else ():
        yield from _residues(part)


def common(ring: Ring, seed: bytes) -> np.ndarray:
    """The polynomial that all public keys share: uniform, from a seed that nobody chooses alone."""
    moduli = ring.key.moduli[-2:]
    # Of 128 bits, so that their remainder is uniform but for 2^-68.
    stream = hashlib.shake_256(b"unpooled/encrypted/common" + seed).digest(2 * SIZE * 16)
    wide = [int.from_bytes(stream[at : at + 16], "little") for at in range(0, len(stream), 16)]
    rows: np.ndarray = np.array(wide, object).reshape(2, -1) % moduli.astype(object)
    return rows.astype(np.uint64)


def keys(ring: Ring, given: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Make one cohort's key, and its part of the key to encrypt under."""
    shared = common(ring, given["seed"].tobytes())
    anybody = ring.key.of(np.concatenate([np.zeros_like(shared), shared]))
    pair = ring.context.MultipartyKeyGen(anybody, False, True)
    secret = np.frombuffer(openfhe.Serialize(pair.secretKey, openfhe.BINARY), np.uint8)
    return {"part": ring.key.numbers(pair.publicKey)[:2], "secret": secret}


def joint(ring: Ring, given: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The key to encrypt under: the sum of all parts, and what they share."""
    shared = common(ring, given["seed"].tobytes())
    total = ring.key.sum(np.stack([np.concatenate([part, np.zeros_like(part)]) for part in given["parts"]]))
    total[2:] = shared
    return {"key": total}


@functools.lru_cache(64)
def _key(ring: Ring, numbers: bytes) -> Any:
    return ring.key.of(np.frombuffer(numbers, np.uint64).reshape(4, SIZE))


def encrypt(ring: Ring, given: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Encrypt words of 32 bits."""
    key, words = _key(ring, given["key"].tobytes()), given["words"].astype(np.float64)
    blocks = np.pad(words, (0, -len(words) % SIZE)).reshape(-1, SIZE)
    made = (ring.context.Encrypt(key, ring.plain(UNIT * block)) for block in blocks)
    return {"encrypted": np.stack([ring.encrypted.numbers(each) for each in made])}


def share(ring: Ring, given: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Add uploads up, and make this cohort's share of the sum's decryption: (uploads, ciphertexts, …)."""
    secret = openfhe.DeserializePrivateKeyString(given["secret"].tobytes(), openfhe.BINARY)
    decrypt = ring.context.MultipartyDecryptLead if given["leads"] else ring.context.MultipartyDecryptMain
    found = []
    for uploads in given["uploads"].swapaxes(0, 1):
        [own] = decrypt([ring.encrypted.of(ring.encrypted.sum(uploads))], secret)
        # OpenFHE's own noise, of 2^20, is some 9 bits above that of a sum of ciphertexts.
        uniform = (np.frombuffer(os.urandom(8 * SIZE), np.uint64) >> np.uint64(11)) * 2.0**-52 - 1
        found.append(ring.share.numbers(ring.context.EvalAdd(own, ring.plain(FLOOD * uniform))))
    return {"share": np.stack(found)}


def opened(ring: Ring, given: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Decrypt by the shares of all cohorts: sums of words, and how far one was from a whole number."""
    found = []
    for shares in given["shares"].swapaxes(0, 1):
        plain = ring.context.MultipartyDecryptFusion([ring.share.of(ring.share.sum(shares))])
        values = np.array(plain.GetCKKSPackedValue()) / UNIT
        found += [values.real, values.imag]
    sums = np.concatenate(found)
    whole = np.rint(sums)
    return {"sums": whole.astype(np.int64), "noise": np.abs(sums - whole).max(keepdims=True)}


TASKS = {"keys": keys, "joint": joint, "encrypt": encrypt, "share": share, "opened": opened}


def main() -> None:
    """Do what is asked, until nobody asks any more."""
    ring = Ring()
    while given := read(sys.stdin.buffer):
        try:
            write(sys.stdout.buffer, {}, TASKS[given["do"]](ring, given))
        except (RuntimeError, ValueError) as error:
            write(sys.stdout.buffer, {"error": str(error)}, {})


if __name__ == "__main__":
    main()
