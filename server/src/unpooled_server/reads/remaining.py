"""Progress of a study, and time that the rest will take: one measure over all of its steps.

What is to come is foreseen once, when the first question is asked, from the declarations of the questions;
what is done only grows. So the measure never goes back and never starts anew.
"""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any

from django.db.models import Count, Min, Q, Sum

from unpooled.asking.question import Question, words
from unpooled.asking.sizes import Sizes
from unpooled.methods import questions_of, with_chunks
from unpooled.plan.plan import Plan
from unpooled.protocol import masking
from unpooled_server.models import Branch, Round, Study
from unpooled_server.names import OVER, BranchState, RoundState, StudyState

ROUND = 100_000
"""A round takes time however small it is: as much as so many bytes."""

_FEWEST_ROUNDS = 3
_FEWEST_SECONDS = 5.0
_FEWEST_DONE = 0.02
"""Nobody can tell the time left before so much is done."""

_BENDS_AT = 0.8
"""Share of a step after which it may take longer than foreseen, if the number of its questions is not known.
"""


def foreseen(plan: Plan, sizes: Sizes) -> dict[str, Any]:
    """Foresee, by step, how much will usually be asked, and whether that is exact: kept with the study."""
    plan = with_chunks(plan)
    return {kind.name: _foreseen(kind, plan, sizes) for kind in questions_of(plan)}


def _foreseen(kind: type[Question], plan: Plan, sizes: Sizes) -> dict[str, Any]:
    found = kind.foreseen(plan, sizes) if kind.sends_under(plan) else None
    if found is None:
        return {"much": 0, "exact": True}
    scheme = plan.scheme(kind.ring_bits)
    each = sum(ROUND + scheme.word_bytes * words(question, scheme) for question in found.questions)
    return {"much": (found.usual_rounds or found.rounds) * each, "exact": found.exact}


def share_done(study: Study) -> float:
    """Return the share of a study that is done, from 0 to 1."""
    if study.state == StudyState.DONE or has_asked_all(study):
        return 1.0
    total = sum(step["much"] for step in study.foreseen.values())
    if not total:
        return 0.0
    done = _done_by_step(study)
    parts = (
        step["much"] * _part(done.get(name, 0) / step["much"], step["exact"])
        for name, step in study.foreseen.items()
        if step["much"]
    )
    return float(sum(parts) / total)


def has_asked_all(study: Study) -> bool:
    """Tell whether no question is left, so that only result files are to be written."""
    if not study.begun:
        return False
    at_work = ~Q(state__in=[BranchState.ENDED, BranchState.TAKEN])
    return not Branch.objects.filter(at_work, study=study).exists()


def _part(done: float, exact: bool) -> float:
    """Return the share of a step that is done, never all of it while it may still go on."""
    if exact or done < _BENDS_AT:
        return min(done, 1.0)
    left = 1 - _BENDS_AT
    return 1 - left * math.exp(-(done - _BENDS_AT) / left)


def _done_by_step(study: Study) -> dict[str, int]:
    summed = Round.objects.filter(study=study, state=RoundState.AGGREGATED)
    rows = summed.values("step_name", "scheme").annotate(rounds=Count("id"), words=Sum("words")).order_by()
    found: dict[str, int] = {}
    for row in rows:
        much = ROUND * row["rounds"] + masking.scheme(row["scheme"]).word_bytes * row["words"]
        found[row["step_name"]] = found.get(row["step_name"], 0) + much
    return found


def seconds_left(study: Study, done: float, now: datetime) -> float | None:
    """Estimate the seconds that a study will still take at its pace so far; None if nobody can tell."""
    if study.state in OVER or study.state != StudyState.RUNNING or not _FEWEST_DONE <= done < 1:
        return None
    rounds = Round.objects.filter(study=study).aggregate(
        began=Min("opened_at"), summed=Count("id", filter=Q(state=RoundState.AGGREGATED))
    )
    if rounds["summed"] < _FEWEST_ROUNDS:
        return None
    # Without the pauses: a weekend for which a cohort was away says nothing of the pace.
    worked = (now - rounds["began"]).total_seconds() - study.paused_seconds
    if worked < _FEWEST_SECONDS:
        return None
    return float(round(worked * (1 - done) / done, 1))
