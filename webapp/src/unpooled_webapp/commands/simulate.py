"""`unpooled simulate`: generated cohorts to try things on."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from unpooled.errors import UnpooledError
from unpooled.simulate import SimulationReport
from unpooled.simulate import simulate as write_study

Callback = Callable[[click.Context, click.Parameter, str | None], tuple[float, ...]]


def numbers(kind: type[int] | type[float], example: str) -> Callback:
    """Reads an option's value as numbers with commas between them."""

    def read(context: click.Context, option: click.Parameter, value: str | None) -> tuple[float, ...]:
        try:
            return tuple(kind(word) for word in value.split(",")) if value else ()
        except ValueError as error:
            raise click.BadParameter(f"{value!r} is not a list of numbers such as {example}") from error

    return read


SHARE = click.FloatRange(0, 1)


@click.command(name="simulate")
@click.argument("out", type=click.Path(file_okay=False, path_type=Path))
@click.option("--cohorts", type=click.IntRange(1), default=3, show_default=True, help="Number of cohorts.")
@click.option(
    "--samples", type=click.IntRange(4), default=500, show_default=True, help="Samples in each cohort."
)
@click.option(
    "--sizes",
    callback=numbers(int, "1781,1781,1781"),
    metavar="N,N,…",
    help="Samples of each cohort, instead of --cohorts and --samples.",
)
@click.option(
    "--variants", type=click.IntRange(1), default=5000, show_default=True, help="Number of variants."
)
@click.option(
    "--seed", type=click.IntRange(0), default=1, show_default=True, help="The same seed gives the same bytes."
)
@click.option(
    "--trait",
    type=click.Choice(["case/control", "quantitative"]),
    default="case/control",
    show_default=True,
    help="Kind of phenotype.",
)
@click.option(
    "--case-fraction",
    callback=numbers(float, "0.3,0.5,0.6"),
    default="0.5",
    show_default=True,
    metavar="F[,F,…]",
    help="Share of cases: one for all cohorts, or one for each.",
)
@click.option(
    "--effects",
    callback=numbers(float, "0.3,0.5,0.6"),
    metavar="E,E,…",
    help="Plant a variant for each: odds ratios, or slopes in standard deviations of a quantitative trait.",
)
@click.option(
    "--covariates", type=click.IntRange(0), default=0, show_default=True, help="Number of covariates (.cov)."
)
@click.option(
    "--phenotype-files", is_flag=True, help="Write phenotypes to .pheno files; the .fam files then have -9."
)
@click.option(
    "--missing-variants",
    type=SHARE,
    default=0.3,
    show_default=True,
    help="Share of variants with missing calls.",
)
@click.option(
    "--missing-calls",
    type=click.FloatRange(0, 0.5),
    default=0.01,
    show_default=True,
    help="Mean share of missing calls in those variants.",
)
@click.option(
    "--missing-phenotypes", type=SHARE, default=0.0, show_default=True, help="Share of missing phenotypes."
)
@click.option(
    "--nonfounders", type=SHARE, default=0.0, show_default=True, help="Share of people with parents named."
)
@click.option(
    "--autosomes", type=click.IntRange(1, 90), default=22, show_default=True, help="Number of autosomes."
)
@click.option("--sex-chromosomes", is_flag=True, help="Also variants on X, Y, XY and MT.")
@click.option(
    "--oddities",
    is_flag=True,
    help="Also everything that is odd in real files: alleles swapped or on the other strand, variants that a "
    "cohort lacks or shows with another position or alleles, IDs that stand twice, tied frequencies, …",
)
@click.option("--pooled/--no-pooled", default=True, show_default=True, help="Also write the pooled data.")
@click.option("--force", is_flag=True, help="Replace files of an earlier simulation in OUT.")
def simulate(
    out: Path,
    sizes: tuple[int, ...],
    cohorts: int,
    samples: int,
    case_fraction: tuple[float, ...],
    effects: tuple[float, ...],
    missing_variants: float,
    missing_calls: float,
    missing_phenotypes: float,
    nonfounders: float,
    force: bool,
    **others: Any,
) -> None:
    """Generate cohorts as PLINK files in the folder OUT.

    Writes cohort1.bed, .bim and .fam, cohort2 and so on; pooled.bed, .bim and .fam, which is what a pooled
    analysis would start from; and truth.json, which says what was planted where. The people are invented.

    \b
    Example: three cohorts, three hits, and a study of them on this machine
      unpooled simulate example --effects 1.6,0.6,1.5
      unpooled rehearse --test chi-square --bfile example/cohort1 \\
          --bfile example/cohort2 --bfile example/cohort3 --out example/result
    """
    _refuse_to_replace(out, force)
    try:
        report = write_study(
            out,
            cohorts=sizes or (samples,) * cohorts,
            case_fractions=case_fraction[0] if len(case_fraction) == 1 else case_fraction,
            effects=effects,
            missing_rate=(missing_variants, missing_calls),
            missing_phenotype_rate=missing_phenotypes,
            nonfounder_rate=nonfounders,
            progress=_progress if sys.stderr.isatty() else None,
            **others,
        )
    except UnpooledError as error:
        raise click.ClickException(str(error)) from error
    except OSError as error:
        raise click.ClickException(f"cannot write to {out}: {error.strerror or error}.") from error
    _say(report)


def _refuse_to_replace(out: Path, force: bool) -> None:
    if (out / "truth.json").exists() and not force:
        raise click.ClickException(
            f"{out} already holds a simulation: choose another folder, or replace it with --force."
        )


def _progress(done: int, total: int) -> None:
    click.echo(f"\r{done:,} of {total:,} variants", nl=done == total, err=True)


def _say(report: SimulationReport) -> None:
    for prefix, samples in zip(report.cohorts, report.samples, strict=True):
        click.echo(f"{prefix}.bed .bim .fam  {samples:,} samples")
    if report.pooled:
        click.echo(
            f"{report.pooled}.bed .bim .fam  {sum(report.samples):,} samples, {report.kept:,} variants"
        )
    for path in (*report.phenotypes, *report.covariates):
        click.echo(str(path))
    click.echo(f"{report.truth}  what was planted: {', '.join(report.planted) or 'no effects'}")
