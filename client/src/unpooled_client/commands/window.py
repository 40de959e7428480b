"""`unpooled-client window`."""

from __future__ import annotations

from pathlib import Path

import click

from unpooled_client import window as desktop


@click.command()
@click.option(
    "--state",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="UNPOOLED_STATE",
    metavar="DIR",
    help="Open the study in this folder.",
)
def window(state: Path | None) -> int:
    """Open the desktop window: the same steps as on the command line.

    Closing the window stops nothing that runs in the background.
    """
    return desktop.main(state)
