"""The table of methods: what each is called, and the module that declares it.

A module is imported when something of its method is first looked up: what the registry knows of it
(`unpooled.methods`), its options (`unpooled.plan.options`), or a procedure by the name under which a branch
was stored (`unpooled.asking.procedure`). So a program loads the methods that it meets, and no others.
"""

from __future__ import annotations

import re
from importlib import import_module

VARIANTS = {
    "chi-square": ".chi_square",
    "linear": ".regression.linear",
    "logistic": ".regression.logistic",
    "prune": ".ld.prune",
    "ld-matrix": ".ld.matrix",
    "pca": ".components.pca",
    "gene-tests": ".genes",
    "polygenic": ".polygenic",
}
TABLES = {
    "z-score": ".tables",
    "min-max": ".tables",
    "robust": ".tables",
    "yeo-johnson": ".tables",
    "quantiles": ".tables",
    "summary": ".tables.summary",
    "encode": ".tables.encoding",
}
MODELS = {
    "logistic-model": ".learning",
    "linear-model": ".learning",
    "ridge": ".learning",
    "lasso": ".learning",
    "elastic-net": ".learning",
    "fedheonn": ".learning",
    "network": ".learning",
    "private-network": ".private_network",
    "private-ridge": ".private_ridge",
    "local-updates": ".local_updates",
    "image-network": ".learning",
    "image-local-updates": ".local_updates",
    "private-image-network": ".private_network",
}
"""Methods for tables that fit a model."""
_PARTS = {
    "components": ".components.procedure",
    "firth": ".regression.firth",
    "frequencies": ".frequencies",
    "ld": ".ld.pruning",
    "leads": ".ld.leads",
    "loco": ".loco.several",
    "model": ".learning",
    "panel": ".presence",
    "phenotype": ".phenotypes",
    "phenotypes": ".phenotypes",
    "regression": ".regression.method",
    "spa": ".regression.saddlepoint",
    "susie": ".regression.credible_sets",
    "tables": ".tables",
}
"""Parts that methods have in common, by the first word of their procedures' names."""

_ALL = (VARIANTS, TABLES, MODELS, _PARTS)


def load(name: str) -> None:
    """Import what declares a method or a procedure: `linear/chunk` is of `linear`. Of other names nothing."""
    family = re.split("[/ ]", name, maxsplit=1)[0]
    for modules in _ALL:
        if family in modules:
            _import(modules[family])


def load_all() -> None:
    """Import every method."""
    for modules in _ALL:
        for module in modules.values():
            _import(module)


def _import(module: str) -> None:
    import_module(module, "unpooled.methods")
