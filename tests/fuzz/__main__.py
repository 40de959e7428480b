"""`python -m tests.fuzz gwas|dosages|tables|encodings|models|api|readers|damaged`: inputs of a seed.

gwas, dosages, tables, encodings, models   random federations, beside what the pool gives
api, readers                               requests to every interface; bytes for every reader and decoder
damaged                                    files of every kind that were cut, flipped or written over
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import longer


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    kinds = ["gwas", "dosages", "tables", "encodings", "models"]
    parser.add_argument("what", choices=[*kinds, *longer.TESTS])
    parser.add_argument(
        "--count", type=int, default=100, help="how many federations, or inputs for each test"
    )
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="no further federation after so long"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the first; each further one has the next")
    parser.add_argument(
        "--out", type=Path, default=Path(".cache/fuzz"), help="folder for cases that disagree"
    )
    parser.add_argument("--test", choices=["chi-square", "linear", "logistic"], help="of gwas: this one only")
    parser.add_argument("--rehearsals", type=int, default=0, help="of gwas: so many also with a real server")
    given = parser.parse_args()
    if given.what in longer.TESTS:
        return min(1, longer.main(given.what, given.count, given.seed))
    bounds = given.count, given.seconds, given.seed, given.out
    if given.what == "dosages":
        from . import dosages

        return min(1, dosages.main(*bounds))
    if given.what in ("tables", "encodings", "models"):
        from .kinds import OF_TABLES

        return min(1, OF_TABLES[given.what].main(*bounds))
    from . import gwas

    return min(1, gwas.main(*bounds, given.test, given.rehearsals))


if __name__ == "__main__":
    sys.exit(main())
