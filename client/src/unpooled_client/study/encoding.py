"""This cohort's own table, encoded by the dictionaries of the pool: written beside it, and never sent."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

from unpooled.asking.cohort import ArrayTable
from unpooled.described.file_list import report_name
from unpooled.fitted.encoder import Encoder
from unpooled.methods.tables.encoding.options import FOLDS
from unpooled.plan.plan import ENCODING_FILE, Plan
from unpooled_client.data.options import DataOptions
from unpooled_client.data.tables.encoded import suffix_of, write_encoded
from unpooled_client.network.connection import ServerError
from unpooled_client.state.events import Event, Transformed
from unpooled_client.state.folder import StateFolder
from unpooled_client.state.written import Written
from unpooled_client.study.normalizing import beside
from unpooled_client.study.reading import guard, open_under
from unpooled_client.study.session import Session
from unpooled_client.study.word_codes import as_in_dictionary


def encode(
    session: Session, plan: Plan, options: DataOptions, folder: Path, table: ArrayTable | None
) -> Generator[Event, None, None]:
    """Write the encoded table, by the dictionaries that were delivered into `folder`.

    `table` is as this run has read it, if it has. Raises DataChanged if it is no longer the one that was
    accepted, and NotOurs if a file of other origin stands in the new one's place.
    """
    guard(session.saved.files, options.paths)
    encoding = folder / report_name(ENCODING_FILE, plan)
    encoder = Encoder.from_file(encoding)
    if list(encoder.feature_names_in_) != [column.title for column in plan.categories]:
        raise ServerError(
            f"{encoding.name} has other columns than the plan.",
            "Nothing was written. Tell the server's operator.",
        )
    path = options.paths["table"]
    target = beside(path, plan).with_suffix(suffix_of(path, encoder))
    with Written(session.folder, "Move it away and start again.").draft(target, of_people=True) as part:
        yield from session.wait_for(
            write_to, part, options, plan, encoder, table, session.threads, session.folder
        )
    yield Transformed(str(target), "encoded table")


def write_to(
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
        found, report = open_under(plan, options, threads)
        if not isinstance(found, ArrayTable):
            raise report.problem()
        table = found
    if state is not None:
        table = as_in_dictionary(state, table, plan)
    folds = table.categories.folds if FOLDS.of(plan) > 1 else None
    write_encoded(options.paths["table"], target, plan.schema, table.words, encoder, folds)
