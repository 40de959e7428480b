"""Networks by local updates, which need no torch, beside the same algorithms written plainly with torch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import load_breast_cancer
from torch import nn
from torch.nn import functional

from tests.contract.studies import NOBODY, plan_of, table_of
from unpooled import run
from unpooled.asking.cohort import ArrayTable
from unpooled.fitted.network import SILU, Network, start
from unpooled.methods.learning.reading import Examples
from unpooled.methods.local_updates.questions import SumUpdates
from unpooled.plan.plan import Plan
from unpooled.plan.schema import CATEGORY, OUTCOME, Column

COLUMNS, HIDDEN, ROUNDS, RATE = 6, 7, 30, 0.1
Batches = list[list[np.ndarray]]
"""The rows of each step, for each cohort."""


def study(**options: Any) -> tuple[Plan, list[ArrayTable]]:
    """A plan, and cohorts of unequal size whose classes overlap as little as floors allow."""
    x, y = load_breast_cancer(return_X_y=True)
    outcome = Column("y", CATEGORY, levels=("c0", "c1"), role=OUTCOME)
    few = {"validation_folds": 2, "patience": 0, "people_in_a_round": 10, "batch_rows": 16}
    more = {"hidden": str(HIDDEN), "training_rounds": ROUNDS, "learning_rate": RATE}
    schema = [*(Column(f"x{k}") for k in range(COLUMNS)), outcome]
    plan = plan_of("local-updates", schema, 3, **{**few, **more, **options})
    order = np.argsort(y + np.random.default_rng(2).normal(0, 0.6, len(y)), kind="stable")
    parts = np.split(order, [len(y) // 2, len(y) * 4 // 5])
    cells = (
        {f"x{k}": x[rows, k] for k in range(COLUMNS)} | {"y": [f"c{k}" for k in y[rows]]} for rows in parts
    )
    return plan, [table_of(plan, each) for each in cells]


def batches_drawn(monkeypatch: pytest.MonkeyPatch) -> Iterator[Batches]:
    """The rows of all steps, round by round, as the cohorts draw them."""
    drawn: list[list[np.ndarray]] = []
    batches = SumUpdates.batches

    def recorded(self: SumUpdates, found: Examples) -> Iterator[np.ndarray]:
        drawn.append(list(batches(self, found)))
        return iter(drawn[-1])

    monkeypatch.setattr(SumUpdates, "batches", recorded)
    return (list(three) for three in zip(*[iter(drawn)] * 3, strict=True))


def flat(parts: Any) -> torch.Tensor:
    return torch.cat([part.detach().ravel() for part in parts])


def put(into: Any, values: torch.Tensor) -> None:
    """Set parameters, or their gradients, to a flat vector."""
    at = 0
    for part in into:
        part.copy_(values[at : at + part.numel()].reshape(part.shape))
        at += part.numel()


def module() -> nn.Sequential:
    return nn.Sequential(nn.Linear(COLUMNS, HIDDEN), nn.SiLU(), nn.Linear(HIDDEN, 1)).double()


class Torch:
    """The algorithms as their papers have them: steps at each cohort, and one at the server."""

    def __init__(self, tables: list[Any], weighted: bool, momentum: float, decay: float) -> None:
        pooled = np.concatenate([table.values for table in tables])
        mean, deviation = pooled.mean(axis=0), pooled.std(axis=0)
        self.x = [torch.tensor((table.values - mean) / deviation) for table in tables]
        self.y = [torch.tensor(table.classes, dtype=torch.float64)[:, None] for table in tables]
        last = max(table.folds.max() for table in tables)
        self.sizes = [int((table.folds != last).sum()) for table in tables]
        self.weighted, self.server, self.local = weighted, module(), module()
        with torch.no_grad():
            put(self.server.parameters(), torch.tensor(start(Network((COLUMNS, HIDDEN, 1), SILU), 0)))
        self.optimizer = torch.optim.SGD(
            self.server.parameters(), lr=RATE, momentum=momentum, weight_decay=decay
        )

    def round(self, batches: Batches) -> None:
        parts = [
            self.accumulated(k, rows) * n for k, (rows, n) in enumerate(zip(batches, self.sizes, strict=True))
        ]
        self.optimizer.zero_grad()
        mean, parameters = sum(parts) / sum(self.sizes), list(self.server.parameters())
        for parameter in parameters:
            parameter.grad = torch.zeros_like(parameter)
        put([parameter.grad for parameter in parameters], mean)  # type: ignore[arg-type]
        self.optimizer.step()

    def accumulated(self, cohort: int, batches: list[np.ndarray]) -> torch.Tensor:
        """Return how far a cohort went, over the learning rate; or its gradients, each by its weight."""
        before, total = flat(self.server.parameters()), torch.zeros(1, dtype=torch.float64)
        with torch.no_grad():
            put(self.local.parameters(), before)
        steps, own = len(batches), torch.optim.SGD(self.local.parameters(), lr=RATE)
        # The thesis, below its equation (8); the first of several steps counts as many as there are.
        counts = [(i - 2) * (1 - steps / 2) / (steps - 2) + steps / 2 for i in range(2, steps + 1)]
        counts = [steps, *counts]
        for rows, count in zip(batches, counts, strict=True):
            own.zero_grad()
            scores = self.local(self.x[cohort][rows])
            functional.binary_cross_entropy_with_logits(scores, self.y[cohort][rows]).backward()
            total = total + count * steps / sum(counts) * flat(part.grad for part in self.local.parameters())
            own.step()
        return total if self.weighted else (before - flat(self.local.parameters())) / RATE


@pytest.mark.parametrize(
    ("algorithm", "options"),
    [
        ("fedavg", {"local_passes": 2, "batch_rows": 10}),
        ("fedcmb", {}),
        ("fedcmb", {"momentum": 0.7, "weight_decay": 0.01}),
        ("weighted", {"local_steps": 6, "momentum": 0.7, "weight_decay": 0.01}),
    ],
)
def test_weights_are_those_of_the_same_algorithm_in_torch(
    algorithm: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, tables = study(local_algorithm=algorithm, **options)
    drawn = batches_drawn(monkeypatch)
    found = run.run(plan, NOBODY, tables)
    theirs = Torch(
        tables, algorithm == "weighted", options.get("momentum", 0), options.get("weight_decay", 0)
    )
    first = flat(theirs.server.parameters())
    # The last round only tests what came of the one before.
    for _, batches in zip(range(ROUNDS), drawn, strict=False):
        theirs.round(batches)
    weights = flat(theirs.server.parameters())
    assert (weights - first).abs().max() > 0.2
    np.testing.assert_allclose(found["weights"]["weight"], weights.numpy(), rtol=0, atol=1e-12)
