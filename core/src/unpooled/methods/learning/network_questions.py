"""The question that trains a network: the gradient of its loss, summed over the rows of the pool.

The loss of a row with scores s is the squared error of a standardised number, or the negative log likelihood
of its class. Its derivatives by the scores are

    2 (s - y)    of a number        p - y    of classes, p their probabilities and y 1 for the row's class
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np
from cryptography.hazmat.primitives.ciphers import CipherContext

from unpooled.asking.cohort import Table
from unpooled.asking.draws import key_of
from unpooled.asking.question import Arrays, Count, Foreseen, Real, Sent, UnderPlan
from unpooled.asking.sizes import Sizes
from unpooled.errors import ProtocolError
from unpooled.fitted.image_network import ImageNetwork
from unpooled.fitted.model import LOGISTIC, SOFTMAX, probabilities
from unpooled.fitted.network import Network
from unpooled.methods.learning.design import OfDesign, SumProducts
from unpooled.methods.learning.logistic_questions import logarithms
from unpooled.methods.learning.network_options import (
    ACTIVATION,
    ARCHITECTURE,
    HIDDEN,
    ROUNDS,
    TAKING_PART,
    dropout_of,
    widths_of,
)
from unpooled.methods.learning.reading import Examples, class_names, examples
from unpooled.methods.shared.genotype_counts import MOST_PEOPLE
from unpooled.methods.tables.encoding.reading import drawn
from unpooled.plan.plan import Plan
from unpooled.protocol.masking import keystream

About: TypeAlias = tuple[Plan, SumProducts, np.ndarray, np.ndarray, int]

_LARGEST = 1 << 20
"""Largest loss, and derivative, of a row on average: beyond it the fit has diverged."""
_FRACTION_BITS = 60
_AT_ONCE = 1 << 20
"""Numbers of a layer that are computed at once: what is computed on the way stays in the cache."""
_ON_ONE_THREAD, _FEWEST_ROWS = 1 << 18, 16
"""Multiplications that OpenBLAS leaves to one thread, and rows below which a product is not cut up for it.

Threads of so small products wait for one another, ten times as long as it takes where others are busy, too.
"""


class OfNetwork(OfDesign, UnderPlan):
    """About the scores that a network has for the rows of a table."""

    scale: np.ndarray
    """float64 (inputs,): multiplies a column of the design; 0 of one that does not vary"""
    weights: np.ndarray
    """float64 (size,)"""
    held_out: int
    """The fold that the network is not fitted to."""

    @functools.cached_property
    def network(self) -> Network | ImageNetwork:
        return network_of(self.plan, self.design)

    @property
    def share(self) -> float:
        """Probability with which a person takes part."""
        return TAKING_PART.of(self.plan)

    @property
    def size(self) -> int:
        return len(self.weights)

    @property
    def at_once(self) -> int:
        """Number of rows that are computed at once."""
        network = self.network
        few = _ON_ONE_THREAD // network.heaviest if isinstance(network, Network) else 0
        return few if few >= _FEWEST_ROWS else _AT_ONCE // network.breadth + 1

    def inputs(self, found: Examples, rows: np.ndarray, z: np.ndarray) -> np.ndarray:
        """The network's inputs of some rows, whose design with the outcome is z: float64 (n, inputs).

        Of a network on images these: uint8 (n, channels, rows, columns).
        """
        if isinstance(self.network, Network):
            return np.asarray(z[:, : len(self.scale)] * self.scale)
        images = self.plan.images
        if found.images is None or images is None or found.images.shape[1:] != images.size:
            raise ProtocolError("the question is about other images than this cohort has")
        return np.asarray(found.images[rows])

    def scores(self, found: Examples, rows: np.ndarray, z: np.ndarray) -> np.ndarray:
        """The scores of some rows, whose design with the outcome is z: float64 (n, scores)."""
        return self.network.scores(self.weights, self.inputs(found, rows, z))

    def blocks(
        self, found: Examples, taken: np.ndarray | None = None
    ) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """The rows that are left out, and those of the others that take part, by blocks.

        Yields the fold, the rows' places, and their design with the outcome.
        """
        most = self.at_once
        for fold, rows, z in self.design.blocks(found):
            if fold == self.held_out:
                kept = np.arange(len(rows))
            else:
                kept = np.flatnonzero(taken[rows]) if taken is not None else np.arange(0)
            for first in range(0, len(kept), most):
                some = kept[first : first + most]
                yield fold, rows[some], z[some]

    def taken(self, found: Examples) -> np.ndarray:
        """Mark the rows that take part: bool (n,). All rows of a person do, or none does."""
        rows = len(found.values)
        if self.share == 1:
            return np.ones(rows, bool)
        people = np.arange(rows) if found.patients is None else found.patients
        numbers = drawn(key_of(found, self, b"rows"), int(people.max(initial=-1)) + 1)
        return np.asarray(numbers[people] < np.uint64(self.share * 2**64))

    def losses(self, scores: np.ndarray, classes: np.ndarray, z: np.ndarray) -> np.ndarray:
        """The loss of each row: float64 (n,)."""
        if self.design.classes:
            return np.asarray(-logarithms(scores, classes))
        return np.asarray((scores[:, 0] - z[:, -1]) ** 2)

    def slopes(self, scores: np.ndarray, classes: np.ndarray, z: np.ndarray) -> np.ndarray:
        """The derivatives of each row's loss by its scores: float64 (n, scores)."""
        if not self.design.classes:
            return np.asarray(2 * (scores - z[:, -1:]))
        p = probabilities(scores, SOFTMAX if scores.shape[1] > 1 else LOGISTIC)[:, -scores.shape[1] :]
        y = classes[:, None] == (np.arange(p.shape[1]) if p.shape[1] > 1 else 1)
        return np.asarray(p - y)


@dataclass(frozen=True, eq=False)
class SumGradient(OfNetwork, name="network/gradient", title="Train the network", ring_bits=128):
    """Loss and gradient of the rows that take part, and the loss of the fold that is left out."""

    sends: ClassVar[tuple[Sent, ...]] = (
        Real(
            "gradient",
            ("size",),
            "most",
            "per weight: the derivative of the loss of the rows that take part",
            "in which direction the network fits better; of a unit that is active for one person alone, that "
            "person's row",
            fraction_bits=_FRACTION_BITS,
            of_one=True,
        ),
        Real(
            "loss",
            (1,),
            "most",
            "the loss of the rows that take part",
            "how well the network fits",
            fraction_bits=_FRACTION_BITS,
        ),
        Count(
            "rows",
            (1,),
            MOST_PEOPLE,
            "number of rows that take part",
            "how many rows take part in the round",
        ),
        Real(
            "held_out",
            (1,),
            "most",
            "the loss of the rows in the fold that is left out",
            "how well the network does there",
            fraction_bits=_FRACTION_BITS,
        ),
        Count(
            "right",
            ("classified",),
            MOST_PEOPLE,
            "number of rows in the fold that is left out whose class is predicted",
            "of how many rows there the class is predicted",
        ),
        Count(
            "far",
            (1,),
            1,
            "1 if a number of this cohort is too large for the sum, else 0",
            "whether the fit has diverged",
        ),
    )
    each: ClassVar[dict[str, str]] = {"size": "weight", "classified": "fold"}

    design: SumProducts
    """Design that turns a row into columns."""
    scale: np.ndarray
    weights: np.ndarray
    held_out: int
    iteration: int

    @classmethod
    def foreseen(cls, plan: Plan, sizes: Sizes | None) -> Foreseen:
        design = SumProducts.widest(plan)
        scale, weights = np.zeros(design.columns - design.targets), np.zeros(network_of(plan, design).size)
        return Foreseen([cls(plan, design, scale, weights, 0, 1)], cls.most_turns(plan), exact=False)

    @classmethod
    def sends_under(cls, plan: Plan) -> tuple[Sent, ...]:
        """Only of classes some are predicted."""
        return tuple(array for array in cls.sends if array.name != "right" or class_names(plan))

    @classmethod
    def most_turns(cls, plan: Plan) -> int:
        return ROUNDS.of(plan) + 1  # the last weights are tested, too

    @property
    def dropout(self) -> float:
        """Probability with which a hidden unit drops out, or of images an input of the last layer."""
        return dropout_of(self.plan)

    @property
    def draws(self) -> bool:
        return self.share < 1 or self.dropout > 0

    @property
    def classified(self) -> int:
        return 1 if self.design.classes else 0

    @property
    def most(self) -> int:
        return _LARGEST * self.design.rows

    def local(self, table: Table) -> Arrays:
        found = examples(table)
        with np.errstate(over="ignore", invalid="ignore"):
            sums, counts = self._summed(found)
            far = any(not (np.abs(sum_) <= self.most).all() for sum_ in sums.values())
        if far:  # what is infinite, or no number, can't be sent
            sums = {name: np.zeros_like(sum_) for name, sum_ in sums.items()}
        return {**sums, **counts, "far": np.array([far], np.int64)}

    def _summed(self, found: Examples) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """The declared sums of reals, and those of counts, but for whether any is too large."""
        taken, units = self.taken(found), self.units(found)
        sums = {"gradient": np.zeros(self.size), "loss": np.zeros(1), "held_out": np.zeros(1)}
        counts = {"rows": np.zeros(1, np.int64), "right": np.zeros(self.classified, np.int64)}
        for fold, rows, z in self.blocks(found, taken):
            if fold == self.held_out:
                scores = self.scores(found, rows, z)
                sums["held_out"] += self.losses(scores, found.classes[rows], z).sum()
                if self.classified:
                    counts["right"] += np.count_nonzero(predicted(scores) == found.classes[rows])
            else:
                counts["rows"] += len(rows)
                self._add(sums, self.inputs(found, rows, z), found.classes[rows], z, units)
        return sums, counts

    def units(self, found: Examples) -> CipherContext | None:
        """The stream by which hidden units drop out; None if none does."""
        return keystream(key_of(found, self, b"units")) if self.dropout else None

    def _add(
        self,
        sums: dict[str, np.ndarray],
        inputs: np.ndarray,
        classes: np.ndarray,
        z: np.ndarray,
        units: CipherContext | None,
    ) -> None:
        """Add loss and gradient of some rows."""

        def slope(scores: np.ndarray) -> np.ndarray:
            sums["loss"] += self.losses(scores, classes, z).sum()
            return self.slopes(scores, classes, z)

        kept = self.kept(len(z), units)
        sums["gradient"] += self.network.gradient(self.weights, inputs, slope, kept)

    def kept(self, rows: int, units: CipherContext | None) -> list[np.ndarray]:
        """Draw which hidden units of the next rows stay: factors of each layer, float64 (rows, units).

        What stays is enlarged, so that its mean is as without dropout.
        """
        if units is None:
            return []
        least, found = np.uint64(self.dropout * 2**64), []
        for width in self.network.hidden:
            numbers = np.frombuffer(units.update(bytes(8 * rows * width)), "<u8").reshape(rows, width)
            found.append((numbers >= least) / (1 - self.dropout))
        return found


def predicted(scores: np.ndarray) -> np.ndarray:
    """The class with the largest score: int64 (n,)."""
    return np.asarray(scores.argmax(axis=1) if scores.shape[1] > 1 else scores[:, 0] > 0, np.int64)


def network_of(plan: Plan, design: SumProducts) -> Network | ImageNetwork:
    """The plan's network for its images, or for the columns of a design."""
    if plan.images is not None:
        return ImageNetwork((*plan.images.size, design.targets), ARCHITECTURE.of(plan))
    widths = design.columns - design.targets, *widths_of(HIDDEN.of(plan)), design.targets
    return Network(widths, ACTIVATION.of(plan))
