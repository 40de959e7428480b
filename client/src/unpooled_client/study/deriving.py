"""Values that this cohort derives in a study for this and later questions, such as its people's components.

Kept in the state folder, a file for each name, beside the digest of the seed under which they were derived:
another seed is another study.
"""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import numpy as np

from unpooled.asking.cohort import FURTHER_COVARIATES, NORMAL_SCORES, Cohort, Extended, Samples
from unpooled.asking.question import Question
from unpooled.errors import UnpooledError
from unpooled.methods import is_each_apart
from unpooled.methods.phenotypes import ending
from unpooled.methods.shared.options import RINT
from unpooled.plan.common_options import COMPONENTS
from unpooled.plan.plan import Plan
from unpooled_client.state.files import write_atomically
from unpooled_client.state.folder import StateFolder

_LABEL, _COUNT = b"unpooled derived columns 1\n", 4


@dataclass
class Deriving:
    """May be used by several threads."""

    folder: StateFolder
    seed: bytes = field(repr=False)
    lock: threading.Lock = field(default_factory=threading.Lock)
    of_names: dict[str, threading.Lock] = field(default_factory=dict)
    covariates: np.ndarray | None = None
    cohort: tuple[Cohort, tuple[str, ...], Cohort] | None = None
    """One as it was read, what was wanted, and as it is with what was derived."""

    def extended(self, cohort: Cohort, question: Question) -> Cohort:
        """The cohort as a question finds it; what is derived by this one is kept before anything is sent."""
        name = question.derived_as
        with self.lock:
            before = self._with(cohort, question.uses)
            of_name = self.of_names.setdefault(name, threading.Lock())
        # Derived once: threads that derived each for themselves would keep and use different arrays.
        with of_name:
            if (derived := question.derives(before)) is None:
                return before
            _keep(_path(self.folder, name), self.seed, derived)
        if name == FURTHER_COVARIATES:
            with self.lock:
                self.covariates, self.cohort = derived, None
            return cohort
        with self.lock:
            if self.cohort and name in self.cohort[1]:
                self.cohort = None  # it was without what is known now
        extended = before if isinstance(before, Extended) else Extended.of(cohort, {})
        return extended.with_derived(name, derived)

    def _with(self, cohort: Cohort, names: tuple[str, ...]) -> Cohort:
        """The cohort with its covariates, and with what has these names."""
        if self.covariates is None:
            self.covariates = derived_in(self.folder, self.seed)
        # The same object each time: a cluster is sent a cohort once.
        if self.cohort is None or self.cohort[0] is not cohort or self.cohort[1] != names:
            found = {name: derived_in(self.folder, self.seed, name) for name in names}
            found[FURTHER_COVARIATES] = self.covariates
            known = {name: columns for name, columns in found.items() if columns is not None}
            self.cohort = cohort, names, Extended.of(cohort, known) if known else cohort
        return self.cohort[2]


def derived_in(
    folder: StateFolder, seed: bytes | None = None, name: str = FURTHER_COVARIATES
) -> np.ndarray | None:
    """Return what was derived under a seed: float64 (n, k); None if nothing was.

    Of a study that has ended the seed is gone, and what there is was derived in it.
    """
    try:
        data = _path(folder, name).read_bytes()
    except FileNotFoundError:
        return None
    # A digest has one length, whatever the seed.
    at = len(_head(b""))
    if seed is not None and data[:at] != _head(seed):
        return None
    columns = int.from_bytes(data[at : at + _COUNT], "little")
    return np.frombuffer(data[at + _COUNT :], "<f8").reshape(-1, columns)


def with_derived(samples: Samples, plan: Plan, folder: StateFolder) -> Samples:
    """The people as the questions of a study that has ended found them: with components and normal scores.

    UnpooledError if normal scores are wanted and were not kept: effects would be in other units.
    """
    if COMPONENTS.of(plan) and (scores := derived_in(folder)) is not None and len(scores) == len(samples):
        samples = samples.with_covariates(scores)
    if not RINT.of(plan):
        return samples
    of_each = [ending(name) for name in plan.phenotype_names] if is_each_apart(plan) else [""]
    found = [derived_in(folder, name=NORMAL_SCORES + of) for of in of_each]
    kept = [columns for columns in found if columns is not None and len(columns) == len(samples)]
    if len(kept) < len(found):
        raise UnpooledError(
            "the normal scores of the phenotype, which the study made, are not there any more"
        )
    return samples.with_phenotypes(np.concatenate(kept, axis=1))


def _path(folder: StateFolder, name: str) -> Path:
    if name == FURTHER_COVARIATES:
        return folder.derived
    return folder.derived.with_name(f"{folder.derived.name}-{quote(name, safe='')}")


def _keep(path: Path, seed: bytes, derived: np.ndarray) -> None:
    count = derived.shape[1].to_bytes(_COUNT, "little")
    data = _head(seed) + count + np.ascontiguousarray(derived, "<f8").tobytes()
    write_atomically(path, data, private=True)


def _head(seed: bytes) -> bytes:
    return _LABEL + hashlib.sha256(_LABEL + seed).digest()
