"""Three small cohorts, and a study that they take part in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import httpx
import numpy as np
import pytest
from cohort_client import Client
from django.utils import timezone

from tests import list_text
from tests.people import people as samples_of
from unpooled.asking.cohort import ArrayCohort, Cohort, Samples
from unpooled.panel.panel import Panel
from unpooled.protocol.invitation import Invitation

NAMES = ("Graz", "Oslo", "Tartu")


def variants(count: int = 12) -> Panel:
    return Panel.of([(1 + i % 3, 1000 + 10 * i, b"rs%d" % i, b"A", b"G") for i in range(count)])


@dataclass
class Data:
    """A cohort's own data: genotypes in the order of its own list."""

    own: Panel
    people: Samples
    genotypes: np.ndarray

    @classmethod
    def make(cls, seed: int, own: Panel, people: int = 80, covariates: int = 0) -> Data:
        random = np.random.default_rng(seed)
        status, sex = random.integers(0, 2, people), random.integers(1, 3, people).astype(np.uint8)
        samples = samples_of(status, random.normal(size=(people, covariates)), sex=sex)
        copies = random.choice([-1, 0, 1, 2], (len(own), people), p=[0.1, 0.4, 0.3, 0.2])
        return cls(own, samples, copies.astype(np.int8))

    def aligned(self, index: np.ndarray, swapped: np.ndarray) -> Cohort:
        return Aligned(self.people, self.genotypes[index], swapped, present=index >= 0)


@dataclass(frozen=True, eq=False, kw_only=True)
class Aligned(ArrayCohort):
    present: np.ndarray


@dataclass
class Federation:
    """A study and its cohorts' clients."""

    study_id: str
    clients: list[Client]
    data: list[Data]
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def study(self) -> Any:
        from unpooled_server.models import Study

        return Study.objects.get(pk=self.study_id)

    def join(self) -> None:
        for client in self.clients:
            client.join()

    def accept(self) -> None:
        for client in self.clients:
            client.accept()

    def announce(self) -> None:
        for client in self.clients:
            client.announce()

    def ready(self) -> None:
        self.join()
        self.accept()
        self.announce()

    def running(self) -> None:
        """Up to the first questions."""
        self.ready()
        work()
        assert self.study.state == "running", self.study.reason

    def answer(self, *clients: Client) -> None:
        """These cohorts, or all, answer what they are asked now, once."""
        for client in clients or self.clients:
            asked = client.questions()
            for question in asked.items:
                assert client.send(question, self.cohort(client, asked.panel_digest)).status_code == 201

    def cohort(self, client: Client, panel_digest: bytes) -> Cohort:
        key = (client.invitation.token, panel_digest)
        if key not in self.extra:
            self.extra[key] = client.cohort(panel_digest)
        return self.extra[key]

    def run(self) -> None:
        """Run the study to the end."""
        self.running()
        self.run_on()

    def run_on(self) -> None:
        """Run the study from the first questions to the end. AssertionError where that is a failure."""
        for _ in range(50):
            self.answer()
            work()
            if self.study.state != "running":
                assert self.study.state == "done", self.study.reason
                return
        raise AssertionError("the study does not end")


def work() -> None:
    """Do a worker's work, until there is nothing to do."""
    from unpooled_server.reads import selectors
    from unpooled_server.services import rounds, studies

    for _ in range(20):
        round_ids, study_ids = selectors.rounds_to_advance(), [pk for pk, _ in selectors.studies_to_advance()]
        if not round_ids and not study_ids:
            break
        before = progress_mark()
        for round_id in round_ids:
            rounds.advance(round_id)
        for study_id in study_ids:
            studies.advance(study_id)
        if progress_mark() == before:
            break
    for study_id in selectors.studies_to_clean():
        studies.advance(study_id)


def silent_for(name: str, seconds: float) -> None:
    """Set when this cohort was last heard to so many seconds ago."""
    from unpooled_server.models import Cohort

    Cohort.objects.filter(name=name).update(heard_at=timezone.now() - timedelta(seconds=seconds))


def progress_mark() -> Any:
    from unpooled_server.models import Round, Study

    return (
        list(Study.objects.order_by("pk").values_list("pk", "state", "version", "begun")),
        list(Round.objects.order_by("pk").values_list("pk", "state")),
    )


@pytest.fixture
def coordinator(platform: Any) -> Any:
    from unpooled_webapp import accounts

    return accounts.create("coordinator", "a long password 1", accounts.COORDINATOR)


@pytest.fixture
def federation(coordinator: Any, http: Callable[[], httpx.Client]) -> Callable[..., Federation]:
    """Makes a study with invited cohorts. Keyword arguments are fields of the plan."""
    from unpooled_server.services import invitations, panels, studies

    def make(
        lists: Sequence[Panel] | None = None,
        names: Sequence[str] = NAMES,
        panel_list: Panel | None = None,
        auto_start: bool = True,
        **plan: Any,
    ) -> Federation:
        lists = lists or [variants()] * len(names)
        fields = {
            "test": "chi-square",
            "phenotype": "T2D",
            "cohorts": len(names),
            "chunk_size": 5,
            "min_samples": 1,
            "min_per_class": 1,
            "file_stem": "study",
            **plan,
        }
        study = studies.create(coordinator, "Trial", "", fields, auto_start=auto_start, one_operator=True)
        if panel_list is not None:
            panels.set_list(study, list_text.write(panel_list), "coordinator")
            study.refresh_from_db()
        columns = len(plan.get("covariates", ()))
        data = [Data.make(seed, own, covariates=columns) for seed, own in enumerate(lists)]
        clients = [
            Client(
                http(),
                Invitation.from_text(invitations.invite(study, name, "http://localhost", "coordinator")),
                each.own,
                each.aligned,
            )
            for name, each in zip(names, data, strict=True)
        ]
        return Federation(study.pk, clients, data)

    return make


@pytest.fixture
def trial(federation: Callable[..., Federation]) -> Federation:
    """The usual study, to which its three cohorts are invited."""
    return federation()
