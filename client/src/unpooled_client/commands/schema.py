"""`unpooled-client schema`: what a table's columns are, as a coordinator's plan and `--schema` take it."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import click

from unpooled_client.data.report import Report
from unpooled_client.data.tables import schema_of


@click.command()
@click.argument("table", type=click.Path(path_type=Path, dir_okay=False, exists=True))
def schema(table: Path) -> None:
    """Print the columns of TABLE, CSV or Parquet, as lines name,type,unit.

    A column is text if any of its cells is neither a number nor missing. Look it over, and add the units: it
    becomes part of the study's plan, and every cohort's table is checked against it.
    """
    columns = schema_of(table, report := Report(), guess=True)
    if columns is None:
        raise report.problem()
    lines = csv.writer(sys.stdout, lineterminator="\n")
    lines.writerow(("name", "type", "unit"))
    lines.writerows((column.title, column.type, column.unit) for column in columns)
