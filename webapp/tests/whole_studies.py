"""Studies that somebody makes over HTTP, and such as have run to their end."""

from __future__ import annotations

from typing import Any

import httpx
from cohort_client import Client
from federation_fixtures import NAMES, Data, Federation, work
from signing_in import Http

from unpooled.protocol.invitation import Invitation

SMALL = {
    "file_stem": "study",
    "test": "chi-square",
    "phenotype": "trait",
    "cohorts": 3,
    "min_samples": 1,
    "min_per_class": 1,
}
PLAN = SMALL | {"files": ["assoc"], "ci": 0.95}


def created(me: httpx.Client, **content: Any) -> str:
    """The ID of a new study."""
    answer = me.post("/api/v1/studies", json=content)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def invited(me: httpx.Client, http: Http, study: str, data: list[Data]) -> Federation:
    clients = []
    for name, each in zip(NAMES, data, strict=True):
        answer = me.post(f"/api/v1/studies/{study}/invitations", json={"cohort": name})
        assert answer.status_code == 201, answer.text
        invitation = Invitation.from_text(answer.json()["invitation"])
        clients.append(Client(http(), invitation, each.own, each.aligned))
    return Federation(study, clients, data)


def finished(me: httpx.Client, http: Http, data: list[Data], **plan: Any) -> str:
    """The address of a study that has run to its end."""
    study = created(me, name="Trial", plan=PLAN | plan)
    invited(me, http, study, data).run()
    work()
    return f"/api/v1/studies/{study}"
