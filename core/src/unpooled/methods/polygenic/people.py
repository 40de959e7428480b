"""Choice of the people that a polygenic score is fitted to, and of those left out to choose among scores."""

from __future__ import annotations

import hashlib

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from unpooled.asking.cohort import Samples
from unpooled.errors import ProtocolError
from unpooled.methods.shared.groups import complete
from unpooled.methods.shared.standardise import Columns, real_columns
from unpooled.plan.plan import Plan
from unpooled.protocol.messages import MIN_COHORTS

_INFO = b"unpooled/people-left-out/1"

FITTED, LEFT_OUT = 0, 1
"""The two groups of people, in the order of sums."""


def key_of(plan: Plan) -> bytes:
    """The key by which a cohort draws who is left out: its plan, which the server cannot choose for that.

    However many variants are in one question, and cohorts in the study: a plan may leave the one open, and a
    cohort that looks at its own data alone changes the other.
    """
    fields = {**vars(plan), "chunk_size": 0, "cohorts": MIN_COHORTS}
    return hashlib.sha256(_INFO + Plan(**fields).hash()).digest()


def groups(samples: Samples, key: bytes, one_in: int) -> list[np.ndarray]:
    """Return the people fitted to, and those left out: bool (n,) each. Whoever lacks a value is in neither.

    The draw goes by the place in the file, so that it is always the same, and leaves out one in `one_in`.
    """
    stream = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor().update(bytes(8 * len(samples)))
    left_out = np.zeros(len(samples), bool)
    left_out[np.argsort(np.frombuffer(stream, "<u8"), kind="stable")[::one_in]] = True
    inside = complete(samples)
    return [inside & ~left_out, inside & left_out]


def columns_of(samples: Samples, centre: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """One, the covariates and the phenotype, standardised: float64 (n, 2 + c); 0 of who lacks a value."""
    values, inside = real_columns(samples, phenotype=True), complete(samples)
    if values.shape[1] != len(centre):
        raise ProtocolError("the question has another number of columns than this cohort's data")
    z = Columns(centre, exponent).apply(np.where(inside[:, None], values, 0))
    return np.asarray(np.column_stack([np.ones(len(z)), z]) * inside[:, None])
