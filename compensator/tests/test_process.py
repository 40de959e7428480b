"""The service as people run it: a process of its own, real sockets, killed at any moment."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.certificates import self_signed
from tests.patience import PATIENCE, until
from unpooled.protocol import codec
from unpooled.protocol.messages import ReleaseRequest
from unpooled.protocol.sealing import fingerprint
from unpooled_compensator import serving

from .conftest import HEADERS, SECRET, Federation, Service
from .test_enrolment import refusal

BOXES = "/v1/studies/study-1/boxes"


def raw(service: Service, *parts: bytes, close: bool = False) -> bytes:
    """Send some bytes on a socket, and return what comes back, up to its end."""
    with socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE) as connection:
        for part in parts:
            connection.sendall(part)
        if close:
            connection.shutdown(socket.SHUT_WR)
        answer = b""
        with contextlib.suppress(ConnectionError):  # it is reset where the service has not read all of it
            while piece := connection.recv(65536):
                answer += piece
        return answer


def head(path: str, length: int, method: str = "POST") -> bytes:
    return (
        f"{method} {path} HTTP/1.1\r\nHost: c\r\nAuthorization: Bearer {SECRET}\r\n"
        f"Content-Type: application/octet-stream\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    ).encode()


def streamed(service: Service, request: ReleaseRequest) -> contextlib.AbstractContextManager[httpx.Response]:
    path = "/v1/studies/study-1/releases"
    return service.client.stream("POST", path, content=codec.encode(request), headers=HEADERS)


def test_a_whole_study(service: Service) -> None:
    federation = Federation(service.key)
    assert service.client.get("/health").json()["fingerprint"] == fingerprint(service.key)
    assert fingerprint(service.key) in service.banner[1]
    assert service.caller.enrol(federation.enrolment()).status_code == 201
    for round_, scheme in enumerate(["z32", "z64", "z128"]):
        request = federation.request(round_, scheme, words=200_000)
        assert service.caller.release(request).content == federation.sum_of_masks(request)
    assert service.caller.end("study-1").status_code == 204
    assert refusal(service.caller.release(federation.request())) == (410, "study_over")
    assert service.terminate() == 0


def test_sigterm_lets_a_running_release_finish(service: Service) -> None:
    federation = Federation(service.key)
    service.caller.enrol(federation.enrolment())
    request = federation.request(scheme="z128", words=2_000_000)
    with streamed(service, request) as response:
        pieces = response.iter_bytes()
        first = next(pieces)
        service.process.send_signal(signal.SIGTERM)
        rest = b"".join(pieces)
    assert first + rest == federation.sum_of_masks(request)
    assert service._gone() == 0


def test_killed_at_any_moment_it_gives_the_same_answers(service: Service) -> None:
    """Answers from before a kill stay the same; the others can be asked for again."""
    federation = Federation(service.key)
    assert service.caller.enrol(federation.enrolment()).status_code == 201
    asked: dict[int, ReleaseRequest] = {}
    answers: dict[int, bytes] = {}

    def ask_on() -> None:
        while True:
            round_ = len(asked)
            asked[round_] = federation.request(round_, words=3000)
            try:
                answers[round_] = service.caller.release(asked[round_]).content
            except (httpx.HTTPError, RuntimeError):
                return

    for more in range(4):
        thread = threading.Thread(target=ask_on)
        thread.start()
        enough = len(answers) + more
        until(lambda enough=enough: len(answers) > enough, lambda: f"{len(answers)} answers")
        service.process.kill()  # while the next one is asked for, or computed, or sent
        thread.join()
        service.kill()
        service.start()
    assert len(answers) > 4
    for round_, request in asked.items():
        want = federation.sum_of_masks(request)
        assert answers.get(round_, want) == want
        if round_ in answers:
            other = federation.request(round_, words=3000)
            assert refusal(service.caller.release(other)) == (409, "other_request")
        assert service.caller.release(request).content == want


def test_killed_while_enrolling_it_has_all_boxes_or_none(service: Service) -> None:
    for number in range(3):
        federation = Federation(service.key, study=f"study-{number}")
        enrolment = federation.enrolment()
        killer = threading.Timer(random.uniform(0, 0.02), service.process.kill)
        killer.start()
        try:
            status = service.caller.enrol(enrolment).status_code
        except httpx.HTTPError:
            status = 0
        killer.join()
        service.kill()
        service.start()
        again = service.caller.enrol(enrolment)
        assert again.status_code in ((200,) if status else (200, 201))
        assert federation.opened(again.content)
        request = federation.request()
        assert service.caller.release(request).content == federation.sum_of_masks(request)


def test_a_restart_keeps_key_secret_and_tombstones(service: Service) -> None:
    federation = Federation(service.key)
    enrolment = federation.enrolment()
    service.caller.enrol(enrolment)
    service.caller.end("study-1")
    banner = service.banner[1:]
    assert service.terminate() == 0
    service.start()
    assert service.banner[1:] == banner
    assert refusal(service.caller.enrol(enrolment)) == (410, "study_over")


def test_a_truncated_body_is_not_taken_for_a_message(service: Service) -> None:
    federation = Federation(service.key)
    body = codec.encode(federation.enrolment())
    raw(service, head(BOXES, len(body), "PUT"), body[:-1], close=True)
    assert service.caller.enrol(federation.enrolment()).status_code == 201


def test_a_body_longer_than_announced_is_cut_off(service: Service) -> None:
    body = codec.encode(Federation(service.key).enrolment())
    assert raw(service, head(BOXES, len(body) - 1, "PUT"), body).startswith(b"HTTP/1.1 400")


CHUNKED = head(BOXES, 0, "PUT").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")


@pytest.mark.parametrize(
    ("status", "sent"),
    [
        (b"413", [head(BOXES, 10**12, "PUT")]),  # and not a byte of it
        (b"411", [CHUNKED, b"1\r\nx\r\n0\r\n\r\n"]),
    ],
)
def test_odd_lengths_are_refused(service: Service, status: bytes, sent: list[bytes]) -> None:
    assert raw(service, *sent).startswith(b"HTTP/1.1 " + status)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\0\0\0\0\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"G" * 10**6,
    ],
)
def test_what_is_no_http_does_no_harm(service: Service, line: bytes) -> None:
    with contextlib.suppress(OSError):
        raw(service, line, close=True)
    assert service.client.get("/health").status_code == 200


def given() -> socket.socket:
    """A socket that another process has handed over."""
    return serving.inherited(socket.create_server(("127.0.0.1", 0)).detach())


@pytest.mark.parametrize("listen", [lambda: serving.listen("127.0.0.1", 0), given], ids=["own", "given"])
def test_small_answers_come_at_once(listen: Callable[[], socket.socket]) -> None:
    """Each answer takes 40 ms without TCP_NODELAY, because head and body are two packets."""
    with listen() as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_service_on_an_inherited_socket_comes_back_at_its_address(service: Service) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        for _ in range(2):
            service.kill()
            service.start("--fd", str(listener.fileno()), pass_fds=[listener.fileno()])
            assert service.port == listener.getsockname()[1]
            assert service.client.get("/health").json()["fingerprint"] == fingerprint(service.key)


def test_requests_side_by_side(service: Service) -> None:
    federation = Federation(service.key)
    service.caller.enrol(federation.enrolment())
    requests = [federation.request(round_, words=20_000) for round_ in range(24)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(service.caller.release, requests))
    assert [a.content for a in answers] == [federation.sum_of_masks(r) for r in requests]


def test_a_large_release_takes_little_memory(service: Service) -> None:
    status = Path(f"/proc/{service.process.pid}/status")
    if not status.exists():
        pytest.skip("needs /proc")
    federation = Federation(service.key)
    service.caller.enrol(federation.enrolment())
    service.caller.release(federation.request(1, "z64", 100_000))
    before = peak_kilobytes(status)
    request = federation.request(2, "z64", 16 * 2**20)
    size = 0
    with streamed(service, request) as response:
        for piece in response.iter_bytes():
            size += len(piece)
    assert size == 128 * 2**20
    assert peak_kilobytes(status) - before < 24 * 1024


def peak_kilobytes(status: Path) -> int:
    (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1])


def test_the_log_shows_requests_without_secrets(service: Service) -> None:
    federation = Federation(service.key)
    service.caller.enrol(federation.enrolment())
    service.client.get(f"/health?secret={SECRET}")
    raw(service, head(BOXES, 5, "PUT"), b"x", close=True)
    assert service.terminate() == 0
    log = service.log.read_text()
    assert "method=PUT path=/v1/studies/study-1/boxes status=201" in log
    assert "method=GET path=/health status=200" in log
    assert SECRET not in log and "Traceback" not in log


def test_a_port_in_use_is_said_to_be_so(service: Service) -> None:
    command = [*service.process.args[:4], "--port", str(service.port), *service.process.args[6:]]  # type: ignore[index]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert shown.returncode == 1
    assert f"port {service.port}" in shown.stderr and "Choose another" in shown.stderr
    assert service.client.get("/health").status_code == 200


@pytest.mark.skipif(os.name != "posix", reason="/proc")
def test_the_process_leaves_no_core_dump(service: Service) -> None:
    limits = Path(f"/proc/{service.process.pid}/limits")
    if not limits.exists():
        pytest.skip("needs /proc")
    (line,) = [line for line in limits.read_text().splitlines() if line.startswith("Max core")]
    assert line.split()[4:6] == ["0", "0"]


def test_tls(service: Service, tmp_path: Path) -> None:
    certificate = self_signed(tmp_path)
    service.terminate()
    service.start("--tls-certificate", str(certificate), "--tls-key", str(certificate))
    assert service.address.startswith("https://")
    context = ssl.create_default_context(cafile=certificate)
    with httpx.Client(base_url=service.address, verify=context, trust_env=False) as client:
        assert client.get("/health").json()["fingerprint"] in service.banner[1]


def test_figures_are_for_whoever_has_their_secret(service: Service, tmp_path: Path) -> None:
    secret = tmp_path / "metrics-secret"
    secret.write_text("m" * 64)
    service.terminate()
    service.start("--metrics-secret-file", str(secret), "--log", "json")
    federation = Federation(service.key)
    service.caller.enrol(federation.enrolment())
    assert service.client.get("/metrics", headers={"authorization": f"Bearer {SECRET}"}).status_code == 401
    answer = service.client.get("/metrics", headers={"authorization": f"Bearer {'m' * 64}"})
    assert "unpooled_compensator_studies 1.0" in answer.text
    assert 'unpooled_compensator_requests_total{status="201"} 1.0' in answer.text
    assert federation.study not in answer.text
    service.terminate()
    lines = [line for line in service.log.read_text().splitlines() if line.startswith("{")]
    assert json.loads(lines[-1])["path"] == "/metrics"
