"""Events in the field's words, as lines of plain text."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Iterable, Mapping, Sequence

from unpooled.described.facts import plan_facts
from unpooled.described.what_leaves import (
    COHORT_SUMS,
    EVERYONE_BY_SUM,
    OPERATOR,
    PARTS,
    Leaving,
    most_bytes,
    usual_bytes,
    without_compensator,
)
from unpooled.methods import METHODS
from unpooled.protocol.sealing import fingerprint, grouped
from unpooled_client.sentences import in_short
from unpooled_client.state import events

_WIDTH = 100
_ONE_OPERATOR = (
    "  ONE OPERATOR: NOT BLIND. Server and compensator are run by the same people, "
    "so masks hide nothing from them"
)


def lines(event: events.Event) -> list[str]:
    """An event as a person reads it."""
    match event:
        case events.Joined():
            again = "Going on" if event.again else "Joined"
            return [
                f'{again}: study "{event.name}" as cohort {event.cohort}, at {event.server}',
                f"This cohort's key has the fingerprint {event.fingerprint}",
            ]
        case events.UpdateChecked():
            return [event.text]
        case events.ReviewNeeded():
            return review(event)
        case events.Proposal():
            return proposal(event)
        case events.Repeated():
            return [f'The study goes on as "{event.name}", with its state in {event.folder}']
        case events.Agreed():
            return ["Plan and roster accepted"]
        case events.ReleaseNeeded():
            return release(event)
        case events.Accepted():
            return ["What the masks are made from was sent, sealed"]
        case events.Checked():
            return checked(event)
        case events.PanelAgreed():
            return [f"Panel agreed: {event.variants:,} variants, of {event.own:,} in this cohort's list"]
        case events.StepProgress():
            answered = "" if event.unit == events.BYTES else " answered"
            return [f"{event.title}: {amount(event)}{answered}{_and_left(event)}"]
        case events.Sent():
            return [f"Sent: {event.quantity} ({size(event.bytes)}, {event.form})"]
        case events.Resumed():
            return ["The study goes on"]
        case events.Reachable():
            return [f"{event.server} answers again, after {duration(event.after)}"]
        case events.Results():
            return [f"Results: {len(event.files)} files in {event.folder}"]
        case events.Transformed():
            return [f"{event.what[0].upper()}{event.what[1:]}, which stays here: {event.file}"]
        case events.Compared():
            return [compared(event)]
        case events.Finished():
            return [finished(event)]
        case events.Failed():
            return [ended(event)]
    return [text] if (text := status(event)) else []


def in_a_line(event: events.ReviewNeeded | events.ReleaseNeeded) -> str:
    """Describe what must be accepted, on one line of a log."""
    if isinstance(event, events.ReleaseNeeded):
        few = " ".join(map(apart, event.few_apart)) + " " if event.few_apart else ""
        return f"{few}To leave this computer: {len(event.leaves)} kinds of messages (unpooled-client review)"
    plan = event.plan
    columns = f"{len(METHODS[plan.test].columns_of(plan))} columns" if plan.of_tables else "genotypes"
    what = ", ".join(plan.phenotype_names) or columns
    names = ", ".join(name for name, _ in event.roster.members)
    since = f"Changed: {event.changed}. " if event.changed else ""
    if event.repeats:
        since = f"{repeats(event)} {since}"
    blind = ". ONE OPERATOR: NOT BLIND" if event.one_operator else ""
    return f"{since}Plan {grouped(event.plan_hash)[:9]}…: {event.plan.test} of {what}, by {names}{blind}"


def status(event: events.Event) -> str:
    """Describe what the client is waiting for; empty if nothing."""
    match event:
        case events.Waiting():
            whom = f" ({', '.join(event.waits or event.names)})" if event.names else ""
            return f"Waiting for {event.what}{whom} since {clock(event.since)}"
        case events.Unreachable():
            return f"{event.server} has not answered since {clock(event.since)}: {event.reason}. Still trying"
        case events.Paused():
            return f"The study is paused: {event.reason}"
    return ""


def amount(event: events.StepProgress) -> str:
    """Describe the progress of a step: 1,200 of 3,000 variants; of what comes back, 3.4 MB in 12 s."""
    if event.unit == events.BYTES:
        return f"{size(event.done)} in {duration(event.took)}"
    of = f" of {event.total:,}" if event.total is not None else ""
    unit = event.unit.removesuffix("s") if event.total is None and event.done == 1 else event.unit
    return f"{event.done:,}{of} {unit}"


def left(event: events.StepProgress) -> str:
    """Describe the remaining time of the study, or of one step of several; empty if it cannot be known."""
    if event.left is None or event.left < 1:
        return ""
    of = "" if event.is_last else " in this iteration" if event.title != event.step else " in this step"
    return f"about {duration(event.left)} left{of}"


def _and_left(event: events.StepProgress) -> str:
    return f", {text}" if (text := left(event)) else ""


def failure(event: events.Failed) -> str:
    """Why a run ended, for whoever has heard nothing of it."""
    return " ".join(filter(None, [f"Error: {event.message}", event.remedy, told(event)]))


def ended(event: events.Failed) -> str:
    """The same after all other lines: what the check has found is not said again."""
    if not event.is_known:
        return failure(event)
    return " ".join(filter(None, [event.remedy, told(event)]))


def told(event: events.Failed) -> str:
    """Describe what the coordinator learns of a failure; empty if nothing."""
    if not event.told_server:
        return ""
    name = f" and the name “{event.told_name}”" if event.told_name else ""
    return f"The coordinator sees the code “{event.told_server}”{name}, and nothing else."


def compared(event: events.Compared) -> str:
    of = f" for {event.phenotype}" if event.phenotype else ""
    if not event.files:
        return f"This cohort was not compared with the pool{of}: {event.reason}"
    apart = f", {event.apart} of them apart" if event.apart else ""
    far = f"; {frequencies(event)}" if event.frequencies else ""
    beside = f"{event.count} compared{apart}{far}; stays here"
    return f"This cohort against the pool{of} ({beside}): {event.files[-1]}"


def frequencies(event: events.Compared) -> str:
    """Return the number of frequencies that are far from the pool's, in words."""
    return f"{event.frequencies_far:,} of {event.frequencies:,} frequencies far from the pool's"


def finished(event: events.Finished) -> str:
    seconds = ", ".join(f"{phase} {value:.1f} s" for phase, value in event.seconds.items())
    return f"Done: {size(event.sent)} sent, {size(event.received)} received; {seconds}"


def checked(event: events.Checked) -> list[str]:
    """The verdict, and each error and warning."""
    found = []
    for finding in sorted(event.report.get("findings", ()), key=lambda each: each["severity"] != "error"):
        if finding["severity"] != "note":
            where = ":".join(str(finding[k]) for k in ("file", "line", "column") if finding[k] is not None)
            count = finding.get("count", 1)
            times = f" ({count:,} times)" if count > 1 else ""
            said = f"{finding['message']}{times}."
            text = " ".join(part for part in (where and f"{where}:", said, finding["remedy"]) if part)
            found.append(f"{finding['severity']}: {text}")
    verdict = "Data read and checked" if event.ok else "The data cannot be used as they are"
    return [*found, f"{verdict} ({event.seconds:.1f} s)"]


def changed(event: events.ReviewNeeded) -> str:
    """Name what has changed since the person accepted."""
    return f"Changed since you accepted: {event.changed}."


def repeats(event: events.ReviewNeeded) -> str:
    """Why there is something to accept in a study that has ended."""
    return f'The coordinator repeats the study "{event.repeats}", which has ended.'


def _differences(event: events.ReviewNeeded) -> Iterable[str]:
    """Yield each change since acceptance, before and after."""
    for change in event.changes:
        yield from _wrapped(change.label, "  ")
        yield from _wrapped(f"before: {change.before}", "      ", "              ")
        yield from _wrapped(f"now:    {change.after}", "      ", "              ")


def review(event: events.ReviewNeeded) -> list[str]:
    """All that a person reads before accepting."""
    return [
        *([repeats(event)] if event.repeats else []),
        *([changed(event), *_differences(event)] if event.changed else []),
        *_plan(event),
        "WHO TAKES PART (compare fingerprints by telephone)",
        *_table([(_you(name, event), fingerprint(key)) for name, key in event.roster.members]),
        f"  Roster hash (the same at every cohort): {grouped(event.roster_hash)}",
        "",
        *_compensator(event),
    ]


def proposal(event: events.Proposal) -> list[str]:
    """Describe a study's request, before it is known who takes part."""
    return [*_plan(event), *_compensator(event), *leaves(event.leaves)]


def release(event: events.ReleaseNeeded) -> list[str]:
    """Return the lines that a person reads before any data leave; `leaves` has the rest."""
    return [*few_apart(event.few_apart), *summary(event.leaves, event.sizes)]


def few_apart(found: Sequence[events.FewApart]) -> list[str]:
    """Describe the earlier studies with nearly the same people, and what the difference reveals."""
    if not found:
        return []
    told = [line for each in found for line in (*_wrapped(apart(each), "  "), "")]
    return ["FEW APART FROM AN EARLIER STUDY: this is to be released knowingly", *told]


def apart(found: events.FewApart) -> str:
    """One such study in a sentence, and another of what can be computed."""
    of_people, one = found.unit == events.PEOPLE, found.apart == 1
    unit = ("person" if of_people else "row") if one else found.unit
    places = ((found.more, found.study), (found.fewer, found.earlier))
    only = " and ".join(f"{number:,} only in “{place}”" for number, place in places if number)
    what = "genotypes, variant by variant, and other values" if of_people else "values"
    this, sums_of = ("this", "") if one else ("these", "sums of ")
    return (
        f"Between “{found.study}” ({found.whose}) and “{found.earlier}” ({found.than}) "
        f"{found.apart:,} {unit} {'differs' if one else 'differ'}: {only}. "
        "Whoever sees the results of both can subtract one from "
        f"the other, and has {sums_of}the {what} of {this} {unit} alone. No mask hides that."
    )


def summary(rows: Sequence[Leaving], sizes: Mapping[str, int]) -> list[str]:
    """Summarize what will leave this computer."""
    told = summary_rows(rows, sizes)
    width = 4 + max(len(name) for name, _ in told)
    lines = [_wrapped(f"{name:<{width - 2}}{text}.", "  ", " " * width) for name, text in told]
    return [
        "WHAT WILL LEAVE THIS COMPUTER, IN SHORT",
        *([_ONE_OPERATOR] if _has_one_operator(rows) else []),
        *(line for part in lines for line in part),
        "",
    ]


def _plan(event: events.Proposal) -> list[str]:
    return [
        *_description(event.description),
        "",
        "PLAN",
        *_table(plan_facts(event.plan).all),
        f"  Plan hash (the same at every cohort): {grouped(event.plan_hash)}",
        "",
    ]


def _description(text: str) -> Iterable[str]:
    """Yield the coordinator's description with every line marked, so that none can pass for the program's
    own.
    """
    if not text.strip():
        return
    yield from ("", "IN THE COORDINATOR'S WORDS (not part of the plan)")
    for line in text.strip().split("\n"):
        yield from textwrap.wrap(line, _WIDTH, initial_indent="  | ", subsequent_indent="  | ") or ["  |"]


def _compensator(event: events.Proposal) -> list[str]:
    if not event.compensator:
        return ["NO COMPENSATOR", *_wrapped(f"{without_compensator(event.plan)}.", "  "), ""]
    return [
        "COMPENSATOR",
        f"  Fingerprint, as in your invitation: {event.compensator}",
        *([_ONE_OPERATOR] if event.one_operator else []),
        "",
    ]


def leaves(rows: Sequence[Leaving]) -> list[str]:
    """Describe what will leave this computer, in a few lines for each quantity."""
    return [
        "WHAT WILL LEAVE THIS COMPUTER",
        *(line for row in rows for line in _leaving(row)),
        "",
        *([_ONE_OPERATOR] if _has_one_operator(rows) else _wrapped(_masked_means(rows), "  ")),
        *_wrapped(in_all(rows), "  "),
        "",
    ]


def summary_rows(rows: Sequence[Leaving], sizes: Mapping[str, int]) -> list[tuple[str, str]]:
    """The same as names and what is said of them."""
    return in_short.in_short(rows, sizes, in_all(rows).removesuffix("."))


def _masked_means(rows: Iterable[Leaving]) -> str:
    in_pairs = any(row.what == PARTS for row in rows)
    parties = "the server and all other cohorts" if in_pairs else "server and compensator"
    but = ", except its sums as said above" if any(row.what == COHORT_SUMS for row in rows) else ""
    return (
        f"Masked: as long as {parties} do not work together, nobody can read this cohort's "
        f"numbers{but}; {EVERYONE_BY_SUM.removeprefix('nobody; ')}, unless something else is said above."
    )


def _has_one_operator(rows: Iterable[Leaving]) -> bool:
    return any(row.readable_by == OPERATOR for row in rows)


def in_all(rows: Iterable[Leaving]) -> str:
    """Describe the total that can leave."""
    most = most_bytes(rows)
    if most is None:
        return "The total is known once the data are checked."
    usual = usual_bytes(rows) or most
    as_a_rule = "" if usual == most else f", usually less than {size(usual)}"
    return (
        f"In all at most {size(most)}{as_a_rule}, and a few words about the state of the run. At most "
        "as much comes back, as sums by which what is asked is verified; after a restart once more."
    )


def how_much(leaving: Leaving) -> str:
    """The size of a quantity: 112 bytes, at most 24.3 MB a round; empty where it is not known."""
    if not leaving.bytes:
        return ""
    if leaving.exact:
        return size(leaving.bytes * leaving.rounds)
    return f"at most {size(leaving.bytes)}" + (" a round" if leaving.rounds > 1 else "")


def _you(name: str, event: events.ReviewNeeded) -> str:
    return f"{name} (you)" if name == event.cohort else name


def _leaving(leaving: Leaving) -> Iterable[str]:
    yield from _wrapped(", ".join(filter(None, [leaving.what, leaving.form, how_much(leaving)])), "  ")
    yield from _wrapped(leaving.detail, "      ")
    yield from _wrapped(f"How much:    {leaving.shape}", "      ", "                   ")
    if leaving.readable_by not in (EVERYONE_BY_SUM, OPERATOR):
        yield from _wrapped(f"Readable by: {leaving.readable_by}", "      ", "                   ")
    yield from _wrapped(f"It tells:    {leaving.learns}", "      ", "                   ")


def _wrapped(text: str, first: str, others: str | None = None) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=first, subsequent_indent=others or first)


def _table(rows: Sequence[tuple[str, str]]) -> list[str]:
    width = max((len(name) for name, _ in rows), default=0)
    return [f"  {name:<{width}}  {value}" for name, value in rows]


def size(count: int) -> str:
    """Bytes for people: 950 bytes, 1.2 kB, 3.4 MB."""
    if count < 1000:
        return f"{count} bytes"
    unit, value = "kB", count / 1e3
    for larger in ("MB", "GB"):
        # Not 1000: what would be rounded to it is said in the next unit.
        if value >= 999.5:
            unit, value = larger, value / 1e3
    return f"{value:.3g} {unit}" if value < 999.5 else f"{value:,.0f} {unit}"


def clock(since: float) -> str:
    """A time of day, with the date if it was not today."""
    then = time.localtime(since)
    today = time.localtime()[:3] == then[:3]
    return time.strftime("%H:%M:%S" if today else "%Y-%m-%d %H:%M", then)


def duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
