"""A round in a manifest has one spelling."""

from __future__ import annotations

import pytest

from unpooled.described.manifest import ListedRound
from unpooled.errors import ProtocolError

A, B = "a" * 64, "b" * 64


@pytest.mark.parametrize(
    "listed", [ListedRound(17, "0.3.2", A, B), ListedRound(17, "0.3.2", A, ""), ListedRound(1, "", A, "")]
)
def test_a_line_is_read_as_it_was_written(listed: ListedRound) -> None:
    assert ListedRound.of(listed.line) == listed
    assert listed.line.count(" ") == 3


@pytest.mark.parametrize(
    "line", ["", f"17 0 {A}", f"17 0 {A} {B} {B}", f"017 0 {A} {B}", f"x 0 {A} {B}", f"17 -0 {A} {B}", 17]
)
def test_another_line_is_refused(line: str) -> None:
    with pytest.raises(ProtocolError, match="not a round of a manifest"):
        ListedRound.of(line)
