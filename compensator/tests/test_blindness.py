"""Acts that the compensator never does: call out, keep a seed in the clear, write a secret into its log."""

from __future__ import annotations

import ast
import base64
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import unpooled_compensator
from unpooled.protocol.sealing import SealingKey
from unpooled_compensator.serving import log_lines

from .conftest import SECRET, Caller, Federation

PACKAGE = Path(unpooled_compensator.__file__).parent


def imported() -> Iterator[tuple[Path, str]]:
    for path in PACKAGE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                yield from ((path, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield path, node.module


def test_of_the_library_only_the_protocol_is_imported() -> None:
    ours = {name for _, name in imported() if name.split(".")[0] == "unpooled"}
    assert all(name == "unpooled.errors" or name.startswith("unpooled.protocol") for name in ours), ours


def test_nothing_that_opens_addresses_is_imported() -> None:
    clients = {
        "http",
        "urllib",
        "httpx",
        "requests",
        "ftplib",
        "smtplib",
        "subprocess",
        "webbrowser",
        "xmlrpc",
    }
    assert not [(path, name) for path, name in imported() if name.split(".")[0] in clients]


def test_the_service_starts_without_the_libraries_of_the_algorithms() -> None:
    code = (
        "import sys, unpooled_compensator.cli; "
        "print({'numba', 'scipy', 'pandas', 'httpx'} & set(sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "set()"


class Watch:
    """Counts what would reach out of this process. A hook stays for ever, so it can be switched off."""

    def __init__(self) -> None:
        self.on, self.seen = False, list[str]()
        sys.addaudithook(self.hook)

    def hook(self, event: str, arguments: tuple[object, ...]) -> None:
        reaching = ("socket.connect", "socket.getaddrinfo", "socket.sendto", "subprocess.Popen", "os.system")
        if self.on and event in reaching:
            self.seen.append(event)


def test_a_whole_study_makes_no_outgoing_request(caller: Caller, federation: Federation) -> None:
    watch = Watch()
    watch.on = True
    try:
        assert caller.enrol(federation.enrolment()).status_code == 201
        assert caller.release(federation.request()).status_code == 200
        assert caller.client.get("/health").status_code == 200
        assert caller.end("study-1").status_code == 204
    finally:
        watch.on = False
    assert watch.seen == []


def shapes(secret: bytes) -> list[bytes]:
    return [secret, secret.hex().encode(), base64.b64encode(secret)[:40], repr(secret)[2:-1].encode()]


def test_no_seed_lies_in_the_state_directory(caller: Caller, enrolled: Federation, tmp_path: Path) -> None:
    caller.release(enrolled.request())
    kept = b"".join(path.read_bytes() for path in (tmp_path / "state").iterdir())
    for seed in enrolled.seeds.values():
        assert not any(shape in kept for shape in shapes(seed))


def written(caplog: pytest.LogCaptureFixture, is_json: bool = False) -> str:
    """Return what was logged, as the process writes it."""
    return "\n".join(map(log_lines(is_json).format, caplog.records))


def test_no_secret_is_in_a_log_line_or_an_answer(
    caller: Caller, federation: Federation, key: SealingKey, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "httpx")  # the caller's, not ours
    caplog.set_level(logging.DEBUG)
    seen = []
    enrolment, request = federation.enrolment(), federation.request()
    seen.append(caller.enrol(enrolment))
    caller.release(request)
    seen.append(caller.release(federation.request()))
    seen.append(caller.put("study-3", b"r" + SECRET.encode()))
    seen.append(caller.client.get(f"/v1/studies/x?token={SECRET}"))
    seen.append(caller.client.get("/", headers={"authorization": f"Bearer {SECRET}"}))
    seen.append(caller.end("study-1"))
    text = (written(caplog) + "".join(response.text for response in seen)).encode()
    assert b"/v1/studies/study-1/releases" in text
    assert SECRET.encode() not in text
    answers = b"".join(response.content for response in seen)
    for secret in [key.private, *federation.seeds.values(), federation.opened(seen[0].content)]:
        assert not any(shape in text or shape in answers for shape in shapes(secret))


@pytest.mark.parametrize("is_json", [False, True])
def test_a_path_cannot_forge_a_log_line(
    caller: Caller, caplog: pytest.LogCaptureFixture, is_json: bool
) -> None:
    caplog.set_level(logging.INFO)
    caller.client.get("/%0a2026-01-01 INFO forged%1b[2J")
    (line,) = [line for line in written(caplog, is_json).splitlines() if "answered" in line]
    assert "forged" in line and "\x1b" not in line


def test_secrets_do_not_print(caller: Caller, enrolled: Federation, key: SealingKey) -> None:
    for thing in (key, enrolled.signers["Graz"], caller, enrolled.enrolment()):
        printed = f"{thing!r}{thing}".encode()
        for secret in [key.private, enrolled.signers["Graz"].private, *enrolled.seeds.values()]:
            assert not any(shape in printed for shape in shapes(secret))
