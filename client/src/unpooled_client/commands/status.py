"""`unpooled-client status`: looking, without taking part."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from unpooled.protocol.sealing import fingerprint
from unpooled_client.commands.options import network_options, state_option
from unpooled_client.state import ledger as ledgers
from unpooled_client.state.files import StateError
from unpooled_client.state.folder import Saved, StateFolder, known_folders
from unpooled_client.state.ledger import LedgerError
from unpooled_client.state.stage import next_command
from unpooled_client.study import background


@click.command()
@state_option()
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.option("--offline", is_flag=True, help="Do not ask the server.")
@network_options(exists=False)
def status(folder: Path | None, as_json: bool, offline: bool, **network: Any) -> int:
    """Show where each study on this computer is: what the server says, and what is kept here."""
    found = [_status(each, offline, network) for each in joined(folder)]
    if as_json:
        click.echo(json.dumps(found, indent=2))
    else:
        click.echo("\n\n".join("\n".join(_status_lines(values)) for values in found))
    return 0


def joined(given: Path | None) -> list[StateFolder]:
    """The folder that is meant, or all; StateError if no study was joined."""
    found = known_folders() if given is None else [StateFolder(given)]
    if not any(folder.exists() for folder in found):
        raise StateError("no study was joined here yet. Start with: unpooled-client run INVITATION")
    return found


def _status(folder: StateFolder, offline: bool, network: dict[str, Any]) -> dict[str, Any]:
    saved, running = folder.load(), background.is_running(folder)
    return {
        "folder": str(folder.path),
        "study": saved.invitation.study,
        "name": saved.agreement.study if saved.agreement else "",
        "server": saved.invitation.server,
        "cohort": saved.cohort,
        "fingerprint": fingerprint(saved.public_key),
        "compensator": "" if saved.in_pairs else saved.invitation.compensator,
        "agreed": saved.agreement is not None,
        "released": saved.is_released,
        "results": saved.out if saved.delivered else None,
        "running": running,
        "problem": None if running or saved.problem is None else saved.problem.to_json(),
        "next": "" if running else next_command(saved, folder),
        "files": saved.options,
        "sent": _sent(folder),
        "from_server": None if offline else _ask(saved, network),
    }


def _sent(folder: StateFolder) -> dict[str, Any]:
    try:
        entries = list(ledgers.read(folder.ledger))
    except LedgerError as error:
        return {"problem": str(error)}
    return {"messages": len(entries), "bytes": sum(entry.bytes for entry in entries)}


def _ask(saved: Saved, given: dict[str, Any]) -> dict[str, Any]:
    from unpooled_client.network.api import Api, Network
    from unpooled_client.network.connection import ServerError

    try:
        with Api.looking(saved, Network(**given).or_saved(saved.network)) as api:
            study = api.study()
    except ServerError as error:
        return {"problem": str(error)}
    return {
        "name": study.name,
        "state": study.state,
        "reason": study.reason,
        "cohort_state": study.cohort_state,
        "waiting_for": list(study.waiting_for),
        "waits": list(study.waits),
        "results": [file.name for file in study.results],
    }


def _status_lines(values: dict[str, Any]) -> list[str]:
    server = values["from_server"] or {}
    rows = [
        (
            "Study",
            f"{server.get('name') or values['name']} ({values['study']}) at {values['server']}".lstrip(),
        ),
        ("Cohort", f"{values['cohort'] or 'not joined yet'}, key {values['fingerprint']}"),
        ("Plan and roster", "accepted" if values["agreed"] else "not accepted yet"),
        ("What leaves", "released" if values["released"] else "not released yet"),
        ("Client", "running" if values["running"] else "not running"),
    ]
    if "problem" in server:
        rows.append(("Server", server["problem"]))
    elif server:
        reason = f": {server['reason']}" if server["reason"] else ""
        rows.append(("State", f"{server['state']}{reason}"))
        rows.append(("This cohort", server["cohort_state"]))
        rows.append(("Waiting for", ", ".join(server["waits"]) or "nobody"))
        if server["results"]:
            rows.append(("Results", ", ".join(server["results"])))
    rows.append(("Sent", _sent_words(values["sent"])))
    rows.append(("Kept in", values["folder"]))
    if values["results"]:
        rows.append(("Results in", values["results"]))
    if problem := values["problem"]:
        rows += [("Problem", problem["message"]), ("Remedy", problem["remedy"])]
    if values["next"]:
        rows.append(("Next", values["next"]))
    return [f"{name:<16}{value}" for name, value in rows if value]


def _sent_words(sent: dict[str, Any]) -> str:
    if "problem" in sent:
        return f"the ledger was changed after it was written. {sent['problem']}"
    return f"{sent['bytes']:,} bytes in {sent['messages']:,} messages (unpooled-client ledger)"
