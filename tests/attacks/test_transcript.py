"""The search finds counts in every encoding in which a careless program might leak them, and only those."""

from __future__ import annotations

import base64
import json
import os
import secrets
from collections.abc import Callable

import numpy as np
import pytest

from .transcript import RUN, Finding, Searcher

COUNTS = np.random.default_rng(7).binomial(1781, np.random.default_rng(8).beta(0.7, 0.7, size=20_000))
PART = slice(4321, 4321 + RUN)  # a leak of 16 counts only, of all that a cohort has


@pytest.fixture(scope="module")
def searcher() -> Searcher:
    return Searcher({"cases with two copies": COUNTS, "other": np.arange(500) * 3})


def words(kind: str) -> Callable[[np.ndarray], bytes]:
    return lambda counts: (counts & 255 if kind == "u1" else counts).astype(kind).tobytes()


def text(separator: str) -> Callable[[np.ndarray], bytes]:
    return lambda counts: separator.join(map(str, counts.tolist())).encode()


WORDS = {
    kind: words(kind) for kind in ("u1", "<u2", ">u2", "<u4", ">u4", "<u8", ">u8", "<f4", ">f4", "<f8", ">f8")
}
SEPARATORS = [" ", ",", ", ", "\n", "\r\n", "\t", ";", " | ", "\n    ", ", \n", "],[", '", "']
TEXTS = {f"decimal {separator!r}": text(separator) for separator in SEPARATORS} | {
    "json": lambda counts: json.dumps({"counts": counts.tolist()}).encode(),
    "decimal with point": lambda counts: ",".join(f"{x:.1f}" for x in counts.tolist()).encode(),
    "every third number": lambda counts: b"\n".join(
        b"%d %d 7" % (i, x) for i, x in enumerate(counts.tolist())
    ),
    "padded": lambda counts: " ".join(f"{x:06d}" for x in counts.tolist()).encode(),
    "hexadecimal numbers": lambda counts: " ".join(f"{x:#x}" for x in counts.tolist()).encode(),
}
WRAPPERS: dict[str, Callable[[bytes], bytes]] = {
    "hex": lambda data: data.hex().encode(),
    "hex, capitals, odd nibble": lambda data: b"F" + data.hex().upper().encode(),
    "hex in pairs": lambda data: data.hex(" ").encode(),
    "hex in lines": lambda data: b"\n".join(
        data.hex(":").encode()[i : i + 48] for i in range(0, 3 * len(data), 48)
    ),
    "base64": base64.b64encode,
    "base64, second alignment": lambda data: base64.b64encode(b"?" + data),
    "base64, third alignment": lambda data: base64.b64encode(b"??" + data),
    "base64, behind other letters": lambda data: b"Bearer/x" + base64.b64encode(data),
    "base64 without padding": lambda data: base64.b64encode(data).rstrip(b"="),
    "base64 for addresses": base64.urlsafe_b64encode,
    "base64 in lines": base64.encodebytes,
}


def leak(payload: bytes, before: int) -> bytes:
    """The payload among random bytes, set off by what is in no alphabet: else a digit may join its own."""
    return os.urandom(before) + b"~" + payload + b"~" + os.urandom(1000)


def assert_found(findings: list[Finding], view: str) -> None:
    hits = [f for f in findings if f.view == view and f.vector == "cases with two copies"]
    assert any(f.first <= PART.start and f.first + f.length >= PART.stop for f in hits), findings


@pytest.mark.parametrize("kind", WORDS)
def test_finds_words_at_any_byte(searcher: Searcher, kind: str) -> None:
    payload = WORDS[kind](COUNTS[PART])
    blobs = {str(before): leak(payload, before) for before in range(1000, 1008)}
    findings = searcher.search(blobs)
    assert {f.blob for f in findings} == set(blobs)
    for finding in findings:
        assert finding.encoding == kind
        assert finding.position == int(finding.blob) + 1
        assert (finding.first, finding.length) == (PART.start, RUN)
    assert_found(findings, "as it stands")


@pytest.mark.parametrize("form", TEXTS)
def test_finds_text(searcher: Searcher, form: str) -> None:
    findings = searcher.search({"log": leak(TEXTS[form](COUNTS[PART]), 999)})
    assert_found(findings, "as it stands")


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("form", [*WORDS, "decimal ', '"])
def test_finds_both_in_hex_and_base64(searcher: Searcher, wrapper: str, form: str) -> None:
    encode = WORDS.get(form) or TEXTS[form]
    findings = searcher.search({"body": leak(WRAPPERS[wrapper](encode(COUNTS[PART])), 500)})
    assert_found(findings, "from hex" if "hex" in wrapper else "from base64")


def test_a_long_leak_is_one_finding(searcher: Searcher) -> None:
    blob = leak(COUNTS.astype("<u4").tobytes(), 100)
    (finding,) = searcher.search({"share": blob})
    assert finding == Finding("share", "as it stands", 101, "<u4", "cases with two copies", 0, len(COUNTS))


def test_finds_a_leak_across_the_pieces_that_a_blob_is_read_in(searcher: Searcher) -> None:
    blob = bytes((8 << 20) - 20) + COUNTS[PART].astype("<u4").tobytes() + bytes(1 << 20)
    assert [f.position for f in searcher.search({"big": blob})] == [(8 << 20) - 20]


def test_finds_nothing_where_nothing_is(searcher: Searcher) -> None:
    masks = np.frombuffer(secrets.token_bytes(4 * len(COUNTS)), dtype="<u4")
    shuffled = np.random.default_rng(1).permutation(COUNTS)
    blobs = {
        "masked": (COUNTS.astype("<u4") + masks).tobytes(),
        "masked, hex": (COUNTS.astype("<u4") + masks).tobytes().hex().encode(),
        "masked, base64": base64.b64encode((COUNTS.astype("<u4") + masks).tobytes()),
        "other counts": shuffled.astype("<u4").tobytes(),
        "other counts, text": json.dumps(shuffled.tolist()).encode(),
        "a sum": (COUNTS + shuffled).astype("<u4").tobytes(),
        "zeros": bytes(100_000),
        "empty": b"",
        "short": b"12 13",
    }
    assert searcher.search(blobs) == []


def test_runs_that_say_nothing_are_passed_over() -> None:
    dull = np.repeat(np.arange(100) % 3, 5)
    assert Searcher({"dull": dull}).search({"x": dull.astype("<u4").tobytes()}) == []
    assert Searcher({"dull": dull}, distinct=3).search({"x": dull.astype("<u4").tobytes()})


def test_fifteen_counts_are_no_run() -> None:
    searcher = Searcher({"counts": COUNTS})
    blob = COUNTS[100:115].astype("<u8").tobytes() + b"\xff" * 8
    assert searcher.search({"x": blob}) == []
