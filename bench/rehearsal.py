"""Parse the command lines of benchmarks, and rehearse the studies that they time."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def parser(about: str | None) -> argparse.ArgumentParser:
    """Make the parser of a benchmark's options; `about` is its own description."""
    return argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)


def command(out: Path, *words: object) -> list[str]:
    """Make the command of a rehearsal whose files begin with the path `out`."""
    program = [sys.executable, "-m", "unpooled_webapp", "rehearse"]
    return [*program, *map(str, words), "--out", str(out), "--quiet"]


def report(out: Path) -> dict[str, Any]:
    """Read what a rehearsal has measured."""
    found: dict[str, Any] = json.loads(Path(f"{out}.report.json").read_text(encoding="utf-8"))
    return found


def rehearsed(out: Path, *words: object) -> dict[str, Any]:
    """Rehearse a study; what was measured."""
    subprocess.run(command(out, *words), check=True)
    return report(out)
