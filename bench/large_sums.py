"""Times the sums of a large network's gradient, of three cohorts in one process: encode, mask, add, unmask.

    .venv/bin/python bench/large_sums.py --architecture knresnet-18

Real encodings, checks, masks and steps of the optimizer; the gradients are invented, so no torch is needed.
Peaks are of the whole process, so those of one step include what was held before it.
"""

from __future__ import annotations

import functools
import os
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import rehearsal

from unpooled.asking import question as questions
from unpooled.asking.share_check import load
from unpooled.fitted.image_network import ARCHITECTURES, ImageNetwork
from unpooled.methods import usual
from unpooled.methods.learning.design import SumProducts
from unpooled.methods.learning.network_questions import SumGradient, network_of
from unpooled.methods.learning.training import Training, optimizer_of
from unpooled.plan.plan import NO_KEY, Plan
from unpooled.plan.schema import Column
from unpooled.protocol import codec, masking
from unpooled.protocol.witness import Witnessed

COHORTS = 3
MEGABYTE = 1_000_000
_BLOCK = 1 << 16
"""Words of masks at once, as the compensator makes them."""


def plan_of(architecture: str, size: str) -> Plan:
    schema = (
        Column("file", "image", encoding=size),
        Column("label", "category", role="outcome", levels=tuple("0123456789")),
    )
    named = {**usual("image-network"), "cohorts": COHORTS, "compensator_key": NO_KEY, "schema": schema}
    named |= {"test": "image-network", "architecture": architecture}
    return Plan(**named)


def timed(what: str, make: Callable[[], Any]) -> Any:
    """Make something, and say how long that took, and how much memory the process has had at most."""
    started = time.perf_counter()
    made = make()
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MEGABYTE
    print(f"{what:45} {seconds:6.2f} s, peak {peak:6,.0f} MB")
    return made


def main() -> None:
    parser = rehearsal.parser(__doc__)
    parser.add_argument("--architecture", choices=ARCHITECTURES, default="knresnet-18")
    parser.add_argument("--size", default="1x28x28")
    given = parser.parse_args()
    plan = plan_of(given.architecture, given.size)
    design = SumProducts.widest(plan)
    network = network_of(plan, design)
    if not isinstance(network, ImageNetwork):
        raise TypeError("want a network on images")
    weights = np.random.default_rng(1).normal(size=network.size)
    print(f"{network.size:,} weights, {COHORTS} cohorts")
    question = SumGradient(plan, design, np.zeros(0), weights, 0, 1)
    scheme, salt = plan.scheme(question.ring_bits), os.urandom(masking.SALT_BYTES)
    load(scheme)
    words = questions.words(question, scheme)
    named = timed("name the question", lambda: masking.question(salt, questions.pieces(question)))
    arrays = {
        "gradient": weights, "loss": np.ones(1), "rows": np.ones(1, np.int64), "held_out": np.ones(1),
        "right": np.ones(question.classified, np.int64), "far": np.zeros(1, np.int64),
    }  # fmt: skip

    def context(cohort: int) -> masking.MaskContext:
        return masking.MaskContext(
            "s", bytes(32), bytes(32), str(cohort), 1, named, scheme.label, words, bytes(16)
        )

    def share(cohort: int) -> bytes:
        witnessed = Witnessed(bytes(32), 1, named, adds_pad=not cohort)
        packed = questions.pack(question, arrays, scheme, COHORTS, salt, (), witnessed)
        return scheme.to_bytes(scheme.add(packed, masking.mask(bytes([cohort]) * 32, context(cohort))))

    shares = [
        timed(f"cohort {cohort + 1}: encode, check and mask", lambda cohort=cohort: share(cohort))
        for cohort in range(COHORTS)
    ]

    def masks() -> bytes:
        blocks = (masking.mask_blocks(bytes([k]) * 32, context(k), _BLOCK) for k in range(COHORTS))
        masks = zip(*blocks, strict=True)
        parts = [scheme.to_bytes(functools.reduce(scheme.add, next(masks)))]
        parts += (scheme.to_bytes(functools.reduce(scheme.add_words, part)) for part in masks)
        return b"".join(parts)

    released = timed("compensator: add masks", masks)

    def added() -> np.ndarray:
        total = scheme.zeros(words)
        for one in shares:
            scheme.add_to(total, scheme.from_bytes(one, words))
        scheme.subtract_from(total, scheme.from_bytes(released, words))
        return total

    total = timed("server: add shares, and take off masks", added)
    shares.clear()
    sums = timed("server: check and read", lambda: questions.unpack(question, total, scheme, COHORTS, salt))
    np.testing.assert_allclose(sums["gradient"], COHORTS * weights, rtol=1e-12, atol=1e-15)
    told = scheme.to_bytes(total)
    witnessed = Witnessed(bytes(32), 1, named)
    timed("each cohort: verify and read",
          lambda: questions.verified(question, told, scheme, COHORTS, salt, witnessed))  # fmt: skip
    at = Training.begin(weights, optimizer_of(plan, network.size))
    after = timed("each party: take the step", lambda: at.heard(sums, 100))
    timed("each party: encode the state", lambda: sum(map(len, map(memoryview, codec.pieces(after)))))


if __name__ == "__main__":
    main()
