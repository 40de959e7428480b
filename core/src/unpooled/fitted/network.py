"""Multi-layer perceptrons in NumPy: layout, scores and gradients.

A layer is a = W h + b, W (out, in), and between layers h = f(a), by element, with the activation f. Weights
and biases of all layers are one vector, layer by layer, each W by rows before its b. Names are those of
torch's Sequential of Linear and the activation, whose usual start values these are, too.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from unpooled.protocol.masking import keystream

if TYPE_CHECKING:
    from unpooled.fitted.image_network import ImageNetwork

RELU, SILU, MISH, TANH = "relu", "silu", "mish", "tanh"
ACTIVATIONS = (RELU, SILU, MISH, TANH)


@dataclass(frozen=True)
class Network:
    """A network from the closed list."""

    name: ClassVar[str] = "network"

    widths: tuple[int, ...]
    """Numbers of inputs, of units of each hidden layer, and of scores."""
    activation: str

    @property
    def size(self) -> int:
        """Number of weights, biases included."""
        return sum((inputs + 1) * outputs for inputs, outputs in itertools.pairwise(self.widths))

    def layers(self, weights: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Views of a vector, float64 (size,), as W and b of each layer."""
        found, at = [], 0
        for inputs, outputs in itertools.pairwise(self.widths):
            middle, end = at + inputs * outputs, at + (inputs + 1) * outputs
            found.append((weights[at:middle].reshape(outputs, inputs), weights[middle:end]))
            at = end
        return found

    def named(self, weights: np.ndarray) -> dict[str, np.ndarray]:
        """The same by the names that torch's Sequential has for them."""
        return {
            f"{2 * place}.{part}": values
            for place, layer in enumerate(self.layers(weights))
            for part, values in zip(("weight", "bias"), layer, strict=True)
        }

    @property
    def breadth(self) -> int:
        """Numbers of a row that are computed at once."""
        return max(self.widths)

    @property
    def hidden(self) -> tuple[int, ...]:
        """Numbers of units of each hidden layer."""
        return self.widths[1:-1]

    @property
    def heaviest(self) -> int:
        """Multiplications of a row in the largest of the layers' products."""
        return max(inputs * outputs for inputs, outputs in itertools.pairwise(self.widths))

    def limits(self, weights: np.ndarray) -> Iterator[tuple[np.ndarray, float]]:
        """Views of a vector, float64 (size,), and how far from 0 the start values there may be."""
        for w, b in self.layers(weights):
            limit = 1 / math.sqrt(w.shape[1])
            yield w, limit
            yield b, limit

    def scores(self, weights: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The scores, float64 (n, scores), of rows x, float64 (n, inputs)."""
        *hidden, (w, b) = self.layers(weights)
        for into, bias in hidden:
            x, _ = _FUNCTIONS[self.activation](x @ into.T + bias)
        return np.asarray(x @ w.T + b)

    def gradient(
        self,
        weights: np.ndarray,
        x: np.ndarray,
        slope: Callable[[np.ndarray], np.ndarray],
        kept: Sequence[np.ndarray] = (),
    ) -> np.ndarray:
        """The gradient of the sum of the rows' losses: float64 (size,).

        `slope` gives the derivatives of each row's loss by its scores, float64 (n, scores), from the scores.
        `kept` are factors of the hidden units of each layer, float64 (n, units), where some drop out.
        """
        found = np.zeros(self.size)
        for (w, b), (inputs, delta) in zip(
            self.layers(found), self._back(weights, x, slope, kept), strict=True
        ):
            w[:], b[:] = delta.T @ inputs, delta.sum(axis=0)
        return found

    def gradients(
        self, weights: np.ndarray, x: np.ndarray, slope: Callable[[np.ndarray], np.ndarray]
    ) -> np.ndarray:
        """The gradient of each row's loss: float64 (n, size)."""
        parts = [
            part
            for inputs, delta in self._back(weights, x, slope)
            for part in ((delta[:, :, None] * inputs[:, None, :]).reshape(len(x), -1), delta)
        ]
        return np.concatenate(parts, axis=1)

    def _back(
        self,
        weights: np.ndarray,
        x: np.ndarray,
        slope: Callable[[np.ndarray], np.ndarray],
        kept: Sequence[np.ndarray] = (),
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Each layer's inputs, and the derivatives of each row's loss by what it makes of them."""
        *hidden, (w, b) = self.layers(weights)
        inputs, derivatives = [x], []
        for k, (into, bias) in enumerate(hidden):
            x, derivative = _FUNCTIONS[self.activation](x @ into.T + bias)
            inputs.append(x := x * kept[k] if kept else x)
            derivatives.append(derivative * kept[k] if kept else derivative)
        deltas = [slope(x @ w.T + b)]
        for (into, _), derivative in zip(self.layers(weights)[:0:-1], reversed(derivatives), strict=True):
            deltas.append((deltas[-1] @ into) * derivative)
        return list(zip(inputs, reversed(deltas), strict=True))


def layout(network: Network, seed: int = 0) -> Mapping[str, np.ndarray]:
    """Names, shapes and start values of a network's weights, from the stream of a seed.

    Uniform within 1/sqrt(inputs) of 0, weights and biases, as torch's Linear has them.
    """
    return network.named(start(network, seed))


def start(network: Network | ImageNetwork, seed: int) -> np.ndarray:
    """The start values as one vector: float64 (size,)."""
    key = seed.to_bytes(32, "little")
    stream = keystream(key).update(bytes(8 * network.size))
    # The upper 53 bits, from -1 to 1: exact in float64.
    found = (np.frombuffer(stream, "<u8") >> np.uint64(11)).astype(np.float64) * 2**-52 - 1.0
    for part, limit in network.limits(found):
        part *= limit
    return found


def _sigmoid(x: np.ndarray) -> np.ndarray:
    small = np.exp(-np.abs(x))  # at most 1, so that nothing overflows
    return np.asarray(np.where(x >= 0, 1.0, small) / (1.0 + small))


def _relu(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.maximum(x, 0.0), (x > 0).astype(np.float64)


def _silu(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    s = _sigmoid(x)
    return x * s, s * (1.0 + x * (1.0 - s))


def _mish(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    t = np.tanh(np.logaddexp(0.0, x))
    return x * t, t + x * _sigmoid(x) * (1.0 - t * t)


def _tanh(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    t = np.tanh(x)
    return t, 1.0 - t * t


_FUNCTIONS: Mapping[str, Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
    RELU: _relu,
    SILU: _silu,
    MISH: _mish,
    TANH: _tanh,
}
"""Each activation with its derivative."""
