"""The command `unpooled-compensator`."""

from __future__ import annotations

import functools
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from unpooled.errors import UnpooledError
from unpooled.protocol.sealing import SealingKey
from unpooled.protocol.sealing import fingerprint as fingerprint_of
from unpooled_compensator import serving, state
from unpooled_compensator.app import create_app
from unpooled_compensator.service import Compensator

DEFAULT_PORT = 8470

_PATH = click.Path(path_type=Path)
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
_STATE = click.option("--state", "directory", type=_PATH, required=True, help="The state directory.")
_SECRET_FILE = click.option(
    "--caller-secret-file", "secret_file", type=_PATH, help="Holds the caller's secret; made if missing."
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="unpooled-compensator")
def main() -> None:
    """The compensator of an Unpooled study: adds masks it cannot interpret."""


@main.command()
@_STATE
@_SECRET_FILE
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=DEFAULT_PORT, show_default=True, type=click.IntRange(0, 65535))
@click.option("--fd", type=click.IntRange(0), help="An inherited socket that listens, instead of an address.")
@click.option("--known-keys", type=_FILE, help="Only cohorts with these signing keys may enrol.")
@click.option("--tls-certificate", type=_FILE, help="PEM; without it put a TLS proxy in front.")
@click.option("--tls-key", type=_FILE, help="PEM, the certificate's private key.")
@click.option("--metrics-secret-file", "metrics_file", type=_FILE, help="Who shows this reads /metrics.")
@click.option(
    "--log",
    "log_format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    envvar="UNPOOLED_LOG",
    help="The log in lines for people, or in JSON.",
)
def serve(
    directory: Path,
    secret_file: Path | None,
    host: str,
    port: int,
    fd: int | None,
    known_keys: Path | None,
    tls_certificate: Path | None,
    tls_key: Path | None,
    metrics_file: Path | None,
    log_format: str,
) -> None:
    """Run the service until it is told to stop."""
    if bool(tls_certificate) != bool(tls_key):
        raise click.UsageError("--tls-certificate and --tls-key go together.")
    serving.harden_process(log_format)
    with _problems_for_people():
        if known_keys is not None:
            state.known_keys(known_keys)  # a mistake in the list shows now, not at the first enrolment
        serving.check_tls(tls_certificate, tls_key)
        listener = serving.listen(host, port) if fd is None else serving.inherited(fd)
        metrics = state.secret_hash(metrics_file) if metrics_file else b""
        store, key = state.open_state(directory)
        # Last: a secret that was made is shown once, so nothing may fail after it.
        caller = state.caller_hash(directory, secret_file, _show_secret)
    click.echo(f"Compensator on {'https' if tls_key else 'http'}://{serving.authority(listener)}")
    _show_key(key)
    sys.stdout.flush()
    # The list is read at each enrolment, so that the operator can add to it while the service runs.
    known = functools.partial(state.known_keys, known_keys) if known_keys else None
    app = create_app(Compensator(store, key, known), caller, metrics)
    with _problems_for_people():
        serving.run(app, listener, tls_certificate, tls_key)
    store.close()


@main.command()
@_STATE
def fingerprint(directory: Path) -> None:
    """Print the key and its fingerprint."""
    with _problems_for_people():
        _show_key(state.read_key(directory))


@main.command("caller-secret")
@_STATE
@_SECRET_FILE
def caller_secret(directory: Path, secret_file: Path | None) -> None:
    """Make a new caller's secret; it counts from the next start on."""
    with _problems_for_people():
        state.read_key(directory)
        state.replace_caller_secret(directory, secret_file, _show_secret)


@contextmanager
def _problems_for_people() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise click.ClickException(f"{where}{error.strerror or error}") from None
    except (UnpooledError, sqlite3.Error) as error:
        raise click.ClickException(str(error)) from None


def _show_key(key: SealingKey) -> None:
    click.echo(f"Fingerprint: {fingerprint_of(key.public)}")


def _show_secret(secret: str) -> None:
    click.echo("The caller's secret, for the platform's settings. It is shown only once:")
    click.echo(secret)
