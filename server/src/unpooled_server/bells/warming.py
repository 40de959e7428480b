"""Loads compiled kernels while a worker has nothing else to do: the first study need not wait for them.

`python -m unpooled_server.bells.warming TEST…` compiles them for all programs on this machine: set-up does
so.
"""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from unpooled import run
from unpooled.asking.cohort import ArrayCohort, Samples
from unpooled.memory import tokenizer
from unpooled.methods import TESTS, usual
from unpooled.methods.algorithm import VariantMethod
from unpooled.panel.agreement import reconcile
from unpooled.panel.panel import Panel
from unpooled.plan.plan import NO_KEY, Plan

log = logging.getLogger(__name__)

_PEOPLE, _COHORTS, _AUTOSOMAL = 80, 5, 20
"""Numbers of people in each cohort, cohorts, and variants in the warm-up study: as many as the usual
components take.
"""


def warm_up(tests: Iterable[str] = TESTS) -> None:
    """Run a study of a few invented people for each test. What goes wrong here will show where it matters."""
    for name in set(tests).intersection(TESTS):
        try:
            _run(TESTS[name])
        except Exception:
            log.exception("could not try out %s", name)


def _run(test: VariantMethod) -> None:
    autosomal = [(1, place, b"rs%d" % place, b"A", b"G") for place in range(1, _AUTOSOMAL + 1)]
    listed = Panel.of([*autosomal, (23, 1, b"rs0", b"C", b"T")])
    panel = reconcile({name: Panel.from_canonical(listed.canonical) for name in "ab"}).panel
    named: dict[str, Any] = {**usual(test.name), "files": tuple(test.files)}
    plan = Plan(test=test.name, phenotype="none", cohorts=_COHORTS, compensator_key=NO_KEY, **named)
    if test.rules(plan):
        return  # it wants what nobody can guess, such as a region; its kernels are those of other tests
    tables = run.run(plan, panel, [_cohort(len(panel)) for _ in range(_COHORTS)])
    for file, write in test.files.items():
        write(io.BytesIO(), panel, test.columns_for(file, tables), plan)


def _cohort(variants: int) -> ArrayCohort:
    everybody = np.arange(_PEOPLE)
    people = Samples(
        phenotype=(everybody // 2 % 2).astype(np.float64),
        sex=(1 + everybody % 2).astype(np.uint8),
        founder=np.ones(_PEOPLE, bool),
        kept=np.ones(_PEOPLE, bool),
        covariates=np.empty((_PEOPLE, 0)),
    )
    genotypes = (everybody // np.arange(1, variants + 1)[:, None] % 3).astype(np.int8)
    return ArrayCohort(people, genotypes, np.zeros(variants, bool))


if __name__ == "__main__":
    tokenizer.load_kernels()
    warm_up(sys.argv[1:])
