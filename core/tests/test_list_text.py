"""Lists of variants as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unpooled import list_text
from unpooled.errors import ProtocolError
from unpooled.panel import Panel


def test_text_comes_back() -> None:
    panel = Panel.of([(1, 10, b"rs1", b"C", b"A"), (23, 0, b"x", b"0", b"ACGT")])
    assert list_text.write(panel) == b"1\t10\trs1\tA\tC\n23\t0\tx\t0\tACGT\n"
    again = list_text.read(list_text.write(panel))
    assert again.digest == panel.digest
    assert len(list_text.read(b"")) == 0


def test_a_long_list_is_read_and_written_in_blocks() -> None:
    lines = [b"1\t%d\t%b%d\t%b\n" % (k, b"rs" * (k // 30_000), k, pair) for k, pair in enumerate(_pairs())]
    panel = list_text.read(b"".join(lines))
    assert list_text.write(panel) == b"".join(lines) and len(panel) == len(lines)
    lines[-2] = lines[-2].replace(b"1\t", b"01\t", 1)
    with pytest.raises(ProtocolError, match=f"line {len(lines) - 1}, word 1"):
        list_text.read(b"".join(lines))


def _pairs() -> list[bytes]:
    """Of 70,000 variants; an allele that comes late in the list is among them."""
    return [b"A\tC"] * 69_000 + [b"A\tCT"] * 1_000


@pytest.mark.parametrize(
    "text",
    [
        b"1\t10\trs1\tA\tC",  # no line end
        b"1 10\trs1\tA\tC\n",
        b"1\t10\trs1\tA\n",
        b"1\t10\trs1\tA\tC\tG\n",
        b"\n1\t10\trs1\tA\tC\n",
        b"01\t10\trs1\tA\tC\n",
        b"1\t+10\trs1\tA\tC\n",
        b"1\t-1\trs1\tA\tC\n",
        b"1\t99999999999\trs1\tA\tC\n",
        b"300\t1\trs1\tA\tC\n",
        b"X\t10\trs1\tA\tC\n",
        b"1\t10\trs1\tC\tA\n",
        b"1\t10\trs2\tA\tC\n1\t10\trs1\tA\tC\n",
        b"1\t10\trs1\tA\t\tC\n",
        b"\x00" * 40,
    ],
)
def test_any_other_text_is_refused(text: bytes) -> None:
    with pytest.raises(ProtocolError):
        list_text.read(text)


@given(st.binary(max_size=60))
def test_hostile_bytes_are_a_panel_or_refused(data: bytes) -> None:
    try:
        panel = list_text.read(data)
    except ProtocolError:
        return
    assert list_text.write(panel) == data
