"""`unpooled-client window`."""

from __future__ import annotations

from pathlib import Path

import click

from unpooled_client import window as desktop
from unpooled_client.commands.options import state_option


@click.command()
@state_option("Open the study in this folder.")
def window(folder: Path | None) -> int:
    """Open the desktop window: the same steps as on the command line.

    Closing the window stops nothing that runs in the background.
    """
    return desktop.main(folder)
