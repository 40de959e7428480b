"""Networks for images that are normalized without batches.

KernelNorm, KNConv   layers (`kernel_norm`)
resnet               KNResNets, ResNets and PreactResNets with any of six normalizations (`resnets`)
load                 the network that a study on images has trained (`studies`)

It needs torch, and no other part of Unpooled needs it.
"""

from unpooled_networks.kernel_norm import KernelNorm, KNConv
from unpooled_networks.resnets import ARCHITECTURES, Norm, resnet
from unpooled_networks.studies import load

__all__ = ["ARCHITECTURES", "KNConv", "KernelNorm", "Norm", "load", "resnet"]
