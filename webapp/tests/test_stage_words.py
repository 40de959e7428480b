"""The browser's pills say what the server calls the stages."""

from __future__ import annotations

import re
from pathlib import Path

from unpooled.protocol.stages import Stage

STATES = Path(__file__).parents[2] / "frontend/src/words/states.ts"


def test_pills_have_the_servers_words() -> None:
    block = STATES.read_text().split("STAGE: Record<Stage, Said>")[1].partition("};")[0]
    found = dict(re.findall(r'(\w+): \{ word: message\("([^"]+)"\)', block))
    assert found == {stage.value: stage.word for stage in Stage}
