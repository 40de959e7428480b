"""The options of the command line that say which files a cohort has, and how they are to be read.

Declared once, for every command that reads data; `unpooled_client.data.options` says what they mean. Nothing
is imported here that reads data: `--help` need not wait for it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from unpooled.panel.chromosomes import HUMAN
from unpooled.panel.filesets import COPIED, DOSAGE_FIELDS, FILESETS
from unpooled.plan.floors import MIN_PER_CLASS, MIN_SAMPLES, TRAITS
from unpooled_client.commands.options import together

if TYPE_CHECKING:
    from unpooled_client.data.options import Covariate

_Command = TypeVar("_Command", bound=Callable[..., Any])
_FILE = click.Path(path_type=Path)


def _levels(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> tuple[Covariate, ...]:
    """Read every NAME=LEVEL,LEVEL,… of --categorical."""
    from unpooled_client.data.options import Covariate

    covariates = []
    for word in given:
        name, _, levels = word.partition("=")
        found = tuple(levels.split(","))
        if not name or len(found) < 2 or "" in found or len(set(found)) < len(found):
            raise click.BadParameter(f"got {word!r}; want NAME=LEVEL,LEVEL,… with different levels")
        covariates.append(Covariate(name, found))
    return tuple(covariates)


def _prefix(context: click.Context, option: click.Parameter, given: Path | None) -> Path | None:
    """--bfile or --pfile, also where one of the files was given instead of what all names begin with."""
    fileset = next(each for each in FILESETS if each.option == option.name)
    if given is None or Path(f"{given}.{fileset.genotypes}").exists():
        return given
    if given.suffix[1:] in fileset.kinds:
        return given.with_suffix("")
    for other in FILESETS:
        if given.suffix[1:] in other.kinds:
            raise click.BadParameter(f"{given} goes with --{other.option} {given.with_suffix('')}")
    for copied in COPIED:
        if str(given).endswith(copied.endings):
            raise click.BadParameter(f"{given} goes with --{copied.option} {given}")
    if given.suffix == ".ped":
        prefix = given.with_suffix("")
        how = f"plink1.9 --file {prefix} --make-bed --out {prefix}"
        raise click.BadParameter(f"{given} is text. Make a .bed: {how}; then give --bfile {prefix}")
    return given


def _file(name: str, text: str) -> Callable[[_Command], _Command]:
    return click.option(name, type=_FILE, metavar="FILE", help=text)


data_options = together(
    click.option(
        "--bfile",
        type=_FILE,
        callback=_prefix,
        metavar="PREFIX",
        help="PREFIX.bed, PREFIX.bim and PREFIX.fam.",
    ),
    click.option(
        "--pfile",
        type=_FILE,
        callback=_prefix,
        metavar="PREFIX",
        help="Instead: PREFIX.pgen, PREFIX.pvar and PREFIX.psam.",
    ),
    _file("--vcf", "Instead: a VCF or BCF, of which a copy is made."),
    click.option(
        "--vcf-dosage",
        type=click.Choice(DOSAGE_FIELDS),
        help="Its field that dosages are taken from.  [the first of these that it has]",
    ),
    _file("--bgen", "Instead: a BGEN, of which a copy is made."),
    _file("--sample", "The .sample of --bgen."),
    _file("--psam", "Sexes and phenotypes of --vcf's or --bgen's people: a .psam or .fam."),
    click.option(
        "--copies", type=_FILE, metavar="DIR", help="Folder for such copies.  [one in your profile's cache]"
    ),
    _file("--bed", "Genotypes, if not beside --bfile."),
    _file("--bim", "Variants, if not beside --bfile."),
    _file("--fam", "Samples, if not beside --bfile."),
    _file("--pheno", "Phenotypes, instead of the .fam's."),
    click.option("--mpheno", type=click.IntRange(1), metavar="N", help="N-th phenotype of --pheno."),
    click.option("--pheno-name", metavar="NAME,…", help="Phenotype of --pheno by its name, or several."),
    _file("--covar", "Covariates."),
    click.option(
        "--covar-name", multiple=True, metavar="NAME,A-B", help="Covariates by name, or from A to B."
    ),
    click.option("--covar-number", multiple=True, metavar="N,M-P", help="Covariates by number, from 1."),
    _file("--keep", "Only the samples listed (FID IID)."),
    _file("--remove", "Not the samples listed (FID IID)."),
    _file("--extract", "Only the variants listed (IDs)."),
    _file("--exclude", "Not the variants listed (IDs)."),
    click.option(
        "--minimac3-r2-filter",
        type=click.FloatRange(0, 1),
        metavar="X",
        help="Only variants imputed at least so well; of phased dosages.",
    ),
    click.option(
        "--missing-phenotype", type=int, default=-9, show_default=True, metavar="N", help="Missing value."
    ),
    click.option("--1", "one", is_flag=True, help="Controls are 0 and cases 1."),
    click.option("--allow-no-sex", is_flag=True, help="Keep phenotypes of samples of unknown sex."),
    click.option(
        "--chr-set", type=int, default=HUMAN, show_default=True, metavar="N", help="Number of autosomes."
    ),
    click.option(
        "--min-samples",
        type=click.IntRange(1),
        metavar="N",
        help=f"Decline below N samples  [{MIN_SAMPLES}].",
    ),
    click.option(
        "--min-per-class",
        type=click.IntRange(0),
        metavar="N",
        help=f"Decline below N cases or controls  [{MIN_PER_CLASS}].",
    ),
    click.option("--one-class", is_flag=True, help="This cohort has only cases, or only controls."),
)
"""The options that say which data there are and how to read them."""


plan_options = together(
    click.option("--trait", type=click.Choice(TRAITS), help="What is expected."),
    click.option(
        "--categorical",
        "covariates",
        multiple=True,
        callback=_levels,
        metavar="NAME=LEVEL,…",
        help="Levels of a categorical covariate, the reference first.",
    ),
    click.option("--by-place", is_flag=True, help="Variants are matched by place, not by ID."),
)
"""The options that stand for what a plan says, for a check without one."""
