"""The tables of docs/measured/: each script runs small, and `make measured` notices what is another table."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from .conftest import DOCS, documentation_script, needed

SCRIPTS = sorted(path.stem for path in DOCS.glob("measure_*.py"))
BUDGET = 300
"""Seconds, on a busy machine; alone each takes ten or less."""


@pytest.fixture(scope="module")
def measuring() -> ModuleType:
    return documentation_script("measuring")


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_runs_small_and_writes_tables_of_the_committed_form(script: str, tmp_path: Path) -> None:
    if script == "measure_heterogeneity":
        needed(shutil.which("plink1.9"), "plink1.9", "plink1.9")
    command = [sys.executable, DOCS / f"{script}.py", "--small", "--out", tmp_path]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=BUDGET)
    tables = [table.name for table in documentation_script(script).WRITES]
    assert sorted(path.stem for path in (tmp_path / "measured").iterdir()) == sorted(tables)
    for table in tables:
        made, committed = (
            (folder / "measured" / f"{table}.md").read_text("utf-8").splitlines()
            for folder in (tmp_path, DOCS)
        )
        assert made[:2] == committed[:2] and made[1].startswith("| ---")
        rows = [line for line in made[2:] if line.startswith("|")]
        wanted = [form(line) for line in committed[2:] if line.startswith("|")]
        assert rows and all(form(row) in wanted for row in rows)
        assert made[2 + len(rows) :] == [] or made[2 + len(rows)] == ""


def form(row: str) -> list[bool]:
    """In which cells of a row numbers stand."""
    return [bool(re.search(r"\d", cell)) for cell in row.split("|")]


def test_every_table_is_of_one_script_and_committed() -> None:
    tables = [table.name for script in SCRIPTS for table in documentation_script(script).WRITES]
    assert sorted(tables) == sorted(path.stem for path in (DOCS / "measured").iterdir())


COMMITTED = """\
| Size | Found | Seconds |
| --- | ---: | ---: |
| 1,000 | 1.50 → 2e-3 | 4.1 |

Of 3 cohorts; Python 3.11.7, NumPy 2.4.6, x86_64.
"""


@pytest.mark.parametrize(
    ("old", "new", "apart", "same"),
    [
        ("1.50", "1.50", 0.0, True),
        ("4.1", "97.3", 0.0, True),
        ("3.11.7, NumPy 2.4.6, x86_64", "3.13.0, NumPy 2.5, aarch64", 0.0, True),
        ("1.50", "1.51", 0.0, False),
        ("1.50", "1.51", 0.01, True),
        ("2e-3", "2.1e-3", 0.01, False),
        ("1,000", "2,000", 0.01, False),
        ("Of 3", "Of 4", 0.01, False),
        ("Found", "Lost", 1.0, False),
        ("| 4.1 |", "| none |", 1.0, False),
        ("\n\nOf", "\n| 1 | 1 | 1 |\n\nOf", 1.0, False),
    ],
)
def test_another_table_is_noticed(
    measuring: ModuleType, old: str, new: str, apart: float, same: bool
) -> None:
    table = measuring.Table("x", apart, free=(2,))
    made = COMMITTED.replace(old, new)
    assert made.count(new) == 1 or old == new
    assert (list(measuring.differences(table, COMMITTED, made)) == []) == same
