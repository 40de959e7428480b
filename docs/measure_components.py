"""Measures ten components of few people beside plink2's; writes docs/measured/components.md.

    .venv/bin/python docs/measure_components.py

The people are those of tests/oracles/test_components.py, in three cohorts; `plink2 --pca 10 meanimpute` runs
on the pooled file.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import measuring

sys.path.insert(0, str(measuring.HERE.parent / "core" / "tests"))
sys.path.insert(0, str(measuring.HERE.parent))

from tests.oracles.test_components import populations, ten_beside, ten_of_plink2
from unpooled.methods.components.options import WORST_COVARIATE

PEOPLE = (300, 540, 960, 2000)
VARIANTS = (1_000, 3_000, 20_000)
COLUMNS = ("People", "Variants", *(f"PC{k}" for k in range(1, 11)))
WRITES = (measuring.Table("components", free=tuple(range(2, len(COLUMNS)))),)
NOTE = f"""
1 - |cos| between the study's scores and plink2's, whose six digits leave some 1e-12. In italics: components
that the study itself says are not settled, for its bound on the error is above {WORST_COVARIATE:g}."""


def main() -> None:
    given = measuring.parser(__doc__).parse_args()
    wanted = (PEOPLE[:1], VARIANTS[:1]) if given.small else (PEOPLE, VARIANTS)
    measuring.write(given.out, WRITES[0].name, table(*wanted))


def table(people: Sequence[int], variants: Sequence[int]) -> Iterator[str]:
    yield f"| {' | '.join(COLUMNS)} |"
    yield "|" + " ---: |" * len(COLUMNS)
    for n in people:
        for m in variants:
            yield f"| {n:,} | {m:,} | {' | '.join(cells(n, m))} |"
    yield NOTE


def cells(people: int, variants: int) -> Iterator[str]:
    """Yield how far each component is from plink2's."""
    pool = populations(people, variants)
    with tempfile.TemporaryDirectory() as folder:
        theirs = ten_of_plink2(pool, Path(folder))
    for true, told in zip(*ten_beside(pool, theirs), strict=True):
        yield f"{true:.0e}" if told <= WORST_COVARIATE else f"*{true:.0e}*"


if __name__ == "__main__":
    main()
