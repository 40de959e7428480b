"""The wheel of the web application contains the built browser application: running it needs no Node."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from unpooled_webapp.application import PAGE

WEBAPP = Path(__file__).parents[1]

pytestmark = pytest.mark.skipif(
    not PAGE.exists() and "CI" not in os.environ,
    reason="the browser application is not built: scripts/build-frontend must",
)


def files_of_wheel(folder: Path, tmp_path: Path) -> set[str]:
    # Built from a copy: setuptools leaves folders behind, which a later wheel would take files from.
    source = tmp_path / folder.name
    shutil.copytree(folder, source, ignore=shutil.ignore_patterns("build", "*.egg-info", "tests"))
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--wheel-dir", tmp_path, source], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_wheel_holds_what_its_page_names(tmp_path: Path) -> None:
    names = files_of_wheel(WEBAPP, tmp_path)
    page = PAGE.read_text()
    assets = re.findall(r'(?:src|href)="/static/(app/[^"]+)"', page)
    assert any(name.endswith(".js") for name in assets) and any(name.endswith(".css") for name in assets)
    for name in ["app/index.html", *assets]:
        assert f"unpooled_webapp/static/{name}" in names
    for name in assets:
        if name.endswith((".js", ".css")):
            assert f"unpooled_webapp/static/{name}.gz" in names, "Whitenoise sends it compressed"
