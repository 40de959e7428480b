"""Results of studies, to work on with: `unpooled.Scaler`, `unpooled.Encoder` and `unpooled.Model`.

Each is read from a study's file by `from_file`. `unpooled.federate` makes them in one process, by the client
where that is installed. All are loaded when they are first named, so that programs that need none of them
start as fast as before.
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

_MODULES = {name: f"{__name__}.fitted.{name.lower()}" for name in ("Encoder", "Model", "Scaler")}
# What reads cohorts' files is the client's: the only arrow that goes up to it, taken when it is called.
_MODULES["federate"] = "unpooled_client.federation"
__all__ = ["Encoder", "Model", "Scaler", "federate"]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
