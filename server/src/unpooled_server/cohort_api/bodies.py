"""Request bodies: JSON of bounded size, and raw bytes as a stream."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, RawPostDataException, UnreadablePostError

from unpooled.errors import ProtocolError
from unpooled.panel.list_file import PART_BYTES
from unpooled.protocol import messages
from unpooled_server.bells.connections import give_back_connection
from unpooled_server.errors import Refused
from unpooled_server.services import panels
from unpooled_server.storage import store

RAW = "application/octet-stream"
# Messages in JSON are keys, digests and words. A share or a list comes as raw bytes, of its own length.
MAX_JSON = 1 << 16
_MOST_BYTES = 4096
"""Maximum length of a field in hex."""
_HEX = re.compile(r"(?:[0-9a-f]{2})+")


def require_plain(request: HttpRequest) -> None:
    """Bodies come as they are: there is nothing to decompress."""
    if request.headers.get("Content-Encoding"):
        raise Refused(
            "encoding", "A body with a Content-Encoding is not accepted.", "Send it plain.", status=415
        )


def content_length(request: HttpRequest) -> int:
    length = request.headers.get("Content-Length") or ""
    if not length.isdecimal():
        raise Refused("no-length", "The header Content-Length is missing.", status=411)
    return int(length)


def exact_length(request: HttpRequest, want: int, what: str) -> int:
    """The announced length of a body, which must be the one that follows from the question."""
    size = content_length(request)
    if size != want:
        status = 413 if size > want else 400
        raise Refused("wrong-length", f"The {what} has {size} bytes; want {want}.", status=status)
    return size


def list_bytes(request: HttpRequest) -> int:
    """The length of a list of variants that is sent, which may not be more than a list can have."""
    require_plain(request)
    size = content_length(request)
    if size > panels.MAX_LIST_BYTES:
        raise Refused("too-large", f"A list has {panels.MAX_LIST_BYTES} bytes at most.", status=413)
    return size


def part_of_list(request: HttpRequest) -> tuple[int, int, int]:
    """Return where a part of a cohort's list begins, the length of the list, and that of the part.

    A request that does not say so brings the whole list.
    """
    length = list_bytes(request)
    start, size = request.GET.get("start", "0"), request.GET.get("size", str(length))
    if not all(text.isdecimal() and len(text) < 20 for text in (start, size)):
        raise Refused("bad-field", "start, size: want numbers of bytes.")
    if length > PART_BYTES or int(size) > panels.MAX_LIST_BYTES or int(start) + length > int(size):
        text = f"A list has {panels.MAX_LIST_BYTES} bytes at most, and comes in parts of up to {PART_BYTES}."
        raise Refused("too-large", text, status=413)
    return int(start), int(size), length


def blocks(request: HttpRequest, size: int) -> Iterator[bytes]:
    """The body, block by block; stops at its end or after `size` bytes."""
    give_back_connection()
    try:
        while size > 0 and (block := request.read(min(size, store.BLOCK))):
            yield block
            size -= len(block)
    except (UnreadablePostError, RawPostDataException, OSError) as error:
        raise unreadable(error) from error


def unreadable(error: Exception) -> Refused:
    """Return the refusal of a body that did not come to its end."""
    if isinstance(error.__cause__, TimeoutError):  # Django hides the reason behind its own error
        return Refused("slow-body", "The body came too slowly.", "Send it again.", status=408)
    return Refused("truncated", "The connection broke before the body's end.", "Send it again.")


def require_raw(request: HttpRequest) -> None:
    """Refuse a body that is not raw bytes as they are."""
    require_plain(request)
    if request.content_type != RAW:
        raise Refused("type", f"Got {request.content_type or 'no type'}; want {RAW}.", status=415)


def hex_header(request: HttpRequest, header: str, digits: int, code: str) -> str:
    """A header of exactly so many lower-case hex digits; Refused, with this code, for any other."""
    found = request.headers.get(header, "")
    if len(found) != digits or not _HEX.fullmatch(found):
        raise Refused(code, f"The header {header} must hold {digits} hex digits.")
    return found


def record(request: HttpRequest, kind: type, most: int) -> Any:
    """A record of the protocol that comes as raw bytes, of `most` at most."""
    require_raw(request)
    if (size := content_length(request)) > most:
        raise Refused("too-large", f"This message has {most} bytes at most.", status=413)
    try:
        return messages.decode(b"".join(blocks(request, size)), kind)
    except ProtocolError as error:
        raise Refused("bad-message", f"{error}.", "Server and client must be of the same release.") from error


def json_object(request: HttpRequest) -> dict[str, Any]:
    require_plain(request)
    if content_length(request) > MAX_JSON:
        raise Refused("too-large", f"A message has {MAX_JSON} bytes at most.", status=413)
    try:
        value = json.loads(b"".join(blocks(request, MAX_JSON)))
    except (ValueError, RecursionError, RequestDataTooBig) as error:
        raise Refused("bad-json", "The body is not JSON.") from error
    if not isinstance(value, dict):
        raise Refused("bad-json", "The body is not a JSON object.")
    return value


def text(values: dict[str, Any], field: str, default: str | None = None) -> str:
    value = values.get(field, default)
    if not isinstance(value, str) or not value.isprintable():  # nor half a character, nor a NUL
        raise Refused("bad-field", f"{field}: want text.", fields={field: "want text"})
    return value


def hexadecimal(values: dict[str, Any], field: str, size: int | None = None) -> str:
    """A field of lower-case hex digits, of `size` bytes if given."""
    value = text(values, field)
    fits = len(value) <= 2 * _MOST_BYTES if size is None else len(value) == 2 * size
    if not fits or not _HEX.fullmatch(value):
        want = f"{size} bytes as lower-case hex" if size else "lower-case hex"
        raise Refused("bad-field", f"{field}: want {want}.", fields={field: f"want {want}"})
    return value
