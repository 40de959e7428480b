"""Makes each fault of `faults.txt` in a copy of the sources, and runs the test that should fail.

make mutants                    all of them; exit status 1 if one survives
make mutants ARGS="lock book"   those with one of these words in their paragraph
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from .faults import ROOT, Fault, faults

SOURCES = sorted(file.parent.relative_to(ROOT) / "src" for file in ROOT.glob("*/pyproject.toml"))
CACHE = ROOT / ".cache"
PASSED, FAILED = 0, 1
"""Pytest's exit status where all tests pass, and where one fails; any other is a fault of the table."""


def main(words: list[str]) -> int:
    chosen = [fault for fault in faults() if not words or any(word in str(fault) for word in words)]
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="mutants-", dir=CACHE) as folder:
        sound = Path(folder) / "sound"
        for source in SOURCES:
            shutil.copytree(ROOT / source, sound / source)
        if not all(pass_without(chosen, flags, sound) for flags in {fault.flags for fault in chosen}):
            print("tests fail, or are not there, without any fault: nothing is known of those with one")
            return 1
        caught = sum(is_caught(fault, sound) for fault in chosen)
    print(f"{caught} of {len(chosen)} faults are caught")
    return 0 if caught == len(chosen) else 1


def pass_without(chosen: list[Fault], flags: tuple[str, ...], sound: Path) -> bool:
    """Tell whether the tests that need these flags pass without a fault."""
    tests = {fault.test: None for fault in chosen if fault.flags == flags}
    return tested(sound, [*flags, *tests]) == PASSED


def is_caught(fault: Fault, sound: Path) -> bool:
    began, faulty = os.times(), sound.with_name("faulty")
    shutil.copytree(sound, faulty)  # with what was compiled of it
    (faulty / fault.file).write_text(fault.text(), encoding="utf-8")
    if "compiled" in fault.text():  # Numba sees no change in a function that another file calls
        for compiled in faulty.rglob("*.nb[ci]"):
            compiled.unlink()
    status = tested(faulty, [*fault.flags, fault.test], quiet=True)
    shutil.rmtree(faulty)
    said = {PASSED: "SURVIVES", FAILED: "caught"}.get(status, f"NOT TESTED (pytest ends with {status})")
    seconds = sum(os.times()[2:4]) - sum(began[2:4])  # of processors, in processes that have ended
    print(f"{said:>8} {seconds:4.0f} s  {fault.file}: {fault.breaks}", flush=True)
    return status == FAILED


def tested(sources: Path, words: Iterable[str], *, quiet: bool = False) -> int:
    """Pytest's exit status, of tests as they are here and sources as they are there."""
    path = os.pathsep.join(str(sources / source) for source in SOURCES)
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *words]
    environment = os.environ | {"PYTHONPATH": path, "CI": "true"}  # nothing is skipped
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=quiet, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
