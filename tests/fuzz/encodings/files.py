"""The cohorts' tables as files, CSV and Parquet; through the client's own reader and writer."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from unpooled.asking.cohort import ArrayTable
from unpooled.fitted.encoder import Encoder
from unpooled.methods.tables.encoding.coding import as_codes
from unpooled.methods.tables.encoding.options import FOLDS, SPELLED
from unpooled.plan.plan import Plan
from unpooled_client.data.options import DataOptions
from unpooled_client.data.tables.encoded import suffix_of, write_encoded
from unpooled_client.study.own_table import beside, encode_to
from unpooled_client.study.reading import open_under

from ..tables.files import INDEX, WORDS, RefusedFile, write_columns
from .federation import Federation

Columns = dict[str, list[str | float | None]]


def write(federation: Federation, k: int, folder: Path) -> Path:
    """A cohort's table as a file."""
    cohort, plan = federation.cohorts[k], federation.plan
    random = np.random.default_rng(cohort.form)
    values = iter(cohort.values.T)
    columns: dict[str, np.ndarray] = {
        column.title: next(values)
        if column.is_number
        else np.array(cohort.cells[column.title], object)
        if column.is_category
        else random.choice(WORDS, len(cohort))
        for column in plan.schema
    }
    columns = {title: columns[title] for title in random.permutation(list(columns)).tolist()}
    write_columns(random, path := folder / f"cohort {k}{cohort.suffix}", columns)
    return path


def read(plan: Plan, path: Path) -> ArrayTable:
    """Through the client; RefusedFile if it refuses it."""
    table, report = open_under(plan, DataOptions(table=path), 1)
    if not isinstance(table, ArrayTable):
        raise RefusedFile(str(report.problem()))
    return table


def encoded(plan: Plan, path: Path, encoder: Encoder, table: ArrayTable, *, is_known: bool) -> Path:
    """Write the encoded file that the client writes next to a table's. `table`, with codes if it has any;
    `is_known`: not read again.
    """
    target = beside(path, plan).with_suffix(suffix_of(path, encoder))
    if plan.searched and SPELLED.of(plan) == "own":
        folds = table.categories.folds if FOLDS.of(plan) > 1 else None
        write_encoded(path, target, plan.schema, as_codes(table, plan).words, encoder, folds)
    else:
        encode_to(target, DataOptions(table=path), plan, encoder, table if is_known else None)
    return target


def columns_of(path: Path) -> Columns:
    """A file as others read it: of CSV all is text."""
    if path.suffix == ".parquet":
        found = pq.read_table(path)
        return {name: found.column(name).to_pylist() for name in found.column_names if name != INDEX}
    with path.open(encoding="utf-8-sig", newline="") as file:
        header, *rows = csv.reader(file)
    rows = [row or [""] for row in rows if row or len(header) == 1]
    return {title: [row[place] for row in rows] for place, title in enumerate(header)}


def numbers(columns: Mapping[str, list[str | float | None]], titles: list[str]) -> np.ndarray:
    """Some columns of a file, float64 (rows, titles)."""
    return np.column_stack(
        [[np.nan if cell in (None, "") else float(cell) for cell in columns[title]] for title in titles]  # type: ignore[arg-type]
    )


def write_schema(plan: Plan, folder: Path) -> None:
    """The schema as a file, and beside it the values of each column that lists them."""
    with (folder / "schema.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["name", "type", "encoding", "values"])
        for k, column in enumerate(plan.schema):
            values = str(column.most) if column.most else f"levels=values{k}.txt" if column.levels else ""
            writer.writerow([column.title, column.type, column.encoding, values])
            if column.levels:
                (folder / f"values{k}.txt").write_text("\n".join(column.levels), encoding="utf-8")
