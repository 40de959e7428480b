"""`unpooled-client columns`: which columns a file has, and what is in them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from unpooled_client.data.column_examples import Column, Columns, columns_of
from unpooled_client.data.findings.report import Report

_HEADS = ("number", "name", "type", "missing", "values", "hint")


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.option("--json", "to_json", is_flag=True, help="As JSON.")
def columns(file: Path, to_json: bool) -> None:
    """Print the columns of FILE with examples of what is in them.

    FILE has phenotypes or covariates, or is a table in CSV or Parquet. Its columns are numbered as --mpheno
    and --covar-number count them. Nothing leaves this computer.
    """
    found = columns_of(file, report := Report())
    if found is None:
        raise report.problem()
    if to_json:
        click.echo(json.dumps({"file": str(file), **found.to_json()}, indent=2))
    else:
        _show(found, Console(file=sys.stdout))


def _show(found: Columns, console: Console) -> None:
    """Show a table on a terminal, and elsewhere lines of tab-separated cells."""
    rows = [_HEADS, *map(_cells, found.columns)]
    if not console.is_terminal:
        console.file.write("".join("\t".join(row) + "\n" for row in rows))
        return
    table = Table(*_HEADS, box=None, title=f"{found.kind}, {found.rows:,} rows", title_justify="left")
    for row in rows[1:]:
        table.add_row(*map(Text, row))
    console.print(table)


def _cells(column: Column) -> tuple[str, ...]:
    values = ", ".join(column.values)
    return str(column.number), column.name, column.type, f"{column.missing:,}", values, column.hint
