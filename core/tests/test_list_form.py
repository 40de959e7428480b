"""The binary form of lists of variants comes back, and any other bytes are refused; and their text."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unpooled import list_form, list_text
from unpooled.errors import ProtocolError
from unpooled.panel import Panel

NAMED = Panel.of(
    [
        (1, 10, b"rs1", b"C", b"A"),
        (1, 10, b"rs2", b"C", b"T"),
        (23, 0, b"x", b"0", b"ACGT"),
        (23, 7, b".", b"A", b"A"),
    ]
)
PLACED = dataclasses.replace(NAMED, ids=None, autosomes=22)


@pytest.mark.parametrize("panel", [NAMED, PLACED, Panel.of([])])
def test_a_list_comes_back(panel: Panel) -> None:
    again = Panel.from_canonical(panel.canonical)
    assert again.canonical == panel.canonical and again.digest == panel.digest
    assert again.canonical_bytes == len(panel.canonical) == panel.canonical_bytes
    assert [again.pair(k) for k in range(len(panel))] == [panel.pair(k) for k in range(len(panel))]
    assert np.asarray(again.name).tolist() == np.asarray(panel.name).tolist()


def test_the_form_does_not_depend_on_how_a_list_came_about() -> None:
    wider = Panel.of([(1, 10, b"rs1", b"C", b"A"), (2, 3, b"rs0" * 9, b"G", b"GTT")])
    assert wider.take(np.array([0])).digest == Panel.of([(1, 10, b"rs1", b"A", b"C")]).digest


def test_a_long_list_is_mapped_and_written_in_parts(tmp_path: Path) -> None:
    rows = 3 * list_form.BLOCK_ROWS + 7
    alleles = tuple(sorted(b"A" * k + b"C" for k in range(300)))
    position = 3 * np.arange(rows, dtype=np.int32)
    first, second = np.zeros(rows, np.uint16), (np.arange(rows) % 299 + 1).astype(np.uint16)
    panel = Panel(np.full(rows, 7, np.uint8), position, None, alleles, first, second, 22)
    (tmp_path / "list").write_bytes(panel.canonical)
    again = Panel.of_file(tmp_path / "list")
    assert again.digest == panel.digest and again.second.tolist() == second.tolist()
    parts = [again.take(slice(0, 50_000)), again.take(slice(50_000, rows))]
    assert b"".join(list_form.pieces(parts)) == panel.canonical
    sent = list(list_form.in_parts(panel.pieces(), 100_000))
    assert b"".join(sent) == panel.canonical and {len(part) for part in sent[:-1]} == {100_000}


@pytest.mark.parametrize("panel", [NAMED, PLACED])
def test_a_list_that_is_cut_or_longer_is_refused(panel: Panel) -> None:
    data = panel.canonical
    for size in range(len(data)):
        with pytest.raises(ProtocolError):
            Panel.from_canonical(data[:size])
    with pytest.raises(ProtocolError):
        Panel.from_canonical(data + b"\0")


@settings(max_examples=500)
@given(st.sampled_from([NAMED, PLACED]), st.data())
def test_damaged_bytes_are_another_list_or_refused(panel: Panel, data: st.DataObject) -> None:
    damaged = bytearray(panel.canonical)
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        again = Panel.from_canonical(bytes(damaged))
    except ProtocolError:
        return
    assert again.canonical == damaged


@given(st.binary(max_size=60))
def test_hostile_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        Panel.from_canonical(data)


@pytest.mark.parametrize(
    "columns",
    [
        {"position": np.array([10, 9, 0, 7], np.int32)},
        {"position": np.array([-1, 10, 0, 7], np.int32)},
        {"first": NAMED.second, "second": NAMED.first},
        {"ids": NAMED.name[[1, 0, 2, 3]]},
    ],
)
def test_a_list_that_is_not_sorted_is_refused(columns: dict[str, np.ndarray]) -> None:
    with pytest.raises(ProtocolError):
        Panel.from_canonical(dataclasses.replace(NAMED, **columns).canonical)


def test_an_id_that_is_too_long_is_refused() -> None:
    with pytest.raises(ProtocolError, match="an ID has more than 65,535 letters"):
        _ = Panel.of([(1, 1, b"x" * 65_536, b"A", b"C")]).digest


def test_a_list_with_one_id_far_longer_than_the_others_is_refused() -> None:
    """Each ID takes the room of the longest: of less than a megabyte that could be four gigabytes."""
    rows = list_form.BLOCK_ROWS
    many = Panel.of([(1, 1, b"x", b"A", b"C")]).take(np.zeros(rows, np.int64))
    for length in (1_000, 2_000):
        ids = np.full(rows, b"x", f"S{length}")
        ids[-1] = b"x" * length
        data = dataclasses.replace(many, ids=ids).canonical
        if length == 1_000:
            assert Panel.from_canonical(data).name[-1] == ids[-1]
        else:
            with pytest.raises(ProtocolError, match="one ID is far longer than the others"):
                Panel.from_canonical(data)


def test_a_panel_is_written_as_text() -> None:
    panel = Panel.of([(1, 10, b"rs1", b"C", b"A"), (23, 0, b"x", b"0", b"ACGT")])
    assert list_text.write(panel) == b"1\t10\trs1\tA\tC\n23\t0\tx\t0\tACGT\n"
