"""Models as ONNX, run by onnxruntime, give what `Model` gives."""

from __future__ import annotations

from itertools import product
from typing import Any

import models
import numpy as np
import pytest

from unpooled.model import Model

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


@pytest.mark.parametrize(
    ("method", "outcome"),
    [("ridge", "number"), *product(("ridge", "fedheonn", "logistic-model"), ("a|b", "a|b|c"))],
)
def test_onnx_predicts_what_the_model_predicts(method: str, outcome: str) -> None:
    from unpooled.formats import onnx_model

    random = np.random.default_rng(3)
    x = random.normal(50, 9, (600, 4))
    y: Any = x @ random.normal(size=4) + random.normal(size=600)
    if outcome != "number":
        names = outcome.split("|")
        y = np.array(names, object)[np.digitize(y, np.quantile(y, np.arange(1, len(names)) / len(names)))]
    plan = models.plan_of(method, models.schema_of(4, outcome), 3)
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
