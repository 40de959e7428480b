from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from compared_fixtures import *  # noqa: F403
from federation_fixtures import *  # noqa: F403
from platform_fixtures import *  # noqa: F403
from round_fixtures import *  # noqa: F403
