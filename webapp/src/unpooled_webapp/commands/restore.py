"""`unpooled restore`: a platform from the file that `unpooled backup` wrote."""

from __future__ import annotations

from pathlib import Path

import click

from unpooled_webapp.commands.backup import FILE, progress, set_up, tell_of_running


@click.command()
@click.argument("source", metavar="FILE", type=FILE)
@click.option("--check", is_flag=True, help="Read FILE to its end, and write nothing.")
def restore(source: Path, check: bool) -> None:
    """Put FILE, written by `unpooled backup`, into an empty home folder and an empty database."""
    set_up()
    from unpooled_webapp.operating import backup as archive

    with progress("Reading", archive.bytes_in(source)) as done:
        manifest = archive.read(source, done)
    if not check:
        with progress("Restoring", archive.bytes_in(source)) as done:
            archive.restore(source, done)
    click.echo(
        f"{source}, of {manifest.made_at}, release {manifest.release}: {manifest.studies:,} studies "
        + ("could be restored." if check else "are restored. Start the platform.")
    )
    tell_of_running(manifest.running)
