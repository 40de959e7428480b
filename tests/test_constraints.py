"""The locks, constraints/ and the browser application's: they fit the distributions, and have hashes."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name as canonical

from .test_compose import DOCKERFILES, instructions

ROOT = Path(__file__).parents[1]
LOCKS = sorted(path.stem for path in (ROOT / "constraints").glob("*.txt"))
LOCK = pytest.mark.parametrize("lock", LOCKS)

# What is installed from each lock.
CLIENT = ("unpooled-core[algorithms]", "unpooled-client")
INSTALLED = {
    "server": ("unpooled-core[algorithms]", "unpooled-server", "unpooled-webapp"),
    "compensator": ("unpooled-core", "unpooled-compensator"),
    "client": CLIENT,
    "window": (*CLIENT, "unpooled-client[window]"),
    "imputed": (*CLIENT, "unpooled-client[pgen,vcf,bgen]"),
    "networks": ("unpooled-networks",),
    "networks-tests": ("unpooled-networks[tests]",),
    "dev": (*CLIENT, "unpooled-client[window,dask,pgen,vcf,bgen]", "unpooled-compensator", "unpooled-webapp"),
}
PYTHONS = ("3.11.0", "3.11.9", "3.12.0", "3.13.0", "3.14.0")
SYSTEMS = (("linux", "Linux", "posix"), ("win32", "Windows", "nt"), ("darwin", "Darwin", "posix"))
ENVIRONMENTS = [
    {
        "python_full_version": python,
        "python_version": python.rpartition(".")[0],
        "sys_platform": system,
        "platform_system": name,
        "os_name": family,
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
    }
    for python in PYTHONS
    for system, name, family in SYSTEMS
]


def entries(lock: str) -> list[str]:
    """The requirements of a lock, each with its hashes in one line."""
    text = (ROOT / "constraints" / f"{lock}.txt").read_text()
    lines = (re.sub(r"\s*#.*", "", line) for line in text.replace("\\\n", "").splitlines())
    return [line.strip() for line in lines if line.strip()]


def locked(lock: str) -> dict[str, Requirement]:
    found = map(Requirement, (line.partition(" --hash")[0] for line in entries(lock)))
    return {canonical(requirement.name): requirement for requirement in found}


def holds(requirement: Requirement, environment: dict[str, str], extras: Iterable[str] = ("",)) -> bool:
    marker = requirement.marker
    return marker is None or any(marker.evaluate({**environment, "extra": extra}) for extra in extras)


def needs(name: str, extras: Iterable[str], environment: dict[str, str]) -> list[Requirement]:
    """Return a distribution's requirements: of our six by pyproject.toml, of others by their metadata."""
    if name.startswith("unpooled-"):
        file = ROOT / name.removeprefix("unpooled-") / "pyproject.toml"
        project = tomllib.loads(file.read_text())["project"]
        optional = project.get("optional-dependencies", {})
        return [*map(Requirement, chain(project["dependencies"], *(optional[extra] for extra in extras)))]
    try:
        given = map(Requirement, requires(name) or ())
    except PackageNotFoundError:  # it is for other systems
        return []
    return [requirement for requirement in given if holds(requirement, environment, {"", *extras})]


def lacking(lock: str, environment: dict[str, str]) -> set[str]:
    """Find what distributions and locked packages need, and the lock has not, or in another version."""
    has, found, seen = locked(lock), set(), set()
    ahead = [Requirement(name) for name in INSTALLED[lock]]
    for wanted in ahead:
        name = canonical(wanted.name)
        pin = has.get(name)
        fits = pin and holds(pin, environment) and wanted.specifier.contains(pinned(pin), prereleases=True)
        if not fits and not name.startswith("unpooled-"):
            found.add(str(wanted))
        elif (name, *wanted.extras) not in seen:
            seen.add((name, *wanted.extras))
            ahead += needs(name, wanted.extras, environment)
    return found


def pinned(requirement: Requirement) -> str:
    (specifier,) = requirement.specifier
    assert specifier.operator == "=="
    return specifier.version


@LOCK
def test_every_package_has_one_version_and_its_hashes(lock: str) -> None:
    names = []
    for entry in entries(lock):
        requirement, *hashes = entry.split(" --hash=sha256:")
        names.append(canonical(Requirement(requirement).name))
        assert pinned(Requirement(requirement)) and not Requirement(requirement).url
        assert hashes and all(re.fullmatch(r"[0-9a-f]{64}", each.strip()) for each in hashes), requirement
    assert names and len(set(names)) == len(names)


@LOCK
def test_no_index_is_named(lock: str) -> None:
    text = (ROOT / "constraints" / f"{lock}.txt").read_text()
    assert not re.search(r"://|--index|--extra-index|--find-links|--trusted-host", text)


@pytest.mark.parametrize("lock", INSTALLED)
def test_a_lock_lacks_nothing(lock: str) -> None:
    """Run `make lock` if this fails after a change of a pyproject.toml."""
    for environment in ENVIRONMENTS:
        assert lacking(lock, environment) == set(), environment


def test_what_is_lacking_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(INSTALLED, "compensator", ("unpooled-compensator", "scipy", "click<8"))
    assert lacking("compensator", ENVIRONMENTS[0]) == {"scipy", "click<8"}


def test_the_tests_need_nothing_that_is_not_locked() -> None:
    """Their own requirements too; what is installed is what is locked."""
    has, here = locked("dev"), {"extra": ""}
    lines = (ROOT / "scripts/dev-requirements.txt").read_text().splitlines()
    for wanted in map(Requirement, (line.partition("#")[0] for line in lines if not line.startswith("#"))):
        assert wanted.specifier.contains(pinned(has[canonical(wanted.name)])), wanted
    locked_here = {name: pinned(each) for name, each in has.items() if holds(each, here)}
    assert {name: version(name) for name in locked_here} == locked_here


def test_torch_is_installed_with_networks_only() -> None:
    """Neither a hospital nor a server needs its gigabytes, and nobody gets those that are for GPUs."""
    assert {lock for lock in LOCKS if "torch" in locked(lock)} == {"networks", "networks-tests"}
    assert locked("networks").items() <= locked("networks-tests").items()
    assert not [name for name in locked("networks") if name.startswith(("nvidia-", "cuda-", "triton"))]


def test_on_linux_torch_is_its_cpu_build() -> None:
    (line,) = (ROOT / "constraints/cpu.pip").read_text().splitlines()
    build = Requirement(line)
    assert [holds(build, environment) for environment in ENVIRONMENTS[:3]] == [True, False, False]
    release = pinned(locked("networks")["torch"])
    assert (build.name, pinned(build)) == ("torch", f"{release}+cpu")
    for file in ("scripts/setup", "scripts/supply-chain"):
        assert re.search(r"--require-hashes .* -c constraints/cpu\.pip", (ROOT / file).read_text()), file


@LOCK
def test_what_is_tested_is_what_is_installed(lock: str) -> None:
    if lock not in ("tools", "install"):  # what they have is no part of what is tested
        tested = {name: pinned(each) for name, each in locked("dev").items()}
        found = {name: pinned(each) for name, each in locked(lock).items() if name != "pip"}
        if lock.startswith("networks"):  # torch and what it needs are beside what the tests need
            found = {name: pin for name, pin in found.items() if name in tested}
        assert found.items() <= tested.items()


@pytest.mark.parametrize("lock", ["client", "window", "imputed"])
def test_the_client_needs_the_same_packages_everywhere(lock: str) -> None:
    """pip reads a lock's conditions for the system on which it runs, whatever the bundle's."""
    bundled = [each for each in ENVIRONMENTS if lock != "imputed" or each["sys_platform"] != "win32"]
    for requirement in locked(lock).values():
        assert len({holds(requirement, environment) for environment in bundled}) == 1, requirement


def test_the_image_of_the_client_has_all_of_its_lock() -> None:
    steps = " ".join(rest for word, rest in instructions("client/Dockerfile") if word == "RUN")
    assert "constraints/imputed.txt" in steps and f"'{INSTALLED['imputed'][-1]}'" in steps


def test_the_set_up_builds_with_what_is_locked() -> None:
    has = locked("build")
    for file in ROOT.glob("*/pyproject.toml"):
        for wanted in map(Requirement, tomllib.loads(file.read_text())["build-system"]["requires"]):
            assert wanted.specifier.contains(pinned(has[wanted.name])), file


def pip_commands() -> Iterator[str]:
    """Every pip command of images and set-up."""
    for dockerfile in DOCKERFILES:
        text = " && ".join(rest for word, rest in instructions(dockerfile) if word == "RUN")
        yield from re.findall(r"pip ([^&]+)", text)
    for file in ("scripts/setup", "scripts/supply-chain", "packaging/apptainer.def"):
        text = (ROOT / file).read_text()
        yield from re.findall(r"^(?!#).*?((?:install|download|wheel) -.*)", text, re.M)


def test_nothing_is_installed_that_has_no_hash() -> None:
    commands = list(pip_commands())
    assert len(commands) >= 15
    for command in commands:
        assert {"--require-hashes", "--no-index", "--dry-run"} & set(command.split()), command


def test_the_browser_application_has_hashes_and_names_no_registry() -> None:
    packages = json.loads((ROOT / "frontend/package-lock.json").read_text())["packages"]
    others = {name: each for name, each in packages.items() if name}
    assert others and all(each["integrity"].startswith("sha512-") for each in others.values())
    assert not any("resolved" in each for each in others.values())
