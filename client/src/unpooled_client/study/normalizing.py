"""This cohort's own table, normalized with the parameters of the pool: written beside it, and never sent."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import numpy as np

from unpooled.asking.cohort import ArrayTable
from unpooled.described.file_list import report_name
from unpooled.fitted.scaler import Scaler
from unpooled.plan.plan import PARAMETERS_FILE, Plan
from unpooled_client.data.findings.report import Report
from unpooled_client.data.options import DataOptions
from unpooled_client.data.tables import read_features, write_normalized
from unpooled_client.network.connection import ServerError
from unpooled_client.state.events import Event, Transformed
from unpooled_client.state.written import Written
from unpooled_client.study.reading import guard
from unpooled_client.study.session import Session


def transform(
    session: Session, plan: Plan, options: DataOptions, folder: Path, data: ArrayTable | None
) -> Generator[Event, None, None]:
    """Write the normalized table, of the parameters that were delivered into `folder`.

    `data` are the features as this run has read them, if it has. Raises DataChanged if the table is no
    longer the one that was accepted, and NotOurs if a file of other origin stands in the new one's place.
    """
    guard(session.saved.files, options.paths)
    parameters = folder / report_name(PARAMETERS_FILE, plan)
    scaler = Scaler.from_file(parameters)
    if list(scaler.feature_names_in_) != [feature.title for feature in plan.features]:
        raise ServerError(
            f"{parameters.name} has other features than the plan.",
            "Nothing was written. Tell the server's operator.",
        )
    table = options.paths["table"]
    target = beside(table, plan)
    values = None if data is None else data.values
    with Written(session.folder, "Move it away and start again.").draft(target, of_people=True) as part:
        yield from session.wait_for(write_to, part, table, plan, scaler, values, session.threads)
    yield Transformed(str(target), "normalized table")


def beside(table: Path, plan: Plan) -> Path:
    """The place of the normalized table: in the folder of `table`, as NAME.METHOD and its suffix."""
    return table.with_name(f"{table.stem}.{plan.test}{table.suffix}")


def write_to(
    target: Path, table: Path, plan: Plan, scaler: Scaler, values: np.ndarray | None = None, threads: int = 1
) -> None:
    """Write `table` with normalized features to `target`. Raises DataProblem if the table cannot be read."""
    if values is None:
        values = read_features(table, plan.schema, report := Report(), threads)
        if values is None:
            raise report.problem()
    write_normalized(table, target, plan.schema, values, scaler, threads)
