"""The one network seam: every request to the server, and patience where there is no answer.

A lost connection, or a server that is being restarted, is no error here: the request is sent again, with the
same bytes, until it is answered or the client is stopped. `Api.trouble` says since when. Only a server that
has never answered is given up, after `FIRST_PATIENCE`: its address may be wrong.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from unpooled.errors import UnpooledError
from unpooled.panel.list_file import MOST_BYTES
from unpooled.protocol import VERSION, bodies, stages
from unpooled.protocol.codes import answer_bytes, patience
from unpooled.protocol.invitation import Invitation
from unpooled.protocol.messages import Questions, Sealed, SealingKeys, Shown, Told
from unpooled.protocol.pairs import most_keys_bytes, most_sealed_bytes
from unpooled.protocol.problems import Problem
from unpooled.protocol.stages import Doing
from unpooled_client import PROGRAM
from unpooled_client.network import connection
from unpooled_client.network.answers import Counted, ResultFile, Study, decoded, granted, parsed, text_of
from unpooled_client.network.connection import Answer, Unanswered, Unusable
from unpooled_client.state.folder import Saved

LONG_POLL = 300.0
"""Seconds that the server may hold a question without an answer: it sends a byte now and then."""
_QUIET_POLL = 20.0
"""Seconds that it may where nothing comes through before the answer does."""

FIRST_PATIENCE = 5.0
"""Seconds for which a server is asked that has never answered: enough for one that is being restarted."""

_KEEPS_ALIVE = b"\n"
"""Byte of which there are some before an answer that came late; no answer begins with it."""
_TIMEOUT = httpx.Timeout(60.0, connect=connection.CONNECTING)
_SLOWEST_RETRY = 5.0

# Bytes of the largest answers: a server that sends more is not read to its end.
_MOST_STUDY = 1 << 24
_MOST_QUESTIONS = 1 << 29


class Stopped(UnpooledError):
    """The client was told to stop."""


@dataclass(frozen=True)
class Trouble:
    """The server does not answer: since when, and why."""

    since: float
    reason: str


class Traffic:
    """Bytes of requests and answers with the headers of HTTP/1.1, without TLS and TCP."""

    def __init__(self) -> None:
        self.sent = self.received = 0
        self._lock = threading.Lock()

    def count(self, request: httpx.Request, response: httpx.Response | None) -> None:
        sent = len(request.method) + len(request.url.raw_path) + 12 + _size(request.headers)
        received = 0
        if response is not None:
            line = 15 + len(response.reason_phrase)
            received = line + _size(response.headers) + response.num_bytes_downloaded
        # Threads count at the same time, and += of an attribute is no single step.
        with self._lock:
            self.sent += sent + int(request.headers.get("Content-Length", 0))
            self.received += received


def _size(headers: httpx.Headers) -> int:
    return sum(len(name) + len(value) + 4 for name, value in headers.raw) + 2


@dataclass(frozen=True)
class Network:
    """Settings for reaching the server, besides the invitation. Proxies are taken from the environment."""

    ca_bundle: Path | None = None
    allow_http: bool = False

    def to_json(self) -> dict[str, Any]:
        return {"ca_bundle": self.ca_bundle and str(self.ca_bundle.absolute()), "allow_http": self.allow_http}

    def or_saved(self, values: dict[str, Any]) -> Network:
        """This, with what was said in an earlier run where nothing is said now."""
        ca_bundle = values.get("ca_bundle")
        return Network(
            self.ca_bundle or (Path(ca_bundle) if ca_bundle else None),
            self.allow_http or bool(values.get("allow_http")),
        )


class Api:
    """A cohort's requests. Safe to use from several threads."""

    def __init__(
        self,
        invitation: Invitation,
        instance: str,
        *,
        ca_bundle: Path | None = None,
        allow_http: bool = False,
        connections: int = 16,
        patient: bool = True,
        known: bool = True,
    ) -> None:
        """`patient`: try again for ever; else `Unanswered` at the first trouble.

        `known`: this server has answered before. One that has not may not be there at all: then `Unanswered`
        after `FIRST_PATIENCE`.
        """
        _refuse_plain_http(invitation.server, allow_http)
        self.server = invitation.server
        self.traffic = Traffic()
        self.trouble: Trouble | None = None
        self.doing: Doing | None = None
        """Each request tells what this client is doing."""
        self._patient, self._known, self._longest = patient, known, LONG_POLL
        self._began = self._answered = time.monotonic()
        self._stop = threading.Event()
        headers = {
            "Authorization": f"Bearer {invitation.token}",
            "Unpooled-Client": instance,
            "Accept-Encoding": "identity",  # shares and lists gain nothing; sizes stay what they are
            "Unpooled-Protocol": str(VERSION),
            "User-Agent": f"{PROGRAM}/{version(PROGRAM)}",
        }
        self._proxy = connection.proxy_for(self.server)
        self._client = connection.open_client(
            f"{self.server}/api/v1/cohort/",
            self._proxy,
            connection.trust_for(self.server, self._proxy, ca_bundle),
            headers=headers,
            timeout=_TIMEOUT,
            limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
        )

    @classmethod
    @contextlib.contextmanager
    def looking(cls, saved: Saved, network: Network) -> Iterator[Api]:
        """Look at a study without taking part in it, and without patience."""
        api = cls(saved.invitation, saved.instance, **vars(network), patient=False)
        api.doing = Doing.LOOKING
        with contextlib.closing(api):
            yield api

    def keep_heard(self, every: float = 20.0) -> None:
        """Ask something at times, until the client is stopped, so that the server knows that it lives.

        For the time of a long computation, or while a person reads. Runs in a thread of its own.
        """
        # Looked at four times as often as is needed: an answer may have come just after the last look.
        while not self._stop.wait(every / 4):
            if self.trouble is None and time.monotonic() - self._answered > every:
                self.study()

    def stop(self) -> None:
        """Make every request that waits for the server give up with `Stopped`."""
        self._stop.set()

    def close(self) -> None:
        self.stop()
        self._client.close()

    def study(self, wait: float = 0, seen: int | None = None) -> Study:
        """The study as it is; with `seen`, once its version is another, or after `wait` seconds."""
        query = {} if seen is None else {"seen": str(seen)}
        answer = self._ask("GET", "study", params=query, wait=wait, most=_MOST_STUDY)
        return parsed(answer, Study.from_json)

    def join(self, public_key: bytes) -> None:
        self._tell("POST", "join", bodies.joining(public_key))

    def repetition(self) -> tuple[str, str]:
        """The study that repeats this one, which has ended, and a token for it."""
        answer = self._ask("POST", "repetition")
        return parsed(answer, lambda values: (text_of(values["study"]), text_of(values["token"])))

    def accept(self, plan_hash: bytes, roster_hash: bytes, sealed: bytes, signature: bytes) -> None:
        self._tell("POST", "accept", bodies.acceptance(plan_hash, roster_hash, sealed, signature))

    def accept_in_pairs(self, sealed: bytes) -> None:
        """Accept with boxes for all other cohorts: the encoding of `Sealed`."""
        self._ask("PUT", "sealed", content=sealed)

    def sealing_keys(self, cohorts: int) -> SealingKeys:
        """Return the keys to which one seals for each cohort."""
        return decoded(self._ask("GET", "keys", most=most_keys_bytes(cohorts)), SealingKeys)

    def boxes(self, cohorts: int, key_parts: int = 0) -> Sealed:
        """Return what the other cohorts have sealed to this one, with so many parts of a key."""
        return decoded(self._ask("GET", "boxes", most=most_sealed_bytes(cohorts, key_parts)), Sealed)

    def put_panel_digest(self, digest: bytes) -> bool:
        """Deliver the digest of this cohort's list; whether the list itself is wanted."""
        answer = self._tell("PUT", "panel/digest", bodies.digest(digest))
        return bool(parsed(answer, lambda values: values["list_wanted"]))

    def put_panel_list(self, start: int, size: int, part: bytes) -> None:
        """Deliver a part of this cohort's list, which has `size` bytes, from byte `start` on."""
        self._ask("PUT", "panel/list", content=part, params={"start": str(start), "size": str(size)})

    def panel(self, part: Path) -> None:
        """Write the agreed panel's canonical form to `part`."""
        self._ask("GET", "panel", most=MOST_BYTES, into=part)

    def coordinators_list(self, part: Path) -> None:
        self._ask("GET", "list", most=MOST_BYTES, into=part)

    def questions(self, wait: float, seen: tuple[int, ...], state: str, version: int) -> Questions:
        """The rounds to answer without those in `seen`, which are at work; waits if there are none, and the
        study's state, or before it runs its version, is the one that is known.
        """
        query = {"state": state, "version": str(version), "seen": ",".join(map(str, seen))}
        answer = self._ask("GET", "questions", params=query, wait=wait, most=_MOST_QUESTIONS)
        return decoded(answer, Questions)

    def told(self, place: str) -> Told:
        """The sums that were asked for at a place in the study, given its label."""
        return decoded(self._ask("GET", f"told/{place}", most=_MOST_QUESTIONS), Told)

    def shown(self, place: str) -> Shown:
        """The comparison at a place in the study, given its label."""
        return decoded(self._ask("GET", f"shown/{place}", most=_MOST_QUESTIONS), Shown)

    def put_share(self, round_number: int, nonce: bytes, share: bytes, keeps: bool = False) -> None:
        """Send a share; `keeps` says that no sums are wanted any more from before the round's question."""
        headers = {"Unpooled-Nonce": nonce.hex()} | ({"Unpooled-Keeps": "yes"} if keeps else {})
        self._ask("PUT", f"shares/{round_number}", content=share, headers=headers)

    def put_dealing(self, round_number: int, dealing: bytes) -> None:
        self._ask("PUT", f"dealings/{round_number}", content=dealing)

    def all_shares(self, round_number: int, size: int) -> bytes:
        """Return all cohorts' encrypted shares of a round, of `size` bytes; empty while some are missing."""
        return self._ask("GET", f"shares/{round_number}/all", wait=_QUIET_POLL, most=size).content

    def put_help(self, round_number: int, help_: bytes) -> None:
        """Send this cohort's share of the decryption of a round's sum."""
        self._ask("PUT", f"helps/{round_number}", content=help_)

    def put_codes(self, column: int, points: bytes, signature: bytes) -> bytes:
        """Send a column's points; return as many, times the server's key and times both keys, with both
        proofs and a tag.
        """
        headers, most = {"Unpooled-Signature": signature.hex()}, answer_bytes(len(points))
        seconds = patience(len(points))
        answer = self._ask(
            "PUT", f"codes/{column}", content=points, headers=headers, most=most, seconds=seconds
        )
        return answer.content

    def report_timing(self, seconds: Mapping[str, int]) -> None:
        self._tell("POST", "timing", bodies.timing(seconds))

    def report_problem(self, problem: Problem, name: str = "") -> None:
        self._tell("POST", "problem", bodies.problem(problem.value, name))

    def result(self, file: ResultFile, part: Path) -> None:
        """Write a result file to `part`: no more bytes than were announced."""
        self._ask("GET", f"results/{quote(file.name, safe='')}", most=file.bytes, into=part)

    def counted(self) -> Counted:
        """Ask for the server's counts of this cohort's messages."""
        answer = self._ask("GET", "traffic")
        return parsed(answer, lambda values: Counted(int(values["messages"]), int(values["bytes"])))

    def _tell(self, method: str, path: str, body: bytes) -> Answer:
        """Send one of the small messages."""
        return self._ask(method, path, content=body, headers={"Content-Type": "application/json"})

    def _ask(
        self,
        method: str,
        path: str,
        *,
        wait: float = 0,
        most: int = connection.MOST,
        into: Path | None = None,
        seconds: float = 60.0,
        **message: Any,
    ) -> Answer:
        """Send a request until there is an answer; raises what the answer means if it is a refusal.

        An answer of more than `most` bytes is Unusable.
        """
        if isinstance(message.get("content"), bytes):
            message["headers"] = {"Content-Type": "application/octet-stream"} | message.get("headers", {})
        if self.doing is not None:
            message["headers"] = {stages.HEADER: self.doing.value} | message.get("headers", {})
        if wait:
            wait = min(wait, self._longest)
            message["params"] = message.get("params", {}) | {"wait": f"{wait:g}"}
        # A long poll is answered, or sends a byte, after 20 s at the latest; the rest is for the way.
        timeout = httpx.Timeout(
            min(wait, _QUIET_POLL) + 15.0 if wait else seconds, connect=connection.CONNECTING
        )
        request = self._client.build_request(method, path, timeout=timeout, **message)
        # Sent again with the same bytes: a share that arrives twice is still one share, under one nonce.
        for delay in _delays():
            answer, reason = self._once(request, most, into)
            if answer is not None and not reason:
                self._hear()
                if wait > _QUIET_POLL:
                    answer = self._after_wait(answer)
                    if not answer.content:  # nothing but newlines: why is told when it is asked again
                        continue
                return granted(answer)
            if not self._patient:
                raise Unanswered(f"{self.server} does not answer: {reason}.", connection.LOOK)
            if not self._known and time.monotonic() - self._began > FIRST_PATIENCE:
                raise Unanswered(
                    f"{self.server} has never answered this client: {reason}.",
                    f"Compare the address with the coordinator's. {connection.LOOK}",
                )
            # The first failure dates the trouble, so that people see how long it has lasted.
            self.trouble = Trouble(self.trouble.since if self.trouble else time.time(), reason)
            if self._stop.wait(max(delay, _retry_after(answer))):
                break
            if wait:  # ask for an answer at once, to learn whether the trouble is over
                message["params"] = message["params"] | {"wait": "0"}
                request = self._client.build_request(method, path, timeout=_TIMEOUT, **message)
        raise Stopped("stopped")

    def _hear(self) -> None:
        self.trouble, self._answered, self._known = None, time.monotonic(), True

    def _after_wait(self, answer: Answer) -> Answer:
        """The answer without the bytes that kept the connection alive, at the time that the server wants."""
        if pause := _retry_after(answer):
            self._stop.wait(_jittered(pause))
        return replace(answer, content=answer.content.lstrip(_KEEPS_ALIVE))

    def _once(self, request: httpx.Request, most: int, into: Path | None) -> tuple[Answer | None, str]:
        """One try: the answer, and why it is none to be had now, if so."""
        if self._stop.is_set():
            raise Stopped("stopped")
        response = None
        try:
            response = self._client.send(request, stream=True)
            with contextlib.closing(response):
                answer = connection.receive(response, most, into, self._hear)
        except httpx.RequestError as error:
            if isinstance(error, httpx.ReadTimeout):
                self._longest = _QUIET_POLL
            if problem := connection.unusable(error, self.server, self._proxy):
                raise problem from error
            return None, str(connection.unanswered(error, self.server, self._proxy)).rstrip(".")
        except RuntimeError as error:  # httpx says so of a client that was closed meanwhile
            raise Stopped("stopped") from error
        finally:
            self.traffic.count(request, response)
        if (
            answer.status == 407
            and self._proxy
            and (problem := connection.refused_by_proxy(407, self.server, self._proxy))
        ):
            raise problem
        if answer.status == 504:
            self._longest = _QUIET_POLL
        # A proxy or a server that restarts says so; each may pass by itself, unlike other statuses of 400.
        if answer.status >= 500 or answer.status in (408, 425, 429):
            return answer, f"it answers with status {answer.status}"
        return answer, ""


def _refuse_plain_http(server: str, allowed: bool) -> None:
    address = urlsplit(server)
    if address.scheme == "https" or allowed or connection.is_loopback(address.hostname or ""):
        return
    raise Unusable(
        f"the invitation's server, {server}, has no https: others on the network could read the token.",
        "Ask the coordinator for an https address. On a network of your own, --allow-http permits it.",
    )


def _delays() -> Iterator[float]:
    """Short at first, so that a restart of the server costs little; then every few seconds. Of a hundred
    clients not all at the same moment.
    """
    delay = 0.1
    while True:
        yield _jittered(delay)
        delay = min(delay * 1.6, _SLOWEST_RETRY)


def _jittered(seconds: float) -> float:
    return seconds * secrets.SystemRandom().uniform(0.75, 1.25)


def _retry_after(answer: Answer | None) -> float:
    seconds = answer.headers.get("Retry-After", "") if answer is not None else ""
    return min(float(seconds), 60.0) if seconds.isdecimal() else 0.0
