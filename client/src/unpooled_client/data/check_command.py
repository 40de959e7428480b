"""`unpooled-client check`: reads the files, sends nothing, and says what to mend."""

from __future__ import annotations

import sys
from typing import Any

import click
from rich.console import Console

from unpooled_client.data.cohort import open_cohort
from unpooled_client.data.options import data_options, options_from, plan_options
from unpooled_client.data.show import as_json, show


@click.command()
@data_options
@plan_options
@click.option("--json", "to_json", is_flag=True, help="Findings and summary as JSON.")
def check(to_json: bool, **given: Any) -> None:
    """Check PLINK files offline: everything that would stop a study, with file, line and remedy.

    Ends with status 1 if there are errors, with 0 otherwise. Nothing leaves this computer.
    """
    _, report = open_cohort(options_from(given))
    if to_json:
        click.echo(as_json(report))
    else:
        show(report, Console(file=sys.stdout))
    sys.exit(0 if report.ok else 1)
