"""`unpooled rehearse`: a whole federation on this machine, over HTTP, one client process for each cohort."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from unpooled.errors import listed
from unpooled.methods import ALGORITHMS, FITS, METHODS, TESTS
from unpooled.methods.polygenic import POLYGENIC
from unpooled.panel.chromosomes import MOST_AUTOSOMES
from unpooled.panel.filesets import COPIED, FILESETS, GENOTYPES, OF_BFILE, OF_BGEN, OF_VCF
from unpooled.plan.common_options import TRUST
from unpooled.plan.encodings import ONE_HOT
from unpooled.plan.plan import NOT_REPORTED, Plan
from unpooled.plan.result_files import CLUMPED, SPA, SUSIE
from unpooled.plan.schema import (
    CATEGORY,
    FEATURE,
    IGNORED,
    NUMBER,
    OUTCOME,
    TEXT,
    Column,
    read_schema,
    schema_from_file,
    schema_of_header,
)
from unpooled.protocol.messages import MIN_COHORTS
from unpooled_webapp.commands import study_flags, study_templates
from unpooled_webapp.rehearsal import Rehearsal, Settings, covariates
from unpooled_webapp.rehearsal import rehearse as run_rehearsal
from unpooled_webapp.rehearsal.report import lines
from unpooled_webapp.rehearsal.screen import Screen

# Given once for all cohorts, or once for each in order.
PER_COHORT = ("pheno", "covar", "keep", "remove", "extract", "exclude")
PER_COPY = {"psam": tuple(each.option for each in COPIED), "sample": (OF_BGEN.option,)}
"""Given once, or once for each cohort whose genotypes one of these options gives, in order."""
ONCE = {
    "vcf_dosage": (OF_VCF.option,),
    "copies": tuple(each.option for each in COPIED),
    "minimac3_r2_filter": tuple(option for option in GENOTYPES if option != OF_BFILE.option),
}
"""Given once, for all cohorts whose genotypes one of these options gives."""


FLAGS = {"--1": "zero_one", "--one-class": "one_class"}
"""Flags that are passed on to every client as they are."""

ENCODE = next(name for name, method in METHODS.items() if method.column_type == CATEGORY)
MODELS = {name.removesuffix("-model"): name for name in FITS} | {POLYGENIC.name: POLYGENIC.name}
"""A test of variants and a model may be called the same."""
NORMALIZE = [name for name in METHODS if name != ENCODE and name not in FITS]
FOR_TABLES = {"normalize", "encode", "fit", "outcome", "table", "schema"}
FOR_BOTH = {
    *("out", "template", "files", "keep_home", "quiet"),
    *("masking", "variance", "ring", "min_samples", "threads", TRUST.name),
}


def _paths(context: click.Context, parameter: click.Parameter, values: Sequence[str]) -> list[Path]:
    """--bfile or --pfile prefixes whose three files exist."""
    prefixes = [Path(value) for value in values]
    fileset = next(each for each in FILESETS if each.option == parameter.name)
    missing = [
        f"{prefix}.{kind}"
        for prefix in prefixes
        for kind in fileset.kinds
        if not Path(f"{prefix}.{kind}").is_file()
    ]
    if missing:
        raise click.BadParameter(f"no such file: {', '.join(missing)}", context, parameter)
    return prefixes


def _files(context: click.Context, parameter: click.Parameter, value: str | None) -> list[str]:
    files, known = [word for word in (value or "").split(",") if word], _all_files()
    if (value is not None and not files) or not set(files) <= set(known):
        raise click.BadParameter(f"want some of {','.join(known)}", context, parameter)
    return files


def _all_files() -> list[str]:
    return list(dict.fromkeys(file for method in ALGORITHMS.values() for file in method.files))


def _levels(
    context: click.Context, parameter: click.Parameter, values: Sequence[str]
) -> dict[str, list[str]]:
    """NAME=LEVEL,LEVEL,… of --categorical."""
    found = {}
    for value in values:
        name, _, levels = value.partition("=")
        found[name] = levels.split(",")
        if not name or len(found[name]) < 2 or "" in found[name]:
            raise click.BadParameter(f"got {value!r}; want NAME=LEVEL,LEVEL,…", context, parameter)
    return found


def _words(context: click.Context, parameter: click.Parameter, values: Sequence[str]) -> list[str]:
    return [word.strip() for value in values for word in value.split(",") if word.strip()]


EXISTING = click.Path(exists=True, dir_okay=False, path_type=Path)


class _WithDeclared(click.Command):
    """A command with a flag for each declared option of a study, too."""

    def get_params(self, context: click.Context) -> list[click.Parameter]:
        *own, shows_help = super().get_params(context)
        return [study_templates.flag(), *own, *study_flags.flags(), shows_help]


@click.command(cls=_WithDeclared)
@click.option("--test", type=click.Choice(sorted(TESTS)), default=next(iter(TESTS)), show_default=True,
              help="The association test.")  # fmt: skip
@click.option("--bfile", multiple=True, callback=_paths, metavar="PREFIX",
              help="PLINK files of one cohort; give it three times or more.")  # fmt: skip
@click.option("--pfile", multiple=True, callback=_paths, metavar="PREFIX",
              help="PLINK 2 files of one cohort; after those of --bfile.")  # fmt: skip
@click.option("--vcf", multiple=True, type=EXISTING, metavar="FILE",
              help="The VCF or BCF of one cohort; after those.")  # fmt: skip
@click.option("--vcf-dosage", metavar="FIELD", help="The field that their dosages are taken from.")
@click.option("--bgen", multiple=True, type=EXISTING, metavar="FILE",
              help="The BGEN of one cohort; after those.")  # fmt: skip
@click.option("--psam", multiple=True, type=EXISTING, metavar="FILE",
              help="Sexes and phenotypes of --vcf and --bgen, once or once for each.")  # fmt: skip
@click.option("--sample", multiple=True, type=EXISTING, metavar="FILE",
              help="The .sample of each --bgen.")  # fmt: skip
@click.option("--copies", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              help="Folder for the copies that are made of these.  [in your profile's cache]")  # fmt: skip
@click.option("--minimac3-r2-filter", type=click.FloatRange(0, 1), metavar="X",
              help="Only variants that were imputed at least so well at a cohort.")  # fmt: skip
@click.option("--normalize", type=click.Choice(NORMALIZE),
              help="No test: normalize tables.")  # fmt: skip
@click.option("--encode", is_flag=True, help="No test: encode the columns of words of tables.")
@click.option("--fit", type=click.Choice(list(MODELS)),
              help="No test: fit a model to tables; of PLINK files polygenic, a score.")  # fmt: skip
@click.option(
    "--outcome", metavar="NAME", help="The column that the model predicts; else the schema names it."
)
@click.option("--trait", type=click.Choice(POLYGENIC.traits),
              help="What the phenotype is, of a score.  [quantitative]")  # fmt: skip
@click.option("--table", multiple=True, type=click.Path(exists=True, path_type=Path), metavar="FILE",
              help="The CSV or Parquet table, or the folder of images, of one cohort; give it three times or "
              "more.")  # fmt: skip
@click.option("--schema", type=EXISTING, metavar="FILE",
              help="CSV with lines such as name,type,unit of the columns.  [CSV: all numbers]")  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="PREFIX", help="Result files.")
@click.option(
    "--pheno", multiple=True, type=EXISTING, help="Phenotype file, once for all or once per cohort."
)
@click.option("--pheno-name", multiple=True, callback=_words, metavar="COLUMN,…",
              help="Its column by name, or several: a phenotype each.")  # fmt: skip
@click.option("--mpheno", type=click.IntRange(1), metavar="N", help="Its column by number.")
@click.option(
    "--covar", multiple=True, type=EXISTING, help="Covariate file, once for all or once per cohort."
)
@click.option("--covar-name", multiple=True, callback=_words, metavar="NAME,A-B", help="Its columns by name.")
@click.option(
    "--covar-number", multiple=True, callback=_words, metavar="N,M-P", help="Its columns by number."
)
@click.option("--categorical", multiple=True, callback=_levels, metavar="NAME=LEVEL,…",
              help="A covariate with levels, the reference first.")  # fmt: skip
@click.option("--condition-list", type=EXISTING, help="A file with the IDs of --condition, between blanks.")
@click.option("--adjust", is_flag=True, help="Also adjusted P values.")
@click.option("--clump", is_flag=True, help="Also clumps of associated variants.")
@click.option("--susie", is_flag=True, help="Also credible sets around their leads: implies --clump.")
@click.option("--spa", is_flag=True, help="Also P by a saddlepoint approximation, for few cases.")
@click.option("--1", "zero_one", is_flag=True, help="Phenotypes are 0 and 1, not 1 and 2.")
@click.option("--missing-phenotype", metavar="N", help="The code of a missing phenotype besides -9.")
@click.option(
    "--keep", multiple=True, type=EXISTING, help="Samples to keep, once for all or once per cohort."
)
@click.option("--remove", multiple=True, type=EXISTING, help="Samples to remove, likewise.")
@click.option("--chr", "chromosomes", multiple=True, callback=_words, metavar="N,M-P,X",
              help="Only variants on these chromosomes.")  # fmt: skip
@click.option("--extract", multiple=True, type=EXISTING, help="IDs of variants to keep, likewise.")
@click.option("--exclude", multiple=True, type=EXISTING, help="IDs of variants to leave out, likewise.")
@click.option("--allow-no-sex", is_flag=True, help="Keep phenotypes of samples of unknown sex.")
@click.option("--nonfounders", is_flag=True, help="Count nonfounders in frequencies and HWE too.")
@click.option("--build", default=NOT_REPORTED, metavar="NAME",
              help="Genome build of the positions, such as GRCh38.  [not reported]")  # fmt: skip
@click.option("--chr-set", type=click.IntRange(1, MOST_AUTOSOMES), default=Plan.autosomes, show_default=True,
              help="Autosomes.")  # fmt: skip
@click.option("--files", callback=_files, metavar="FILE,…",
              help=f"Result files, of {','.join(_all_files())}.  [the test's usual ones]")  # fmt: skip
@click.option(
    "--panel-list", type=EXISTING, help="A .bim-like list of variants, instead of the cohorts' own."
)
@click.option(
    "--masking", type=click.Choice(["modular", "gaussian"]), default=Plan.masking, show_default=True
)
@click.option("--variance", type=float, default=Plan.variance, show_default=True, help="Of Gaussian masks.")
@click.option("--ring", type=click.Choice(["32", "64", "128"]), default=str(Plan.ring_bits),
              show_default=True, help="Smallest masking ring, in bits.")  # fmt: skip
@click.option("--chunk-size", type=click.IntRange(0), default=Plan.chunk_size,
              help="Variants asked about at once. [default: chosen to suit the shares]")  # fmt: skip
@click.option("--min-samples", type=click.IntRange(1), default=Plan.min_samples, show_default=True,
              help="Fewest people per cohort.")  # fmt: skip
@click.option("--min-per-class", type=click.IntRange(0), default=Plan.min_per_class, show_default=True,
              help="Fewest cases and controls per cohort.")  # fmt: skip
@click.option("--one-class", is_flag=True, help="A cohort may have only cases, or only controls.")
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True, help="Of each client.")
@click.option("--dask", metavar="ADDRESS", help="Each client computes at this Dask cluster.")
@click.option("--keep-home", type=click.Path(path_type=Path, file_okay=False),
              help="Keep everything the parties stored and logged in this folder.")  # fmt: skip
@click.option("--quiet", is_flag=True, help="Print only what went wrong.")
@click.pass_obj
def rehearse(elsewhere: Callable[[Settings, Screen], Rehearsal] | None, /, **options: Any) -> None:
    """Run a federated study on the files of several cohorts, all on this machine.

    Every party is a process of its own and talks over HTTP, as it would between hospitals. Writes result
    files named as PLINK names them, and PREFIX.report.json with seconds and bytes for each party.
    """
    # Whoever calls it from Python may have a platform that runs, or run the study without one: click's `obj`.
    settings = _settings(options)
    with Screen(quiet=options["quiet"]) as screen:
        done = (elsewhere or run_rehearsal)(settings, screen)
    if not options["quiet"]:
        for line in [*lines(done.report), *map(str, done.files)]:
            click.echo(line)


def _settings(options: dict[str, Any]) -> Settings:
    typed = _typed()
    options = study_templates.begun(options, typed)
    options["normalize"] = _method_of_tables(options)
    if options["fit"] == POLYGENIC.name:
        options |= _of_a_score(options)
    kind = "table" if options["normalize"] else "bfile"
    _refuse_options_of_the_other(
        kind, typed - {"fit", "outcome"} if options["fit"] == POLYGENIC.name else typed
    )
    data = _cohorts(options, kind)
    if len(data) < MIN_COHORTS:
        names = [f"--{name}" for name in _data_options(kind)]
        given = f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} given {len(data)} times"
        raise click.UsageError(f"a study needs at least {MIN_COHORTS} cohorts; {given}")
    if not options["out"].parent.is_dir():
        raise click.BadParameter(f"no such folder: {options['out'].parent}", param_hint="--out")
    return Settings(
        plan=_plan_of_tables(options) if kind == "table" else _plan(options),
        arguments=[
            [*_client_arguments(options, cohort, len(data)), *_of_copy(options, data, cohort), *files]
            for cohort, files in enumerate(data)
        ],
        panel_list=options["panel_list"],
        out=options["out"],
        home=options["keep_home"],
    )


def _cohorts(options: dict[str, Any], kind: str) -> list[list[str]]:
    """Return, for each cohort, the option that gives its data: its table, or its genotypes."""
    return [[f"--{name}", str(path)] for name in _data_options(kind) for path in options[name]]


def _data_options(kind: str) -> list[str]:
    """The options that give a cohort's data."""
    return [kind] if kind == "table" else list(GENOTYPES)


def _method_of_tables(options: dict[str, Any]) -> str | None:
    """Return the method for tables, if this is about tables."""
    given: dict[str, str | None] = {
        "--normalize": options["normalize"],
        "--encode": ENCODE if options["encode"] else None,
        "--fit": MODELS.get(options["fit"]) if options["fit"] != POLYGENIC.name else None,
    }
    asked = {flag: method for flag, method in given.items() if method}
    if len(set(asked.values())) > 1:
        raise click.UsageError(f"{' and '.join(asked)} cannot be combined")
    method = next(iter(asked.values()), None)
    if options["outcome"] and not options["fit"]:
        raise click.UsageError("--outcome goes with --fit")
    if method == ENCODE and not options["schema"]:
        raise click.UsageError("--encode needs --schema, which says how each column of words is encoded")
    return method


def _of_a_score(options: dict[str, Any]) -> dict[str, Any]:
    """Return the plan's fields that follow from --fit polygenic in a study of variants."""
    if options["outcome"] and options["pheno_name"]:
        raise click.UsageError("--outcome and --pheno-name cannot be combined: a score has one outcome")
    outcome = [options["outcome"]] if options["outcome"] else options["pheno_name"]
    return {"test": POLYGENIC.name, "pheno_name": outcome}


def _typed() -> set[str]:
    """The parameters that somebody gave."""
    context = click.get_current_context()
    given = click.core.ParameterSource.COMMANDLINE
    return {name for name in context.params if context.get_parameter_source(name) is given}


def _refuse_options_of_the_other(kind: str, typed: set[str]) -> None:
    """UsageError if what was typed is about variants in a study of tables, or the other way round."""
    of_tables = FOR_TABLES | study_flags.names(METHODS.values())
    wrong = typed - FOR_BOTH - of_tables if kind == "table" else typed & of_tables
    if wrong:
        named = ", ".join(f"--{name.replace('_', '-')}" for name in sorted(wrong))
        raise click.UsageError(f"{named}: not in a study of {'tables' if kind == 'table' else 'variants'}")


def _plan_of_tables(options: dict[str, Any]) -> dict[str, Any]:
    return {
        "test": options["normalize"],
        "schema": [column.to_json() for column in _with_outcome(_schema(options), options)],
        "cohorts": len(options["table"]),
        **({"files": options["files"]} if options["files"] else {}),
        **_common(options),
    }


def _with_outcome(schema: tuple[Column, ...], options: dict[str, Any]) -> tuple[Column, ...]:
    """The columns with the role that --outcome gives to one of them, and to no other.

    A study that normalizes leaves the outcome as it is: so the schema of a model serves before it, too.
    """
    name = options["outcome"]
    if options["normalize"] in NORMALIZE:
        return tuple(replace(c, role=IGNORED) if c.is_outcome else c for c in schema)
    if name is None:
        return schema
    if name not in (column.title for column in schema):
        raise click.BadParameter(
            f"no column is called {name}; there are {listed([column.title for column in schema])}",
            param_hint="--outcome",
        )
    others = (_as_feature(c) if c.is_outcome else c for c in schema)
    return tuple(replace(c, role=OUTCOME, encoding="") if c.title == name else c for c in others)


def _as_feature(outcome: Column) -> Column:
    """Return a column that was the outcome as a feature: its classes are then categories, one-hot."""
    found = replace(outcome, role=FEATURE)
    return replace(found, encoding=ONE_HOT) if found.is_category else found


def _schema(options: dict[str, Any]) -> tuple[Column, ...]:
    """The columns as --schema names them, or as the first table does."""
    path = options["schema"] or options["table"][0]
    if options["schema"]:
        return schema_from_file(path)
    if path.is_dir():
        raise click.UsageError("images need --schema, which says their size, and the classes")
    if _is_parquet(path):
        drafted = read_schema(_schema_of_parquet(path), str(path))
        return tuple(Column(c.title, NUMBER if c.type == NUMBER else TEXT) for c in drafted)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise click.BadParameter(f"{path} is not in UTF-8", param_hint="--table") from error
    return schema_of_header(text)


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def _schema_of_parquet(path: Path) -> str:
    """Read a schema as a cohort's client does, which has a library for such files."""
    command = [sys.executable, "-m", "unpooled_client", "schema", str(path)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)  # noqa: S603
    if done.returncode:
        raise click.BadParameter(done.stderr.strip(), param_hint="--table")
    return done.stdout


def _common(options: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of every plan, and the options that were asked for."""
    return {
        **study_flags.asked(options, ALGORITHMS[options["normalize"] or options["test"]]),
        "min_samples": options["min_samples"],
        "masking": options["masking"],
        "variance": options["variance"],
        "ring_bits": int(options["ring"]),
    }


def _plan(options: dict[str, Any]) -> dict[str, Any]:
    return {
        **_covariates(options),
        **_common(options),
        **_conditions(options),
        "test": options["test"],
        "trait": options["trait"] or TESTS[options["test"]].traits[0],
        **_phenotypes(options),
        "cohorts": len(_cohorts(options, "bfile")),
        "build": options["build"],
        "autosomes": options["chr_set"],
        "chromosomes": options["chromosomes"],
        "nonfounders": options["nonfounders"],
        "allow_no_sex": options["allow_no_sex"],
        "files": _result_files(options),
        "min_per_class": options["min_per_class"],
        "chunk_size": options["chunk_size"],
        "panel_mode": "list" if options["panel_list"] else "names",
    }


def _phenotypes(options: dict[str, Any]) -> dict[str, Any]:
    """The first phenotype and the others: --pheno-name names all of them."""
    first, *further = options["pheno_name"] or ["phenotype"]
    return {"phenotype": first, **({"phenotypes": further} if further else {})}


def _covariates(options: dict[str, Any]) -> dict[str, Any]:
    """The covariates that a --covar file has, as they are chosen."""
    if not options["covar"]:
        if options["covar_name"] or options["covar_number"] or options["categorical"]:
            raise click.UsageError("--covar-name, --covar-number and --categorical are about a --covar file")
        return {}
    if options["covar_name"] and options["covar_number"]:
        raise click.UsageError("--covar-name and --covar-number cannot be combined")
    try:
        names = covariates.chosen(
            covariates.names_in(options["covar"][0]), options["covar_name"], options["covar_number"]
        )
        return {"covariates": covariates.planned(names, options["categorical"])}
    except covariates.NoSuchCovariate as error:
        raise click.BadParameter(str(error), param_hint="--covar") from error


def _conditions(options: dict[str, Any]) -> dict[str, Any]:
    """The variants that a --condition-list names."""
    if options["condition_list"] and options["condition"]:
        raise click.UsageError("--condition and --condition-list cannot be combined")
    path = options["condition_list"]
    return {"condition": path.read_text(encoding="utf-8").split()} if path else {}


def _result_files(options: dict[str, Any]) -> list[str]:
    """Return the result files asked for, else those usual for the test; with --adjust, --clump, --susie
    and --spa also theirs.
    """
    files = options["files"] or list(TESTS[options["test"]].usual_files)
    is_mapped = options["susie"]
    further = {
        "adjusted": options["adjust"],
        CLUMPED: options["clump"] or is_mapped,
        SUSIE: is_mapped,
        SPA: options["spa"],
    }
    return list(dict.fromkeys([*files, *(file for file, is_asked in further.items() if is_asked)]))


def _of_copy(options: dict[str, Any], data: list[list[str]], cohort: int) -> list[str]:
    """Return the arguments of one cohort's client about a file that it copies."""
    kinds = [option.removeprefix("--") for option, _ in data]
    arguments = []
    for name, those in PER_COPY.items():
        given, places = options[name], [place for place, kind in enumerate(kinds) if kind in those]
        if len(given) not in (0, 1, len(places)):
            wanted = " and ".join(f"--{kind}" for kind in those)
            raise click.UsageError(f"--{name} is given {len(given)} times; want once, or once per {wanted}")
        if given and cohort in places:
            arguments += [f"--{name}", str(given[places.index(cohort) % len(given)])]
    for name, those in ONCE.items():
        if options[name] is not None and kinds[cohort] in those:
            arguments += [f"--{name.replace('_', '-')}", str(options[name])]
    return arguments


def _client_arguments(options: dict[str, Any], cohort: int, cohorts: int) -> list[str]:
    """Return the arguments of one cohort's client about its files, in PLINK's words."""
    arguments = ["--threads", str(options["threads"])]
    for name in PER_COHORT:
        given = options[name]
        if len(given) not in (0, 1, cohorts):
            raise click.UsageError(f"--{name} is given {len(given)} times; want once, or once per cohort")
        if given:
            arguments += [f"--{name}", str(given[cohort % len(given)])]
    # Without --pheno an --outcome only names the phenotype that .fam files have.
    if options["pheno_name"] and (options["pheno"] or not options["outcome"]):
        arguments += ["--pheno-name", ",".join(options["pheno_name"])]
    for name in ("mpheno", "missing_phenotype"):
        if options[name] is not None:
            arguments += [f"--{name.replace('_', '-')}", str(options[name])]
    if options["dask"]:
        arguments += ["--dask", options["dask"]]
    arguments += [flag for flag, name in FLAGS.items() if options[name]]
    return arguments
