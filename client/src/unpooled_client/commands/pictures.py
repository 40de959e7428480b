"""`unpooled-client pictures`: the results of a study of variants in numbers, and what the window draws."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from unpooled.kernels.statistics import inflation_text
from unpooled_client.commands.options import state_option
from unpooled_client.commands.run import state_folder
from unpooled_client.compare.pictures import pictures as pictures_of
from unpooled_client.study.failures import UsageProblem


@click.command()
@state_option()
@click.option("--phenotype", default="", metavar="NAME", help="Of several phenotypes this one.  [the first]")
@click.option("--json", "as_json", is_flag=True, help="With the Manhattan and the QQ plot, as JSON.")
def pictures(folder: Path | None, phenotype: str, as_json: bool) -> None:
    """Print genomic inflation and loci of a study that is done, out of its result files.

    Loci are by distance, each led by its strongest variant. Nothing leaves this computer.
    """
    saved = state_folder(folder, None).load()
    if saved.agreement is None or not saved.delivered:
        raise UsageProblem("the results of this study are not here yet.", "Take part in it first.")
    plans = {plan.phenotype: plan for plan in saved.agreement.plan.each}
    if phenotype and phenotype not in plans:
        raise UsageProblem(f"the study has no phenotype {phenotype!r}.", f"It has {', '.join(plans)}.")
    found = pictures_of(sorted(Path(saved.out).iterdir()), plans[phenotype or next(iter(plans))])
    click.echo(json.dumps(found) if as_json else _lines(found))


def _lines(found: dict[str, Any]) -> str:
    inflation = found["genomic_inflation"]
    told = "NA" if inflation is None else inflation_text(inflation)
    head = [f"# genomic inflation {told}, {len(found['loci'])} loci, from {found['file']}"]
    titles = ("CHR", "BP", "ID", "A1", found["effect"], "P", "START", "END", "VARIANTS")
    names = ("chromosome", "position", "id", "a1", "effect", "p")
    rows = ((*(row[name] for name in names), *row["locus"].values()) for row in found["loci"])
    return "\n".join([*head, *("\t".join(map(_word, row)) for row in (titles, *rows))])


def _word(value: object) -> str:
    return "NA" if value is None else str(value)
