"""The options that several commands share: which study is meant, and how its server is reached."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., Any])

FOLDER = click.Path(path_type=Path, file_okay=False)


def together(*options: Callable[[_Command], _Command]) -> Callable[[_Command], _Command]:
    """Add several options to a command, which lists them in this order."""

    def add(command: _Command) -> _Command:
        for option in reversed(options):  # a decorator that comes later is listed first
            command = option(command)
        return command

    return add


def state_option(text: str = "Folder of the study's state.") -> Callable[[_Command], _Command]:
    """`--state`, the parameter `folder`; `text` is its help."""
    return click.option("--state", "folder", type=FOLDER, envvar="UNPOOLED_STATE", metavar="DIR", help=text)


def network_options(*, exists: bool) -> Callable[[_Command], _Command]:
    """`--ca-bundle` and `--allow-http`; `exists`: refuse a file of certificates that is not there."""
    bundle = click.option(
        "--ca-bundle",
        type=click.Path(path_type=Path, dir_okay=False, exists=exists),
        envvar="UNPOOLED_CA_BUNDLE",
        metavar="FILE",
        help="Certificates to trust (PEM), for networks that inspect TLS.",
    )
    plain = click.option(
        "--allow-http", is_flag=True, envvar="UNPOOLED_ALLOW_HTTP", help="Use a server without https."
    )
    return together(bundle, plain)
