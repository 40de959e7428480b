"""Measures the memory of every process of a federated study: its peak, mapped pages of files included.

    make bench-memory [ARGS="linear logistic --samples 100 --variants 100000 1000000"]

Peaks are the system's own (VmHWM of /proc/PID/status), read while each process lives. With two numbers of
variants or more it also says by how many bytes a client grows with each variant.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import rehearsal
from association_files import generated
from association_studies import STUDIES, command

MEGABYTE = 1e6
LIMITS = {"client": 1000 * MEGABYTE, "web": 500 * MEGABYTE, "worker": 500 * MEGABYTE}
BYTES_PER_VARIANT = 200
EVERY = 0.2  # seconds between two looks: of a hundred clients one takes some hundredths
# Parties that were forked from one process share pages, which each of them would count as its own.
FROM_NOTHING = "from unpooled_webapp import cli, starting; starting.CAN_FORK = False; cli.main()"

# What tells the parties apart, in the arguments of their processes.
PARTIES = {
    "client": "unpooled_client",
    "compensator": "unpooled_compensator",
    "web": "gunicorn",
    "worker": "worker",
}


def main() -> None:
    parser = rehearsal.parser(__doc__)
    parser.add_argument("studies", nargs="*", metavar="STUDY", help=f"of {', '.join(STUDIES)}")
    parser.add_argument("--variants", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--samples", type=int, default=100, help="of each of three cohorts")
    arguments = parser.parse_args()
    if unknown := set(arguments.studies) - set(STUDIES):
        parser.error(f"no study is called {', '.join(unknown)}; there are {', '.join(STUDIES)}")
    broken = []
    for name in arguments.studies or ("linear", "logistic"):
        found = {count: measured(name, count, arguments.samples) for count in arguments.variants}
        broken += list(show(name, arguments.samples, found))
    if broken:
        sys.exit(f"bench: {'; '.join(broken)}")


def measured(name: str, variants: int, samples: int) -> dict[str, int]:
    """Bytes at the peak of each party's largest process, in one study."""
    largest = largest_of(command(STUDIES[name], generated(variants, samples)))
    if largest is None:
        sys.exit(f"bench: the study of {name} failed")
    return largest


def from_nothing(words: Sequence[str]) -> list[str]:
    """Return a command of `python -m unpooled_webapp` whose parties are started each by itself."""
    python, _, _, *options = words
    return [python, "-c", FROM_NOTHING, *options]


def largest_of(words: Sequence[str]) -> dict[str, int] | None:
    """The same of a command; None if it fails."""
    largest: dict[str, int] = {}
    with subprocess.Popen(from_nothing(words)) as study:
        while study.poll() is None:
            for _, party, peak in peaks(study.pid):
                largest[party] = max(peak, largest.get(party, 0))
            time.sleep(EVERY)
    return None if study.returncode else largest


def rehearsed(out: Path, *words: object) -> dict[str, Any]:
    """Rehearse a study: seconds, bytes of a cohort, and the peak memory of each party."""
    largest = largest_of(rehearsal.command(out, *words))
    if largest is None:
        sys.exit(f"bench: the study {out.name} failed")
    report = rehearsal.report(out)
    links = [link for link in report["bytes"]["links"] if link["party"] == "cohort1"]
    return {
        "seconds": report["seconds"]["ready_to_files"],
        "up": sum(link["to_server"] for link in links),
        "down": sum(link["from_server"] for link in links),
        "peaks": largest,
    }


def peaks(root: int) -> Iterator[tuple[int, str, int]]:
    """The parties among the descendants of a process: PID, which one, and its bytes at the peak so far."""
    for pid in descendants(root):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it may end while we look
            words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
            status = Path(f"/proc/{pid}/status").read_text()
            party = next((party for party, word in PARTIES.items() if word in words), None)
            if party and "VmHWM:" in status:
                yield pid, party, int(status.split("VmHWM:")[1].split()[0]) * 1024


def descendants(root: int) -> Iterator[int]:
    """Every process that a process started, and those that these did."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for thread in Path(f"/proc/{root}/task").iterdir():
            for child in (thread / "children").read_text().split():
                yield int(child)
                yield from descendants(int(child))


def show(name: str, samples: int, found: dict[int, dict[str, int]]) -> Iterator[str]:
    """Print what was found; yields which limits are broken."""
    print(f"\n{name}, three cohorts of {samples:,}: peak resident size in MB, mapped pages included")
    print(f"  {'variants':>10}" + "".join(f"{party:>13}" for party in PARTIES))
    for variants, sizes in found.items():
        row = "".join(f"{sizes[party] / MEGABYTE:13.0f}" for party in PARTIES)
        print(f"  {variants:>10,}{row}")
        for party, limit in LIMITS.items():
            if sizes[party] > limit:
                yield f"{name}: a {party} has {sizes[party] / MEGABYTE:.0f} MB of {limit / MEGABYTE:.0f}"
    few, many = min(found), max(found)
    if few < many:
        growth = (found[many]["client"] - found[few]["client"]) / (many - few)
        print(f"  a client grows by {growth:.0f} bytes per variant (goal {BYTES_PER_VARIANT})")
        if growth > BYTES_PER_VARIANT:
            yield f"{name}: a client grows by {growth:.0f} bytes per variant"


if __name__ == "__main__":
    main()
