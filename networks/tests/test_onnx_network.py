"""Networks as ONNX, run by onnxruntime, give the scores that torch gives."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
import torch

from unpooled_networks.onnx_network import encoded
from unpooled_networks.studies import build


@pytest.mark.parametrize(("name", "size"), [("knconv", (3, 9, 11)), ("knresnet-18", (1, 16, 18))])
def test_onnx_gives_the_scores_of_torch(name: str, size: tuple[int, int, int]) -> None:
    """Sizes are those of which poolings leave a rest, and the last average has parts that overlap."""
    torch.manual_seed(1)
    network = build(name, (*size, 3)).double().eval()
    x = torch.rand(3, *size, dtype=torch.float64)
    x[1] = 0
    session = onnxruntime.InferenceSession(encoded(network, size), providers=["CPUExecutionProvider"])
    (found,) = session.run(["scores"], {"X": x.float().numpy()})
    np.testing.assert_allclose(found, network(x).detach().numpy(), rtol=0, atol=1e-5)
