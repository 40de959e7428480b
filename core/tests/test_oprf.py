"""RFC 9497, appendix A.1.2: the published vectors of ristretto255-SHA512, and what a proof does not show."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from unpooled.protocol import oprf
from unpooled.protocol.oprf import CONTEXT

SEED, INFO = bytes([0xA3]) * 32, b"test key"
KEY = bytes.fromhex("e6f73f344b79b379f1a0dd37e07ff62e38d9f71345ce62ae3a9bc60b04ccd909")
PUBLIC = bytes.fromhex("c803e2cc6b05fc15064549b5920659ca4a77b2cca6f04f6b357009335476ad4e")
INPUTS = [b"\0", b"Z" * 17]
OUTPUTS = [
    "b58cfbe118e0cb94d79b5fd6a6dafb98764dff49c14e1770b566e42402da1a7d"
    "a4d8527693914139caee5bd03903af43a491351d23b430948dd50cde10d32b3c",
    "8a9a2f3c7f085b65933594309041fc1898d42d0858e59f90814ae90571a6df60"
    "356f4610bf816f27afdd84f47719e480906d27ecd994985890e5f539e7ea74b6",
]
BLIND = "64d37aed22a27f5191de1c1d69fadb899d8862b58eb4220029e036ec4c1f6706"
ANOTHER = "222a5e897cf59db8145db8d16e597e8facb80ae7d4e26d9881aa6f61d645fc0e"
FIRST = "863f330cc1a1259ed5a5998a23acfd37fb4351a793a5b3c090b642ddc439b945"
FIRST_MULTIPLIED = "aa8fa048764d5623868679402ff6108d2521884fa138cd7f9c7669a9a014267e"


@dataclass(frozen=True)
class Vector:
    inputs: tuple[int, ...]
    blinds: tuple[str, ...]
    blinded: tuple[str, ...]
    multiplied: tuple[str, ...]
    nonce: str
    proof: str


VECTORS = [
    Vector(
        (0,),
        (BLIND,),
        (FIRST,),
        (FIRST_MULTIPLIED,),
        ANOTHER,
        "ddef93772692e535d1a53903db24367355cc2cc78de93b3be5a8ffcc6985dd06"
        "6d4346421d17bf5117a2a1ff0fcb2a759f58a539dfbe857a40bce4cf49ec600d",
    ),
    Vector(
        (1,),
        (BLIND,),
        ("cc0b2a350101881d8a4cba4c80241d74fb7dcbfde4a61fde2f91443c2bf9ef0c",),
        ("60a59a57208d48aca71e9e850d22674b611f752bed48b36f7a91b372bd7ad468",),
        ANOTHER,
        "401a0da6264f8cf45bb2f5264bc31e109155600babb3cd4e5af7d181a2c9dc0a"
        "67154fabf031fd936051dec80b0b6ae29c9503493dde7393b722eafdf5a50b02",
    ),
    Vector(
        (0, 1),
        (BLIND, ANOTHER),
        (FIRST, "90a0145ea9da29254c3a56be4fe185465ebb3bf2a1801f7124bbbadac751e654"),
        (FIRST_MULTIPLIED, "cc5ac221950a49ceaa73c8db41b82c20372a4c8d63e5dded2db920b7eee36a2a"),
        "419c4f4f5052c53c45f3da494d2b67b220d02118e0857cdbcf037f9ea84bbe0c",
        "cc203910175d786927eeb44ea847328047892ddf8590e723c37205cb74600b0a"
        "5ab5337c8eb4ceae0494c2cf89529dcf94572ed267473d567aeed6ab873dee08",
    ),
]


def octets(*texts: str) -> list[bytes]:
    return [bytes.fromhex(text) for text in texts]


def test_keys_are_those_of_the_rfc() -> None:
    assert oprf.derived_key(SEED, INFO) == KEY
    assert oprf.public_key(KEY) == PUBLIC


@pytest.mark.parametrize("vector", VECTORS)
def test_points_proofs_and_outputs_are_those_of_the_rfc(vector: Vector) -> None:
    inputs, blinds = [INPUTS[k] for k in vector.inputs], octets(*vector.blinds)
    blinded = [oprf.product(blind, oprf.point(text)) for blind, text in zip(blinds, inputs, strict=True)]
    assert blinded == octets(*vector.blinded)
    multiplied = [oprf.product(KEY, each) for each in blinded]
    assert multiplied == octets(*vector.multiplied)
    proof = oprf.prove(KEY, *octets(vector.nonce), blinded, multiplied, CONTEXT)
    assert proof == bytes.fromhex(vector.proof)
    assert oprf.proves(proof, PUBLIC, blinded, multiplied, CONTEXT)
    for text, blind, each, k in zip(inputs, blinds, multiplied, vector.inputs, strict=True):
        assert oprf.finalized(text, oprf.product(oprf.inverse(blind), each)).hex() == OUTPUTS[k]


@pytest.mark.skipif(sys.platform == "win32", reason="a library that is in use stays there")
def test_libsodium_leaves_no_copy_of_itself(tmp_path: Path) -> None:
    code = "from unpooled.protocol import oprf; oprf.random_key()"
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    assert not list(tmp_path.iterdir())
