"""Where there can be no window, it is said why, with what is to be installed; nothing crashes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE
from unpooled_client.window.system import PACKAGES, lacking

OPEN = [sys.executable, "-m", "unpooled_client", "window"]
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="about Linux")


def opened(**environment: str) -> subprocess.CompletedProcess[str]:
    """The command `window`, as a program, on a system with that environment."""
    dropped = ("QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return subprocess.run(OPEN, env=kept | environment, capture_output=True, text=True, timeout=PATIENCE)


@LINUX
def test_without_a_screen() -> None:
    ended = opened()
    assert ended.returncode == 2
    assert "There is no screen here" in ended.stderr and "command line does the same" in ended.stderr


def test_without_qt(tmp_path: Path) -> None:
    (tmp_path / "PySide6.py").touch()  # found first, and has none of Qt's modules
    ended = opened(PYTHONPATH=os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    assert ended.returncode == 2
    assert 'pip install "unpooled-client[window]"' in ended.stderr and "Traceback" not in ended.stderr


@LINUX
@pytest.mark.parametrize(
    "library, given",
    [
        ("libxcb-cursor.so.0", {"DISPLAY": ":77"}),
        ("libEGL.so.1", {"QT_QPA_PLATFORM": "offscreen"}),
    ],
)
def test_a_missing_library_is_named_with_its_package(
    library: str, given: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / library).touch()  # found first, and no library
    ended = opened(LD_LIBRARY_PATH=str(tmp_path), **given)
    assert ended.returncode == 2
    assert library in ended.stderr and "Traceback" not in ended.stderr
    debian, fedora = PACKAGES[library]
    assert f" {debian}" in ended.stderr and f" {fedora}" in ended.stderr
    assert "command line does the same" in ended.stderr


def test_an_unknown_library_is_named_all_the_same() -> None:
    assert "libodd.so.7" in lacking("libodd.so.7: cannot open shared object file: No such file or directory")
