"""A cohort whose cluster computes: the same bytes as without, and what is said when the cluster fails."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from client_trials import Trial, ended
from distributed import LocalCluster

from unpooled.methods.chi_square import CountGenotypes
from unpooled.simulate import SimulationReport
from unpooled_client.data.cohort import PlinkCohort, open_cohort
from unpooled_client.data.options import DataOptions
from unpooled_client.state.events import Exit, Failed, Finished
from unpooled_client.state.fingerprint import Fingerprint
from unpooled_client.study import cluster as clusters
from unpooled_client.study.cluster import Cluster, ClusterProblem, NoCluster, Task
from unpooled_client.study.rounds import Compute

NOWHERE = "tcp://127.0.0.1:9"
QUESTION = CountGenotypes(start=0, stop=100, groups=(("case",), ("control",)), most=1000)


@pytest.fixture(scope="module")
def local() -> Iterator[LocalCluster]:
    """A scheduler and two workers, each a process of its own."""
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as running:
        yield running


@pytest.fixture
def cluster(local: LocalCluster) -> Iterator[Cluster]:
    connected = Cluster(local.scheduler_address)
    yield connected
    connected.close()


@pytest.fixture
def cohort(files: SimulationReport) -> PlinkCohort:
    data, _ = open_cohort(DataOptions(bfile=files.cohorts[0]))
    assert data is not None
    return data.align(data.panel)


def compute(cluster: Cluster, cohort: PlinkCohort) -> Compute:
    return cluster.reading(cohort.genotypes.path, Fingerprint.of(cohort.genotypes.path))


def computed(local: LocalCluster) -> int:
    """Tasks that the workers have done so far."""
    with local.get_client() as client:
        return sum(client.run(lambda dask_worker: dask_worker.state.executed_count).values())


def test_the_files_are_the_same_bytes_as_without(
    study: Callable[..., Trial], pooled: dict[str, bytes], local: LocalCluster
) -> None:
    before = computed(local)
    trial = study()
    first, *others = trial.members
    threads = [first.beside(first.engine(dask=local.scheduler_address)), *(m.beside() for m in others)]
    ended(*threads)
    assert isinstance(first.events[-1], Finished), first.events[-1]
    assert first.results() == pooled
    questions = sum(json.loads(line)["round"] is not None for line in first.state.ledger.open())
    assert computed(local) - before == questions + 1  # each question once, and the cohort


def test_a_lost_worker_is_made_up_for(cluster: Cluster, cohort: PlinkCohort, local: LocalCluster) -> None:
    asked = compute(cluster, cohort)
    here = QUESTION.local(cohort)["genotypes"]
    assert (asked(QUESTION, cohort)["genotypes"] == here).all()
    (holders,) = cluster._client.who_has([cluster._place(cohort)]).values()
    pids = cluster._client.run(os.getpid)
    for holder in holders:
        os.kill(pids[holder], signal.SIGKILL)
    assert (asked(QUESTION, cohort)["genotypes"] == here).all()


def test_a_file_that_a_worker_lacks(cluster: Cluster, cohort: PlinkCohort, tmp_path: Path) -> None:
    asked = cluster.reading(tmp_path / "elsewhere.bed", Fingerprint.of(cohort.genotypes.path))
    with pytest.raises(ClusterProblem, match=r"the Dask worker tcp://.*elsewhere\.bed.*Every worker"):
        asked(QUESTION, cohort)


def test_another_file_at_a_worker(cluster: Cluster, cohort: PlinkCohort, tmp_path: Path) -> None:
    other = tmp_path / "other.bed"
    data = bytearray(cohort.genotypes.path.read_bytes())
    data[-1] ^= 1
    other.write_bytes(data)
    asked = cluster.reading(other, Fingerprint.of(cohort.genotypes.path))
    with pytest.raises(ClusterProblem, match="has changed since it was accepted"):
        asked(QUESTION, cohort)


def test_another_version_at_a_worker(cluster: Cluster, cohort: PlinkCohort) -> None:
    asked = Task(QUESTION, cohort.genotypes.path, Fingerprint.of(cohort.genotypes.path), version="0.0.1")
    with pytest.raises(ClusterProblem, match=r"the Dask worker .* this computer has 0\.0\.1\. Install"):
        cluster._compute(asked, cohort)


def test_a_cluster_without_this_program(monkeypatch: pytest.MonkeyPatch, local: LocalCluster) -> None:
    monkeypatch.setattr(clusters, "PACKAGE", "a-package-that-is-nowhere")
    monkeypatch.setattr(clusters, "_version", lambda: "0.1.0")
    with pytest.raises(NoCluster, match=r"of the Dask cluster at tcp://.* lacks a-package-that-is-nowhere"):
        Cluster(local.scheduler_address)


def test_nobody_at_the_address(monkeypatch: pytest.MonkeyPatch, study: Callable[..., Trial]) -> None:
    monkeypatch.setattr(clusters, "CONNECTING", 0.5)
    member = study().members[0]
    end = member.run(member.engine(dask=NOWHERE))
    assert isinstance(end, Failed) and end.exit == Exit.USAGE, end
    assert NOWHERE in end.message and "dask scheduler" in end.message
    assert not end.told_server and not member.state.exists()


def test_a_client_without_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)  # importing it now fails
    with pytest.raises(NoCluster, match=r"pip install 'unpooled-client\[dask\]'"):
        Cluster(NOWHERE)
