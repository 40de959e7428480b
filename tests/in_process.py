"""A study of `unpooled rehearse` in this process: the clients' readers, the codec and the masks, the writers.

What lies between the parties is left out: HTTP, database, processes. tests/wire holds both ways side by side.
"""

from __future__ import annotations

import functools
import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import click
import numpy as np

from unpooled.asking.cohort import ArrayTable, Cohort, Table
from unpooled.described.file_list import metadata_name, methods_name, remarks_name, report_name
from unpooled.described.methods_section import Run, methods
from unpooled.errors import UnpooledError
from unpooled.fitted.encoder import Encoder
from unpooled.fitted.scaler import Scaler
from unpooled.formats import ssf
from unpooled.methods import algorithm, completed
from unpooled.methods.phenotypes import tables_of
from unpooled.methods.shared.summary import Summary
from unpooled.methods.tables.encoding.coding import as_codes, coded
from unpooled.methods.tables.encoding.options import OWN, SPELLED
from unpooled.panel.agreement import Agreement, absences
from unpooled.panel.panel import Panel
from unpooled.plan.common_options import FILE_STEM
from unpooled.plan.file_names import stem_of
from unpooled.plan.plan import NO_KEY, Plan
from unpooled.plan.result_files import DENSITY_FILE, ENCODING_FILE, LOADINGS_FILE, PARAMETERS_FILE, SCORE_FILE
from unpooled.run import present, reports, run
from unpooled_client.commands.run import run as of_client
from unpooled_client.data.cohort import PlinkData
from unpooled_client.data.options import DataOptions, options_from
from unpooled_client.data.tables.encoded import suffix_of
from unpooled_client.federation import agreed, beside
from unpooled_client.study import own_table, scoring
from unpooled_client.study.failures import explain
from unpooled_client.study.reading import Alignments, DataRefused, ListedCohort, open_under
from unpooled_server.services import lists
from unpooled_webapp.rehearsal import Rehearsal, RehearsalError, Settings
from unpooled_webapp.rehearsal.federation import REMEDY, name_data_files, place_of
from unpooled_webapp.rehearsal.screen import Screen

NOBODY = Panel.of([])
Tables = dict[str, dict[str, np.ndarray]]


@dataclass(frozen=True, eq=False)
class Party:
    """A cohort, with its files as its client has read them."""

    name: str
    options: DataOptions
    data: PlinkData | ArrayTable


@dataclass(frozen=True, eq=False)
class Results:
    """A study that was run: its plan in full, the panel and what is told of it, and the result tables."""

    plan: Plan
    panel: Panel
    remarks: Sequence[bytes]
    tables: Tables
    parties: Sequence[Party]

    @functools.cached_property
    def each(self) -> list[tuple[Plan, Tables]]:
        """The plan and the tables of each phenotype."""
        return [(plan, tables_of(self.plan, self.tables, plan.phenotype)) for plan in self.plan.each]

    @functools.cached_property
    def summaries(self) -> list[Summary]:
        """One for each phenotype; none of a study of tables."""
        found = (algorithm(plan.test).summarise(tables) for plan, tables in self.each)
        return [each for each in found if each is not None]


def rehearse(settings: Settings, screen: Screen, key: bytes = NO_KEY) -> Rehearsal:
    """Run the study of a rehearsal, and write its files at `settings.out`; RehearsalError if it fails.

    `key` is the compensator's: it is in the plan, by whose hash people are drawn who are left out.
    """
    listed = _list(settings)
    results = run_study(_plan(settings, listed, key), settings.arguments, listed)
    with tempfile.TemporaryDirectory() as written:
        folder = Path(written)
        write(results, folder)
        made = sorted(folder.iterdir())
        files = [shutil.copy(path, place_of(settings.out, path.name)) for path in made]
        name_data_files(files)
        own = [file for party in results.parties for file in _own_files(party, results.plan, folder)]
    report = _report(results)
    (target := Path(f"{settings.out}.report.json")).write_text(json.dumps(report, indent=2) + "\n")
    return Rehearsal(report["study"], [*files, *own, target], report)


def run_study(plan: Plan, arguments: Sequence[Sequence[str]], listed: Panel | None = None) -> Results:
    """The study of cohorts whose clients are told these arguments, perhaps by a coordinator's list."""
    parties = [_party(f"cohort{k}", plan, words) for k, words in enumerate(arguments, start=1)]
    if plan.of_tables:
        tables = coded([cast(ArrayTable, party.data) for party in parties], plan)
        parties = [
            Party(p.name, p.options, cast(ArrayTable, t)) for p, t in zip(parties, tables, strict=True)
        ]
        return Results(plan, NOBODY, [], _run(plan, NOBODY, tables), parties)
    panel, remarks, aligned = _agreed(plan, parties, listed)
    return Results(plan, panel, remarks, _run(plan, panel, aligned), parties)


def _list(settings: Settings) -> Panel | None:
    """The coordinator's list, if there is one, as the server reads it."""
    path = settings.panel_list
    return lists.read(path.read_bytes(), settings.plan["autosomes"]) if path else None


def _plan(settings: Settings, listed: Panel | None, key: bytes) -> Plan:
    """The plan in full, as the server makes it of what the command asks for."""
    named = {FILE_STEM.name: stem_of(settings.out.name), "compensator_key": key.hex()}
    digest = {} if listed is None else {"panel_digest": listed.digest.hex()}
    return completed(json.loads(json.dumps({**settings.plan, **named, **digest})))


def _party(name: str, plan: Plan, arguments: Sequence[str]) -> Party:
    """A cohort's files as its client reads them; RehearsalError with what it says if it does not."""
    try:
        given = dict(of_client.make_context("run", list(arguments)).params)
    except click.UsageError as error:
        raise RehearsalError(f"{name} stopped:\n{error.format_message()}") from error
    options = options_from(given)
    data, report = open_under(plan, options, given["threads"])
    if data is None:
        raise _stopped(name, DataRefused(report, plan))
    return Party(name, options, data)


def _stopped(name: str, error: Exception) -> RehearsalError:
    found = explain(error)
    assert found is not None, error
    return RehearsalError(f"{name} stopped:\n{found.message} {found.remedy}")


def _agreed(
    plan: Plan, parties: Sequence[Party], listed: Panel | None
) -> tuple[Panel, Sequence[bytes], list[Cohort]]:
    """The panel that the cohorts agree on, what is told of it, and the cohorts beside it."""
    data = {party.name: cast(PlinkData, party.data) for party in parties}
    alignments = {name: Alignments(each, plan) for name, each in data.items()}
    if listed is None:
        agreement = _agreement(plan, data)
        panel, remarks = agreement.panel, [agreement.table()]
    else:
        for name, each in alignments.items():
            each.list, each.listed = listed, ListedCohort(data[name].align(listed))
        having = present(plan, len(listed), [cast(Cohort, each.listed) for each in alignments.values()])
        panel, remarks = listed.take(having == plan.cohorts), [*absences(listed, having, plan.cohorts)]
    return panel, remarks, [_beside(name, each, panel) for name, each in alignments.items()]


def _agreement(plan: Plan, data: dict[str, PlinkData]) -> Agreement:
    try:
        return agreed(plan, data)
    except UnpooledError as error:
        raise RehearsalError(f"{error} {REMEDY}") from error


def _beside(name: str, alignments: Alignments, panel: Panel) -> Cohort:
    try:
        return beside(alignments, panel)
    except UnpooledError as error:
        raise _stopped(name, error) from error


def _run(plan: Plan, panel: Panel, cohorts: Sequence[Cohort | Table]) -> Tables:
    try:
        return run(plan, panel, cohorts)
    except UnpooledError as error:
        raise RehearsalError(f"the study is failed: {error}") from error


def write(results: Results, folder: Path) -> None:
    """The result files under the names that a server gives them: all but the page and the manifest."""
    plan = results.plan
    for one, tables in results.each:
        if algorithm(one.test).table not in tables:
            raise RehearsalError("the study is failed: no variant passes the plan's filters")
        for file, report in reports(one, results.panel, tables).items():
            (folder / report_name(file, one)).write_bytes(report)
    for one, numbers in zip(plan.each, results.summaries, strict=False):  # of tables there are none
        if "ssf" in one.files:
            data = folder / report_name("ssf", one)
            md5 = hashlib.md5(data.read_bytes(), usedforsecurity=False).hexdigest()
            text = ssf.metadata(one, data_file=data.name, md5=md5, people=numbers, date=_today())
            (folder / metadata_name(one)).write_text(text)
    if not plan.of_tables:
        (folder / remarks_name(plan)).write_bytes(b"".join(results.remarks))
    (folder / methods_name(plan)).write_text(methods(plan, _about(results)))


def _about(results: Results) -> Run:
    return Run(
        cohorts=[party.name for party in results.parties],
        summaries=results.summaries,
        plan_hash=results.plan.hash().hex(),
        panel_size=len(results.panel),
        one_operator=True,  # of all parties of a rehearsal
        ended=_today(),
        software=f"unpooled {version('unpooled-core')}",
    )


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _report(results: Results) -> dict[str, Any]:
    """Return the contents of a study's `PREFIX.report.json`, but for seconds and bytes."""
    names = results.plan.phenotype_names
    summaries = [{"phenotype": name, **each} for name, each in zip(names, results.summaries, strict=False)]
    return {
        "study": "in process",
        "test": results.plan.test,
        "plan_hash": results.plan.hash().hex(),
        "unlike_pool": algorithm(results.plan.test).differs(results.plan),
        "cohorts": results.plan.cohorts,
        "variants": None if results.plan.of_tables else len(results.panel),
        "summary": next(iter(results.summaries), None),
        "summaries": summaries,
    }


def _own_files(party: Party, plan: Plan, folder: Path) -> Iterator[Path]:
    """Write the files that a cohort's client writes next to its data, from the result files in a folder."""
    options = party.options
    if SCORE_FILE in plan.files:
        scoring.write_to(target := Path(f"{options.prefix}.{plan.test}.tsv"), options, plan, folder)
        yield target
    if LOADINGS_FILE in plan.files:
        scoring.write_eigenvec(target := Path(f"{options.prefix}.eigenvec"), options, plan, folder)
        yield target
    if DENSITY_FILE in plan.files:
        scoring.draw_people(target := Path(f"{options.prefix}.eigenvec.html"), options, plan, folder)
        yield target
    if PARAMETERS_FILE in plan.files:
        table = options.paths["table"]
        scaler = Scaler.from_file(folder / report_name(PARAMETERS_FILE, plan))
        target = own_table.beside(table, plan)
        own_table.normalize_to(target, table, plan, scaler, cast(ArrayTable, party.data).values)
        yield target
    if ENCODING_FILE in plan.files:
        yield _encoded(options, plan, cast(ArrayTable, party.data), folder)


def _encoded(options: DataOptions, plan: Plan, data: ArrayTable, folder: Path) -> Path:
    table, encoder = options.paths["table"], Encoder.from_file(folder / report_name(ENCODING_FILE, plan))
    target = own_table.beside(table, plan).with_suffix(suffix_of(table, encoder))
    as_there = as_codes(data, plan) if plan.searched and SPELLED.of(plan) == OWN else data
    own_table.encode_to(target, options, plan, encoder, as_there)
    return target
