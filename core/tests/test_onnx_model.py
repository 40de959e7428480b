"""Models as ONNX, run by onnxruntime, give what `Model` gives."""

from __future__ import annotations

from itertools import product
from typing import Any

import models
import numpy as np
import pytest

from unpooled.fitted.model import Model
from unpooled.fitted.network import ACTIVATIONS
from unpooled.plan.schema import Column

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


@pytest.mark.parametrize(
    ("method", "outcome"),
    [
        *(("ridge", "number"), ("network", "number")),
        *product(("ridge", "fedheonn", "logistic-model", "network"), ("a|b", "a|b|c")),
    ],
)
def test_onnx_predicts_what_the_model_predicts(method: str, outcome: str) -> None:
    from unpooled.formats import onnx_model

    random = np.random.default_rng(3)
    x = random.normal(50, 9, (600, 4))
    y: Any = x @ random.normal(size=4) + random.normal(size=600)
    if outcome != "number":
        names = outcome.split("|")
        y = np.array(names, object)[np.digitize(y, np.quantile(y, np.arange(1, len(names)) / len(names)))]
    deep = {"hidden": "6,5", "activation": "mish", "training_rounds": 20} if method == "network" else {}
    plan = models.plan_of(method, models.schema_of(4, outcome), 3, **deep)
    model = Model(models.fit(plan, [models.cells_of(x[k::3], y[k::3]) for k in range(3)]))
    x[::7, 1] = np.nan
    session = onnxruntime.InferenceSession(onnx_model.encoded(model), providers=["CPUExecutionProvider"])
    found = dict(
        zip([output.name for output in session.get_outputs()], session.run(None, {"X": x}), strict=True)
    )
    if outcome == "number":
        assert np.allclose(found["outcome"], model.predict(x), rtol=1e-12, atol=0)
        return
    assert (found["outcome"] == model.predict(x)).all()
    if method != "ridge":
        assert np.allclose(found["probabilities"], model.predict_proba(x), rtol=1e-12, atol=1e-15)
    else:
        scores = model.decision_function(x).reshape(len(x), -1)
        assert np.allclose(found["scores"], scores, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shift", [0.0, 1e4, -40.0])
def test_onnx_bends_columns_as_the_model_does(shift: float) -> None:
    """Values are given as they were measured: skewed, on both sides of 0, or close together far from it."""
    from unpooled.formats import onnx_model

    random = np.random.default_rng(4)
    x = random.lognormal(0, 1, (900, 6))
    x[:, 3:5] = np.column_stack([-x[:, 3], random.standard_t(3, 900)]) + shift
    scalings = ("log", "log1p", "yeo-johnson", "yeo-johnson", "yeo-johnson", "robust")
    y = np.log(x[:, :3]).sum(axis=1) + 0.3 * x[:, 4] + random.normal(size=900)
    schema = [*(Column(f"x{k}", encoding=of) for k, of in enumerate(scalings)), Column("y", role="outcome")]
    plan = models.plan_of("ridge", schema, 3)
    model = Model(models.fit(plan, [models.cells_of(x[k::3], y[k::3]) for k in range(3)]))
    x[::7, 1], x[::9, 3] = np.nan, np.nan
    session = onnxruntime.InferenceSession(onnx_model.encoded(model), providers=["CPUExecutionProvider"])
    (found,) = session.run(["outcome"], {"X": x})
    assert np.allclose(found, model.predict(x), rtol=1e-11, atol=1e-11)


def test_two_features_of_one_name_are_told_apart() -> None:
    """Model, its encoder, the table of coefficients and ONNX name them alike, and predict by them."""
    from unpooled.formats import onnx_model

    random = np.random.default_rng(5)
    columns = [
        Column(t, "category", "", "one-hot", levels)
        for t, levels in (("a", ("b=c", "x")), ("a=b", ("c", "y")))
    ]
    plan = models.plan_of("linear-model", (*columns, Column("a=x"), Column("y", role="outcome")), 3)
    cells = {
        "a": random.choice(["b=c", "x"], 600),
        "a=b": random.choice(["c", "y"], 600),
        "a=x": random.normal(size=600),
    }
    cells["y"] = 3.0 * (cells["a"] == "x") + 5 * (cells["a=b"] == "c") + 7 * cells["a=x"]
    cohorts = [{title: of[k::3] for title, of in cells.items()} for k in range(3)]
    model = Model(models.fit(plan, cohorts))
    made = ["a=b=c", "a=x (of a)", "a=(rest)", "a=b=c (of a=b)", "a=b=y", "a=b=(rest)"]
    assert model.feature_names_in_.tolist() == ["a=x", *made]
    assert [line["name"] for line in models.coefficient_table(plan, cohorts)[1:]] == ["a=x", *made]
    table = model.table(cells)
    np.testing.assert_allclose(model.predict(table), cells["y"], atol=1e-6)
    session = onnxruntime.InferenceSession(onnx_model.encoded(model), providers=["CPUExecutionProvider"])
    assert session.get_modelmeta().custom_metadata_map["features"].split("\n") == ["a=x", *made]
    assert np.allclose(session.run(["outcome"], {"X": np.asarray(table)})[0], cells["y"], atol=1e-6)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation_is_in_onnx(activation: str) -> None:
    from unpooled.formats import onnx_model

    random = np.random.default_rng(4)
    layer = [{"weight": random.normal(size=(o, i)).tolist(), "bias": random.normal(size=o).tolist()}
             for i, o in ((3, 6), (6, 1))]  # fmt: skip
    model = Model(
        {
            "format": "unpooled/model", "version": 1, "link": "number",
            "outcome": {"name": "y", "centre": 7.0, "scale": 16.0},
            "features": [{"name": f"x{k}", "mean": k, "unit": k} for k in range(3)],
            "network": {"activation": activation, "layers": layer},
        }
    )  # fmt: skip
    x = random.normal(0, 5, (300, 3))
    session = onnxruntime.InferenceSession(onnx_model.encoded(model), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(None, {"X": x})[0], model.predict(x), rtol=1e-12, atol=1e-12)
    assert (
        model.predict(np.column_stack([x[:, 0] + 9, x[:, 1:]])) == model.predict(x)
    ).all()  # a constant feature tells nothing
