"""Tests of sets by masks of annotations and by own weights, and the same of the pooled genotypes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pytest

from unpooled.asking.cohort import ArrayCohort
from unpooled.methods.genes.options import BETA, OWN, OWN_BETA, SET_WEIGHTS
from unpooled.panel.panel import Panel
from unpooled.plan.plan import FEWEST_AT_A_LEVEL, Plan
from unpooled.run import reports, run

from .gene_tests import Null, p_values
from .test_gene_tests import study_of

MASKS = {"all": "abc", "narrow": "a", "odd": "bc", "wide": "ab"}
"""The annotations of each mask: one is not within another, and the narrow one comes second."""
GENES = [[*range(12)], [*range(6, 24)], [*range(20, 36)]]
Columns = list[tuple[int, ...]]


def masked_study(
    seed: int, n: int, trait: str, weights: str
) -> tuple[Plan, Panel, list[ArrayCohort], tuple[np.ndarray, ...], list[list[dict[int, float]]]]:
    """Overlapping sets with masks; also gives the variants of each mask of each set, with their weights."""
    random = np.random.default_rng(seed)
    members: list[list[dict[int, float]]] = []
    lines = ["v0 elsewhere a 1" if weights != BETA else "v0 elsewhere a"]
    for k, gene in enumerate(GENES):
        annotation = dict(zip(gene, random.choice(list("abcd"), len(gene)).tolist(), strict=True))
        weight = dict(zip(gene, random.choice([0, 0.5, 1, 20], len(gene)).tolist(), strict=True))
        own = weight if weights != BETA else dict.fromkeys(gene, 1.0)
        members.append(
            [{v: own[v] for v in gene if annotation[v] in wanted and own[v]} for wanted in MASKS.values()]
        )
        shown = [f" {weight[v]}" if weights != BETA else "" for v in gene]
        lines += [f"v{v} G{k} {annotation[v]}{text}" for v, text in zip(gene, shown, strict=True)]
    plan, *rest = study_of(
        seed,
        n,
        trait,
        weights,
        set_list="\n".join(f"G{k} 1 {k} {','.join(f'v{v}' for v in gene)}" for k, gene in enumerate(GENES)),
        annotations="\n".join(lines),
        masks="\n".join(f"{name} {','.join(wanted)}" for name, wanted in MASKS.items()),
    )
    return plan, *rest, members


def holds(copies: np.ndarray, cohorts: list[np.ndarray]) -> bool:
    """Ten people carry one of these, and ten none, without any one cohort, by what cohorts send."""
    each = [
        (np.count_nonzero((part > 0).any(axis=0)), part.shape[1]) for part in (copies[:, c] for c in cohorts)
    ]
    kinds = zip(*((some, people - some) for some, people in each), strict=True)
    ten = FEWEST_AT_A_LEVEL
    return all(sum(min(count, ten) for count in kind) - ten >= ten for kind in kinds)


def collapsed_columns(
    members: list[list[dict[int, float]]],
    rare: Mapping[int, bool],
    own: np.ndarray,
    cohorts: list[np.ndarray],
) -> list[Columns]:
    """The collapsed columns of each set with its masks, in their order, by the rule as the page says it."""
    found: list[Columns] = []
    taken: set[int] = set()
    narrow_first = sorted(range(len(MASKS)), key=lambda k: len([*MASKS.values()][k]))
    for masks in members:
        columns: Columns = []
        for k in narrow_first:
            placed = {v for column in columns for v in column}
            rest = tuple(sorted(v for v in masks[k] if rare.get(v) and v not in taken | placed))
            if rest and holds(own[list(rest)], cohorts):
                columns.append(rest)
        found += [[column for column in columns if set(column) <= set(mask)] for mask in masks]
        taken |= {v for mask in masks for v in mask if rare.get(v)}
    return found


@dataclass(frozen=True, eq=False)
class Pooled:
    """A study, its result, and the columns that its sets have in the pool."""

    plan: Plan
    panel: Panel
    tables: Mapping[str, Mapping[str, np.ndarray]]
    null: Null
    own: np.ndarray
    """Copies of the rarer alleles of whoever has complete data; -1 is missing."""
    rare: Mapping[int, bool]
    """Variants in sets: True for those that are collapsed."""
    sets: list[tuple[dict[int, float], Columns]]
    """Weights of the variants of each set, and its collapsed columns."""

    @classmethod
    def of(cls, seed: int, n: int, trait: str, weights: str) -> Pooled:
        plan, panel, cohorts, (y, covariates, copies), members = masked_study(seed, n, trait, weights)
        tables = run(plan, panel, cohorts)
        inside = ~np.isnan(y) & ~np.isnan(covariates).any(axis=1)
        null = Null.of(y[inside], covariates[inside], cases=trait != "quantitative")
        rare = dict(
            zip(*(tables["variants"][name].tolist() for name in ("variant", "collapsed")), strict=True)
        )
        called = copies[:, inside] >= 0
        first = np.where(called, copies[:, inside], 0).sum(axis=1)
        own = np.where((first <= called.sum(axis=1))[:, None], copies[:, inside], 2 - copies[:, inside])
        own[~called] = -1
        columns = collapsed_columns(members, rare, own, people_of(cohorts, copies, inside))
        sets = list(zip([mask for masks in members for mask in masks], columns, strict=True))
        return cls(plan, panel, tables, null, own, rare, sets)

    def mean(self, v: int) -> float:
        """Mean copies of whoever has a call."""
        return float(self.own[v][self.own[v] >= 0].mean())

    def alone(self, mask: dict[int, float]) -> list[int]:
        return [v for v in sorted(mask) if self.rare.get(v) is False]

    def neg_log10_p(self, k: int) -> np.ndarray:
        """The tests of a set by the pooled genotypes."""
        mask, columns = self.sets[k]
        g = [np.where(self.own[v] >= 0, self.own[v], self.mean(v)) for v in self.alone(mask)]
        g += [np.maximum(self.own[list(column)].max(axis=0), 0) for column in columns]
        frequency, chosen = np.mean(g, axis=1) / 2, SET_WEIGHTS.of(self.plan)
        w = [mask[v] for v in self.alone(mask)]
        w += [sum(mask[v] * self.mean(v) for v in c) / sum(map(self.mean, c)) for c in columns]
        by_frequency = 25 * (1 - frequency) ** 24 if chosen != OWN else 1
        p = p_values(self.null, np.array(g, float).T, np.array(w) * by_frequency, frequency)
        return np.asarray(-np.log10(p))


def test_columns_of_masks_are_those_of_the_pool() -> None:
    several = waited = left_out = 0
    for seed in range(24):
        n, trait = [130, 180, 350, 600][seed % 4], ["quantitative", "case/control"][seed % 8 < 2]
        pooled = Pooled.of(seed, n, trait, [BETA, OWN][seed % 3 == 0])
        found = pooled.tables["genes"]
        assert found["index"].tolist() == list(range(len(pooled.sets)))
        for k, (mask, columns) in enumerate(pooled.sets):
            alone, placed = len(pooled.alone(mask)), sum(map(len, columns))
            if found["reason"][k]:
                few = [mask.keys().isdisjoint(pooled.rare), not alone + len(columns), True]
                assert few[found["reason"][k] - 1]
                continue
            assert (found["columns"][k], found["collapsed"][k]) == (alone, placed)
            assert found["left_out"][k] == sum(v in pooled.rare for v in mask) - alone - placed
            narrow = pooled.sets[k // len(MASKS) * len(MASKS) + list(MASKS).index("narrow")][0].keys()
            several += len(columns) > 1
            waited += any(set(column) & narrow and set(column) - narrow for column in columns)
            left_out += found["left_out"][k] > 0
    assert several and waited and left_out


@pytest.mark.parametrize("weights", [BETA, OWN, OWN_BETA])
@pytest.mark.parametrize(("trait", "seed", "n"), [("quantitative", 0, 180), ("case/control", 1, 500)])
def test_masks_are_tested_as_in_the_pool(trait: str, seed: int, n: int, weights: str) -> None:
    pooled = Pooled.of(seed, n, trait, weights)
    found = pooled.tables["genes"]
    tested = [k for k, (_, columns) in enumerate(pooled.sets) if columns and not found["reason"][k]]
    assert tested
    for k in tested:
        np.testing.assert_allclose(found["neg_log10_p"][k], pooled.neg_log10_p(k), rtol=1e-5, atol=1e-7)
    lines = reports(pooled.plan, pooled.panel, pooled.tables)["regenie"].decode().splitlines()[1:]
    # As regenie's, but for the bin of frequencies.
    named = [line.split() for line in lines[::4]]
    assert [each[2] for each in named] == [f"G{k}.{mask}" for k in range(len(GENES)) for mask in MASKS]
    assert [each[4] for each in named[: len(MASKS)]] == list(MASKS)


def people_of(cohorts: list[ArrayCohort], copies: np.ndarray, inside: np.ndarray) -> list[np.ndarray]:
    """The places of each cohort's people among those with complete data."""
    places = {column.tobytes(): k for k, column in enumerate(copies.T[inside])}
    found = []
    for cohort in cohorts:
        known = ~np.isnan(cohort.samples.phenotype) & ~np.isnan(cohort.samples.covariates).any(axis=1)
        found.append(np.array([places[column.tobytes()] for column in cohort.genotypes.T[known]]))
    return found
