"""A random federation as the product runs it: its readers, its panel, its masks, its writers."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unpooled.asking.question import Arrays
from unpooled.errors import UnpooledError
from unpooled.methods import algorithm, check
from unpooled.panel.panel import Panel
from unpooled.plan.genotype_model import ADDITIVE
from unpooled.plan.plan import NO_KEY, Covariate, Plan
from unpooled.plan.result_files import META
from unpooled.run import reports
from unpooled_webapp.rehearsal import RehearsalError

from ... import in_process
from .files import PHENOTYPE, PHENOTYPES, Tables
from .study import Study


class Refused(UnpooledError):
    """The product does not take this study, and says so."""


@dataclass(frozen=True, eq=False)
class Results:
    """Results of a study run by the product."""

    plan: Plan
    panel: Panel
    tables: in_process.Tables
    files: dict[str, bytes]
    """The result files by the ends of their names."""

    @functools.cached_property
    def place(self) -> dict[str, int]:
        """Place of a variant in the panel, by its name."""
        return {name.decode(): k for k, name in enumerate(self.panel.name.tolist())}

    def alleles(self, name: str) -> tuple[bytes, bytes]:
        return self.panel.pair(self.place[name])

    def regression(self, glm: bool) -> Arrays:
        """The columns, in full precision, that the report of a regression is written from."""
        return algorithm(self.plan.test).columns_for("glm" if glm else "assoc", self.tables)


def plan_of(study: Study) -> Plan:
    """Return a study's plan. Where everybody has all phenotypes, it asks for that, which leaves out nobody.

    People of unknown sex have none unless the plan says otherwise.
    """
    people, further = study.people, study.people.further
    known = bool(study.plan.get("allow_no_sex")) or bool(people.sex.all())
    together = bool(further) and known and not np.isnan([people.phenotype, *further]).any()
    chosen = {
        "trait": "quantitative" if study.quantitative else "case/control",
        "autosomes": study.autosomes,
        "min_samples": 1,
        "min_per_class": 0,
        "covariates": tuple(Covariate(name, study.levels.get(name, ())) for name in study.names),
        **({} if study.test == "chi-square" else {"missing": "exact", "cohort_sums": True}),
        **study.plan,
        "phenotypes": PHENOTYPES[1 : 1 + len(further)],
        "require_pheno": together,
    }
    is_per_copy = study.model == ADDITIVE and not {"interaction", "robust"} & set(study.plan)
    if study.test != "chi-square" and "files" in chosen and is_per_copy and not together:
        chosen |= {"files": (*chosen["files"], META), "few_studies": True}  # type: ignore[misc]
    return Plan(study.test, PHENOTYPE, study.cohorts, NO_KEY, **chosen)  # type: ignore[arg-type]


def run_study(study: Study, cohorts: Sequence[Tables]) -> list[Results]:
    """The study of these cohorts' files, each phenotype as if it were the only one.

    Refused if a cohort's client or the study declines them.
    """
    plan = plan_of(study)
    check(plan)
    try:
        found = in_process.run_study(plan, words_of(study, cohorts))
    except RehearsalError as error:
        raise Refused(str(error)) from error
    return [_of_one(one, found.panel, tables) for one, tables in found.each]


def _of_one(plan: Plan, panel: Panel, tables: in_process.Tables) -> Results:
    method, plan = check(plan), dataclasses.replace(plan, phenotype=PHENOTYPE)
    if method.table not in tables:
        raise Refused("no variant passes the filters")
    files = {method.file_name(name, plan): file for name, file in reports(plan, panel, tables).items()}
    return Results(plan, panel, tables, files)


def words_of(study: Study, cohorts: Sequence[Tables]) -> list[list[str]]:
    """Return each cohort's client options that name its files."""
    clients = zip(cohorts, study.zero_one, strict=True)
    return [_words(plan_of(study), tables, bool(one)) for tables, one in clients]


def _words(plan: Plan, tables: Tables, zero_one: bool) -> list[str]:
    """Return a client's options that name its files."""
    chosen = {
        "--bfile": tables.bfile,
        "--pheno": tables.pheno,
        "--pheno-name": ",".join(plan.phenotype_names) if tables.pheno else None,
        "--covar": tables.covar,
    }
    given = [str(word) for item in chosen.items() if item[1] is not None for word in item]
    return [*given, *(["--1"] if zero_one else []), "--one-class"]
