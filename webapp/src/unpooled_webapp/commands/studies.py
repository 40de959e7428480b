"""`unpooled studies create`: a study from a plan's file, such as Python's `unpooled.federate` saves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click
import httpx

from unpooled.errors import UnpooledError
from unpooled_webapp.rehearsal.coordinator import Coordinator

EXISTING = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group()
def studies() -> None:
    """Create a study at a platform, with a token of its API."""


@studies.command()
@click.argument("plan", type=EXISTING)
@click.option("--at", "address", required=True, metavar="URL", help="The platform's address.")
@click.option(
    "--token",
    "token_file",
    type=EXISTING,
    required=True,
    help="File with an API token that may change studies.",
)
@click.option("--name", help="What the study is called.  [the file's name]")
@click.option(
    "--cohort", "cohorts", multiple=True, metavar="NAME", help="Invite it; its invitation is printed."
)
def create(plan: Path, address: str, token_file: Path, name: str | None, cohorts: Sequence[str]) -> None:
    """Create a study by the PLAN, a file of JSON, and invite its cohorts.

    Under your name in the browser, API tokens, you create the token. It is read from a file, since other
    users of this machine see the words of a command.
    """
    try:
        fields = json.loads(plan.read_text(encoding="utf-8"))
    except ValueError as error:
        raise click.BadParameter(f"{plan} is not JSON: {error}", param_hint="PLAN") from error
    coordinator = Coordinator.by_token(address, token_file.read_text(encoding="utf-8").strip())
    try:
        study = coordinator.create_study({"name": name or plan.stem, "plan": fields})["id"]
        click.echo(f"{address.rstrip('/')}/studies/{study}")
        for cohort in cohorts:
            click.echo(f"{cohort}\t{coordinator.invite(study, cohort)}")
    except httpx.TransportError as error:
        raise UnpooledError(
            f"{address} cannot be reached: {error}. Look at the address and the network."
        ) from error
