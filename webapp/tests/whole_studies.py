"""Studies that have run to their end, and the coordinator who made them."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from cohort_client import Client
from federation_fixtures import NAMES, Data, Federation, work
from signing_in import PASSWORD, Http, signed_in

from unpooled.protocol.invitation import Invitation
from unpooled_webapp import accounts

PLAN = {
    "file_stem": "study",
    "test": "chi-square",
    "phenotype": "trait",
    "cohorts": 3,
    "min_samples": 1,
    "min_per_class": 1,
    "files": ["assoc"],
    "ci": 0.95,
}


@pytest.fixture
def me(http: Http, platform: Any) -> httpx.Client:
    accounts.create("me", PASSWORD, accounts.COORDINATOR)
    return signed_in(http, "me")


def finished(me: httpx.Client, http: Http, data: list[Data], **plan: Any) -> str:
    """The address of a study that has run to its end."""
    answer = me.post("/api/v1/studies", json={"name": "Trial", "plan": PLAN | plan})
    assert answer.status_code == 201, answer.text
    study = answer.json()["id"]
    clients = []
    for name, each in zip(NAMES, data, strict=True):
        issued = me.post(f"/api/v1/studies/{study}/invitations", json={"cohort": name}).json()
        invitation = Invitation.from_text(issued["invitation"])
        clients.append(Client(http(), invitation, each.own, each.aligned))
    trial = Federation(study, clients, data)
    trial.run()
    work()
    return f"/api/v1/studies/{study}"
