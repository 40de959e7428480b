"""Portability of what a cohort installs to Windows and macOS: its source is read for what one of them lacks.

Names that a module has on POSIX only are found by `mypy --platform win32` (scripts/typecheck). A use is fine
in a function that looks at `os.name` or `sys.platform`, or where ALLOWED gives the reason.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from unpooled_client.data.findings.source import how_to_install

from .test_imports import ROOT

# Calls that do something else on Windows, or need rights there that people lack.
METHODS = {
    "rename": "fails on Windows where the target exists: use replace",
    "chmod": "knows only read-only on Windows",
    "symlink_to": "wants administrator rights on Windows",
    "symlink": "wants administrator rights on Windows",
    "hardlink_to": "is not on every disk",
    "link": "is not on every disk",
    "add_signal_handler": "is for POSIX only",
}
KEYWORDS = {"preexec_fn", "pass_fds", "start_new_session", "process_group", "extra_groups", "umask"}
MODE_AT = {"open": 1, "fdopen": 1, "TemporaryFile": 0, "NamedTemporaryFile": 0}
"""Place of a file's mode among the arguments of a call."""
PLACES = re.compile(r"/(tmp|dev|proc|sys|etc|var|usr|home|opt)(/|$)")
# Of strftime; and what C libraries have each for itself.
DIRECTIVES = re.compile(r"%(-[a-zA-Z]|[CDeFgGhklnPrRsTuV])")

CLIENT = "client/src/unpooled_client/"
ALLOWED = {
    (CLIENT + "network/machine.py", "/sys/fs/cgroup"): "what does not exist is passed over",
    (
        "client/src/unpooled_client/network/machine.py",
        "/proc/self/cgroup",
    ): "what does not exist is passed over",
    (CLIENT + "window/join.py", "open"): "it opens a dialog",
    (CLIENT + "window/run.py", "open"): "it opens a dialog",
    (CLIENT + "window/study_view.py", "open"): "it opens a study",
}


def complaints(file: Path) -> Iterator[tuple[int, str, str]]:
    """(line, what is used, why not) of everything in a file that one of the systems lacks."""
    tree = ast.parse(file.read_text(encoding="utf-8"), str(file))
    for scope, node in _nodes(tree):
        for what, why in _judge(node):
            if scope is None or not _looks_at_the_system(scope):
                yield getattr(node, "lineno", 0), what, why


def _nodes(tree: ast.AST, scope: ast.AST | None = None) -> Iterator[tuple[ast.AST | None, ast.AST]]:
    """Every node with the outermost function that it is in; no docstrings."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
            continue
        inner = scope or (child if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else None)
        yield inner, child
        yield from _nodes(child, inner)


def _looks_at_the_system(function: ast.AST) -> bool:
    names = {ast.unparse(node) for node in ast.walk(function) if isinstance(node, ast.Attribute)}
    return bool(names & {"os.name", "sys.platform"})


def _judge(node: ast.AST) -> Iterator[tuple[str, str]]:
    match node:
        case ast.Call():
            yield from _call(node)
        case ast.Constant(value=str(text)) if PLACES.match(text):
            yield text, "is a place that Windows has not"
        case ast.Constant(value=str(text)) if DIRECTIVES.search(text) and "%Y" in text:
            yield text, "is no form of a date everywhere"


def _call(call: ast.Call) -> Iterator[tuple[str, str]]:
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    given = {keyword.arg for keyword in call.keywords}
    if name in METHODS and isinstance(call.func, ast.Attribute):
        yield name, METHODS[name]
    yield from ((f"{word}=", "is for POSIX only") for word in sorted(KEYWORDS) if word in given)
    text = name in ("Popen", "run", "check_output") and given & {"text", "universal_newlines"}
    if (_opens_text(call, name) or text) and "encoding" not in given:
        yield name, "goes by the system's encoding: give encoding="


def _opens_text(call: ast.Call, name: str) -> bool:
    """Tell whether a call opens a file as text and leaves its encoding to the system."""
    if name in ("read_text", "write_text"):
        return len(call.args) <= (name == "write_text")
    if name not in MODE_AT or _is_of_another(call):
        return False
    at = 0 if name == "open" and isinstance(call.func, ast.Attribute) else MODE_AT[name]  # Path.open
    modes = [keyword.value for keyword in call.keywords if keyword.arg == "mode"] + call.args[at : at + 1]
    mode = getattr(modes[0], "value", "r") if modes else ("w+b" if "Temporary" in name else "r")
    return "b" not in str(mode)


def _is_of_another(call: ast.Call) -> bool:
    """os.open takes no encoding; webbrowser.open and the like open no file."""
    owner = getattr(getattr(call.func, "value", None), "id", "")
    return bool(owner in ("os", "webbrowser", "tarfile", "zipfile", "Image") and call.func.attr == "open")  # type: ignore[attr-defined]


def sources() -> list[Path]:
    """Return the sources that a cohort installs: the client, and the library."""
    return sorted(file for part in ("client", "core") for file in (ROOT / part / "src").rglob("*.py"))


def test_the_client_uses_nothing_that_a_system_lacks() -> None:
    files = sources()
    found = {
        (file.relative_to(ROOT).as_posix(), line, what, why)
        for file in files
        for line, what, why in complaints(file)
        if (file.relative_to(ROOT).as_posix(), what) not in ALLOWED
    }
    assert not found, "\n".join(f"{file}:{line}: {what} {why}" for file, line, what, why in sorted(found))


def test_nothing_is_allowed_that_is_no_longer_there() -> None:
    used = {
        (file.relative_to(ROOT).as_posix(), what) for file in sources() for _, what, _ in complaints(file)
    }
    assert set(ALLOWED) <= used


@pytest.mark.parametrize(
    "line",
    [
        "path.rename(other)",
        "os.rename(a, b)",
        "path.chmod(0o600)",
        "folder = Path('/tmp')",
        "open('/dev/null', 'rb')",
        "open(path)",
        "path.open('w')",
        "path.read_text()",
        "path.write_text(text)",
        "os.fdopen(number, 'a')",
        "NamedTemporaryFile('w')",
        "subprocess.run(command, text=True)",
        "subprocess.Popen(command, start_new_session=True)",
        "now.strftime('%-d %B %Y')",
    ],
)
def test_the_reader_sees(tmp_path: Path, line: str) -> None:
    file = tmp_path / "made_up.py"
    file.write_text(f'"""Words."""\ndef use():\n    {line}\n', encoding="utf-8")
    assert [number for number, _, _ in complaints(file)] == [3]


@pytest.mark.parametrize(
    "line",
    [
        "path.replace(other)",
        "open(path, 'rb')",
        "path.open('wb')",
        "path.open(encoding='utf-8')",
        "path.read_text('utf-8')",
        "path.write_text(text, encoding='utf-8')",
        "tempfile.TemporaryFile(dir=folder)",
        "now.strftime('%Y-%m-%dT%H:%M:%SZ')",
        "f'/api/v1/{name}'",
        "if os.name == 'posix': open('/dev/null', 'rb')",
        "if sys.platform == 'linux': path.chmod(0o600)",
    ],
)
def test_the_reader_lets_pass(tmp_path: Path, line: str) -> None:
    file = tmp_path / "made_up.py"
    file.write_text(f"def use():\n    {line}\n", encoding="utf-8")
    assert not list(complaints(file))


def test_on_windows_it_is_said_that_dosages_are_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as windows:
        windows.setattr("os.name", "nt")
        said = how_to_install("pgen")
    assert "--make-bed" in said and "dosages are lost" in said
