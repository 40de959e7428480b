"""The import rules, held by reading every source file: the install boundary is the trust boundary.

A hospital installs the library and the client, the compensator's operator the library and the compensator;
neither can be made to run code of the other, and the protocol knows nothing of what is built on it.
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
}

# What each import package may use of the others.
MAY_USE: dict[str, tuple[str, ...]] = {
    "unpooled": (),
    "unpooled_compensator": ("unpooled.protocol", "unpooled.errors"),
    "unpooled_client": ("unpooled",),
    "unpooled_server": ("unpooled",),
    # Writes go through services, reads through selectors and pictures. Of the rest it needs the models as
    # types of forms and answers, the fixed words, the refusals, the cohorts' addresses, how a body is read,
    # and the worker that a command starts; files and tasks are the server's own.
    "unpooled_webapp": (
        "unpooled",
        "unpooled_server.services",
        "unpooled_server.selectors",
        "unpooled_server.pictures",
        "unpooled_server.models",
        "unpooled_server.names",
        "unpooled_server.errors",
        "unpooled_server.cohort_api.urls",
        "unpooled_server.cohort_api.bodies",
        "unpooled_server.worker",
    ),
}

# Inside the library imports go one way: a module may use what stands above it, and its own kind.
LAYERS: tuple[tuple[str, ...], ...] = (
    (
        "unpooled.errors",
        "unpooled.chromosomes",
        "unpooled.alleles",
        "unpooled.glm_columns",
        "unpooled.memory",
    ),
    ("unpooled.protocol",),
    ("unpooled.check", "unpooled.cohort", "unpooled.text", "unpooled.formats.number", "unpooled.schema"),
    ("unpooled.yeo_johnson", "unpooled.scaler"),
    (
        "unpooled.options",
        "unpooled.shared_options",
        "unpooled.panel",
        "unpooled.plan",
        "unpooled.sizes",
        "unpooled.question",
    ),
    ("unpooled.procedure",),
    (
        "unpooled.columns",
        "unpooled.kernels",
        "unpooled.statistics",
        "unpooled.multiple_testing",
        "unpooled.formats",
    ),
    ("unpooled.algorithms.shared",),
    ("unpooled.algorithms",),
    ("unpooled.driver",),
    ("unpooled.run", "unpooled.leaving", "unpooled.facts", "unpooled.simulate", "unpooled.pictures"),
)

NOT_IN_THE_LIBRARY = ("django", "rest_framework", "celery", "httpx", "starlette", "click", "rich")
NOT_IN_ITS_BASE = ("scipy", "numba")  # they come with the extra `algorithms`


def violations(root: Path) -> list[str]:
    """Every import below `root` that breaks a rule, as `file:line: what`."""
    found = []
    for package, folder in DISTRIBUTIONS.items():
        source = root / folder / "src"
        for file in sorted((source / package).rglob("*.py")):
            importer = ".".join(file.relative_to(source).with_suffix("").parts).removesuffix(".__init__")
            for line, imported in imports(file, importer):
                if problem := judge(package, importer, imported):
                    found.append(f"{file.relative_to(root)}:{line}: {problem}")
    return found


def imports(file: Path, importer: str) -> Iterator[tuple[int, str]]:
    """(line, full name) of everything that a file imports, wherever in it, at run time or for types only."""
    package = importer if file.name == "__init__.py" else importer.rpartition(".")[0]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"), str(file))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*parents, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and _is_dynamic_import(node):
            yield node.lineno, str(node.args[0].value)  # type: ignore[attr-defined]


def _is_dynamic_import(call: ast.Call) -> bool:
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    named = bool(call.args) and isinstance(call.args[0], ast.Constant)
    return named and name in ("import_module", "__import__", "import_string", "include")


def judge(package: str, importer: str, imported: str) -> str:
    """Why `importer`, a module of `package`, may not import a name; empty if it may."""
    top = imported.split(".")[0]
    if package == "unpooled":
        if top in NOT_IN_THE_LIBRARY:
            return f"the library does not use {top}"
        if top in NOT_IN_ITS_BASE and _is_in(importer, "unpooled.protocol"):
            return f"the library's base does not use {top}"
        return _judge_layer(importer, imported) if top == "unpooled" else ""
    if top not in DISTRIBUTIONS or top == package or any(_is_in(imported, part) for part in MAY_USE[package]):
        return ""
    return f"{package} does not use {imported}"


def _judge_layer(importer: str, imported: str) -> str:
    own, other = _layer(importer), _layer(imported)
    if own is None and importer != "unpooled":
        return f"give {importer} a place in LAYERS"
    if other is None:
        return f"give {imported} a place in LAYERS"
    return f"{importer} comes before {imported}" if own is None or other > own else ""


def _layer(module: str) -> int | None:
    """Index of the most particular entry of LAYERS that a module or a name in it belongs to."""
    fitting = [(len(e), k) for k, layer in enumerate(LAYERS) for e in layer if _is_in(module, e)]
    return max(fitting)[1] if fitting else None


def _is_in(module: str, part: str) -> bool:
    return f"{module}.".startswith(f"{part}.")


def test_no_import_breaks_a_rule() -> None:
    found = violations(ROOT)
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("module", "line", "complaint"),
    [
        ("unpooled_client.a", "from unpooled_server import models", "unpooled_client does not use"),
        ("unpooled_client.a", "import unpooled_compensator.store", "unpooled_client does not use"),
        ("unpooled_server.a", "def f():\n    import unpooled_client", "unpooled_server does not use"),
        ("unpooled_webapp.a", "from unpooled_server import tasks", "unpooled_webapp does not use"),
        ("unpooled_webapp.a", "import_module('unpooled_client.cli')", "unpooled_webapp does not use"),
        ("unpooled_compensator.a", "from unpooled import question", "does not use unpooled.question"),
        ("unpooled.protocol.a", "from .. import question", "unpooled.protocol.a comes before"),
        ("unpooled.protocol.a", "from unpooled.run import run", "unpooled.protocol.a comes before"),
        ("unpooled.protocol.a", "import scipy.stats", "the library's base does not use scipy"),
        ("unpooled.question", "from unpooled.procedure import Rows", "unpooled.question comes before"),
        (
            "unpooled.procedure",
            "from unpooled.algorithms import chi_square",
            "unpooled.procedure comes before",
        ),
        ("unpooled.algorithms.shared.a", "from ..tables import order", "unpooled.algorithms.shared.a comes"),
        (
            "unpooled.algorithms.a",
            "from unpooled.driver import Running",
            "unpooled.algorithms.a comes before",
        ),
        ("unpooled.algorithms.a", "import unpooled.run", "unpooled.algorithms.a comes before"),
        ("unpooled.algorithms.a", "from django.db import models", "does not use django"),
        ("unpooled.surprise", "from unpooled import errors", "give unpooled.surprise a place"),
        ("unpooled.__init__", "from unpooled import errors", "unpooled comes before"),
    ],
)
def test_the_reader_sees_a_made_up_violation(tmp_path: Path, module: str, line: str, complaint: str) -> None:
    file = _write(tmp_path, module, f"from __future__ import annotations\n{line}\n")
    (found,) = violations(tmp_path)
    assert found.startswith(str(file)) and complaint in found


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("unpooled_client.a", "from unpooled.run import run"),
        ("unpooled_client.a", "from . import engine"),
        ("unpooled_webapp.a", "from unpooled_server.services import studies"),
        ("unpooled_webapp.a", "path('', include('unpooled_server.cohort_api.urls'))"),
        ("unpooled.protocol.a", "from .. import errors"),
        ("unpooled.algorithms.a", "from ..question import Question"),
        ("unpooled.algorithms.tables.a", "from ..shared.chunks import Chunk"),
        ("unpooled.driver", "from .procedure import Each"),
    ],
)
def test_the_reader_lets_pass_what_is_allowed(tmp_path: Path, module: str, line: str) -> None:
    _write(tmp_path, module, f"{line}\n")
    assert violations(tmp_path) == []


def _write(root: Path, module: str, text: str) -> Path:
    """Writes one module of a made-up workspace; returns its path below `root`."""
    file = Path(DISTRIBUTIONS[module.split(".")[0]], "src", *module.split(".")).with_suffix(".py")
    (root / file).parent.mkdir(parents=True)
    (root / file).write_text(text)
    return file


@pytest.mark.parametrize("package", DISTRIBUTIONS)
def test_every_import_is_declared_as_a_dependency(package: str) -> None:
    declared = _declared(DISTRIBUTIONS[package])
    distributions = importlib.metadata.packages_distributions()
    source = ROOT / DISTRIBUTIONS[package] / "src"
    undeclared = set()
    for file in (source / package).rglob("*.py"):
        for _, imported in imports(file, package):
            top = imported.split(".")[0]
            if top not in sys.stdlib_module_names and top not in DISTRIBUTIONS:
                owners = {_plain(name) for name in distributions.get(top, [top])}
                if not owners & declared:
                    undeclared.add(f"{file.relative_to(ROOT)}: {imported}")
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
    script = f"import sys; sys.modules.update(dict.fromkeys({absent!r})); import unpooled.scaler"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
