"""Imports of the release before: modules that have moved are found under their old names, with a warning.

Goes with the next release.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

MOVED = {
    "agreement": "panel.agreement",
    "algorithms": "methods",
    "check": "asking.share_check",
    "cohort": "asking.cohort",
    "encoder": "fitted.encoder",
    "encodings": "plan.encodings",
    "model": "fitted.model",
    "options": "plan.options",
    "parties": "described.parties",
    "procedure": "asking.procedure",
    "question": "asking.question",
    "scaler": "fitted.scaler",
    "schema": "plan.schema",
    "sizes": "asking.sizes",
    "words": "plan.categories",
}
"""The modules that the documentation imported, by their old names."""

NAMES = {
    "unpooled.panel": ("Panel",),
    "unpooled.plan": ("EXACT", "MEAN", "NONE", "NO_KEY", "Covariate", "Plan"),
}
"""Names that it imported from modules that are packages now."""


class Moved(MetaPathFinder, Loader):
    """Finds a module that has moved, and gives out the one module that there is."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(name, self) if _place(name) else None

    def exec_module(self, module: ModuleType) -> None:
        """Put the moved module in the place of the empty one, where the import system looks for it."""
        old = module.__name__
        warnings.warn(f"{old} is {_place(old)} from this release on", DeprecationWarning, stacklevel=2)
        sys.modules[old] = import_module(_place(old))


def _place(name: str) -> str:
    """Return where a module is now; empty if it has not moved."""
    package, _, rest = name.partition(".")
    first, dot, more = rest.partition(".")
    return f"{package}.{MOVED[first]}{dot}{more}" if package == __package__ and first in MOVED else ""


def attribute(package: str, name: str) -> object:
    """Find what `package`, once a module, had by this name in the module that has its name now."""
    module = f"{package}.{package.rpartition('.')[2]}"
    if name not in NAMES[package]:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    warnings.warn(f"{package}.{name} is in {module} from this release on", DeprecationWarning, stacklevel=3)
    return getattr(import_module(module), name)
