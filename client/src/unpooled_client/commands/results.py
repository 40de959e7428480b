"""`unpooled-client results`: the results of a study that is done, and this cohort against the pool."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from unpooled_client.commands.cli import EXIT_CODES
from unpooled_client.commands.options import FOLDER, network_options, state_option
from unpooled_client.commands.run import state_folder
from unpooled_client.commands.screen import screen_for
from unpooled_client.network.api import Network
from unpooled_client.state.events import Compared, Event, Exit, Failed
from unpooled_client.study.engine import TOP, Engine


@click.command(epilog=EXIT_CODES)
@state_option()
@click.option("--out", type=FOLDER, metavar="DIR", help="Folder for the results.  [as before]")
@click.option("--top", type=click.IntRange(1), default=TOP, show_default=True, metavar="N",
              help="Variants to compare with the pool.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print every event as a line of JSON.")
@click.option("--quiet", is_flag=True, help="Print only what goes wrong.")
@network_options(exists=True)
def results(folder: Path | None, out: Path | None, top: int, **options: Any) -> int:
    """Fetch the results of a study that is done, and compare this cohort with the pool.

    Files that are there already are not fetched again. From the data files that were used, as long as nobody
    has changed them, own-against-pool.tsv and .html are made again: the study's strongest variants, or its
    columns, in the pool and in this cohort alone. They stay here. Names of files go to standard output.
    """
    network = Network(options["ca_bundle"], options["allow_http"])
    engine = Engine(state_folder(folder, None), out=out, network=network)
    code = Exit.DONE
    with screen_for(as_json=options["as_json"], quiet=options["quiet"]) as screen:
        for event in engine.results(top):
            screen.show(event)
            code = _exit_of(event, code)
    return int(code)


def _exit_of(event: Event, so_far: Exit) -> Exit:
    match event:
        case Failed():
            return event.exit
        case Compared(changed=True):
            return Exit.DATA
    return so_far
