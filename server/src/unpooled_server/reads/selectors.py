"""Every read that is more than one row."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from importlib.metadata import version
from typing import Any, BinaryIO

import numpy as np
from django.contrib.auth.models import AbstractBaseUser
from django.db.models import (
    Count,
    Exists,
    Expression,
    Max,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Sum,
)
from django.utils import timezone

from unpooled.asking.question import Question, at_turn
from unpooled.described.facts import plan_facts
from unpooled.described.file_list import results_name
from unpooled.described.methods_section import Run
from unpooled.described.parties import what_parties_get
from unpooled.described.report import About, File, Member
from unpooled.described.what_leaves import what_leaves
from unpooled.errors import ProtocolError
from unpooled.methods import algorithm, questions_of
from unpooled.methods.shared.summary import Summary
from unpooled.plan.plan import Plan
from unpooled.protocol import sealing
from unpooled.protocol.messages import Roster
from unpooled_server.models import NO_LIST_YET, Branch, Cohort, ResultFile, Round, Share, Study, Traffic
from unpooled_server.names import (
    COMPENSATOR,
    HELD,
    LIVE,
    OVER,
    UNFINISHED,
    BranchState,
    Phase,
    RoundState,
    StudyState,
)
from unpooled_server.reads import remaining, stages, turns
from unpooled_server.reads.prepared import Prepared
from unpooled_server.reads.result_columns import Results
from unpooled_server.reads.stages import Standing
from unpooled_server.storage import store
from unpooled_server.storage.archives import zipped

# What is to do


def rounds_to_advance() -> list[int]:
    """Rounds that a worker can carry further now, oldest first."""
    return [pk for (pk,) in _rounds_to_advance()]


@Prepared
def _rounds_to_advance() -> QuerySet[Any, Any]:
    complete = Round.objects.filter(
        state__in=[RoundState.COMPLETE, RoundState.RELEASED], study__state__in=LIVE
    )
    # Else a worker would look at a round before its sum can be read, and then let it wait.
    unread = Share.objects.filter(round=OuterRef("pk"), is_whole=False)
    return (
        complete.exclude(study__pause_kind__in=HELD).exclude(Exists(unread)).order_by("id").values_list("id")
    )


@Prepared
def studies_to_advance() -> QuerySet[Any, Any]:
    """Studies that wait for nobody but the platform, with their versions."""
    working = Q(state__in=LIVE) & ~Q(pause_kind__in=HELD)
    unfinished = Round.objects.filter(state__in=UNFINISHED).values("study_id")
    due = Branch.objects.filter(state=BranchState.DUE).values("study_id")
    ready = Q(state=StudyState.READY, auto_start=True) | Q(state=StudyState.OPEN, lists_changed=True)
    idle = ~Q(pk__in=unfinished) | Q(pk__in=due)
    return Study.objects.order_by().filter(ready | (working & idle)).values_list("id", "version")


def studies_to_clean() -> list[str]:
    """Studies that have ended and of which there are still seeds at the compensator, or rows of results."""
    left = Q(forgotten=False) | Q(row_files__isnull=False)
    return list(Study.objects.filter(left, state__in=OVER).values_list("id", flat=True).distinct())


def is_anything_at_work() -> bool:
    """Tell whether a worker should look often: a study is at work, or about to be."""
    # An open study that nothing has happened to for minutes waits for people: a sweep is often enough for it.
    lively = Q(state=StudyState.OPEN, changed_at__gte=timezone.now() - timedelta(minutes=2))
    return Study.objects.filter(lively | Q(state__in=[StudyState.READY, *LIVE])).exists()


# What a cohort sees


def roster_of(study: Study) -> Roster | None:
    """Names and keys once all invited cohorts have joined; None before."""
    members = sorted((name, bytes.fromhex(key)) for name, key in _keys(study.pk))
    return Roster(tuple(members)) if len(members) == study.plan_json.get("cohorts") else None


def whole_roster(study: Study) -> Roster:
    """The same, where no cohort can be lacking any more; ProtocolError if one is."""
    if (roster := roster_of(study)) is None:
        raise ProtocolError("the roster is not complete")
    return roster


@Prepared
def _keys(study_id: Expression) -> QuerySet[Any, Any]:
    return Cohort.objects.filter(study=study_id).exclude(public_key="").values_list("name", "public_key")


def waiting(study: Study) -> dict[str, Any]:
    """Return the names of the cohorts that the study waits for now, and in words for what."""
    return _waiting(study, stages.standings(study))


def _waiting(study: Study, found: Sequence[Standing]) -> dict[str, Any]:
    return {
        "waiting_for": [standing.cohort.name for standing in stages.awaited(study, found)],
        "waits": [asdict(wait) for wait in stages.waits(study, found)],
    }


def away(study: Study, now: datetime) -> list[str]:
    """Cohorts that owe an answer and have not been heard of for long, with the time since when."""
    owing = (standing.cohort for standing in stages.standings(study) if standing.owes)
    return [
        f"{cohort.name} since {cohort.heard_at:%H:%M:%S} UTC" if cohort.heard_at else cohort.name
        for cohort in owing
        if stages.is_silent(cohort, now)
    ]


# What people see


def standings(study: Study) -> dict[str, Standing]:
    """Return the standing of each cohort, by its name."""
    return {standing.cohort.name: standing for standing in stages.standings(study)}


def visible_studies(user: AbstractBaseUser) -> QuerySet[Study]:
    """Studies that a person may see: their own, those they observe; an administrator sees all."""
    if getattr(user, "is_superuser", False):
        return Study.objects.all()
    return Study.objects.filter(Q(owner=user) | Q(observers=user)).distinct()


def repetition(study: Study) -> Study | None:
    """The study that repeats this one, if there is one."""
    return Study.objects.filter(repeats=study).first()


def in_repetition(cohort: Cohort) -> Cohort | None:
    """The same cohort in the study that repeats its study; of several repetitions, one after the other, in
    the last. None if that has ended, or is without this cohort."""
    study = cohort.study
    while later := repetition(study):
        study = later
    if study.pk == cohort.study_id or study.state in OVER:
        return None
    return study.cohorts.filter(name=cohort.name, revoked=False).first()


_TITLES = {
    StudyState.OPEN: "Waiting for the cohorts to be ready",
    StudyState.READY: "All cohorts are ready",
    StudyState.RUNNING: "Writing result files",
}
"""Words for what is done while no step is asked. Where there are none, the state's own name says it."""


def _steps(study: Study) -> list[dict[str, Any]]:
    """The steps asked so far, in the order in which they were first asked.

    The title of one that is iterated says which iterations its open rounds are of.
    """
    plan = study.plan
    kinds = {kind.name: kind for kind in questions_of(plan)}
    at_turn_of = turns.under_way(study)
    at_work = ~Q(state=RoundState.AGGREGATED) & Q(turn__gt=0)
    rows = (
        Round.objects.filter(study=study)
        .values("step_name")
        .annotate(
            first=Min("id"),
            rounds=Count("id"),
            summed=Count("id", filter=Q(state=RoundState.AGGREGATED)),
            first_turn=Min("turn", filter=at_work),
            last_turn=Max("turn", filter=at_work),
        )
        .order_by("first")
    )
    return [
        {
            "name": row["step_name"],
            "title": _title(kinds.get(row["step_name"]), plan, row),
            "rounds": row["rounds"],
            "summed": row["summed"],
            "turn": at_turn_of.get(row["step_name"]),
        }
        for row in rows
    ]


def _title(kind: type[Question] | None, plan: Plan, row: Mapping[str, Any]) -> str:
    """Return a step's title; for a kind of question that this release does not know, its name."""
    if kind is None:
        return str(row["step_name"])
    return at_turn(kind.title, kind.most_turns(plan), row["first_turn"] or 0, row["last_turn"] or 0)


def _now(study: Study, steps: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the current step and how many of its rounds are summed; if the study is over, how it ended."""
    open_steps = [step for step in steps if step["summed"] < step["rounds"] and study.state not in OVER]
    current, state = open_steps[0] if open_steps else None, StudyState(study.state)
    if current is None and state == StudyState.RUNNING and not remaining.has_asked_all(study):
        # Between two steps, or before the first one.
        current = steps[-1] if steps else {"title": state.label, "summed": 0, "rounds": 0}
    return {
        "title": current["title"] if current else _TITLES.get(state, state.label),
        "done": current["summed"] if current else 0,
        "total": current["rounds"] if current else 0,
    }


def now(study: Study) -> dict[str, Any]:
    """The same for a list of studies: only those at work have steps to look at."""
    return _now(study, _steps(study) if study.state in LIVE else [])


def active_at(study: Study) -> datetime:
    """When it changed, or when a cohort of it was heard, whichever is later."""
    heard = [cohort.heard_at for cohort in study.cohorts.all() if cohort.heard_at]
    return max([study.changed_at, *heard])


def progress(study: Study) -> dict[str, Any]:
    """Report how much is done in all and step by step, each cohort, and for whom the study waits."""
    steps, found = _steps(study), stages.standings(study)
    share_done = remaining.share_done(study)
    is_missing = any(standing.stage in stages.MISSING for standing in found)
    return {
        "state": study.state,
        "reason": study.reason,
        **_now(study, steps),
        "share_done": share_done,
        "seconds_left": None if is_missing else remaining.seconds_left(study, share_done, timezone.now()),
        "steps": steps,
        "cohorts": [
            {
                "name": standing.cohort.name,
                "state": standing.cohort.state.value,
                "stage": standing.stage.value,
                "since": standing.since,
                "heard_at": standing.cohort.heard_at,
                "questions_open": standing.owes,
                "problem": standing.cohort.problem,
            }
            for standing in found
        ],
        **_waiting(study, found),
        "panel_size": study.panel_size,
        "seconds": seconds(study),
    }


def seconds(study: Study) -> dict[str, float]:
    """Wall time of each phase that has ended."""
    marks = {
        "joining": (study.opened_at, study.ready_at),
        "panel": (study.ready_at, study.panel_at),
        "rounds": (study.panel_at or study.started_at, study.last_sum_at),
        "files": (study.last_sum_at, study.ended_at),
    }
    return {
        phase: round((end - begin).total_seconds(), 3)
        for phase, (begin, end) in marks.items()
        if begin and end and end >= begin
    }


def seconds_by_party(study: Study) -> dict[str, dict[str, float]]:
    """Seconds of work: the server's and the compensator's as measured here, each cohort's as it says."""
    summing = Round.objects.filter(study=study).aggregate(found=Sum("sum_seconds"))["found"]
    return {
        "server": {**seconds(study), "summing": round(summing or 0.0, 3)},
        **({} if study.has_no_compensator else {COMPENSATOR: turns.seconds(study)}),
        **{cohort.name: cohort.timing for cohort in study.members()},
    }


def traffic(study: Study) -> dict[str, Any]:
    """Bytes per party, phase and direction; the delivery of results apart."""
    rows = list(Traffic.objects.filter(study=study).order_by("party", "phase"))
    columns = {"party": "party", "phase": "phase", "to_server": "received", "from_server": "sent"}
    columns |= {name: name for name in ("requests", "messages", "content")}
    return {
        "links": [{name: getattr(row, column) for name, column in columns.items()} for row in rows],
        "total": sum(row.received + row.sent for row in rows if row.phase != Phase.RESULTS),
        "delivery_of_results": sum(row.received + row.sent for row in rows if row.phase == Phase.RESULTS),
        "seconds": seconds_by_party(study),
        "comparisons": turns.compared_steps(study),
    }


def messages_of(cohort: Cohort) -> dict[str, int]:
    """Count the messages that a cohort sent, and their bytes without headers, as its ledger counts them."""
    rows = Traffic.objects.filter(study_id=cohort.study_id, party=cohort.name)
    found = rows.aggregate(messages=Sum("messages"), bytes=Sum("content"))
    return {name: number or 0 for name, number in found.items()}


def roster_fingerprint(study: Study) -> str:
    """Return the roster's hash as people compare it; empty until all cohorts have joined."""
    roster = roster_of(study)
    return sealing.grouped(roster.hash().hex()) if roster else ""


def facts(study: Study) -> dict[str, list[dict[str, str]]]:
    """The plan in words, as every cohort reads it before it accepts."""
    return facts_of(_plan(study))


def facts_of(plan: Plan) -> dict[str, list[dict[str, str]]]:
    """A plan in words, as a cohort would read it."""
    said = vars(plan_facts(plan))
    return {part: [{"title": title, "said": text} for title, text in of] for part, of in said.items()}


def unlike_pool(study: Study) -> str:
    """Say why the study's result is not that of the pooled data; empty if it is."""
    plan = _plan(study)
    return algorithm(plan.test).differs(plan)


def leaving(study: Study) -> list[dict[str, Any]]:
    """List what leaves a cohort in this study, as every cohort reads it before it accepts."""
    return [asdict(line) for line in what_leaves(_plan(study), one_operator=not study.is_blind)]


def parties(study: Study) -> list[dict[str, Any]]:
    """List what each party gets and can read in this study, and how many bytes it got from the others."""
    plan, rows = _plan(study), list(Traffic.objects.filter(study=study))
    got = {
        "server": sum(row.received for row in rows),
        COMPENSATOR: sum(row.sent for row in rows if row.party == COMPENSATOR),
        "each cohort": sum(row.sent for row in rows if row.party != COMPENSATOR),
    }
    found = what_parties_get(plan)
    return [{**asdict(party), "bytes": got.get(party.name)} for party in found]


def _plan(study: Study) -> Plan:
    """The plan; one whose list is still to come has no digest of it yet."""
    if study.awaits_list:
        return Plan.from_json({**study.plan_json, "panel_digest": NO_LIST_YET})
    return study.plan


def table(results: Results, start: int, count: int) -> dict[str, Any]:
    """Result rows `start` … `start + count` by column, in the panel's order; NaN becomes None."""
    part = slice(start, start + count)
    kept = results.kept_columns
    rows = len(kept["id"]) if results.columns else 0
    columns = {name: _plain(kept[name][part]) for name in results.columns}
    if results.columns:
        alleles = bytes(kept["alleles"]).decode().split("\n")
        for name in ("a1", "a2"):
            columns[name] = [alleles[index] for index in columns[name]]
    return {"variants": rows, "start": start, "columns": columns}


def _plain(values: np.ndarray) -> list[Any]:
    if values.dtype.kind == "S":
        return [name.decode("utf-8", "replace") for name in values.tolist()]
    if values.dtype.kind == "f":
        return [value if math.isfinite(value) else None for value in values.tolist()]
    return list(values.tolist())


def about(study: Study, summaries: Sequence[Summary], files: Iterable[ResultFile], ended: datetime) -> About:
    """Return the facts that a report gives beside the plan and the results."""
    return About(
        name=study.name,
        description=study.description,
        run=run(study, summaries, ended),
        members=[
            Member(cohort.name, sealing.fingerprint(bytes.fromhex(cohort.public_key)))
            for cohort in study.members()
        ],
        panel_digest=study.panel_digest,
        files=[File(file.name, file.size, file.sha256) for file in files],
    )


def run(study: Study, summaries: Sequence[Summary], ended: datetime) -> Run:
    """Return the facts that a methods section gives beside the plan."""
    return Run(
        cohorts=[cohort.name for cohort in study.members()],
        summaries=summaries,
        plan_hash=study.plan.hash().hex(),
        panel_size=study.panel_size,
        one_operator=not study.is_blind,
        ended=ended.date().isoformat(),
        software=f"unpooled {version('unpooled-core')}",
    )


# Results


def result_file(study: Study, name: str) -> BinaryIO | None:
    """Open a result file; None if the study has none of this name."""
    if not study.result_files.filter(name=name).exists():
        return None
    return store.kept().open(store.results_path(study.pk, study.results_folder) / name)


def all_results(study: Study) -> Iterator[bytes]:
    """All result files of a study as a zip archive, piece by piece."""
    folder = store.results_path(study.pk, study.results_folder)
    paths = [folder / name for name in study.result_files.values_list("name", flat=True)]
    return zipped(results_name(study.plan), paths, study.ended_at or timezone.now(), store.kept().open)
