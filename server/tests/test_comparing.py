"""Fingerprints that somebody has compared by telephone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from federation_fixtures import Federation

from unpooled.protocol import sealing
from unpooled_server import selectors
from unpooled_server.errors import Conflict
from unpooled_server.models import Cohort, LogEntry
from unpooled_server.services import comparing

Make = Callable[..., Federation]


def graz() -> Cohort:
    return Cohort.objects.get(name="Graz")


def test_who_compared_it_and_when_is_kept_and_in_the_log(federation: Make) -> None:
    trial = federation()
    trial.join()
    shown = sealing.fingerprint(trial.clients[0].key.public)
    comparing.cohort_compared(trial.study, graz(), "coordinator", shown, is_same=True)
    assert graz().compared_by == "coordinator" and graz().compared_at is not None
    said = f"compared the fingerprint of Graz by telephone: {shown}"
    assert LogEntry.objects.filter(study=trial.study_id, who="coordinator", what=said).exists()
    comparing.cohort_compared(trial.study, graz(), "coordinator", shown, is_same=False)
    assert (graz().compared_by, graz().compared_at) == ("", None)


def test_a_cohort_that_joins_again_with_another_key_loses_its_tick(federation: Make) -> None:
    trial = federation()
    trial.join()
    client = trial.clients[0]
    shown = sealing.fingerprint(client.key.public)
    comparing.cohort_compared(trial.study, graz(), "coordinator", shown, is_same=True)
    client.join()  # the same key
    assert graz().compared_at is not None
    roster = selectors.roster_fingerprint(trial.study)
    client.key = type(client.key).generate()
    client.join()
    assert graz().compared_at is None
    assert selectors.roster_fingerprint(trial.study) != roster
    with pytest.raises(Conflict, match="another key"):
        comparing.cohort_compared(trial.study, graz(), "coordinator", shown, is_same=True)
    assert graz().compared_at is None


def test_the_compensators_key_too(federation: Make) -> None:
    trial = federation()
    shown = sealing.fingerprint(trial.study.plan.compensator_key)
    comparing.compensator_compared(trial.study, "coordinator", shown, is_same=True)
    assert (trial.study.compared_by, trial.study.compared_at is not None) == ("coordinator", True)
    with pytest.raises(Conflict):
        comparing.compensator_compared(trial.study, "coordinator", "0000 " * 7 + "0000", is_same=True)


def test_nobody_is_compared_before_there_is_a_key(federation: Make) -> None:
    trial = federation()
    with pytest.raises(Conflict):
        comparing.cohort_compared(trial.study, graz(), "coordinator", "", is_same=True)
