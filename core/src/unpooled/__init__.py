"""Results of studies, to work on with: `unpooled.Scaler`, `unpooled.Encoder` and `unpooled.Model`.

Each is read from a study's file by `from_file`. They are loaded when they are first named, so that programs
that need none of them start as fast as before.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from unpooled.renamed import Moved

if TYPE_CHECKING:
    from unpooled.fitted.encoder import Encoder as Encoder
    from unpooled.fitted.model import Model as Model
    from unpooled.fitted.scaler import Scaler as Scaler

sys.meta_path.insert(0, Moved())  # before what would find the old package's modules a second time

__all__ = ["Encoder", "Model", "Scaler"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.fitted.{name.lower()}"), name)
