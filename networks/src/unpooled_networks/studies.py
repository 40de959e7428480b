"""The networks that a study on images can train, computed for a cohort's client.

The client finds this module by the entry point `unpooled.networks`. Weights are one vector, in the order of
the module's parameters; names and shapes are declared in core, which has no torch, in the file that

    python -m unpooled_networks.studies core/src/unpooled/fitted/image_layouts.json

writes. Everything is computed in float64, and alike whenever it is asked again.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, vjp, vmap

from unpooled_networks.resnets import ARCHITECTURES, Architecture, Conv, Norm, Part, Pool, resnet

Shape = tuple[int, int, int, int]
"""Channels, rows and columns of an image, and number of scores."""
Slope = Callable[[np.ndarray], np.ndarray]
"""The derivatives of each image's loss by its scores, float64 (n, scores), from the scores."""

SMALL = 64
"""Most rows or columns of images that count as small: a KNResNet's stem neither strides nor pools then."""
_AT_ONCE = 64
"""Images that are scored at once."""
_CHANNELS, _SCORES = 1009, 1013
"""Sizes that no layer has by itself: they show where a layout depends on the images and the outcome."""


def _three_convolutions(small: bool) -> Iterator[Part]:
    for channels in (32, 64):
        yield Pool(2, 2)
        yield Conv(channels, 3, padding=1)
    yield Pool(2, 2)


NETWORKS = {
    "knconv": Architecture(16, _three_convolutions, activation=nn.Mish, average=2),
    **{name.lower(): of for name, of in ARCHITECTURES.items() if name.startswith("KNResNet")},
}


def build(name: str, shape: Shape) -> nn.Sequential:
    """Make one of the networks; nothing drops out, so that the same question has the same answer."""
    channels, rows, columns, scores = shape
    small = name == "knconv" or max(rows, columns) <= SMALL
    return resnet(NETWORKS[name], Norm.KERNEL, scores, channels, small, dropout=(0.0, 0.0))


def scores(name: str, shape: Shape, weights: np.ndarray, images: np.ndarray) -> np.ndarray:
    """The scores of images, uint8 (n, channels, rows, columns): float64 (n, scores)."""
    module, named = _module(name, shape), _named(name, shape, weights)
    with torch.no_grad():
        parts = np.split(images, range(_AT_ONCE, len(images), _AT_ONCE))
        return np.concatenate([functional_call(module, named, (_input(some),)).numpy() for some in parts])


def gradient(name: str, shape: Shape, weights: np.ndarray, images: np.ndarray, slope: Slope) -> np.ndarray:
    """The gradient of the sum of the images' losses: float64 (size,)."""
    named = {key: each.requires_grad_() for key, each in _named(name, shape, weights).items()}
    found = functional_call(_module(name, shape), named, (_input(images),))
    found.backward(torch.tensor(slope(found.detach().numpy())))
    return np.concatenate([each.grad.numpy().ravel() for each in named.values() if each.grad is not None])


def gradients(name: str, shape: Shape, weights: np.ndarray, images: np.ndarray, slope: Slope) -> np.ndarray:
    """The gradient of each image's loss: float64 (n, size)."""
    module, named, x = _module(name, shape), _named(name, shape, weights), _input(images)
    slopes = torch.tensor(slope(scores(name, shape, weights, images)))

    def of_one(image: Tensor, along: Tensor) -> dict[str, Tensor]:
        _, back = vjp(lambda given: functional_call(module, given, (image[None],))[0], named)
        return back(along)[0]  # type: ignore[no-any-return]

    each = vmap(of_one)(x, slopes)
    return np.concatenate([each[key].reshape(len(images), -1).numpy() for key in named], axis=1)


@functools.lru_cache(maxsize=4)
def _module(name: str, shape: Shape) -> nn.Sequential:
    # Asked again, a cohort answers alike. On one thread, beside which busy others cost nothing.
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(1)
    return build(name, shape).double().eval()


def _named(name: str, shape: Shape, weights: np.ndarray) -> dict[str, Tensor]:
    """The parameters of a network in a vector, by their names."""
    found, at = {}, 0
    for key, like in _module(name, shape).named_parameters():
        found[key] = torch.tensor(weights[at : at + like.numel()]).view(like.shape)
        at += like.numel()
    return found


def _input(images: np.ndarray) -> Tensor:
    return torch.tensor(images, dtype=torch.float64) / 255


def layouts() -> str:
    """Names and shapes of the weights of each network, as JSON; of large images where these differ."""
    found = {}
    for name in NETWORKS:
        found[name] = _layout(name, SMALL)
        if (large := _layout(name, SMALL + 1)) != found[name]:
            found[f"{name}, large"] = large
    lines = (f"{json.dumps(name)}: [\n  {_joined(layout)}\n ]" for name, layout in found.items())
    return "{\n " + ",\n ".join(lines) + "\n}\n"


def _layout(name: str, size: int) -> list[tuple[str, list[int | str]]]:
    stands_for: dict[int, int | str] = {_CHANNELS: "channels", _SCORES: "scores"}
    with torch.device("meta"):
        module = build(name, (_CHANNELS, size, size, _SCORES))
    return [(key, [stands_for.get(n, n) for n in of.shape]) for key, of in module.named_parameters()]


def _joined(layout: list[tuple[str, list[int | str]]]) -> str:
    return ",\n  ".join(map(json.dumps, layout))


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(layouts(), encoding="utf-8")
