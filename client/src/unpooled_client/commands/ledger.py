"""`unpooled-client ledger`: everything that left this computer, and the proof that no line was changed."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unpooled_client.commands.cli import EXIT_CODES
from unpooled_client.commands.options import network_options, state_option
from unpooled_client.commands.status import joined
from unpooled_client.state import ledger as ledgers
from unpooled_client.state.events import Exit
from unpooled_client.state.folder import StateFolder
from unpooled_client.state.ledger import Entry, LedgerError

if TYPE_CHECKING:
    from unpooled_client.network.answers import Counted


@click.command(epilog=EXIT_CODES)
@click.argument("what", type=click.Choice(["show", "verify"]), default="show")
@state_option()
@click.option("--json", "as_json", is_flag=True, help="As JSON: a line for each message, or with verify one.")
@click.option("--server", is_flag=True, help="With verify: compare with what the server counted.")
@network_options(exists=False)
def ledger(what: str, folder: Path | None, as_json: bool, server: bool, **network: Any) -> int:
    """Everything that has left this computer: when, what, how large, in which form, and to whom.

    `ledger verify` proves that no line was changed or removed since it was written, and has the totals.
    Bytes are those of the messages, without the HTTP headers, which contain this cohort's token. What is
    sent again because an answer was lost is the same bytes and has one line. Fails if the ledger is damaged.
    """
    if server and what != "verify":
        raise click.UsageError("--server goes with verify: unpooled-client ledger verify --server")
    code = Exit.DONE
    for each in joined(folder):
        try:
            entries = list(ledgers.read(each.ledger))
        except LedgerError as error:
            code = Exit.REFUSED
            _tell_damage(each, error, as_json=as_json)
            continue
        if what == "show":
            _show(each, entries, as_json=as_json)
        else:
            _verify(each, entries, _ask(each, network) if server else None, as_json=as_json)
    return int(code)


def _tell_damage(folder: StateFolder, error: LedgerError, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"ledger": str(folder.ledger), "whole": False, "problem": str(error)}))
    click.echo(f"Error: the ledger was changed after it was written. {error}", err=True)


def _show(folder: StateFolder, entries: list[Entry], *, as_json: bool) -> None:
    if as_json:
        for entry in entries:
            click.echo(json.dumps(dataclasses.asdict(entry)))
        return
    rows = [
        f"{entry.time[:19]:<20}{entry.bytes:>14,}  {entry.form:<9} {entry.to:<20} {entry.quantity}"
        + (f" (round {entry.round})" if entry.round is not None else "")
        for entry in entries
    ]
    head = f"{'TIME (UTC)':<20}{'BYTES':>14}  {'FORM':<9} {'TO':<20} QUANTITY"
    click.echo("\n".join([str(folder.ledger), head, *rows, _sum(entries)]))


def _verify(
    folder: StateFolder, entries: list[Entry], counted: Counted | str | None, *, as_json: bool
) -> None:
    if as_json:
        found = {
            "ledger": str(folder.ledger),
            "whole": True,
            "messages": len(entries),
            "bytes": _bytes(entries),
            "totals": [dataclasses.asdict(total) for total in ledgers.totals(entries)],
            "server": _server_json(entries, counted),
        }
        click.echo(json.dumps(found))
        return
    rows = [
        f"{total.bytes:>14,}{total.messages:>10,}  {total.form:<9} {total.to:<20} {total.quantity}"
        for total in ledgers.totals(entries)
    ]
    head = f"{'BYTES':>14}{'MESSAGES':>10}  {'FORM':<9} {'TO':<20} QUANTITY"
    server = [_server_words(entries, counted)] if counted is not None else []
    click.echo("\n".join([str(folder.ledger), head, *rows, _sum(entries), *server]))


def _ask(folder: StateFolder, given: dict[str, Any]) -> Counted | str:
    """Return the server's counts, or the reason why there are none."""
    from unpooled_client.network.api import Api, Network
    from unpooled_client.network.connection import ServerError

    saved = folder.load()
    try:
        with Api.looking(saved, Network(**given).or_saved(saved.network)) as api:
            return api.counted()
    except ServerError as error:
        return str(error)


def _server_json(entries: Sequence[Entry], counted: Counted | str | None) -> dict[str, Any] | None:
    if counted is None or isinstance(counted, str):
        return None if counted is None else {"problem": counted}
    return {**dataclasses.asdict(counted), "same": _is_same(entries, counted)}


def _server_words(entries: Sequence[Entry], counted: Counted | str) -> str:
    if isinstance(counted, str):
        return f"The server was not asked: {counted}"
    numbers = f"{counted.bytes:,} bytes in {counted.messages:,} messages"
    if _is_same(entries, counted):
        return f"The server counted the same: {numbers}"
    return (
        f"The server counted differently: {numbers}. It counts more if an answer was lost and the same was "
        "sent again, and less if a message did not arrive"
    )


def _is_same(entries: Sequence[Entry], counted: Counted) -> bool:
    return (counted.messages, counted.bytes) == (len(entries), _bytes(entries))


def _bytes(entries: Sequence[Entry]) -> int:
    return sum(entry.bytes for entry in entries)


def _sum(entries: Sequence[Entry]) -> str:
    return f"{_bytes(entries):,} bytes in {len(entries):,} messages; no line was changed or removed"
