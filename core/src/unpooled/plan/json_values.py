"""Values of a plan's fields, to and from JSON."""

from __future__ import annotations

from typing import Any

from unpooled.plan.options import as_typed, is_name, refused
from unpooled.plan.schema import Column
from unpooled.protocol import codec

_WANTED: dict[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    bytes: "hexadecimal digits, two for each byte",
    tuple[str, ...]: "a list of texts",
    tuple[Column, ...]: "a list of columns",
}
"""Description of the values that a field takes, for people."""


def plain(value: Any) -> Any:
    """Return a value as JSON has it: bytes in hex."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Column):
        return value.to_json()
    return [plain(item) for item in value] if isinstance(value, tuple) else value


def read(value: Any, hint: Any) -> Any:
    """The value of a field with this annotation, from JSON; ValueError says what was wanted in words."""
    if hint is bytes and isinstance(value, str):
        return _bytes(value)
    if hint == tuple[Column, ...] and isinstance(value, list):
        return tuple(map(Column.from_json, value))
    found = as_typed(value, hint)
    if not codec.conforms(found, hint):
        raise ValueError(refused(_WANTED[hint], value))
    return found


def _bytes(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise ValueError(refused(_WANTED[bytes], text[:80])) from None


def shown(text: str) -> str:
    """A text from elsewhere, fit for a terminal and for UTF-8."""
    return text if is_name(text, 60) else ascii(text[:60])
