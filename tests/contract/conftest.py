"""While these tests run, the registry has one more test: what only tests know keeps to everything, too."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ..one_more import one_more_test


@pytest.fixture(scope="package", autouse=True)
def one_more() -> Iterator[None]:
    one_more_test.register()
    yield
    one_more_test.forget()
