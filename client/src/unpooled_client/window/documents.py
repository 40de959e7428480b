"""What there is to read, as simple HTML for a text view. Every word from outside is escaped; no links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from unpooled.facts import plan_facts
from unpooled.plan import Plan
from unpooled.protocol.messages import Roster, digest
from unpooled.protocol.sealing import fingerprint
from unpooled_client.state.events import Proposal, ReviewNeeded
from unpooled_client.state.folder import Agreement
from unpooled_client.window.model import Card
from unpooled_client.words import sentences
from unpooled_client.words.page import Html, joined, tag

ONE_OPERATOR = (
    "One operator: not blind. Server and compensator are run by the same people, "
    "so masks hide nothing from them."
)
# Never by colour alone: each severity has its sign and its word.
_SIGNS = {"error": "✗ Error", "warning": "! Warning", "note": "· Note"}


def heading(text: str) -> str:
    return f"<h3>{escape(text)}</h3>"


def paragraph(text: str) -> str:
    return f"<p>{_lines(text)}</p>"


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """Names at the left, what they are at the right."""
    cells = (
        f'<tr><td style="padding-right: 14px">{escape(name)}</td><td><b>{_lines(value)}</b></td></tr>'
        for name, value in rows
    )
    return f'<table cellpadding="3">{"".join(cells)}</table>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]], widths: Sequence[int] = ()) -> str:
    """A table with a line of titles; `widths` of its columns in percent, 0 or none as their words need it."""
    given = [f' width="{width}%"' if width else "" for width in widths] or [""] * len(head)
    titles = "".join(
        f'<th align="left"{width}>{escape(title)}</th>' for title, width in zip(head, given, strict=True)
    )
    lines = ("".join(f'<td valign="top">{_cell(cell)}</td>' for cell in row) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    style = 'border="1" cellspacing="0" cellpadding="4" style="border-collapse: collapse" width="100%"'
    return f"<table {style}><thead><tr>{titles}</tr></thead>{body}</table>"


def _cell(content: str) -> str:
    return content if isinstance(content, Html) else _lines(content)


def card(shown: Card) -> str:
    """The text of a card: title, what, and its details."""
    text = f"<p><b>{escape(shown.title)}</b></p>" + (paragraph(shown.text) if shown.text else "")
    rows = "".join(
        f'<tr><td style="padding-right: 14px">{escape(name)}</td><td>{_lines(value)}</td></tr>'
        for name, value in shown.rows
    )
    return text + (f'<table cellpadding="1">{rows}</table>' if rows else "")


def proposal(event: Proposal, *, study: str = "", server: str = "") -> str:
    """Who asks for what, and with whom."""
    rows = [(name, value) for name, value in (("Study", study), ("Server", server)) if value]
    parts = [facts(rows)] if rows else []
    if isinstance(event, ReviewNeeded) and event.changed:
        parts.append(paragraph(sentences.changed(event)))
    parts.append(_warning(event.one_operator))
    if event.description.strip():
        parts += [heading("In the coordinator's words (not part of the plan)"), _quote(event.description)]
    parts.append(_plan(event.plan, event.plan_hash))
    if isinstance(event, ReviewNeeded):
        parts.append(_roster(event.roster, event.roster_hash, event.cohort))
    return "".join([*parts, _compensator(event.compensator)])


def _warning(one_operator: bool) -> str:
    return f"<p><b>! {escape(ONE_OPERATOR)}</b></p>" if one_operator else ""


def agreement(agreed: Agreement, cohort: str, compensator: str) -> str:
    """What a person has accepted."""
    plan, roster = agreed.plan, agreed.roster
    return (
        _warning(agreed.one_operator)
        + _plan(plan, plan.hash().hex())
        + _roster(roster, digest(roster).hex(), cohort)
        + _compensator(compensator)
    )


def _plan(plan: Plan, plan_hash: str) -> str:
    return (
        heading("What is asked for: the plan")
        + facts(plan_facts(plan).all)
        + paragraph(f"Plan hash, the same at every cohort: {sentences.grouped(plan_hash)}")
    )


def _roster(roster: Roster, roster_hash: str, cohort: str) -> str:
    rows = [(f"{name} (you)" if name == cohort else name, fingerprint(key)) for name, key in roster.members]
    return (
        heading("With whom: compare these fingerprints by telephone")
        + table(("Cohort", "Fingerprint of its key"), rows)
        + paragraph(f"Roster hash, the same at every cohort: {sentences.grouped(roster_hash)}")
    )


def _compensator(shown: str) -> str:
    return heading("Compensator") + facts([("Fingerprint, as in your invitation", shown)])


def _quote(text: str) -> str:
    """The coordinator's words, each line marked: none can pass for the program's own."""
    lines = "".join(
        f"<tr><td>│ </td><td><i>{escape(line)}</i></td></tr>" for line in text.strip().split("\n")
    )
    return f'<table cellpadding="1">{lines}</table>'


def report(values: Mapping[str, Any]) -> str:
    """Findings of a check, the errors first; then the summary of what the files hold."""
    findings = values.get("findings", [])
    parts = [heading(verdict(values))]
    for severity, sign in _SIGNS.items():
        parts += [_finding(sign, finding) for finding in findings if finding["severity"] == severity]
    for title, rows in summary(values.get("summary", {})):
        parts += [heading(_capital(title)), facts(rows)]
    return "".join(parts)


def verdict(values: Mapping[str, Any]) -> str:
    findings = values.get("findings", [])
    errors, warnings = (sum(f["severity"] == kind for f in findings) for kind in ("error", "warning"))
    if errors:
        return f"Not ready: {_number(errors, 'error')} to fix, {_number(warnings, 'warning')}"
    return f"Ready: no errors, {_number(warnings, 'warning')}. Nothing was sent"


def _finding(sign: str, finding: Mapping[str, Any]) -> str:
    where = ":".join(str(finding[k]) for k in ("file", "line", "column") if finding.get(k) is not None)
    times = f" ({finding['count']:,} times)" if finding.get("count", 1) > 1 else ""
    rows = [
        ("Where", where),
        ("Read", finding.get("read")),
        ("Expected", finding.get("expected")),
        ("For example", "; ".join(finding.get("examples") or ()) if times else ""),
        ("What to do", finding.get("remedy")),
    ]
    told = "".join(
        f'<tr><td style="padding-right: 14px">{name}</td><td>{_lines(str(value))}</td></tr>'
        for name, value in rows
        if value
    )
    return f"<p><b>{sign}: {_lines(_capital(finding['message']))}{times}</b></p><table>{told}</table>"


def summary(content: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    """The summary of a check as (title, rows of name and value)."""
    parts = []
    for title, values in content.items():
        for part in values if isinstance(values, list) else [values]:
            if not isinstance(part, Mapping):
                part = {title: part}
            name = f"covariate {part.get('name', '')}" if title == "covariates" else title
            rows = [(_capital(str(key)), _value(value)) for key, value in part.items()]
            parts.append((name, [(key, value) for key, value in rows if value]))
    return [(title, rows) for title, rows in parts if rows]


def _value(value: Any) -> str:
    match value:
        case bool() | None:
            return "yes" if value else ""
        case Mapping():
            return ", ".join(f"{name}: {_value(part)}" for name, part in value.items())
        case list() | tuple():
            return ", ".join(map(_value, value))
        case float():
            return f"{value:.6g}"
        case int():
            return f"{value:,}"
    return str(value)


def leaving(rows: Iterable[Mapping[str, Any]], *, one_operator: bool) -> str:
    """What will leave this computer: a row for each quantity."""
    head = ("What", "How large", "To whom", "In which form", "What the receiver can learn")
    widths = (28, 0, 0, 0, 29)
    return _warning(one_operator) + table(head, (_leaving_row(row) for row in rows), widths)


def _leaving_row(row: Mapping[str, Any]) -> tuple[str, ...]:
    what = joined((tag("b", row["what"]), Html("<br>"), row["detail"]))
    size = f"{row['shape']}\n{row['amount']}"
    return what, size, row["to"], row["form"], row["learns"]


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _lines(text: str) -> str:
    return escape(text).replace("\n", "<br>")


def own_cohort(rows: Sequence[Mapping[str, str]]) -> str:
    """This cohort beside the pool: its strongest variants, or the columns of its table."""
    if rows and "SNP" not in rows[0]:
        names = ("COLUMN", "UNIT", "WHAT", "POOL", "OWN")
        cells = (
            [row["COLUMN"], row["UNIT"], row["WHAT"], *map(_short, (row["POOL"], row["OWN"]))] for row in rows
        )
        return table([name.capitalize() for name in names], cells)
    effect = "OR" if rows and "POOL_OR" in rows[0] else "BETA"
    head = ("Variant", "A1", f"{effect} pool", f"{effect} here", "P pool", "P here", "Same direction")
    return table(head, (_own_row(row, effect) for row in rows))


def _own_row(row: Mapping[str, str], effect: str) -> list[str]:
    place = f"{row['SNP']}\n{row['CHR']}:{row['BP']}"
    numbers = [_short(row[f"{whose}_{name}"]) for name in (effect, "P") for whose in ("POOL", "OWN")]
    return [place, row["A1"], *numbers, row["SAME_DIRECTION"]]


def _short(number: str) -> str:
    """A number with four digits; other words as they are."""
    try:
        return f"{float(number):.4g}"
    except ValueError:
        return number


def ledger(entries: Sequence[Mapping[str, Any]], *, most: int, is_whole: bool) -> str:
    """Everything that was sent, the latest first; `is_whole`: no line was changed or removed."""
    total = sum(entry["bytes"] for entry in entries)
    verdict = "✓ Verified: no line was changed or removed" if is_whole else "✗ A line was changed or removed"
    by_form: dict[str, int] = {}
    for entry in entries:
        by_form[entry["form"]] = by_form.get(entry["form"], 0) + entry["bytes"]
    sums = [(f"Of these {form}", sentences.size(count)) for form, count in by_form.items()]
    head = facts(
        [("In all", f"{sentences.size(total)} in {len(entries):,} messages"), *sums, ("Ledger", verdict)]
    )
    rows = [
        (
            entry["time"][:19].replace("T", " "),
            entry["quantity"],
            f"{entry['bytes']:,}",
            entry["form"],
            entry["to"],
        )
        for entry in reversed(entries[-most:])
    ]
    return head + table(("Time (UTC)", "What", "Bytes", "Form", "To"), rows)
