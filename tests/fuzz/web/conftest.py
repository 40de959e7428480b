from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "server" / "tests"))

from federation_fixtures import *  # noqa: F403
from platform_fixtures import *  # noqa: F403

from .world import length, world  # noqa: F401
