"""A model as ONNX, which other programs and languages can run. Needs the package `onnx` (extra `onnx`).

    Path("risk.onnx").write_bytes(onnx_model.encoded(Model.from_file("risk.model.json")))

Takes `X`, float64 (n, features), as they were measured, where NaN is missing; gives `outcome`, of classes
strings, and their `scores` or, where these are log odds, `probabilities`, float64.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from unpooled.errors import UnpooledError
from unpooled.fitted.curves import CURVES
from unpooled.fitted.model import NUMBER, SOFTMAX, Layers, Model, has_probabilities
from unpooled.fitted.network import MISH, RELU, SILU, TANH
from unpooled.plan.encodings import LOG, LOG1P, YEO_JOHNSON

OPSET, IR_VERSION = 17, 8
"""Versions of operators and of the file that programs of some years ago read too."""


def encoded(model: Model) -> bytes:
    """The model as the bytes of an ONNX file; UnpooledError if the package is not installed."""
    try:
        onnx = importlib.import_module("onnx")
    except ImportError as error:
        raise UnpooledError(
            "ONNX needs a package. Install it with: pip install unpooled-core[onnx]"
        ) from error
    graph = _Graph(onnx.helper, onnx.numpy_helper, onnx.TensorProto)
    outputs = _outputs(graph, model)
    helper, kinds = onnx.helper, onnx.TensorProto
    taken = [helper.make_tensor_value_info("X", kinds.DOUBLE, ["n", model.n_features_in_])]
    given = [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in outputs]
    whole = helper.make_graph(graph.nodes, "model", taken, given, graph.constants)
    opset = helper.make_opsetid("", OPSET)
    made = helper.make_model(whole, opset_imports=[opset], ir_version=IR_VERSION, producer_name="Unpooled")
    for name, value in (("outcome", model.outcome), ("features", "\n".join(model.feature_names_in_))):
        made.metadata_props.add(key=name, value=value)
    onnx.checker.check_model(made, full_check=True)
    return bytes(made.SerializeToString())


class _Graph:
    """Nodes, one after the other, with the constants that they take."""

    def __init__(self, helper: Any, numpy_helper: Any, kinds: Any) -> None:
        self.helper, self.numpy_helper, self.kinds = helper, numpy_helper, kinds
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: np.ndarray) -> str:
        name = f"constant{len(self.constants)}"
        self.constants.append(self.numpy_helper.from_array(value, name))
        return name

    def add(self, operator: str, *inputs: str, out: str = "", **attributes: Any) -> str:
        name = out or f"value{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(operator, list(inputs), [name], **attributes))
        return name


def _outputs(graph: _Graph, model: Model) -> list[tuple[str, int, list[Any]]]:
    """Add all nodes; name, kind and shape of each output."""
    scores = _scores(graph, model)
    double, one = graph.kinds.DOUBLE, graph.constant(np.array([1], np.int64))
    if model.link == NUMBER:
        graph.add("Squeeze", scores, one, out="outcome")
        return [("outcome", double, ["n"])]
    classes = graph.constant(model.classes_.astype(object))
    if len(model.classes_) == 2:
        above = graph.add("Greater", graph.add("Squeeze", scores, one), graph.constant(np.array(0.0)))
        place = graph.add("Cast", above, to=graph.kinds.INT64)
    else:
        place = graph.add("ArgMax", scores, axis=1, keepdims=0)
    graph.add("Gather", classes, place, out="outcome")
    if has_probabilities(model.link):
        _probabilities(graph, scores, model)
        last = ("probabilities", double, ["n", len(model.classes_)])
    else:
        graph.add("Identity", scores, out="scores")
        last = ("scores", double, ["n", len(model.coef_)])
    return [("outcome", graph.kinds.STRING, ["n"]), last]


def _scores(graph: _Graph, model: Model) -> str:
    """(X - mean) w + b, of bent features, where what is missing is 0."""
    centred = graph.add("Sub", _bent(graph, model), graph.constant(model.mean_))
    missing = graph.add("IsNaN", "X")
    filled = graph.add("Where", missing, graph.constant(np.array(0.0)), centred)
    if model.network:
        return _of_network(graph, filled, model.network)
    product = graph.add("MatMul", filled, graph.constant(np.ascontiguousarray(model.coef_.T)))
    return graph.add("Add", product, graph.constant(model.intercept_at_mean_))


def _bent(graph: _Graph, model: Model) -> str:
    """X with what stands for each feature that has a logarithm or a lambda."""
    if not any(scaling["method"] in CURVES for scaling in model.scalings_.values()):
        return "X"
    columns = []
    for k in range(model.n_features_in_):
        x = graph.add("Gather", "X", graph.constant(np.array([k], np.int64)), axis=1)
        scaling = model.scalings_.get(k, {"method": ""})
        columns.append(_CURVES[scaling["method"]](graph, x, scaling) if scaling["method"] in CURVES else x)
    return graph.add("Concat", *columns, axis=1)


def _number(graph: _Graph, value: float) -> str:
    return graph.constant(np.array(value, np.float64))


def _log1p(graph: _Graph, x: str) -> str:
    """log(1 + x) to the last digits: x log(u) / (u - 1), u = 1 + x as rounded (Kahan)."""
    one = _number(graph, 1.0)
    u = graph.add("Add", x, one)
    same, rest = graph.add("Equal", u, one), graph.add("Sub", u, one)
    found = graph.add("Div", graph.add("Mul", x, graph.add("Log", u)), graph.add("Where", same, one, rest))
    return graph.add("Where", same, x, found)


def _expm1(graph: _Graph, x: str) -> str:
    """exp(x) - 1 to the last digits: x (u - 1) / log(u), u = exp(x) as rounded (Kahan)."""
    one = _number(graph, 1.0)
    u = graph.add("Exp", x)
    rest, log = graph.add("Sub", u, one), graph.add("Log", u)
    # Where u is 1 the result is x; where it is 0, -1.
    same, none = graph.add("Equal", u, one), graph.add("Equal", u, _number(graph, 0.0))
    plain = graph.add("Or", same, none)
    found = graph.add("Div", graph.add("Mul", x, rest), graph.add("Where", plain, one, log))
    return graph.add("Where", same, x, graph.add("Where", none, rest, found))


def _yeo_johnson(graph: _Graph, x: str, scaling: Mapping[str, Any]) -> str:
    """The transform about a centre, in the steps of `unpooled.fitted.yeo_johnson`."""
    mirror = -1.0 if scaling["centre"] < 0 else 1.0
    around = abs(float(scaling["centre"]))
    power = float(scaling["lambda"]) if mirror > 0 else 2 - float(scaling["lambda"])
    x, zero = graph.add("Mul", x, _number(graph, mirror)), _number(graph, 0.0)
    above, below = graph.add("Max", x, zero), graph.add("Max", graph.add("Neg", x), zero)
    # phi(x) - phi(c) of the part above 0, from their ratio, which loses no digits where the two are close.
    ratio = graph.add("Div", graph.add("Sub", above, _number(graph, around)), _number(graph, 1 + around))
    high = graph.add("Mul", _number(graph, 1 + around), _grown(graph, power, _log1p(graph, ratio)))
    with np.errstate(over="ignore"):  # where it is infinite there are no values below 0
        slope = _number(graph, float(np.exp((1 - power) * np.log1p(around))))
    low = graph.add("Mul", slope, _grown(graph, 2 - power, _log1p(graph, below)))
    found = graph.add("Where", graph.add("Less", x, zero), graph.add("Sub", high, low), high)
    return graph.add("Mul", found, _number(graph, mirror))


def _grown(graph: _Graph, a: float, s: str) -> str:
    """(exp(a s) - 1) / a, or s where a is 0."""
    if a == 0:
        return s
    return graph.add("Div", _expm1(graph, graph.add("Mul", s, _number(graph, a))), _number(graph, a))


_CURVES: Mapping[str, Callable[[_Graph, str, Mapping[str, Any]], str]] = {
    LOG: lambda graph, x, scaling: graph.add("Log", x),
    LOG1P: lambda graph, x, scaling: _log1p(graph, x),
    YEO_JOHNSON: _yeo_johnson,
}


def _of_network(graph: _Graph, centred: str, layers: Layers) -> str:
    """The scores of a network, from features less their means."""
    x = graph.add("Mul", centred, graph.constant(layers.factors))
    each = layers.network.layers(layers.weights)
    for k, (w, b) in enumerate(each):
        product = graph.add("MatMul", x, graph.constant(np.ascontiguousarray(w.T)))
        x = graph.add("Add", product, graph.constant(b))
        if k < len(each) - 1:
            x = _ACTIVATIONS[layers.network.activation](graph, x)
    scaled = graph.add("Mul", x, graph.constant(np.array(layers.scale)))
    return graph.add("Add", scaled, graph.constant(np.array(layers.centre)))


def _silu(graph: _Graph, x: str) -> str:
    return graph.add("Mul", x, graph.add("Sigmoid", x))


def _mish(graph: _Graph, x: str) -> str:
    # Softplus as max(x, 0) + log(1 + e^-|x|): onnxruntime has none of float64.
    small = graph.add("Exp", graph.add("Neg", graph.add("Abs", x)))
    rest = graph.add("Log", graph.add("Add", small, graph.constant(np.array(1.0))))
    return graph.add("Mul", x, graph.add("Tanh", graph.add("Add", graph.add("Relu", x), rest)))


_ACTIVATIONS = {
    RELU: lambda graph, x: graph.add("Relu", x),
    TANH: lambda graph, x: graph.add("Tanh", x),
    SILU: _silu,
    MISH: _mish,
}


def _probabilities(graph: _Graph, scores: str, model: Model) -> None:
    if model.link == SOFTMAX:
        graph.add("Softmax", scores, axis=1, out="probabilities")
        return
    odds = graph.add("Sigmoid", scores)
    if len(model.classes_) == 2:
        other = graph.add("Sub", graph.constant(np.array(1.0)), odds)
        graph.add("Concat", other, odds, out="probabilities", axis=1)
        return
    axis = graph.constant(np.array([1], np.int64))
    graph.add("Div", odds, graph.add("ReduceSum", odds, axis, keepdims=1), out="probabilities")
