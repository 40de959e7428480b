"""Measures KNConv beside a plain convolution, and small networks with each normalization on Fashion-MNIST.

    .venv/bin/python docs/measure_kernelnorm.py

Writes docs/measured/kernelnorm*.md. Fashion-MNIST is that of Debian's package dataset-fashion-mnist. Each
network is trained once for each learning rate, and the one that is best on held-out images is tested on
others. Torch is given one thread.
"""

from __future__ import annotations

import gzip
import math
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import measuring
import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.nn import functional

from unpooled_networks import KNConv, Norm, resnet
from unpooled_networks.resnets import Architecture, Conv, Part, Pool

WRITES = (
    measuring.Table("kernelnorm-times", apart=0.02, free=(1, 2, 3)),
    measuring.Table("kernelnorm-accuracy", apart=0.05),
)
CHANNELS, PIXELS, BATCH, DROPPED = 64, 32, 32, 0.05
WINDOWS = {1: 0, 2: 1, 3: 1}
"""Sizes of windows, and how KNResNets pad for them."""
DATA = Path("/usr/share/datasets/fashion-mnist")
TRAINED, HELD_OUT, TESTED = 2_000, 1_000, 5_000
"""Images: the first of the 60,000 for training and the last of them, and the first of those for testing."""
BATCHES = (2, 8, 64)
RATES = (0.01, 0.03, 0.1)
"""Learning rates for batches of 16; they go with the root of the batch."""


# Times


class Unfolded(nn.Conv2d):
    """The paper's algorithm 1 with its way to the moments: every window is written down."""

    def forward(self, x: Tensor) -> Tensor:
        convolved = functional.conv2d(x, self.weight, None, self.stride, self.padding)
        down, right = self.padding
        windows = functional.pad(x, (right, right, down, down)).unfold(2, self.kernel_size[0], 1)
        windows = windows.unfold(3, self.kernel_size[1], 1)
        variance, mu = torch.var_mean(windows, dim=(1, 4, 5), correction=0)
        total = self.weight.sum(dim=(1, 2, 3)).view(-1, 1, 1)
        normalized = (convolved - mu[:, None] * total) * (variance[:, None] + 1e-5).rsqrt()
        return normalized + self.bias.view(-1, 1, 1)


def with_batches(*sizes: int, padding: int) -> nn.Module:
    return nn.Sequential(nn.BatchNorm2d(CHANNELS), nn.Conv2d(*sizes, padding=padding))


LAYERS: dict[str, Callable[..., nn.Module]] = {
    "convolution": nn.Conv2d,
    "BatchNorm, convolution": with_batches,
    "KNConv": KNConv,
    f"KNConv, dropout {DROPPED}": partial(KNConv, dropout=DROPPED),
    "KNConv, every window written down": Unfolded,
}


def forward_and_backward(layer: nn.Module, images: Tensor) -> None:
    x = images.clone().requires_grad_()
    layer.zero_grad()
    layer(x).sum().backward()


def milliseconds(layers: list[nn.Module], images: Tensor, times: int) -> list[float]:
    """Shortest time of the processor for each; they take turns, for others may be busy here."""
    best = [math.inf] * len(layers)
    for _ in range(times):
        for k, layer in enumerate(layers):
            began = time.process_time()
            forward_and_backward(layer, images)
            best[k] = min(best[k], 1000 * (time.process_time() - began))
    return best


def kept(layer: nn.Module, images: Tensor) -> int:
    """Bytes that are kept for the gradient, beside weights."""
    weights = {each.untyped_storage().data_ptr() for each in layer.parameters()}
    found: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        found.update({} if storage.data_ptr() in weights else {storage.data_ptr(): storage.nbytes()})
        return tensor

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        layer(images.clone().requires_grad_()).sum().backward()  # until here it is kept
    return sum(found.values())


def times_table(small: bool) -> Iterator[str]:
    images = torch.rand(2 if small else BATCH, CHANNELS, PIXELS, PIXELS)
    made = {
        size: [layer(CHANNELS, CHANNELS, size, padding=padding) for layer in LAYERS.values()]
        for size, padding in WINDOWS.items()
    }
    found = [milliseconds(layers, images, 2 if small else 20) for layers in made.values()]
    sizes = " | ".join(f"{size} by {size}" for size in WINDOWS)
    yield f"| Forward and backward | {sizes} | kept for the gradient, 2 by 2 |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for k, name in enumerate(LAYERS):
        cells = [f"{of[0]:.0f} ms" if k == 0 else f"{of[k] / of[0]:.2f}" for of in found]
        yield f"| {name} | {' | '.join(cells)} | {kept(made[2][k], images) / 1e6:.1f} MB |"


# Accuracies


def parts(small: bool) -> Iterator[Part]:
    for channels in (16, 32):
        yield Pool(2, 2)
        yield Conv(channels, 3, padding=1)
    yield Pool(2, 2)


NETWORK = Architecture(8, parts, activation=nn.Mish, dropout=(DROPPED, 0.25), average=2, groups=4)


def idx(name: str) -> np.ndarray:
    """Read a file of the format IDX: bytes, behind a magic number and as many sizes as it says."""
    content = gzip.decompress((DATA / f"{name}.gz").read_bytes())
    sizes = np.frombuffer(content, ">u4", content[3], 4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * len(sizes)).reshape(sizes)


def images_and_classes(name: str) -> tuple[Tensor, Tensor]:
    images = torch.tensor(idx(f"{name}-images-idx3-ubyte"), dtype=torch.float32)[:, None] / 255
    return images, torch.tensor(idx(f"{name}-labels-idx1-ubyte"), dtype=torch.int64)


def scaled(norm: Norm, images: Tensor) -> Tensor:
    """Standardise, as the papers do, but for kernel normalization, which does without."""
    return images if norm is Norm.KERNEL else (images - 0.286) / 0.353


def trained(norm: Norm, images: Tensor, classes: Tensor, batch: int, rate: float) -> nn.Module:
    """One pass over the images, in the same order for all: SGD with momentum, its rate falling to 0."""
    torch.manual_seed(1)
    network = resnet(NETWORK, norm, 10, channels=1, small=True)
    optimizer = torch.optim.SGD(network.parameters(), lr=rate * math.sqrt(batch / 16), momentum=0.9)
    steps = torch.randperm(len(images), generator=torch.Generator().manual_seed(2)).split(batch)
    falling = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / len(steps))
    for rows in steps:
        optimizer.zero_grad()
        functional.cross_entropy(network(images[rows]), classes[rows]).backward()
        optimizer.step()
        falling.step()
    return network.eval()


@torch.no_grad()
def accuracy(network: nn.Module, images: Tensor, classes: Tensor) -> float:
    found = torch.cat([network(some).argmax(dim=1) for some in images.split(500)])
    return float((found == classes).float().mean())


def best_accuracy(
    norm: Norm, data: list[tuple[Tensor, Tensor]], batch: int, rates: tuple[float, ...]
) -> float:
    """Accuracy in testing of the network that is best on held-out images."""
    (images, classes), held_out, test = ((scaled(norm, images), classes) for images, classes in data)
    networks = [trained(norm, images, classes, batch, rate) for rate in rates]
    return accuracy(max(networks, key=lambda network: accuracy(network, *held_out)), *test)


def accuracy_table(small: bool) -> Iterator[str]:
    counts, rates = ((100, 50, 50), RATES[:1]) if small else ((TRAINED, HELD_OUT, TESTED), RATES)
    train, test = images_and_classes("train"), images_and_classes("t10k")
    parts = (train, slice(counts[0])), (train, slice(-counts[1], None)), (test, slice(counts[2]))
    data = [(images[rows], classes[rows]) for (images, classes), rows in parts]
    yield f"| Normalization | {' | '.join(f'batches of {batch}' for batch in BATCHES)} | weights |"
    yield f"| --- |{' ---: |' * (len(BATCHES) + 1)}"
    for norm in Norm:
        cells = [f"{100 * best_accuracy(norm, data, batch, rates):.1f}" for batch in BATCHES]
        weights = sum(each.numel() for each in resnet(NETWORK, norm, 10, channels=1).parameters())
        yield f"| {norm} | {' | '.join(cells)} | {weights:,} |"


def main() -> None:
    options = measuring.parser(__doc__).parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    measuring.write(options.out, "kernelnorm-times", times_table(options.small))
    measuring.write(options.out, "kernelnorm-accuracy", accuracy_table(options.small))


if __name__ == "__main__":
    main()
