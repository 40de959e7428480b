"""`unpooled rehearse --template`: a template's values stand for what nobody typed."""

from __future__ import annotations

from typing import Any

import click

from unpooled.methods import ALGORITHMS, FITS, METHODS
from unpooled.plan.common_options import COVARIATES

TEMPLATES = {
    template.name: (template, method) for method in ALGORITHMS.values() for template in method.templates
}


def flag() -> click.Option:
    titles = "; ".join(f"{name}: {template.title}" for name, (template, _) in TEMPLATES.items())
    return click.Option(
        ["--template"],
        type=click.Choice(list(TEMPLATES)),
        help=f"A usual study to begin with; what is typed besides goes before it. {titles}.",
    )


def begun(options: dict[str, Any], typed: set[str]) -> dict[str, Any]:
    """The options as if somebody had typed the template's, too. UsageError where both cannot be."""
    if not options["template"]:
        return options
    template, method = TEMPLATES[options["template"]]
    kind = "fit" if method.name in FITS else "normalize" if method.name in METHODS else "test"
    if any((name, options[name]) != (kind, method.name) for name in typed & {"test", "normalize", "fit"}):
        raise click.UsageError(f"--template {template.name} goes with --{kind} {method.name} alone")
    values = {name: value for name, value in template.plan.items() if name not in {*typed, COVARIATES.name}}
    return {**options, **values, kind: method.name, **_columns(options, template.covariates)}


def _columns(options: dict[str, Any], covariates: tuple[str, ...]) -> dict[str, Any]:
    """Return the columns that are covariates, unless they were typed."""
    if not covariates or options["covar_name"] or options["covar_number"]:
        return {}
    if not options["covar"]:
        raise click.UsageError(
            f"--template {options['template']} needs a --covar file with the columns {', '.join(covariates)}"
        )
    return {"covar_name": list(covariates)}
