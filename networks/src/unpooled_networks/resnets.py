"""Residual networks for images, each declared once for every normalization.

KNResNet-18, -34 and -50 are those of R. Nasirigerdeh et al., Kernel Normalized Convolutional Networks (TMLR
2024); KNResNet-13 is that of their Kernel Normalized Convolutional Networks for Privacy-Preserving Machine
Learning (SaTML 2023). ResNets are those of K. He et al., Deep Residual Learning for Image Recognition (CVPR
2016), with strides at the convolutions of 3 by 3 pixels, and PreactResNets those of their Identity Mappings
in Deep Residual Networks (ECCV 2016).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from math import gcd

from torch import Tensor, nn

from unpooled_networks.kernel_norm import KernelNorm, KNConv


class Norm(StrEnum):
    """The normalizations that a network can have."""

    KERNEL = "kernel"
    BATCH = "batch"
    GROUP = "group"
    LAYER = "layer"
    INSTANCE = "instance"
    NONE = "none"


# A declaration: parts in order, each taking as many channels as the part before it gives

Sides = tuple[int, int, int, int]
"""Padding on the left, on the right, above, and below."""


@dataclass(frozen=True)
class Conv:
    """A convolution of square windows, with what normalizes and activates it."""

    channels: int
    size: int
    stride: int = 1
    padding: int | Sides = 0


@dataclass(frozen=True)
class Block:
    """Convolutions whose result is added to what they took."""

    convs: tuple[Conv, ...]

    @property
    def stride(self) -> int:
        return max(conv.stride for conv in self.convs)


@dataclass(frozen=True)
class Pool:
    """The largest values of square windows."""

    size: int
    stride: int
    padding: int = 0


Part = Conv | Block | Pool


@dataclass(frozen=True)
class Architecture:
    """A network from its stem to its last average."""

    stem: int
    """Channels of its first convolution, and the pooling after it where images are not small."""
    parts: Callable[[bool], Iterator[Part]]
    """The parts between, for small images or others."""
    preactivated: bool = True
    """True if a convolution is activated before, and not after it."""
    activation: Callable[[], nn.Module] = nn.ReLU
    pool: Pool = Pool(3, 2, 1)
    dropout: tuple[float, float] = (0.05, 0.25)
    """Shares that kernel normalization drops: in convolutions, and in the end."""
    average: int = 1
    """Rows and columns that the last average leaves."""
    groups: int = 32
    """Groups of group normalization; fewer where they would not be alike."""


BEFORE, AFTER, WIDE = (1, 0, 1, 0), (0, 1, 0, 1), (2, 1, 2, 1)
"""Sides on which transitions pad; with windows of 2 by 2 pixels the first two keep the size of an image."""


def _basic(channels: int, inner: int) -> Block:
    return Block((Conv(inner, 2, padding=1), Conv(channels, 2)))


def _bottleneck(channels: int, inner: int) -> Block:
    return Block((Conv(inner, 2, padding=1), Conv(inner, 3, padding=1), Conv(channels, 2)))


def _plain(channels: int, stride: int = 1) -> Block:
    return Block((Conv(channels, 3, stride, 1), Conv(channels, 3, padding=1)))


def _narrow(inner: int, stride: int = 1) -> Block:
    return Block((Conv(inner, 1), Conv(inner, 3, stride, 1), Conv(4 * inner, 1)))


def _transition(conv: Conv) -> tuple[Part, ...]:
    return conv, Pool(2, 2)


def _knresnet_13(small: bool) -> Iterator[Part]:
    """Its widths are ours: the paper's figure of them is lost."""
    yield _plain(64)
    for channels in (128, 256, 256):
        yield from _transition(Conv(channels, 3, padding=1))
        yield _plain(channels)


def _knresnet_18(small: bool) -> Iterator[Part]:
    yield from [_basic(64, 256)] * 2
    yield from _transition(Conv(256, 2, padding=BEFORE))
    yield from [_basic(256, 256)] * 2
    yield from _transition(Conv(512, 2, padding=AFTER))
    yield _basic(512, 512)
    yield from _transition(Conv(724, 2, padding=BEFORE if small else WIDE))
    yield _basic(724, 724)
    yield from _end(small)


def _knresnet_34(small: bool) -> Iterator[Part]:
    yield from [_basic(64, 256)] * 4
    yield from _transition(Conv(256, 2, padding=BEFORE))
    yield from [_basic(256, 320)] * 5
    yield from _transition(Conv(512, 2, padding=AFTER))
    yield from [_basic(512, 640)] * 3
    yield from _transition(Conv(512, 2, padding=BEFORE if small else WIDE))
    yield from [_basic(512, 843)] * 2
    yield from _end(small)


def _end(small: bool) -> tuple[Part, ...]:
    return Pool(2, 2), Conv(512, 2, padding=1 if small else 0)


def _knresnet_50(small: bool) -> Iterator[Part]:
    yield from [_bottleneck(256, 64)] * 4
    yield from _transition(Conv(512, 2, padding=BEFORE))
    yield from [_bottleneck(512, 128)] * 5
    yield from _transition(Conv(810, 2, padding=AFTER))
    yield from [_bottleneck(810, 201)] * 4
    yield from _transition(Conv(2048, 1))
    yield from [_narrow(512)] * 2


def _resnet(block: Callable[..., Block], *counts: int) -> Callable[[bool], Iterator[Part]]:
    def parts(small: bool) -> Iterator[Part]:
        for stage, count in enumerate(counts):
            yield block(64 * 2**stage, stride=1 if stage == 0 else 2)
            yield from [block(64 * 2**stage)] * (count - 1)

    return parts


_18, _34, _50 = _resnet(_plain, 2, 2, 2, 2), _resnet(_plain, 3, 4, 6, 3), _resnet(_narrow, 3, 4, 6, 3)

ARCHITECTURES = {
    "KNResNet-13": Architecture(
        64, _knresnet_13, activation=nn.Mish, pool=Pool(2, 2), dropout=(0.1, 0.5), average=2
    ),
    "KNResNet-18": Architecture(64, _knresnet_18),
    "KNResNet-34": Architecture(64, _knresnet_34),
    "KNResNet-50": Architecture(256, _knresnet_50),
    "ResNet-18": Architecture(64, _18, preactivated=False),
    "ResNet-34": Architecture(64, _34, preactivated=False),
    "ResNet-50": Architecture(64, _50, preactivated=False),
    "PreactResNet-18": Architecture(64, _18),
    "PreactResNet-34": Architecture(64, _34),
    "PreactResNet-50": Architecture(64, _50),
}


# From a declaration to a network


class Residual(nn.Module):
    """Return close(body(y) + shortcut(y)) for y = open(x); without a shortcut x itself is added."""

    def __init__(
        self, opening: nn.Module, body: nn.Module, shortcut: nn.Module | None, closing: nn.Module
    ) -> None:
        super().__init__()
        self.opening, self.body, self.shortcut, self.closing = opening, body, shortcut, closing

    def forward(self, x: Tensor) -> Tensor:
        opened = self.opening(x)
        around = x if self.shortcut is None else self.shortcut(opened)
        closed: Tensor = self.closing(self.body(opened) + around)
        return closed


def resnet(
    architecture: Architecture | str,
    norm: Norm | str,
    classes: int,
    channels: int = 3,
    small: bool = False,
    dropout: tuple[float, float] | None = None,
) -> nn.Sequential:
    """Make a network for images (n, channels, h, w), to (n, classes), with one of the normalizations.

    architecture   one of ARCHITECTURES by its name, or another declaration
    small          images of some 32 pixels: the stem neither strides nor pools
    dropout        the shares that kernel normalization drops, instead of the architecture's

    Convolutions have a bias where no batch, group, layer or instance normalization has one. Raises KeyError
    for another architecture, ValueError for another normalization.
    """
    of = ARCHITECTURES[architecture] if isinstance(architecture, str) else architecture
    maker = _Maker(of, Norm(norm), dropout or of.dropout)
    network = nn.Sequential(*maker.layers(channels, classes, small))
    network.apply(_start)
    return network


@dataclass(frozen=True)
class _Maker:
    """Makes layers of a declaration; what is called `channels` is how many a layer takes."""

    architecture: Architecture
    norm: Norm
    dropout: tuple[float, float]

    def layers(self, channels: int, classes: int, small: bool) -> Iterator[nn.Module]:
        of = self.architecture
        yield from self._stem(channels, small)
        channels = of.stem
        for part in of.parts(small):
            match part:
                case Pool():
                    yield nn.MaxPool2d(part.size, part.stride, part.padding)
                case Conv():
                    yield from (*self._normalized(channels), of.activation(), self._conv(channels, part))
                    channels = part.channels
                case Block():
                    yield self._residual(channels, part)
                    channels = part.convs[-1].channels
        yield from self._end(channels)
        yield from (nn.AdaptiveAvgPool2d(of.average), nn.Flatten())
        yield nn.Linear(channels * of.average**2, classes)

    def _stem(self, channels: int, small: bool) -> Iterator[nn.Module]:
        of = self.architecture
        conv = self._conv(channels, Conv(of.stem, 3, padding=1) if small else Conv(of.stem, 7, 2, 3))
        if isinstance(conv, KNConv):
            conv.dropout = 0.0  # of so few values: a network that is trained with it is lost without it
        yield conv
        if not of.preactivated:
            yield from (*self._normalized(of.stem), of.activation())
        if not small:
            yield nn.MaxPool2d(of.pool.size, of.pool.stride, of.pool.padding)

    def _residual(self, channels: int, block: Block) -> Residual:
        of, first, last = self.architecture, block.convs[0], block.convs[-1].channels
        body = [self._conv(channels, first)]
        for before, conv in pairwise(block.convs):
            body += [*self._normalized(before.channels), of.activation(), self._conv(before.channels, conv)]
        around = []
        if (last, block.stride) != (channels, 1):
            around = [self._conv(channels, Conv(last, 1, block.stride))]
        if of.preactivated:
            opening, closing = [*self._normalized(channels), of.activation()], []
        else:
            opening, closing = [], [of.activation()]
            body += self._normalized(last)
            around += self._normalized(last) if around else []
        shortcut = nn.Sequential(*around) if around else None
        return Residual(nn.Sequential(*opening), nn.Sequential(*body), shortcut, nn.Sequential(*closing))

    def _end(self, channels: int) -> Iterator[nn.Module]:
        if self.norm is Norm.KERNEL:
            yield KernelNorm(1, dropout=self.dropout[1])
        if self.architecture.preactivated:
            yield from (*self._normalized(channels), self.architecture.activation())

    def _conv(self, channels: int, conv: Conv) -> nn.Module:
        """Pads first if sides differ, which neither kind of convolution can do."""
        sides, padding = (conv.padding, 0) if isinstance(conv.padding, tuple) else (None, conv.padding)
        made: nn.Module
        if self.norm is Norm.KERNEL:
            made = KNConv(channels, conv.channels, conv.size, conv.stride, padding, dropout=self.dropout[0])
        else:
            bias = self.norm is Norm.NONE
            made = nn.Conv2d(channels, conv.channels, conv.size, conv.stride, padding, bias=bias)
        return nn.Sequential(nn.ZeroPad2d(sides), made) if sides else made

    def _normalized(self, channels: int) -> list[nn.Module]:
        """No layer at all where convolutions normalize themselves, and where nothing is normalized."""
        match self.norm:
            case Norm.BATCH:
                return [nn.BatchNorm2d(channels)]
            case Norm.GROUP:
                return [nn.GroupNorm(gcd(self.architecture.groups, channels), channels)]
            case Norm.LAYER:
                return [nn.GroupNorm(1, channels)]
            case Norm.INSTANCE:
                return [nn.InstanceNorm2d(channels, affine=True)]
            case _:
                return []


def _start(module: nn.Module) -> None:
    """Draw weights as K. He et al. do, Delving Deep into Rectifiers (ICCV 2015).

    Biases of convolutions stay as torch draws them: where an image is black, as it often is around what it
    shows, biases of 0 would leave windows of equal values to the next layer, with slopes of 1 / √ε.
    """
    if isinstance(module, nn.Conv2d):
        nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.bias)
