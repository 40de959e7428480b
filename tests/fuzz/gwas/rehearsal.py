"""A random federation through `unpooled rehearse`: server, compensator and clients instead of one process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from .files import PHENOTYPE, Tables
from .ours import Results
from .outcome import Disagreement, Outcome
from .study import Study

_TIME = 600.0
_OF_THE_FAM = "phenotype"
"""What `rehearse` calls the phenotype that no column names."""
_SAME_NAME = (
    "maf",
    "geno",
    "hwe",
    "mind",
    "ci",
    "max_iterations",
    "tolerance",
    "chunk_size",
    "sexes",
    "genotype_model",
)
_SWITCHES = (
    "nonfounders",
    "allow_no_sex",
    "hide_covar",
    "beta",
    "covar_variance_standardize",
    "cohorts_apart",
)
_LISTS = {
    "chromosomes": "--chr",
    "files": "--files",
    "interaction": "--interaction",
    "condition": "--condition",
}


def can_rehearse(study: Study) -> bool:
    """One command line says for all cohorts whether controls are 0. Files are compared of one phenotype."""
    return not (study.zero_one.any() or study.people.further)


def rehearse(
    study: Study, cohorts: Sequence[Tables], results: Results, folder: Path, outcome: Outcome
) -> None:
    """The files of a rehearsal must be those of the run in one process, in every byte."""
    out = folder / "rehearsed"
    words = [*_options(study), *(word for tables in cohorts for word in _files(tables)), "--out", out]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("UNPOOLED_")}
    command = [sys.executable, "-m", "unpooled_webapp", "rehearse", *map(str, words)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=_TIME, env=environment
    )
    for name, report in results.files.items():
        path = Path(f"{out}.{name if study.pheno_file else name.replace(PHENOTYPE, _OF_THE_FAM)}")
        found = path.read_bytes() if path.exists() else b""
        if found != report:
            said = (done.stdout + done.stderr)[-2000:] if done.returncode else f"{len(found)} bytes"
            outcome.disagreements.append(Disagreement(name, "a rehearsal's file is another", "", said, ""))
    outcome.rehearsed += 1


def _options(study: Study) -> list[object]:
    plan = study.plan
    words: list[object] = ["--test", study.test, "--chr-set", study.autosomes, "--quiet", "--one-class"]
    words += ["--min-samples", 1, "--min-per-class", 0]
    for name in (name for name in _SAME_NAME if name in plan):
        words += [f"--{name.replace('_', '-')}", plan[name]]
    words += [f"--{name.replace('_', '-')}" for name in _SWITCHES if plan.get(name)]
    for name, flag in _LISTS.items():
        words += [flag, ",".join(plan[name])] if plan.get(name) else []  # type: ignore[arg-type]
    words += ["--cohort-sums"] if study.levels else []
    for name, levels in study.levels.items():
        words += ["--categorical", f"{name}={','.join(levels)}"]
    return words + (["--pheno-name", PHENOTYPE] if study.pheno_file else [])


def _files(tables: Tables) -> list[object]:
    named = (("--bfile", tables.bfile), ("--pheno", tables.pheno), ("--covar", tables.covar))
    return [word for flag, path in named if path is not None for word in (flag, path)]
