"""`unpooled-client schema`: what tables' columns are, as a coordinator's plan and `--schema` take it."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import click

from unpooled.plan.schema import as_csv
from unpooled_client.data.draft import draft
from unpooled_client.data.findings.report import Report


@click.command()
@click.argument("tables", nargs=-1, required=True, metavar="TABLE…",
                type=click.Path(path_type=Path, dir_okay=False, exists=True))  # fmt: skip
def schema(tables: tuple[Path, ...]) -> None:
    """Print the columns of some TABLEs, CSV or Parquet, as lines name,type,unit,role,encoding,values.

    Numbers, and true and false, are features; so are columns of a few words. What has many words is text, and
    no feature. One column is proposed as the patient, and one as the outcome. Where tables disagree, and what
    is left out, is said beside the lines. Look them over, and add the units: the schema becomes part of the
    study's plan, and every cohort's table is checked against it.
    """
    found = draft(tables, report := Report())
    if found is None:
        raise report.problem()
    columns, remarks = found
    csv.writer(sys.stdout, lineterminator="\n").writerows(as_csv(columns))
    for remark in remarks:
        click.echo(remark, err=True)
