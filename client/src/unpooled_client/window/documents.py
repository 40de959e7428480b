"""Texts to read, as simple HTML for a text view. Every word from outside is escaped; no links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from unpooled.described.facts import plan_facts
from unpooled.plan.plan import Plan
from unpooled.protocol.sealing import grouped
from unpooled_client.sentences import sentences
from unpooled_client.state.events import Proposal, ReviewNeeded
from unpooled_client.state.folder import Agreement
from unpooled_client.window.model import Card
from unpooled_client.window.wording import name_and_option

ONE_OPERATOR = (
    "One operator: not blind. Server and compensator are run by the same people, "
    "so masks hide nothing from them."
)

NO_COMPENSATOR_SAID = "none: each two cohorts share masks"


def heading(text: str) -> str:
    return f"<h3>{escape(text)}</h3>"


def paragraph(text: str) -> str:
    return f"<p>{_lines(text)}</p>"


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """Names at the left, what they are at the right."""
    left = '<td class="muted" width="190" style="padding-right: 18px">'
    cells = (f"<tr>{left}{_label(name)}</td><td>{_lines(value)}</td></tr>" for name, value in rows)
    return f'<table cellpadding="2">{"".join(cells)}</table>'


def _label(text: str) -> str:
    name, option = name_and_option(text)
    return escape(name) + (f' <span class="small">{escape(option)}</span>' if option else "")


def card(shown: Card, muted: str) -> str:
    """The text of a card: title, what, and its details, their names in the colour `muted`."""
    text = f'<span style="font-weight: 600">{escape(shown.title)}</span>'
    if shown.text:
        text += f"<br>{_lines(shown.text)}"
    left = f'<td style="padding-right: 14px; color: {muted}">'
    rows = "".join(
        f"<tr>{left}{escape(name)}</td><td>{_lines(value)}</td></tr>" for name, value in shown.rows
    )
    return text + (
        f'<table cellpadding="0" cellspacing="0" style="margin-top: 4px">{rows}</table>' if rows else ""
    )


def proposal(event: Proposal, *, study: str = "", server: str = "") -> str:
    """Describe a study's request: who asks for what, and with whom."""
    rows = [(name, value) for name, value in (("Study", study), ("Server", server)) if value]
    parts = [facts(rows)] if rows else []
    if isinstance(event, ReviewNeeded):
        parts += [paragraph(text) for text in _why_anew(event)]
    parts.append(_warning(event.one_operator))
    if event.description.strip():
        parts += [heading("In the coordinator's words (not part of the plan)"), _quote(event.description)]
    parts.append(_plan(event.plan, event.plan_hash))
    return "".join(parts)


def _why_anew(event: ReviewNeeded) -> list[str]:
    """Why there is something to accept anew."""
    repeats = [sentences.repeats(event)] if event.repeats else []
    return [*repeats, sentences.changed(event)] if event.changed else repeats


def _warning(one_operator: bool) -> str:
    return f"<p><b>{escape(ONE_OPERATOR)}</b></p>" if one_operator else ""


def agreement(agreed: Agreement) -> str:
    """Describe what a person has accepted."""
    return _warning(agreed.one_operator) + _plan(agreed.plan, agreed.plan.hash().hex())


def _plan(plan: Plan, plan_hash: str) -> str:
    return (
        heading("What is asked for: the plan")
        + facts(plan_facts(plan).all)
        + paragraph(f"Plan hash, the same at every cohort: {grouped(plan_hash)}")
    )


def hashes(roster_hash: str, compensator: str) -> str:
    """Describe the other values to compare by telephone."""
    roster = [("Roster hash, the same at every cohort", grouped(roster_hash))] if roster_hash else []
    if not compensator:
        return facts([*roster, ("Compensator", NO_COMPENSATOR_SAID)])
    return facts([*roster, ("Compensator's fingerprint, as in your invitation", compensator)])


def _quote(text: str) -> str:
    """The coordinator's words, each line marked: none can pass for the program's own."""
    lines = "".join(
        f"<tr><td>│ </td><td><i>{escape(line)}</i></td></tr>" for line in text.strip().split("\n")
    )
    return f'<table cellpadding="1">{lines}</table>'


def holdings(summary: Mapping[str, Any]) -> str:
    """Describe the content of the files, from the summary of a check."""
    parts = []
    for title, values in summary.items():
        for part in values if isinstance(values, list) else [values]:
            name = f"{title[:-1]} {part['name']}" if title in ("phenotypes", "covariates") else title
            rows = [(_capital(key), _value(value)) for key, value in part.items()]
            if known := [(key, value) for key, value in rows if value]:
                parts.append(heading(_capital(name)) + facts(known))
    return "".join(parts)


def _value(value: Any) -> str:
    match value:
        case bool() | None:
            return "yes" if value else ""
        case Mapping():
            return " · ".join(f"{name}: {_value(part)}" for name, part in value.items() if part != 0)
        case list() | tuple():
            return ", ".join(map(_value, value))
        case float():
            return f"{value:.6g}"
        case int():
            return f"{value:,}"
    return str(value)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _lines(text: str) -> str:
    return escape(text).replace("\n", "<br>")
