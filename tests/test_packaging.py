"""The bundle that installs without an index, its wheels, and PyInstaller's recipe."""

from __future__ import annotations

import hashlib
import importlib
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import requires
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from unpooled_client.commands.cli import _COMMANDS, _module_of

from .test_compose import check_command, instructions

ROOT = Path(__file__).parents[1]
PACKAGING = ROOT / "packaging"
# Of a requirement's conditions, those that tell systems from one another.
SYSTEMS = (
    {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"},
    {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt"},
    {"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix"},
)


def call(*words: object, **options: Any) -> str:
    """Run a program, assert that it succeeds, and return what it prints."""
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return str(done.stdout)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Bundle of the command line: Qt would be as much again, and is installed alike."""
    made = tmp_path_factory.mktemp("bundle") / "made"
    call(sys.executable, PACKAGING / "bundle.py", "--without-window", "--out", made)
    return made


def test_the_bundle_installs_without_an_index(bundle: Path, small: tuple[Path, ...], tmp_path: Path) -> None:
    python, program = (tmp_path / "venv" / "bin" / name for name in ("python", "unpooled-client"))
    call(sys.executable, "-m", "venv", "--without-pip", python.parents[1])
    (install,) = re.findall(r"-m pip (install .*)", (bundle / "README.txt").read_text())
    offline = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    # pip takes a minute for what uv does in seconds by the same words; it refuses a changed file below.
    call(
        sys.executable, "-m", "uv", "pip", *shlex.split(install), "--python", python, cwd=bundle, env=offline
    )
    assert "unpooled-client, version" in call(program, "--version", env=offline)
    assert "Ready: no errors" in call(program, "check", "--bfile", small[0], env=offline)
    call(python, "-c", "import bgen, cyvcf2, pgenlib", env=offline)


def test_the_bundle_tells_its_digests(bundle: Path) -> None:
    lines = (line.split() for line in (bundle / "SHA256SUMS").read_text().splitlines())
    told = {name: digest for digest, name in lines}
    packed = {file.name: file.read_bytes() for file in bundle.iterdir() if file.name != "SHA256SUMS"}
    assert told == {name: hashlib.sha256(content).hexdigest() for name, content in packed.items()}
    assert all(name in ("README.txt", "requirements.txt") or name.endswith(".whl") for name in told)


def test_a_file_of_the_bundle_that_was_changed_is_refused(bundle: Path, tmp_path: Path) -> None:
    changed = Path(shutil.copytree(bundle, tmp_path / "changed"))
    (wheel,) = changed.glob("unpooled_core-*.whl")
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("unpooled/more.py", "")
    (install,) = re.findall(r"-m pip (install .*)", (bundle / "README.txt").read_text())
    command = [sys.executable, "-m", "pip", *shlex.split(install), "--target", str(tmp_path / "there")]
    done = subprocess.run(command, cwd=changed, capture_output=True, text=True, check=False)
    assert done.returncode and "DO NOT MATCH THE HASHES" in done.stderr
    assert not (tmp_path / "there").exists()


@pytest.mark.parametrize(("folder", "package"), [("core", "unpooled"), ("client", "unpooled_client")])
def test_the_wheels_hold_every_module(bundle: Path, folder: str, package: str) -> None:
    (wheel,) = bundle.glob(f"unpooled_{folder}-*.whl")
    source, setup = ROOT / folder / "src", tomllib.loads((ROOT / folder / "pyproject.toml").read_text())
    files = {file.relative_to(source).as_posix() for file in (source / package).rglob("*.py")}
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
        points = [archive.read(name).decode() for name in archive.namelist() if "entry_points" in name]
    assert files | {f"{package}/py.typed"} <= packed
    assert all(name.startswith(f"{package}/") for name in packed)
    programs = setup["project"].get("scripts", {}) | setup["project"].get("gui-scripts", {})
    assert {f"{name} = {target}" for name, target in programs.items()} <= set("\n".join(points).splitlines())


def needed_on(system: dict[str, str], *extras: str) -> set[str]:
    """All that the client with these extras needs on a system, by names."""
    found = {("unpooled-client", extra) for extra in ("", *extras)}
    ahead = sorted(found)
    for name, extra in ahead:
        for need in map(Requirement, requires(name) or ()):
            if need.marker is None or need.marker.evaluate({**system, "extra": extra}):
                more = {(need.name, each) for each in {"", *need.extras}} - found
                found |= more
                ahead += more
    return {name for name, _ in found}


def test_a_bundle_for_another_system_lacks_nothing() -> None:
    """pip reads the conditions of requirements for the system on which it runs, whatever the bundle's."""
    linux, windows, mac = (needed_on(system, "window") for system in SYSTEMS)
    assert "pyside6-essentials" in {name.lower() for name in linux}
    assert windows == mac == linux
    linux, mac = (
        needed_on(system, "pgen", "vcf", "bgen") for system in SYSTEMS if system["os_name"] == "posix"
    )
    assert {"bgen", "cyvcf2", "pgenlib"} < linux == mac


# PyInstaller's recipe; what it makes, tests/test_frozen.py tries


def recipe() -> dict[str, Any]:
    """Return what the recipe knows before it looks at the programs."""
    text = (PACKAGING / "unpooled-client.spec").read_text()
    known: dict[str, Any] = {"SPECPATH": str(PACKAGING)}
    exec(text[: text.index("found = Analysis")], known)  # noqa: S102 - our own file
    return known


WITHOUT = """
import importlib, pkgutil, sys
import unpooled, unpooled_client, unpooled_client.commands.cli
sys.modules.update(dict.fromkeys(sys.argv.pop(1).split(",")))  # they cannot be imported
for package in (unpooled, unpooled_client):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
unpooled_client.commands.cli.main()
"""


def test_what_the_recipe_leaves_out_is_not_needed(small: tuple[Path, ...]) -> None:
    unused = ",".join(recipe()["UNUSED"])
    assert "scipy.stats" in unused and "scipy.special" not in unused
    assert "Ready: no errors" in call(sys.executable, "-c", WITHOUT, unused, "check", "--bfile", small[0])


def test_the_recipe_takes_every_command() -> None:
    assert {*map(_module_of, _COMMANDS)} <= set(recipe()["OURS"])


def test_the_programs_of_the_recipe_begin_with_what_is_there() -> None:
    for name in ("unpooled-client", "unpooled-window"):
        (begin,) = re.findall(r"^from (\S+) import main$", (PACKAGING / f"{name}.py").read_text(), re.M)
        assert callable(importlib.import_module(begin).main)


# A cluster


def test_apptainer_makes_what_docker_makes() -> None:
    recipe = (PACKAGING / "apptainer.def").read_text()
    docker = instructions("client/Dockerfile")
    assert re.findall(r"^From: (\S+)", recipe, re.M) == [
        re.sub(":[^@]*@", "@", rest.split()[0])  # it takes no tag beside a digest
        for word, rest in docker
        if word == "FROM"
    ]
    steps = " && ".join(rest for word, rest in docker if word == "RUN")
    assert re.findall(r"^    (pip .*)", recipe, re.M) == [
        pip.strip() for pip in re.findall(r"pip [^&]*", steps)
    ]
    copied = [rest.split()[0] for word, rest in docker if word == "COPY"]
    assert re.findall(r"^    (\S+) /source/", recipe, re.M) == copied
    assert '%runscript\n    exec unpooled-client "$@"\n' in recipe


def test_the_batch_job_types_what_the_client_takes() -> None:
    job = PACKAGING / "slurm.sh"
    call("bash", "-n", job)
    typed = re.findall(r"unpooled-client\.sif (.*)", job.read_text().replace("\\\n", ""))
    assert [words.split()[0] for words in typed] == ["join", "check", "review", "run"]
    for words in typed:
        check_command(["unpooled-client", *shlex.split(words.replace("$SLURM_CPUS_PER_TASK", "4"))])


def test_a_release_has_notes_and_all_distributions_have_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(PACKAGING)
    release = runpy.run_path(str(PACKAGING / "release.py"))
    notes = release["_notes"](release["_version"]())
    assert notes.startswith("## ") and notes.count("\n## ") == 0
    with pytest.raises(SystemExit, match=r"has no part `## 0\.0\.1`"):
        release["_notes"]("0.0.1")
    assert set(release["DISTRIBUTIONS"]) == {file.parent.name for file in ROOT.glob("*/pyproject.toml")}
