"""While these tests run, the registry has one more test: what only tests know keeps to everything, too."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from unpooled.method_modules import VARIANTS

from ..one_more import one_more_test


@pytest.fixture(scope="module", autouse=True)
def one_more() -> Iterator[None]:
    VARIANTS[one_more_test.ONE_MORE.name] = one_more_test.__name__
    yield
    del VARIANTS[one_more_test.ONE_MORE.name]
