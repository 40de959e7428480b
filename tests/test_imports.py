"""Declared dependencies: each distribution's base is enough for it; `lint-imports` holds the layers.

A hospital installs the library and the client, the compensator's operator the library and the compensator;
whoever trains networks installs these.
"""

from __future__ import annotations

import ast
import importlib.metadata
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

DISTRIBUTIONS = {
    "unpooled": "core",
    "unpooled_compensator": "compensator",
    "unpooled_client": "client",
    "unpooled_server": "server",
    "unpooled_webapp": "webapp",
    "unpooled_networks": "networks",
}


APART = "apart"
"""Folder of a program for another interpreter, which has packages of its own."""


def imported(file: Path) -> Iterator[str]:
    """The top packages that a file imports, wherever in it, at run time or for types only."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"), str(file))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


@pytest.mark.parametrize("package", DISTRIBUTIONS)
def test_every_import_is_declared_as_a_dependency(package: str) -> None:
    declared = _declared(DISTRIBUTIONS[package])
    distributions = importlib.metadata.packages_distributions()
    source = ROOT / DISTRIBUTIONS[package] / "src"
    undeclared = set()
    for file in (source / package).rglob("*.py"):
        if file.parent.name == APART:
            continue
        for top in imported(file):
            if top not in sys.stdlib_module_names and top not in DISTRIBUTIONS:
                owners = {_plain(name) for name in distributions.get(top, [top])}
                if not owners & declared:
                    undeclared.add(f"{file.relative_to(ROOT)}: {top}")
    assert not undeclared


def _declared(folder: str) -> set[str]:
    """Names of the distributions that a folder's pyproject.toml asks for, itself or through our own."""
    project = tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project.get("optional-dependencies", {}).values()
    asked = [*project.get("dependencies", ()), *(text for extra in extras for text in extra)]
    names = {_plain(match[0]) for text in asked if (match := re.match(r"[A-Za-z0-9._-]+", text))}
    ours = {f"unpooled-{other}": other for other in DISTRIBUTIONS.values()}
    return names.union(*(_declared(ours[name]) for name in names & ours.keys()))


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


BASE = """
import sys
sys.modules.update(dict.fromkeys({absent!r}))  # importing one of these now fails
import importlib, pkgutil, {package}
for module in pkgutil.walk_packages({package}.__path__, "{package}."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""


@pytest.mark.parametrize("package", ["unpooled.protocol", "unpooled_compensator"])
def test_the_base_of_the_library_is_enough_for(package: str) -> None:
    script = BASE.format(absent=("scipy", "numba", "pandas", "django", "celery", "httpx"), package=package)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_numpy_is_enough_for_the_scaler() -> None:
    """Whoever has the parameters of a normalization can use them without the platform."""
    absent = ("scipy", "numba", "cryptography", "sklearn", "django", "httpx")
    script = f"import sys; sys.modules.update(dict.fromkeys({absent!r})); import unpooled.fitted.scaler"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
