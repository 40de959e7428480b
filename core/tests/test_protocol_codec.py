"""The codec: every value back as it was, one encoding each, and nothing but CodecError for other bytes."""

from __future__ import annotations

import dataclasses
import struct
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from unpooled.errors import CodecError, ProtocolError
from unpooled.protocol import codec
from unpooled.protocol.codec import decode, encode
from unpooled.protocol.masking import MaskContext
from unpooled.protocol.messages import RECORDS, Enrolment, ReleaseRequest, Roster
from unpooled.protocol.sealing import Purpose

KNOWN = (*RECORDS, MaskContext, Purpose)

DTYPES = ["?", "<u1", "<u4", "<u8", "<i4", "<i8", "<f8"]
arrays = st.sampled_from(DTYPES).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | st.text(max_size=20)
    | st.binary(max_size=20)
    | arrays
)
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4).map(tuple), max_leaves=10)


def same(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return bool(a.dtype == b.dtype) and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, float):
        return struct.pack("<d", a) == struct.pack("<d", b)  # a NaN is itself, and 0 is not -0
    return bool(a == b)


@dataclass(frozen=True)
class Everything:
    """A record with a field of each kind of annotation that records use."""

    name: ClassVar[str] = "test/everything"

    number: int
    pair: tuple[str, bytes]
    many: tuple[float, ...]
    maybe: int | None
    mode: Literal["names", "list"]
    flag: bool = False
    kept: int = 7


@dataclass(frozen=True, eq=False)
class WithArray:
    name: ClassVar[str] = "test/array"

    array: np.ndarray


@dataclass(frozen=True, eq=False)
class MoreThanArray(WithArray):
    name: ClassVar[str] = "test/more than array"


@dataclass(frozen=True, eq=False)
class Holder:
    """A record that holds one that is declared by its base."""

    name: ClassVar[str] = "test/holder"

    held: WithArray


WHOLE = Everything(1, ("a", b"b"), (0.5, 2.0), None, "list", True, 9)


@given(values)
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    assert same(decode(encode(value)), value)


@given(values, values)
def test_different_values_have_different_encodings(a: Any, b: Any) -> None:
    assert (encode(a) == encode(b)) == same(a, b)


def mutated(draw: Any) -> bytes:
    base = draw(st.one_of(values.map(encode), st.sampled_from([encode(WHOLE), encode(MESSAGE)])))
    at = draw(st.integers(0, len(base)))
    cut = draw(st.integers(0, 3))
    return bytes(base[:at] + draw(st.binary(max_size=6)) + base[at + cut :])


MESSAGE = ReleaseRequest("study", 1, bytes(32), "z32", 10, (("a", bytes(16)), ("b", bytes(16))))


@settings(max_examples=300)
@given(st.one_of(st.binary(max_size=200), st.composite(mutated)()))
@example(b"aI\4" + bytes(4) + b"\xff" * 12)  # no elements, and dimensions that NumPy cannot hold
@example(b"t\xff\xff\xff\xff")
@example(b"s\xff\xff\xff\xff")
@example(b"t\1\0\0\0" * 100 + b"N")
@example(b"a?\1\1\0\0\0\2")
@example(b"s\1\0\0\0\xff")
def test_any_bytes_are_refused_or_the_one_encoding_of_their_value(data: bytes) -> None:
    try:
        value = decode(data, (*KNOWN, Everything, WithArray))
    except CodecError:
        return
    assert data == encode(value)


@given(st.data())
def test_truncated_and_prolonged_encodings_are_refused(data: st.DataObject) -> None:
    whole = encode(data.draw(values))
    with pytest.raises(CodecError):
        decode(whole[: data.draw(st.integers(0, len(whole) - 1))])
    with pytest.raises(CodecError):
        decode(whole + data.draw(st.binary(min_size=1, max_size=9)))


@pytest.mark.parametrize("message", [MESSAGE, Roster((("a", b"1"), ("b", b"2"))), WHOLE])
def test_a_record_comes_back_as_it_was(message: Any) -> None:
    assert decode(encode(message), (*KNOWN, Everything)) == message


def test_an_array_of_either_byte_order_and_any_layout_has_one_encoding() -> None:
    plain = np.arange(12, dtype="<i4").reshape(3, 4)
    for other in (plain.astype(">i4"), np.asfortranarray(plain), np.repeat(plain, 2, axis=1)[:, ::2]):
        assert encode(other) == encode(plain)


def test_numpy_scalars_are_numbers() -> None:
    assert encode((np.int64(5), np.float64(0.5), np.bool_(True))) == encode((5, 0.5, True))


@pytest.mark.parametrize("value", [object(), [1], {"a": 1}, {1}, 1j, np.array(["a"]), np.zeros(1, "f4")])
def test_what_has_no_encoding_is_said_to_have_none(value: Any) -> None:
    with pytest.raises(TypeError, match="no encoding"):
        encode(value)


def test_integers_beyond_64_bits_are_refused() -> None:
    for number in (2**63, -(2**63) - 1):
        with pytest.raises(OverflowError):
            encode(number)


def test_a_field_that_is_left_out_does_not_take_its_default() -> None:
    fields = [(field.name, getattr(WHOLE, field.name)) for field in dataclasses.fields(WHOLE)]
    assert decode(record(Everything.name, *fields), (Everything,)) == WHOLE
    with pytest.raises(CodecError, match="want"):
        decode(record(Everything.name, *fields[:-1]), (Everything,))


def test_only_the_given_records_are_built() -> None:
    with pytest.raises(CodecError, match="unknown record"):
        decode(encode(WHOLE), KNOWN)


def forged(**fields: Any) -> bytes:
    whole = {f.name: getattr(WHOLE, f.name) for f in dataclasses.fields(WHOLE)} | fields
    parts = [codec._text(name) + encode(value) for name, value in whole.items()]
    return b"r" + codec._text(Everything.name) + codec._u32(len(parts)) + b"".join(parts)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("number", 1.0),
        ("number", True),
        ("number", None),
        ("number", "1"),
        ("pair", ("a",)),
        ("pair", ("a", "b")),
        ("pair", ("a", b"b", b"c")),
        ("pair", None),
        ("many", (1.0, 2)),
        ("many", 1.0),
        ("maybe", 1.0),
        ("mode", "other"),
        ("mode", 1),
        ("flag", 1),
        ("flag", None),
        ("kept", "1"),
    ],
)
def test_a_field_of_another_type_than_declared_is_refused(field: str, value: Any) -> None:
    assert decode(forged(), (Everything,)) == WHOLE
    with pytest.raises(CodecError, match=field):
        decode(forged(**{field: value}), (Everything,))


def record(name: str, *fields: tuple[str, Any]) -> bytes:
    parts = [codec._text(field) + encode(value) for field, value in fields]
    return b"r" + codec._text(name) + codec._u32(len(parts)) + b"".join(parts)


def test_fields_are_exactly_those_declared_in_their_order() -> None:
    array = np.zeros(1)
    for fields in [
        (),
        (("other", array),),
        (("array", array), ("other", 1)),
        (("array", array), ("array", array)),
    ]:
        with pytest.raises(CodecError):
            decode(record("test/array", *fields), (WithArray,))
    members = tuple((f.name, getattr(MESSAGE, f.name)) for f in dataclasses.fields(MESSAGE))
    assert decode(record("unpooled/release", *members), KNOWN) == MESSAGE
    with pytest.raises(CodecError):
        decode(record("unpooled/release", *members[::-1]), KNOWN)


def test_a_record_may_be_declared_by_its_base() -> None:
    kinds = (Holder, WithArray, MoreThanArray, Everything)
    for held in (WithArray(np.zeros(1)), MoreThanArray(np.zeros(1))):
        assert type(decode(encode(Holder(held)), kinds).held) is type(held)
    with pytest.raises(CodecError, match="held"):
        decode(record(Holder.name, ("held", WHOLE)), kinds)


def test_an_error_is_short_however_long_the_message() -> None:
    many = record("test/array", *((f"field {k}" * 20, None) for k in range(5000)))
    long = [
        many,
        record("x" * 10**6),
        b"s" + codec._u32(2**20) + b"\xff" * 2**20,
        b"t" + bytes(4) + bytes(2**20),
    ]
    for data in long:
        with pytest.raises(CodecError) as caught:
            decode(data, (WithArray,))
        assert len(str(caught.value)) < 10_000


def test_a_record_that_breaks_its_own_rule_is_refused_as_bytes_too() -> None:
    with pytest.raises(ProtocolError):
        Roster((("b", b"1"), ("a", b"2")))
    forged_roster = record("unpooled/roster", ("members", (("b", b"1"), ("a", b"2"))))
    with pytest.raises(CodecError, match="sorted"):
        decode(forged_roster, KNOWN)


def test_nesting_is_bounded() -> None:
    value: Any = ()
    for _ in range(codec.MAX_DEPTH - 1):
        value = (value,)
    assert decode(encode(value)) == value
    with pytest.raises(CodecError, match="nested"):
        decode(encode((value,)))
    with pytest.raises(CodecError, match="nested"):
        decode(b"t\1\0\0\0" * 100_000 + b"N")


def test_announced_sizes_take_no_memory_until_they_are_there() -> None:
    for head in (b"s", b"b", b"t", b"aQ\1", b"aQ\2\xff\xff\xff\xff"):
        with pytest.raises(CodecError, match="early"):
            decode(head + b"\xff\xff\xff\xff")


def test_an_enrolment_comes_back_as_it_was() -> None:
    enrolment = Enrolment("s", bytes(32), Roster((("a", b"1"), ("b", b"2"))), ())
    assert decode(encode(enrolment), KNOWN) == enrolment


@dataclass(frozen=True)
class Grown:
    """A record with a field that earlier releases did not have."""

    name: ClassVar[str] = "test/grown"

    first: int
    second: int = codec.came_later(1)


@dataclass(frozen=True)
class Young:
    """The same record as an earlier release has it."""

    name: ClassVar[str] = "test/grown"

    first: int


def test_a_field_that_came_later_is_left_out_at_its_default() -> None:
    assert encode(Grown(5)) == encode(Grown(5, 1)) == encode(Young(5))
    assert decode(encode(Young(5)), [Grown]) == Grown(5)
    assert decode(encode(Grown(5, 2)), [Grown]) == Grown(5, 2)
    with pytest.raises(CodecError):
        decode(encode(Grown(5, 2)), [Young])


@pytest.mark.parametrize("value", [1, True, None, 1.0, np.ones(2, np.int64)])
def test_a_default_that_is_spelled_out_or_of_another_type_is_refused(value: Any) -> None:
    """Every value has one encoding."""
    data = encode(Grown(5, 2))
    spelled_out = data.replace(encode(2), encode(value))
    assert spelled_out != data
    with pytest.raises(CodecError):
        decode(spelled_out, [Grown])
