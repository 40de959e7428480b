"""Lists of variants as text."""

from __future__ import annotations

from unpooled import list_text
from unpooled.panel import Panel


def test_a_panel_is_written_as_text() -> None:
    panel = Panel.of([(1, 10, b"rs1", b"C", b"A"), (23, 0, b"x", b"0", b"ACGT")])
    assert list_text.write(panel) == b"1\t10\trs1\tA\tC\n23\t0\tx\t0\tACGT\n"
