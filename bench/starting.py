"""Times all parties of a small rehearsal beside an import of `scipy.stats`, in turn: seconds of processor.

    python bench/starting.py [--runs 5]

The demo's three cohorts, 1,900 people and 10,000 variants: most of that is starting eight processes.
`from nothing` is the same where parties are not forked from one process, as on other systems than Linux.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import rehearsal
from memory import from_nothing
from processor import seconds_of_children

from unpooled_webapp.demonstration import example

GOAL = 8.0
IMPORTS = 3  # of which the mean is taken: one alone scatters more than a rehearsal


def main() -> None:
    parser = rehearsal.parser(__doc__)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        cohorts = example.generate(Path(folder), pooled=False).cohorts
        words = [word for prefix in cohorts for word in ("--bfile", str(prefix))]
        command = rehearsal.command(Path(folder) / "ours", *words)
        found = [measured(command) for _ in range(runs + 1)][1:]  # the first warms caches
    show("forked", [(forked, imports) for imports, forked, _ in found], f"; goal {GOAL:g}")
    show("from nothing", [(started, imports) for imports, _, started in found], "")


def measured(command: list[str]) -> tuple[float, float, float]:
    """Return the seconds of importing `scipy.stats`, of a rehearsal, and of one that does not fork."""
    imports = [seconds([sys.executable, "-c", "import scipy.stats"]) for _ in range(IMPORTS)]
    return sum(imports) / IMPORTS, seconds(command), seconds(from_nothing(command))


def seconds(command: Sequence[str]) -> float:
    """Run a command; the seconds of processor time that it took, and all that it started."""
    before = seconds_of_children()
    subprocess.run(command, check=True)
    return seconds_of_children() - before


def show(how: str, beside: Sequence[tuple[float, float]], goal: str) -> None:
    ratios = [ours / imports for ours, imports in beside]
    spread = f"from {min(ratios):.1f} to {max(ratios):.1f}{goal}"
    ours, imports = (median(each) for each in zip(*beside, strict=True))
    print(f"{how}: {ours:.1f} s beside {imports:.2f} s: {median(ratios):.1f} times ({spread})", flush=True)


if __name__ == "__main__":
    main()
