"""A small cast: three cohorts, their server, and a compensator in this process or in one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.types import ASGIApp

from tests.patience import PATIENCE
from unpooled.protocol import codec, codes, masking, messages, oprf, witness
from unpooled.protocol.messages import (
    CodeRequest,
    Enrolment,
    OpeningRequest,
    ReleaseRequest,
    Roster,
    Witnesses,
    signed_points,
)
from unpooled.protocol.sealing import SealingKey, SigningKey, seal_seed
from unpooled_compensator import state
from unpooled_compensator.app import create_app
from unpooled_compensator.service import Compensator

with warnings.catch_warnings():  # it would rather have the successor of httpx
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

SECRET = "0123456789abcdef" * 4
HEADERS = {"authorization": f"Bearer {SECRET}", "content-type": "application/octet-stream"}
NAMES = ("Graz", "Munich", "Tartu")


def unchecked(record: Any, **changes: object) -> Any:
    """A record with fields that its own checks would refuse, as a hostile caller could write it."""
    forged = object.__new__(type(record))
    forged.__dict__.update(vars(record) | changes)
    return forged


@dataclass
class Federation:
    """The cohorts of one study and what the server would send for them."""

    compensator_key: bytes
    study: str = "study-1"
    names: tuple[str, ...] = NAMES
    plan_hash: bytes = field(default_factory=lambda: os.urandom(32))

    def __post_init__(self) -> None:
        self.signers = {name: SigningKey.generate() for name in self.names}
        self.seeds = {name: os.urandom(32) for name in self.names}
        self.code_key = oprf.random_key()

    @property
    def roster(self) -> Roster:
        return Roster(tuple((name, self.signers[name].public) for name in sorted(self.names)))

    def enrolment(self) -> Enrolment:
        """Freshly sealed boxes: two calls give two sets."""
        unsealed = Enrolment(self.study, self.plan_hash, self.roster, ())
        purposes = [unsealed.purpose(name, self.compensator_key) for name in self.names]
        boxes = tuple(seal_seed(self.seeds[p.cohort], p, self.signers[p.cohort]) for p in purposes)
        return replace(unsealed, boxes=boxes, code_key=oprf.public_key(self.code_key))

    def opened(self, answer: bytes) -> bytes:
        """The witness in the answer to an enrolment, which is the same for all cohorts."""
        made: Witnesses = messages.decode(answer, Witnesses)
        whole = self.enrolment()
        assert [name for name, _ in made.sealed] == sorted(self.names)
        [found] = {
            witness.unsealed(
                box,
                self.seeds[name],
                whole.purpose(name, self.compensator_key),
                whole.code_key + made.code_key,
            )
            for name, box in made.sealed
        }
        return found

    def request(self, round_: int = 1, scheme: str = "z32", words: int = 100) -> ReleaseRequest:
        uploads = tuple((name, os.urandom(16)) for name in sorted(self.names))
        return ReleaseRequest(self.study, round_, os.urandom(32), scheme, words, uploads)

    def codes(self, cohort: str, points: bytes, column: int = 0) -> CodeRequest:
        about = self.about(cohort, points, column)
        part = codes.answered(self.code_key, about, points)
        return CodeRequest(self.study, cohort, column, points, part, self.signers[cohort].sign(about))

    def about(self, cohort: str, points: bytes, column: int = 0) -> bytes:
        """Return what a cohort signs of its points."""
        purpose = Enrolment(self.study, self.plan_hash, self.roster, ()).purpose(cohort, self.compensator_key)
        return signed_points(purpose, column, points)

    def opening(
        self, round_: int = 1, scheme: str = "z32", words: int = 100, circuit: str = "at-least"
    ) -> OpeningRequest:
        return OpeningRequest(
            **vars(self.request(round_, scheme, words)), circuit=circuit, shuffle=os.urandom(32)
        )

    def sum_of_masks(self, request: ReleaseRequest) -> bytes:
        """Return what the compensator should answer: the sum of the masks that the cohorts would use."""
        kind = masking.scheme(request.scheme)
        masks = [
            masking.mask(
                self.seeds[cohort],
                masking.context_of(
                    request.circuit if isinstance(request, OpeningRequest) else None,
                    study=self.study,
                    plan_hash=self.plan_hash,
                    roster_hash=self.roster.hash(),
                    cohort=cohort,
                    round=request.round,
                    question=request.question,
                    scheme=request.scheme,
                    words=request.words,
                    nonce=nonce,
                ),
            )
            for cohort, nonce in request.uploads
        ]
        return kind.to_bytes(reduce(kind.add, masks))


class Caller:
    """The server's side of the HTTP interface, over any httpx client."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client

    def enrol(self, enrolment: Enrolment) -> httpx.Response:
        return self.put(enrolment.study, codec.encode(enrolment))

    def put(self, study: str, body: bytes) -> httpx.Response:
        return self.client.put(f"/v1/studies/{study}/boxes", content=body, headers=HEADERS)

    def release(self, request: ReleaseRequest) -> httpx.Response:
        return self.post(request.study, codec.encode(request))

    def post(self, study: str, body: bytes) -> httpx.Response:
        return self.client.post(f"/v1/studies/{study}/releases", content=body, headers=HEADERS)

    def codes(self, request: CodeRequest) -> httpx.Response:
        path = f"/v1/studies/{request.study}/codes"
        return self.client.post(path, content=codec.encode(request), headers=HEADERS)

    def open(self, request: OpeningRequest, openings: bytes) -> httpx.Response:
        content = codec.encode(request)
        return self.compare(request.study, len(content).to_bytes(4, "little") + content + openings)

    def compare(self, study: str, body: bytes) -> httpx.Response:
        return self.client.post(f"/v1/studies/{study}/comparisons", content=body, headers=HEADERS)

    def turn(self, request: OpeningRequest, number: int, openings: bytes) -> httpx.Response:
        """Turn `number`; the first, with its request, is the opening."""
        if number == 1:
            return self.open(request, openings)
        path = f"/v1/studies/{request.study}/comparisons/{request.round}/turns/{number}"
        return self.client.post(path, content=openings, headers=HEADERS)

    def end(self, study: str) -> httpx.Response:
        return self.client.delete(f"/v1/studies/{study}", headers=HEADERS)


def in_process(app: ASGIApp) -> TestClient:
    """Raises what the service did not expect, which is a better report than a status of 500."""
    return TestClient(app)


@pytest.fixture
def secret_file(tmp_path: Path) -> Path:
    path = tmp_path / "caller-secret"
    path.write_text(SECRET)
    return path


@pytest.fixture
def key(tmp_path: Path) -> SealingKey:
    store, key = state.open_state(tmp_path / "state")
    store.close()
    return key


@pytest.fixture
def make_caller(tmp_path: Path, secret_file: Path) -> Iterator[Callable[..., Caller]]:
    """Starts a compensator in this process, on the state directory of this test."""
    opened = ExitStack()

    def make(**options: object) -> Caller:
        directory = tmp_path / "state"
        store, key = state.open_state(directory)
        opened.callback(store.close)
        app = create_app(
            Compensator(store, key, **options),  # type: ignore[arg-type]
            state.caller_hash(directory, secret_file, print),
        )
        return Caller(opened.enter_context(in_process(app)))

    with opened:
        yield make


@pytest.fixture
def caller(make_caller: Callable[..., Caller]) -> Caller:
    return make_caller()


@pytest.fixture
def federation(key: SealingKey) -> Federation:
    return Federation(key.public)


@pytest.fixture
def enrolled(caller: Caller, federation: Federation) -> Federation:
    assert caller.enrol(federation.enrolment()).status_code == 201
    return federation


class Service:
    """A compensator in a process of its own, over a real socket; can be killed and started again."""

    def __init__(self, directory: Path, secret_file: Path) -> None:
        self.directory, self.secret_file = directory, secret_file
        self.log = directory.parent / "service.log"
        self.start()

    def start(self, *options: str, pass_fds: Sequence[int] = ()) -> None:
        command = [sys.executable, "-m", "unpooled_compensator", "serve", "--port", "0"]
        files = ["--state", str(self.directory), "--caller-secret-file", str(self.secret_file)]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, *files, *options], stdout=subprocess.PIPE, stderr=log, text=True, pass_fds=pass_fds
            )
        assert self.process.stdout is not None
        self.banner = [self.process.stdout.readline() for _ in range(2)]
        self.address = self.banner[0].split()[-1]
        self.port = int(self.address.rpartition(":")[2])
        self.client = httpx.Client(base_url=self.address, trust_env=False, timeout=PATIENCE)
        self.caller = Caller(self.client)

    @property
    def key(self) -> bytes:
        return bytes.fromhex(self.client.get("/health").json()["key"])

    def kill(self) -> None:
        self.process.kill()
        self._gone()

    def terminate(self) -> int:
        self.process.terminate()
        return self._gone()

    def _gone(self) -> int:
        self.client.close()
        code = self.process.wait(PATIENCE)
        if self.process.stdout is not None:
            self.process.stdout.close()
        return code


@pytest.fixture
def service(tmp_path: Path, secret_file: Path) -> Iterator[Service]:
    running = Service(tmp_path / "state", secret_file)
    yield running
    if running.process.poll() is None:
        running.kill()
