"""Lists of variants of which only a part is in memory, beside a slow, clear reading of the whole."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from client_lists import rows

from unpooled.panel.chromosomes import chromosome_code
from unpooled_client.data.findings.report import Code, Report
from unpooled_client.data.plink.bim import read_bim
from unpooled_client.data.plink.variants import Variants

WHOLE = 1 << 30


def text_of(random: np.random.Generator, lines: int, *, ordered: bool, names: int) -> str:
    """Lines of a .bim with everything that is told of, often by chance."""
    alleles = np.array(["A", "C", "G", "T", "0", "AT", "1", "<DEL>", "I", "N"])
    places = [
        (str(random.choice(["0", "1", "2", "22", "X", "MT", "zz"])), int(random.integers(-2, 9)))
        for _ in range(lines)
    ]
    if ordered:
        places.sort(key=lambda place: (-1 if (c := chromosome_code(place[0])) is None else c, place[1]))
    out = []
    for chromosome, position in places:
        name = str(random.choice([".", "é", "x" * 120, *(f"rs{k}" for k in range(names))]))
        out.append(
            f"{chromosome}\t{name}\t0\t{position}\t{random.choice(alleles)}\t{random.choice(alleles)}\n"
        )
    return "".join(out)


def read(path: Path, room: int, at_once: int, block: int, **more: Any) -> tuple[Variants, Report]:
    report = Report()
    variants = read_bim(path, report, block=block, room=room, at_once=at_once, build="hg19", **more)
    assert variants is not None
    return variants, report


def rows_of(variants: Variants) -> list[tuple[Any, ...]]:
    return [(*row, line) for row, line in zip(rows(variants), variants.line.tolist(), strict=True)]


def slow(text: str, *, by_place: bool) -> tuple[list[tuple[Any, ...]], dict[Code, list[int]]]:
    """The rows in canonical order, and the lines of which something is told."""
    kept, told = [], {}
    lines = [line.split() for line in text.splitlines()]
    told[Code.POSITION_NEGATIVE] = [k + 1 for k, line in enumerate(lines) if int(line[3]) < 0]
    for k, (chromosome, name, _, position, a1, a2) in enumerate(lines):
        code, low, high = chromosome_code(chromosome), *sorted([a1.encode(), a2.encode()])
        if code is None or int(position) < 0:
            continue
        word = {0: "0", 23: "X", 24: "Y", 25: "XY", 26: "MT"}.get(code, str(code))
        by = b"%b:%b:%b:%b" % (word.encode(), position.encode(), low, high)
        called = by if by_place else name.encode()
        kept.append((code, int(position), called, low, high, k, a1.encode() == low, k + 1))

    def lines_of(which: Callable[[tuple[Any, ...]], bool]) -> list[int]:
        return [row[7] for row in kept if which(row)]

    times = Counter(row[2] for row in kept)
    told[Code.VARIANT_DUPLICATE] = lines_of(lambda row: times[row[2]] > 1 and row[2] != b".")
    told[Code.ALLELES_EQUAL] = lines_of(lambda row: row[3] == row[4] != b"0")
    told[Code.NOT_IN_ORDER] = [b[7] for a, b in pairwise(kept) if b[:2] < a[:2]]
    told[Code.NO_PLACE] = lines_of(lambda row: 0 in row[:2])
    if by_place:
        told[Code.ALLELES_UNSEEN] = lines_of(lambda row: b"0" in row[3:5])
        told[Code.VARIANT_TWIN] = []
    else:
        told[Code.VARIANT_UNNAMED] = lines_of(lambda row: row[2] == b".")
        told[Code.VARIANT_ID_ODD] = lines_of(lambda row: not row[2].isascii())
        told[Code.VARIANT_ID_LONG] = lines_of(lambda row: len(row[2]) > 100)
        twins = []
        for _, group in groupby(
            sorted(kept, key=lambda row: (row[:2], row[3:6])), lambda row: (row[:2], row[3:5])
        ):
            alike = list(group)
            twins += [b[7] for a, b in pairwise(alike) if a[2] != b[2] and b[1] > 0]
        told[Code.VARIANT_TWIN] = sorted(twins)
    return sorted(kept, key=lambda row: (row[:3], row[5])), told


@pytest.mark.parametrize("by_place", [False, True])
@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("seed", range(15))
def test_pieces_of_any_size_make_the_same_list_and_the_same_report(
    seed: int, ordered: bool, by_place: bool, tmp_path: Path
) -> None:
    random = np.random.default_rng(seed)
    path = tmp_path / "x.bim"
    lines = int(random.integers(2, 150))
    text = text_of(random, lines, ordered=ordered, names=2 * lines)
    path.write_text(text + "1\tend\t0\t8\tA\tC\n")  # so that there is a variant
    in_order, told = slow(path.read_text(), by_place=by_place)
    whole, report = read(path, WHOLE, WHOLE, WHOLE, by_place=by_place)
    assert rows_of(whole) == in_order
    for code, expected in told.items():
        found = [one for one in report.findings if one.code == code]
        assert sum(one.count for one in found) == len(expected), code
        if expected:
            assert found[0].line == expected[0]
            shown = [int(example.split(":")[0].removeprefix("line ")) for example in found[0].examples]
            assert shown == expected[:3]
    room, at_once, block = random.integers(0, 40), random.integers(1, 30), random.integers(1, 300)
    pieces, other = read(path, int(room), int(at_once), int(block), by_place=by_place)
    assert rows_of(pieces) == in_order and pieces.rows == whole.rows and pieces.about == whole.about
    assert pieces.panel.digest == whole.panel.digest
    assert other.to_json() == report.to_json()
    chosen = random.random(len(in_order)) < 0.5
    assert rows_of(pieces.take(chosen)) == [row for row, is_in in zip(in_order, chosen, strict=True) if is_in]


def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, report = tmp_path / "x.bim", Report()
    path.write_text("1 a 0 5 A G\n")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "nowhere"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    assert read_bim(path, report, room=0) is None
    assert [(one.code, "kept on the disk" in one.message) for one in report.findings] == [
        (Code.FILE_UNREADABLE, True)
    ]
    assert "TMPDIR" in report.findings[0].remedy
