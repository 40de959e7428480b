"""Networks: as many weights as the thesis counts, shapes, and that they learn."""

from __future__ import annotations

from itertools import groupby

import pytest
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional

from unpooled_networks import ARCHITECTURES, KernelNorm, KNConv, Norm, resnet
from unpooled_networks.resnets import Residual

EVERY = pytest.mark.parametrize("name", ARCHITECTURES)
NORMS = pytest.mark.parametrize("norm", Norm)
WITH_WEIGHTS = (Norm.BATCH, Norm.GROUP, Norm.LAYER)

# Tables 1, 2 and 4 of the TMLR paper: millions of weights, of 100 and of 1,000 classes of small images, and
# of 1,000 of others. What it prints for PreactResNets is what ResNets have; its authors' own have fewer.
COUNTS = [
    ("KNResNet-18", Norm.KERNEL, ("11.216", "11.678", "11.685")),
    ("KNResNet-34", Norm.KERNEL, ("21.323", None, "21.793")),
    ("KNResNet-50", Norm.KERNEL, ("23.682", None, "25.556")),
    *(("ResNet-18", norm, ("11.220", "11.682", "11.690")) for norm in WITH_WEIGHTS),
    *(("ResNet-34", norm, ("21.328", None, "21.798")) for norm in WITH_WEIGHTS),
    *(("ResNet-50", norm, ("23.705", None, "25.557")) for norm in WITH_WEIGHTS),
]


def without_memory(name: str, norm: Norm, classes: int, small: bool) -> nn.Sequential:
    with torch.device("meta"):
        return resnet(name, norm, classes, small=small)


def millions(network: nn.Module) -> str:
    return f"{sum(weights.numel() for weights in network.parameters()) / 1e6:.3f}"


@pytest.mark.parametrize(("name", "norm", "printed"), COUNTS)
def test_weights_are_as_many_as_the_thesis_prints(
    name: str, norm: Norm, printed: tuple[str | None, ...]
) -> None:
    for wanted, classes, small in zip(printed, (100, 1000, 1000), (True, True, False), strict=True):
        if wanted is not None:
            assert millions(without_memory(name, norm, classes, small)) == wanted


def test_knresnet_13_is_as_the_paper_describes_it() -> None:
    """Twelve convolutions, and a linear layer of 1,024; the design of this project counts 3.70 million."""
    network = without_memory("KNResNet-13", Norm.KERNEL, 10, small=True)
    convs = [module for module in network.modules() if isinstance(module, KNConv)]
    assert len(convs) == 12 and [conv.dropout for conv in convs] == [0.0, *[0.1] * 11]
    assert [module.dropout for module in network.modules() if isinstance(module, KernelNorm)] == [0.5]
    assert isinstance(network[-1], nn.Linear) and network[-1].in_features == 1024
    assert millions(network) == "3.700"


@EVERY
@pytest.mark.parametrize("norm", [norm for norm in Norm if norm is not Norm.KERNEL])
def test_any_normalization_takes_images(name: str, norm: Norm) -> None:
    network = without_memory(name, norm, 7, small=True)
    assert network(torch.empty(2, 3, 32, 32, device="meta")).shape == (2, 7)


@EVERY
def test_kernel_normalization_takes_any_size(name: str) -> None:
    """Instance normalization does not: it has nothing to say of an image of one pixel, and torch refuses."""
    for height, width, small in ((16, 40, True), (224, 224, False)):
        network = without_memory(name, Norm.KERNEL, 7, small)
        assert network(torch.empty(2, 3, height, width, device="meta")).shape == (2, 7)


@EVERY
def test_an_image_is_halved_three_times(name: str) -> None:
    network, sizes = without_memory(name, Norm.KERNEL, 7, small=True), []
    x = torch.empty(1, 3, 32, 32, device="meta")
    for layer in network[:-3]:
        x = layer(x)
        sizes += [x.shape[2]] if isinstance(layer, Residual) else []
    assert [size for size, _ in groupby(sizes)] == [32, 16, 8, 4]


@NORMS
def test_only_batch_normalization_looks_at_other_images(norm: Norm) -> None:
    torch.manual_seed(1)
    network = resnet("KNResNet-13", norm, 5, channels=1, small=True, dropout=(0.0, 0.0)).double()
    x = torch.rand(3, 1, 16, 16, dtype=torch.float64)
    with torch.no_grad():
        together, others = network(x), network(torch.cat([x[:1], 2 - x[1:]]))
    assert torch.allclose(together[0], others[0], rtol=0, atol=1e-12) == (norm is not Norm.BATCH)


@NORMS
def test_every_weight_has_a_gradient(norm: Norm) -> None:
    torch.manual_seed(1)
    network = resnet("KNResNet-13", norm, 5, small=True)
    network(torch.rand(2, 3, 16, 16)).square().sum().backward()
    assert all(each.grad is not None and each.grad.isfinite().all() for each in network.parameters())


def test_a_small_network_learns_digits() -> None:
    torch.manual_seed(1)
    x, y = load_digits(return_X_y=True)
    images, classes = torch.tensor(x, dtype=torch.float32).view(-1, 1, 8, 8) / 16, torch.tensor(y)
    network = nn.Sequential(
        KNConv(1, 8, 3, padding=1),
        nn.Mish(),
        KNConv(8, 16, 2, 2),
        KernelNorm(1),
        nn.Mish(),
        nn.Flatten(),
        nn.Linear(256, 10),
    )
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    for rows in torch.randperm(1200).repeat(3).split(50):
        optimizer.zero_grad()
        functional.cross_entropy(network(images[rows]), classes[rows]).backward()
        optimizer.step()
    right = (network(images[1200:]).argmax(dim=1) == classes[1200:]).float().mean()
    assert right > 0.9


def test_what_is_not_declared_is_refused() -> None:
    with pytest.raises(KeyError):
        resnet("ResNet-19", Norm.BATCH, 10)
    with pytest.raises(ValueError, match="'weight' is not a valid Norm"):
        resnet("ResNet-18", "weight", 10)
