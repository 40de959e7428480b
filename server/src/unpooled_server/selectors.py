"""Every read that is more than one row."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from dataclasses import asdict
from datetime import datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.db import connection
from django.db.models import Count, Max, Min, Q, QuerySet, Sum
from django.utils import timezone

from unpooled.algorithms import algorithm, questions_of
from unpooled.algorithms.methods import Run
from unpooled.algorithms.shared.summary import Summary
from unpooled.facts import plan_facts
from unpooled.leaving import what_leaves, what_parties_get
from unpooled.plan import Plan
from unpooled.protocol import VERSION, sealing
from unpooled.question import at_turn
from unpooled_server import store
from unpooled_server.models import Branch, Cohort, ResultFile, Round, Study, Traffic
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

MAX_QUESTIONS = 8


# What is to do


def repeated(query: QuerySet[Any, Any]) -> Callable[[], list[tuple[Any, ...]]]:
    """Runs one query again and again without building its SQL again: who waits looks many times."""
    sql, parameters = query.query.sql_with_params()

    def run() -> list[tuple[Any, ...]]:
        with connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            return list(cursor.fetchall())

    return run


def rounds_to_advance() -> list[int]:
    """Rounds that a worker can carry further now, oldest first."""
    return [pk for (pk,) in _rounds_to_advance()()]


@functools.cache
def _rounds_to_advance() -> Callable[[], list[tuple[Any, ...]]]:
    return repeated(
        Round.objects.filter(state__in=[RoundState.COMPLETE, RoundState.RELEASED], study__state__in=LIVE)
        .exclude(study__pause_kind__in=HELD)
        .order_by("id")
        .values_list("id")
    )


def studies_to_advance() -> list[tuple[str, int]]:
    """Studies that wait for nobody but the platform, with their versions."""
    return [(pk, version) for pk, version in _studies_to_advance()()]


@functools.cache
def _studies_to_advance() -> Callable[[], list[tuple[Any, ...]]]:
    working = Q(state__in=LIVE) & ~Q(pause_kind__in=HELD)
    unfinished = Round.objects.filter(state__in=UNFINISHED).values("study_id")
    due = Branch.objects.filter(state=BranchState.DUE).values("study_id")
    ready = Q(state=StudyState.READY) & (Q(auto_start=True) | Q(panel_digest=""))
    idle = ~Q(pk__in=unfinished) | Q(pk__in=due)
    studies = Study.objects.order_by().filter(ready | (working & idle))
    return repeated(studies.values_list("id", "version"))


def studies_to_clean() -> list[str]:
    """Studies that have ended and of which there are still seeds at the compensator, or rows of results."""
    left = Q(forgotten=False) | Q(row_files__isnull=False)
    return list(Study.objects.filter(left, state__in=OVER).values_list("id", flat=True).distinct())


def is_anything_at_work() -> bool:
    """Whether a worker should look often: a study is at work, or about to be."""
    lively = Q(state=StudyState.OPEN, changed_at__gte=timezone.now() - timedelta(minutes=2))
    return Study.objects.filter(lively | Q(state__in=[StudyState.READY, *LIVE])).exists()


# What a cohort sees


def questions(cohort: Cohort, seen: Iterable[int]) -> QuerySet[Round]:
    """Open rounds that this cohort has not answered, oldest first."""
    return (
        Round.objects.filter(study_id=cohort.study_id, state=RoundState.OPEN, study__state__in=LIVE)
        .exclude(study__pause_kind__in=HELD)
        .exclude(shares__cohort=cohort)
        .exclude(pk__in=list(seen))
        .order_by("id")[:MAX_QUESTIONS]
    )


def waiting_for(study: Study) -> list[str]:
    """The cohorts on whom the study waits now."""
    if study.state in (StudyState.DRAFT, StudyState.OPEN, StudyState.READY):
        return [cohort.name for cohort in study.cohorts.all() if not cohort.revoked and not cohort.ready]
    if study.state in LIVE:
        return [cohort.name for cohort in _with_open_questions(study)]
    return []


def _with_open_questions(study: Study) -> list[Cohort]:
    opened = Round.objects.filter(study=study, state=RoundState.OPEN).count()
    if not opened:
        return []
    answered = Count("shares", filter=Q(shares__round__state=RoundState.OPEN))
    counted = study.members().annotate(answered=answered).order_by("name")  # a GROUP BY forgets the order
    return [cohort for cohort in counted if cohort.answered < opened]


def away(study: Study, now: datetime) -> list[str]:
    """Cohorts that owe an answer and have not been heard of for long, with the time since when."""
    since = now - timedelta(seconds=settings.UNPOOLED_AWAY_SECONDS)
    return [
        f"{cohort.name} since {cohort.heard_at:%H:%M:%S} UTC" if cohort.heard_at else cohort.name
        for cohort in _with_open_questions(study)
        if cohort.heard_at is None or cohort.heard_at < since
    ]


# What people see


def visible_studies(user: AbstractBaseUser) -> QuerySet[Study]:
    """Studies that a person may see: their own, those they observe; an administrator sees all."""
    if getattr(user, "is_superuser", False):
        return Study.objects.all()
    return Study.objects.filter(Q(owner=user) | Q(observers=user)).distinct()


_TITLES = {
    StudyState.DRAFT: "Draft",
    StudyState.OPEN: "Waiting for the cohorts to be ready",
    StudyState.READY: "All cohorts are ready",
    StudyState.RUNNING: "Writing result files",
    StudyState.PAUSED: "Paused",
    StudyState.DONE: "Done",
    StudyState.ABORTED: "Aborted",
    StudyState.FAILED: "Failed",
}


def _steps(study: Study) -> list[dict[str, Any]]:
    """The steps asked so far, in the order in which they were first asked.

    The title of one that is iterated says which iterations its open rounds are of.
    """
    plan = study.plan
    titles = {kind.name: kind.title for kind in questions_of(plan)}
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
            "title": at_turn(
                titles.get(row["step_name"], row["step_name"]),
                plan,
                row["first_turn"] or 0,
                row["last_turn"] or 0,
            ),
            "rounds": row["rounds"],
            "summed": row["summed"],
        }
        for row in rows
    ]


def _now(study: Study, steps: list[dict[str, Any]]) -> dict[str, Any]:
    """What is being done, and how many of its rounds are summed; how it ended, if it is over."""
    open_steps = [step for step in steps if step["summed"] < step["rounds"] and study.state not in OVER]
    current = open_steps[0] if open_steps else None
    return {
        "title": current["title"] if current else _TITLES[StudyState(study.state)],
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
    """Steps with how many of their rounds are summed, and a row per cohort."""
    steps = _steps(study)
    opened = Round.objects.filter(study=study, state=RoundState.OPEN).count()
    answered = Count("shares", filter=Q(shares__round__state=RoundState.OPEN))
    return {
        "state": study.state,
        "reason": study.reason,
        **_now(study, steps),
        "steps": steps,
        "cohorts": [
            {
                "name": cohort.name,
                "state": cohort.state.value,
                "heard_at": cohort.heard_at,
                "questions_open": max(opened - cohort.answered, 0),
                "waiting_since": _waiting_since(study, cohort) if opened > cohort.answered else None,
                "problem": cohort.problem,
            }
            # A GROUP BY forgets the order.
            for cohort in study.cohorts.annotate(answered=answered).order_by("name")
        ],
        "waiting_for": waiting_for(study),
        "panel_size": study.panel_size,
        "seconds": seconds(study),
    }


def _waiting_since(study: Study, cohort: Cohort) -> datetime | None:
    """When the oldest question was asked that this cohort has not answered."""
    asked = Round.objects.filter(study=study, state=RoundState.OPEN).exclude(shares__cohort=cohort)
    return asked.order_by("opened_at").values_list("opened_at", flat=True).first()


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
    work = Round.objects.filter(study=study).aggregate(
        release=Sum("release_seconds"), sums=Sum("sum_seconds")
    )
    return {
        "server": {**seconds(study), "summing": round(work["sums"] or 0.0, 3)},
        COMPENSATOR: {"releasing": round(work["release"] or 0.0, 3)},
        **{cohort.name: cohort.timing for cohort in study.members()},
    }


def traffic(study: Study) -> dict[str, Any]:
    """Bytes per party, phase and direction; the delivery of results apart."""
    rows = list(Traffic.objects.filter(study=study).order_by("party", "phase"))
    until_last_sum = [row for row in rows if row.phase != Phase.RESULTS]
    return {
        "links": [
            {
                "party": row.party,
                "phase": row.phase,
                "to_server": row.received,
                "from_server": row.sent,
                "requests": row.requests,
                "messages": row.messages,
                "content": row.content,
            }
            for row in rows
        ],
        "total": sum(row.received + row.sent for row in until_last_sum),
        "delivery_of_results": sum(row.received + row.sent for row in rows if row.phase == Phase.RESULTS),
        "seconds": seconds_by_party(study),
    }


def messages_of(cohort: Cohort) -> dict[str, int]:
    """How many messages a cohort sent, and their bytes without headers, as its ledger counts them."""
    rows = Traffic.objects.filter(study_id=cohort.study_id, party=cohort.name)
    found = rows.aggregate(messages=Sum("messages"), bytes=Sum("content"))
    return {name: number or 0 for name, number in found.items()}


def facts(study: Study) -> dict[str, list[dict[str, str]]]:
    """The plan in words, as every cohort reads it before it accepts."""
    said = vars(plan_facts(_plan(study)))
    return {part: [{"title": title, "said": text} for title, text in of] for part, of in said.items()}


def leaving(study: Study) -> list[dict[str, Any]]:
    """What leaves a cohort in this study, as every cohort reads it before it accepts."""
    return [asdict(line) for line in what_leaves(_plan(study), one_operator=study.one_operator)]


def parties(study: Study) -> list[dict[str, Any]]:
    """What each party gets and can read in this study, and how many bytes it got from the others."""
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
    awaits_list = study.plan_json["panel_mode"] == "list" and not study.list_ready
    return Plan.from_json({**study.plan_json, "panel_digest": "00" * 32}) if awaits_list else study.plan


def table(study: Study, start: int, count: int) -> dict[str, Any]:
    """Result rows `start` … `start + count` by column, in the panel's order; NaN becomes None."""
    part = slice(start, start + count)
    kept = store.kept_columns(study.pk, study.results_folder, study.columns)
    rows = len(kept["id"]) if study.columns else 0
    columns = {name: _plain(kept[name][part]) for name in study.columns}
    if study.columns:
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


def manifest(
    study: Study, summary: Summary | None, files: Iterable[ResultFile], began: datetime, ended: datetime
) -> dict[str, Any]:
    """What a reader of the results needs to judge and to repeat them."""
    plan = study.plan
    cohorts = list(study.members())
    counted = traffic(study)
    by_party = counted["seconds"]
    by_party["server"]["files"] = round((ended - began).total_seconds(), 3)
    return {
        "study": {"id": study.pk, "name": study.name, "description": study.description},
        "plan": plan.to_json(),
        "plan_hash": plan.hash().hex(),
        "test": algorithm(plan.test).title,
        "blind": not study.one_operator,
        "operators": "one operator: not blind" if study.one_operator else "server and compensator apart",
        "roster": [
            {"name": cohort.name, "fingerprint": sealing.fingerprint(bytes.fromhex(cohort.public_key))}
            for cohort in cohorts
        ],
        "compensator": {"fingerprint": sealing.fingerprint(plan.compensator_key)},
        "panel": None if plan.of_tables else {"variants": study.panel_size, "sha256": study.panel_digest},
        "summary": summary,
        "files": [{"name": file.name, "bytes": file.size, "sha256": file.sha256} for file in files],
        "rounds": Round.objects.filter(study=study).count(),
        "traffic": {**counted, "seconds": by_party},
        "started_at": study.started_at.isoformat() if study.started_at else None,
        "ended_at": ended.isoformat(),
        "versions": {"unpooled": version("unpooled-core"), "protocol": VERSION},
    }


def run(study: Study, summary: Summary | None, ended: datetime) -> Run:
    """What a methods section says beside the plan."""
    return Run(
        cohorts=[cohort.name for cohort in study.members()],
        summary=summary,
        panel_size=study.panel_size,
        one_operator=study.one_operator,
        ended=ended.date().isoformat(),
        software=f"unpooled {version('unpooled-core')}",
    )


# Results


def result_path(study: Study, name: str) -> Path | None:
    """Where a result file lies; None if the study has none of this name."""
    if not study.result_files.filter(name=name).exists():
        return None
    return store.results_path(study.pk, study.results_folder) / name
