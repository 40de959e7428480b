"""The networks that a study on images can train, computed for a cohort's client.

The client finds this module by the entry point `unpooled.networks`. Weights are one vector, in the order of
the module's parameters; core, which has no torch, has their names and shapes in a file that `layouts` writes.
Everything is computed in float64, and alike whenever it is asked again.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, vjp, vmap
from torch.nn import functional

from unpooled_networks.resnets import ARCHITECTURES, Architecture, Conv, Norm, Part, Pool, resnet

Shape = tuple[int, int, int, int]
"""Channels, rows and columns of an image, and number of scores."""
Slope = Callable[[np.ndarray], np.ndarray]
"""The derivatives of each image's loss by its scores, float64 (n, scores), from the scores."""

_AT_ONCE = 64
"""Images that are scored at once."""


def _three_convolutions(channels: int) -> Architecture:
    """Three convolutions, each with twice the channels of the one before, and poolings between them."""

    def parts(small: bool) -> Iterator[Part]:
        for times in (2, 4):
            yield Pool(2, 2)
            yield Conv(times * channels, 3, padding=1)
        yield Pool(2, 2)

    return Architecture(channels, parts, activation=nn.Mish, average=2)


NETWORKS = {
    "knconv": _three_convolutions(16),
    "knconv-wide": _three_convolutions(64),
    **{name.lower(): ARCHITECTURES[name] for name in ARCHITECTURES if name.startswith("KN")},
}


def build(name: str, shape: Shape) -> nn.Sequential:
    """Make one of the networks; it drops out nothing by itself, so that a question has one answer."""
    channels, _, _, scores = shape
    return resnet(NETWORKS[name], Norm.KERNEL, scores, channels, small=True, dropout=(0.0, 0.0))


def load(model: Path, weights: Path) -> nn.Sequential:
    """Make the network of a study from its model file and its safetensors, float64, for evaluation.

    It takes images (n, channels, rows, columns) whose pixels are divided by 255, and gives scores.
    """
    said = json.loads(model.read_text(encoding="utf-8"))
    if said.get("format") != "unpooled/image-network":
        raise ValueError(f"{model} is not the model file of a network on images")
    sizes = (*(said["images"][name] for name in ("channels", "rows", "columns")), said["network"]["scores"])
    network = build(said["network"]["name"], sizes).double().eval()
    network.load_state_dict(_arrays(weights.read_bytes()))
    return network


def _arrays(content: bytes) -> dict[str, Tensor]:
    """The arrays in a file of safetensors, whose numbers are float64."""
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    header.pop("__metadata__", None)
    found = {}
    for name, about in header.items():
        first, last = about["data_offsets"]
        values = np.frombuffer(content[end + first : end + last], "<f8")
        found[name] = torch.tensor(values).view(about["shape"])
    return found


def scores(name: str, shape: Shape, weights: np.ndarray, images: np.ndarray) -> np.ndarray:
    """The scores of images, uint8 (n, channels, rows, columns): float64 (n, scores)."""
    module, named = _module(name, shape), _named(name, shape, weights)
    with torch.no_grad():
        parts = np.split(images, range(_AT_ONCE, len(images), _AT_ONCE))
        return np.concatenate([functional_call(module, named, (_input(some),)).numpy() for some in parts])


def gradient(
    name: str,
    shape: Shape,
    weights: np.ndarray,
    images: np.ndarray,
    slope: Slope,
    kept: np.ndarray | None = None,
) -> np.ndarray:
    """The gradient of the sum of the images' losses: float64 (size,).

    `kept` are factors of what the last layer takes, float64 (n, inputs), where some of it drops out.
    """
    named = {key: each.requires_grad_() for key, each in _named(name, shape, weights).items()}
    module = _module(name, shape)
    *_, weight, bias = named.values()
    seen = functional_call(module[:-1], dict(list(named.items())[:-2]), (_input(images),))
    found = functional.linear(seen if kept is None else seen * torch.tensor(kept), weight, bias)
    found.backward(torch.tensor(slope(found.detach().numpy())))  # type: ignore[no-untyped-call]
    return np.concatenate([each.grad.numpy().ravel() for each in named.values() if each.grad is not None])


def gradients(name: str, shape: Shape, weights: np.ndarray, images: np.ndarray, slope: Slope) -> np.ndarray:
    """The gradient of each image's loss: float64 (n, size)."""
    slopes = torch.tensor(slope(scores(name, shape, weights, images)))
    return of_each(_module(name, shape), _named(name, shape, weights), _input(images), slopes)


def of_each(module: nn.Module, named: dict[str, Tensor], x: Tensor, slopes: Tensor) -> np.ndarray:
    """The gradient of each image's loss, by the derivatives of the losses by the scores: (n, size)."""

    def of_one(image: Tensor, along: Tensor) -> dict[str, Tensor]:
        back = vjp(lambda given: functional_call(module, given, (image[None],))[0], named)[1]
        return back(along)[0]  # type: ignore[no-any-return]

    each = vmap(of_one)(x, slopes)
    return np.concatenate([each[key].reshape(len(x), -1).numpy() for key in named], axis=1)


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
