from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "server" / "tests"))
sys.path.insert(0, str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parents[2] / "core" / "tests"))  # pools of generated people, and mice

from federation_fixtures import *  # noqa: F403
from platform_fixtures import *  # noqa: F403
from receiver import receiver  # noqa: F401
from signing_in import me, person  # noqa: F401
