"""Webhooks, signed as https://www.standardwebhooks.com has it, so that there are libraries which verify them.

An address is a person's, and the request is the platform's own: so it goes to public addresses and the web's
ports only, unless the operator allows others, to the very address that was looked at, follows no redirect,
and ends in time.
"""

from __future__ import annotations

import asyncio
import base64
import functools
import hmac
import ipaddress
import socket
import ssl
import time
from collections.abc import Sequence
from urllib.parse import urlsplit

import httpx
from django.conf import settings
from django.utils.crypto import salted_hmac

from unpooled.errors import UnpooledError
from unpooled_webapp.models import Channel

SECONDS = 15
"""Time for a whole delivery, however slowly it is answered."""

PORTS = frozenset({80, 443})

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
# Listed here, for what Python's `is_global` says of some of them changes with its patch release. By the
# registries of special addresses of IANA (RFC 6890), of IPv6 only what is given out for the public network.
_SPECIAL_4 = [
    ipaddress.IPv4Network(text)
    for text in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"),
        *("198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
    )
]
_PUBLIC_6 = ipaddress.IPv6Network("2000::/3")
_SPECIAL_6 = [
    ipaddress.IPv6Network(text) for text in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
]


class Undelivered(UnpooledError):
    """Text for whoever looks at the list of deliveries; nothing that was answered is in it."""


def secret(channel: Channel) -> str:
    """Return the key for checking signatures. It is stored nowhere: the platform's own secret makes it."""
    return "whsec_" + base64.b64encode(_key(channel)).decode()


def _key(channel: Channel) -> bytes:
    return salted_hmac("unpooled webhook", channel.nonce, algorithm="sha256").digest()


def signed(channel: Channel, number: str, body: bytes, now: int) -> dict[str, str]:
    """The headers that say which notice it is, when it was sent, and that it is ours."""
    signature = hmac.digest(_key(channel), f"{number}.{now}.".encode() + body, "sha256")
    return {
        "webhook-id": number,
        "webhook-timestamp": str(now),
        "webhook-signature": "v1," + base64.b64encode(signature).decode(),
    }


def deliver(channel: Channel, number: str, body: bytes) -> None:
    """Undelivered unless the receiver takes it, with a status of 200 to 299."""
    headers = signed(channel, number, body, int(time.time()))
    headers |= {"Content-Type": "application/json", "User-Agent": "unpooled"}
    try:
        status = asyncio.run(asyncio.wait_for(_post(channel.address, headers, body), SECONDS))
    except TimeoutError:
        raise Undelivered(f"no answer within {SECONDS} seconds") from None
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        raise Undelivered(f"could not be reached ({type(error).__name__})") from None
    if not 200 <= status < 300:
        raise Undelivered(f"answered with status {status}" + (", a redirect" if 300 <= status < 400 else ""))


async def _post(url: str, headers: dict[str, str], body: bytes) -> int:
    host, port = destination(url)
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]
    chosen = choose(addresses)
    # By address, so that a name which now leads elsewhere does not; the certificate is still the name's.
    target = httpx.URL(url).copy_with(host=str(chosen))
    headers = headers | {"Host": httpx.URL(url).netloc.decode()}
    client = httpx.AsyncClient(verify=_trusted(), trust_env=False, follow_redirects=False)
    async with (
        client,
        client.stream(
            "POST", target, content=body, headers=headers, extensions={"sni_hostname": host}
        ) as answer,
    ):
        return answer.status_code  # what else is answered is not read


@functools.cache
def _trusted() -> ssl.SSLContext:
    return httpx.create_ssl_context()


def destination(url: str) -> tuple[str, int]:
    """Host and port of a webhook's address; Undelivered if no webhook may have it."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or 443
    except ValueError:
        raise Undelivered("is no address") from None
    if parts.scheme != "https" or not host or not url.isascii() or not url.isprintable() or " " in url:
        raise Undelivered("does not begin with https:// and the name of a host")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise Undelivered("has a user name, a password or a fragment in it")
    if port not in PORTS | set(settings.UNPOOLED_WEBHOOK_PORTS):
        raise Undelivered(f"has the port {port}, to which this platform's operator allows no webhook")
    return host, port


def choose(addresses: Sequence[Address]) -> Address:
    """One of a host's addresses; Undelivered if any of them is in a private network."""
    if not addresses:
        raise Undelivered("its host has no address")
    if not settings.UNPOOLED_WEBHOOKS_INSIDE and not all(map(_is_public, addresses)):
        raise Undelivered("its host is in a private network, where this platform sends nothing")
    return addresses[0]


def _is_public(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in _SPECIAL_4)
    if address in _NAT64 or address.ipv4_mapped:
        return _is_public(ipaddress.IPv4Address(address.packed[-4:]))
    return address in _PUBLIC_6 and not any(address in network for network in _SPECIAL_6)
