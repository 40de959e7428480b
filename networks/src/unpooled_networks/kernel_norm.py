"""KernelNorm and KNConv: each window of an image is normalized by its own mean and variance.

A window u has all channels of k_h by k_w pixels of the padded image, M values. With mean μ' and variance σ²
of u', which is u after dropout, it becomes û = (u - μ') r, r = 1 / √(σ² + ε). KNConv convolves the û, and
writes none of them down: with the weights z of an output, their sum S, and z̄ = z - S / M,

    û ⋆ z + b = (u ⋆ z̄ + (μ - μ') S) r + b,

where μ is the mean of u, and μ' is the same without dropout.

R. Nasirigerdeh, R. Torkzadehmahani, D. Rueckert, G. Kaissis, Kernel Normalized Convolutional Networks (TMLR
2024), equations 1 to 5. Windows share one draw of dropout, which there is in training only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

Pair = int | tuple[int, int]
EPS = 1e-5
"""The ε that keeps the root of a window of equal values from 0."""


class _OverChannels(torch.autograd.Function):
    """Mean and variance of each pixel over its channels: (n, c, h, w) to twice (n, 1, h, w).

    Keeps only the image for the gradient, which the convolution beside it keeps as well: autograd would keep
    the deviations, too.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> tuple[Tensor, Tensor]:
        mean = x.mean(dim=1, keepdim=True)
        return mean, (x - mean).square().mean(dim=1, keepdim=True)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: tuple[Tensor, Tensor]) -> None:
        ctx.save_for_backward(*inputs, output[0])

    @staticmethod
    def backward(ctx: Any, of_mean: Tensor, of_variance: Tensor) -> Tensor:
        x, mean = ctx.saved_tensors
        slope = of_variance * (2 / x.shape[1])
        return torch.addcmul(of_mean / x.shape[1] - slope * mean, slope, x)


@dataclass(frozen=True)
class _Windows:
    """Windows of an image that is padded with zeros, and numbers of each: float64 (n, 1, rows, columns)."""

    size: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]

    def mean(self, pixels: Tensor) -> Tensor:
        """Mean of pixels of one channel, (n, 1, h, w)."""
        padded = functional.pad(pixels.double(), _sides(self.padding))
        return functional.avg_pool2d(padded, self.size, self.stride)

    def moments(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of an image (n, c, h, w).

        The variance is the mean of the pixels' variances, and the variance of their means. So what is done
        for each window is done with one channel; and a mean of squares, which loses digits where deviations
        are small beside the mean, is only that of the pixels' means, for which float64 has digits to spare.
        """
        mean, within = _OverChannels.apply(x)  # type: ignore[no-untyped-call]
        mu = self.mean(mean)
        between = self.mean(mean.double().square()) - mu.square()
        return mu, self.mean(within) + between.clamp(min=0)  # rounding may leave it below 0


class KernelNorm(nn.Module):
    """Normalize windows, and lay them side by side: (n, c, h, w) to (n, c, rows k_h, columns k_w).

    Has nothing to learn.
    """

    def __init__(
        self, kernel_size: Pair, stride: Pair = 1, padding: Pair = 0, dropout: float = 0.0, eps: float = EPS
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride, self.padding = _pair(kernel_size), _pair(stride), _pair(padding)
        self.dropout, self.eps = dropout, eps

    def forward(self, x: Tensor) -> Tensor:
        dropped = functional.dropout(x, self.dropout, self.training)
        mu, variance = _Windows(self.kernel_size, self.stride, self.padding).moments(dropped)
        mean, r = mu.to(x.dtype), (variance + self.eps).rsqrt().to(x.dtype)
        padded = functional.pad(x, _sides(self.padding))
        if self.kernel_size == self.stride == (1, 1):  # a window is a pixel: there is nothing to lay out
            return (padded - mean) * r
        (rows, columns), (down, right) = self.kernel_size, self.stride
        windows = padded.unfold(2, rows, down).unfold(3, columns, right)
        normalized = (windows - mean[..., None, None]) * r[..., None, None]
        return normalized.transpose(3, 4).flatten(4, 5).flatten(2, 3)

    def extra_repr(self) -> str:
        return (
            f"{self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dropout={self.dropout}, eps={self.eps}"
        )


class KNConv(nn.Conv2d):
    """Convolve normalized windows: in the place of `torch.nn.Conv2d`, with the same weights."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Pair,
        stride: Pair = 1,
        padding: Pair = 0,
        bias: bool = True,
        dropout: float = 0.0,
        eps: float = EPS,
    ) -> None:
        size, step, edge = _pair(kernel_size), _pair(stride), _pair(padding)
        super().__init__(in_channels, out_channels, size, step, edge, bias=bias)
        self.dropout, self.eps = dropout, eps
        self._windows = _Windows(size, step, edge)

    def forward(self, x: Tensor) -> Tensor:
        weight = self.weight - self.weight.mean(dim=(1, 2, 3), keepdim=True)
        convolved = functional.conv2d(x, weight, None, self._windows.stride, self._windows.padding)
        if self.training and self.dropout:
            mu, variance = self._windows.moments(functional.dropout(x, self.dropout))
            apart = self._windows.mean(x.mean(dim=1, keepdim=True)) - mu
            convolved = convolved + apart.to(x.dtype) * self.weight.sum(dim=(1, 2, 3)).view(-1, 1, 1)
        else:
            _, variance = self._windows.moments(x)
        normalized = convolved * (variance + self.eps).rsqrt().to(x.dtype)
        return normalized if self.bias is None else normalized + self.bias.view(-1, 1, 1)

    def extra_repr(self) -> str:
        plain = super().extra_repr()  # type: ignore[no-untyped-call]
        return f"{plain}, dropout={self.dropout}, eps={self.eps}"


def _pair(size: Pair) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else size


def _sides(padding: tuple[int, int]) -> tuple[int, int, int, int]:
    """Return how torch names padding: left, right, top, bottom."""
    down, right = padding
    return right, right, down, down
