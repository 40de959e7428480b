"""Dosages unpacked from the records of a .pgen as they are: those that Pgenlib reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from pgenlib import PgenReader, PgenWriter

from tests.plinks import plink2
from unpooled.errors import DataProblem
from unpooled.kernels.dosages import NO_DOSAGE, from_copies
from unpooled_client.data.plink.pgen import PgenFile
from unpooled_client.data.plink.pgen_records import take_dosages

HEAD = 12


def write(path: Path, copies: np.ndarray) -> None:
    """Dosages, float32 (m, n), below 0 where missing."""
    with PgenWriter(bytes(path), copies.shape[1], variant_ct=len(copies), nonref_flags=False,
                    dosage_present=True) as writer:  # fmt: skip
        writer.append_dosages_batch(copies.astype(np.float32))


def drawn(seed: int, variants: int, people: int) -> np.ndarray:
    """Variants of all frequencies, of which few, most or all people have no whole number of copies."""
    random = np.random.default_rng(seed)
    minor = random.choice([0.001, 0.02, 0.1, 0.2, 0.5], (variants, 1))
    minor = np.where(random.random((variants, 1)) < 0.5, minor, 1 - minor)
    copies = random.binomial(2, minor, (variants, people)).astype(float)
    uncertain = random.random(copies.shape) < random.choice([0, 0.01, 0.5, 0.9, 1], (variants, 1))
    off = random.uniform(0.001, random.choice([0.05, 0.6], (variants, 1)), copies.shape)
    copies = np.where(uncertain, np.where(copies == 2, 2 - off, copies + off), copies)
    gone = random.random(copies.shape) < random.choice([0, 0, 0.01, 0.7], (variants, 1))
    return np.where(gone, -9, copies)


def by_pgenlib(path: Path, variants: int, people: int, rows: np.ndarray) -> np.ndarray:
    copies = np.empty((len(rows), people), np.float32)
    with PgenReader(bytes(path), raw_sample_ct=people, variant_ct=variants) as reader:
        reader.read_dosages_list(rows.astype(np.uint32), copies)
    return from_copies(copies)


def taken(path: Path, variants: int, people: int, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mark the rows that need no Pgenlib, and return the dosages with only those rows filled."""
    out = np.full((len(rows), people), 12345, np.uint16)
    return take_dosages(path, variants, rows, np.arange(len(rows)), out), out


def kinds_of(path: Path, variants: int) -> np.ndarray:
    """Return the record types of a file of one block."""
    return np.frombuffer(path.read_bytes()[HEAD + 8 : HEAD + 8 + variants], np.uint8)


@pytest.mark.parametrize("people", [1, 2, 3, 4, 5, 31, 32, 33, 64, 77, 255, 256, 257, 1000])
def test_dosages_are_those_that_pgenlib_reads(people: int, tmp_path: Path) -> None:
    variants = 400
    write(tmp_path / "t.pgen", drawn(people, variants, people))
    rows = np.sort(np.random.default_rng(1).integers(0, variants, 600))
    wanted = by_pgenlib(tmp_path / "t.pgen", variants, people, rows)
    done, found = taken(tmp_path / "t.pgen", variants, people, rows)
    assert (found[done] == wanted[done]).all()
    assert (PgenFile(tmp_path / "t.pgen", people, variants).dosages(rows) == wanted).all()


def test_usual_records_need_no_pgenlib(tmp_path: Path) -> None:
    """Usual records are those in which most people have a dosage, however their calls are written."""
    variants, people = 2000, 500
    write(tmp_path / "t.pgen", drawn(7, variants, people))
    done, _ = taken(tmp_path / "t.pgen", variants, people, np.arange(variants))
    kinds = kinds_of(tmp_path / "t.pgen", variants)
    dense = (kinds & 0x40 > 0) & ~np.isin(kinds & 7, (2, 3))
    assert (done == dense).all() and dense.sum() > 500
    assert {*(kinds[done] & 7)} >= {0, 1, 4, 6, 7}


def test_further_tracks_are_left_to_pgenlib(tmp_path: Path) -> None:
    """Phases, and dosages of which some are phased, as plink2 writes them."""
    people = [f"p{k}" for k in range(40)]
    random = np.random.default_rng(3)
    lines = ["##fileformat=VCFv4.2", '##FORMAT=<ID=HDS,Number=2,Type=Float,Description="d">',
             '##FORMAT=<ID=GT,Number=1,Type=String,Description="g">', "##contig=<ID=1>",
             "\t".join(["#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT", *people])]  # fmt: skip
    for k in range(200):
        halves = random.choice([0, 0.3, 0.9, 1], (40, 2))
        cells = [f"{round(a)}|{round(b)}:{a},{b}" for a, b in halves]
        lines.append("\t".join([f"1\t{k + 1}\tv{k}\tA\tC\t.\t.\t.\tGT:HDS", *cells]))
    (tmp_path / "t.vcf").write_text("\n".join(lines) + "\n")
    plink2("--vcf", tmp_path / "t.vcf", "dosage=HDS", "--make-pgen", "--out", tmp_path / "t")
    rows = np.arange(200)
    assert (kinds_of(tmp_path / "t.pgen", 200) & 0x90 > 0).any()
    done, found = taken(tmp_path / "t.pgen", 200, 40, rows)
    wanted = by_pgenlib(tmp_path / "t.pgen", 200, 40, rows)
    assert (found[done] == wanted[done]).all() and not done.all()
    assert (PgenFile(tmp_path / "t.pgen", 40, 200).dosages(rows) == wanted).all()


def test_blocks_follow_one_another(tmp_path: Path) -> None:
    """The header has kinds and lengths of 65,536 variants together."""
    variants, people = (1 << 16) + 700, 3
    write(tmp_path / "t.pgen", drawn(5, variants, people))
    rows = np.sort(np.random.default_rng(2).integers(-1, variants, 5000))
    rows = np.concatenate([rows, np.arange((1 << 16) - 50, (1 << 16) + 50)])
    found = PgenFile(tmp_path / "t.pgen", people, variants).dosages(rows)
    there = rows >= 0
    assert (found[there] == by_pgenlib(tmp_path / "t.pgen", variants, people, rows[there])).all()
    assert (found[~there] == NO_DOSAGE).all()


def damaged(data: bytes) -> Iterator[bytes]:
    """The file with a few bytes of another value, and cut off, in many ways."""
    random = np.random.default_rng(11)
    for k in range(400):
        changed = bytearray(data)
        first = 0 if k % 4 else len(data) // 4
        for place in random.integers(first, len(data), random.integers(1, 6)):
            changed[place] = random.integers(256)
        yield bytes(changed[: random.integers(0, len(data))] if k % 10 == 0 else changed)


def test_damage_is_never_read_beyond(tmp_path: Path) -> None:
    """Dosages unpacked from a damaged file are what Pgenlib reads, unless that refuses it."""
    variants, people, agreed = 150, 60, 0
    write(tmp_path / "t.pgen", drawn(9, variants, people))
    rows, path = np.arange(variants), tmp_path / "damaged.pgen"
    for data in damaged((tmp_path / "t.pgen").read_bytes()):
        path.write_bytes(data)
        done, found = taken(path, variants, people, rows)
        for row in np.flatnonzero(done):
            try:
                wanted = by_pgenlib(path, variants, people, rows[row : row + 1])
            except (RuntimeError, OSError):
                continue
            assert (found[row] == wanted[0]).all()
            agreed += 1
    assert agreed > 10_000


def test_a_file_that_is_gone_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataProblem, match="cannot be read"):
        PgenFile(tmp_path / "none.pgen", 5, 5).dosages(np.arange(3))
