"""Predictions of several phenotypes of the same people: products of genotypes are summed once for all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import repeat
from typing import Any

import numpy as np

from unpooled.asking.procedure import Asks, Call, Each, Study, procedure
from unpooled.methods.loco.procedure import (
    Beginning,
    begin,
    combine,
    predict_by_block,
    sum_block,
    test_by_chromosome,
)
from unpooled.methods.loco.views import before, before_predictions
from unpooled.methods.phenotypes import one_phenotype


@procedure("loco/several")
def each_beside_predictions(study: Study, name: str, arguments: bytes) -> Asks[None]:
    """Predict each phenotype; then the procedure of this name for each of them, by chromosome."""
    seen = _views(study)
    starts = tuple((yield from _on_each(study, map(begin, seen))))
    known = yield Each(predict_each(study, starts, number) for number in range(len(starts[0].sizes)))
    sums = np.concatenate(known, axis=1)
    found = yield from _on_each(study, map(combine, seen, starts, sums))
    yield Each(
        one_phenotype(study, phenotype, *test_by_chromosome(study, each, name, arguments).stored)
        for phenotype, each in zip(study.plan.phenotype_names, found, strict=True)
    )


@procedure("loco/several-by-block")
def predict_each(study: Study, starts: tuple[Beginning, ...], number: int) -> Asks[np.ndarray]:
    """Predict each phenotype by a block, with the products of the first's question.

    Gives what `predict_by_block` gives for each: float64 (phenotypes, penalties, 2).
    """
    seen = _views(study)
    first = (place == 0 for place in range(len(starts)))
    sums = yield from _on_each(study, map(sum_block, seen, starts, repeat(number), first))
    products = sums[0][0]
    predicted = [
        predict_by_block(one, start, number, products, columns)
        for one, start, (_, columns) in zip(seen, starts, sums, strict=True)
    ]
    return np.stack((yield from _on_each(study, predicted)))


def _views(study: Study) -> list[Study]:
    """The study of each phenotype before there are predictions."""
    return [replace(study, plan=before(plan), load_panel=lambda: study.panel) for plan in study.plan.each]


def _on_each(study: Study, calls: Iterable[Call[Any]]) -> Asks[list[Any]]:
    """Run one call for each phenotype on its view; gives their values."""
    calls, names = list(calls), study.plan.phenotype_names
    stored = yield Each(
        one_phenotype(study, phenotype, *before_predictions(call.study, *call.stored).stored)
        for phenotype, call in zip(names, calls, strict=True)
    )
    return [
        call.procedure.value(call.study, before_predictions.value(study, value))
        for call, value in zip(calls, stored, strict=True)
    ]
