"""Rows of the window's tables, from what commands and files tell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from unpooled.described.facts import Change
from unpooled.protocol.messages import Roster
from unpooled.protocol.sealing import fingerprint
from unpooled_client.data.findings.report import Finding, Severity
from unpooled_client.sentences import sentences
from unpooled_client.window.model import Tone
from unpooled_client.window.tables import Cell, Column, Row, number, strong
from unpooled_client.window.wording import in_window, name_and_option

_SEVERITIES = {Severity.ERROR: Tone.PROBLEM, Severity.WARNING: Tone.WARNING, Severity.NOTE: Tone.LATER}

# Who takes part

ROSTER = (Column("Cohort", 1), Column("Fingerprint of its key", 3))


def roster(members: Roster, own: str) -> list[Row]:
    """The cohorts with what is compared by telephone."""
    rows = ((f"{name} (you)" if name == own else name, key) for name, key in members.members)
    return [[strong(name), fingerprint(key)] for name, key in rows]


CHANGES = (Column("What", 2), Column("Before", 3), Column("Now", 3))


def changes(found: Iterable[Change]) -> list[Row]:
    """Return a row for each change since acceptance."""
    return [[strong(*name_and_option(change.label)), change.before, change.after] for change in found]


# What a check found

FINDINGS = (Column("Finding", 5), Column("Where", 2))


def findings(found: Iterable[Finding]) -> list[Row]:
    return [
        [Cell(_message(one), tone=_SEVERITIES[one.severity], order=rank), Path(one.where).name]
        for rank, one in enumerate(found)
    ]


def details(finding: Finding) -> list[tuple[str, str]]:
    """Return the details of one finding, by name."""
    known = [
        ("What", _message(finding)),
        ("Where", finding.where),
        ("Read", finding.read),
        ("Expected", finding.expected),
        ("For example", "; ".join(finding.examples) if finding.times else ""),
        ("What to do", finding.remedy),
    ]
    return [(name, in_window(value)) for name, value in known if value]


def _message(finding: Finding) -> str:
    message = in_window(finding.message)
    return f"{message[:1].upper()}{message[1:]}{finding.times}"


# What leaves this computer, and what has left

LEAVES = (
    Column("What", 4),
    Column("How large", 3),
    Column("To whom"),
    Column("Form"),
    Column("What the receiver can learn", 4),
)


def leaving(rows: Iterable[Mapping[str, Any]]) -> list[Row]:
    """A row for each quantity."""
    return [
        [
            strong(row["what"], row["detail"]),
            Cell(row["amount"], row["shape"]),
            row["to"],
            row["form"],
            row["learns"],
        ]
        for row in rows
    ]


LEDGER = (
    Column("Time (UTC)"),
    Column("What", 4),
    Column("Bytes", is_number=True),
    Column("Form"),
    Column("To"),
)

Entries = Sequence[Mapping[str, Any]]


def ledger(entries: Entries, most: int) -> list[Row]:
    """The latest of everything that was sent, the latest first."""
    return [
        [
            entry["time"][:19].replace("T", " "),
            entry["quantity"],
            number(f"{entry['bytes']:,}", entry["bytes"]),
            entry["form"],
            entry["to"],
        ]
        for entry in reversed(entries[-most:])
    ]


def ledger_facts(entries: Entries, *, is_whole: bool) -> list[tuple[str, str]]:
    """Return the amounts that were sent, by form; `is_whole`: no line was changed or removed."""
    total = sum(entry["bytes"] for entry in entries)
    by_form: dict[str, int] = {}
    for entry in entries:
        by_form[entry["form"]] = by_form.get(entry["form"], 0) + entry["bytes"]
    return [
        ("In all", f"{sentences.size(total)} in {len(entries):,} messages"),
        *((f"Of these {form}", sentences.size(count)) for form, count in by_form.items()),
        (
            "Ledger",
            "Verified: no line was changed or removed" if is_whole else "A line was changed or removed",
        ),
    ]


# Results

FILES = (Column("File", 1), Column("Size", is_number=True))


def files(paths: Iterable[Path]) -> list[Row]:
    found = ((path.name, path.stat().st_size) for path in paths)
    return [[name, number(sentences.size(size), size)] for name, size in found]


def loci_columns(effect: str) -> tuple[Column, ...]:
    numbers = ("P", effect, "A1 frequency", "Variants")
    return (
        Column("Lead variant", 3),
        Column("Place", 3),
        Column("A1", 1),
        *(Column(title, is_number=True) for title in numbers),
    )


def loci(found: Iterable[Mapping[str, Any]]) -> list[Row]:
    """The strongest first; sorted by place they are in the genome's order."""
    return [
        [
            strong(row["id"]),
            Cell(f"{row['chromosome']}:{row['position']:,}", order=row["index"]),
            row["a1"],
            number(row["p"], -row["neg_log10_p"]),
            _known(row["effect"]),
            _known(row["a1_freq"]),
            number(f"{row['locus']['variants']:,}", row["locus"]["variants"]),
        ]
        for row in found
    ]


def _known(value: float | None) -> Cell:
    return Cell("") if value is None else number(f"{value:.4g}", value)


Own = Sequence[Mapping[str, str]]


def own_columns(rows: Own) -> tuple[Column, ...]:
    """Return the columns for this cohort beside the pool: its strongest variants, or the columns of its
    table.
    """
    if rows and "SNP" not in rows[0]:
        numbers = (Column("Pool", is_number=True), Column("Here", is_number=True))
        return Column("Column", 2), Column("Unit", 1), Column("What", 2), *numbers
    effect = _effect(rows)
    titles = (f"{effect} pool", f"{effect} here", "P pool", "P here")
    numbers_ = (Column(title, is_number=True) for title in titles)
    return Column("Variant", 3), Column("A1", 1), *numbers_, Column("Same direction")


def own(rows: Own) -> list[Row]:
    if rows and "SNP" not in rows[0]:
        return [
            [strong(row["COLUMN"]), row["UNIT"], row["WHAT"], _short(row["POOL"]), _short(row["OWN"])]
            for row in rows
        ]
    return [_own_variant(row, _effect(rows)) for row in rows]


def _effect(rows: Own) -> str:
    return "OR" if rows and "POOL_OR" in rows[0] else "BETA"


def _own_variant(row: Mapping[str, str], effect: str) -> Row:
    place = strong(row["SNP"], f"{row['CHR']}:{int(row['BP']):,}")
    numbers = [_short(row[f"{whose}_{name}"]) for name in (effect, "P") for whose in ("POOL", "OWN")]
    return [place, row["A1"], *numbers, row["SAME_DIRECTION"]]


def _short(text: str) -> Cell:
    """A number with four digits; other words as they are."""
    try:
        return number(f"{float(text):.4g}", float(text))
    except ValueError:
        return Cell(text)
