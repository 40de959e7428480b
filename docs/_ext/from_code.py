"""Parts of the documentation that are made from the code when it is built, so that they cannot go stale.

{leaves-the-cohort} chi-square     what the questions of an algorithm declare that cohorts send
{what-parties-get}                 what each party of a study of variants gets and can read
{methods}                          what people may want of a study, and the methods for it
{plan-options}                     the options that tests and methods declare
{templates}                        the templates that they declare
{run-example} examples/mask.py     a program and what it prints; the build fails if the program does
{command-help} unpooled rehearse   what the command says of itself with --help
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from unpooled.asking.question import Question, Real, Residue, Sent
from unpooled.described.parties import what_parties_get
from unpooled.methods import ALGORITHMS
from unpooled.methods.algorithm import Method
from unpooled.methods.components.questions import KeepScores
from unpooled.methods.loco.procedure import BEFORE
from unpooled.methods.phenotypes import CountApart
from unpooled.methods.presence import Presence
from unpooled.methods.purpose import Purpose
from unpooled.plan.plan import NO_KEY, Plan

SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")

# What is asked outside an algorithm: the panel of a study that goes by a coordinator's list, which people
# have which of several phenotypes, and what gives components that are covariates.
QUESTIONS: dict[str, tuple[type[Question], ...]] = {
    "panel": (Presence,),
    "phenotypes": (CountApart,),
    "components": (*ALGORITHMS["pca"].asks, KeepScores),
    "predictions": BEFORE,
    **{name: algorithm.asks for name, algorithm in ALGORITHMS.items()},
}


class LeavesTheCohort(SphinxDirective):
    """A table of every array that the questions of one algorithm declare."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        return self.parse_text_to_nodes("\n".join(table(self.arguments[0])))


def table(of: str) -> Iterator[str]:
    """Lines of a Markdown table: one row for each array that leaves a cohort."""
    heads = ("Question", "What leaves the cohort", "Shape", "Largest value", "Sent as", "What the sum tells")
    yield f"| {' | '.join(heads)} | Told to |"
    yield f"{'| --- ' * 7}|"
    for kind in QUESTIONS[of]:
        for array in kind.sends:
            what = f"`{array.name}`: {array.meaning}"
            cells = (
                kind.title,
                what,
                _shape(array),
                _bound(kind, array),
                _form(kind, array),
                _tells(kind, array),
                _whom(kind, ALGORITHMS.get(of, ALGORITHMS["pca"])),
            )
            yield f"| {' | '.join(cells)} |"


def _shape(array: Sent) -> str:
    return " by ".join(str(dim).replace("_", " ") for dim in array.dims) or "1"


def _tells(kind: type[Question], array: Sent) -> str:
    return f"{array.learns}. Told is {kind.opens.learns}" if kind.opens else array.learns


def _whom(kind: type[Question], method: Method) -> str:
    def is_told(*files: str) -> bool:
        # What conditions read of a plan; that of a table would need columns, too.
        plan: Any = SimpleNamespace(test=method.name, files=(*method.usual_files, *files), options=())
        return not kind.only_server(plan)

    if is_told():
        return "server, cohorts"
    more = [f"`{file}`" for file in method.files if is_told(file)]
    return f"server; with the file {', '.join(more)} cohorts, too" if more else "server"


def _bound(kind: type[Question], array: Sent) -> str:
    if isinstance(array, Residue):
        return "any"
    if isinstance(fixed := getattr(kind, str(array.bound), None), int | float):
        return f"{fixed:g}"
    if isinstance(array.bound, str):
        return "from the number of people in the question"
    return f"{array.bound:,}"


def _form(kind: type[Question], array: Sent) -> str:
    sent = _fixed_point(kind, array) if isinstance(array, Real) else "whole numbers"
    ring = str(kind.ring_bits).translate(SUPERSCRIPT)
    return f"{sent}, masked modulo 2{ring}"


def _fixed_point(kind: type[Question], array: Real) -> str:
    bits = getattr(kind, str(array.fraction_bits), array.fraction_bits)
    return f"fixed point, {bits if isinstance(bits, int) else 'as many as fit'} bits after the point"


class WhatPartiesGet(SphinxDirective):
    """A table of the parties, as a chi-square study's page of privacy has it."""

    def run(self) -> list[nodes.Node]:
        lines = ["| Party | Gets | Can read | Never gets |", "| --- | --- | --- | --- |"]
        plan = Plan("chi-square", "phenotype", 3, compensator_key=NO_KEY)
        for party in what_parties_get(plan):
            cells = (party.name.capitalize(), party.gets, party.reads, party.never)
            lines.append(f"| {' | '.join(cells)} |")
        return self.parse_text_to_nodes("\n".join(lines))


class Methods(SphinxDirective):
    """A table of the methods for each purpose."""

    def run(self) -> list[nodes.Node]:
        return self.parse_text_to_nodes("\n".join(methods_table()))


def methods_table() -> Iterator[str]:
    """Lines of a Markdown table: one row for each purpose."""
    yield "| What you want | It answers | Tests and methods |"
    yield "| --- | --- | --- |"
    for purpose in Purpose:
        of = [f"{each.title} (`{each.name}`)" for each in ALGORITHMS.values() if each.purpose is purpose]
        yield f"| {purpose.title} | {purpose.hint} | {'; '.join(of)} |"


class PlanOptions(SphinxDirective):
    """A table of the declared options of every test and method."""

    def run(self) -> list[nodes.Node]:
        return self.parse_text_to_nodes("\n".join(options_table()))


def options_table() -> Iterator[str]:
    """Lines of a Markdown table: one row for each option."""
    yield "| Field | Flag | What it is | Takes | If not said | Of |"
    yield "| --- | --- | --- | --- | --- | --- |"
    declared = {option.name: option for method in ALGORITHMS.values() for option in method.all_options}
    for option in declared.values():
        of = ", ".join(method.name for method in ALGORITHMS.values() if option in method.all_options)
        flag = f"`{option.flag}`" if option.flag else ""
        default = f"`{json.dumps(option.to_json(option.default))}`"
        what = f"{option.label}. {option.explained}".strip()
        yield f"| `{option.name}` | {flag} | {what} | {option.wanted} | {default} | {of} |"


class Templates(SphinxDirective):
    """A table of the declared templates of every test and method."""

    def run(self) -> list[nodes.Node]:
        return self.parse_text_to_nodes("\n".join(templates_table()))


def templates_table() -> Iterator[str]:
    """Lines of a Markdown table: one row for each template."""
    yield "| What you want | Template | What it is for | Test or method | What it sets |"
    yield "| --- | --- | --- | --- | --- |"
    for method in ALGORITHMS.values():
        for template in method.templates:
            values = [
                option.name_and_flag if value is True else f"{option.name_and_flag}: {option.shown(value)}"
                for option, value in template.options.items()
            ]
            files = [f"result files: {', '.join(template.files)}"] if template.files else []
            sets = "; ".join([*values, *files])
            about = f"{template.title}. {template.hint}"
            yield f"| {method.purpose.title} | `{template.name}` | {about} | {method.name} | {sets} |"


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
        "unpooled-client": "unpooled_client.commands.cli",
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
    """Return what a Python program prints; an error of the build if it fails."""
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
    app.add_directive("methods", Methods)
    app.add_directive("plan-options", PlanOptions)
    app.add_directive("templates", Templates)
    app.add_directive("run-example", RunExample)
    app.add_directive("command-help", CommandHelp)
    app.add_directive("rest-table", RestTable)
    return {"parallel_read_safe": True}
