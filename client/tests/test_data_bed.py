"""Rows of the .bed as packed words, against a slow, clear version and against bed-reader."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from bed_reader import open_bed
from hypothesis import given
from hypothesis import strategies as st

from unpooled.errors import DataProblem
from unpooled_client.data import bed
from unpooled_client.data.bed import BedFile

MISSING = 1


def codes(words: np.ndarray, samples: int) -> np.ndarray:
    """The two-bit codes, uint8 (rows, samples)."""
    shifts = 2 * np.arange(32, dtype=np.uint64)
    wide = (words[:, :, None] >> shifts & np.uint64(3)).reshape(len(words), 32 * words.shape[1])
    return wide[:, :samples].astype(np.uint8)


def slow_codes(path: Path, samples: int, rows: list[int]) -> list[list[int]]:
    data = path.read_bytes()[3:]
    width = (samples + 3) // 4
    return [
        [MISSING if row < 0 else data[row * width + i // 4] >> 2 * (i % 4) & 3 for i in range(samples)]
        for row in rows
    ]


def write(folder: Path, samples: int, variants: int, seed: int = 1) -> BedFile:
    path = folder / "x.bed"
    content = np.random.default_rng(seed).integers(0, 256, variants * ((samples + 3) // 4), np.uint8)
    path.write_bytes(b"\x6c\x1b\x01" + content.tobytes())
    return BedFile(path, samples, variants)


@given(st.integers(1, 70), st.integers(1, 20), st.data())
def test_any_rows_in_any_order(samples: int, variants: int, data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(-1, variants - 1), max_size=30))
    with TemporaryDirectory() as folder:
        file = write(Path(folder), samples, variants)
        words = file.words(np.array(rows, np.int64))
        expected = slow_codes(file.path, samples, rows)
    assert words.dtype == np.uint64
    assert words.shape == (len(rows), -(-samples // 32))
    assert codes(words, samples).tolist() == expected


@pytest.mark.parametrize(("window", "hole"), [(1, 0), (40, 0), (40, 1000), (1 << 20, 7)])
def test_windows_and_holes_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, window: int, hole: int
) -> None:
    monkeypatch.setattr(bed, "WINDOW", window)
    monkeypatch.setattr(bed, "HOLE", hole)
    file = write(tmp_path, 33, 200)
    rng = np.random.default_rng(2)
    for rows in (
        np.arange(200),
        np.arange(50, 60),
        rng.permutation(200),
        np.flatnonzero(rng.random(200) < 0.2),
    ):
        assert codes(file.words(rows), 33).tolist() == slow_codes(file.path, 33, rows.tolist())


def test_a_file_cut_off_while_in_use_is_told(tmp_path: Path) -> None:
    file = write(tmp_path, 33, 10)
    file.path.write_bytes(file.path.read_bytes()[:-5])
    assert file.words(np.arange(9)).shape == (9, 2)
    with pytest.raises(DataProblem, match="cut off"):
        file.words(np.arange(10))


def test_a_file_that_went_away_is_told(tmp_path: Path) -> None:
    file = write(tmp_path, 33, 10)
    file.path.unlink()
    with pytest.raises(DataProblem, match="cannot be read"):
        file.words(np.arange(2))


def test_as_an_independent_reader_reads_it(files: Any) -> None:
    """bed-reader, told to count A1, so the codes 00, 10, 11 are 2, 1, 0; samples by variants."""
    expected = open_bed(f"{files.folder / 't'}.bed", count_A1=True).read(dtype="int8").T
    read = codes(files.open().genotypes.words(np.arange(3)), 60)
    assert np.array_equal(np.array([2, -127, 1, 0])[read], expected)
