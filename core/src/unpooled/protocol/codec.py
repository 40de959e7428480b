"""One canonical, typed binary encoding for messages, plans and questions.

Every value has exactly one encoding, so bytes can be hashed and compared. A value is a tag byte and a
payload; integers are little-endian; every length comes before what it measures:

    N                        None              s  u32 length, UTF-8        str
    F, T                     False, True       b  u32 length, bytes        bytes
    i  8 bytes, signed       int               t  u32 count, values        tuple
    d  8 bytes, IEEE 754     float             a  dtype, ndim, u32 each, raw little-endian words   array
    r  name (as s), u32 count, then per field its name (as s) and its value        record

A record is a frozen dataclass with a class variable `name`. A field that `came_later` is left out where it
is at its default: so records keep the bytes that they had without it. One that is `NOT_SENT` always is, and
decoded as what the reader has for it. A kind whose fields differ in another way has `record_fields` and
`from_record` instead. Decoding builds only the record types it is given, checks
every field against its annotation, and raises CodecError, nothing else, on any other bytes.
"""

from __future__ import annotations

import dataclasses
import functools
import mmap
import struct
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from unpooled.errors import CodecError, UnpooledError

MAX_DEPTH = 16
_DTYPES = {b"?": "?", b"B": "<u1", b"I": "<u4", b"Q": "<u8", b"l": "<i4", b"q": "<i8", b"d": "<f8"}
_DTYPE_CODES = {np.dtype(text): code for code, text in _DTYPES.items()}


CAME_LATER = {"came_later": True}
"""Metadata of a field of a record that earlier releases did not have: left out at its default."""


NOT_SENT = {"not_sent": True}
"""Metadata of a field of a record that is known to whoever decodes it."""


def came_later(default: Any) -> Any:
    """Declares such a field, where no record that derives from this one has fields without a default."""
    return dataclasses.field(default=default, metadata=CAME_LATER)


def encode(value: Any) -> bytes:
    """The canonical bytes of a value."""
    return b"".join(pieces(value))


def pieces(value: Any) -> list[bytes | memoryview]:
    """The canonical bytes of a value in pieces, of which those of large arrays are no copies."""
    parts: list[bytes | memoryview] = []
    _write(value, parts)
    return parts


def _write(value: Any, parts: list[bytes | memoryview]) -> None:
    match value:
        case None:
            parts.append(b"N")
        case str():
            parts.append(_sized(b"s", value.encode()))
        case bytes():
            parts.append(_sized(b"b", value))
        case bool() | np.bool_():
            parts.append(b"T" if value else b"F")
        case int() | np.integer():
            parts.append(b"i" + int(value).to_bytes(8, "little", signed=True))
        case float():
            parts.append(b"d" + struct.pack("<d", value))
        case tuple():
            parts.append(b"t" + _u32(len(value)))
            for item in value:
                _write(item, parts)
        case np.ndarray():
            parts += _array_parts(value)
        case _ if dataclasses.is_dataclass(value):
            _write_record(value, parts)
        case _:
            raise TypeError(f"no encoding for {type(value).__name__}")


def _array_parts(array: np.ndarray) -> Iterator[bytes | memoryview]:
    plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    if plain.dtype not in _DTYPE_CODES:
        raise TypeError(f"no encoding for an array of {array.dtype}")
    yield b"a" + _DTYPE_CODES[plain.dtype] + bytes([array.ndim])
    yield b"".join(map(_u32, array.shape))
    yield plain.data  # joined without a copy of its own


def _write_record(record: Any, parts: list[bytes | memoryview]) -> None:
    fields = _fields_of(record)
    parts.append(b"r" + _text(record.name) + _u32(len(fields)))
    for name, value in fields:
        parts.append(_text(name))
        _write(value, parts)


def _fields_of(record: Any) -> list[tuple[str, Any]]:
    if hasattr(record, "record_fields"):
        return list(record.record_fields())
    fields = [(field, getattr(record, field.name)) for field in sent(record.__class__)]
    return [(field.name, value) for field, value in fields if not _is_left_out(field, value)]


@functools.cache
def sent(record: Any) -> tuple[dataclasses.Field[Any], ...]:
    """The fields of a kind of records that are encoded."""
    return tuple(field for field in dataclasses.fields(record) if "not_sent" not in field.metadata)


def _is_left_out(field: dataclasses.Field[Any], value: Any) -> bool:
    return bool(field.metadata.get("came_later")) and value == field.default


def _u32(number: int) -> bytes:
    return number.to_bytes(4, "little")


def _sized(tag: bytes, payload: bytes) -> bytes:
    return tag + _u32(len(payload)) + payload


def _text(text: str) -> bytes:
    return _sized(b"", text.encode())


def _nothing(record: type) -> None:
    """Have nothing for fields that are not sent."""


def decode(
    data: bytes,
    records: Mapping[str, type] | Iterable[type] = (),
    unsent: Callable[[Any], Any] = _nothing,
) -> Any:
    """The value that `data` encodes, built from nothing but the given record types.

    `unsent` tells what such a record has for a field that is `NOT_SENT`. Raises CodecError on anything that
    `encode` would not have written.
    """
    known = records if isinstance(records, Mapping) else {record.name: record for record in records}  # type: ignore[attr-defined]
    reader = _Reader(data, known, unsent)
    value = reader.value(MAX_DEPTH)
    if reader.at != len(data):
        raise CodecError(f"{len(data) - reader.at} bytes follow the end of the message")
    return value


class _Reader:
    def __init__(self, data: bytes, records: Mapping[str, type], unsent: Callable[[Any], Any]) -> None:
        self.data, self.records, self.unsent, self.at = data, records, unsent, 0

    def take(self, count: int) -> bytes:
        begin = self.skip(count)
        return self.data[begin : self.at]

    def skip(self, count: int) -> int:
        """Go on behind so many bytes; where they begin."""
        if count > len(self.data) - self.at:
            raise CodecError(f"message ends early: got {len(self.data) - self.at} bytes; want {count}")
        self.at += count
        return self.at - count

    def u32(self) -> int:
        return int.from_bytes(self.take(4), "little")

    def text(self) -> str:
        try:
            return self.take(self.u32()).decode()
        except UnicodeDecodeError as error:
            raise CodecError("text is not UTF-8") from error

    def value(self, depth: int) -> Any:
        if depth == 0:
            raise CodecError(f"message is nested deeper than {MAX_DEPTH}")
        match tag := self.take(1):
            case b"N":
                return None
            case b"T" | b"F":
                return tag == b"T"
            case b"i":
                return int.from_bytes(self.take(8), "little", signed=True)
            case b"d":
                return struct.unpack("<d", self.take(8))[0]
            case b"s":
                return self.text()
            case b"b":
                return self.take(self.u32())
            case b"t":
                return self.tuple(depth)
            case b"a":
                return self.array()
            case b"r":
                return self.record(depth)
        raise CodecError(f"unknown tag {tag!r}")

    def tuple(self, depth: int) -> tuple[Any, ...]:
        count = self.u32()
        if count > len(self.data) - self.at:  # every value takes a byte at least
            raise CodecError(f"message ends early: {count} values announced")
        return tuple(self.value(depth - 1) for _ in range(count))

    def array(self) -> np.ndarray:
        code, ndim = self.take(1), self.take(1)[0]
        if code not in _DTYPES or ndim > 4:
            raise CodecError(f"unknown array type {code!r} of {ndim} dimensions")
        shape = tuple(self.u32() for _ in range(ndim))
        dtype = np.dtype(_DTYPES[code])
        count = functools.reduce(int.__mul__, shape, 1)  # Python's integers: cannot overflow
        begin = self.skip(count * dtype.itemsize)
        # Single bytes may begin anywhere, so they stay where they are. Others are copied, to be aligned: but
        # for those in a mapped file, which are large, and whose copy would take as much memory again.
        stays = code == b"B" or isinstance(self.data, mmap.mmap)
        raw = (memoryview(self.data) if stays else self.data)[begin : self.at]
        if code == b"?" and bytes(raw).strip(b"\x00\x01"):
            raise CodecError("a truth value is neither 0 nor 1")
        try:
            return np.frombuffer(raw, dtype).reshape(shape)
        except ValueError as error:  # no elements, but dimensions whose product NumPy cannot hold
            raise CodecError("an array has impossible dimensions") from error

    def record(self, depth: int) -> Any:
        name = self.text()
        if name not in self.records:
            raise CodecError(f"unknown record {name[:80]!r}")
        values = {}
        for _ in range(self.u32()):
            field = self.text()
            if field in values:
                raise CodecError(f"{name}: field {field[:80]!r} appears twice")
            values[field] = self.value(depth - 1)
        return _build(self.records[name], values, self.unsent)


def _build(record: Any, values: dict[str, Any], unsent: Callable[[Any], Any]) -> Any:
    try:
        if hasattr(record, "from_record"):
            return record.from_record(values)
        return _from_fields(record, values, unsent)
    except (ValueError, TypeError, ArithmeticError, LookupError, UnpooledError) as error:
        raise CodecError(f"{record.__name__}: {error}") from error


def _from_fields(record: type, values: dict[str, Any], unsent: Callable[[Any], Any]) -> Any:
    hints = _hints(record)
    missing = dataclasses.MISSING
    given = [(field, values.get(field.name, missing)) for field in sent(record)]
    names = [f.name for f, value in given if not _is_left_out(f, f.default if value is missing else value)]
    if list(values) != names:
        raise CodecError(f"got fields {[f[:80] for f in values][:40]}; want {names}")
    for field, value in values.items():
        if not conforms(value, hints[field]):
            raise CodecError(f"{field}: got {type(value).__name__}; want {hints[field]}")
    others = (field.name for field in dataclasses.fields(record) if "not_sent" in field.metadata)
    return record(**values, **{name: unsent(record) for name in others})


@functools.cache
def _hints(record: type) -> dict[str, Any]:
    return typing.get_type_hints(record)


def conforms(value: Any, hint: Any) -> bool:
    """Tell whether a decoded value is of an annotated type (the few kinds that records use)."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(conforms(value, argument) for argument in arguments)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return all(conforms(item, arguments[0]) for item in value)
        return len(value) == len(arguments) and all(map(conforms, value, arguments))
    if origin is typing.Literal:
        return any(type(value) is type(choice) and value == choice for choice in arguments)
    if hint is Any:
        return True
    if hint is None or hint is types.NoneType:
        return value is None
    # True is no int; but any array is an array, and a record may be declared by its base.
    wide = hint is np.ndarray or dataclasses.is_dataclass(value)
    return isinstance(value, hint) if wide else type(value) is hint
