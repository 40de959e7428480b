"""The way to the server: the proxy, whose certificates are trusted, and what is wrong if there is no way.

The proxy is the one of `HTTPS_PROXY` (`HTTP_PROXY`, `ALL_PROXY`; none for hosts in `NO_PROXY`), else the one
in the settings of Windows or macOS. Certificates are trusted if they were issued by an authority

- in the file given with `--ca-bundle`, and by no other; if none is given
- in `SSL_CERT_FILE` and `SSL_CERT_DIR`, and by no other; if neither is set
- in the system's own store, where hospitals put theirs, or in Mozilla's list (package certifi), as pip does.

A proxy's password is in no text that this module makes.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import socket
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import certifi
import httpx
import truststore

from unpooled_client.state.files import Remediable

CONNECTING = 10.0
"""Seconds that a connection may take to be established."""

MOST = 1 << 16
"""Bytes of an answer, unless it is a list, a plan, questions or a result file."""

LOOK = "`unpooled-client doctor` says more."


class Place(StrEnum):
    """Place on the way to the server at which something is wrong."""

    SETTINGS = "settings"
    NAME = "name"
    PROXY = "proxy"
    TLS = "TLS"
    SERVER = "server"


class ServerError(Remediable):
    """Base of what can go wrong between client and server."""


class Unusable(ServerError):
    """The connection or the answer is of no use, and trying again would not help."""


class Unanswered(ServerError):
    """There is no answer now; a patient client says so only of a server that has never answered it."""


@dataclass(frozen=True)
class Answer:
    """Complete answer of the server."""

    status: int
    headers: httpx.Headers
    content: bytes

    def json(self) -> Any:
        """The values in it; ValueError if it is not JSON."""
        try:
            return json.loads(self.content)
        except RecursionError as error:
            raise ValueError("it is nested too deeply") from error


@dataclass(frozen=True)
class Proxy:
    """A proxy on the way to the server."""

    scheme: str
    host: str
    port: int | None
    source: str
    """Origin of the setting: the name of a variable, or "the system's settings"."""
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    @property
    def address(self) -> str:
        """Address without name and password: http://proxy.example.org:3128"""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + (f":{self.port}" if self.port else "")

    def for_httpx(self, trust: ssl.SSLContext | bool) -> httpx.Proxy:
        """The same in the words of httpx."""
        context = trust if self.scheme == "https" and isinstance(trust, ssl.SSLContext) else None
        auth = (self.user, self.password) if self.user else None
        return httpx.Proxy(self.address, ssl_context=context, auth=auth)


def open_client(
    server: str, proxy: Proxy | None, trust: ssl.SSLContext | bool, **options: Any
) -> httpx.Client:
    """A client that goes by this proxy and this trust, and by nothing else of the environment."""
    through = proxy.for_httpx(trust) if proxy else None
    return httpx.Client(base_url=server, verify=trust, proxy=through, trust_env=False, **options)


def receive(
    response: httpx.Response,
    most: int = MOST,
    into: Path | None = None,
    hear: Callable[[], None] = lambda: None,
) -> Answer:
    """Read an answer to its end: into memory, or into a file if it is what was asked for.

    `hear` is called with each piece of a success.
    """
    # Anything but success is a short message, never a part of the file that was asked for.
    if response.status_code != 200:
        into, most, hear = None, MOST, lambda: None
    blocks = _blocks(response, most, hear)
    if into is None:
        return Answer(response.status_code, response.headers, b"".join(blocks))
    with into.open("wb") as file:
        for block in blocks:
            file.write(block)
    return Answer(response.status_code, response.headers, b"")


def _blocks(response: httpx.Response, most: int, hear: Callable[[], None]) -> Iterator[bytes]:
    """The bytes of an answer as they come; Unusable once they are more than `most`, or packed."""
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise Unusable("the server's answer is compressed, which was not asked for.", LOOK)
    announced = response.headers.get("Content-Length", "")
    received = 0
    # More digits than any size has are not read: Python refuses very long numbers with an error of its own.
    if announced.isdecimal() and len(announced) < 20 and int(announced) > most:
        raise _too_large(most)
    for block in response.iter_raw():
        hear()
        received += len(block)
        if received > most:
            raise _too_large(most)
        yield block


def _too_large(most: int) -> Unusable:
    return Unusable(
        f"the server's answer is larger than the {most:,} bytes that are allowed.",
        "Tell the server's operator.",
    )


def is_loopback(host: str) -> bool:
    """Tell whether a host is this computer, by its name alone."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def proxy_for(server: str) -> Proxy | None:
    """The proxy for a server's address; Unusable if what is set is no proxy."""
    address = urlsplit(server)
    host = address.hostname or ""
    if is_loopback(host) or proxy_bypass(f"{host}:{address.port}" if address.port else host):
        return None
    found = getproxies()
    url = found.get(address.scheme) or found.get("all")
    return _proxy(url, _source(address.scheme)) if url else None


def _source(scheme: str) -> str:
    names = (name for word in (scheme, "all") for name in (f"{word}_proxy", f"{word}_proxy".upper()))
    return next((name.upper() for name in names if os.environ.get(name)), "the system's settings")


def _proxy(url: str, source: str) -> Proxy:
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError
        return Proxy(parts.scheme, parts.hostname, parts.port, source, *_login(parts))
    except ValueError:  # whose text may hold the password
        raise Unusable(
            f"the proxy that {source} names cannot be used.",
            "Write it as http://proxy.example.org:3128 or http://user:password@proxy.example.org:3128, "
            "and / # ? % in the password as %2F %23 %3F %25.",
        ) from None


def _login(parts: SplitResult) -> tuple[str, str]:
    return unquote(parts.username or ""), unquote(parts.password or "")


def trust_for(server: str, proxy: Proxy | None, ca_bundle: Path | None) -> ssl.SSLContext | bool:
    """Return the certificates to trust; False if the connection shows none. Unusable if the given file holds
    none.
    """
    if urlsplit(server).scheme == "http" and (proxy is None or proxy.scheme == "http"):
        return False  # reading the certificates takes a while
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    if ca_bundle is not None:
        return _only(ca_bundle, None, "--ca-bundle")
    if file or folder:
        return _only(file, folder, "SSL_CERT_FILE" if file else "SSL_CERT_DIR")
    context = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # Mozilla's list, too: a system that is seldom updated may lack newer authorities.
    context.load_verify_locations(certifi.where())
    return context


def _only(file: Path | str | None, folder: str | None, source: str) -> ssl.SSLContext:
    """Trust in these authorities alone.

    Not by `ssl.create_default_context`, whose strictness since Python 3.13 refuses what many private
    authorities issue.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(file or None, folder or None)
    except OSError as error:  # ssl.SSLError is one
        raise Unusable(
            f"{file or folder} is not a file of certificates.", f"Give {source} a file in PEM format."
        ) from error
    return context


def unusable(error: httpx.RequestError, server: str, proxy: Proxy | None) -> Unusable | None:
    """Return the fault behind an error, if it will not pass by itself."""
    if isinstance(error, httpx.UnsupportedProtocol):
        return Unusable(f"{server} cannot be reached: {error}.")
    if isinstance(error, httpx.ProxyError) and proxy is not None:
        return refused_by_proxy(_status(error), server, proxy)
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return untrusted(cause, server, proxy)
    return None


def refused_by_proxy(status: int, server: str, proxy: Proxy) -> Unusable | None:
    """Return the meaning of a proxy's status; None for one that may pass, e.g. 502."""
    if status == 407:
        return _asks_for_password(proxy)
    if 400 <= status < 500 and status not in (408, 429):
        host = urlsplit(server).netloc
        return Unusable(
            f"the proxy {proxy.address} refuses to connect to {host} (status {status}).",
            f"Ask hospital IT to allow HTTPS to {host}, or set NO_PROXY if no proxy is needed for it.",
        )
    return None


def _asks_for_password(proxy: Proxy) -> Unusable:
    written = f"{proxy.scheme}://user:password@{proxy.host}" + (f":{proxy.port}" if proxy.port else "")
    if not proxy.user:
        return Unusable(
            f"the proxy {proxy.address} wants a user name and a password (status 407).",
            f"Set HTTPS_PROXY={written}",
        )
    return Unusable(
        f"the proxy {proxy.address} does not accept the user name and password in {proxy.source} (status "
        "407).",
        "Correct them; write @ : / # % in them as %40 %3A %2F %23 %25. If it wants another kind of sign-in "
        "(NTLM, Kerberos), ask hospital IT for an exception or a proxy that takes passwords.",
    )


# X.509 errors by the codes of OpenSSL, of Windows and of macOS.
_EXPIRED = (10, -2146762495, 0x800B0101, -67818)
_EARLY = (9,)
_OTHER_NAME = (62, 64, -2146762481, 0x800B010F, -67602)


def untrusted(error: ssl.SSLCertVerificationError, server: str, proxy: Proxy | None) -> Unusable:
    """Why a certificate is not believed: the server's, or that of a proxy which speaks TLS itself."""
    whose = f"{server} or of its proxy {proxy.address}" if proxy and proxy.scheme == "https" else server
    code = getattr(error, "verify_code", None)
    if code in _EXPIRED:
        return Unusable(
            f"the certificate of {whose} has expired.",
            "Look at this computer's date. If it is right, tell the server's operator.",
        )
    if code in _EARLY:
        return Unusable(f"the certificate of {whose} is not valid yet.", "Look at this computer's date.")
    if code in _OTHER_NAME:
        return Unusable(
            f"the certificate of {whose} is for another name.",
            "Is the address in the invitation right? A sign-in page of the network can also cause this: "
            "open any page in a browser.",
        )
    return Unusable(
        f"the certificate of {whose} is not trusted here.",
        "If your network inspects TLS, ask hospital IT for its certificates, and give them as --ca-bundle "
        "FILE. `unpooled-client doctor` says who issued this one.",
    )


def unanswered(error: httpx.RequestError, server: str, proxy: Proxy | None) -> Unanswered:
    """Why there is no answer at the moment."""
    host = urlsplit(server).netloc
    what = f"the proxy {proxy.address}" if proxy else host
    remedy = f"Look at {proxy.source} and NO_PROXY." if proxy else "If a proxy is needed, set HTTPS_PROXY."
    causes = list(_causes(error))
    match error:
        case httpx.ProxyError():
            return Unanswered(f"{what} answers {error}: it does not reach {host}.", remedy)
        case httpx.ConnectTimeout():
            return Unanswered(
                f"no connection to {what} in {CONNECTING:.0f} s, perhaps because of a firewall.", remedy
            )
        case httpx.TimeoutException():
            return Unanswered("no answer in time.")
        case httpx.ConnectError() if any(isinstance(cause, socket.gaierror) for cause in causes):
            return Unanswered(f"the name of {what} is not known here.", remedy)
        case httpx.ConnectError() if any(isinstance(cause, ssl.SSLError) for cause in causes):
            return Unanswered(f"{host} does not speak TLS as expected ({error}).", remedy)
        case httpx.ConnectError():
            return Unanswered(f"no connection to {what} ({error}).", remedy)
    return Unanswered(f"the connection broke: {error or type(error).__name__}.")


def place(error: httpx.RequestError, proxy: Proxy | None) -> Place:
    """Find the place at which a request failed."""
    causes = list(_causes(error))
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return Place.TLS
    if proxy and isinstance(error, httpx.ProxyError | httpx.ConnectError | httpx.ConnectTimeout):
        return Place.PROXY
    return Place.NAME if any(isinstance(cause, socket.gaierror) for cause in causes) else Place.SERVER


def _status(error: httpx.ProxyError) -> int:
    """The status in the text of an error of httpx, which has it nowhere else."""
    with contextlib.suppress(ValueError):
        return int(str(error)[:3])
    return 0


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
