"""Networks for images that are normalized without batches.

KernelNorm, KNConv   layers (`kernel_norm`)
resnet               KNResNets, ResNets and PreactResNets with any of six normalizations (`resnets`)

It needs torch, and no other part of Unpooled needs it.
"""

from unpooled_networks.kernel_norm import KernelNorm, KNConv
from unpooled_networks.resnets import ARCHITECTURES, Norm, resnet

__all__ = ["ARCHITECTURES", "KNConv", "KernelNorm", "Norm", "resnet"]
