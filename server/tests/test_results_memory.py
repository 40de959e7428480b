"""Memory that the end of a study and its archive take, by what is allocated: counted, not timed."""

from __future__ import annotations

import io
import os
import tracemalloc
import zipfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from federation_fixtures import Federation

from unpooled.formats import table
from unpooled.methods.shared.summary import POOL, VARIANTS
from unpooled.panel.panel import Panel
from unpooled_server.models import RowFile, Study
from unpooled_server.services import results
from unpooled_server.services.tables import tables
from unpooled_server.storage import store
from unpooled_server.storage.archives import BLOCK, zipped

CHUNK = 4_000
FEW, MANY = 60_000, 160_000
FILES = ("assoc", "adjusted", "glm", "ssf", "frq")


def panel_of(variants: int) -> Panel:
    """Evenly on 20 chromosomes."""
    code, k = np.zeros(variants, np.uint32), np.arange(variants)
    return Panel(
        chromosome=(1 + k * 20 // variants).astype(np.uint8),
        position=(1 + k).astype(np.int32),
        ids=np.char.add(b"rs", k.astype("S8")),
        alleles=(b"A", b"G"),
        first=code,
        second=code + 1,
    )


def rows_of(start: int, stop: int) -> dict[str, np.ndarray]:
    """Made-up result rows of a linear regression."""
    random = np.random.default_rng(start)
    size = stop - start
    return {
        "variant": np.arange(start, stop, dtype=np.uint32),
        "n": np.full(size, 300, np.int32),
        "freedom": np.full(size, 298, np.int32),
        "code": np.zeros(size, np.uint8),
        "beta": random.normal(size=(size, 1)),
        "se": np.ones((size, 1)),
        "neg_log10_p": random.exponential(size=(size, 1)),
        "a1_freq": random.uniform(0.1, 0.5, size),
        "first_is_a1": np.ones(size, bool),
        **{name: np.full(size, 100, np.int32) for name in ("founder_a1", "founder_a2")},
    }


def keep(study: Study, of: str, columns: dict[str, np.ndarray]) -> None:
    name = store.keep_rows(study.pk, columns)
    RowFile.objects.create(study=study, name=name, table=of, columns=list(columns))


def at_its_end(federation: Callable[..., Federation], variants: int) -> Study:
    """A study that has all its rows; those of a chunk came in two rounds."""
    trial = federation(test="linear", trait="quantitative", files=FILES)
    trial.running()
    study: Study = trial.study
    panel = panel_of(variants)
    store.PanelDraft.write(store.made_folder(study.pk), [panel], [])
    Study.objects.filter(pk=study.pk).update(panel_digest=panel.digest.hex(), panel_size=variants)
    keep(study, POOL, {"variant": np.zeros(1, np.uint32), "people": np.array([300])})
    for start in range(0, variants, CHUNK):
        columns = rows_of(start, start + CHUNK)
        for half in range(2):
            part = {name: column[half::2] for name, column in columns.items()}
            keep(study, VARIANTS, part)
    study.refresh_from_db()
    return study


def peak(call: Callable[[Any], None], study: Study) -> int:
    tracemalloc.start()
    try:
        call(study)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_results_are_never_in_memory_as_a_whole(
    federation: Callable[..., Federation], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytes for each variant more: what sorts them needs some columns of all, 50 bytes; all columns, 340."""
    # One file and one block after the other: what is side by side by chance makes a peak, whatever the size.
    monkeypatch.setattr(results, "WRITERS", 1)
    monkeypatch.setattr(table, "AT_ONCE", 1)
    first, few, many = (at_its_end(federation, variants) for variants in (CHUNK, FEW, MANY))
    results.finish(first)  # loads what is compiled
    grown = peak(results.finish, many) - peak(results.finish, few)
    assert grown < 100 * (MANY - FEW)


def test_rows_that_are_merged_lie_in_one_place_also_for_a_worker_that_comes_late(
    federation: Callable[..., Federation], monkeypatch: pytest.MonkeyPatch
) -> None:
    study = at_its_end(federation, 2 * CHUNK)
    merged = {name: dict(columns) for name, columns in tables(study).items()}
    assert merged[VARIANTS]["variant"].tolist() == list(range(2 * CHUNK))
    folder = store.merged_path(study.pk, VARIANTS)
    assert not list(folder.parent.glob("*.npy"))  # what came is gone
    away, load = folder.with_name("away"), store.load_rows
    folder.rename(away)

    def late(*of: Any) -> Any:
        """Load rows that another worker has just merged."""
        if away.exists():
            away.rename(folder)
        return load(*of)

    monkeypatch.setattr(store, "load_rows", late)
    again = tables(study)[VARIANTS]
    assert all((again[name] == column).all() for name, column in merged[VARIANTS].items())


FILE_BYTES = 40 * BLOCK
MADE = datetime(2026, 5, 17, 12, 30, 10)


def test_an_archive_has_every_byte_and_memory_a_few_blocks(tmp_path: Path) -> None:
    large, small = tmp_path / "a.assoc", tmp_path / "a.frq"
    large.write_bytes(os.urandom(BLOCK) * (FILE_BYTES // BLOCK))  # compresses not at all
    small.write_bytes(b"")
    kept, sizes = tmp_path / "kept.zip", []
    tracemalloc.start()
    with kept.open("wb") as out:
        for piece in zipped("a-results", [large, small], MADE, lambda path: path.open("rb")):
            sizes.append(len(piece))
            out.write(piece)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * BLOCK < FILE_BYTES and max(sizes) < 3 * BLOCK
    assert len(sizes) > FILE_BYTES // BLOCK
    archive = zipfile.ZipFile(kept)
    assert archive.testzip() is None
    assert archive.infolist()[0].date_time == (2026, 5, 17, 12, 30, 10)
    assert archive.read("a-results/a.assoc") == large.read_bytes() and archive.read("a-results/a.frq") == b""


def test_an_archive_of_no_files_is_one() -> None:
    archive = b"".join(zipped("x", [], MADE, lambda path: path.open("rb")))
    assert zipfile.ZipFile(io.BytesIO(archive)).namelist() == []
