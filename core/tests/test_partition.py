from __future__ import annotations

import mmap

import numpy as np
import pytest

from unpooled import partition
from unpooled.panel import Panel, canonical_order, order_in_parts
from unpooled.spool import Spool, forget


@pytest.mark.parametrize("room", [0, 7, 1 << 20])
def test_a_spool_gives_back_what_was_put_in(room: int) -> None:
    random, parts = np.random.default_rng(room), []
    spool = Spool("S5", room)
    for _ in range(20):
        parts.append(random.integers(100, 10**5, random.integers(4)).astype("S5"))
        spool.append(parts[-1])
    column = spool.column()
    assert column.tolist() == np.concatenate(parts).tolist()
    assert (_mapped(column) is not None) == (room < 100)
    forget(column, None)  # and read again
    assert column.tolist() == np.concatenate(parts).tolist()


def _mapped(column: np.ndarray) -> object:
    base = column.base
    return base.obj if isinstance(base, memoryview) and isinstance(base.obj, mmap.mmap) else None


@pytest.mark.parametrize("seed", range(10))
def test_equal_names_are_in_one_part_and_every_row_is_in_one(seed: int) -> None:
    random = np.random.default_rng(seed)
    narrow = random.integers(1000, size=500).astype("S4")
    wide = narrow.astype(f"S{random.integers(4, 40)}")
    parts, at_once = int(random.integers(1, 20)), int(random.integers(1, 100))
    one, other = (
        list(partition.members(partition.by_name(name, parts, at_once), parts, at_once))
        for name in (narrow, wide)
    )
    assert sorted(np.concatenate(one).tolist()) == list(range(500))
    for here, there in zip(one, other, strict=True):
        assert here.tolist() == there.tolist() == sorted(here.tolist())
    sets = [set(narrow[rows].tolist()) for rows in one]
    assert sum(map(len, sets)) == len(set(narrow.tolist()))


def test_parts_by_name_are_of_about_one_size() -> None:
    names = np.array([b"rs%d" % k for k in range(20_000)])
    sizes = [len(rows) for rows in partition.members(partition.by_name(names, 16), 16)]
    assert max(sizes) < 1.2 * 20_000 / 16


@pytest.mark.parametrize("seed", range(20))
def test_the_order_in_parts_is_that_of_the_whole(seed: int) -> None:
    random = np.random.default_rng(seed)
    m = int(random.integers(0, 300))
    chromosome = random.integers(0, random.integers(1, 6), m).astype(np.uint8)
    position = random.integers(0, random.integers(1, 100), m).astype(np.int32)
    name = random.integers(1, 50, m).astype("S3")
    alleles = np.zeros(m, np.uint8)
    panel = Panel(chromosome, position, name, (b"A",), alleles, alleles)
    parts = list(order_in_parts(panel, int(random.integers(1, 100))))
    assert np.concatenate(parts).tolist() == canonical_order(chromosome, position, name).tolist()
