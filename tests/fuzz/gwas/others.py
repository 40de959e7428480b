"""Studies of the same people without a regression: pruning, principal components, a polygenic
score, tests of sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.preprocessing import scale

from unpooled.methods import ALGORITHMS, check
from unpooled.methods.components.pca import VALUES
from unpooled.methods.genes.options import BETA
from unpooled.methods.polygenic.result import PATH
from unpooled.methods.shared.summary import VARIANTS
from unpooled.panel.panel import Panel
from unpooled.plan.plan import NO_KEY, Covariate, Plan, component_titles
from unpooled.run import reports
from unpooled_webapp.rehearsal import RehearsalError

from ... import in_process
from ...oracles.gene_tests import WEIGHTS, Null, columns_of, p_values
from . import known
from .files import PHENOTYPE, Tables, write_pool
from .models import is_known, is_shared
from .ours import words_of
from .outcome import Disagreement, Outcome
from .plinks import pruned
from .study import Study

_WINDOWS = ("50 5 0.2", "7 3 0.05", "12 1 0.5", "1kb 0.1")
_COMPONENTS = 3
_WITH_SETS = 12
"""One in so many studies of cases and controls without levels also tests sets: the oracle takes seconds."""
_SETS, _EACH = 2, 6
_OF_SKATO = 1e-3
"""Tolerance of -log10 P: the integrals of SKAT-O's have few digits where variants are nearly alike."""
_SMALLEST_P = 1e-7
"""Smallest P of SKAT to which its oracle has digits."""


def look_at_others(study: Study, cohorts: Sequence[Tables], folder: Path, outcome: Outcome) -> None:
    """Run one of these studies, which the seed chooses."""
    shared = ("by_place", "chunk_size", "maf", "nonfounders", "allow_no_sex")
    plan = {name: study.plan[name] for name in shared if name in study.plan}
    study = replace(study.each[0], plan=plan)
    if study.test == "chi-square":
        look = (_prune, _find_components)[study.seed % 2]
    elif study.test == "linear" and not study.levels:
        look = _score
    elif study.test == "logistic" and not study.levels and study.seed % _WITH_SETS == 0:
        look = _test_sets
    else:
        return
    try:
        look(study, cohorts, folder, outcome)
    except RehearsalError as error:
        outcome.refused(known.DECLINED, str(error))


def _run(study: Study, cohorts: Sequence[Tables], test: str, **more: object) -> in_process.Results:
    chosen = {"trait": "quantitative", "autosomes": study.autosomes, "min_samples": 1, **study.plan, **more}
    plan = Plan(test, PHENOTYPE, study.cohorts, NO_KEY, files=ALGORITHMS[test].usual_files, **chosen)
    check(plan)
    words = words_of(study, cohorts)
    if plan.trait == "quantitative":
        words = [[word for word in each if word != "--1"] for each in words]
    return in_process.run_study(plan, words)


def copies_of(study: Study, panel: Panel) -> np.ndarray:
    """Return copies of the first allele of each variant of a panel: int8 (m, n), -1 for a missing call."""
    places, rows = {name: k for k, name in enumerate(study.variants.name.tolist())}, []
    for k, name in enumerate(panel.name[:].astype(str).tolist()):
        a1, _, turned = study.pooled_pair(places[name])
        calls = study.variants.copies[places[name]]
        same = (panel.pair(k)[0].decode() == a1) != turned
        rows.append(calls if same else np.where(calls < 0, -1, 2 - calls))
    return np.array(rows, np.int8)


def _disagree(file: str, what: str, ours: object, theirs: object, outcome: Outcome) -> None:
    outcome.disagreements.append(Disagreement(file, what, "", str(ours), str(theirs)))


def _prune(study: Study, cohorts: Sequence[Tables], folder: Path, outcome: Outcome) -> None:
    """Compare pruning with plink2's, where all calls are there, of variants that are not too rare. On X no
    manual says how plink2 weighs men.
    """
    v = study.variants
    founders, last = study.people.founder, study.autosomes
    some = study.kept & (v.chromosome != last + 1)
    if not is_known(study, founders)[some].all():
        return
    windows = _WINDOWS[study.seed // 2 % len(_WINDOWS)]
    chromosomes = (f"1-{last}", *map(str, (last + 2, last + 3, last + 4)))
    found = _run(study, cohorts, "prune", indep_pairwise=windows, bad_ld=True, chromosomes=chromosomes)
    names = v.name[some & is_shared(study, founders) & (v.chromosome > 0)].tolist()
    theirs = pruned(study, write_pool(study, folder), names, windows, chromosomes, folder / "pruned")
    if theirs.said:
        outcome.refused(known.REFUSED, theirs.said)
        return
    for file, ours in reports(found.plan, found.panel, found.tables).items():
        outcome.lines += ours.count(b"\n")
        outcome.identical += ours.count(b"\n")
        if ours != theirs.files[file]:
            odd = set(ours.split()) ^ set(theirs.files[file].split())
            _disagree(file, "other variants", sorted(odd & set(ours.split())), sorted(odd), outcome)


def _find_components(study: Study, cohorts: Sequence[Tables], folder: Path, outcome: Outcome) -> None:
    """Compare principal components with NumPy's: each is as near as the study says."""
    found = _run(study, cohorts, "pca", pca=_COMPONENTS)
    rows, values = found.tables[VARIANTS], found.tables[VALUES]
    copies = copies_of(study, found.panel)[rows["variant"]].T
    calls = np.where(copies < 0, np.nan, copies)
    p = np.nanmean(calls[study.people.founder | bool(study.plan.get("nonfounders"))], axis=0) / 2
    x = np.nan_to_num((calls - 2 * p) / np.sqrt(2 * p * (1 - p)))
    vectors = np.linalg.svd(x, full_matrices=False)[2][:_COMPONENTS]
    sign = np.where(rows["first_is_a1"], 1, -1)
    ours = np.array([rows[title] * sign for title in component_titles(_COMPONENTS)])
    lengths = np.linalg.norm(ours, axis=1) * np.linalg.norm(vectors, axis=1)
    off = 1 - np.abs((ours * vectors).sum(axis=1)) / lengths
    outcome.exact += len(off)
    if not (off <= values["error"] + 1e-12).all():
        _disagree("eigenvec", "farther than is said", off, values["error"], outcome)


def _score(study: Study, cohorts: Sequence[Tables], folder: Path, outcome: Outcome) -> None:
    """Compare the polygenic score with scikit-learn's ridge regression."""
    covariates = tuple(map(Covariate, study.names))
    found = _run(study, cohorts, "polygenic", covariates=covariates, cohort_sums=True)
    rows, path, people = found.tables[VARIANTS], found.tables[PATH], study.people
    inside = _complete(study)
    copies = copies_of(study, found.panel)[rows["variant"]][:, inside].T
    calls = np.where(copies < 0, np.nan, copies)
    x = np.nan_to_num(calls - np.nanmean(calls, axis=0))
    size = x.std(axis=0)
    columns = np.column_stack([x / size, people.phenotype[inside]])
    columns -= columns.mean(axis=0)
    if study.names:
        c = scale(people.covariates[inside])
        columns -= LinearRegression().fit(c, columns).predict(c)
    share = path["share"][path["chosen"]].item()
    ridge = Ridge(len(size) * (1 - share) / share, fit_intercept=False, solver="cholesky")
    wanted = ridge.fit(columns[:, :-1], columns[:, -1]).coef_ / size
    signs = np.where(rows["first_is_a1"], 1, -1)
    outcome.exact += len(wanted)
    off = np.abs(signs * rows["weight"] - wanted).max() / np.abs(wanted).max()
    if not off <= 1e-4:  # a system is solved to a residual of 1e-6
        _disagree("score", "other weights", rows["weight"], signs * wanted, outcome)


def _complete(study: Study) -> np.ndarray:
    """Mark the people who lack neither phenotype nor covariate: bool (n,)."""
    people = study.people
    inside = ~np.isnan(people.phenotype) & ~np.isnan(people.covariates).any(axis=1)
    return np.asarray(inside & ((people.sex != 0) | bool(study.plan.get("allow_no_sex"))))


def _test_sets(study: Study, cohorts: Sequence[Tables], folder: Path, outcome: Outcome) -> None:
    """Compare tests of sets of neighbouring variants with those of the pooled genotypes."""
    v, places = study.variants, {name: k for k, name in enumerate(study.variants.name.tolist())}
    names = v.name[study.kept & (v.chromosome > 0) & (v.chromosome <= study.autosomes)].tolist()
    sets = [names[k * _EACH : (k + 1) * _EACH] for k in range(_SETS)]
    lines = [f"G{k} 1 1 {','.join(members)}" for k, members in enumerate(sets) if members]
    if not lines:
        return
    chosen = {"trait": "case/control", "min_per_class": 0, "max_maf": 0.5, "set_list": "\n".join(lines)}
    found = _run(study, cohorts, "gene-tests", covariates=tuple(map(Covariate, study.names)), **chosen)
    inside, tested = _complete(study), found.tables["genes"]
    x = study.people.covariates[inside]
    null = Null.of(study.people.phenotype[inside], (x - x.mean(axis=0)) / x.std(axis=0), cases=True)
    rows = found.tables["variants"]
    named = found.panel.name[rows["variant"]].astype(str).tolist()
    collapsed = dict(zip((places[name] for name in named), rows["collapsed"].tolist(), strict=True))
    for k, index in enumerate(tested["index"].tolist()):
        if tested["reason"][k]:
            continue
        members = [places[name] for name in sets[index]]
        kept = {v: rare for v, rare in collapsed.items() if not rare or tested["collapsed"][k]}
        columns, frequency = columns_of(v.copies[:, inside], members, kept)
        p = p_values(null, columns, WEIGHTS[BETA](frequency), frequency)
        ours, has_digits = tested["neg_log10_p"][k], p > _SMALLEST_P
        outcome.exact += 1
        if not np.allclose(ours[has_digits], -np.log10(p[has_digits]), rtol=_OF_SKATO, atol=1e-5):
            _disagree("regenie", "other tests of a set", ours, -np.log10(p), outcome)
