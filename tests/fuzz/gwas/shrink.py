"""A case made small: variants, cohorts, people and options are cut while PLINK and ours still disagree."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from .study import Study

FEWEST_COHORTS = 3


def shrunk(study: Study, still: Callable[[Study], bool], seconds: float) -> Study:
    """The smallest study for which `still` holds that is found in so many seconds."""
    until, found = time.monotonic() + seconds, True
    while found:
        found = False
        for smaller in _smaller(study):
            if time.monotonic() > until:
                return study
            if still(smaller):
                study, found = smaller, True
                break
    return study


def _smaller(study: Study) -> Iterator[Study]:
    """Cut a study once in each possible way, the largest cuts first."""
    for kept in _halves(len(study.variants.name)):
        yield study.with_variants(kept)
    people = study.people.cohort
    if study.cohorts > FEWEST_COHORTS:
        for cohort in range(study.cohorts):
            yield study.with_people(people != cohort)
    for name in study.plan:
        if name != "files":
            yield replace(study, plan={key: value for key, value in study.plan.items() if key != name})
    for k in range(len(study.names)):
        yield study.with_covariates([other for other in range(len(study.names)) if other != k])
    for kept in _halves(len(people)):
        if len(np.unique(people[kept])) >= FEWEST_COHORTS:
            yield study.with_people(kept)
    yield from _plainer(study)


def _halves(count: int) -> Iterator[np.ndarray]:
    """Leave out one half, then one quarter, and so on to single ones: bool (count,) each."""
    size = (count + 1) // 2
    while size and count > 1:
        for start in range(0, count, size):
            kept = np.ones(count, bool)
            kept[start : start + size] = False
            if kept.any():
                yield kept
        size = size // 2


def _plainer(study: Study) -> Iterator[Study]:
    """Remove one oddity of files or people at a time."""
    v, people = study.variants, study.people
    for field in ("swapped", "flipped", "hidden", "moved", "clash", "contig"):
        if getattr(v, field).any():
            yield replace(study, variants=replace(v, **{field: np.zeros_like(getattr(v, field))}))
    if (v.written != v.name).any():
        yield replace(study, variants=replace(v, written=np.tile(v.name, (study.cohorts, 1))))
    if (v.copies < 0).any():
        yield replace(study, variants=replace(v, copies=np.maximum(v.copies, 0)))
    if not people.founder.all():
        yield replace(study, people=replace(people, founder=np.ones_like(people.founder)))
    if study.small.any():
        yield replace(study, small=np.zeros_like(study.small))
    if study.zero_one.any():
        yield replace(study, zero_one=np.zeros_like(study.zero_one))
    if study.pheno_file:
        yield replace(study, pheno_file=False)
    if study.autosomes != 22 and (v.chromosome <= min(22, study.autosomes)).all():
        yield replace(study, autosomes=22)
