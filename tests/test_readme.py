"""Names in README and documentation that must exist: files, make targets, commands, options, settings."""

from __future__ import annotations

import importlib
import importlib.metadata
import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").glob("*.md"),
    ROOT / "compensator/README.md",
    ROOT / "networks/README.md",
]
PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
PROGRAMS = ("unpooled", "unpooled-client", "unpooled-compensator")


def shell_commands(page: Path) -> Iterator[list[str]]:
    """Every simple command in a page's shell blocks and in its inline code, as words."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```(?:sh)?\n(.*?)^```", text, re.S | re.M)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    prose = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    lines += re.findall(r"`((?:make|unpooled[\w-]*|pip install) [^`]*)`", prose)
    for line in lines:
        for part in re.split(r"&&|;|\|", line):
            try:
                words = shlex.split(part, comments=True)
            except ValueError:  # a line of output, not a command
                continue
            if words:
                yield words


def targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))


def check(words: list[str]) -> None:
    """AssertionError if one of our commands would not be understood; others are not ours to judge."""
    program = Path(words[0]).name
    if program == "make":
        for word in words[1:]:
            assert "=" in word or word in targets(), f"make has no target {word}"
    elif program == "pip" and words[1] == "install":
        for word in words[2:]:
            if word.startswith("./"):
                assert (ROOT / word.split("[")[0] / "pyproject.toml").is_file(), word
    elif program == "docker" and words[1] == "compose":
        inner = next((k for k, word in enumerate(words) if word in PROGRAMS), None)
        if inner is not None:
            check(words[inner:])
    elif program in PROGRAMS:
        check_click(program, words[1:])


def check_click(program: str, words: list[str]) -> None:
    """The named command exists and has the named options; their values may be invented."""
    (script,) = importlib.metadata.entry_points(group="console_scripts", name=program)
    module = importlib.import_module(script.module)
    command: click.Command | None = getattr(module, "cli", None) or module.main
    for word in itertools.takewhile(lambda word: not word.startswith("-"), words):
        if isinstance(command, click.Group):
            command = command.get_command(click.Context(command), word)
            assert command, f"{program} has no command {word}"
    assert command
    if command.name == "manage":  # Django's own commands
        return
    context = click.Context(command)
    known = {
        name for option in command.get_params(context) for name in (*option.opts, *option.secondary_opts)
    }
    used = {word.split("=")[0] for word in words if word.startswith("--")}
    assert used <= known, f"{program} {words[0]} has no {used - known}"


@PAGE
def test_commands_are_there(page: Path) -> None:
    for words in shell_commands(page):
        check(words)


@pytest.mark.parametrize(
    "command",
    [
        "make nothing",
        "unpooled nothing",
        "unpooled rehearse --nothing",
        "docker compose run web unpooled nothing",
        "pip install ./nothing",
    ],
)
def test_a_made_up_command_is_noticed(command: str) -> None:
    with pytest.raises(AssertionError):
        check(command.split())


def test_the_readme_has_the_two_commands() -> None:
    found = list(shell_commands(ROOT / "README.md"))
    assert ["make", "demo"] in found and ["make", "test"] in found


@PAGE
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        file, _, anchor = target.partition("#")
        if file.startswith("https:"):
            continue
        linked = page.parent / file if file else page
        assert linked.is_file(), target
        if anchor:
            assert anchor in anchors(linked), target


def anchors(page: Path) -> set[str]:
    """Return a page's anchors as GitHub and MyST make them from headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_is_in_the_table_of_contents() -> None:
    listed = set(re.findall(r"^([\w-]+)$", (ROOT / "docs/index.md").read_text(), re.M))
    assert {page.stem for page in (ROOT / "docs").glob("*.md")} - {"index"} == listed


def test_the_settings_table_is_complete() -> None:
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "webapp/src").rglob("*.py"))
    call = r"\b{}\(\s*\"((?:UNPOOLED|OTEL)_\w+)\""
    kinds = "(?:address|choice|flag|number|pairs|ports|provider|text|words)"
    secret = set(re.findall(call.format("secret"), sources))
    plain = set(re.findall(call.format(kinds), sources)) | {"UNPOOLED_HOME"}
    rows = re.findall(
        r"^\| `((?:UNPOOLED|OTEL)_\w+)`( •)? \|", (ROOT / "docs/operations.md").read_text(), re.M
    )
    assert {name for name, _ in rows} == secret | plain
    assert {name for name, mark in rows if mark} == secret


def test_what_clients_speak_is_described() -> None:
    source = (ROOT / "server/src/unpooled_server/cohort_api/urls.py").read_text()
    routes = {re.sub(r"<\w+:\w+>", "{}", route) for route in re.findall(r'path\("([^"]+)"', source)}
    rows = re.findall(r"^\| `[A-Z]+ /([^`?]+)", (ROOT / "docs/api.md").read_text(), re.M)
    described = {re.sub(r"\{\w+\}", "{}", row) for row in rows}
    assert routes <= described


def test_tables_of_seconds_are_made_of_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "bench")
    figures = importlib.import_module("figures")
    for page in figures.PAGES:
        assert page.read_text() == figures.filled(page), f"{page.name}: run bench/figures.py"
