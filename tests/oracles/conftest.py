"""Pools of generated people lie beside the library's own tests, which share them."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "core" / "tests"))
