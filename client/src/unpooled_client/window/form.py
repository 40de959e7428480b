"""Entries of a person about the data files, and the command line arguments that say the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from unpooled.errors import listed
from unpooled.panel.filesets import COPIED, FILESETS, GENOTYPES, OF_BFILE, OF_PFILE
from unpooled.plan.common_options import COVARIATES, PHENOTYPES
from unpooled.plan.plan import Plan

MOST_NAMES = 12

LISTS = {
    "keep": "Only the samples in",
    "remove": "Not the samples in",
    "extract": "Only the variants in",
    "exclude": "Not the variants in",
    "read_freq": "Frequencies of a reference",
}
TEXTS = {
    "minimac3_r2_filter": "Least quality of imputation",
    "missing_phenotype": "Missing phenotype",
    "king_cutoff": "Kinship that is reported",
}
FLAGS = {
    "one": "Controls are &0 and cases 1",
    "allow_no_sex": "Keep phenotypes of samples of un&known sex",
    "one_class": "This cohort has only cases, o&r only controls",
}
"""Fields that are shown when a person asks for more, by their labels: files with lists, texts, and boxes."""


@dataclass(frozen=True)
class DataForm:
    """The files and how to read them, as typed. Empty texts stand for "not given"."""

    table: str = ""
    bfile: str = ""
    pfile: str = ""
    vcf: str = ""
    bgen: str = ""
    sample: str = ""
    psam: str = ""
    vcf_dosage: str = ""
    pheno: str = ""
    pheno_name: str = ""
    covar: str = ""
    keep: str = ""
    remove: str = ""
    extract: str = ""
    exclude: str = ""
    read_freq: str = ""
    king_cutoff: str = ""
    minimac3_r2_filter: str = ""
    missing_phenotype: str = ""
    one: bool = False
    allow_no_sex: bool = False
    one_class: bool = False

    def arguments(self) -> list[str]:
        """The options of `unpooled-client check`."""
        found = []
        for field in fields(self):
            value = getattr(self, field.name)
            if value is True:
                found.append(option_of(field.name))
            elif value:
                found += [option_of(field.name), value]
        return found

    def lacks(self, plan: Plan) -> str:
        """Return what must be given before the data can be checked, in words; empty if nothing."""
        if plan.of_tables:
            wanted = (
                "file with this cohort's table" if plan.images is None else "folder of this cohort's images"
            )
            return "" if self.table else f"Choose the {wanted}."
        if not any(getattr(self, option) for option in GENOTYPES):
            return f"Choose the genotypes: any one of the three files {_KINDS}."
        if PHENOTYPES.of(plan) and not self.pheno:
            return "Choose the phenotype file: the plan asks for several phenotypes."
        if self.pheno and not self.pheno_name and not PHENOTYPES.of(plan):
            return "Choose the column of the phenotype file."
        if COVARIATES.of(plan) and not self.covar:
            return "Choose the file of covariates: the plan asks for some."
        return ""

    @property
    def has_more(self) -> bool:
        """True if any field is filled in that is not shown at once."""
        return any(getattr(self, name) for name in (*TEXTS, *LISTS, *FLAGS))

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> DataForm:
        """The form that was filled in for the data options that are kept with the state."""
        given: dict[str, Any] = {}
        for field in fields(cls):
            value = options.get(field.name)
            if value is not None and value != _NO_VALUE.get(field.name):
                given[field.name] = value if isinstance(value, bool) else str(value)
        return cls(**given)


def option_of(field: str) -> str:
    """The option of the command line that says the same as a field of the form."""
    return "--1" if field == "one" else f"--{field.replace('_', '-')}"


_NO_VALUE = {"missing_phenotype": -9}
"""Values that stand for "not given" where that is not None."""


def prefix_of(file: str) -> str:
    """Return the common prefix of the three files, of which one was chosen; any other text as it is."""
    path = Path(file)
    kinds = [kind for fileset in FILESETS for kind in fileset.kinds]
    return str(path.with_suffix("")) if path.suffix.lower()[1:] in kinds else file


def genotypes_of(text: str) -> dict[str, Any]:
    """The field of the form that a chosen file of genotypes, or what their names have in common, belongs to.

    Without an ending, the files that are there say which.
    """
    for copied in COPIED:
        if text.lower().endswith(copied.endings):
            return {copied.option: text}
    suffix, prefix = Path(text).suffix.lower()[1:], prefix_of(text)
    is_pfile = suffix in OF_PFILE.kinds or (
        suffix not in OF_BFILE.kinds
        and Path(f"{prefix}.{OF_PFILE.genotypes}").exists()
        and not Path(f"{prefix}.{OF_BFILE.genotypes}").exists()
    )
    return {(OF_PFILE if is_pfile else OF_BFILE).option: prefix}


_KINDS = "; or ".join(
    [
        *(", ".join(f".{kind}" for kind in fileset.kinds) for fileset in FILESETS),
        f"one file {', '.join(ending for copied in COPIED for ending in copied.endings)}",
    ]
)


def genotypes_text(form: DataForm) -> str:
    """Return the text of the field: the .pgen of three files, the one file, or the prefix of a --bfile."""
    return f"{form.pfile}.{OF_PFILE.genotypes}" if form.pfile else form.vcf or form.bgen or form.bfile


Columns = Sequence[Mapping[str, Any]]
"""Columns of a file as `unpooled-client columns --json` tells them."""


def likely_phenotype(plan: Plan, columns: Columns) -> tuple[str, str]:
    """The column that the phenotype is probably in, and why if its name does not say it; empty if unclear."""
    names = [column["name"] for column in columns if column["name"]]
    if not plan.phenotype or plan.phenotype in names:
        return plan.phenotype, ""
    same = [name for name in names if name.lower() == plan.phenotype.lower()]
    if len(same) == 1:
        return same[0], ""
    covariates = {covariate.title for covariate in COVARIATES.of(plan)}
    kind = "case/control" if plan.trait == "case/control" else "number"
    left = [column for column in columns if column["name"] in names and column["name"] not in covariates]
    fits = [column["name"] for column in left if column["type"] == kind]
    if len(fits) == 1:
        return fits[0], "It is the only column that fits: look at its values."
    return "", ""


def has_covariates(plan: Plan, columns: Columns) -> bool:
    """Tell whether a file has every covariate that the plan asks for."""
    names = {column["name"] for column in columns}
    return bool(COVARIATES.of(plan)) and all(covariate.title in names for covariate in COVARIATES.of(plan))


def columns_found(wanted: Sequence[str], what: str, columns: Columns | None) -> str:
    """Name those of the plan's columns that a file has, in words; `columns` is None before it was read."""
    if not wanted:
        return ""
    if not columns:
        return f"The plan asks for the {what} {listed(wanted, MOST_NAMES)}."
    names = {column["name"] for column in columns}
    missing = [name for name in wanted if name not in names]
    if not missing:
        return f"✓ All {len(wanted)} {what} of the plan are in the file."
    return f"✗ Not in the file: {listed(missing, MOST_NAMES)}. It has: {listed(sorted(names), MOST_NAMES)}."
