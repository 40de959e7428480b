"""Parts of the documentation that are made from the code when it is built, so that they cannot go stale.

{leaves-the-cohort} chi-square     what the steps of an algorithm declare that cohorts send
{what-parties-get}                 what each party of a study of variants gets and can read
{run-example} examples/mask.py     a program and what it prints; the build fails if the program does
{command-help} unpooled rehearse   what the command says of itself with --help
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from unpooled.algorithms import ALGORITHMS
from unpooled.algorithms.presence import Presence
from unpooled.leaving import what_parties_get
from unpooled.plan import Plan
from unpooled.step import Count, Real, Step

SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")

# What is asked outside an algorithm: the panel of a study that goes by a coordinator's list.
STEPS: dict[str, tuple[type[Step], ...]] = {
    "panel": (Presence,),
    **{name: algorithm.steps for name, algorithm in ALGORITHMS.items()},
}


class LeavesTheCohort(SphinxDirective):
    """A table of every array that the steps of one algorithm declare."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        return self.parse_text_to_nodes("\n".join(table(self.arguments[0])))


def table(of: str) -> Iterator[str]:
    """Lines of a Markdown table: one row for each array that leaves a cohort."""
    yield "| Step | What leaves the cohort | Shape | Largest value | Sent as | What the sum tells |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for step in STEPS[of]:
        for array in step.sends:
            what = f"`{array.name}`: {array.meaning}"
            cells = (step.title, what, _shape(array), _bound(array), _form(step, array), array.learns)
            yield f"| {' | '.join(cells)} |"


def _shape(array: Count | Real) -> str:
    return " by ".join(str(dim).replace("_", " ") for dim in array.dims) or "1"


def _bound(array: Count | Real) -> str:
    if isinstance(array.bound, str):
        return "from the number of people in the question"
    return f"{array.bound:,}"


def _form(step: type[Step], array: Count | Real) -> str:
    kind = "whole numbers" if isinstance(array, Count) else _fixed_point(array)
    ring = str(step.ring_bits).translate(SUPERSCRIPT)
    return f"{kind}, masked modulo 2{ring}"


def _fixed_point(array: Real) -> str:
    bits = array.fraction_bits
    return f"fixed point, {bits if isinstance(bits, int) else 'as many as fit'} bits after the point"


class WhatPartiesGet(SphinxDirective):
    """A table of the parties, as a chi-square study's page of privacy has it."""

    def run(self) -> list[nodes.Node]:
        lines = ["| Party | Gets | Can read | Never gets |", "| --- | --- | --- | --- |"]
        plan = Plan("chi-square", "phenotype", 3, compensator_key=bytes(32))
        for party in what_parties_get(plan):
            cells = (party.name.capitalize(), party.gets, party.reads, party.never)
            lines.append(f"| {' | '.join(cells)} |")
        return self.parse_text_to_nodes("\n".join(lines))


class RunExample(SphinxDirective):
    """The text of a program, and its output."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        relative, path = self.env.relfn2path(self.arguments[0])
        self.env.note_dependency(relative)
        self.env.note_reread()  # its output depends on the library too
        source = Path(path).read_text(encoding="utf-8")
        return [_literal(source, "python"), _literal(run_python([path]), "text")]


class CommandHelp(SphinxDirective):
    """`--help` of one of our commands, run as its module."""

    required_arguments = 1
    final_argument_whitespace = True

    MODULES = {  # noqa: RUF012
        "unpooled": "unpooled_webapp.cli",
        "unpooled-client": "unpooled_client.cli",
        "unpooled-compensator": "unpooled_compensator.cli",
    }

    def run(self) -> list[nodes.Node]:
        program, *words = self.arguments[0].split()
        self.env.note_reread()
        arguments = [program, *words, "--help"]
        call = f"import sys; sys.argv = {arguments!r}; from {self.MODULES[program]} import main; main()"
        return [_literal(run_python(["-c", call]), "text")]


class RestTable(SphinxDirective):
    """The coordinator's API, from its schema."""

    def run(self) -> list[nodes.Node]:
        self.env.note_reread()
        return self.parse_text_to_nodes(run_python([str(Path(__file__).with_name("rest_table.py"))]))


def run_python(arguments: list[str]) -> str:
    """What a Python program prints; an error of the build if it fails."""
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "96", "TERM": "dumb", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"},
    )
    if done.returncode:
        raise ExtensionError(f"{' '.join(arguments)} failed:\n{done.stderr}")
    return done.stdout


def _literal(text: str, language: str) -> nodes.Node:
    plain = text.strip("\n")
    block = nodes.literal_block(plain, plain)
    block["language"] = language
    return block


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("leaves-the-cohort", LeavesTheCohort)
    app.add_directive("what-parties-get", WhatPartiesGet)
    app.add_directive("run-example", RunExample)
    app.add_directive("command-help", CommandHelp)
    app.add_directive("rest-table", RestTable)
    return {"parallel_read_safe": True}
