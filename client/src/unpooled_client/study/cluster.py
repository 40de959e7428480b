"""The cohort's own Dask cluster: questions are answered at its workers.

A worker is handed the question, and the cohort as aligned with the panel: the people's phenotypes
and covariates, and which rows of the .bed or .pgen belong to which variants. It reads that by its path,
and gives the arrays back. Keys, seed, masks and shares stay on this computer, which packs, masks and sends.
"""

from __future__ import annotations

import functools
import importlib.metadata
import threading
import uuid
from concurrent.futures import CancelledError
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from unpooled.asking import question as questions
from unpooled.asking.cohort import Cohort
from unpooled.asking.question import Arrays, Question
from unpooled.errors import DataProblem, UnpooledError
from unpooled_client.state.fingerprint import Fingerprint, check_unchanged
from unpooled_client.study.rounds import Compute

if TYPE_CHECKING:
    from distributed import Client, Future

PACKAGE = "unpooled-client"
CONNECTING = 10.0  # seconds


class ClusterProblem(UnpooledError):
    """The Dask cluster does not do what it should; says what and the remedy."""


class NoCluster(ClusterProblem):
    """There is no connection to the cluster to begin with."""


class Cluster:
    """A connection to a Dask scheduler. May be used from several threads."""

    def __init__(self, address: str) -> None:
        """`address` as Dask writes it, e.g. `tls://node7:8786`.

        NoCluster if nothing answers there, or something that lacks this program.
        """
        try:
            import dask
            from distributed import Client
        except ImportError as error:
            raise NoCluster(
                f"--dask needs a package that is not installed here: {error}. "
                "Install it with: pip install 'unpooled-client[dask]'"
            ) from error
        # Dask warns of tasks above 10 MB; the one that holds the cohort is 9 bytes per variant.
        dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"})
        self.address, self._lock = address, threading.Lock()
        self._placed: tuple[Cohort, Future[Cohort]] | None = None
        try:
            self._client: Client = Client(address, timeout=CONNECTING, set_as_default=False)
        except (OSError, ValueError) as error:
            raise NoCluster(
                f"no Dask scheduler answers at {address}: {error}. Is `dask scheduler` running, is this the "
                "address that it printed, and does a firewall stand between?"
            ) from error
        self._check_versions()

    def close(self) -> None:
        self._client.close()

    def threads(self) -> int:
        """Count the threads of all workers, 0 if there is no worker."""
        try:
            return sum(self._client.nthreads().values())
        except (OSError, RuntimeError, CancelledError) as error:
            raise self._lost() from error

    def _check_versions(self) -> None:
        """Ask what is installed. A worker that cannot read a task ends without a word."""
        asked = importlib.metadata.version, PACKAGE
        found = self._client.run(*asked, on_error="return")
        try:
            found["scheduler"] = self._client.run_on_scheduler(*asked)
        except importlib.metadata.PackageNotFoundError as error:
            found["scheduler"] = error
        # Any other release may compute another last bit, or fail to read a task and end in silence.
        for place, version in found.items():
            if version != (wanted := _version()):
                self.close()
                raise NoCluster(
                    _other_version(f"{place} of the Dask cluster at {self.address}", version, wanted)
                )

    def reading(self, genotypes: Path, accepted: Fingerprint) -> Compute:
        """Computes there, at workers that find the file `genotypes` as it was accepted.

        A worker that is lost is made up for by another. Raises ClusterProblem, and what `local` raises.
        """
        return lambda question, cohort: self._compute(Task(question, genotypes, accepted, _version()), cohort)

    def _compute(self, task: Task, cohort: Cohort) -> Arrays:
        from distributed import KilledWorker

        future = self._client.submit(task, self._place(cohort), key=_key(task.question.name))
        try:
            arrays: Arrays = future.result()
        except KilledWorker as error:
            raise ClusterProblem(
                f"workers of the Dask cluster at {self.address} died again and again over one question "
                f"({task.question.title}). Look at their logs; give them more memory or fewer threads, and "
                "start the same command again; it goes on."
            ) from error
        except (OSError, CancelledError) as error:
            raise self._lost() from error
        return arrays

    def _place(self, cohort: Cohort) -> Future[Cohort]:
        """The cohort at the cluster: a task of its own, which Dask does anew where a worker is lost."""
        with self._lock:
            # By identity, not by equality: comparing cohorts would cost more than sending one.
            if self._placed is None or self._placed[0] is not cohort:
                self._placed = cohort, self._client.submit(Held(cohort), key=_key("cohort"))
            return self._placed[1]

    def _lost(self) -> ClusterProblem:
        return ClusterProblem(
            f"the Dask scheduler at {self.address} is gone. "
            "Start it, and then the same command again; it goes on."
        )


# What the workers are handed: functions with what belongs to them, so that Dask looks no further into it.


@dataclass(frozen=True, eq=False)
class Held:
    """The cohort, as a task that gives it."""

    cohort: Cohort

    def __call__(self) -> Cohort:
        return self.cohort


@dataclass(frozen=True)
class Task:
    """Computation of a worker for a question, if the worker has this version and finds the file as it was
    accepted.
    """

    question: Question
    genotypes: Path
    accepted: Fingerprint
    version: str

    def __call__(self, cohort: Cohort) -> Arrays:
        if _version() != self.version:
            raise ClusterProblem(_other_version(_worker(), _version(), self.version))
        try:
            status = self.genotypes.stat()
            _check_once(self.genotypes, self.accepted, status.st_size, status.st_mtime_ns)
            return questions.answer(self.question, cohort)
        except (DataProblem, OSError) as error:
            raise ClusterProblem(
                f"{_worker()} cannot use the {self.genotypes.suffix} file. {error} "
                f"Every worker must find the file of this cohort at {self.genotypes}, e.g. on a shared file "
                "system."
            ) from error


@functools.lru_cache(maxsize=4)
def _check_once(genotypes: Path, accepted: Fingerprint, size: int, modified: int) -> None:
    """DataProblem unless the file, of this size and time now, is the accepted one."""
    check_unchanged({genotypes.suffix: accepted}, {genotypes.suffix: genotypes})


def _key(name: str) -> str:
    """A name of its own for a task, fit to be read on Dask's dashboard."""
    return f"{name}-{uuid.uuid4()}"


def _version() -> str:
    return importlib.metadata.version(PACKAGE)


def _other_version(place: str, found: object, wanted: str) -> str:
    has = f"has {PACKAGE} {found}" if isinstance(found, str) else f"lacks {PACKAGE}"
    return f"{place} {has}; this computer has {wanted}. Install the same version on both."


def _worker() -> str:
    from distributed import get_worker

    return f"the Dask worker {get_worker().address}"
