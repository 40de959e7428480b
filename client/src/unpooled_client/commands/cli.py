"""The command `unpooled-client`: a face of the engine. Each command is loaded only when it is called."""

from __future__ import annotations

import difflib
import gc
import importlib
import io
import os
import sys
import traceback

import click
from click.shell_completion import CompletionItem

from unpooled.errors import DataProblem, UnpooledError
from unpooled.memory.allocator import share_one_heap
from unpooled_client import PROGRAM

COMPLETE_VARIABLE = "_UNPOOLED_CLIENT_COMPLETE"
"""Environment variable through which a shell requests completions; click derives it from the program's name.
"""

_COMMANDS = {
    "check": "Check data files offline; sends nothing.",
    "columns": "The columns of a file, and what is in them.",
    "schema": "The schema of a table, to start a plan from.",
    "join": "Join a study with an invitation, and see who asks for what.",
    "review": "Review what will leave this computer, and release it.",
    "run": "Take part in a study until its results are here.",
    "status": "Where the study is, and who it is waiting for.",
    "results": "The results of a study that is done, and this cohort against the pool.",
    "verify": "Whether results are those of this cohort's own run of the study.",
    "pictures": "Genomic inflation and loci of a study that is done.",
    "refit": "One model from the sums of several studies.",
    "doctor": "What is wrong with this computer, or on the way to the server.",
    "ledger": "Everything that has left this computer.",
    "completion": "Have your shell complete commands, options and file names.",
    "window": "The same steps in a desktop window.",
}

EXIT_CODES = """\b
Exit status:
  0  done
  1  a problem with this cohort's data
  2  a problem with the command, or nobody to ask
  3  refused: by the server, by this client's own checks, or by you
  4  the study was aborted, or it failed
  5  interrupted: the same command continues
  6  this program failed
  7  this computer: its disk is full, a file cannot be written, or memory is short"""


def _module_of(command: str) -> str:
    """Name the module of a command: that of its own name, except that `join` shares one with `run`."""
    return f"unpooled_client.commands.{'run' if command == 'join' else command}"


class _Lazy(click.Group):
    """Commands by name and short help; their modules are imported when they run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(_module_of(cmd_name)), cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _COMMANDS and (near := difflib.get_close_matches(args[0], _COMMANDS, 1)):
            ctx.fail(f"No such command {args[0]!r}. Did you mean {near[0]}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        names = (name for name in _COMMANDS if name.startswith(incomplete))
        commands = [CompletionItem(name, help=_COMMANDS[name]) for name in names]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]  # a group's loads them all


@click.group(cls=_Lazy, epilog=EXIT_CODES)
@click.version_option(package_name="unpooled-client", prog_name=PROGRAM)
def cli() -> None:
    """A cohort's side of a federated study: your data stay on this computer.

    Start with `unpooled-client check --bfile PREFIX`, then `unpooled-client run INVITATION --bfile PREFIX`.
    """


def main() -> None:
    """Run a command; errors become one message with its remedy, and an exit status that means something."""
    share_one_heap()
    for stream in (sys.stdout, sys.stderr):  # a terminal that lacks a character is no reason to fail
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = cli.main(prog_name=PROGRAM, standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("Stopped. The same command picks up where this one left off.", err=True)
        code = 5
    except UnpooledError as error:
        click.echo(f"Error: {error}", err=True)
        code = 1 if isinstance(error, DataProblem) else 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing more can be printed
        code = 5
    except (OSError, MemoryError) as error:
        from unpooled_client.study.failures import explain

        if (found := explain(error)) is None:
            raise
        click.echo(f"Error: {found.message} {found.remedy}", err=True)
        code = int(found.exit)
    except Exception:
        traceback.print_exc()
        click.echo("This program failed. Please report the lines above to its makers.", err=True)
        code = 6
    gc.freeze()  # else Python looks through all objects, several times, before it ends
    sys.exit(code if isinstance(code, int) else 0)
