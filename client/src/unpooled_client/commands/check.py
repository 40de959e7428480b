"""`unpooled-client check`: reads the files, sends nothing, and says what to fix.

What reads and judges them is imported when it is called: `--help` need not wait for it.
"""

from __future__ import annotations

import contextlib
import os
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unpooled_client.commands.data_flags import data_options, plan_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unpooled.plan.plan import Plan
    from unpooled.plan.schema import Column
    from unpooled_client.data.findings.report import Report
    from unpooled_client.data.imputed.pieces import Reading
    from unpooled_client.data.options import DataOptions
    from unpooled_client.data.thorough import Thorough

_TABLE = click.Path(path_type=Path, exists=True)
_FILE = click.Path(path_type=Path, dir_okay=False, exists=True)


@click.command()
@data_options
@plan_options
@click.option("--table", type=_TABLE, metavar="FILE", help="Check a table, CSV or Parquet, instead.")
@click.option("--schema", type=_FILE, metavar="FILE",
              help="CSV with lines such as name,type,unit of its columns.  [CSV: all numbers]")  # fmt: skip
@click.option("--state", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              help="Check for the study in this folder; files that pass are kept for review.")  # fmt: skip
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="The report as a page to keep, too.")  # fmt: skip
@click.option("--king-cutoff", type=click.FloatRange(0, 0.5, min_open=True), metavar="X",
              help="Tell of pairs with this kinship or more  [0.354: one person twice].")  # fmt: skip
@click.option("--read-freq", type=_FILE, metavar="FILE",
              help="Compare frequencies with a reference's .afreq or .frq.")  # fmt: skip
@click.option("--json", "to_json", is_flag=True, help="Findings and summary as JSON.")
@click.option("--progress", "lines", is_flag=True,
              help="Lines of JSON before the report: how much of each file is read.")  # fmt: skip
def check(
    to_json: bool,
    lines: bool,
    html: Path | None,
    schema: Path | None,
    state: Path | None,
    king_cutoff: float | None,
    read_freq: Path | None,
    **given: Any,
) -> None:
    """Check PLINK files, or a table, offline: everything that would stop a study, with file, line and remedy.

    Ends with status 1 if there are errors, with 0 otherwise. Nothing leaves this computer.
    """
    from unpooled_client.commands.screen import in_lines, progress
    from unpooled_client.data.cohort import open_cohort
    from unpooled_client.data.options import options_from
    from unpooled_client.data.thorough import Thorough, check_thoroughly

    options = options_from(given)
    if html is not None and options.reads(html):
        raise click.BadParameter(f"{html} is one of the data files", param_hint="--html")
    thorough = Thorough(king_cutoff, read_freq)
    with in_lines() if lines else progress() as hear:
        if state is not None:
            report = _check_for_study(state, options, thorough, hear)
        elif options.table is None:
            data, report = open_cohort(options, hear)
            if data is not None:
                check_thoroughly(data, thorough, report)
        else:
            report = _check_table(options.table, schema, options)
    report.summary = {"files": _sizes(options)} | report.summary
    if html is not None:
        _write_page(report, html)
    _print(report, to_json=to_json)
    sys.exit(0 if report.ok else 1)


def _write_page(report: Report, html: Path) -> None:
    from unpooled.pages.page import encoded
    from unpooled_client.data.check_page import as_page
    from unpooled_client.state.files import write_atomically

    write_atomically(html, encoded(as_page(report, datetime.now())))


def _print(report: Report, *, to_json: bool) -> None:
    from unpooled_client.data.show import as_json, show

    if to_json:
        click.echo(as_json(report))
        return
    from rich.console import Console

    show(report, Console(file=sys.stdout))


def _sizes(options: DataOptions) -> dict[str, str]:
    """Return the files that were read, each with its size, as far as they exist."""
    from unpooled_client.state.fingerprint import stamp

    found = {}
    for name, path in options.paths.items():
        with contextlib.suppress(OSError):
            found[name] = f"{path.absolute()} ({stamp(path)[0]:,} bytes)"
    return found


def _check_for_study(state: Path, options: DataOptions, thorough: Thorough, reading: Reading) -> Report:
    from unpooled.protocol.sealing import grouped
    from unpooled_client.state.folder import StateFolder
    from unpooled_client.study.before_run import agreement_of, check_for_study

    folder = StateFolder(state)
    report = check_for_study(folder, options, os.cpu_count() or 1, thorough, reading)
    _, agreement = agreement_of(folder)
    about = {"name": agreement.study, "plan hash": grouped(agreement.plan.hash().hex())}
    report.summary = {"study": about} | report.summary
    return report


def _check_table(table: Path, schema: Path | None, options: DataOptions) -> Report:
    """Check a table as a study would, with the columns of the schema, or else with all columns as numbers."""
    from unpooled.plan.schema import schema_from_file
    from unpooled_client.data.findings.report import Report
    from unpooled_client.data.tables import open_table, schema_of
    from unpooled_client.study.reading import open_under

    report = Report()
    if schema is not None:
        columns = schema_from_file(schema)
    elif (found := schema_of(table, report)) is not None:
        columns = found
    else:
        return report
    threads, plan = os.cpu_count() or 1, _of_a_model(columns, options)
    if plan is not None:
        return open_under(plan, options, threads)[1]
    open_table(table, columns, options.min_samples, report, threads)
    return report


def _of_a_model(schema: Sequence[Column], options: DataOptions) -> Plan | None:
    """The plan of a usual model of the schema's outcome, in the fewest cohorts; None if there can be none."""
    from unpooled.methods import completed
    from unpooled.methods.learning.models import IMAGE_NETWORK, LOGISTIC_MODEL, RIDGE
    from unpooled.plan.floors import MIN_SAMPLES
    from unpooled.plan.plan import NO_KEY, PlanError
    from unpooled.protocol.messages import MIN_COHORTS

    of_classes = IMAGE_NETWORK if any(column.is_image for column in schema) else LOGISTIC_MODEL
    try:
        return completed(
            {
                "test": of_classes if any(column.has_classes for column in schema) else RIDGE,
                "schema": [column.to_json() for column in schema],
                "cohorts": MIN_COHORTS,
                "min_samples": MIN_SAMPLES if options.min_samples is None else options.min_samples,
                "compensator_key": NO_KEY.hex(),
            }
        )
    except PlanError:
        return None
