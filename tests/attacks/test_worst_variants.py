"""A dishonest server chooses variants: those of which a person, whom it knows in part, has the rarer allele.

A principal component of these is that person, and its loadings are the person's genotypes of all others; so
are the projections of a polygenic score.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ..federation import Federation, Trial
from ..leaks import CHOSEN
from ..plinks import write_bed

PEOPLE, VICTIM = 200, 7
"""People of each of three cohorts, and the place of one in the first."""
PRODUCTS = {"Multiply with the genotypes: products", "Project the genotypes: genotypes, columns"}
RARE, OTHERS, READ = 8000, 2000, 300
"""Variants with a rare allele, the others, and how many of these the server reads along."""


@pytest.fixture(scope="module")
def cohorts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    random = np.random.default_rng(5)
    frequency = np.append(random.uniform(0.08, 0.15, RARE), random.uniform(0.1, 0.5, OTHERS))
    copies = random.binomial(2, frequency[:, None], (RARE + OTHERS, 3 * PEOPLE)).astype(np.int8)
    chosen = (copies[:, VICTIM] == 2) & (np.arange(len(copies)) < RARE)
    chosen[RARE : RARE + READ] = True
    assert share_of(copies[chosen]) > 0.5 > 0.1 > share_of(copies)
    folder, found = tmp_path_factory.mktemp("cohorts"), []
    names = [f"chosen{k}" if each else f"rs{k}" for k, each in enumerate(chosen)]
    for number in range(3):
        found.append(prefix := folder / f"cohort{number}")
        lines = (f"1\t{name}\t0\t{100 + k}\tA\tC\n" for k, name in enumerate(names))
        prefix.with_suffix(".bim").write_text("".join(lines))
        own = range(number * PEOPLE, (number + 1) * PEOPLE)
        prefix.with_suffix(".fam").write_text("".join(f"F{k} I{k} 0 0 1 {k % 7}.5\n" for k in own))
        write_bed(prefix, copies[:, own.start : own.stop])
    return found


def share_of(copies: np.ndarray) -> float:
    """The victim's share of the component that has most of it."""
    p = copies.mean(axis=1, keepdims=True) / 2
    x = (copies - 2 * p) / np.sqrt(2 * p * (1 - p))
    _, vectors = np.linalg.eigh(x.T @ x)
    return float((vectors[VICTIM, -2:] ** 2).max())


@pytest.fixture(params=[{"test": "pca", "pca": 2}, {"test": "polygenic"}], ids=lambda plan: plan["test"])
def trial(running: Federation, cohorts: list[Path], request: pytest.FixtureRequest) -> Iterator[Trial]:
    made = running.study(cohorts, trait="quantitative", **request.param)
    yield made
    made.stop()


def test_of_all_variants_there_are_results(trial: Trial) -> None:
    trial.start()
    trial.until_over()
    assert trial.state == "done", trial.story()
    assert PRODUCTS & sent(trial)


def test_of_those_that_single_one_out_no_product_is_asked_for(running: Federation, trial: Trial) -> None:
    servers = (running.web, running.worker)
    for party in servers:
        running.stub(party.name, CHOSEN)
        party.restart()
    try:
        trial.start()
        trial.until_over()
    finally:
        for party in servers:
            running.stub(party.name, {})
            party.restart()
    assert trial.state == "failed", trial.story()
    assert "a component or a prediction could be theirs" in trial.reason
    assert not PRODUCTS & sent(trial)


def sent(trial: Trial) -> set[str]:
    """Return the names of what the first cohort has sent."""
    return {event["quantity"] for event in trial.cohorts[0].events() if event["event"] == "sent"}
