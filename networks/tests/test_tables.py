"""Networks on tables, which need no torch, beside torch: gradients, optimizers, start values, and files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from unpooled.fitted.network import ACTIVATIONS, MISH, RELU, SILU, TANH, Network, layout, start
from unpooled.methods.learning.optimizers import Adam, Descent, Lbfgs, Optimizer

MODULES = {RELU: nn.ReLU, SILU: nn.SiLU, MISH: nn.Mish, TANH: nn.Tanh}
Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def module_of(network: Network, weights: np.ndarray) -> nn.Sequential:
    """The network in torch, float64, with these weights."""
    layers: list[nn.Module] = []
    for inputs, outputs in zip(network.widths, network.widths[1:], strict=False):
        layers += [nn.Linear(inputs, outputs), MODULES[network.activation]()]
    module = nn.Sequential(*layers[:-1]).double()
    module.load_state_dict({name: torch.tensor(part) for name, part in network.named(weights).items()})
    return module


def flat(parts: Any) -> np.ndarray:
    return np.concatenate([part.detach().numpy().ravel() for part in parts])


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("widths", [(5, 1), (5, 7, 1), (4, 9, 6, 3)])
def test_scores_and_gradients_are_torchs(widths: tuple[int, ...], activation: str) -> None:
    network, random = Network(widths, activation), np.random.default_rng(3)
    weights, x = random.normal(size=network.size), random.normal(0, 4, (50, widths[0]))
    y = random.normal(size=(50, widths[-1]))
    module = module_of(network, weights)
    scores = module(torch.tensor(x))
    np.testing.assert_allclose(network.scores(weights, x), scores.detach().numpy(), rtol=1e-12, atol=1e-12)
    functional.mse_loss(scores, torch.tensor(y), reduction="sum").backward()
    wanted = flat(part.grad for part in module.parameters())
    found = network.gradient(weights, x, lambda scores: 2 * (scores - y))
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11 * np.abs(wanted).max())


def test_gradients_with_dropout_are_torchs() -> None:
    network, random = Network((4, 9, 6, 2), SILU), np.random.default_rng(3)
    weights, x = random.normal(size=network.size), random.normal(0, 2, (50, 4))
    kept = [(random.random((50, width)) > 0.3) / 0.7 for width in (9, 6)]
    module = module_of(network, weights)
    h = torch.tensor(x)
    for k in (0, 1):
        h = module[2 * k + 1](module[2 * k](h)) * torch.tensor(kept[k])
    module[4](h).square().sum().backward()
    wanted = flat(part.grad for part in module.parameters())
    found = network.gradient(weights, x, lambda scores: 2 * scores, kept)
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11 * np.abs(wanted).max())


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (lambda n: Descent(0.05, 0.0, np.zeros(n)), lambda p: torch.optim.SGD(p, lr=0.05)),
        (lambda n: Descent(0.05, 0.9, np.zeros(n)), lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9)),
        (lambda n: Adam(0.01, np.zeros(n), np.zeros(n), 1.0, 1.0), lambda p: torch.optim.Adam(p, lr=0.01)),
    ],
)
def test_optimizers_are_torchs(
    ours: Callable[[int], Optimizer], theirs: Callable[[Any], torch.optim.Optimizer]
) -> None:
    network, random = Network((6, 8, 3), SILU), np.random.default_rng(1)
    x, y = random.normal(size=(300, 6)), random.integers(0, 3, 300)
    weights = start(network, 5)
    module = module_of(network, weights)
    optimizer, torchs = ours(network.size), theirs(module.parameters())

    def slopes(scores: np.ndarray) -> np.ndarray:
        odds = np.exp(scores)
        return odds / odds.sum(axis=1, keepdims=True) - np.eye(3)[y]

    for _ in range(200):
        weights, optimizer = optimizer.step(weights, network.gradient(weights, x, slopes) / 300, 0.0)
        torchs.zero_grad()
        functional.cross_entropy(module(torch.tensor(x)), torch.tensor(y)).backward()
        torchs.step()
    assert np.abs(weights - start(network, 5)).max() > 0.1
    np.testing.assert_allclose(weights, flat(module.parameters()), rtol=0, atol=1e-12)


def test_start_values_are_spread_as_torchs() -> None:
    found = layout(Network((400, 300, 2), SILU), 1)
    theirs = nn.Sequential(nn.Linear(400, 300), nn.SiLU(), nn.Linear(300, 2)).state_dict()
    assert {name: part.shape for name, part in found.items()} == {
        name: tuple(part.shape) for name, part in theirs.items()
    }
    for name in ("0.weight", "0.bias", "2.weight"):
        ours, other = found[name], theirs[name].numpy()
        assert ours.std() == pytest.approx(other.std(), rel=0.1)
        assert np.abs(ours).max() == pytest.approx(np.abs(other).max(), rel=0.05)
        assert abs(ours.mean()) < 3 * ours.std() / np.sqrt(ours.size)


def test_lbfgs_finds_an_optimum_as_torchs_does() -> None:
    network, random = Network((3, 2, 1), TANH), np.random.default_rng(2)
    x = random.normal(size=(2000, 3))
    y = (np.tanh(x @ [1.0, -2.0, 0.5]) + np.tanh(x @ [2.0, 1.0, 1.0] - 1))[:, None]
    y += random.normal(0, 0.3, (2000, 1))

    def loss(weights: np.ndarray) -> float:
        return float(np.mean((network.scores(weights, x) - y) ** 2))

    def slope(weights: np.ndarray) -> np.ndarray:
        return network.gradient(weights, x, lambda scores: 2 * (scores - y)) / len(x)

    weights: np.ndarray = start(network, 0)
    optimizer: Optimizer = Lbfgs.begin(network.size)
    rounds = 0
    while rounds < 400 and not optimizer.has_ended and np.abs(slope(weights)).max() > 1e-9:
        weights, optimizer = optimizer.step(weights, slope(weights), loss(weights))
        rounds += 1
    module = module_of(network, start(network, 0))
    torchs = torch.optim.LBFGS(module.parameters(), max_iter=400, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        torchs.zero_grad()
        found = functional.mse_loss(module(torch.tensor(x)), torch.tensor(y))
        found.backward()
        return found

    torchs.step(closure)
    print(rounds, loss(weights), loss(flat(module.parameters())), np.abs(slope(weights)).max())
    assert np.abs(slope(weights)).max() < 1e-6
    assert loss(weights) < loss(flat(module.parameters())) * 1.001
