"""Combined estimates of the cohorts for a variant, with and without this cohort.

The first is in the study's file of heterogeneity. This cohort knows what it added to its sums, its own effect
by the weight of its own error, and takes it off again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from unpooled.formats import titles
from unpooled.formats.reading import Report, neg_log10
from unpooled.kernels.statistics import normal_neg_log10_p, with_limits
from unpooled.methods.regression.own_fit import own_estimates
from unpooled.methods.shared.chunks import chromosome_class
from unpooled.panel.panel import Panel
from unpooled.pictures.associations import confidence
from unpooled.plan.common_options import in_odds_ratios
from unpooled.plan.plan import Plan
from unpooled.plan.result_files import META
from unpooled_client.compare.estimates import Across, Estimate, Variant
from unpooled_client.compare.pool import file_of
from unpooled_client.data.cohort import PlinkCohort


def read_across(files: Iterable[Path], variants: Sequence[Variant], plan: Plan) -> dict[str, Across]:
    """Read the study's file of heterogeneity for some variants, by ID; empty if the study has none.

    `without` is the fixed effect of all: see `without`.
    """
    path = file_of(META, files, plan)
    if path is None:
        return {}
    report, wanted = Report(path), {variant.name.encode() for variant in variants}
    name = report.place(titles.NAME)
    lines = [line for line in report.lines() if line[name] in wanted]
    odds = report.has(titles.ODDS_RATIO)
    effect, random = (
        (titles.ODDS_RATIO, titles.RANDOM_ODDS_RATIO) if odds else (titles.BETA, titles.RANDOM_BETA)
    )
    columns = [
        report.numbers(lines, title)
        for title in (effect, titles.SE, random, titles.RANDOM_SE, titles.Q_P, titles.I_SQUARED)
    ]
    found = {}
    for k, line in enumerate(lines):
        fixed, se, random_effect, random_se, q_p, i_squared = (float(column[k]) for column in columns)
        p, random_p = (line[report.place(title)].decode() for title in (titles.P, titles.RANDOM_P))
        of_all = _estimate(_natural(fixed, odds), se, plan, odds, p)
        of_random = _estimate(_natural(random_effect, odds), random_se, plan, odds, random_p)
        studies = int(line[report.place(titles.STUDIES)])
        found[line[name].decode("utf-8", "replace")] = Across(
            studies, of_all, of_random, q_p, i_squared, of_all
        )
    return found


def without(
    across: Mapping[str, Across], variants: Sequence[Variant], cohort: PlinkCohort, panel: Panel, plan: Plan
) -> dict[str, Across]:
    """The same, without what this cohort added; `cohort` has the covariates of the study and this panel."""
    odds = in_odds_ratios(plan)
    own = _contributions(cohort, panel, plan)
    found = {}
    for variant in variants:
        if (one := across.get(variant.name)) is None:
            continue
        first, effect, se = own.get(variant.name, ("", np.nan, np.nan))
        effect = effect if first == variant.a1 else -effect
        found[variant.name] = dataclasses.replace(one, without=_less(one.fixed, effect, se, plan, odds))
    return found


def _contributions(cohort: PlinkCohort, panel: Panel, plan: Plan) -> dict[str, tuple[str, float, float]]:
    """Return by ID an allele, this cohort's effect per copy, and the standard error; NaN without one."""
    places = [chromosome_class(code, plan.autosomes) for code in panel.chromosome.tolist()]
    found = {}
    for place in dict.fromkeys(places):
        some = np.array([k for k, other in enumerate(places) if other == place])
        effect, se = own_estimates(plan, place, some, cohort)
        for k, b, error in zip(some.tolist(), effect.tolist(), se.tolist(), strict=True):
            allele = panel.pair(k)[0].decode("utf-8", "replace")
            found[panel.name[k].decode("utf-8", "replace")] = allele, b, error
    return found


def _less(of_all: Estimate, effect: float, se: float, plan: Plan, odds: bool) -> Estimate:
    """The fixed effect without one of its estimates; NaN where it has none, or nothing is left."""
    if np.isnan(se):
        return of_all
    weight, own = 1 / of_all.se**2, 1 / se**2
    left = weight - own
    # Written so that NaN, where the pool has no error, counts as nothing left, too.
    if not left > _ROUNDING * weight:
        return _estimate(np.nan, np.nan, plan, odds)
    natural = _natural(of_all.effect, odds)
    return _estimate((weight * natural - own * effect) / left, 1 / np.sqrt(left), plan, odds)


_ROUNDING = 1e-4
"""A part of all weight that six printed digits do not tell from nothing."""


def _estimate(effect: float, se: float, plan: Plan, odds: bool, p: str = "") -> Estimate:
    """Return an estimate from an effect on the scale of a sum. P is the printed one, if there is one."""
    of = np.array(effect), np.array(se)
    middle, lower, upper = map(float, with_limits(*of, confidence(plan), odds=odds))
    size = float(normal_neg_log10_p(np.array(effect / se)))
    return Estimate(np.nan, middle, se, lower, upper, neg_log10(p) if p not in ("", "NA") else size)


def _natural(effect: float, odds: bool) -> float:
    return float(np.log(effect)) if odds else effect
