"""`unpooled demo`: a whole study over generated cohorts, compared with the pooled analysis, to look at."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import click
from rich.console import Console

from unpooled.plan.common_options import TRUST
from unpooled_webapp.commands.study_flags import flag
from unpooled_webapp.demonstration.example import NAME, PLACES, PLAN, generate
from unpooled_webapp.rehearsal import Rehearsal, Settings
from unpooled_webapp.rehearsal.federation import Platform, platform, run_study
from unpooled_webapp.rehearsal.pooled import Comparison, compare
from unpooled_webapp.rehearsal.screen import Screen

STRONGEST = 8


@click.command(params=[flag(TRUST)])
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=Path("demo-out"),
              show_default=True, help="Folder for the generated data and the results.")  # fmt: skip
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="Of the web page."
)
@click.option(
    "--exit", "leave", is_flag=True, help="End when the study is done, instead of showing its page."
)
def demo(out: Path, port: int, leave: bool, **chosen: str | None) -> None:
    """Run a whole study with three generated cohorts, and compare it with the pooled analysis.

    Starts the web application, a worker, a compensator and three clients on this machine, lets them run a
    chi-square study over HTTP, writes the result files, and shows where to look.
    """
    plan = PLAN | {name: answer for name, answer in chosen.items() if answer is not None}
    console = Console(highlight=False)
    leave = leave or not console.is_terminal  # nobody is there to press Ctrl-C
    with Screen() as screen, contextlib.ExitStack() as stack:
        sizes = ", ".join(str(place.people) for place in PLACES)
        screen.phase(f"Generating {len(PLACES)} cohorts of {sizes} people")
        data, home = out / "data", (out / "platform").resolve()
        with _writing(out):
            data.mkdir(parents=True, exist_ok=True)
            made = generate(data)
            home.mkdir(exist_ok=True, mode=0o700)
        running = stack.enter_context(platform(home, screen, plan, 0 if leave else port))
        settings = Settings(
            plan=plan,
            arguments=[["--bfile", str(prefix)] for prefix in made.cohorts],
            out=out / "demo",
            name=NAME,
        )
        done = run_study(running, settings, screen)
        screen.phase("Comparing with the pooled analysis")
        assoc = out / "demo.assoc"
        assert made.pooled is not None  # noqa: S101  # simulate was not told otherwise
        comparison = compare(assoc, made.pooled)
        screen.close()
        _show(console, done, comparison, assoc, made.planted)
        if not leave and comparison.agrees:
            _stay(console, running, done)
    if not comparison.agrees:
        raise click.ClickException("the federated result differs from the pooled analysis")


@contextlib.contextmanager
def _writing(out: Path) -> Iterator[None]:
    """Say where nothing can be written, and what helps."""
    try:
        yield
    except OSError as error:
        raise click.ClickException(
            f"{out.resolve()}: {error.strerror}. The demo keeps some 40 MB in this folder: make it writable, "
            "make room on its disk, or choose another with --out."
        ) from error


def _show(
    console: Console, done: Rehearsal, comparison: Comparison, assoc: Path, planted: tuple[str, ...]
) -> None:
    header, *lines = assoc.read_text().splitlines()
    p_value = header.split().index("P")
    tested = [line for line in lines if line.split()[p_value] != "NA"]
    console.print("\nStrongest associations:", markup=False)
    console.print(header, markup=False, soft_wrap=True)
    for line in sorted(tested, key=lambda line: float(line.split()[p_value]))[:STRONGEST]:
        console.print(
            line + ("  planted" if line.split()[1] in planted else ""), markup=False, soft_wrap=True
        )
    if comparison.agrees:
        console.print(
            f"\n[green]All {comparison.variants:,} variants agree[/green] with {comparison.reference}."
        )
    else:
        console.print(f"\n[red]{len(comparison.differing)} lines differ[/red] from {comparison.reference}:")
        console.print("\n".join(comparison.differing[:5]), markup=False)
    console.print("\nFiles:")
    for file in done.files:
        console.print(f"  {file}", markup=False, soft_wrap=True)


def _stay(console: Console, running: Platform, done: Rehearsal) -> None:
    """Keep the platform up until the person has looked."""
    console.print(f"\nThe study's page: [bold]{running.address}/studies/{done.study}[/bold]")
    console.print(f"Sign in as [bold]admin[/bold] with the password [bold]{running.password}[/bold].")
    console.print("Ctrl-C ends the platform.")
    with contextlib.suppress(KeyboardInterrupt):
        while running.process.exit_status is None:
            time.sleep(0.5)
