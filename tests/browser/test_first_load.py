"""Size of what a browser loads until the sign-in page, or the list of studies, is there."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from unpooled_webapp.application import PAGE

from .conftest import Site
from .pages import Pages

MOST = 170_000  # bytes, compressed: about a second at 1.5 Mbit/s
STATIC = "/static/app/"


def loaded(pages: Pages) -> dict[str, int]:
    """Compressed sizes of the page, its scripts and its styles, by the files' names."""
    paths = {urlsplit(request.url).path for request in pages.asked}
    files = {PAGE, *(PAGE.parent / path.removeprefix(STATIC) for path in paths if path.startswith(STATIC))}
    return {file.name: compressed(file) for file in files if file.suffix in (".html", ".js", ".css")}


def compressed(file: Path) -> int:
    return len(gzip.compress(file.read_bytes(), 9))


@pytest.mark.parametrize("is_signed_in", [False, True])
def test_the_first_load_is_small(
    pages: Pages, window: Callable[[], Pages], site: Site, is_signed_in: bool
) -> None:
    fresh = window()
    if is_signed_in:
        fresh.page.context.add_cookies(pages.page.context.cookies())  # type: ignore[arg-type]
    fresh.open("/")
    fresh.heading("Studies" if is_signed_in else "Sign in")
    fresh.page.wait_for_load_state("networkidle")
    sizes = loaded(fresh)
    assert any(name.endswith(".js") for name in sizes)
    assert sum(sizes.values()) <= MOST, sizes
