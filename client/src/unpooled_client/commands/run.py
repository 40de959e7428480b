"""`unpooled-client join` and `unpooled-client run`: the engine, driven by a person or a program."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from unpooled.protocol.invitation import Invitation
from unpooled_client.commands.cli import EXIT_CODES
from unpooled_client.commands.data_flags import data_options
from unpooled_client.commands.options import FOLDER, network_options, state_option, together
from unpooled_client.commands.screen import Screen, screen_for
from unpooled_client.data.options import DataOptions, options_from
from unpooled_client.network.api import Network
from unpooled_client.sentences import sentences
from unpooled_client.state.events import Event, Exit, Failed, Finished, ReleaseNeeded, ReviewNeeded
from unpooled_client.state.files import StateError
from unpooled_client.state.folder import StateFolder, current_folders, folder_of
from unpooled_client.state.stage import in_a_line, next_command
from unpooled_client.study import background
from unpooled_client.study.answering import MOST_THREADS
from unpooled_client.study.engine import Engine, Until
from unpooled_client.study.invitation import invitation_from

_TABLE = click.Path(path_type=Path, exists=True)
_FILE = click.Path(path_type=Path, dir_okay=False, exists=True)

_engine_options = together(
    state_option("Folder for keys, seed and ledger of this study.  [one per study in your profile]"),
    click.option("--json", "as_json", is_flag=True, help="Print every event as a line of JSON."),
    click.option("--quiet", is_flag=True, help="Print only what goes wrong."),
    network_options(exists=True),
    click.option(
        "--check-update",
        is_flag=True,
        envvar="UNPOOLED_CHECK_UPDATE",
        help="Ask the study's server, and no other, whether there is a newer release of this client.",
    ),
    click.option(
        "--join-anew",
        is_flag=True,
        help="This cohort's earlier state is lost: join with a new key. All cohorts accept again; after the "
        "first released sum it ends the study.",
    ),
)


def _cores() -> int:
    return min(os.cpu_count() or 1, MOST_THREADS)


def _files(context: click.Context, option: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    return [CompletionItem(incomplete, type="file")]


invitation_argument = click.argument("invitation", required=False, shell_complete=_files)
"""The string, or a file that holds it, or - for standard input: see `study/invitation.py`."""

few_apart_option = click.option(
    "--few-apart",
    is_flag=True,
    help="You know from which earlier study few people differ, and what that tells: release it all the same.",
)
_YES = click.option(
    "--yes", is_flag=True, help="Accept what would be asked, but nothing that has changed since. For scripts."
)


@click.command(epilog=EXIT_CODES)
@invitation_argument
@click.option("--wait", is_flag=True, help="Wait until all have joined, and accept the plan and the roster.")
@_YES
@_engine_options
def join(invitation: str | None, wait: bool, yes: bool, **options: Any) -> int:
    """Join a study: INVITATION is the string from its coordinator, a file that holds it, or - to type it.

    Makes this cohort's signing key and shows its fingerprint, and what the study asks for. No data file is
    read. Continue with `unpooled-client run`, with or without the same INVITATION.
    """
    engine = _engine(invitation, options, until=Until.AGREED if wait else Until.JOINED)
    code = _follow(engine, _screen(options), yes=yes)
    if code == Exit.DONE and not (wait or options["as_json"] or options["quiet"]):
        click.echo(f"Continue with: {next_command(engine.folder.load(), engine.folder)}", err=True)
    return code


@click.command(epilog=EXIT_CODES)
@invitation_argument
@data_options
@click.option("--table", type=_TABLE, metavar="FILE", help="A table, CSV or Parquet, in a study of tables.")
@click.option(
    "--out",
    type=FOLDER,
    metavar="DIR",
    help="Folder for the results.  [NAME-results, by the plan's file name]",
)
@_YES
@few_apart_option
@click.option("--detach", is_flag=True, help="Run in the background: you may close this terminal.")
@click.option("--threads", type=click.IntRange(1), default=_cores, metavar="N",
              help=f"Questions computed at once.  [all cores, {MOST_THREADS} at most]")  # fmt: skip
@click.option(
    "--dask",
    metavar="ADDRESS",
    help="Compute at the workers of your own Dask cluster: the address of its scheduler.",
)
@_engine_options
def run(invitation: str | None, yes: bool, detach: bool, **options: Any) -> int:
    """Take part in a study until its results are here.

    INVITATION is the string from the coordinator, or a file that holds it; leave it out to continue with a
    study that was joined before. It shows the plan and who takes part, and asks before it opens any data
    file; then it shows what will leave this computer, and asks before anything does. It does not ask again
    about what you have accepted. Stop it and start it again at any time: it picks up where it left off.
    """
    more = {name: options.pop(name) for name in ("out", "threads", "dask", "few_apart")}
    data = options_from(options)
    if data.table is not None and more["dask"]:
        raise click.UsageError("--dask is for genotypes: a table is computed here")
    given = data if data.prefix or data.bed or data.table else None
    engine = _engine(invitation, options, data=given, **more)
    if given is None and data != DataOptions():
        raise click.UsageError("options about data files go with the files: --bfile PREFIX or --table FILE")
    if detach:
        return _detach(engine, invitation, yes=yes)
    return _follow(engine, _screen(options), yes=yes)


def _detach(engine: Engine, invitation: str | None, *, yes: bool) -> int:
    """Begin the same command in the background, if nobody will be asked.

    The invitation is kept with the state before: a command line is shown to all accounts of a computer.
    """
    folder = engine.folder
    if not yes and not (folder.exists() and folder.load().is_released):
        raise click.UsageError(
            "in the background there is nobody to ask. First accept the plan (unpooled-client join --wait), "
            "check the files (unpooled-client check --state DIR …) and release what leaves "
            "(unpooled-client review), or give --yes."
        )
    engine.keep_invitation()
    # The invitation is in the state by now; as an argument all accounts would see it.
    left_out = ("--detach", "--json", "--quiet", invitation)
    arguments = [word for word in sys.argv[1:] if word not in left_out]
    pid = background.start(folder, [*arguments, "--quiet", "--state", str(folder.path)])
    click.echo(f"The run goes on in the background, as process {pid}. Look with: unpooled-client status")
    return int(Exit.DONE)


def _engine(
    invitation: str | None, options: dict[str, Any], *, data: DataOptions | None = None, **more: Any
) -> Engine:
    found = invitation_from(invitation) if invitation else None
    network = Network(options["ca_bundle"], options["allow_http"])
    folder = state_folder(options["folder"], found)
    more |= {name: options[name] for name in ("join_anew", "check_update")}
    return Engine(folder, invitation=found, options=data, network=network, **more)


def state_folder(given: Path | None, invitation: Invitation | None) -> StateFolder:
    """The folder that is meant: as given, the invitation's, or the only one; StateError if unclear."""
    if given is not None:
        return StateFolder(given)
    if invitation is not None:
        return folder_of(invitation)
    found = current_folders()
    if len(found) == 1:
        return found[0]
    if not found:
        raise StateError("no study was joined here yet. Start with: unpooled-client run INVITATION")
    raise StateError(
        "\n".join(["several studies were joined here. Say which, by its folder:", *_listed(found)])
    )


def _listed(folders: Iterable[StateFolder]) -> Iterator[str]:
    """Two lines for each study: what it is, and how to choose it."""
    for folder in folders:
        try:
            told = in_a_line(folder.load())
        except StateError as error:
            told = str(error)
        yield from (f"  {told}", f"      {folder.as_option}")


def _screen(options: dict[str, Any]) -> Screen:
    return screen_for(as_json=options["as_json"], quiet=options["quiet"])


def _follow(engine: Engine, screen: Screen, *, yes: bool) -> int:
    """Show the events of a run, and ask where it needs an answer; the exit status."""
    code = Exit.DONE
    with screen:
        for event in engine.run():
            screen.show(event)
            if isinstance(event, ReviewNeeded | ReleaseNeeded):
                _answer(engine, event, screen, yes=yes)
            code = _exit_of(event, code)
    return int(code)


def _answer(engine: Engine, asked: ReviewNeeded | ReleaseNeeded, screen: Screen, *, yes: bool) -> None:
    if yes:
        engine.accept_unseen(asked)
        return
    if isinstance(asked, ReviewNeeded):
        answer = screen.ask("Accept this plan and this roster?")
    else:
        everything = "\n".join(sentences.leaves(asked.leaves))
        all_the_same = " all the same" if asked.few_apart else ""
        answer = screen.ask(f"Release it{all_the_same}: may this leave your computer?", everything)
    if answer is None:
        engine.leave_unanswered()
    elif answer:
        engine.accept(asked)
    else:
        engine.decline()


def _exit_of(event: Event, so_far: Exit) -> Exit:
    match event:
        case Failed():
            return event.exit
        case Finished():
            return Exit.DONE
    return so_far
