"""This cohort's own table, normalized with the parameters of the pool: written beside it, and never sent."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path

from unpooled.plan import Plan
from unpooled.scaler import Scaler
from unpooled_client.api import ServerError
from unpooled_client.data.csv_table import MISSING, Lines, read_features, read_lines, text_of
from unpooled_client.data.options import DataOptions
from unpooled_client.data.report import Report
from unpooled_client.events import Event, Transformed
from unpooled_client.reading import guard
from unpooled_client.session import Session
from unpooled_client.state import write_atomically

PARAMETERS = "study.parameters.json"


def transform(
    session: Session, plan: Plan, options: DataOptions, folder: Path
) -> Generator[Event, None, None]:
    """Write the normalized table, of the parameters that were delivered into `folder`.

    Raises DataChanged if the table is no longer the one that was accepted.
    """
    guard(session.saved.files, options.paths)
    scaler = Scaler.from_file(folder / PARAMETERS)
    if list(scaler.feature_names_in_) != [feature.title for feature in plan.features]:
        raise ServerError(
            f"{PARAMETERS} has other features than the plan.",
            "Nothing was written. Tell the server's operator.",
        )
    yield Transformed(str((yield from session.wait_for(write_beside, options.paths["table"], plan, scaler))))


def write_beside(table: Path, plan: Plan, scaler: Scaler) -> Path:
    """Write `table` with normalized features as NAME.METHOD.csv into its folder; the path of that file.

    Rows, columns and their order stay, and so does every cell of a text column and every missing value.
    """
    report = Report()
    lines = read_lines(table, report)
    values = None if lines is None else read_features(lines, plan.schema, table, report)
    if lines is None or values is None:
        raise report.problem()
    target = table.with_name(f"{table.stem}.{plan.test}.csv")
    scaled = scaler.transform(values)
    places = [lines.header.index(feature.title) for feature in plan.features]
    write_atomically(target, text_of(lines.header, _normalized(lines, places, scaled.tolist())))
    return target


def _normalized(lines: Lines, places: list[int], scaled: list[list[float]]) -> Iterator[list[str]]:
    for row, numbers in zip(lines.rows, scaled, strict=True):
        cells = list(row)
        for place, number in zip(places, numbers, strict=True):
            if cells[place].strip() not in MISSING:
                cells[place] = repr(number)
        yield cells
