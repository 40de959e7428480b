"""Drawing of genotype models, and of what a plan changes of people and covariates.

Drawn from a stream of its own, so that a seed's people and variants stay what they were before these came.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unpooled.plan.genotype_model import ADDITIVE, MODELS
from unpooled.plan.plan import FEWEST_AT_A_LEVEL
from unpooled.plan.result_files import CLUMPED, FILES, SPA, SUSIE

from .study import Study

OTHERS = ("SEX", "PC1", "INTERCEPT", "DOMDEV", "P", "SEX(X)")
"""Names that PLINK uses for other things, too: a covariate may have one."""
SEXES = {"males": 1, "females": 2}
_STREAM = 1
_RECODED, _INTERACTING = 0.4, 0.3
"""Shares of regressions with a model that is not additive, and of those with covariates with interactions."""
_JOINTLY, _BY_SCORES = 0.5, 0.5
"""Shares of studies with interactions that test them jointly, and with each file of scores that they can
have."""
_ROBUST, _RANKED = 0.15, 0.3
_FEWEST_RANKED = 200
"""People with a phenotype; most studies of fewer are refused, for they have fewer than 5 bins."""
_APART = 15
"""People who lack a phenotype that others have: a study refuses fewer than 10."""
_FEWEST_APART = 4
_CARRIERS = 12
"""Minimum number of carriers of either allele in three cohorts: a study refuses to condition on a variant of
fewer than 10.
"""


def draw_genotype_model(seed: int, test: str, names: tuple[str, ...]) -> dict[str, object]:
    """Draw the genotype model and the interactions."""
    random = np.random.default_rng([seed, _STREAM])
    found: dict[str, object] = {}
    if test == "chi-square":
        return found
    if random.random() < _RECODED:
        found["genotype_model"] = str(random.choice([model for model in MODELS if model != ADDITIVE]))
    if names and random.random() < _INTERACTING:
        of_some = np.random.default_rng([seed, _STREAM + 3]).random(len(names)) < 0.6
        some = tuple(name for name, is_in in zip(names, of_some.tolist(), strict=True) if is_in)
        found["interaction"] = some or names
    return found


def interacting(study: Study, columns: Sequence[str]) -> list[int]:
    """Return which of a regression's columns of covariates the genotype is multiplied with."""
    names = set(study.plan.get("interaction", ()))  # type: ignore[call-overload]
    return [k for k, column in enumerate(columns) if column in names or column.rpartition("=")[0] in names]


def draw_models(study: Study) -> dict[str, object]:
    """Whom the study is about, and what it standardises or conditions on."""
    random = np.random.default_rng([study.seed, _STREAM])
    found: dict[str, object] = {}
    only = str(random.choice(list(SEXES)))
    if random.random() < 0.1 and _is_in_all_cohorts(study, study.people.sex == SEXES[only]):
        found["sexes"] = only
    if study.test == "chi-square":
        return found
    if study.names and "mind" not in study.plan and random.random() < 0.25:
        found["covar_variance_standardize"] = True
    choice = np.flatnonzero(study.kept & _is_common(study))
    if len(choice) and random.random() < 0.25:
        several = random.permutation(choice)[: int(random.choice([1, 1, 2, 3]))]
        found["condition"] = tuple(study.variants.name[several].tolist())
    return found


def draw_way(study: Study) -> Study:
    """Draw how variants are matched, what covariates are called, what stands for a missing call, and what is
    written besides the report.
    """
    random = np.random.default_rng([study.seed, _STREAM + 4])
    regression, plan = study.test != "chi-square", dict(study.plan)
    if random.random() < 0.15:
        study, plan["by_place"] = _called_by_place(study, random), True
    if random.random() < 0.3:
        study = _linked(study, random)
        plan |= {
            "clump_p1": float(random.choice([0.05, 0.01])),
            "clump_p2": float(random.choice([0.05, 0.5])),
            "clump_r2": float(random.choice([0.01, 0.2, 0.5])),
            "clump_kb": float(random.choice([1, 250])),
        }
    files = ["adjusted", *(["clumped"] if "clump_p1" in plan else [])]
    if regression and study.model == ADDITIVE and not plan.get("interaction"):
        files.append("ssf")
    plan["files"] = (*plan.get("files", FILES), *files)  # type: ignore[misc]
    if regression and random.random() < 0.4:
        plan["missing"] = "mean"
    return _renamed(replace(study, plan=plan), random)


def _called_by_place(study: Study, random: np.random.Generator) -> Study:
    """Give each cohort IDs of its own. Few files are on the other strand or hide an allele, and none does so
    of a variant that would then have another's name.
    """
    v = study.variants
    times = np.unique([v.chromosome, v.position], axis=1, return_inverse=True, return_counts=True)
    few = (times[2][times[1]] == 1) & (np.arange(study.cohorts)[:, None] < study.cohorts - 1)
    own = np.array([random.choice([".", f"own{k}", "same"]) for k in range(v.written.size)], object)
    written = np.where(v.written == "", "", own.reshape(v.written.shape)).astype(str)
    v = replace(v, written=written, flipped=v.flipped & few, hidden=v.hidden & few)
    places = zip(v.chromosome.tolist(), v.position.tolist(), v.alleles.tolist(), strict=True)
    v = replace(v, name=np.array([study.called(*place) for place in places]))
    return replace(study, variants=v.take(np.lexsort((v.name.astype("S"), v.position, v.chromosome))))


def _linked(study: Study, random: np.random.Generator) -> Study:
    """Fill in every call, and make many variants like the one before."""
    code, last = study.variants.chromosome[:, None], study.autosomes
    single = ((study.people.sex == 1) & ((code == last + 1) | (code == last + 2))) | (code == last + 4)
    copies = np.maximum(study.variants.copies, 0)
    copies[single & (copies == 1)] = 2
    copies[~bearers(study)] = -1
    for k in np.flatnonzero(np.diff(study.variants.chromosome) == 0) + 1:
        if random.random() < 0.6:
            copies[k] = np.where(random.random(copies.shape[1]) < 0.9, copies[k - 1], copies[k])
    return replace(study, variants=replace(study.variants, copies=copies))


def bearers(study: Study) -> np.ndarray:
    """Mark the people who have a variant's chromosome: bool (m, n)."""
    of_all = study.variants.chromosome != study.autosomes + 2
    return np.asarray(of_all[:, None] | (study.people.sex == 1))


def is_known(study: Study, inside: np.ndarray) -> np.ndarray:
    """Mark the variants of which these people have every call: bool (m,)."""
    return np.asarray(~(bearers(study) & inside & (study.variants.copies < 0)).any(axis=1))


def is_shared(study: Study, inside: np.ndarray) -> np.ndarray:
    """Tell which variants have enough carriers of each allele among some people, also without any one cohort.

    Only such are compared with others: bool (m,). No cohort's count shows beyond the floor.
    """
    counted, copies = bearers(study) & inside, study.variants.copies
    of_cohort = np.arange(study.cohorts) == study.people.cohort[:, None]
    found = np.ones(len(copies), bool)
    for of_allele in (copies > 0, (copies >= 0) & (copies < 2)):
        carriers = (counted & of_allele).astype(np.int64) @ of_cohort
        found &= np.minimum(carriers, FEWEST_AT_A_LEVEL).sum(axis=1) >= 2 * FEWEST_AT_A_LEVEL
    return found


def _renamed(study: Study, random: np.random.Generator) -> Study:
    """Give some covariates names that PLINK uses for other things."""
    others = [name for name in OTHERS if name not in {column.test for column in MODELS[study.model]}]
    to = dict(zip(study.names, random.permutation(others).tolist(), strict=False))
    to = {name: other for name, other in to.items() if random.random() < 0.3}
    plan = dict(study.plan)
    if "interaction" in plan:
        plan["interaction"] = tuple(to.get(name, name) for name in plan["interaction"])  # type: ignore[attr-defined]
    return replace(
        study,
        plan=plan,
        names=tuple(to.get(name, name) for name in study.names),
        levels={to.get(name, name): levels for name, levels in study.levels.items()},
    )


def draw_apart(study: Study) -> dict[str, object]:
    """Draw whether cohorts are kept apart, where they can be."""
    random = np.random.default_rng([study.seed, _STREAM + 2])
    can_be = study.test != "chi-square" and study.cohorts >= _FEWEST_APART and study.model == ADDITIVE
    if not can_be or {"covar_variance_standardize", "interaction"} & set(study.plan) or random.random() < 0.5:
        return {}
    return {"cohorts_apart": True, **({} if study.quantitative else {"firth": "no-firth"})}


def draw_errors(study: Study) -> dict[str, object]:
    """Draw whether errors are robust, where they can be."""
    random = np.random.default_rng([study.seed, _STREAM + 6])
    if study.test == "chi-square" or "cohorts_apart" in study.plan or random.random() >= _ROBUST:
        return {}
    return {"robust": True, **({} if study.quantitative else {"firth": "no-firth"})}


def draw_ranks(study: Study) -> dict[str, object]:
    """Draw whether the phenotype becomes normal scores, where most such studies are not refused."""
    random = np.random.default_rng([study.seed, _STREAM + 7])
    is_large = np.count_nonzero(~np.isnan(study.people.phenotype)) >= _FEWEST_RANKED
    return {"rint": True} if study.quantitative and is_large and random.random() < _RANKED else {}


def draw_tests(study: Study) -> dict[str, object]:
    """Draw a joint test of the interactions, and the files of saddlepoint tests and of credible sets."""
    random = np.random.default_rng([study.seed, _STREAM + 5])
    shares = random.random(3)
    if study.test == "chi-square":
        return {}
    if study.plan.get("interaction"):
        return {"joint_test": True} if shares[0] < _JOINTLY else {}
    files: tuple[str, ...] = study.plan["files"]  # type: ignore[assignment]
    if study.model == ADDITIVE and "cohorts_apart" not in study.plan:
        files += (SPA,) * bool(study.test == "logistic" and shares[1] < _BY_SCORES)
        files += (SUSIE,) * bool(CLUMPED in files and shares[2] < _BY_SCORES)
    return {"files": files}


def indicators(study: Study) -> list[tuple[str, np.ndarray]]:
    """Return the cohorts' indicators, of all but the first, if cohorts are kept apart; else none."""
    if not study.plan.get("cohorts_apart"):
        return []
    return [(f"COHORT{k}", (study.people.cohort == k).astype(float)) for k in range(1, study.cohorts)]


def draw_phenotypes(study: Study) -> Study:
    """Sometimes one or two phenotypes more: who has them are the same people, or enough others."""
    random = np.random.default_rng([study.seed, _STREAM + 1])
    status = study.people.phenotype
    fewest = min((status == 0).sum(), (status == 1).sum())
    if random.random() >= 0.25 or (not study.quantitative and fewest < 2 * _APART):
        return study  # else cases would differ by too few
    known = random.permutation(np.flatnonzero(~np.isnan(study.people.phenotype)))
    apart = int(random.choice([0, _APART])) if len(known) > 8 * _APART else 0
    further = []
    for number in range(int(random.choice([1, 2]))):
        values = np.full(len(study.people.phenotype), np.nan)
        values[known] = random.permutation(study.people.phenotype[known])
        values[known[number * apart : (number + 1) * apart]] = np.nan
        further.append(values)
    people = replace(study.people, further=tuple(further))
    return replace(study, people=people, pheno_file=True)


def _is_in_all_cohorts(study: Study, which: np.ndarray) -> bool:
    known = which & ~np.isnan(study.people.phenotype)
    return bool((np.bincount(study.people.cohort[known], minlength=study.cohorts) > 1).all())


def _is_common(study: Study) -> np.ndarray:
    """Mark the variants of the autosomes that can mostly be conditioned on: bool (m,)."""
    v, inside = study.variants, ~np.isnan(study.people.phenotype)
    cohorts = np.zeros(len(v.name), int)
    for cohort in range(study.cohorts):
        copies = v.copies[:, inside & (study.people.cohort == cohort)]
        first, second = (copies > 0).sum(axis=1), ((copies == 0) | (copies == 1)).sum(axis=1)
        cohorts += np.minimum(first, second) >= _CARRIERS
    return np.asarray((cohorts >= 3) & (v.chromosome <= study.autosomes))


def of_sex(study: Study) -> np.ndarray:
    """Mark the people of the sex that the plan is about: bool (n,)."""
    only = study.plan.get("sexes")
    return np.asarray(study.people.sex == SEXES[str(only)] if only else np.ones(len(study.people.sex), bool))


def conditions(study: Study) -> list[tuple[str, np.ndarray]]:
    """Copies of the pool's A1 of each variant that is conditioned on; NaN is a missing call."""
    names = study.plan.get("condition", ())
    places = {name: k for k, name in enumerate(study.variants.name.tolist())}
    return [(name, _copies_of_a1(study, places[name])) for name in names]  # type: ignore[attr-defined]


def _copies_of_a1(study: Study, variant: int) -> np.ndarray:
    calls, people = study.variants.copies[variant].astype(float), study.people
    counted = of_sex(study) & (calls >= 0)
    if not study.plan.get("nonfounders"):
        counted &= people.founder
    share = calls[counted].sum() - counted.sum()  # of the first allele, above a half
    second = study.pooled_pair(variant)[2] if share == 0 else share > 0
    return np.where(calls < 0, np.nan, 2 - calls if second else calls)


def standardised(study: Study, found: list[tuple[str, np.ndarray]]) -> list[tuple[str, np.ndarray]]:
    """Covariates as the report is about them: by the plan, numbers of mean 0 and variance 1 in its people."""
    if not study.plan.get("covar_variance_standardize"):
        return found
    inside = of_sex(study) & ~np.isnan(study.people.phenotype)
    if not study.plan.get("allow_no_sex"):
        inside &= study.people.sex != 0
    for _, values in [*found, *conditions(study)]:
        inside &= ~np.isnan(values)
    return [(name, _scaled(values, inside) if name in study.names else values) for name, values in found]


def _scaled(values: np.ndarray, inside: np.ndarray) -> np.ndarray:
    size = values[inside].std(ddof=1) if np.count_nonzero(inside) > 1 else 0.0
    return (values - values[inside].mean()) / size if size > 0 else values
