"""Checks for obstacles between this computer and a study: each reports one thing on one line, with the
remedy.

Nothing that was found contains a token, a key or a password: it can be shown to whoever is helping.
"""

from __future__ import annotations

import contextlib
import email.utils
import functools
import importlib.metadata
import platform
import re
import socket
import ssl
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
from cryptography import x509
from cryptography.x509.oid import NameOID

from unpooled.protocol import VERSION
from unpooled_client.network import connection, machine
from unpooled_client.network.api import Api, Network
from unpooled_client.network.connection import Place, Proxy, ServerError
from unpooled_client.state.events import UpdateChecked
from unpooled_client.state.files import StateError
from unpooled_client.state.folder import StateFolder, default_root

MB, GB = 10**6, 10**9
PACKAGES = ("numpy", "scipy", "numba", "pyarrow", "cryptography", "httpx")
_SOON = 14  # days before a certificate ends
_OFF = 60.0  # seconds by which clocks may differ


class Mark(StrEnum):
    """Verdict of a check."""

    GOOD = "good"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True)
class Finding:
    """One line: what was looked at, how it is, and the remedy if there is something to mend."""

    what: str
    mark: Mark
    text: str
    remedy: str = ""


@dataclass(frozen=True)
class Visit:
    """One request to a server, which shows most of what can be wrong on the way."""

    proxy: Proxy | None = None
    answer: connection.Answer | None = None
    certificate: x509.Certificate | None = None
    """Certificate that was shown, even if it is not trusted."""
    seconds: float = 0.0
    offset: float | None = None
    """Seconds by which this computer's clock is ahead of the server's."""
    error: ServerError | None = None
    place: Place | None = None
    """Place of the error."""


@dataclass(frozen=True)
class Subject:
    """Subject of the checks: this computer, and a server and a study if they are known."""

    out: Path
    """Folder for results."""
    server: str = ""
    folder: StateFolder | None = None
    ca_bundle: Path | None = None
    allow_http: bool = False

    @functools.cached_property
    def visit(self) -> Visit:
        return visit(self.server, self.ca_bundle)

    @property
    def host(self) -> str:
        return urlsplit(self.server).hostname or ""


def examine(subject: Subject) -> list[Finding]:
    """Everything that can be looked at, in the order in which it matters."""
    checks = [*LOCAL, *(NETWORK if subject.server else ())]
    return [found for check in checks if (found := check(subject)) is not None]


def visit(server: str, ca_bundle: Path | None) -> Visit:
    """Ask the server for a sign of life, as a client would ask it for more."""
    try:
        proxy = connection.proxy_for(server)
        trust = connection.trust_for(server, proxy, ca_bundle)
    except ServerError as error:
        return Visit(error=error, place=Place.SETTINGS)
    try:
        return _ask(server, proxy, trust)
    except ServerError as error:
        return Visit(proxy, error=error, place=Place.SERVER)
    except httpx.RequestError as error:
        found = connection.unusable(error, server, proxy) or connection.unanswered(error, server, proxy)
        place = connection.place(error, proxy)
        shown = _shown_to_anybody(server, proxy) if place is Place.TLS else None
        return Visit(proxy, certificate=shown, error=found, place=place)


def _ask(server: str, proxy: Proxy | None, trust: ssl.SSLContext | bool) -> Visit:
    with connection.open_client(server, proxy, trust, timeout=connection.CONNECTING) as client:
        started = time.perf_counter()
        with client.stream("GET", "/health", headers={"Accept-Encoding": "identity"}) as response:
            certificate = _certificate(response)
            answer = connection.receive(response)
        seconds = time.perf_counter() - started
    return Visit(proxy, answer, certificate, seconds, _offset(answer, seconds))


def _offset(answer: connection.Answer, seconds: float) -> float | None:
    try:
        date = email.utils.parsedate_to_datetime(answer.headers["Date"])
        # The server wrote its date about halfway between question and answer.
        return (datetime.now(UTC) - date).total_seconds() - seconds / 2
    except (LookupError, ValueError, TypeError):  # no date, or none that can be
        return None


def _certificate(response: httpx.Response) -> x509.Certificate | None:
    tls = response.extensions["network_stream"].get_extra_info("ssl_object")
    data = tls.getpeercert(True) if tls is not None else None
    with contextlib.suppress(ValueError):  # what a server shows that is not trusted may be anything
        return x509.load_der_x509_certificate(data) if data else None
    return None


def _shown_to_anybody(server: str, proxy: Proxy | None) -> x509.Certificate | None:
    """The certificate that was not believed, to say who issued it. The server learns no more than before."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # Nothing secret is sent this way: the request is the one of /health, without a token.
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        return _ask(server, proxy, context).certificate
    except (httpx.RequestError, ServerError):
        return None


# This computer.


def versions(subject: Subject) -> Finding:
    """This program, and what it stands on."""
    python = f"Python {platform.python_version()}, {platform.system()} {platform.release()}"
    python += f" {platform.machine()}, {ssl.OPENSSL_VERSION}"
    packages = ", ".join(f"{name} {_version(name)}" for name in PACKAGES)
    text = f"unpooled-client {_version('unpooled-client')} (protocol {VERSION}); {python}; {packages}"
    if sys.maxsize < 2**32:
        return Finding("Versions", Mark.PROBLEM, text, "This Python has 32 bits: install one with 64.")
    return Finding("Versions", Mark.GOOD, text)


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def memory(subject: Subject) -> Finding:
    """Room to compute in."""
    found = machine.memory()
    text = f"{found.available / GB:.1f} GB of {found.total / GB:.1f} GB are free"
    if found.available >= GB:
        return Finding("Memory", Mark.GOOD, text)
    return Finding(
        "Memory",
        Mark.WARNING,
        text,
        "Close other programs, or ask for more of it. `unpooled-client check` says what your data need.",
    )


def state_folder(subject: Subject) -> Finding:
    """Check the folder of keys and ledger: this account must be able to write it, and no other to read it."""
    folder = subject.folder or StateFolder(default_root())
    if not folder.is_private():
        readable = f"other accounts of this computer may read {folder.file}, which holds keys"
        return Finding("State folder", Mark.PROBLEM, readable, f"Run: chmod go= {folder.file}")
    try:
        if subject.folder is not None:
            subject.folder.load()
    except StateError as error:
        what, _, remedy = str(error).partition(". ")
        return Finding("State folder", Mark.PROBLEM, what, remedy)
    return _disk("State folder", folder.path, 100 * MB, "--state DIR")


def output_folder(subject: Subject) -> Finding:
    """Check the folder for the results."""
    return _disk("Results", subject.out, GB, "--out DIR")


def _disk(what: str, folder: Path, wanted: int, option: str) -> Finding:
    another = f"hoose another folder with {option}."
    if not machine.is_writable(folder):
        return Finding(what, Mark.PROBLEM, f"{folder.absolute()} cannot be written", f"C{another}")
    free = machine.free_bytes(folder)
    text = f"{folder.absolute()}: {free / GB:.1f} GB are free"
    if free < wanted:
        return Finding(what, Mark.WARNING, text, f"Make room, or c{another}")
    return Finding(what, Mark.GOOD, text)


# The way to the server.


def name(subject: Subject) -> Finding | None:
    """Check that the server's name resolves; None if it need not be resolved here."""
    if (proxy := subject.visit.proxy) is not None:
        return Finding("Name", Mark.GOOD, f"{subject.host}: left to the proxy {proxy.address}")
    if subject.visit.place is Place.SETTINGS or connection.is_loopback(subject.host):
        return None
    try:
        found = socket.getaddrinfo(subject.host, None, type=socket.SOCK_STREAM)
    except OSError:
        return Finding(
            "Name",
            Mark.PROBLEM,
            f"{subject.host} is not known here",
            "Is the address right? If a proxy is the only way out, set HTTPS_PROXY.",
        )
    addresses = sorted({str(entry[4][0]) for entry in found})
    return Finding("Name", Mark.GOOD, f"{subject.host} is {', '.join(addresses[:3])}")


def proxy(subject: Subject) -> Finding:
    """Check the proxy: report which one is used, and whether it lets us through."""
    visit = subject.visit
    if visit.error and visit.place in (Place.PROXY, Place.SETTINGS):
        what = "Proxy" if visit.place is Place.PROXY else "Settings"
        return Finding(what, Mark.PROBLEM, _plain(visit.error), visit.error.remedy)
    if visit.proxy is None:
        return Finding("Proxy", Mark.GOOD, f"none for {subject.host}")
    login = ", with a user name and a password" if visit.proxy.user else ""
    return Finding("Proxy", Mark.GOOD, f"{visit.proxy.address} from {visit.proxy.source}{login}")


def tls(subject: Subject) -> Finding | None:
    """Check the certificate: report its issuer, whether it is trusted, and how long it is valid."""
    visit = subject.visit
    if urlsplit(subject.server).scheme != "https":
        return _without_tls(subject)
    issued = f"issued by {_issuer(visit.certificate)}" if visit.certificate else ""
    if visit.error and visit.place is Place.TLS:
        text = f"{_plain(visit.error)}; it was {issued}" if issued else _plain(visit.error)
        return Finding("TLS", Mark.PROBLEM, text, visit.error.remedy)
    if visit.certificate is None:
        return None
    until = visit.certificate.not_valid_after_utc
    text = f"certificate {issued}, good until {until:%Y-%m-%d}"
    if (until - datetime.now(UTC)).days < _SOON:
        return Finding("TLS", Mark.WARNING, text, "Tell the server's operator to renew it.")
    return Finding("TLS", Mark.GOOD, text)


def _without_tls(subject: Subject) -> Finding:
    if connection.is_loopback(subject.host):
        return Finding("TLS", Mark.GOOD, "none, and none is needed on this computer")
    mark = Mark.WARNING if subject.allow_http else Mark.PROBLEM
    return Finding(
        "TLS",
        mark,
        "the address has no https: others on the network can read the token",
        "Ask the coordinator for an https address. On a network of your own, --allow-http permits it.",
    )


def _issuer(certificate: x509.Certificate) -> str:
    """Return the issuer of a certificate as people know it: organization and name."""
    oids = (NameOID.ORGANIZATION_NAME, NameOID.COMMON_NAME)
    names = [str(part.value) for oid in oids for part in certificate.issuer.get_attributes_for_oid(oid)]
    text = ", ".join(names) or certificate.issuer.rfc4514_string()
    return "".join(c for c in text if c.isprintable())[:100]


def server(subject: Subject) -> Finding | None:
    """Check that an Unpooled server answers, and speaks the same protocol."""
    visit = subject.visit
    if visit.answer is None:
        if visit.error is None or visit.place is not Place.SERVER:
            return None
        remedy = visit.error.remedy or "If it persists, ask the coordinator whether the server runs."
        return Finding("Server", Mark.PROBLEM, _plain(visit.error), remedy)
    spoken = _protocol(visit.answer)
    if spoken is None:
        return Finding(
            "Server",
            Mark.PROBLEM,
            f"{subject.server} answers with status {visit.answer.status}, and not as an Unpooled server does",
            "Is the address right? A sign-in page of the network may be in the way: open it in a browser.",
        )
    if spoken != VERSION:
        older = "client" if spoken > VERSION else "server"
        return Finding(
            "Server",
            Mark.PROBLEM,
            f"the {older} is too old: the server speaks protocol {spoken}, this client {VERSION}",
            "Install the server's own release of unpooled-client, which the coordinator has.",
        )
    if visit.answer.status != 200:
        return Finding(
            "Server",
            Mark.WARNING,
            f"{subject.server} answers with status {visit.answer.status}",
            "It may be starting. If it persists, tell its operator.",
        )
    return Finding("Server", Mark.GOOD, f"answers within {visit.seconds:.2f} s, protocol {spoken}")


def _protocol(answer: connection.Answer) -> int | None:
    """The version that a server names; None of something that is no such server."""
    try:
        spoken: Any = answer.json()["protocol"]
    except (ValueError, TypeError, LookupError):
        return None
    return spoken if type(spoken) is int else None


def release(subject: Subject) -> Finding | None:
    """Check whether the server is of a newer release than this client; None if it is no server for it."""
    answer, here = subject.visit.answer, _version("unpooled-client")
    if answer is None or _protocol(answer) != VERSION:
        return None
    there = str(answer.json().get("release", ""))
    if not re.fullmatch(r"[0-9]{1,9}([.][0-9]{1,9}){1,3}", there):
        text = "the server does not say its release, so a newer one of this client is not known"
        return Finding("Release", Mark.GOOD, text)
    if _numbers(there) <= _numbers(here):
        text = f"the server, of release {there}, has none newer than this {here}"
        return Finding("Release", Mark.GOOD, text)
    return Finding(
        "Release",
        Mark.WARNING,
        f"release {there} of the client is there, and this is {here}",
        "Get it from the study's coordinator. A study that has begun can be finished with this one.",
    )


def _numbers(release: str) -> list[int]:
    return [int(number) for number in re.findall("[0-9]+", release)]


def check_for_update(server: str, ca_bundle: Path | None) -> UpdateChecked:
    """Ask a study's own server for its release, without a token; nothing is loaded or installed."""
    found = release(Subject(Path(), server, ca_bundle=ca_bundle))
    if found is None:
        return UpdateChecked(False, "Release: not known, for the server did not answer when it was asked")
    text = f"Release: {found.text}. {found.remedy}" if found.remedy else f"Release: {found.text}"
    return UpdateChecked(found.mark is Mark.WARNING, text)


def clock(subject: Subject) -> Finding | None:
    """Check this computer's clock, because certificates are checked against it."""
    visit = subject.visit
    if visit.offset is None:
        return None
    text = f"{abs(visit.offset):.0f} s {'ahead of' if visit.offset > 0 else 'behind'} the server's"
    if abs(visit.offset) <= _OFF:
        return Finding("Clock", Mark.GOOD, text)
    return Finding(
        "Clock", Mark.WARNING, text, "Set this computer's clock: certificates are checked against it."
    )


def study(subject: Subject) -> Finding | None:
    """Check that the study knows this cohort. Asked only with the state of a cohort that has joined."""
    if subject.folder is None or subject.visit.answer is None:
        return None
    try:
        network = Network(subject.ca_bundle, subject.allow_http)
        with Api.looking(subject.folder.load(), network) as api:
            found = api.study()
    except ServerError as error:
        return Finding("Study", Mark.PROBLEM, _plain(error), error.remedy)
    return Finding("Study", Mark.GOOD, f'"{found.name}" is {found.state}; this cohort: {found.cohort_state}')


def _plain(error: ServerError) -> str:
    return error.message.rstrip(".")


Check = Callable[[Subject], Finding | None]

LOCAL: tuple[Check, ...] = (versions, memory, state_folder, output_folder)
NETWORK: tuple[Check, ...] = (name, proxy, tls, server, release, clock, study)
