"""Values that this cohort derives in a study for the questions that follow, such as its people's components.

Kept in the state folder, beside the digest of the seed under which it was derived: another seed is another
study.
"""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass, field

import numpy as np

from unpooled.asking.cohort import Cohort, Extended
from unpooled.asking.question import Question
from unpooled_client.state.files import write_atomically
from unpooled_client.state.folder import StateFolder

_LABEL, _COUNT = b"unpooled derived columns 1\n", 4


@dataclass
class Deriving:
    """May be used by several threads."""

    folder: StateFolder
    seed: bytes = field(repr=False)
    lock: threading.Lock = field(default_factory=threading.Lock)
    found: np.ndarray | None = None
    cohort: tuple[Cohort, Cohort] | None = None
    """One as it was read, and as it is with what was derived."""

    def extended(self, cohort: Cohort, question: Question) -> Cohort:
        """The cohort as a question finds it; what is derived by this one is kept before anything is sent."""
        # Derived once: threads that derived each for themselves would keep and use different arrays.
        with self.lock:
            if (derived := question.derives(cohort)) is not None:
                _keep(self.folder, self.seed, derived)
                self.found, self.cohort = derived, None
                return cohort
            if self.found is None:
                self.found = derived_in(self.folder, self.seed)
            if self.found is None:
                return cohort
            # The same object each time: a cluster is sent a cohort once.
            if self.cohort is None or self.cohort[0] is not cohort:
                self.cohort = cohort, Extended.of(cohort, self.found)
            return self.cohort[1]


def derived_in(folder: StateFolder, seed: bytes | None = None) -> np.ndarray | None:
    """Return what was derived under a seed: float64 (n, k); None if nothing was.

    Of a study that has ended the seed is gone, and what there is was derived in it.
    """
    try:
        data = folder.derived.read_bytes()
    except FileNotFoundError:
        return None
    # A digest has one length, whatever the seed.
    at = len(_head(b""))
    if seed is not None and data[:at] != _head(seed):
        return None
    columns = int.from_bytes(data[at : at + _COUNT], "little")
    return np.frombuffer(data[at + _COUNT :], "<f8").reshape(-1, columns)


def _keep(folder: StateFolder, seed: bytes, derived: np.ndarray) -> None:
    count = derived.shape[1].to_bytes(_COUNT, "little")
    data = _head(seed) + count + np.ascontiguousarray(derived, "<f8").tobytes()
    write_atomically(folder.derived, data, private=True)


def _head(seed: bytes) -> bytes:
    return _LABEL + hashlib.sha256(_LABEL + seed).digest()
