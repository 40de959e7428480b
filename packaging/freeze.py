"""Makes the folder `unpooled-client` that runs on this system without Python: command line and window.

    python packaging/freeze.py [--without-window] [--out FOLDER]

PyInstaller takes what it finds in an environment that is made for it, with the client and nothing else. It
makes programs for the system on which it runs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from wheels import ROOT, build, locked, pip, run, size

SPEC = Path(__file__).with_name("unpooled-client.spec")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--without-window", dest="window", action="store_false", help="the command line only")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where the folder is to stand")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        python = _environment(Path(folder), window=asked.window)
        places = ["--distpath", asked.out, "--workpath", Path(folder, "work")]
        run(python, "-m", "PyInstaller", "--noconfirm", "--log-level", "ERROR", *places, SPEC)
    made = asked.out / "unpooled-client"
    run(made / "unpooled-client", "--version")
    print(f"{made} ({size(made)})")


def _environment(folder: Path, *, window: bool) -> Path:
    """A Python that has the client and PyInstaller."""
    run(sys.executable, "-m", "venv", folder / "venv")
    python = folder / "venv" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    build(folder / "wheels", "core", "client")
    pip("install", *locked("window" if window else "client", "freeze"), python=python)
    pip("install", "--no-deps", "--no-index", *(folder / "wheels").iterdir(), python=python)
    return python


if __name__ == "__main__":
    main()
