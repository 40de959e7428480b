"""Files of scores at the covariates' model, beside the pooled rows: saddlepoint tests, credible sets."""

from __future__ import annotations

import numpy as np

from unpooled.kernels.susie import susie
from unpooled.methods.ld.leads import reach_of
from unpooled.methods.regression import credible_sets, saddlepoint
from unpooled.methods.regression.locus_questions import MOST_VARIANTS
from unpooled.methods.shared.without_any import RUNGS

from ...oracles.gene_tests import Null
from ...oracles.regression import Rows
from ...oracles.saddlepoint import LEAST_FAR, log_tail, score
from .models import is_shared
from .others import copies_of
from .ours import Results
from .outcome import Disagreement, Outcome
from .study import Study
from .truth import Truth

_CLOSELY = 12
"""Variants whose tails are computed."""
_NO_VARIATION = 1e-9
"""Share of a genotype's squares that covariates may leave of it for it to have no score."""
_EDGE = 1e-6
"""Share of a bound within which rounding decides on which side a value is."""


def look_at_scores(study: Study, results: Results, truth: Truth, outcome: Outcome) -> None:
    """Put each such file before the pooled rows, unless the plan ends the covariates' fit early."""
    if {"max_iterations", "tolerance"} & set(study.plan):
        return
    pool = _Pool(study, results, truth)
    if "spa" in results.files:
        _look_at_tails(pool, results, outcome)
    if "susie" in results.files:
        _look_at_sets(pool, results, outcome)


class _Pool:
    """The people with complete data, and the covariates' model; None where it has no estimate."""

    def __init__(self, study: Study, results: Results, truth: Truth) -> None:
        inside = truth.complete
        self.study, self.panel = study, results.panel
        columns = np.column_stack([np.ones(np.count_nonzero(inside)), truth.covariates[inside]])
        rows = Rows(study.test, tuple(truth.names), truth.phenotype[inside], columns)
        self.y, self.x = rows.y, rows.scaled[0]
        has_model = not rows.is_dependent if study.quantitative else rows.is_estimable() is True
        self.null = Null.of(self.y, self.x[:, 1:], cases=not study.quantitative) if has_model else None
        copies = copies_of(study, results.panel)[:, inside].astype(float)
        calls = np.where(copies < 0, np.nan, copies)
        counts = (~np.isnan(calls)).sum(axis=1, keepdims=True)
        mean = np.nansum(calls, axis=1, keepdims=True) / np.maximum(counts, 1)
        self.copies = np.where(np.isnan(calls), mean, calls)
        places = {name: k for k, name in enumerate(study.variants.name.tolist())}
        own = [places[name] for name in results.panel.name[:].astype(str).tolist()]
        reported = np.isin(
            np.arange(len(own)), results.regression("assoc" not in results.files)["variant"][:]
        )
        last = study.autosomes
        self.tested = reported & ~np.isin(results.panel.chromosome[:], [last + 1, last + 2, last + 4])
        self.shared = is_shared(study, inside)[own]
        sizes = np.minimum(np.bincount(study.people.cohort[inside]), RUNGS[:, None])
        self.people, self.others = len(self.y), int((sizes.sum(axis=1) - RUNGS).max(initial=0))


def _look_at_tails(pool: _Pool, results: Results, outcome: Outcome) -> None:
    rows = results.tables.get(saddlepoint.TABLE, {})
    found = rows["variant"].tolist() if rows else []
    expected = np.flatnonzero(pool.tested).tolist()
    if pool.null is None and not found:
        return
    if found != expected:
        _disagree("spa", "other variants", "", found, expected, outcome)
        return
    assert pool.null is not None
    p, closely = pool.y - pool.null.residual, _CLOSELY
    for k, variant in enumerate(found):
        own = {name: float(column[k]) for name, column in rows.items()}
        t, variance, g = score(pool.copies[variant], pool.y, p, pool.x)
        squares = float((p * (1 - p)) @ pool.copies[variant] ** 2)
        is_varied = variance > _NO_VARIATION * squares
        if np.isnan(own["score"]):
            if pool.shared[variant] and is_varied:
                _disagree("spa", "no score", pool.panel.name[variant].decode(), own, (t, variance), outcome)
            continue
        size = np.sqrt(variance)
        wrong = not pool.shared[variant] or abs(own["score"] - t) > 1e-5 * size
        wrong |= abs(own["score_variance"] / variance - 1) > 1e-6
        is_edge = abs(t * t / (LEAST_FAR * variance) - 1) < _EDGE
        if t * t > LEAST_FAR * variance and not is_edge and closely:
            closely -= 1
            outcome.exact += 1
            tails = -np.logaddexp(*(log_tail(g, p, s) for s in (abs(t), -abs(t)))) / np.log(10)
            found_none = np.isnan(own["neg_log10_p"]) and np.isinf(tails)  # the score is as far as it can be
            wrong |= not found_none and not abs(own["neg_log10_p"] - tails) <= 1e-5 * (1 + tails)
            own["expected tails"] = tails
        if wrong:
            _disagree("spa", "other numbers", pool.panel.name[variant].decode(), own, (t, variance), outcome)


def _look_at_sets(pool: _Pool, results: Results, outcome: Outcome) -> None:
    """Compare loci with SuSiE of the pooled rows, by the kernel that tests/oracles compares with susieR's."""
    rows = results.tables.get(credible_sets.TABLE, {})
    leads = np.unique(rows["variant"]).tolist() if rows else []
    _look_at_leads(pool, results, leads, outcome)
    for lead in leads:
        own = {name: column[rows["variant"] == lead] for name, column in rows.items()}
        members = _members(pool, results, lead)
        if pool.null is None or len(members) < 2:
            if not np.isnan(own["pip"]).all():
                _disagree("susie", "a locus without room", lead, own, members, outcome)
            continue
        outcome.exact += 1
        scores, covariance = pool.null.scores(pool.copies[members].T)
        varies = covariance.diagonal() > _NO_VARIATION * (pool.copies[members] ** 2 @ pool.null.weight)
        if own["other"].tolist() != members[varies].tolist():
            _disagree("susie", "other variants", lead, own["other"], members[varies], outcome)
            continue
        # Of a number in residual deviations: far from these susieR's bounds of prior variances tell.
        size = 1 / np.sqrt(pool.null.weight[0]) if pool.study.quantitative else 1.0
        inside, squares = size**2 * covariance[np.ix_(varies, varies)], pool.people - pool.x.shape[1]
        expected = susie(
            inside, size * scores[varies], squares, pool.people, is_number=pool.study.quantitative
        )
        off = np.abs(own["pip"] - expected.pip).max()
        if not off <= 1e-4 or own["credible_set"].max(initial=0) != len(expected.sets):
            _disagree("susie", "other probabilities", lead, own["pip"], expected.pip, outcome)


def _look_at_leads(pool: _Pool, results: Results, leads: list[int], outcome: Outcome) -> None:
    """The leads of clumps on the autosomes, but of few carriers, lead loci or are within reach of one that
    does.
    """
    panel = pool.panel
    for line in results.files["clumped"].decode().splitlines()[1:]:
        if not line.split():
            continue
        lead = results.place[line.split()[2]]
        away = np.abs(panel.position[:][leads].astype(np.int64) - int(panel.position[lead]))
        near = (panel.chromosome[:][leads] == panel.chromosome[lead]) & (away <= reach_of(results.plan))
        if (pool.tested & pool.shared)[lead] and not near.any():
            _disagree("susie", "a lead without a locus", lead, leads, line, outcome)


def _members(pool: _Pool, results: Results, lead: int) -> np.ndarray:
    """The variants nearest to a lead, as many as there is room for."""
    panel = pool.panel
    away = np.abs(panel.position[:].astype(np.int64) - int(panel.position[lead]))
    here = (panel.chromosome[:] == panel.chromosome[lead]) & (away <= reach_of(results.plan))
    some = np.flatnonzero(here & pool.tested & pool.shared)
    most = min(MOST_VARIANTS, pool.people // 10, pool.others // 5)
    return np.sort(some[np.argsort(away[some], kind="stable")[:most]])


def _disagree(file: str, what: str, name: object, ours: object, theirs: object, outcome: Outcome) -> None:
    outcome.disagreements.append(Disagreement(file, what, str(name), str(ours), str(theirs)))
