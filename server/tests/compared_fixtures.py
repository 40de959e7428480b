"""A study of tables whose sums are compared, and nobody reads them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx
import numpy as np
import pytest
from cohort_client import Client
from federation_fixtures import NAMES, Federation, work

from unpooled.asking.cohort import ArrayTable
from unpooled.methods import usual
from unpooled.panel.panel import Panel
from unpooled.plan.plan import Plan
from unpooled.protocol.invitation import Invitation

__all__ = ["Compared", "compared", "compared_round", "dealer", "first_compared", "study_of_tables"]

PEOPLE, FEATURES = 40, 2


@dataclass
class TableClient(Client):
    """A cohort with a table."""

    def announce(self) -> None:
        digest = Plan.from_json(self.study()["plan"]).hash()
        self.ok("PUT", "panel/digest", json={"digest": digest.hex()})

    def cohort(self, panel_digest: bytes) -> Any:
        return self.data


Compared = Callable[..., Federation]


@pytest.fixture
def study_of_tables(coordinator: Any, http: Callable[[], httpx.Client]) -> Compared:
    """Makes a study by bits with invited cohorts. Keyword arguments are fields of the plan."""
    from unpooled_server.services import invitations, studies

    def make(test: str = "min-max", **plan: Any) -> Federation:
        fields = {
            "test": test,
            "cohorts": len(NAMES),
            "min_samples": 1,
            "file_stem": "study",
            "schema": [{"name": f"feature {k}"} for k in range(FEATURES)],
            "opens": "bits",
            **usual(test),
            **plan,
        }
        study = studies.create(coordinator, "Trial", "", fields, auto_start=True, one_operator=True)
        tables = [np.random.default_rng(seed).normal(size=(PEOPLE, FEATURES)) for seed in range(len(NAMES))]
        clients: list[Client] = [
            TableClient(
                http(),
                Invitation.from_text(invitations.invite(study, name, "http://localhost", "coordinator")),
                Panel.of([]),
                ArrayTable(table),
            )
            for name, table in zip(NAMES, tables, strict=True)
        ]
        return Federation(study.pk, clients, [], {"tables": tables})

    return make


@pytest.fixture
def compared(study_of_tables: Compared) -> Federation:
    """A study the first of whose compared rounds is open."""
    return first_compared(study_of_tables())


def first_compared(trial: Federation) -> Federation:
    trial.running()
    for _ in range(10):
        if compared_round(trial) is not None:
            return trial
        trial.answer()
        work()
    raise AssertionError("nothing is compared")


def compared_round(trial: Federation) -> Any:
    """The newest round that is compared."""
    from unpooled_server.models import Round

    return Round.objects.filter(study=trial.study_id).exclude(circuit="").order_by("-pk").first()


def dealer(trial: Federation) -> Client:
    """Whoever deals for that round."""
    return next(c for c in trial.clients for q in c.questions().items if c.dealing(q) is not None)
