"""The review: what will leave this computer under the plan that was accepted, as JSON and as a page to keep.

The page is for the ethics file: beside the table it names the study, the plan's hash, who takes part, the
compensator, the data files, and this program. It is one file of HTML that loads nothing and runs nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from datetime import datetime
from importlib.metadata import version
from typing import Any

from unpooled.described.facts import plan_facts
from unpooled.described.parties import what_parties_get
from unpooled.described.what_leaves import COHORT_SUMS, Leaving, without_compensator
from unpooled.pages.page import Html, document, facts, joined, mark, section, table, tag
from unpooled.protocol.sealing import fingerprint
from unpooled_client import PROGRAM
from unpooled_client.sentences import sentences
from unpooled_client.state.folder import Agreement, Saved

_NEVER = (
    "The data files, and any value, ID or name in them beyond this table. Files, lines, IDs, values and the "
    "text of errors stay on this computer. Headers of messages carry this cohort's token and the time."
)
_APART = (
    "A masked number says nothing without its mask. The compensator has the masks and never a masked number; "
    "the server has the masked numbers and never a mask. So nobody reads this cohort's numbers, as long as "
    "server and compensator are run by different people who do not work together."
)
_BUT_COHORT_SUMS = f" This plan allows one exception: see “{COHORT_SUMS}” in the table."
_ONE_OPERATOR = (
    "Server and compensator are run by the same people. Together they have masks and masked numbers: nothing "
    "is hidden from them."
)


def as_json(saved: Saved, agreement: Agreement) -> dict[str, Any]:
    """The review in plain values; `amount` is a row's size in words."""
    rows = agreement.leaves(saved.sizes)
    return {
        "study": saved.invitation.study,
        "name": agreement.study,
        "cohort": saved.cohort,
        "server": saved.invitation.server,
        "plan_hash": agreement.plan.hash().hex(),
        "roster_hash": agreement.roster.hash().hex(),
        "compensator": agreement.compensator,
        "one_operator": agreement.one_operator,
        "version": version(PROGRAM),
        "sizes": saved.sizes,
        "released": saved.is_released,
        "few_apart": [sentences.apart(each) for each in saved.few_apart],
        "summary": [list(row) for row in sentences.summary_rows(rows, saved.sizes)],
        "leaves": [dataclasses.asdict(row) | {"amount": sentences.how_much(row)} for row in rows],
    }


def review_page(saved: Saved, agreement: Agreement, when: datetime) -> str:
    """The review as a document of HTML, made at `when`."""
    rows = agreement.leaves(saved.sizes)
    apart = [tag("p", sentences.apart(few)) for few in saved.few_apart]
    return document(
        "What leaves this computer",
        section("In short", *_short(saved, agreement, rows)),
        *([section("Few apart from an earlier study", *apart)] if apart else []),
        section("What will leave, in short", facts(sentences.summary_rows(rows, saved.sizes))),
        section("What will leave", _table(rows), tag("p", sentences.in_all(rows))),
        section("What will not leave", tag("p", _NEVER)),
        section("What each party gets", _parties(agreement)),
        section("Who takes part", _roster(saved, agreement)),
        section("The plan", facts(plan_facts(agreement.plan).all)),
        section("This cohort's files, which stay here", _files(saved)),
        about=f"{agreement.study}, cohort {saved.cohort}. {when:%Y-%m-%d %H:%M}. Made on this computer, from "
        "what the steps of the study declare; nothing was sent for it.",
    )


def _short(saved: Saved, agreement: Agreement, rows: Iterable[Leaving]) -> Iterable[Html]:
    released = (
        mark("good", "✓ released: it may leave")
        if saved.is_released
        else joined((mark("plain", "not released yet"), " nothing of the data has left"))
    )
    yield facts(
        [
            ("Study", f"{agreement.study} ({saved.invitation.study})"),
            ("Cohort", saved.cohort),
            ("Server", saved.invitation.server),
            ("Plan hash", tag("code", agreement.plan.hash().hex())),
            ("Roster hash", tag("code", agreement.roster.hash().hex())),
            ("Compensator", tag("code", agreement.compensator) if agreement.compensator else "none"),
            ("Program", f"{PROGRAM} {version(PROGRAM)}, protocol version {agreement.plan.version}"),
            ("State", released),
            ("How much", sentences.in_all(rows)),
        ]
    )
    if agreement.plan.in_pairs:
        yield tag(
            "p",
            without_compensator(agreement.plan),
            ".",
            _BUT_COHORT_SUMS if agreement.plan.shows_cohort_sums else "",
        )
    elif agreement.one_operator:
        yield tag("p", mark("bad", "one operator: not blind"), " ", _ONE_OPERATOR)
    else:
        yield tag("p", _APART, _BUT_COHORT_SUMS if agreement.plan.shows_cohort_sums else "")


def _table(rows: Iterable[Leaving]) -> Html:
    heads = ["what", "how much", "in which form, to whom", "what it tells"]
    return table(
        "Everything that this computer will send, in the order in which it is sent",
        heads,
        [
            [
                _two(row.what, row.detail),
                _two(sentences.how_much(row), row.shape),
                _two(f"{row.form}, to {row.to}", f"readable by: {row.readable_by}"),
                row.learns,
            ]
            for row in rows
        ],
    )


def _two(first: str, second: str) -> Html:
    """A line, and a smaller one below it."""
    return tag("div", *([first] if first else []), tag("div", second, class_="more"))


def _parties(agreement: Agreement) -> Html:
    caption = "For the server, the compensator, each cohort and the coordinator"
    if agreement.plan.in_pairs:
        caption = "For the server, each cohort and the coordinator: there is no compensator"
    elif agreement.one_operator:
        caption = "If server and compensator were run by different people; here they are not"
    parties = what_parties_get(agreement.plan)
    rows = [[party.name, party.gets, party.reads, party.never] for party in parties]
    return table(caption, ["party", "gets", "can read", "never gets"], rows)


def _roster(saved: Saved, agreement: Agreement) -> Html:
    rows = [
        [f"{name} (this cohort)" if name == saved.cohort else name, tag("code", fingerprint(key))]
        for name, key in agreement.roster.members
    ]
    return table("Compare the fingerprints by telephone", ["cohort", "fingerprint of its key"], rows)


def _files(saved: Saved) -> Html:
    def told(name: str) -> list[str]:
        file = saved.files[name]
        digest = f"{file.digest} (of parts of the file)" if file.sampled else file.digest
        return [name, f"{file.size:,}", tag("code", digest)]

    return table(
        "As they were when they were checked", ["file", "bytes", "SHA-256"], map(told, saved.files), {1}
    )
