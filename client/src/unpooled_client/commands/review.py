"""`unpooled-client review`: what will leave this computer, and its release. Offline."""

from __future__ import annotations

import json
import sys
from datetime import datetime
from pathlib import Path

import click

from unpooled.pages.page import encoded
from unpooled_client.commands.cli import EXIT_CODES
from unpooled_client.commands.options import state_option
from unpooled_client.commands.run import few_apart_option, state_folder
from unpooled_client.data.options import DataOptions
from unpooled_client.sentences import review as words
from unpooled_client.sentences import sentences
from unpooled_client.state.events import Exit
from unpooled_client.state.files import write_atomically
from unpooled_client.state.folder import Agreement, Saved, StateFolder
from unpooled_client.study import before_run


@click.command(epilog=EXIT_CODES)
@state_option()
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Also keep the review as a page, for the ethics file.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.option(
    "--release", "wanted", is_flag=True, help="Release it without asking: from then on it may leave."
)
@few_apart_option
def review(folder: Path | None, html: Path | None, as_json: bool, wanted: bool, few_apart: bool) -> int:
    """Show what will leave this computer under the plan that you accepted, from the files that were checked.

    At a terminal you are asked whether it may leave; with --release you say so. Nothing computed from your
    data is sent before that. This command sends nothing; continue with `unpooled-client run`.
    """
    place = state_folder(folder, None)
    saved, agreement = before_run.checked(place)
    if html is not None and DataOptions.from_json(saved.options).reads(html):
        raise click.BadParameter(f"{html} is one of the data files", param_hint="--html")
    if wanted and not saved.is_released:
        saved = before_run.release(place, saved, few_apart=few_apart)
    _show(saved, agreement, as_json=as_json)
    if not saved.is_released and not as_json:
        saved = _ask(place, saved)
    if html is not None:
        write_atomically(html, encoded(words.review_page(saved, agreement, datetime.now())))
        click.echo(f"Kept in {html}", err=True)
    return int(Exit.DONE)


def _show(saved: Saved, agreement: Agreement, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(words.as_json(saved, agreement), indent=2))
        return
    rows = agreement.leaves(saved.sizes)
    told = [*sentences.few_apart(saved.few_apart), *sentences.summary(rows, saved.sizes)]
    click.echo("\n".join([*told, *sentences.leaves(rows)]))
    if saved.is_released:
        click.echo("This is released. Continue with: unpooled-client run")


def _question(saved: Saved) -> str:
    all_the_same = " all the same" if saved.few_apart else ""
    return f"Release this{all_the_same}: may it leave this computer?"


def _ask(place: StateFolder, saved: Saved) -> Saved:
    """Have the person at the terminal decide; where there is none, say how to release."""
    if not sys.stdin.isatty():
        click.echo(
            f"Nothing is released yet. To release it: unpooled-client review --release {place.as_option}"
        )
    elif click.confirm(_question(saved), default=False, err=True):
        saved = before_run.release(place, saved, few_apart=True)
        click.echo(f"Released. Continue with: unpooled-client run {place.as_option}")
    else:
        click.echo("Not released: nothing of your data leaves this computer.")
    return saved
