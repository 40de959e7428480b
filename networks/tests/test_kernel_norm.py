"""KernelNorm and KNConv beside loops that do what the paper says, window by window."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
import torch
from torch import Tensor, nn
from torch.autograd import gradcheck, gradgradcheck
from torch.func import functional_call, grad, vmap
from torch.nn import functional

from unpooled_networks import KernelNorm, KNConv

GEOMETRIES = [  # kernel size, stride, padding
    ((1, 1), (1, 1), (0, 0)),
    ((2, 2), (1, 1), (1, 1)),
    ((3, 3), (1, 1), (1, 1)),
    ((3, 3), (2, 2), (0, 0)),
    ((2, 3), (3, 1), (0, 2)),
    ((1, 1), (2, 2), (1, 1)),
    ((4, 2), (2, 4), (3, 1)),
]
GEOMETRY = pytest.mark.parametrize(("size", "stride", "padding"), GEOMETRIES)
EPS = 1e-5


def images(*shape: int, seed: int = 1) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return 2 + 3 * torch.randn(*shape, dtype=torch.float64, generator=generator)


def windows(x: Tensor, size: tuple[int, int], stride: tuple[int, int]) -> Iterator[tuple[int, int, Tensor]]:
    """Row and column of each window among windows, and its values in all images: (n, c, rows, columns)."""
    rows, columns = ((x.shape[2 + k] - size[k]) // stride[k] + 1 for k in (0, 1))
    for row, column in product(range(rows), range(columns)):
        top, left = row * stride[0], column * stride[1]
        yield row, column, x[:, :, top : top + size[0], left : left + size[1]]


def normalized_by_loops(
    x: Tensor, dropped: Tensor, size: tuple[int, int], stride: tuple[int, int], padding: tuple[int, int]
) -> Tensor:
    """Equations 1 to 3 of the paper for each window, with what is dropped drawn before."""
    pad = (padding[1], padding[1], padding[0], padding[0])
    x, dropped = functional.pad(x, pad), functional.pad(dropped, pad)
    rows: dict[int, list[Tensor]] = {}
    pairs = zip(windows(x, size, stride), windows(dropped, size, stride), strict=True)
    for (row, _, u), (_, _, u_dropped) in pairs:
        of_images = []
        for one, one_dropped in zip(u, u_dropped, strict=True):
            mean = one_dropped.mean()
            variance = ((one_dropped - mean) ** 2).mean()
            of_images.append((one - mean) / torch.sqrt(variance + EPS))
        rows.setdefault(row, []).append(torch.stack(of_images))
    return torch.cat([torch.cat(row, dim=3) for row in rows.values()], dim=2)


def convolved_by_loops(normalized: Tensor, conv: KNConv) -> Tensor:
    """Equation 4: the convolution of windows that lie side by side, one dot product after the other."""
    size = (conv.kernel_size[0], conv.kernel_size[1])
    found = [
        (row, column, (u[:, None] * conv.weight).sum(dim=(2, 3, 4)))
        for row, column, u in windows(normalized, size, size)
    ]
    out = torch.empty(len(normalized), conv.out_channels, found[-1][0] + 1, found[-1][1] + 1).double()
    for row, column, of_outputs in found:
        out[:, :, row, column] = of_outputs if conv.bias is None else of_outputs + conv.bias
    return out


@GEOMETRY
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_layers_do_what_loops_do(
    size: tuple[int, int], stride: tuple[int, int], padding: tuple[int, int], dropout: float
) -> None:
    x = images(2, 3, 6, 5)
    norm = KernelNorm(size, stride, padding, dropout)
    conv = KNConv(3, 4, size, stride, padding, dropout=dropout).double()
    torch.manual_seed(5)
    wanted = normalized_by_loops(x, functional.dropout(x, dropout), size, stride, padding)
    torch.manual_seed(5)
    torch.testing.assert_close(norm(x), wanted, rtol=0, atol=1e-12)
    torch.manual_seed(5)
    torch.testing.assert_close(conv(x), convolved_by_loops(wanted, conv), rtol=0, atol=1e-12)


@GEOMETRY
def test_gradients_are_exact(
    size: tuple[int, int], stride: tuple[int, int], padding: tuple[int, int]
) -> None:
    x = images(1, 2, 4, 4).requires_grad_()
    conv = KNConv(2, 2, size, stride, padding).double()
    weights = dict(conv.named_parameters())

    def convolved(x: Tensor, *values: Tensor) -> Tensor:
        return functional_call(conv, dict(zip(weights, values, strict=True)), (x,))

    assert gradcheck(KernelNorm(size, stride, padding), (x,))
    assert gradcheck(convolved, (x, *weights.values()))
    assert gradgradcheck(convolved, (x, *weights.values()), fast_mode=True)


def test_gradients_are_those_of_the_formulas() -> None:
    """∂y/∂u = r (z - S/M - (y - b) û / M) and ∂y/∂z = û, for one window."""
    u = images(1, 3, 2, 2).requires_grad_()
    conv = KNConv(3, 1, 2).double()
    y = conv(u)
    of_u, of_z, of_b = torch.autograd.grad(y, [u, conv.weight, conv.bias])
    r = (u.var(correction=0) + EPS).rsqrt()
    normalized = (u - u.mean()) * r
    wanted = r * (conv.weight - conv.weight.mean() - (y - conv.bias) * normalized / u.numel())
    torch.testing.assert_close(of_u, wanted, rtol=0, atol=1e-13)
    torch.testing.assert_close(of_z, normalized, rtol=0, atol=1e-13)
    assert of_b.tolist() == [1.0]


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_gradients_with_dropout_are_those_of_loops(dropout: float) -> None:
    size, stride, padding = GEOMETRIES[1]
    x = images(2, 2, 4, 4).requires_grad_()
    conv = KNConv(2, 3, size, stride, padding, dropout=dropout).double()
    torch.manual_seed(5)
    ours = torch.autograd.grad(conv(x).square().sum(), [x, conv.weight, conv.bias])
    torch.manual_seed(5)
    normalized = normalized_by_loops(x, functional.dropout(x, dropout), size, stride, padding)
    loss = convolved_by_loops(normalized, conv).square().sum()
    theirs = torch.autograd.grad(loss, [x, conv.weight, conv.bias])
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-11, atol=1e-11)


def test_nothing_is_dropped_after_training() -> None:
    x = images(2, 3, 6, 6)
    for layer, plain in (
        (KernelNorm(2, dropout=0.5), KernelNorm(2)),
        (conv := KNConv(3, 4, 2, dropout=0.5).double(), _without_dropout(conv)),
    ):
        assert not torch.equal(layer(x), layer(x))
        assert torch.equal(layer.eval()(x), plain(x))


def _without_dropout(conv: KNConv) -> KNConv:
    plain = KNConv(conv.in_channels, conv.out_channels, (2, 2)).double()
    plain.load_state_dict(conv.state_dict())
    return plain


@pytest.mark.parametrize("layer", [KernelNorm(2, padding=1), KNConv(3, 4, 2, padding=1).double()])
def test_an_image_does_not_depend_on_the_others(layer: nn.Module) -> None:
    x = images(4, 3, 6, 6)
    alone = torch.cat([layer(one[None]) for one in x])
    torch.testing.assert_close(layer(x), alone, rtol=0, atol=1e-14)


def test_gradients_of_each_person() -> None:
    x, conv = images(5, 3, 6, 6), KNConv(3, 4, 3, padding=1, dropout=0.0).double()
    weights = {name: value.detach() for name, value in conv.named_parameters()}

    def loss(weights: dict[str, Tensor], one: Tensor) -> Tensor:
        return functional_call(conv, weights, (one[None],)).square().sum()

    found = vmap(grad(loss), in_dims=(None, 0))(weights, x)
    for k, one in enumerate(x):
        for name, value in grad(loss)(weights, one).items():
            torch.testing.assert_close(found[name][k], value, rtol=1e-12, atol=1e-12)


def test_a_bright_flat_image_keeps_its_digits() -> None:
    """The mean of squares less a squared mean would lose all of them in float32."""
    x = 1000 + 0.01 * torch.randn(2, 8, 6, 6, generator=torch.Generator().manual_seed(1))
    found, wanted = KernelNorm(3)(x), KernelNorm(3)(x.double())
    torch.testing.assert_close(found.double().std(), wanted.std(), rtol=1e-3, atol=0)


@pytest.mark.parametrize("value", [0.0, 1.0, 1e9])
def test_windows_of_equal_values_become_0(value: float) -> None:
    x = torch.full((1, 3, 5, 5), value, dtype=torch.float64, requires_grad=True)
    conv = KNConv(3, 2, 2).double()
    found = conv(x)
    torch.testing.assert_close(found, conv.bias.view(1, -1, 1, 1).expand_as(found), rtol=0, atol=1e-4)
    (slope,) = torch.autograd.grad(found.sum(), x)
    assert slope.isfinite().all()


def test_weights_are_those_of_a_plain_convolution() -> None:
    plain = nn.Conv2d(3, 4, 2)
    conv = KNConv(3, 4, 2)
    conv.load_state_dict(plain.state_dict())
    assert "dropout=0.25, eps=1e-05" in repr(KNConv(3, 4, 2, dropout=0.25))
    assert "dropout=0.25, eps=1e-05" in repr(KernelNorm(2, dropout=0.25))


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_numbers_stay_of_their_kind(kind: torch.dtype) -> None:
    x = images(1, 3, 4, 4).to(kind)
    for layer in (KernelNorm(2, dropout=0.1), KNConv(3, 4, 2, dropout=0.1).to(kind)):
        assert layer(x).dtype == kind
