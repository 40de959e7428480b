"""This cohort's own table, normalized or encoded by what the study found: written beside it, never sent."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from pathlib import Path

import numpy as np

from unpooled.asking.cohort import ArrayTable
from unpooled.described.file_list import report_name
from unpooled.fitted.encoder import Encoder
from unpooled.fitted.scaler import Scaler
from unpooled.methods.tables.encoding.options import FOLDS
from unpooled.plan.plan import Plan
from unpooled.plan.result_files import ENCODING_FILE, PARAMETERS_FILE
from unpooled.plan.schema import Column
from unpooled_client.data.findings.report import Report
from unpooled_client.data.options import DataOptions
from unpooled_client.data.tables import read_features, write_normalized
from unpooled_client.data.tables.encoded import suffix_of, write_encoded
from unpooled_client.network.connection import ServerError
from unpooled_client.state.events import Event
from unpooled_client.state.folder import StateFolder
from unpooled_client.study.delivery import write_beside
from unpooled_client.study.reading import opened
from unpooled_client.study.session import Session
from unpooled_client.study.word_codes import as_in_dictionary


def normalize(
    session: Session, plan: Plan, options: DataOptions, folder: Path, data: ArrayTable | None
) -> Generator[Event, None, None]:
    """Write the normalized table, by the parameters that were delivered into `folder`.

    `data` are the features as this run has read them, if it has.
    """
    file = folder / report_name(PARAMETERS_FILE, plan)
    scaler, table = Scaler.from_file(file), options.paths["table"]
    _require_same(file, "features", scaler.feature_names_in_, plan.features)
    values = None if data is None else data.values
    target, made = beside(table, plan), (table, plan, scaler, values, session.threads)
    yield from write_beside(session, options, target, "normalized table", normalize_to, *made)


def encode(
    session: Session, plan: Plan, options: DataOptions, folder: Path, table: ArrayTable | None
) -> Generator[Event, None, None]:
    """Write the encoded table, by the dictionaries that were delivered into `folder`.

    `table` is as this run has read it, if it has.
    """
    file = folder / report_name(ENCODING_FILE, plan)
    encoder, path = Encoder.from_file(file), options.paths["table"]
    _require_same(file, "columns", encoder.feature_names_in_, plan.categories)
    target = beside(path, plan).with_suffix(suffix_of(path, encoder))
    made = options, plan, encoder, table, session.threads, session.folder
    yield from write_beside(session, options, target, "encoded table", encode_to, *made)


def _require_same(file: Path, what: str, found: Iterable[str], wanted: Sequence[Column]) -> None:
    if list(found) != [column.title for column in wanted]:
        raise ServerError(
            f"{file.name} has other {what} than the plan.", "Nothing was written. Tell the server's operator."
        )


def beside(table: Path, plan: Plan) -> Path:
    """The place of the new table: in the folder of `table`, as NAME.METHOD and its suffix."""
    return table.with_name(f"{table.stem}.{plan.test}{table.suffix}")


def normalize_to(
    target: Path, table: Path, plan: Plan, scaler: Scaler, values: np.ndarray | None = None, threads: int = 1
) -> None:
    """Write `table` with normalized features to `target`. Raises DataProblem if the table cannot be read."""
    if values is None:
        values = read_features(table, plan.schema, report := Report(), threads)
        if values is None:
            raise report.problem()
    write_normalized(table, target, plan.schema, values, scaler, threads)


def encode_to(
    target: Path,
    options: DataOptions,
    plan: Plan,
    encoder: Encoder,
    table: ArrayTable | None = None,
    threads: int = 1,
    state: StateFolder | None = None,
) -> None:
    """Write the table of `options`, encoded, to `target`. Raises DataProblem if it cannot be read.

    `state` has the codes of the words, where the dictionary has only those.
    """
    if table is None:
        table = opened(ArrayTable, plan, options, threads)
    if state is not None:
        table = as_in_dictionary(state, table, plan)
    folds = table.categories.folds if FOLDS.of(plan) > 1 else None
    write_encoded(options.paths["table"], target, plan.schema, table.words, encoder, folds)
