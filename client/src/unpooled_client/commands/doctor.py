"""`unpooled-client doctor`: looks at this computer and the way to the server, and says what to fix."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
from pathlib import Path
from urllib.parse import urlsplit

import click

from unpooled.protocol.invitation import is_address
from unpooled_client.commands.options import FOLDER, network_options, state_option
from unpooled_client.commands.run import invitation_argument
from unpooled_client.network.api import Network
from unpooled_client.network.doctor import Finding, Mark, Subject, examine
from unpooled_client.state.files import StateError
from unpooled_client.state.folder import Saved, StateFolder, known_folders
from unpooled_client.study.invitation import invitation_from

_SIGNS = {Mark.GOOD: "✓", Mark.WARNING: "!", Mark.PROBLEM: "✗"}
_PLAIN_SIGNS = {Mark.GOOD: "+", Mark.WARNING: "!", Mark.PROBLEM: "x"}
"""Signs for a terminal that lacks the others."""
_COLOURS = {Mark.GOOD: "green", Mark.WARNING: "yellow", Mark.PROBLEM: "red"}


@click.command()
@invitation_argument
@click.option("--server", metavar="URL", help="The server's address, if there is no invitation yet.")
@state_option("Folder of a study that was joined.  [the only one]")
@click.option("--out", type=FOLDER, default=Path(), metavar="DIR", help="Folder for results.  [this folder]")
@network_options(exists=False)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def doctor(
    invitation: str | None,
    server: str | None,
    folder: Path | None,
    out: Path,
    ca_bundle: Path | None,
    allow_http: bool,
    as_json: bool,
) -> int:
    """Look at this computer and at the way to the server: one line each, with what to do about it.

    INVITATION is the string from the coordinator, a file that holds it, or - to type it; only its address is
    used. None of your data is read or sent. Ends with status 1 if something must be fixed.
    """
    joined = _joined(folder) if not (server or invitation) else None
    saved = _state_of(joined)
    if server:
        address = _address(server)
    elif invitation:
        address = invitation_from(invitation).server
    else:
        address = saved.invitation.server if saved else ""
    network = Network(ca_bundle, allow_http).or_saved(saved.network if saved else {})
    found = examine(Subject(out, address, joined, network.ca_bundle, network.allow_http))
    click.echo(_json(found, address) if as_json else _text(found, address))
    return int(any(finding.mark is Mark.PROBLEM for finding in found))


def _joined(given: Path | None) -> StateFolder | None:
    """The study that is meant, if one is: as given, or the only one."""
    if given is not None:
        return StateFolder(given)
    known = known_folders()
    return known[0] if len(known) == 1 else None


def _state_of(joined: StateFolder | None) -> Saved | None:
    try:
        return joined.load() if joined else None
    except StateError:  # which the check of the folder tells
        return None


def _address(text: str) -> str:
    with contextlib.suppress(ValueError):
        parts = urlsplit(text if "://" in text else f"https://{text}")
        address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        if is_address(address):
            return address
    raise click.UsageError("--server needs an address such as https://studies.example.org")


def _json(found: list[Finding], address: str) -> str:
    ok = not any(finding.mark is Mark.PROBLEM for finding in found)
    values = {"ok": ok, "server": address or None, "findings": [dataclasses.asdict(f) for f in found]}
    return json.dumps(values, indent=2)


def _text(found: list[Finding], address: str) -> str:
    lines = [_line(finding) for finding in found]
    if not address:
        lines.append("The way to the server was not tested: give INVITATION, --server URL or --state DIR.")
    return "\n".join(lines)


def _line(finding: Finding) -> str:
    sign = click.style(_signs()[finding.mark], fg=_COLOURS[finding.mark])
    text = f"{finding.text}. {finding.remedy}" if finding.remedy else finding.text
    return f"{sign} {finding.what:<13}{text}"


def _signs() -> dict[Mark, str]:
    try:
        "".join(_SIGNS.values()).encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return _PLAIN_SIGNS
    return _SIGNS
