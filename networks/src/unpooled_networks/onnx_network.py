"""A trained network as ONNX, which other programs and languages can run. Needs the package `onnx`.

    Path("lesions.onnx").write_bytes(encoded(load(model, weights), (1, 28, 28)))

Takes `X`, float32 (n, channels, rows, columns), pixels divided by 255; gives `scores`, float32 (n, scores).
onnxruntime has convolutions and averages of float32 alone, so scores have some six digits, and fewer of an
image that is bright and flat.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from unpooled_networks.kernel_norm import KernelNorm, KNConv
from unpooled_networks.resnets import Residual

OPSET, IR_VERSION = 17, 8
"""Versions of operators and of the file that programs of some years ago read too."""


def encoded(network: nn.Sequential, size: tuple[int, int, int]) -> bytes:
    """The network, for images of `size` (channels, rows, columns), as the bytes of an ONNX file."""
    try:
        onnx = importlib.import_module("onnx")
    except ImportError as error:
        raise ImportError("ONNX needs a package: pip install 'unpooled-networks[onnx]'") from error
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    graph = _Graph(helper, onnx.numpy_helper, torch.zeros(1, *size, dtype=next(network.parameters()).dtype))
    with torch.no_grad():
        scores, shown = graph.of(network, "X", graph.image)
    graph.add("Identity", scores, out="scores")
    made = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "network",
            [helper.make_tensor_value_info("X", kind, ["n", *size])],
            [helper.make_tensor_value_info("scores", kind, ["n", shown.shape[1]])],
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="Unpooled",
    )
    onnx.checker.check_model(made, full_check=True)
    return bytes(made.SerializeToString())


class _Graph:
    """Nodes, one after the other, with the constants that they take."""

    def __init__(self, helper: Any, numpy_helper: Any, image: Tensor) -> None:
        self.helper, self.numpy_helper, self.image = helper, numpy_helper, image
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: Any, kind: Any = np.float32) -> str:
        name = f"constant{len(self.constants)}"
        self.constants.append(self.numpy_helper.from_array(np.asarray(value, kind), name))
        return name

    def add(self, operator: str, *inputs: str, out: str = "", **attributes: Any) -> str:
        name = out or f"value{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def of(self, module: nn.Module, x: str, seen: Tensor) -> tuple[str, Tensor]:
        """Add a module; the name of what it makes of x, and what it makes of an image."""
        if isinstance(module, nn.Sequential):
            for part in module:
                x, seen = self.of(part, x, seen)
            return x, seen
        if isinstance(module, Residual):
            opened = self.of(module.opening, x, seen)
            around = (x, seen) if module.shortcut is None else self.of(module.shortcut, *opened)
            body = self.of(module.body, *opened)
            return self.of(module.closing, self.add("Add", body[0], around[0]), body[1] + around[1])
        return _NODES[type(module)](self, module, x, seen), module(seen)

    def moments(self, x: str, size: tuple[int, int], **windows: Any) -> tuple[str, str]:
        """Mean and variance of each window, as `unpooled_networks.kernel_norm` finds them, but in float32."""

        def pooled(of: str) -> str:
            return self.add("AveragePool", of, kernel_shape=size, count_include_pad=1, **windows)

        mean = self.add("ReduceMean", x, axes=[1])
        apart = self.add("Sub", x, mean)
        within = pooled(self.add("ReduceMean", self.add("Mul", apart, apart), axes=[1]))
        mu = pooled(mean)
        between = self.add("Sub", pooled(self.add("Mul", mean, mean)), self.add("Mul", mu, mu))
        variance = self.add("Add", within, self.add("Relu", between))
        return mu, variance


def _sides(padding: Any) -> list[int]:
    down, right = padding
    return [down, right, down, right]


def _kn_conv(graph: _Graph, module: Any, x: str, seen: Tensor) -> str:
    weight = module.weight - module.weight.mean(dim=(1, 2, 3), keepdim=True)
    windows = {"strides": module.stride, "pads": _sides(module.padding)}
    _, variance = graph.moments(x, module.kernel_size, **windows)
    root = graph.add("Sqrt", graph.add("Add", variance, graph.constant(module.eps)))
    convolved = graph.add(
        "Conv", x, graph.constant(weight.numpy()), kernel_shape=module.kernel_size, **windows
    )
    return graph.add(
        "Add", graph.add("Div", convolved, root), graph.constant(module.bias.view(-1, 1, 1).numpy())
    )


def _kernel_norm(graph: _Graph, module: Any, x: str, seen: Tensor) -> str:
    mean, variance = graph.moments(x, (1, 1))
    root = graph.add("Sqrt", graph.add("Add", variance, graph.constant(module.eps)))
    return graph.add("Div", graph.add("Sub", x, mean), root)


def _zero_pad(graph: _Graph, module: Any, x: str, seen: Tensor) -> str:
    left, right, top, bottom = module.padding
    return graph.add("Pad", x, graph.constant([0, 0, top, left, 0, 0, bottom, right], np.int64))


def _max_pool(graph: _Graph, module: Any, x: str, seen: Tensor) -> str:
    size, stride, edge = ([of, of] for of in (module.kernel_size, module.stride, module.padding))
    return graph.add("MaxPool", x, kernel_shape=size, strides=stride, pads=[*edge, *edge])


def _average(graph: _Graph, module: Any, x: str, seen: Tensor) -> str:
    """Means of parts of an image, which overlap where its size is no multiple of their number."""
    rows, columns = (_parts(size, module.output_size) for size in seen.shape[2:])
    down = graph.add("MatMul", graph.constant(rows), x)
    return graph.add("MatMul", down, graph.constant(columns.T))


def _parts(size: int, parts: int) -> np.ndarray:
    """Return the share of each place in the mean of each part: (parts, size)."""
    place, part = np.arange(size), np.arange(parts)[:, None]
    inside = (place >= part * size // parts) & (place < -(-(part + 1) * size // parts))
    return np.asarray(inside / inside.sum(axis=1, keepdims=True))


def _linear(graph: _Graph, module: Any, x: str, seen: Tensor) -> str:
    return graph.add("Gemm", x, *(graph.constant(part.numpy()) for part in module.parameters()), transB=1)


def _mish(graph: _Graph, module: Any, x: str, seen: Tensor) -> str:
    return graph.add("Mul", x, graph.add("Tanh", graph.add("Softplus", x)))


_NODES: dict[type[nn.Module], Callable[[_Graph, Any, str, Tensor], str]] = {
    KNConv: _kn_conv,
    KernelNorm: _kernel_norm,
    nn.ZeroPad2d: _zero_pad,
    nn.MaxPool2d: _max_pool,
    nn.AdaptiveAvgPool2d: _average,
    nn.Flatten: lambda graph, module, x, seen: graph.add("Flatten", x),
    nn.Linear: _linear,
    nn.ReLU: lambda graph, module, x, seen: graph.add("Relu", x),
    nn.Mish: _mish,
}
"""Each kind of module that a network of a study has."""
