"""The command `unpooled`. A subcommand is imported when it is called, so that each starts fast and alone."""

from __future__ import annotations

import importlib
import os

import click

from unpooled.errors import UnpooledError

COMMANDS = {
    "up": "Run the platform on this machine: web application, worker, database.",
    "demo": "Run a whole study with three generated cohorts, and look at it.",
    "rehearse": "Run a whole federation on this machine with your files.",
    "studies": "Create a study at a platform from a plan's file.",
    "simulate": "Generate cohorts.",
    "worker": "Do the platform's work without a broker.",
    "administrator": "Make somebody an administrator of the platform.",
    "genome": "Show other genes, or recombination rates, in pictures of results.",
    "audit": "Print who changed what on the platform.",
    "preflight": "Say what stands in the way of an upgrade.",
    "backup": "Write all that the platform has into one file.",
    "restore": "Put such a file into an empty platform.",
    "manage": "Run one of Django's own commands, e.g. `manage migrate`.",
}


class _Lazy(click.Group):
    """Knows its subcommands' names and lines of help without importing them."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"unpooled_webapp.commands.{name}")
        command: click.Command = getattr(module, name)
        return command

    def invoke(self, context: click.Context) -> object:
        try:
            return super().invoke(context)
        except UnpooledError as error:  # its text says what, where and what to do: no traceback
            raise click.ClickException(str(error)) from error
        except Exception as error:
            # The database's errors are known by their module: importing it would take as long as all else.
            if isinstance(error, OSError) or type(error).__module__ == "django.db.utils":
                raise click.ClickException(_outside(error)) from error
            raise

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _outside(error: Exception) -> str:
    """Explain, for people, an error of a disk or a database."""
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}. Look at the path, its permissions and the disk."
    said = str(error).strip().partition("\n")[0]
    if "no such table" in said or "does not exist" in said:
        return f"the database is not set up ({said}). Run `unpooled manage migrate`, or start `unpooled up`."
    return f"the database cannot be used: {said}. Look at UNPOOLED_DATABASE_URL and UNPOOLED_HOME."


@click.command(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="unpooled-webapp", prog_name="unpooled")
def main() -> None:
    """Pooled results without pooled data."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "unpooled_webapp.settings")
