"""`unpooled-client completion`: what a shell needs to complete commands, options and file names."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from unpooled_client import PROGRAM
from unpooled_client.commands.cli import COMPLETE_VARIABLE, cli

_INSTALL = {
    "bash": f"echo 'eval \"$({PROGRAM} completion bash)\"' >> ~/.bashrc",
    "zsh": f"echo 'eval \"$({PROGRAM} completion zsh)\"' >> ~/.zshrc",
    "fish": f"{PROGRAM} completion fish > ~/.config/fish/completions/{PROGRAM}.fish",
}


@click.command()
@click.argument("shell", type=click.Choice(list(_INSTALL)))
def completion(shell: str) -> int:
    """Print what lets a shell complete commands, options and file names; its first line installs it."""
    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"this version of click knows nothing of {shell}")
    click.echo(f"# To have it in every new shell: {_INSTALL[shell]}")
    click.echo(found(cli, {}, PROGRAM, COMPLETE_VARIABLE).source())
    return 0
