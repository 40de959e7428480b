"""Times what a plan may ask beside a regression's fits: robust errors, saddlepoint tests, predictions.

    python bench/asked.py [--variants 40000] [--people 1000]

Processor time of all parties in one process, the least of four runs, for each cohort of three, with four
covariates.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from unpooled.asking.cohort import ArrayCohort, Packed, Samples
from unpooled.panel.panel import Panel
from unpooled.plan.plan import NO_KEY, Covariate, Plan
from unpooled.run import run

COHORTS, RUNS = 3, 4
ASKED: dict[str, dict[str, dict[str, Any]]] = {
    "linear": {"robust errors": {"robust": True}, "predictions": {"loco": True}},
    "logistic": {
        "robust errors": {"robust": True, "firth": "no-firth"},
        "predictions": {"loco": True},
        "saddlepoint tests": {"files": ("assoc", "spa")},
    },
}


@dataclass(frozen=True, eq=False)
class InMemory:
    """A cohort whose genotypes are packed, as in its files."""

    samples: Samples
    every: Packed

    def packed(self, variants: slice | np.ndarray) -> Packed:
        return Packed(self.every.words[variants], self.every.swapped[variants])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--variants", type=int, default=40_000)
    parser.add_argument("--people", type=int, default=1_000, help="of each cohort")
    given = parser.parse_args()
    names = [(1 + k * 22 // given.variants, k + 1, b"v%d" % k, b"A", b"C") for k in range(given.variants)]
    panel = Panel.of(names)
    print(f"{given.variants} variants, {given.people} people of each cohort; seconds of a cohort")
    for test, kinds in ASKED.items():
        cohorts = [drawn(k, given.people, given.variants, test) for k in range(COHORTS)]
        for what, options in {"the fits alone": {}, **kinds}.items():
            print(f"  {test:9} {what:18} {seconds(test, panel, cohorts, options):8.2f}", flush=True)


def drawn(seed: int, people: int, variants: int, test: str) -> InMemory:
    random = np.random.default_rng(seed)
    frequency = np.random.default_rng(COHORTS).uniform(0.05, 0.95, (variants, 1))
    copies = random.binomial(2, frequency, (variants, people)).astype(np.int8)
    covariates, everyone = random.normal(size=(people, 4)), np.ones(people, bool)
    y = covariates[:, 0] + random.normal(size=people)
    y = y if test == "linear" else (y > 0.8).astype(float)
    samples = Samples(y, np.ones(people, np.uint8), everyone, everyone, covariates)
    return InMemory(samples, ArrayCohort(samples, copies, np.zeros(variants, bool)).packed(slice(None)))


def seconds(test: str, panel: Panel, cohorts: list[InMemory], options: dict[str, Any]) -> float:
    about = {"files": ("assoc",), "trait": "quantitative" if test == "linear" else "case/control"}
    about |= {"covariates": tuple(map(Covariate, "abcd")), **options}
    plan = Plan(test, "y", COHORTS, NO_KEY, **about)
    found = []
    for _ in range(RUNS):
        begun = time.process_time()
        run(plan, panel, cohorts)
        found.append(time.process_time() - begun)
    return min(found) / COHORTS


if __name__ == "__main__":
    main()
