"""PLINK 1.9 and plink2 on the pooled files of a random federation."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unpooled.plan.genotype_model import ADDITIVE, MODELS

from .files import PHENOTYPE, Tables, columns, pool_names
from .models import conditions, interacting
from .study import Study

PROGRAMS = ("plink1.9", "plink2")
_TIME = 300.0

_COMMANDS = {"chi-square": "--assoc", "linear": "--linear", "logistic": "--logistic"}
_FLAGS = {"nonfounders": "--nonfounders", "allow_no_sex": "--allow-no-sex"}
_NUMBERS = {"maf": "--maf", "geno": "--geno", "hwe": "--hwe", "mind": "--mind", "ci": "--ci"}
_GLM = {"firth-fallback": "logistic.hybrid", "firth": "firth"}
"""Name that plink2 gives its report of a fit that is Firth's in part, or wholly."""
_SINGLE = ("X", "Y", "MT")
NOTHING = "wrote no"
"""Note on a program that ended well but left no report."""
_CRASH = (-signal.SIGSEGV, 128 + signal.SIGSEGV)
_SIMILAR = 1e3
"""Largest ratio of two covariates' deviations; beyond it plink2 wants them standardised."""


@dataclass(frozen=True)
class Reports:
    """Reports that PLINK wrote."""

    files: Mapping[str, bytes]
    """Contents of files by the ends of their names."""
    said: str
    """If there are none, or not of all chromosomes, why."""
    without: frozenset[str] = frozenset()
    """Chromosomes, as plink2 names them, on which it came to no end."""


def missing() -> list[str]:
    """Programs that are not installed."""
    return [name for name in PROGRAMS if shutil.which(name) is None]


def plink1(study: Study, pool: Tables, out: Path) -> Reports:
    """PLINK 1.9's reports, all in one run."""
    words = ["plink1.9", "--bfile", pool.bfile, *_general(study), *_tables(pool), _COMMANDS[study.test]]
    at = len(words)
    words += [word for name, word in (("beta", "beta"), ("hide_covar", "hide-covar")) if study.plan.get(name)]
    words += [flag for name, flag in _FLAGS.items() if study.plan.get(name)]
    for name, flag in _NUMBERS.items():
        words += [flag, study.plan[name]] if name in study.plan else []
    words += [*_chosen(study), *_conditions(study, out)]
    counts = ["--freq", "--missing", "--hardy"]
    if study.test == "chi-square":
        ends = ("assoc", "assoc.adjusted", "frq", "lmiss", "hwe")
        return _reports([*words, *counts, "--adjust"], out, ends)
    report = f"assoc.{study.test}"
    if study.model == ADDITIVE:
        words[at:at] = _model(study)
        return _reports([*words, *counts, *_parameters(study)], out, (report, "frq", "lmiss", "hwe"))
    # After X, Y and MT, which it leaves out then, it takes a variant for another.
    found = _reports([*words, *counts], out, (report, "frq", "lmiss", "hwe"))
    words[at:at] = _model(study)
    # By --chr: with 95 autosomes it may crash on --not-chr, or leave out XY, too.
    others = ["--chr", f"0-{study.autosomes},{study.autosomes + 3}"]
    again = _reports([*words, *others, *_parameters(study)], out.with_name("plink1.model"), (report,))
    return Reports({**found.files, **again.files}, found.said or again.said)


def _model(study: Study) -> list[object]:
    """Modifiers for the model; PLINK 1.9 does not have all of plink2's."""
    model = [] if study.model in (ADDITIVE, "hetonly") else [study.model]
    return [*model, *(["interaction"] if study.plan.get("interaction") else [])]


def _parameters(study: Study) -> list[object]:
    """Return PLINK's --parameters that select the products asked for: without it PLINK has all of them."""
    names = [name for name, _ in [*conditions(study), *columns(study)]]
    some = interacting(study, names)
    if len(some) in (0, len(names)):
        return []
    width = len(MODELS[study.model])
    first = width + len(names) + 1
    products = [str(first + width * k + a) for k in some for a in range(width)]
    return ["--parameters", ",".join([f"1-{first - 1}", *products])]


def rarer_first(study: Study, pool: Tables, out: Path) -> Reports:
    """PLINK 1.9 writes the pooled files anew, of who is left by --mind: A1 is the rarer allele."""
    words = ["plink1.9", "--bfile", pool.bfile, *_general(study), "--allow-no-sex", "--make-bed"]
    words += ["--nonfounders"] if study.plan.get("nonfounders") else []
    words += _chosen(study) + (["--mind", study.plan["mind"]] if "mind" in study.plan else [])
    return _reports(words, out, ("fam",))


def clumps(study: Study, pool: Tables, report: Path, out: Path) -> Reports:
    """PLINK 1.9's clumps of the variants that a report is about."""
    words: list[object] = ["plink1.9", "--bfile", pool.bfile, *_general(study), *_chosen(study)]
    for name in ("clump_p1", "clump_p2", "clump_r2", "clump_kb"):
        if name in study.plan:  # a smaller case may have PLINK's own
            words += [f"--{name.replace('_', '-')}", study.plan[name]]
    return _reports([*words, "--clump", report], out, ("clumped",))


def meta_analysis(study: Study, reports: Sequence[Path], out: Path) -> bytes:
    """PLINK 1.9's meta-analysis of these files."""
    units = "logscale" if study.test == "logistic" else "qt"
    words: list[object] = ["plink1.9", "--meta-analysis", *reports, "+", units, "report-all"]
    return _reports(words, out, ("meta",)).files["meta"]


def pruned(
    study: Study, pool: Tables, names: list[str], windows: str, chromosomes: tuple[str, ...], out: Path
) -> Reports:
    """plink2's pruning of some variants."""
    (listed := out.with_suffix(".variants")).write_text("".join(f"{name}\n" for name in names))
    words: list[object] = ["plink2", "--bfile", pool.bfile, *_general(study), "--extract", listed, "--bad-ld"]
    words += ["--chr", ",".join(chromosomes), "--maf", study.plan.get("maf", 0)]
    words += ["--nonfounders"] if study.plan.get("nonfounders") else []
    words += ["--threads", 1, "--indep-pairwise", *windows.split()]
    return _reports(words, out, ("prune.in", "prune.out"))


def plink2(study: Study, minor: Path, variants: list[str], out: Path) -> Reports:
    """plink2's report of some variants on the files that PLINK 1.9 wrote, about the same people.

    Where it crashes, as it may on X, it is asked for X, Y, MT and the others one after the other.
    """
    (listed := out.with_suffix(".variants")).write_text("".join(f"{name}\n" for name in variants))
    (table := out.with_suffix(".pheno")).write_text("".join(_phenotypes(study)))
    words = ["plink2", "--bfile", minor, *_general(study), "--extract", listed, "--threads", 1]
    words += ["--pheno", table, "--pheno-name", PHENOTYPE]
    words += ["--covar", minor.parent / "pooled.cov"] if columns(study) else []
    words += ["--covar-variance-standardize"] if standardises(study) else []
    words += ["--nonfounders"] if study.plan.get("nonfounders") else []
    words += _conditions(study, out)
    words += ["--ci", study.plan["ci"]] if "ci" in study.plan else []
    firth = str(study.plan.get("firth", "no-firth"))
    words += ["--glm", firth, "skip-invalid-pheno", "omit-ref"]
    words += [study.model] if study.model == "hetonly" else []
    words += _model(study)
    words += ["hide-covar"] if study.plan.get("hide_covar") else []
    words += [] if columns(study) else ["allow-no-covars"]
    words += ["cols=+beta"] if study.plan.get("beta") else []
    words += _parameters(study)
    end = f"{PHENOTYPE}.glm.{_GLM.get(firth, study.test)}"
    found = _reports(words, out, (end,))
    if found.files or NOTHING in found.said:
        return found
    report, without, said = b"", set(), [found.said]
    for names in (_SINGLE, *((name,) for name in _SINGLE)):
        chosen = ["--not-chr" if names == _SINGLE else "--chr", *names]
        part = _reports([*words, *chosen], out.with_name(f"{out.name}.{names[-1]}"), (end,))
        lines = part.files.get(end, b"").splitlines(keepends=True)
        report += b"".join(lines[bool(report) :])
        if not part.files and not any(word in part.said for word in (NOTHING, "No variants")):
            without |= {*_others(study)} if names == _SINGLE else {*names}
            said.append(part.said)
    return Reports({end: report}, "\n".join(said), frozenset(without))


def _others(study: Study) -> list[str]:
    return ["XY", *map(str, range(study.autosomes + 1))]


def standardises(study: Study) -> bool:
    """Tell whether plink2 is to standardise covariates; then its lines about them are in other units."""
    # A product would be another effect then; and what is in units of the pool needs no others.
    if not study.names or study.plan.get("interaction") or study.plan.get("covar_variance_standardize"):
        return False
    values = study.people.covariates
    size = np.nanstd(values, axis=0) + np.abs(np.nanmean(values, axis=0))
    return bool(size.max() > _SIMILAR * max(1e-3, np.nanstd(values, axis=0).min()))


def _phenotypes(study: Study) -> list[str]:
    """Return phenotypes as PLINK 1.9 takes them: missing where sex is unknown, unless told otherwise."""
    values, people = study.people.phenotype, study.people
    if not study.plan.get("allow_no_sex"):
        values = np.where(people.sex == 0, np.nan, values)
    shift = 0 if study.quantitative else 1
    texts = ["NA" if np.isnan(x) else repr(float(x) + shift).removesuffix(".0") for x in values]
    rows = zip(pool_names(study), texts, strict=True)
    return [f"FID IID {PHENOTYPE}\n", *(f"{fid} {iid} {text}\n" for (fid, iid), text in rows)]


def _chosen(study: Study) -> list[object]:
    chromosomes = study.plan.get("chromosomes", ())
    words: list[object] = ["--chr", ",".join(chromosomes)] if chromosomes else []  # type: ignore[arg-type]
    return words + ([f"--filter-{study.plan['sexes']}"] if "sexes" in study.plan else [])


def _conditions(study: Study, out: Path) -> list[object]:
    names = study.plan.get("condition", ())
    if not names:
        return []
    (listed := out.with_suffix(".condition")).write_text("".join(f"{name}\n" for name in names))  # type: ignore[attr-defined]
    return ["--condition-list", listed]


def _general(study: Study) -> list[object]:
    return ["--chr-set", study.autosomes] if study.autosomes != 22 else []


def _tables(pool: Tables) -> list[object]:
    words: list[object] = ["--pheno", pool.pheno, "--pheno-name", PHENOTYPE] if pool.pheno else []
    return words + (["--covar", pool.covar] if pool.covar else [])


def _reports(words: list[object], out: Path, ends: tuple[str, ...]) -> Reports:
    command = [*map(str, words), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIME)
    out.with_suffix(".command").write_text(" ".join(command) + "\n")
    if done.returncode in _CRASH:
        return Reports({}, f"{words[0]} crashes")
    if done.returncode:
        return Reports({}, (done.stdout + done.stderr).strip())
    found = {end: path.read_bytes() for end in ends if (path := Path(f"{out}.{end}")).exists()}
    return Reports(found, "" if ends[0] in found else f"{words[0]} {NOTHING} .{ends[0]}")
