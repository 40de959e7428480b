"""Networks on images: names, shapes and start values of their weights, which need no torch.

Scores and gradients are computed by whatever is installed under the entry point `unpooled.networks`, which
only cohorts need. `image_layouts.json` is written by `unpooled_networks.layouts`, which builds the networks.
"""

from __future__ import annotations

import functools
import importlib.metadata
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np

from unpooled.errors import DataProblem

KNCONV, KNCONV_WIDE, KNRESNET_13, KNRESNET_18 = "knconv", "knconv-wide", "knresnet-13", "knresnet-18"
KNRESNET_34, KNRESNET_50 = "knresnet-34", "knresnet-50"
ENTRY_POINTS = "unpooled.networks"
FORMAT = "unpooled/image-network"
"""Format of their model files."""


@dataclass(frozen=True)
class Architecture:
    """Facts about a network from the closed list that its layout does not have."""

    breadth: int
    """Numbers that are computed for each pixel of an image, about: by these memory is reckoned."""
    fewest_pixels: int
    """Fewest rows, and columns, of which its poolings leave something."""


ARCHITECTURES = {
    KNCONV: Architecture(64, 8),
    KNCONV_WIDE: Architecture(64, 8),
    # In float64, with what the way back needs, an image of 28 by 28 pixels takes 35 MB of KNResNet-13, and
    # 100 of KNResNet-18. The others are reckoned from these, by what autograd keeps of an image.
    KNRESNET_13: Architecture(512, 8),
    KNRESNET_18: Architecture(1024, 16),
    KNRESNET_34: Architecture(2048, 16),
    KNRESNET_50: Architecture(3072, 8),
}
"""The closed list, by name."""


@dataclass(frozen=True)
class ImageNetwork:
    """A network from the closed list, in the place of `unpooled.fitted.network.Network`."""

    widths: tuple[int, ...]
    """Channels, rows and columns of an image, and number of scores."""
    activation: str
    """One of `ARCHITECTURES`."""

    @functools.cached_property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The shape of each array of weights, by the name that torch's Sequential has for it."""
        stands_for = {"channels": self.widths[0], "scores": self.widths[-1]}
        known = _layouts()[self.activation]
        return {name: tuple(stands_for.get(n, n) for n in of) for name, of in known}

    @property
    def size(self) -> int:
        """Number of weights, biases included."""
        return sum(map(math.prod, self.shapes.values()))

    @property
    def hidden(self) -> tuple[int]:
        """Number of inputs of the last layer, which alone drop out."""
        *_, last, _ = self.shapes.values()
        return (last[1],)

    @property
    def breadth(self) -> int:
        """Numbers of an image that are computed at once, about."""
        return ARCHITECTURES[self.activation].breadth * self.widths[1] * self.widths[2]

    def named(self, weights: np.ndarray) -> dict[str, np.ndarray]:
        """Views of a vector, float64 (size,), by the names of torch's Sequential."""
        ends = np.cumsum([math.prod(shape) for shape in self.shapes.values()])
        parts = np.split(weights, ends[:-1])
        return {name: part.reshape(of) for part, (name, of) in zip(parts, self.shapes.items(), strict=True)}

    def limits(self, weights: np.ndarray) -> Iterator[tuple[np.ndarray, float]]:
        """Views of a vector, float64 (size,), and how far from 0 the start values there may be.

        Convolutions are spread as K. He et al. have them (Delving Deep into Rectifiers, ICCV 2015), by what
        goes out; the last layer, and all biases, within 1/sqrt(inputs).
        """
        inputs = 1
        for part in self.named(weights).values():
            inputs = math.prod(part.shape[1:]) if part.ndim > 1 else inputs
            outputs = len(part) * math.prod(part.shape[2:])
            yield part, math.sqrt(6 / outputs if part.ndim == 4 else 1 / inputs)

    def scores(self, weights: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The scores, float64 (n, scores), of images x, uint8 (n, channels, rows, columns)."""
        return np.asarray(computing().scores(self.activation, self.widths, weights, x))

    def gradient(
        self,
        weights: np.ndarray,
        x: np.ndarray,
        slope: Callable[[np.ndarray], np.ndarray],
        kept: Sequence[np.ndarray] = (),
    ) -> np.ndarray:
        """The gradient of the sum of the images' losses: float64 (size,).

        `kept` has factors of what the last layer takes, float64 (n, inputs), where some of it drops out.
        """
        return np.asarray(computing().gradient(self.activation, self.widths, weights, x, slope, *kept))

    def gradients(
        self, weights: np.ndarray, x: np.ndarray, slope: Callable[[np.ndarray], np.ndarray]
    ) -> np.ndarray:
        """The gradient of each image's loss: float64 (n, size)."""
        return np.asarray(computing().gradients(self.activation, self.widths, weights, x, slope))


@functools.cache
def _layouts() -> Mapping[str, Sequence[tuple[str, Sequence[Any]]]]:
    """The names and shapes of all networks, `channels` and `scores` standing for the sizes that vary."""
    text = resources.files("unpooled.fitted").joinpath("image_layouts.json").read_text(encoding="utf-8")
    found: Mapping[str, Sequence[tuple[str, Sequence[Any]]]] = json.loads(text)
    return found


@functools.cache
def computing() -> Any:
    """Load what computes scores and gradients; DataProblem says what to install."""
    for point in importlib.metadata.entry_points(group=ENTRY_POINTS):
        try:
            return point.load()
        except ImportError:
            break
    raise DataProblem(
        "networks on images are computed by unpooled-networks and torch, which are not installed here",
        remedy="Install them beside the client: pip install unpooled-networks. On Linux its README says how "
        "to get torch without CUDA.",
    )
