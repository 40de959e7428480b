"""Loading of modules: people wait for it at every command, and each party of a study once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable

import pytest

from unpooled.methods import ALGORITHMS

HELP = """
from unpooled_client.commands.cli import cli
cli(["check", "--help"], standalone_mode=False)
"""
TAKES_PART = """
import unpooled_client.study.engine
from unpooled.methods import check, questions_of, usual
from unpooled.described.facts import plan_facts
from unpooled.described.what_leaves import what_leaves
from unpooled.plan.plan import NO_KEY, Plan
plan = Plan(test={name!r}, phenotype="asthma", cohorts=3, compensator_key=NO_KEY, **usual({name!r}))
check(plan), questions_of(plan), plan_facts(plan), what_leaves(plan, {{}})
"""


def loaded(program: str) -> set[str]:
    """The modules that a program has loaded when it ends."""
    program += "\nimport json, sys\nprint('\\n' + json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def some_of(modules: Iterable[str], *packages: str) -> set[str]:
    return {name for name in modules for package in packages if f"{name}.".startswith(f"{package}.")}


def test_help_loads_nothing_that_reads_data() -> None:
    heavy = ("numpy", "numba", "scipy", "httpx", "rich", "cryptography")
    assert not some_of(loaded(HELP), *heavy, "unpooled.methods", "unpooled.formats")


@pytest.mark.parametrize(("name", "others"), [
    ("chi-square", ["learning", "tables", "components", "polygenic", "regression"]),
    ("linear", ["learning", "tables", "components.pca", "polygenic"]),
])  # fmt: skip
def test_a_client_loads_its_own_method_and_compiles_nothing_before_a_consent(
    name: str, others: list[str]
) -> None:
    assert name in ALGORITHMS
    has = loaded(TAKES_PART.format(name=name))
    assert "unpooled_client.study.engine" in has
    assert not some_of(has, "numba", "scipy.stats", *(f"unpooled.methods.{each}" for each in others))
