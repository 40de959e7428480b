"""Templates: usual studies to begin a plan with, each a set of values for declared options.

A method lists its own. Form, API and `rehearse --template` are made from them, and every value is one
that somebody could have typed: a plan does not know whether it came from a template.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from unpooled.plan import common_options as options
from unpooled.plan.options import Covariate, Option


@dataclass(frozen=True)
class Template:
    """Values for the options of a method. What it does not name stays as usual."""

    name: str
    title: str
    hint: str
    """Its purpose, and what to add."""
    options: Mapping[Option[Any], Any] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    """Result files; the usual ones if empty."""

    @property
    def plan(self) -> dict[str, Any]:
        """The fields and options of a plan that it sets, as JSON values."""
        values = {option.name: option.to_json(value) for option, value in self.options.items()}
        return {"files": list(self.files), **values} if self.files else values

    @property
    def covariates(self) -> tuple[str, ...]:
        """The columns that the cohorts' files must have."""
        return tuple(covariate.title for covariate in self.options.get(options.COVARIATES, ()))


COMPONENTS = 10

QUALITY: Mapping[Option[Any], Any] = {
    options.MIND: 0.02,
    options.GENO: 0.02,
    options.HWE: 1e-6,
    options.MAF: 0.01,
}
"""Missing calls and Hardy-Weinberg as in the mega-analysis of major depression (Mol Psychiatry 2013, 18:497);
the frequency as in Corvin et al., Genome-wide association studies: a primer (Psychol Med 2010, 40:1063)."""

ADJUSTED: Mapping[Option[Any], Any] = {
    # Named as plink2's --pca names them.
    options.COVARIATES: tuple(Covariate(f"PC{number}") for number in range(1, COMPONENTS + 1)),
    **QUALITY,
    options.CI: 0.95,
    options.HIDE_COVAR: True,
}
"""Components against confounding by ancestry, and one row in the report for each variant."""


def with_predictions(test: str) -> Template:
    """The usual regression of people who are related; `test` is its name in a plan."""
    return Template(
        f"{test}-relatives",
        f"{test.capitalize()}, relatives",
        "Families: each phenotype is predicted from the other chromosomes. Usual filters, and confidence "
        "limits. Add age, sex and whatever else you adjust for, and of different ancestries components.",
        {options.LOCO: True, **QUALITY, options.CI: 0.95, options.HIDE_COVAR: True},
        files=("assoc", "glm"),
    )


def with_components(test: str) -> Template:
    """The usual regression, adjusted for ancestry; `test` is its name in a plan."""
    return Template(
        f"{test}-components",
        f"{test.capitalize()}, {COMPONENTS} components",
        "Principal components as covariates, usual filters, and confidence limits. Add age, sex and "
        "whatever else you adjust for.",
        ADJUSTED,
        files=("assoc", "glm"),
    )
