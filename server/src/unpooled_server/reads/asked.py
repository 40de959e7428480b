"""Reads for a cohort that waits: has its study news, what is it asked, and what comes beside that?"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import Case, Exists, Expression, F, OuterRef, Q, QuerySet, Subquery, Value, When

from unpooled.asking.driver import label
from unpooled.protocol.messages import Question
from unpooled_server.models import Cohort, Round, Share, Study
from unpooled_server.names import HELD, LIVE, OVER, RoundState, StudyState
from unpooled_server.reads.prepared import Prepared

# Questions in one answer: a client works on some while others are on their way, and can be told to stop soon.
MAX_QUESTIONS = 8


def newest(study_ids: Iterable[str]) -> dict[str, tuple[int, int | None]]:
    """Return what changes with all that a study's cohorts can wait for, by study: its version, and its last
    round.
    """
    ids = sorted(study_ids)
    size = 1 << len(ids).bit_length()  # so that few lengths have to be compiled: the last is asked repeatedly
    return {pk: (version, last) for pk, version, last in _newest(size)(*ids, *ids[-1:] * (size - len(ids)))}


@functools.lru_cache
def _newest(studies: int) -> Prepared:
    def build(*study_ids: Any) -> QuerySet[Any, Any]:
        last = Round.objects.filter(study=OuterRef("pk")).order_by("-pk").values("pk")[:1]
        return Study.objects.filter(pk__in=study_ids).values_list("pk", "version", Subquery(last))

    return Prepared(build, studies)


def questions(cohort: Cohort, seen: Sequence[int]) -> list[Question]:
    """Open rounds that this cohort has not answered, oldest first.

    Where cohorts follow the study, what is asked is only named.
    """
    return [
        Question(number, bytes(salt), bytes(message))
        if path is None
        else Question(number, bytes(salt), b"", label(path, asked), bytes(digest))
        for number, salt, message, path, asked, digest in _questions(len(seen))(
            cohort.pk, cohort.study_id, *seen
        )
    ]


@functools.lru_cache(64)
def _questions(seen: int) -> Prepared:
    def build(cohort_id: Expression, study_id: Expression, *seen: Any) -> QuerySet[Any, Any]:
        # Of a round whose shares are encrypted a cohort is asked until it has helped to read the sum.
        waited_for = (RoundState.OPEN, RoundState.COMPLETE)
        rounds = Round.objects.filter(study=study_id, state__in=waited_for, study__state__in=LIVE)
        answered = Share.objects.filter(round=OuterRef("pk"), cohort=cohort_id, is_whole=True)
        asked = rounds.exclude(study__pause_kind__in=HELD).exclude(Exists(answered))
        unseen = asked.exclude(pk__in=seen).order_by("id")[:MAX_QUESTIONS]
        # Nothing that is asked before cohorts follow the study is so long that it lies in a file.
        message = Case(When(branch__path=None, then=F("asked__message")), default=Value(b""))
        return unseen.values_list("pk", "salt", message, "branch__path", "branch__asked", "branch__waits_for")

    return Prepared(build, 2 + seen)


@Prepared
def has_to_look(cohort_id: Expression, state: Expression, version: Expression) -> QuerySet[Any, Any]:
    """Query the cohort, if its client has to look: the study is over, is to be accepted, wants other files,
    or is no longer as the client knows it. While it runs, its version changes with every sum.
    """
    look = Q(study__state__in=OVER) | Q(box_signature=b"") | Q(list_apart=True)
    changed = ~Q(study__state=state) | ~Q(study__state=StudyState.RUNNING) & ~Q(study__version=version)
    return Cohort.objects.filter(look | changed, pk=cohort_id).values_list("pk")


@Prepared
def beside_questions(cohort_id: Expression) -> QuerySet[Any, Any]:
    """Find the state of a cohort's study, its panel's digest, the cohort's witness, and the keys of codes."""
    found = Cohort.objects.filter(pk=cohort_id)
    return found.values_list("study__state", "study__panel_digest", "witness", "study__code_keys")
