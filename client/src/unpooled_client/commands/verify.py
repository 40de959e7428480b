"""`unpooled-client verify`: whether results are those of this cohort's own run of the study."""

from __future__ import annotations

from pathlib import Path

import click

from unpooled_client.commands.cli import EXIT_CODES
from unpooled_client.commands.options import state_option
from unpooled_client.commands.run import state_folder
from unpooled_client.state.events import Exit
from unpooled_client.study.verifying import Differs, Verified
from unpooled_client.study.verifying import verify as verified


@click.command(epilog=EXIT_CODES)
@state_option()
def verify(folder: Path | None) -> int:
    """Verify that the results rest on what this cohort answered, and on the sums that it was told.

    The manifest of the results says what each round asked, and which sum was found. Both must be those of
    this cohort's own run of the study, as its book has them, and the files must be those that the manifest
    names. What the server makes of sums that it tells nobody is not verified. Nothing leaves this computer.
    """
    state = state_folder(folder, None)
    try:
        with state.locked():
            found = verified(state)
    except Differs as error:
        click.echo(f"Error: {error}", err=True)
        return int(Exit.REFUSED)
    click.echo("\n".join(_lines(found)))
    return int(Exit.DONE)


def _lines(found: Verified) -> list[str]:
    untold = found.rounds - found.told
    return [
        f"{found.manifest}: of this study, and of the plan and the roster that were accepted here.",
        f"Rounds that asked what this cohort's own run of the study asked: {found.rounds:,}, which is all.",
        f"Sums that were told to this cohort, verified, and are in the manifest: {found.told:,}.",
        *([f"Sums that were not told to it: {untold:,}. {_UNTOLD}"] if untold else []),
        f"Files that the manifest names and that are as it has them: {', '.join(found.files)}.",
        f"SHA-256 of the manifest: {found.sha256}. Every other cohort must have the same.",
    ]


_UNTOLD = (
    "No later question follows from them; what the server made of them in the results is not verified here."
)
