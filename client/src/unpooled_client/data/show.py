"""A report for a person: rich on a terminal, plain lines elsewhere, and JSON. As a page: `check_page`."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from unpooled_client.data.findings.report import Finding, Report, Severity
from unpooled_client.data.samples.table import MATCHING
from unpooled_client.data.tables.categories import WORDS as WORDS_OF

# Of parts that are lists, with their names in them.
HEADINGS = {
    "phenotypes": "phenotype {name}",
    "covariates": "covariate {name}",
    MATCHING: "{name} beside the samples",
    WORDS_OF: "words of {name}",
}

# Never by colour alone: each severity has its word and its sign too.
WORDS = {Severity.ERROR: "✗ error", Severity.WARNING: "! warning", Severity.NOTE: "· note"}
_COLOURS = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}


def show(report: Report, console: Console) -> None:
    """Print findings, errors last, where a person looks first; then the summary and a verdict."""
    if console.is_terminal:
        _show_rich(report, console)
    else:
        console.file.write(as_text(report))


def as_json(report: Report) -> str:
    return json.dumps(report.to_json(), indent=2)


def as_text(report: Report) -> str:
    return "".join(f"{line}\n" for line in plain_lines(report))


def plain_lines(report: Report) -> list[str]:
    """The report as lines without colour, one finding after the other."""
    lines = []
    for finding in _ordered(report):
        lines.append(f"{finding.severity}: {headline(finding)} [{finding.code}]")
        lines += [f"    {name}: {value}" for name, value in details(finding)]
    for title, rows in _summary(report):
        lines += [f"{title}:", *(f"    {name}: {value}" for name, value in rows)]
    return [*lines, report.verdict]


def _ordered(report: Report) -> list[Finding]:
    return [f for severity in reversed(Severity) for f in report.of(severity)]


def headline(finding: Finding) -> str:
    """Return the place, message and count of a finding on one line."""
    where = f"{finding.where}: " if finding.where else ""
    return f"{where}{finding.message}{finding.times}"


def details(finding: Finding) -> list[tuple[str, str]]:
    """Return the further details of a finding, as (name, text)."""
    rows = [
        ("read", finding.read),
        ("expected", finding.expected),
        ("e.g.", "; ".join(finding.examples) if finding.count > 1 else None),
        ("remedy", finding.remedy),
    ]
    return [(name, value) for name, value in rows if value]


def _summary(report: Report) -> list[tuple[str, list[tuple[str, str]]]]:
    """The summary as (title, rows of name and value)."""
    parts = []
    for title, content in report.summary.items():
        for part in content if isinstance(content, list) else [content]:
            heading = HEADINGS.get(title, title).format(**part)
            elsewhere = {"distribution", "name"} if title in HEADINGS else {"distribution"}
            rows = [(name, in_words(value)) for name, value in part.items() if name not in elsewhere]
            parts.append((heading, [(name, value) for name, value in rows if value != ""]))
    return parts


def in_words(value: Any) -> str:
    """A value of the summary; of counts those that are none are left out."""
    if isinstance(value, dict):
        return " · ".join(f"{name}: {in_words(n)}" for name, n in value.items() if n != 0)
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _show_rich(report: Report, console: Console) -> None:
    for title, rows in _summary(report):
        table = Table(title=title, title_justify="left", show_header=False, box=None, padding=(0, 2))
        for name, value in rows:
            table.add_row(name, Text(value))
        console.print(Padding(table, (0, 0, 1, 0)))
    for finding in _ordered(report):
        word, style = WORDS[finding.severity], _COLOURS[finding.severity]
        lines = [Text.assemble((word, style), "  ", headline(finding), (f"  [{finding.code}]", "dim"))]
        lines += [Text.assemble((f"    {name:>8}  ", "dim"), value) for name, value in details(finding)]
        console.print(Group(*lines))
    console.print(Text(report.verdict, style="bold green" if report.ok else "bold red"))
