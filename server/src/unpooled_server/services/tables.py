"""Result tables: from many row files to columns on disk, which no memory need hold."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from unpooled.asking.question import Arrays
from unpooled.asking.result_columns import joined
from unpooled.memory.allocator import give_back_what_is_free
from unpooled_server.models import RowFile, Study
from unpooled_server.storage import store
from unpooled_server.storage.columns import Columns, add_rows, begin_column
from unpooled_server.storage.files import whole_file


def tables(study: Study) -> dict[str, Columns]:
    """The result tables so far, each sorted by its first column. What makes rows of one must have ended.

    Writers of files, pictures and the API all read these columns. Rows are merged once, and then lie in them
    alone.
    """
    rows = RowFile.objects.filter(study=study).order_by("table", "pk")
    return {name: _merged(name, list(some)) for name, some in groupby(rows, lambda file: file.table)}


def _merged(table: str, files: Sequence[RowFile]) -> Columns:
    study = files[0].study_id
    folder = store.merged_path(study, table)
    if not folder.is_dir():
        give_back_what_is_free()  # of the lists of variants
        draft = store.merged_path(study, secrets.token_hex(8))
        try:
            _merge(map(_Part.of, files), draft)
            store.take_folder(draft, folder)
        except store.LostFile:
            # Another worker, which a sweep has set to the same work, was faster, and has deleted the rows.
            if not folder.is_dir():
                raise
        store.drop_merged(study, (file.name for file in files))
        give_back_what_is_free()  # behind the many small columns of the files
    return Columns(folder, files[0].columns)


@dataclass(frozen=True)
class _Part:
    """A row file: from which index to which it has rows, how many, and its columns without any."""

    file: RowFile
    first: int
    last: int
    rows: int
    empty: Arrays

    @classmethod
    def of(cls, file: RowFile) -> _Part:
        found = _load(file)
        index = next(iter(found.values()))
        first, last = (int(index.min()), int(index.max())) if len(index) else (-1, -1)
        return cls(file, first, last, len(index), {name: column[:0].copy() for name, column in found.items()})


def _load(file: RowFile) -> Arrays:
    path = store.rows_path(file.study_id, file.name)
    return store.load_rows(path, file.table, file.columns).columns


def _merge(found: Iterable[_Part], folder: Path) -> None:
    """Sort the rows of a table into columns, in pieces that lie behind one another."""
    parts = sorted(found, key=lambda part: part.first)
    empty = joined([part.empty for part in parts])  # has the types that all parts fit into
    with ExitStack() as stack:
        outs = {name: stack.enter_context(whole_file(folder / f"{name}.npy")) for name in empty}
        for name, out in outs.items():
            begin_column(out, sum(part.rows for part in parts), empty[name])
        for group in _groups(parts):
            rows = joined([_load(part.file) for part in group])
            for name, out in outs.items():
                add_rows(out, rows[name].astype(empty[name].dtype, copy=False))


def _groups(parts: list[_Part]) -> Iterator[list[_Part]]:
    """Parts whose rows lie between one another, as those of one chunk do, together; sorted as they are."""
    group: list[_Part] = []
    for part in parts:
        if group and part.first > max(other.last for other in group):
            yield group
            group = []
        group.append(part)
    yield group
