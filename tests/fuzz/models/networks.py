"""Training of the same network by torch, on the pooled table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from unpooled.fitted.model import Model
from unpooled.fitted.network import MISH, RELU, SILU, TANH, Network, layout
from unpooled.methods.learning.network_options import (
    ACTIVATION,
    DESCENT,
    HIDDEN,
    MOMENTUM,
    OPTIMIZER,
    PATIENCE,
    RATE,
    ROUNDS,
    WEIGHTS_SEED,
    widths_of,
)
from unpooled.plan.plan import Plan

from ..tables.judge import Disagreement
from . import truth
from .truth import Pool

NEAR, BLURRED = 1e-8, 1e3
"""Tolerance of losses and scores; and how many times what another order of the rows changes."""
LARGEST = 1e5
"""Loss of a row, in units of the outcome, beyond which a fit may be refused as diverged."""
EPS = float(np.finfo(float).eps)
_LAYERS = {RELU: nn.ReLU, SILU: nn.SiLU, MISH: nn.Mish, TANH: nn.Tanh}


@dataclass(frozen=True, eq=False)
class Trained:
    """All rounds of a training."""

    curve: np.ndarray
    """float64 (rounds + 1, 2): mean loss of the rows that are fitted, and of those that are left out"""
    scores: np.ndarray
    """float64 (rounds + 1, n, scores): of all rows, before each round and after the last"""


def inputs(pool: Pool, kept: Sequence[Sequence[str]]) -> np.ndarray:
    """Standardise columns as a network's inputs: by mean and deviation of what is known, not of cells filled.

    `kept` are the levels of each category that are. A row without a word has none of them.
    """
    x, references = truth.design(pool, kept)
    known = ~np.isnan(x)
    for column, levels in zip(pool.categories, kept, strict=True):
        if column.encoding == "one-hot":
            first, *references = references
            own = slice(first, first + len(levels) + 1)
            known[:, own] = x[:, own].any(axis=1, keepdims=True)
    wide = x.astype(np.longdouble)
    z = np.zeros(x.shape)
    for k, rows in enumerate(known.T):
        values = wide[rows, k]
        if len(values) and values.min() < values.max():
            unit = pool.units[k] if k < len(pool.units) else np.nan
            z[:, k] = np.nan_to_num((wide[:, k] - values.mean()) / (values.std() if np.isnan(unit) else unit))
    return z


def wrong(pool: Pool, z: np.ndarray, said: dict[str, Any]) -> Iterator[Disagreement]:
    """All that is wrong with a network and its curve, of whichever of its folds was left out."""
    candidates = [each for each in map(pool.joined, truth.ways_to_join(pool)) if _fits(each, said)]
    found = [[*_wrong(each, z, said)] for each in candidates]
    yield from min(found, key=len, default=[Disagreement(-1, "folds", f"no {said['folds']} as large")])


def _fits(pool: Pool, said: dict[str, Any]) -> bool:
    """Tell whether there are as many folds as the file says, and as many rows in the last."""
    left_out = int((pool.fold == pool.fold.max()).sum())
    return truth.well_joined(pool) and (len(set(pool.fold)), left_out) == (
        said["folds"],
        said["rows_left_out"],
    )


def _wrong(pool: Pool, z: np.ndarray, said: dict[str, Any]) -> Iterator[Disagreement]:
    outcome = said["outcome"]
    centre, unit = outcome.get("centre", 0.0), outcome.get("scale", 1.0)
    ours = np.array([said["curve"]["loss"], said["curve"]["held_out"]]).T / unit**2
    y = _targets(pool, centre, unit)
    theirs, blurred = trained(pool, z, y), trained(pool, z, y, seed=1)
    near = NEAR + BLURRED * np.nan_to_num(np.abs(theirs.scores - blurred.scores)[: len(ours)].max(), nan=1)
    # A mean is rounded, and a column far from 0 moves by that.
    near += max((EPS * abs(f["mean"]) / f["unit"] for f in said["features"] if f["unit"]), default=0.0)
    if near > 1e-3:  # rounding alone makes another network
        return
    best, ends = said["round"], _end(pool.plan, ours[:, 1])
    if (len(ours) - 1, best) != ends:
        yield Disagreement(-1, "rounds", f"{len(ours) - 1}, the best {best}; want {ends}")
    if not np.allclose(ours, theirs.curve[: len(ours)], rtol=near, atol=near):
        yield Disagreement(-1, "losses", f"{np.abs(ours - theirs.curve[: len(ours)]).max():.2g} apart")
    model, want = Model(said), theirs.scores[best]
    found = model.decision_function(model.table(pool.cells)).reshape(want.shape)
    found = (found - centre) / unit
    if not np.allclose(found, want, rtol=near, atol=near * max(1.0, np.abs(want).max())):
        yield Disagreement(-1, "scores", f"{np.abs(found - want).max():.2g} apart, {near:.2g} may be")


def is_refused_rightly(pool: Pool, z: np.ndarray, reason: str) -> bool:
    """Tell whether training on the pool does no good, or diverges, either, whichever fold is left out."""
    y = pool.cells["y"]
    centre = 0.0 if pool.classes else float(np.mean(y))
    unit = 1.0 if pool.classes else float(2 ** np.ceil(np.log2(np.std(y) or 1.0)))
    for each in map(pool.joined, truth.ways_to_join(pool)):
        curve = trained(each, z, _targets(each, centre, unit)).curve
        if "diverged" in reason and not np.abs(curve).max() < LARGEST:
            return True
        if "never lower" in reason and not (curve[1:, 1] < curve[0, 1] * (1 - NEAR)).any():
            return True
    return False


def _end(plan: Plan, held_out: np.ndarray) -> tuple[int, int]:
    """Return after how many rounds training ends, and after how many the weights are the model."""
    patience, least = PATIENCE.of(plan), 0
    for at, loss in enumerate(held_out):
        least = at if loss < held_out[least] else least
        if at == ROUNDS.of(plan) or (patience and at - least >= patience):
            return at, least if patience else at
    return -1, -1


def _targets(pool: Pool, centre: float, unit: float) -> torch.Tensor:
    y = pool.cells["y"]
    if pool.classes:
        return torch.tensor([pool.classes.index(name) for name in y])
    return torch.tensor((y - centre) / unit)


def trained(pool: Pool, z: np.ndarray, y: torch.Tensor, seed: int = 0) -> Trained:
    """Train on the pool, its rows in another order for each seed."""
    plan, scores = pool.plan, len(pool.classes) if len(pool.classes) > 2 else 1
    model = _module(plan, z.shape[1], scores)
    optimizer: torch.optim.Optimizer = (
        torch.optim.SGD(model.parameters(), RATE.of(plan), MOMENTUM.of(plan))
        if OPTIMIZER.of(plan) == DESCENT
        else torch.optim.Adam(model.parameters(), RATE.of(plan))
    )
    order = np.random.default_rng(seed).permutation(len(z))
    left_out = pool.fold[order] == pool.fold.max()
    x, y = torch.tensor(z)[order], y[order]
    curve, found = [], []
    for _ in range(ROUNDS.of(plan) + 1):
        optimizer.zero_grad()
        fitted = _loss(model(x[~left_out]), y[~left_out], pool)
        fitted.backward()
        with torch.no_grad():
            curve.append([fitted.item(), _loss(model(x[left_out]), y[left_out], pool).item()])
            found.append(model(torch.tensor(z)).numpy())
        optimizer.step()
    return Trained(np.array(curve), np.array(found))


def _module(plan: Plan, inputs: int, scores: int) -> nn.Module:
    network = Network((inputs, *widths_of(HIDDEN.of(plan)), scores), ACTIVATION.of(plan))
    layers: list[nn.Module] = []
    for before, after in zip(network.widths, network.widths[1:], strict=False):
        layers += [nn.Linear(before, after, dtype=torch.float64), _LAYERS[network.activation]()]
    model = nn.Sequential(*layers[:-1])
    begun = layout(network, WEIGHTS_SEED.of(plan))
    model.load_state_dict({name: torch.tensor(values) for name, values in begun.items()})
    return model


def _loss(scores: torch.Tensor, y: torch.Tensor, pool: Pool) -> torch.Tensor:
    if not pool.classes:
        return nn.functional.mse_loss(scores[:, 0], y)
    if scores.shape[1] == 1:
        return nn.functional.binary_cross_entropy_with_logits(scores[:, 0], y.double())
    return nn.functional.cross_entropy(scores, y)
