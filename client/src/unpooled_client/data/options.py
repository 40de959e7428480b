"""Options that name a cohort's files and say how to read them: PLINK's names with PLINK's meaning."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from unpooled.methods import TESTS
from unpooled.methods.shared.options import DOSAGES
from unpooled.panel.chromosomes import HUMAN, MOST_AUTOSOMES
from unpooled.panel.filesets import COPIED, GENOTYPES, OF_BFILE, OF_PFILE, Copied, Fileset
from unpooled.plan import common_options
from unpooled.plan.floors import QUANTITATIVE
from unpooled.plan.plan import Plan
from unpooled.plan.schema import Column
from unpooled_client.data.findings.report import Code, Report


@dataclass(frozen=True)
class Covariate:
    """A covariate that the plan asks for."""

    name: str
    levels: tuple[str, ...] = ()
    """All levels of a categorical covariate, the reference first. Empty for a number."""


@dataclass(frozen=True)
class DataOptions:
    """Everything that decides how a cohort's files are read. None stands for "not given"."""

    table: Path | None = None
    """The table of a study of tables; no other file is then given."""
    bfile: Path | None = None
    pfile: Path | None = None
    vcf: Path | None = None
    vcf_dosage: str | None = None
    """The field of the --vcf that dosages are taken from; None for the best."""
    bgen: Path | None = None
    sample: Path | None = None
    psam: Path | None = None
    copies: Path | None = None
    """The folder of what `unpooled_client.data.imputed.copies` makes."""
    bed: Path | None = None
    bim: Path | None = None
    fam: Path | None = None
    pheno: Path | None = None
    mpheno: int | None = None
    pheno_name: str | None = None
    covar: Path | None = None
    covar_name: tuple[str, ...] = ()
    covar_number: tuple[str, ...] = ()
    keep: Path | None = None
    remove: Path | None = None
    extract: Path | None = None
    exclude: Path | None = None
    minimac3_r2_filter: float | None = None
    """The least quality of imputation."""
    quality: Path | None = None
    """File of each variant's imputation quality, for a copy: see `unpooled_client.data.imputed.copies`."""
    missing_phenotype: int = -9
    one: bool = False
    allow_no_sex: bool = False
    chr_set: int = HUMAN
    min_samples: int | None = None
    min_per_class: int | None = None
    chromosomes: tuple[str, ...] = ()
    """The plan's chromosomes; empty for all."""
    condition: tuple[str, ...] = ()
    """IDs of variants that the plan conditions on, where the cohort may say in clear that it lacks one."""
    by_place: bool = False
    """True if the plan names variants by place and alleles."""
    dosages: bool = False
    """True if the plan's study is of imputed dosages."""
    sexes: str = common_options.EVERYONE
    """The plan's choice of sexes."""
    build: str = ""
    """The plan's genome build; like `test`, empty if there is no plan."""
    test: str = ""
    one_class: bool = False
    """The data manager says: this cohort has only cases, or only controls."""
    phenotypes: tuple[str, ...] = ()
    """The plan's phenotypes, if it has several."""
    require_pheno: bool = False
    """True if the plan excludes whoever lacks any phenotype from all counts."""
    trait: str | None = None
    """The plan's kind of trait; None lets the values decide, as PLINK does."""
    covariates: tuple[Covariate, ...] = ()
    """Covariates whose kind is known: those of the plan, or of --categorical."""
    schema: tuple[Column, ...] = ()
    """Columns of the table, as the plan names them."""
    from_plan: bool = False
    """`covariates` are all that the plan has, in its order: --covar-name and --covar-number do not choose."""

    def to_json(self) -> dict[str, Any]:
        """Return the options as they are kept with the state; paths are absolute, so that the folder does not
        matter.
        """
        return {name: _plain(value) for name, value in dataclasses.asdict(self).items()}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> DataOptions:
        """The options that `to_json` wrote, perhaps of a release that had fewer."""
        paths = {field.name for field in dataclasses.fields(cls) if "Path" in str(field.type)}
        found: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
        }
        found |= {name: Path(found[name]) for name in paths if found.get(name) is not None}
        return cls(**found)

    @property
    def needs_phenotype(self) -> bool:
        """Tell whether the plan's test does; without a plan it may be any."""
        return not self.test or TESTS[self.test].needs_phenotype

    @property
    def copied(self) -> Copied | None:
        """The format of which a copy is made first; None of PLINK's own."""
        return next((each for each in COPIED if getattr(self, each.option) is not None), None)

    @property
    def is_copy(self) -> bool:
        """Tell whether a copy is read, which has a row of genotypes for each alternate allele."""
        return self.quality is not None

    @property
    def fileset(self) -> Fileset:
        return OF_BFILE if self.pfile is None else OF_PFILE

    @property
    def prefix(self) -> Path | None:
        """Common prefix of the three genotype files, if it was given; or the one file that is copied."""
        found: Path | None = getattr(self, (self.copied or self.fileset).option)
        return found

    @property
    def genotypes(self) -> Path:
        """The .bed or .pgen, or the one file that is copied."""
        copied: Path | None = getattr(self, self.copied.option) if self.copied else None
        return copied or self._file(self.fileset.genotypes)

    @property
    def variants(self) -> Path:
        """The .bim or .pvar."""
        return self._file(self.fileset.variants)

    @property
    def samples(self) -> Path:
        """The .fam or .psam."""
        return self._file(self.fileset.samples)

    def _file(self, kind: str) -> Path:
        """Return the path that was given for a kind of file, else the one with the common prefix."""
        given: Path | None = getattr(self, kind, None)
        return given if given is not None else Path(f"{self.prefix}.{kind}")

    @property
    def paths(self) -> dict[str, Path]:
        """All files that are read, by what they are."""
        if self.table is not None:
            return {"table": self.table}
        files = (
            {self.copied.option: self.genotypes}
            if self.copied
            else {kind: self._file(kind) for kind in self.fileset.kinds}
        )
        others = {name: getattr(self, name) for name in _OTHERS}
        return files | {name: path for name, path in others.items() if path is not None}

    @property
    def pheno_names(self) -> tuple[str, ...]:
        """The columns of the --pheno file that are chosen by their names; none if none is."""
        return tuple(self.pheno_name.split(",")) if self.pheno_name else self.phenotypes

    def reads(self, path: Path) -> bool:
        """Tell whether a file is one of the inputs: nothing may be written there."""
        # Resolved, for a link may lead to a data file.
        return path.resolve() in {each.resolve() for each in self.paths.values()}

    def under(self, plan: Plan) -> DataOptions:
        """The same files as a plan wants them read. A cohort may raise the plan's floors, not lower them."""
        return dataclasses.replace(
            self,
            trait=plan.trait,
            phenotypes=plan.phenotype_names if common_options.PHENOTYPES.of(plan) else (),
            require_pheno=common_options.REQUIRE_PHENO.of(plan),
            covariates=tuple(Covariate(c.title, c.levels) for c in common_options.COVARIATES.of(plan)),
            schema=plan.schema,
            from_plan=True,
            chr_set=plan.autosomes,
            chromosomes=plan.chromosomes,
            condition=common_options.CONDITION.of(plan) if plan.panel_mode == "names" else (),
            by_place=common_options.BY_PLACE.of(plan),
            dosages=bool(DOSAGES.of(plan)),
            sexes=common_options.SEXES.of(plan),
            build=plan.build,
            test=plan.test,
            allow_no_sex=plan.allow_no_sex,
            min_samples=max(plan.min_samples, self.min_samples or 0),
            min_per_class=max(plan.min_per_class, self.min_per_class or 0),
        )


_OTHERS = ("psam", "sample", "pheno", "covar", "keep", "remove", "extract", "exclude")
"""Files beside those of genotypes."""


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value.absolute())
    return list(value) if isinstance(value, tuple) else value


def check_options(options: DataOptions, report: Report) -> bool:
    """Tell whether the options are compatible; the report says which are not."""
    problems = [
        *_about_genotypes(options),
        *_about_phenotypes(options),
        *_about_covariates(options),
        *_about_numbers(options),
    ]
    for message, remedy in problems:
        report.error(Code.OPTION, message, remedy=remedy)
    return not problems


_Problems: TypeAlias = Iterator[tuple[str, str]]
"""Problems of the options, each with its remedy."""


def _about_genotypes(options: DataOptions) -> _Problems:
    is_imputed = options.copied is not None or options.pfile is not None
    kinds = [name for name in GENOTYPES if name != OF_BFILE.option and getattr(options, name) is not None]
    if any(each is not None for each in (options.bfile, options.bed, options.bim, options.fam)):
        kinds.insert(0, OF_BFILE.option)
    if options.prefix is None and None in (options.bed, options.bim, options.fam):
        remedy = (
            "Give --bfile PREFIX, or --bed, --bim and --fam; or --pfile PREFIX, --vcf FILE or --bgen FILE."
        )
        yield "no genotypes given", remedy
    if len(kinds) > 1:
        names = " and ".join(f"--{kind}" for kind in kinds)
        yield f"{names} cannot be combined", "Give the genotypes once."
    if options.copied is None and (options.psam, options.copies) != (None, None):
        yield "--psam and --copies go with --vcf and --bgen", "A --pfile has its .psam beside it."
    if options.minimac3_r2_filter is not None and not is_imputed:
        what = "--minimac3-r2-filter is for imputed genotypes: --pfile, --vcf or --bgen"
        yield what, "A .bed has hard calls only."
    if options.vcf is None and options.vcf_dosage is not None:
        yield "--vcf-dosage goes with --vcf", "Leave it out."
    if options.bgen is None and options.sample is not None:
        yield "--sample goes with --bgen", "Leave it out."


def _about_phenotypes(options: DataOptions) -> _Problems:
    wanted, names = options.phenotypes, options.pheno_names
    if options.needs_phenotype and options.copied and options.psam is None and options.pheno is None:
        remedy = "Give --psam FILE, a .psam or .fam with sexes and phenotypes, or --pheno FILE."
        yield "neither a VCF nor a BGEN says anything of phenotypes", remedy
    if options.needs_phenotype and options.vcf and options.psam is None and not options.allow_no_sex:
        what = "a VCF says nothing of sexes, and nobody without a sex is analysed"
        yield what, "Give --psam FILE, or keep everybody with --allow-no-sex."
    if options.mpheno is not None and options.pheno_name is not None:
        yield "--mpheno and --pheno-name cannot be combined", "Give the one or the other."
    if options.pheno is None and (options.mpheno is not None or options.pheno_name is not None):
        yield "--mpheno and --pheno-name choose a column of the --pheno file", "Give --pheno FILE too."
    if options.pheno is None and wanted:
        what = f"the study has several phenotypes: {', '.join(wanted)}"
        yield what, "Give --pheno FILE, whose columns have these names."
    if options.mpheno is not None and wanted:
        what = f"the study has several phenotypes, and --mpheno chooses one: {', '.join(wanted)}"
        remedy = (
            "Choose them by --pheno-name, in this order; or leave it out if the columns have these names."
        )
        yield what, remedy
    if options.from_plan and len(names) not in (0, len(wanted) or 1):
        has = f"the phenotypes {', '.join(wanted)}" if wanted else "one phenotype"
        remedy = "Name one column for each phenotype, in the study's order, with commas between."
        yield f"--pheno-name chooses {len(names)} columns, and the study has {has}", remedy
    if len(set(names)) < len(names):
        yield "--pheno-name chooses a column twice", "Name one column for each phenotype."


def _about_covariates(options: DataOptions) -> _Problems:
    if options.covar_name and options.covar_number:
        yield "--covar-name and --covar-number cannot be combined", "Give the one or the other."
    if options.covar is None and (options.covar_name or options.covar_number):
        yield "--covar-name and --covar-number choose columns of the --covar file", "Give --covar FILE too."
    if options.covar is None and options.covariates:
        yield f"covariates are wanted: {', '.join(c.name for c in options.covariates)}", "Give --covar FILE."


def _about_numbers(options: DataOptions) -> _Problems:
    if options.missing_phenotype in (0, 1):
        remedy = "Choose a number that does not occur as a value."
        yield "--missing-phenotype may be neither 0 nor 1, as in PLINK", remedy
    if not 1 <= options.chr_set <= MOST_AUTOSOMES:
        yield f"--chr-set takes 1 to {MOST_AUTOSOMES} autosomes", "Give 22 for humans, 19 for the mouse."
    if options.one and options.trait == QUANTITATIVE:
        yield "--1 is for case/control, and the plan says quantitative", "Leave --1 out."


def options_from(given: dict[str, Any]) -> DataOptions:
    """The options of a command from click's parameters; takes its own out of `given`."""
    fields = {field.name for field in dataclasses.fields(DataOptions)}
    values = {name: given.pop(name) for name in list(given) if name in fields}
    for name in ("covar_name", "covar_number"):
        values[name] = tuple(part for word in values.get(name, ()) for part in word.split(",") if part)
    return DataOptions(**values)
