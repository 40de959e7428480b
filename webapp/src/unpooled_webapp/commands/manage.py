"""`unpooled manage`: Django's own commands, for operators."""

from __future__ import annotations

import click


@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def manage(arguments: tuple[str, ...]) -> None:
    """Run one of Django's commands."""
    from django.core.management import execute_from_command_line

    execute_from_command_line(["unpooled manage", *arguments])
