"""Options that name a cohort's files and say how to read them: PLINK's names with PLINK's meaning."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unpooled.methods import TESTS
from unpooled.methods.shared.options import DOSAGES
from unpooled.panel.chromosomes import HUMAN, MOST_AUTOSOMES
from unpooled.panel.filesets import COPIED, GENOTYPES, OF_BFILE, OF_PFILE, Copied, Fileset
from unpooled.plan.common_options import (
    BY_PLACE,
    CONDITION,
    COVARIATES,
    EVERYONE,
    PHENOTYPES,
    REQUIRE_PHENO,
    SEXES,
)
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
    sexes: str = EVERYONE
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
        return path.resolve() in {each.resolve() for each in self.paths.values()}

    def under(self, plan: Plan) -> DataOptions:
        """The same files as a plan wants them read. A cohort may raise the plan's floors, not lower them."""
        return dataclasses.replace(
            self,
            trait=plan.trait,
            phenotypes=plan.phenotype_names if PHENOTYPES.of(plan) else (),
            require_pheno=REQUIRE_PHENO.of(plan),
            covariates=tuple(Covariate(c.title, c.levels) for c in COVARIATES.of(plan)),
            schema=plan.schema,
            from_plan=True,
            chr_set=plan.autosomes,
            chromosomes=plan.chromosomes,
            condition=CONDITION.of(plan) if plan.panel_mode == "names" else (),
            by_place=BY_PLACE.of(plan),
            dosages=bool(DOSAGES.of(plan)),
            sexes=SEXES.of(plan),
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


def _kinds_given(options: DataOptions) -> list[str]:
    """The options that give genotypes, of those that exclude one another."""
    is_bfile = any(each is not None for each in (options.bfile, options.bed, options.bim, options.fam))
    names = [name for name in GENOTYPES if name != OF_BFILE.option and getattr(options, name) is not None]
    return [f"--{name}" for name in [*([OF_BFILE.option] if is_bfile else []), *names]]


def check_options(options: DataOptions, report: Report) -> bool:
    """Tell whether the options are compatible; the report says which are not."""
    rules = [
        (
            options.prefix is not None or None not in (options.bed, options.bim, options.fam),
            "no genotypes given",
            "Give --bfile PREFIX, or --bed, --bim and --fam; or --pfile PREFIX, --vcf FILE or --bgen FILE.",
        ),
        (
            len(_kinds_given(options)) < 2,
            f"{' and '.join(_kinds_given(options))} cannot be combined",
            "Give the genotypes once.",
        ),
        (
            options.copied is not None or (options.psam, options.copies) == (None, None),
            "--psam and --copies go with --vcf and --bgen",
            "A --pfile has its .psam beside it.",
        ),
        (
            options.minimac3_r2_filter is None or options.copied is not None or options.pfile is not None,
            "--minimac3-r2-filter is for imputed genotypes: --pfile, --vcf or --bgen",
            "A .bed has hard calls only.",
        ),
        (
            not options.needs_phenotype
            or options.copied is None
            or not (options.psam is None and options.pheno is None),
            "neither a VCF nor a BGEN says anything of phenotypes",
            "Give --psam FILE, a .psam or .fam with sexes and phenotypes, or --pheno FILE.",
        ),
        (
            not options.needs_phenotype
            or options.vcf is None
            or options.psam is not None
            or options.allow_no_sex,
            "a VCF says nothing of sexes, and nobody without a sex is analysed",
            "Give --psam FILE, or keep everybody with --allow-no-sex.",
        ),
        (
            options.vcf is not None or options.vcf_dosage is None,
            "--vcf-dosage goes with --vcf",
            "Leave it out.",
        ),
        (
            options.bgen is not None or options.sample is None,
            "--sample goes with --bgen",
            "Leave it out.",
        ),
        (
            not (options.mpheno is not None and options.pheno_name is not None),
            "--mpheno and --pheno-name cannot be combined",
            "Give the one or the other.",
        ),
        (
            options.pheno is not None or (options.mpheno is None and options.pheno_name is None),
            "--mpheno and --pheno-name choose a column of the --pheno file",
            "Give --pheno FILE too.",
        ),
        (
            options.pheno is not None or not options.phenotypes,
            f"the study has several phenotypes: {', '.join(options.phenotypes)}",
            "Give --pheno FILE, whose columns have these names.",
        ),
        (
            options.mpheno is None or not options.phenotypes,
            f"the study has several phenotypes, and --mpheno chooses one: {', '.join(options.phenotypes)}",
            "Choose them by --pheno-name, in this order; or leave it out if the columns have these names.",
        ),
        (
            not options.from_plan or len(options.pheno_names) in (0, len(options.phenotypes) or 1),
            f"--pheno-name chooses {len(options.pheno_names)} columns, and the study has "
            + (f"the phenotypes {', '.join(options.phenotypes)}" if options.phenotypes else "one phenotype"),
            "Name one column for each phenotype, in the study's order, with commas between.",
        ),
        (
            len(set(options.pheno_names)) == len(options.pheno_names),
            "--pheno-name chooses a column twice",
            "Name one column for each phenotype.",
        ),
        (
            not (options.covar_name and options.covar_number),
            "--covar-name and --covar-number cannot be combined",
            "Give the one or the other.",
        ),
        (
            options.covar is not None or not (options.covar_name or options.covar_number),
            "--covar-name and --covar-number choose columns of the --covar file",
            "Give --covar FILE too.",
        ),
        (
            options.covar is not None or not options.covariates,
            f"covariates are wanted: {', '.join(c.name for c in options.covariates)}",
            "Give --covar FILE.",
        ),
        (
            options.missing_phenotype not in (0, 1),
            "--missing-phenotype may be neither 0 nor 1, as in PLINK",
            "Choose a number that does not occur as a value.",
        ),
        (
            1 <= options.chr_set <= MOST_AUTOSOMES,
            f"--chr-set takes 1 to {MOST_AUTOSOMES} autosomes",
            "Give 22 for humans, 19 for the mouse.",
        ),
        (
            not (options.one and options.trait == QUANTITATIVE),
            "--1 is for case/control, and the plan says quantitative",
            "Leave --1 out.",
        ),
    ]
    for holds, message, remedy in rules:
        if not holds:
            report.error(Code.OPTION, message, remedy=remedy)
    return all(holds for holds, _, _ in rules)


def options_from(given: dict[str, Any]) -> DataOptions:
    """The options of a command from click's parameters; takes its own out of `given`."""
    fields = {field.name for field in dataclasses.fields(DataOptions)}
    values = {name: given.pop(name) for name in list(given) if name in fields}
    for name in ("covar_name", "covar_number"):
        values[name] = tuple(part for word in values.get(name, ()) for part in word.split(",") if part)
    return DataOptions(**values)
