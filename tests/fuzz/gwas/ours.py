"""A random federation as the product runs it: its readers, its panel, its masks, its writers."""

from __future__ import annotations

import dataclasses
import functools
import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unpooled.agreement import Agreement, reconcile
from unpooled.algorithms import algorithm, check
from unpooled.algorithms.phenotypes import tables_of
from unpooled.errors import UnpooledError
from unpooled.genotype_model import ADDITIVE
from unpooled.heterogeneity_option import META
from unpooled.panel import Panel
from unpooled.plan import Covariate, Plan
from unpooled.question import Arrays
from unpooled.run import run
from unpooled_client.data.cohort import PlinkCohort, PlinkData, open_cohort
from unpooled_client.data.completeness import kept_by_mind
from unpooled_client.data.options import DataOptions

from .files import PHENOTYPE, PHENOTYPES, Tables
from .study import Study


class Refused(UnpooledError):
    """The product does not take this study, and says so."""


@dataclass(frozen=True, eq=False)
class Results:
    """What a study of ours gives."""

    plan: Plan
    agreement: Agreement
    tables: dict[str, dict[str, np.ndarray]]
    files: dict[str, bytes]
    """The result files by the ends of their names."""

    @property
    def panel(self) -> Panel:
        return self.agreement.panel

    @functools.cached_property
    def place(self) -> dict[str, int]:
        """Which of the panel's variants a name is."""
        return {name.decode(): k for k, name in enumerate(self.panel.name.tolist())}

    def regression(self, glm: bool) -> Arrays:
        """The columns, in full precision, that the report of a regression is written from."""
        return algorithm(self.plan.test).columns_for("glm" if glm else "assoc", self.tables)


def plan_of(study: Study) -> Plan:
    """Where everybody has all phenotypes, the study asks for that, which leaves out nobody.

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
    is_per_copy = study.model == ADDITIVE and not study.plan.get("interaction")
    if study.test != "chi-square" and "files" in chosen and is_per_copy and not together:
        chosen |= {"files": (*chosen["files"], META), "few_studies": True}  # type: ignore[misc]
    return Plan(study.test, PHENOTYPE, study.cohorts, bytes(32), **chosen)  # type: ignore[arg-type]


def run_study(study: Study, cohorts: Sequence[Tables]) -> list[Results]:
    """The study of these cohorts' files, each phenotype as if it were the only one.

    Refused if a cohort's client or the study declines them.
    """
    plan = plan_of(study)
    check(plan)
    opened = [_opened(plan, tables, bool(one)) for tables, one in zip(cohorts, study.zero_one, strict=True)]
    agreement = reconcile({f"cohort {k:04}": data.panel for k, data in enumerate(opened)})
    try:
        tables = run(plan, agreement.panel, [_aligned(data, agreement.panel, plan) for data in opened])
    except UnpooledError as error:
        raise Refused(str(error)) from error
    return [_of_one(each, agreement, tables_of(plan, tables, each.phenotype)) for each in plan.each]


def _of_one(plan: Plan, agreement: Agreement, tables: dict[str, dict[str, np.ndarray]]) -> Results:
    test, plan = check(plan), dataclasses.replace(plan, phenotype=PHENOTYPE)
    if test.table not in tables:
        raise Refused("no variant passes the filters")
    files = {}
    for name in plan.files:
        test.files[name](file := io.BytesIO(), agreement.panel, test.columns_for(name, tables), plan)
        files[test.file_name(name, plan)] = file.getvalue()
    return Results(plan, agreement, tables, files)


def _opened(plan: Plan, tables: Tables, zero_one: bool) -> PlinkData:
    options = DataOptions(
        bfile=tables.bfile,
        pheno=tables.pheno,
        pheno_name=",".join(plan.phenotype_names) if tables.pheno else None,
        covar=tables.covar,
        one=zero_one,
        one_class=True,
    )
    data, report = open_cohort(options.under(plan))
    if data is None:
        raise Refused(str(report.problem()))
    return data


def _aligned(data: PlinkData, panel: Panel, plan: Plan) -> PlinkCohort:
    aligned = data.align(panel)
    if plan.mind == 1:
        return aligned
    kept = kept_by_mind(aligned, panel, plan.mind, plan.autosomes)
    return dataclasses.replace(aligned, samples=dataclasses.replace(aligned.samples, kept=kept))
