"""Check whether the window can be opened on this system, and the packages to install if not."""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

_OR = "The command line does the same without a window: unpooled-client --help"
MISSING = f"""\
The window needs Qt, which is not installed here. Install it with
    pip install "unpooled-client[window]"
{_OR}"""
NO_SCREEN = f"""\
There is no screen here on which a window could be shown: this session has neither Wayland nor X11.
Open it in a desktop session, or connect with: ssh -X
{_OR}"""
_LACKING = """\
The window needs system libraries that are not installed here: {libraries}.
{remedy}
{others}"""
_ASK = "Ask whoever looks after this computer to install them."

PACKAGES = {
    "libEGL.so.1": ("libegl1", "libglvnd-egl"),
    "libGL.so.1": ("libgl1", "libglvnd-glx"),
    "libX11.so.6": ("libx11-6", "libX11"),
    "libX11-xcb.so.1": ("libx11-xcb1", "libX11-xcb"),
    "libdbus-1.so.3": ("libdbus-1-3", "dbus-libs"),
    "libfontconfig.so.1": ("libfontconfig1", "fontconfig"),
    "libfreetype.so.6": ("libfreetype6", "freetype"),
    "libglib-2.0.so.0": ("libglib2.0-0", "glib2"),
    "libxcb.so.1": ("libxcb1", "libxcb"),
    "libxcb-cursor.so.0": ("libxcb-cursor0", "xcb-util-cursor"),
    "libxcb-icccm.so.4": ("libxcb-icccm4", "xcb-util-wm"),
    "libxcb-image.so.0": ("libxcb-image0", "xcb-util-image"),
    "libxcb-keysyms.so.1": ("libxcb-keysyms1", "xcb-util-keysyms"),
    "libxcb-randr.so.0": ("libxcb-randr0", "libxcb"),
    "libxcb-render-util.so.0": ("libxcb-render-util0", "xcb-util-renderutil"),
    "libxcb-render.so.0": ("libxcb-render0", "libxcb"),
    "libxcb-shape.so.0": ("libxcb-shape0", "libxcb"),
    "libxcb-shm.so.0": ("libxcb-shm0", "libxcb"),
    "libxcb-sync.so.1": ("libxcb-sync1", "libxcb"),
    "libxcb-xfixes.so.0": ("libxcb-xfixes0", "libxcb"),
    "libxcb-xkb.so.1": ("libxcb-xkb1", "libxcb"),
    "libxkbcommon-x11.so.0": ("libxkbcommon-x11-0", "libxkbcommon-x11"),
    "libxkbcommon.so.0": ("libxkbcommon0", "libxkbcommon"),
}
"""Libraries that Qt and its plugin for X11 load from the system, with the packages of Debian and Ubuntu, and
of Fedora.
"""

_LIBRARY = re.compile(r"lib[\w.+-]*\.so[.\d]*")


def problem() -> str:
    """Why the window cannot be opened here, with what to do; empty if it can."""
    try:
        import PySide6.QtSvg
        import PySide6.QtWidgets  # noqa: F401
    except ModuleNotFoundError:
        return MISSING
    except ImportError as error:
        return lacking(str(error))
    return _problem_of_screen(os.environ) if sys.platform == "linux" else ""


def _problem_of_screen(environment: Mapping[str, str]) -> str:
    """Qt ends the whole program where it finds no screen, or cannot load what it draws with: look before."""
    platform = environment.get("QT_QPA_PLATFORM", "")
    if not platform.startswith("xcb") and (platform or environment.get("WAYLAND_DISPLAY")):
        return ""
    if not environment.get("DISPLAY"):
        return NO_SCREEN
    from PySide6.QtCore import QLibraryInfo

    plugins = Path(QLibraryInfo.path(QLibraryInfo.LibraryPath.PluginsPath))
    try:
        ctypes.CDLL(str(plugins / "platforms" / "libqxcb.so"))
    except OSError as error:
        return lacking(str(error))
    return ""


def lacking(reason: str) -> str:
    """Name the missing libraries, and how to install them; `reason` is the loader's, about the first."""
    named = _LIBRARY.findall(reason)[:1]
    libraries = list(dict.fromkeys([*named, *filter(_is_missing, PACKAGES)])) or [reason]
    known = [PACKAGES[library] for library in libraries if library in PACKAGES]
    remedy = (
        f"Debian, Ubuntu:  sudo apt-get install {_once(debian for debian, _ in known)}\n"
        f"Fedora, Red Hat: sudo dnf install {_once(fedora for _, fedora in known)}"
    )
    return _LACKING.format(libraries=", ".join(libraries), remedy=remedy if known else _ASK, others=_OR)


def _once(names: Iterable[str]) -> str:
    return " ".join(dict.fromkeys(names))


def _is_missing(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return True
    return False
