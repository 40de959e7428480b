"""Prepared queries find what Django's own find, whatever they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db.models import Expression, F, QuerySet
from federation_fixtures import NAMES, Federation

from unpooled_server.models import Cohort, Study, Traffic
from unpooled_server.reads.prepared import Prepared, PreparedUpdate

pytestmark = pytest.mark.services

COLUMNS = ("name", "revoked", "invited_at", "heard_at", "box_signature", "study__plan_json", "study__id")


def of_study(study_id: Any, name: Any) -> QuerySet[Any, Any]:
    return Cohort.objects.filter(study=study_id, name=name, revoked=False).values_list(*COLUMNS)


def test_rows_are_those_of_the_query_itself(federation: Callable[..., Federation]) -> None:
    first, second = federation(), federation(names=[*NAMES[:2], "other"])
    first.running()
    prepared = Prepared(of_study)
    found = [
        (prepared(trial.study_id, name), list(of_study(trial.study_id, name)))
        for trial in (first, second)
        for name in (*NAMES, "nobody")
    ]
    assert sum(len(rows) for rows, _ in found) == len(NAMES) + 2
    for rows, wanted in found:
        assert [tuple(map(_plain, row)) for row in rows] == [tuple(map(_plain, row)) for row in wanted]


def _plain(value: Any) -> Any:
    return bytes(value) if isinstance(value, memoryview) else value


def test_an_update_changes_the_rows_that_are_asked_for(trial: Federation) -> None:
    Traffic.objects.filter(study=trial.study_id).delete()
    for party in ("north", "south"):
        Traffic.objects.create(study_id=trial.study_id, party=party, phase="rounds", sent=1)

    @PreparedUpdate
    def add(party: Expression, sent: Expression) -> tuple[QuerySet[Any, Any], dict[str, Any]]:
        return Traffic.objects.filter(study=trial.study_id, party=party), {"sent": F("sent") + sent}

    assert [add("north", 2**40), add("north", 3), add("nobody", 1)] == [1, 1, 0]
    sent = dict(Traffic.objects.filter(study=trial.study_id).values_list("party", "sent"))
    assert sent == {"north": 2**40 + 4, "south": 1}


@pytest.mark.django_db
def test_too_few_arguments_are_an_error() -> None:
    with pytest.raises(IndexError):
        Prepared(lambda study_id: Study.objects.filter(pk=study_id).values_list("pk"))()
