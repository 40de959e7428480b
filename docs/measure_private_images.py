"""Measures what kernel normalization gains a private network on Fashion-MNIST, beside no normalization.

    .venv/bin/python docs/measure_private_images.py --kept /var/tmp/private-images

Writes docs/measured/private-images*.md. Fashion-MNIST is that of Debian's package dataset-fashion-mnist.
People are drawn, gradients clipped, noise added and steps taken by the code that a cohort runs, in one
process; only the network has half as many channels, and is computed in float32. With --kept, a run that is
stopped goes on where it was.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import measuring
import numpy as np
import torch
from measure_kernelnorm import images_and_classes
from torch import Tensor, nn
from torch.func import functional_call

from unpooled.asking.cohort import ArrayTable
from unpooled.fitted.image_network import ImageNetwork
from unpooled.fitted.network import start
from unpooled.methods import check, usual
from unpooled.methods.learning.training import optimizer_of
from unpooled.methods.private_network.questions import SumClipped
from unpooled.methods.shared.privacy import UNITS, clipped
from unpooled.plan.categories import Words
from unpooled.plan.plan import NO_KEY, Plan
from unpooled.plan.schema import Column
from unpooled_networks import Norm, resnet
from unpooled_networks.resnets import Architecture, Conv, Part, Pool
from unpooled_networks.studies import of_each

WRITES = (
    measuring.Table("private-images", apart=0.05),
    measuring.Table("private-images-times", apart=0.02, free=(2, 3, 4)),
)
COHORTS, CLASSES = 10, tuple(map(str, range(10)))
TRAINED, TESTED, ROUNDS, SHARE = 20_000, 5_000, 100, 0.025
RATES = (1.0, 3.0)
TIMED, TIMES = ("knconv", "knconv-wide", "knresnet-13", "knresnet-18"), 4
"""Networks of studies whose gradients are timed, each of so many images, and so often."""
_AT_ONCE = 128


def parts(small: bool) -> Iterator[Part]:
    for channels in (16, 32):
        yield Pool(2, 2)
        yield Conv(channels, 3, padding=1)
    yield Pool(2, 2)


class Measured:
    """A network of three convolutions with a normalization, in the place of one that a study knows."""

    breadth = 64 * 28 * 28

    def __init__(self, norm: Norm) -> None:
        torch.manual_seed(1)
        network = Architecture(8, parts, activation=nn.Mish, average=2)
        self.module = resnet(network, norm, 10, channels=1, small=True, dropout=(0.0, 0.0)).eval()

    def start(self) -> np.ndarray:
        return np.concatenate([each.detach().double().numpy().ravel() for each in self.module.parameters()])

    def named(self, weights: np.ndarray) -> dict[str, Tensor]:
        named = list(self.module.named_parameters())
        cut = np.split(weights, np.cumsum([like.numel() for _, like in named])[:-1])
        pairs = zip(named, cut, strict=True)
        return {key: torch.tensor(part, dtype=torch.float32).view(like.shape) for (key, like), part in pairs}

    @torch.no_grad()
    def scores(self, weights: np.ndarray, x: np.ndarray) -> np.ndarray:
        named, images = self.named(weights), torch.tensor(x, dtype=torch.float32).split(_AT_ONCE)
        found = [functional_call(self.module, named, (some / 255,)) for some in images]
        return torch.cat(found).double().numpy()

    def gradients(self, weights: np.ndarray, x: np.ndarray, slope: Callable[..., np.ndarray]) -> np.ndarray:
        named = self.named(weights)
        slopes = torch.tensor(slope(self.scores(weights, x)), dtype=torch.float32).split(_AT_ONCE)
        images = torch.tensor(x, dtype=torch.float32).split(_AT_ONCE)
        pairs = zip(images, slopes, strict=True)
        return np.concatenate([of_each(self.module, named, some / 255, s) for some, s in pairs]).astype(float)


@functools.cache
def measured(norm: Norm) -> Measured:
    return Measured(norm)


class WithKernels(SumClipped):
    network = property(lambda self: measured(Norm.KERNEL))  # type: ignore[assignment]


class WithNone(SumClipped):
    network = property(lambda self: measured(Norm.NONE))  # type: ignore[assignment]


def plan_of(rate: float, rounds: int) -> Plan:
    schema = (
        Column("file", "image", encoding="1x28x28"),
        Column("class", "category", levels=CLASSES, role="outcome"),
    )
    named = {"test": "private-image-network", "cohorts": COHORTS, "compensator_key": NO_KEY}
    training = {"epsilon": 3.0, "delta": 1e-5, "clip": 1.0, "taking_part": SHARE, "training_rounds": rounds}
    steps = {"optimizer": "sgd", "momentum": 0.0, "learning_rate": rate}
    plan = Plan(**{**usual("private-image-network"), **named, **training, **steps}, schema=schema)
    check(plan)
    return plan


def dealt(plan: Plan, images: np.ndarray, classes: np.ndarray) -> list[Any]:
    """Tables of as many cohorts as the plan has, each with a secret."""
    found = []
    for k, rows in enumerate(np.array_split(np.arange(len(images)), COHORTS)):
        words = {"file": Words.of(map(str, rows)), "class": Words.of(map(str, classes[rows]))}
        table = ArrayTable(np.empty((len(rows), 0)), words, images=images[rows])
        found.append(replace(check(plan).prepared(table, plan), secret=bytes([k]) * 32))
    return found


def trained(kind: type[SumClipped], plan: Plan, tables: list[Any], kept: Path | None) -> np.ndarray:
    first = kind(plan, np.zeros(0), 1)
    weights, turn, people = first.network.start(), 0, sum(len(table.values) for table in tables)
    optimizer = optimizer_of(plan, len(weights))
    if kept and kept.exists():
        found = np.load(kept, allow_pickle=False)
        # Without momentum, weights are all that descent remembers.
        weights, turn = found["weights"], int(found["turn"])
    unit = first.clip / (UNITS * math.sqrt(len(weights))) / (first.share * people)
    while turn < first.promise.rounds:
        turn += 1
        question = replace(first, weights=weights, iteration=turn)
        gradient = sum(question.local(table)["gradient"] for table in tables)
        weights, optimizer = optimizer.step(weights, gradient * unit, math.nan)
        if kept and turn % 5 == 0:
            np.savez(kept, weights=weights, turn=turn)
            print(kept.name, turn, flush=True)
    return weights


def lines(small: bool, kept: Path | None) -> Iterator[str]:
    counts, rounds = ((300, 100), 2) if small else ((TRAINED, TESTED), ROUNDS)
    of = [images_and_classes(name) for name in ("train", "t10k")]
    cut = [(x[:n].mul(255).byte().numpy(), y[:n].numpy()) for (x, y), n in zip(of, counts, strict=True)]
    (images, classes), (tested, wanted) = cut
    plans = [plan_of(rate, rounds) for rate in RATES]
    yield "| Normalization | " + " | ".join(f"steps of {rate:g}" for rate in RATES) + " | weights |"
    yield "| --- |" + " ---: |" * (len(RATES) + 1)
    for norm, kind in ((Norm.KERNEL, WithKernels), (Norm.NONE, WithNone)):
        cells = []
        for plan, rate in zip(plans, RATES, strict=True):
            file = kept / f"{norm}-{rate:g}.npz" if kept else None
            weights = trained(kind, plan, dealt(plan, images, classes), file)
            right = measured(norm).scores(weights, tested).argmax(axis=1) == wanted
            cells.append(f"{100 * right.mean():.1f}")
        yield f"| {norm} | {' | '.join(cells)} | {len(weights):,} |"


def times_table(small: bool) -> Iterator[str]:
    """Time a person's clipped gradient beside one of a sum of gradients, as a cohort computes them."""
    random = np.random.default_rng(1)
    images = random.integers(0, 256, (TIMES, 1, 28, 28), np.uint8)
    yield "| Network | weights | an image's part in a sum | clipped for each | times as long |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for name in TIMED[:1] if small else TIMED:
        network = ImageNetwork((1, 28, 28, 10), name)
        weights = start(network, 0)
        summed = partial(network.gradient, weights, images, np.ones_like)
        each = partial(lambda of, w: clipped(of.gradients(w, images, np.ones_like), 1.0), network, weights)
        plain, private = (seconds(make, TIMES) / len(images) for make in (summed, each))
        cells = f"{1000 * plain:.0f} ms | {1000 * private:.0f} ms | {private / plain:.1f}"
        yield f"| `{name}` | {network.size:,} | {cells} |"


def seconds(make: Callable[[], object], times: int) -> float:
    """Shortest time of the processor, for others may be busy here."""
    best = math.inf
    for _ in range(times):
        began = time.process_time()
        make()
        best = min(best, time.process_time() - began)
    return best


def main() -> None:
    options = measuring.parser(__doc__)
    options.add_argument("--kept", type=Path, help="a folder for weights, so that a stopped run goes on")
    given = options.parse_args()
    torch.set_num_threads(1)
    measuring.write(given.out, "private-images-times", times_table(given.small))
    measuring.write(given.out, "private-images", lines(given.small, given.kept))


if __name__ == "__main__":
    main()
