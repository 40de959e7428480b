"""The tests that make up their inputs, with as many inputs as one likes: APIs, and readers of bytes."""

from __future__ import annotations

import functools
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

ROOT = Path(__file__).parents[2]
TESTS = {
    "api": ["tests/fuzz/web", "compensator/tests/test_hostile_bytes.py"],
    "damaged": ["tests/fuzz/test_damaged_files.py"],
    "readers": [
        *(f"core/tests/test_{name}.py" for name in ("protocol_codec", "invitation", "panel", "text")),
        "core/tests/test_hostile_files.py",
        *(f"client/tests/test_{name}.py" for name in ("check", "data_bed", "data_bim")),
        *(f"client/tests/test_{name}.py" for name in ("csv_table", "parquet_table", "hostile_tables")),
    ],
}


@dataclass
class Length:
    """Length of a run: how many inputs a test makes up, and from which seed; and how many it had, by kind."""

    count: int | None = None
    seed: int = 1
    inputs: Counter[str] = field(default_factory=Counter)

    def each(
        self, usual: int, inputs: SearchStrategy[Any], check: Callable[[Any], None], times: int = 1
    ) -> None:
        """Check `times` as many inputs as are asked for, or the usual number."""

        @seed(self.seed)
        @settings(
            max_examples=times * self.count if self.count else usual,
            database=None,
            deadline=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        )
        @given(inputs)
        def checked(value: Any) -> None:
            check(value)

        checked()


LENGTH = pytest.StashKey[Length]()


class Longer:
    """Lets pytest run only tests that make up inputs, and those with so many of them."""

    def __init__(self, length: Length) -> None:
        self._length = length

    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[LENGTH] = self._length

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        kept = [item for item in items if self._has_inputs(item)]
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = kept

    def _has_inputs(self, item: pytest.Item) -> bool:
        test: Any = getattr(item, "obj", None)
        if hasattr(test, "hypothesis"):
            usual = test._hypothesis_internal_use_settings  # where hypothesis' own plugin looks
            test._hypothesis_internal_use_settings = settings(
                usual, max_examples=self._length.count, database=None
            )
            seed(self._length.seed)(test)
            test.hypothesis.inner_test = self._counted(test.hypothesis.inner_test)
            return True
        return "length" in getattr(item, "fixturenames", ())

    def _counted(self, test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def counted(*arguments: Any, **values: Any) -> None:
            self._length.inputs["inputs"] += 1
            test(*arguments, **values)

        return counted


def main(what: str, count: int, first: int) -> int:
    """Run these tests, and return 1 if any failed, else 0."""
    started, length = time.monotonic(), Length(count, first)
    options = ["-p", "no:cacheprovider", "-o", "timeout=0", "-q"]
    failed = pytest.main([*options, *(str(ROOT / path) for path in TESTS[what])], plugins=[Longer(length)])
    had = ", ".join(f"{number:,} {kind}" for kind, number in length.inputs.most_common())
    print(f"{had} in {time.monotonic() - started:.0f} s", file=sys.stderr)
    return int(failed)
