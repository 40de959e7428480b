"""Functions that the scripts docs/measure_*.py share; and all of them, whole, against the tables that are
committed.

    .venv/bin/python docs/measuring.py

runs each into a temporary folder, which takes an hour or two, and tells where a table is another than that of
docs/measured/. A script names its tables as WRITES, and has the options of `parser`: with --small it measures
next to nothing, to show within seconds that it works.
"""

from __future__ import annotations

import argparse
import importlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")
_VERSIONS = re.compile(r"[;,.]? Python \S+, NumPy \S+, \w+")


@dataclass(frozen=True)
class Table:
    """A table that a script writes, and how far another run of it may be from the one that is committed."""

    name: str
    """Name of its file in docs/measured/, without the suffix."""
    apart: float = 0.0
    """Two numbers may differ by this share of the larger."""
    free: tuple[int, ...] = ()
    """Columns, from 0, whose numbers may be any: seconds."""


def parser(doc: str | None) -> argparse.ArgumentParser:
    """The options that every script has. `doc` is its own description."""
    found = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("--small", action="store_true", help="measure next to nothing, to see that it works")
    found.add_argument("--out", type=Path, default=HERE, help="the folder of measured/ and images/")
    return found


def write(out: Path, name: str, lines: Iterable[str]) -> None:
    """Write and print a table."""
    text = "\n".join(lines) + "\n"
    (path := out / "measured" / f"{name}.md").parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    print(text)


def picture(out: Path, name: str) -> Path:
    """Return the path at which a picture is to be saved."""
    (path := out / "images" / f"{name}.png").parent.mkdir(parents=True, exist_ok=True)
    return path


def scripts() -> list[str]:
    """Their names, as modules."""
    return sorted(path.stem for path in HERE.glob("measure_*.py"))


def tables_of(script: str) -> tuple[Table, ...]:
    found: tuple[Table, ...] = importlib.import_module(script).WRITES
    return found


def differences(table: Table, committed: str, made: str) -> Iterator[str]:
    """Find the lines in which a table differs from the one that is committed."""
    ours, theirs = (_VERSIONS.sub("", text).splitlines() for text in (made, committed))
    if len(ours) != len(theirs):
        yield f"{len(ours)} lines; want {len(theirs)}"
    for line, wanted in zip(ours, theirs, strict=False):
        if not _is_near(table, line, wanted):
            yield f"got  {line}\n    want {wanted}"


def _is_near(table: Table, line: str, wanted: str) -> bool:
    cells, others = line.strip("|").split("|"), wanted.strip("|").split("|")
    if len(cells) != len(others) or _NUMBER.split(line) != _NUMBER.split(wanted):
        return False
    pairs = enumerate(zip(cells, others, strict=True))
    return all(k in table.free or _are_near(table.apart, *pair) for k, pair in pairs)


def _are_near(apart: float, cell: str, other: str) -> bool:
    numbers = [[float(word.replace(",", "")) for word in _NUMBER.findall(text)] for text in (cell, other)]
    return all(abs(a - b) <= apart * max(a, b) for a, b in zip(*numbers, strict=True))


def main() -> int:
    """Count the tables that differ from those that are committed."""
    different = 0
    with tempfile.TemporaryDirectory() as folder:
        for script in scripts():
            print(f"{script}: measuring", flush=True)
            subprocess.run(
                [sys.executable, HERE / f"{script}.py", "--out", folder], check=True, stdout=sys.stderr
            )
            for table in tables_of(script):
                committed, made = (path / "measured" / f"{table.name}.md" for path in (HERE, Path(folder)))
                found = list(differences(table, committed.read_text("utf-8"), made.read_text("utf-8")))
                different += bool(found)
                print(
                    f"{table.name}: {'another' if found else 'as committed'}",
                    *found,
                    sep="\n    ",
                    flush=True,
                )
    return different


if __name__ == "__main__":
    sys.exit(main())
