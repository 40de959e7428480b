"""`unpooled backup`: the platform in one file."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import click

FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("target", metavar="FILE", type=FILE)
def backup(target: Path) -> None:
    """Write database and home folder into FILE, which is new, and read it once more.

    The platform may run. Whoever has FILE has what the platform has: sums, results, and the digests of tokens
    and passwords.
    """
    set_up()
    from unpooled_webapp.operating import backup as archive

    with progress("Writing", archive.size()) as done:
        archive.make(target, done)
    with progress("Reading it again", archive.bytes_in(target)) as done:
        manifest = archive.read(target, done)
    click.echo(
        f"{target}: {manifest.studies:,} studies, {len(manifest.files):,} files, release {manifest.release}"
    )
    tell_of_running(manifest.running)


def set_up() -> None:
    import django

    os.umask(0o077)
    django.setup()


@contextlib.contextmanager
def progress(what: str, length: int) -> Iterator[Callable[[int], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(what, total=length)
        yield lambda count: bars.advance(task, count)


def tell_of_running(names: list[str]) -> None:
    if names:
        click.echo(
            f"Running or paused when it was written: {', '.join(names)}. Unless nothing has happened "
            "since, a restore ends them, and they can be repeated."
        )
