"""The question of a training by local updates: where each cohort's own steps lead, summed over cohorts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from cryptography.hazmat.primitives.ciphers import CipherContext

from unpooled.asking.draws import key_of
from unpooled.asking.question import Real, Sent
from unpooled.methods.learning.network_options import RATE
from unpooled.methods.learning.network_questions import SumGradient
from unpooled.methods.learning.reading import Examples, examples
from unpooled.methods.local_updates.options import ALGORITHM, BATCH, FEDAVG, WEIGHTED, work_of
from unpooled.protocol.masking import keystream


@dataclass(frozen=True, eq=False)
class SumUpdates(SumGradient, name="local-updates/updates", title="Average local updates", ring_bits=128):
    """The gradients of each cohort's own steps, added up, times its rows; and the losses before them."""

    sends: ClassVar[tuple[Sent, ...]] = (
        Real(
            "gradient",
            ("size",),
            "most",
            "per weight: the derivatives of the loss in this cohort's own steps, added up, times its rows",
            "in which direction the cohorts' own steps lead on average; of a unit that is active for one "
            "person alone, that person's row",
            fraction_bits=60,
            of_one=True,
        ),
        *SumGradient.sends[1:],
    )

    @property
    def draws(self) -> bool:
        return True

    def _summed(self, found: Examples) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        sums, counts = super()._summed(found)
        return {**sums, "gradient": counts["rows"] * self.accumulated(found)}, counts

    def _add(
        self,
        sums: dict[str, np.ndarray],
        inputs: np.ndarray,
        classes: np.ndarray,
        z: np.ndarray,
        units: CipherContext | None,
    ) -> None:
        sums["loss"] += self.losses(self.network.scores(self.weights, inputs), classes, z).sum()

    def accumulated(self, found: Examples) -> np.ndarray:
        """The sum of the gradients of this cohort's steps, each a mean over its batch: float64 (size,)."""
        units, total, weights = self.units(found), np.zeros(self.size), self.weights
        rate = RATE.of(self.plan)
        rows = examples(found, self.design.bends)
        for step, batch in enumerate(self.batches(found)):
            gradient = np.zeros(self.size)
            for first in range(0, len(batch), self.at_once):
                gradient += self._of_some(weights, rows, batch[first : first + self.at_once], units)
            gradient /= len(batch)
            total += self.share_of(step) * gradient
            weights = weights - rate * gradient
        return total

    def _of_some(
        self, weights: np.ndarray, found: Examples, rows: np.ndarray, units: CipherContext | None
    ) -> np.ndarray:
        """The gradient of some rows at these weights: float64 (size,)."""
        z = self.design.standardised(found, rows)

        def slope(scores: np.ndarray) -> np.ndarray:
            return self.slopes(scores, found.classes[rows], z)

        inputs, kept = self.inputs(found, rows, z), self.kept(len(z), units)
        return self.network.gradient(weights, inputs, slope, kept)

    def batches(self, found: Examples) -> Iterator[np.ndarray]:
        """The rows of each step: parts of a random order of all, and of another once they are used up."""
        rows = np.flatnonzero(self.design.part_of[found.folds] != self.held_out)
        stream, size = keystream(key_of(found, self, b"batches")), min(BATCH.of(self.plan), len(rows))
        in_a_pass, work = len(rows) // max(1, size), work_of(self.plan)
        order = rows
        for step in range(work * in_a_pass if ALGORITHM.of(self.plan) == FEDAVG or not size else work):
            at = step % in_a_pass * size
            if not at:
                order = rows[np.argsort(np.frombuffer(stream.update(bytes(8 * len(rows))), "<u8"))]
            yield order[at : at + size]

    def share_of(self, step: int) -> float:
        """Return how much a step counts: 1 on average.

        Weighted, the first of n steps counts n, the second n/2, the last 1, and those between fall evenly;
        all over their mean, without which they would add up to some n²/4.
        """
        if ALGORITHM.of(self.plan) != WEIGHTED:
            return 1.0
        work = work_of(self.plan)
        counts = np.append(float(work), np.linspace(work / 2, 1, work - 1))
        return float(counts[step] / counts.mean())
