"""`unpooled up`: the platform on this machine, as processes that are kept running."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from urllib.error import URLError
from urllib.request import urlopen

import click

from unpooled_webapp import environment
from unpooled_webapp.demonstration import folder_in
from unpooled_webapp.processes import Child, patience

START_SECONDS = 60.0
# The processes of a platform that was killed hold its port for a moment longer.
PORT_SECONDS = 3.0
LOOPBACK = "127.0.0.1"
ADMINISTRATOR = "admin"
FAIL_RUNNING = "--fail-running"
FAIL_RUNNING_HELP = (
    "End studies under way that another release began, which this one cannot finish: they fail."
)


@click.command()
@click.option("--host", default=LOOPBACK, show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 takes a free one."
)
@click.option("--home", type=click.Path(path_type=Path, file_okay=False), help="Folder of all data.")
@click.option("--with-compensator", is_flag=True, help="Run a compensator too: such studies are not blind.")
@click.option(
    "--workers", type=click.IntRange(1, 64), default=2, show_default=True, help="Threads of the worker."
)
@click.option("--known-keys", type=click.Path(path_type=Path), help="Passed on to the compensator.")
@click.option(
    "--demo/--no-demo",
    "with_demo",
    default=None,
    help="Let coordinators run a study over generated cohorts on this machine.  [on at a loopback address "
    "without UNPOOLED_PUBLIC_URL]",
)
@click.option(FAIL_RUNNING, is_flag=True, help=FAIL_RUNNING_HELP)
def up(
    host: str,
    port: int,
    home: Path | None,
    with_compensator: bool,
    workers: int,
    known_keys: Path | None,
    with_demo: bool | None,
    fail_running: bool,
) -> None:
    """Run the platform on this machine: web application, worker, and SQLite unless told otherwise.

    Ends with Ctrl-C. Everything is kept in one folder, ~/.unpooled unless told otherwise.
    """
    os.umask(0o077)  # tokens' hashes, sessions and masked shares are nobody else's to read
    if home is not None:
        os.environ["UNPOOLED_HOME"] = str(home.absolute())
    _allow(host)
    folder = environment.home()
    listener = _listen(host, port)
    address = _address(host, listener)
    _permit_demo(address, _is_for_others(host), with_demo)
    children = []
    if with_compensator:
        children.append(_compensator(folder, known_keys))
    token = _prepare_database(fail_running)
    children += [_web(listener), _worker(workers)]
    _Platform(children, folder, address, _is_for_others(host)).run(token)


def _is_for_others(host: str) -> bool:
    return host not in (LOOPBACK, "localhost", "::1")


def _permit_demo(address: str, is_for_others: bool, wanted: bool | None) -> None:
    """A demo's clients take this machine's time: where others work, only if its operator says so."""
    if wanted is None:
        wanted = not is_for_others and not environment.secret("UNPOOLED_PUBLIC_URL")
    if not wanted:
        os.environ.pop("UNPOOLED_DEMO_ADDRESS", None)
    elif not os.environ.get("UNPOOLED_DEMO_ADDRESS"):
        os.environ["UNPOOLED_DEMO_ADDRESS"] = address


def _allow(host: str) -> None:
    """Answer requests to the name that was asked for; names of other kinds are for UNPOOLED_PUBLIC_URL."""
    allowed = environment.words("UNPOOLED_ALLOWED_HOSTS")
    os.environ["UNPOOLED_ALLOWED_HOSTS"] = ",".join([*allowed, f"[{host}]" if ":" in host else host])


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    deadline = time.monotonic() + PORT_SECONDS
    while True:
        try:
            listener.bind((host, port))
            break
        except OSError as error:
            if time.monotonic() > deadline or error.errno != errno.EADDRINUSE:
                raise click.ClickException(
                    f"cannot listen on {host} port {port} ({error.strerror}): choose another with --port"
                ) from None
        time.sleep(0.1)
    # Listening here, not in the child: while the web process starts again, clients wait instead of failing.
    listener.listen(512)
    return listener


def _address(host: str, listener: socket.socket) -> str:
    shown = {"0.0.0.0": LOOPBACK, "::": "::1"}.get(host, host)  # noqa: S104  # only for display
    return f"http://{f'[{shown}]' if ':' in shown else shown}:{listener.getsockname()[1]}"


def _compensator(folder: Path, known_keys: Path | None) -> Child:
    """A compensator on this machine. One operator runs both, and every study says so."""
    listener = _listen(LOOPBACK, 0)
    secret = folder / "compensator-secret"
    os.environ["UNPOOLED_COMPENSATOR_URL"] = address = _address(LOOPBACK, listener)
    os.environ["UNPOOLED_COMPENSATOR_SECRET_FILE"] = str(secret)
    os.environ["UNPOOLED_ONE_OPERATOR"] = "1"
    environment.kept_secret(secret)
    command = ["unpooled_compensator", "serve", "--state", str(folder / "compensator")]
    command += ["--caller-secret-file", str(secret), "--fd", str(listener.fileno())]
    if known_keys:
        command += ["--known-keys", str(known_keys)]
    child = Child("compensator", command, os.environ.copy(), (listener.fileno(),))
    listener.detach()  # open for as long as this process lives: each start of the child gets it
    child.start()
    _await_health(child, f"{address}/health")
    return child


def _prepare_database(fail_running: bool) -> str | None:
    """Bring the tables up to date; the token of the first run, if there is no administrator yet."""
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0, interactive=False, fail_running=fail_running)
    from unpooled_webapp import accounts, first_run, installation

    installation.require_own_home()
    if not first_run.is_needed():
        return None
    if given := environment.secret("UNPOOLED_ADMIN_PASSWORD"):
        accounts.create(ADMINISTRATOR, given, accounts.ADMINISTRATOR)
        return None
    return first_run.token()


def _end_demo(home: Path) -> None:
    """A demo that ran has ended with the web application: its study cannot go on."""
    if folder_in(home).exists():
        from unpooled_webapp.demonstration import service  # loads Django's models and all services

        service.clean_up()


def _web(listener: socket.socket) -> Child:
    command = ["gunicorn", "-c", "python:unpooled_webapp.serving", "--bind", f"fd://{listener.fileno()}"]
    command += ["--workers", "1", "--graceful-timeout", "5", "--log-level", "warning"]
    return Child("web", command, os.environ.copy(), (listener.fileno(),))


def _worker(threads: int) -> Child:
    if not environment.secret("UNPOOLED_BROKER_URL"):
        command = ["unpooled_webapp", "worker", "--threads", str(threads)]
    else:
        command = ["celery", "-A", "unpooled_webapp.celery", "worker", "--beat", "--loglevel", "warning"]
        command += [
            "--scheduler",
            "celery.beat:Scheduler",
            "--pool",
            "threads",
            "--concurrency",
            str(threads),
        ]
    return Child("worker", command, os.environ.copy())


def _await_health(child: Child, url: str) -> None:
    deadline = time.monotonic() + (limit := patience(START_SECONDS))
    while time.monotonic() < deadline:
        if not child.is_running:
            break
        try:
            with urlopen(url, timeout=5) as answer:  # noqa: S310  # an address that we made
                if answer.status == 200:
                    return
        except (URLError, OSError):
            time.sleep(0.05)
    how = f"was not ready after {limit:.0f} s" if child.is_running else "ended as it started"
    child.stop()
    raise click.ClickException(f"the {child.name} {how}; its messages are above")


class _Platform:
    """The processes, until somebody ends them."""

    def __init__(self, children: list[Child], folder: Path, address: str, is_for_others: bool) -> None:
        self.children, self.folder, self.address = children, folder, address
        self.is_for_others = is_for_others
        self.stop = threading.Event()

    def run(self, token: str | None) -> None:
        for name in ("SIGTERM", "SIGINT", "SIGHUP"):  # the last when a terminal is closed; not on Windows
            if number := getattr(signal, name, None):
                signal.signal(number, self._on_signal)
        try:
            for child in self.children:
                if child.process is None:
                    child.start()
            _await_health(
                next(child for child in self.children if child.name == "web"), f"{self.address}/health"
            )
            self._write_addresses()
            self._greet(token)
            while not self.stop.wait(0.2):
                self._keep_running()
        finally:
            for child in reversed(self.children):
                child.ask_to_end()
            for child in reversed(self.children):
                child.stop()
            (self.folder / "addresses.json").unlink(missing_ok=True)
            _end_demo(self.folder)

    def _keep_running(self) -> None:
        for child in self.children:
            before = child.process
            if said := child.keep_running():
                click.echo(said, err=True)
            if child.process is not before:
                self._write_addresses()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.stop.set()

    def _write_addresses(self) -> None:
        """Write the addresses for programs that started this one on a free port."""
        values = {
            "pid": os.getpid(),
            "web": self.address,
            "compensator": os.environ.get("UNPOOLED_COMPENSATOR_URL", ""),
            "processes": {child.name: child.process.pid for child in self.children if child.process},
        }
        draft = self.folder / ".addresses.json"
        draft.write_text(json.dumps(values))
        draft.replace(self.folder / "addresses.json")

    def _invite_administrator(self, token: str) -> None:
        """The address of the first run, for whoever sits here; what is not shown to a person may be kept."""
        from unpooled_webapp import first_run

        page = f"{environment.secret('UNPOOLED_PUBLIC_URL').rstrip('/') or self.address}/first-run"
        if sys.stdout.isatty():  # the token is behind the #, which browsers keep to themselves
            click.echo(f"First run: open {page}#{token} to become its administrator")
        else:
            click.echo(
                f"First run: open {page}#TOKEN to become its administrator, with the token in this file:"
            )
            click.echo(first_run.token_file())

    def _greet(self, token: str | None) -> None:
        click.echo(f"Unpooled on {self.address}   (data in {self.folder})")
        if token:
            self._invite_administrator(token)
        if self.is_for_others and not os.environ.get("UNPOOLED_PUBLIC_URL"):
            click.echo(
                "Other machines: set UNPOOLED_PUBLIC_URL to the address that they use, e.g. https://…."
            )
        if os.environ.get("UNPOOLED_ONE_OPERATOR") == "1":
            click.echo("One operator runs server and compensator: studies here are not blind.")
        elif not os.environ.get("UNPOOLED_COMPENSATOR_URL"):
            click.echo(
                "No compensator is set up: set UNPOOLED_COMPENSATOR_URL, or use --with-compensator. "
                "Without one there are studies in which each two cohorts share masks."
            )
