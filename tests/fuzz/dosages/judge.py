"""The report of a random federation of dosages beside plink2's of its pool."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from unpooled.errors import UnpooledError
from unpooled.kernels.dosages import COPY
from unpooled.methods.regression.options import FIRTH
from unpooled.methods.shared.summary import VARIANTS
from unpooled.plan.common_options import CONDITION, COVARIATES, GLM_COLS, HIDE_COVAR
from unpooled.plan.genotype_model import ADDITIVE, GENOTYPE_MODEL, INTERACTION, JOINT, terms_of
from unpooled.plan.options import called
from unpooled.run import reports

from ... import in_process
from ...oracles.regression import Rows
from ...oracles.reports import GLM, Row, rows, unit
from .federation import FLAGS, Federation, write_cohort, write_pool

WORDS = (*GLM, "AX", "A1_CT", "ALLELE_CT", "A1_FREQ", "MACH_R2", "FIRTH?")
"""Columns that must be the same to the letter."""
FITS = ("ERRCODE", "FIRTH?")
"""Columns among these that say how a fit went: plink2 may find no maximum where there is one, or the reverse.
"""
NEAR = {"linear": 1e-5, "logistic": 2e-3}
"""Tolerance of numbers, besides a last digit: plink2 computes logistic fits in single precision."""
RIGHT = 5e-5
"""Tolerance against statsmodels for a number that differs from plink2's, which has six digits."""

NEAR_IT = "lines with numbers within the bars"
PLINK2 = "lines of which plink2 has other numbers, and statsmodels ours: such as beside missing dosages"
GAVE_UP = "lines of which plink2 has no numbers, and statsmodels ours"
TIE = "lines about the other one of two equally common alleles"
LIMIT = "lines whose Firth's fit ends neither here nor in plink2 within the steps that are allowed"
NO_ESTIMATE = "lines without numbers, where the likelihood has no maximum or columns depend on one another"


@dataclass
class Outcome:
    """Outcome of one federation, or of many."""

    lines: int = 0
    identical: int = 0
    notes: Counter[str] = field(default_factory=Counter)
    disagreements: list[str] = field(default_factory=list)

    def __add__(self, other: Outcome) -> Outcome:
        counts = self.lines + other.lines, self.identical + other.identical
        return Outcome(*counts, self.notes + other.notes, self.disagreements + other.disagreements)

    def __str__(self) -> str:
        notes = "".join(f"\n{times:6}  {note}" for note, times in self.notes.most_common())
        return f"{self.lines:,} lines, {self.identical:,} identical{notes}"


def plink2(*arguments: object) -> str:
    """plink2, as the makers of files call it."""
    command = [shutil.which("plink2") or "plink2", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def compare(federation: Federation, folder: Path) -> Outcome:
    """Run a federation in one process and plink2 on its pool, in a folder, and compare every line."""
    try:
        ours = _ours(federation, folder)
    except UnpooledError as refusal:
        return Outcome(notes=Counter({f"refused: {str(refusal).splitlines()[0][:80]}": 1}))
    theirs = _theirs(federation, folder)
    if isinstance(theirs, str):
        return Outcome(notes=Counter({f"plink2: {theirs[:80]}": 1}))
    return _beside(federation, ours, theirs)


def _ours(federation: Federation, folder: Path) -> Path:
    plan, arguments = federation.plan, []
    for number in range(plan.cohorts):
        words = write_cohort(plink2, federation, number, folder / f"cohort{number}")
        words += ["--copies", folder / "copies"] if {"--vcf", "--bgen"} & {*map(str, words)} else []
        arguments.append([*map(str, words), "--one-class"])
    found = in_process.run_study(plan, arguments)
    if VARIANTS not in found.tables:
        raise UnpooledError("no variant passes the filters")
    (path := folder / "ours.glm").write_bytes(reports(plan, found.panel, found.tables)["glm"])
    return path


def _theirs(federation: Federation, folder: Path) -> Path | str:
    """plink2's report; what it says where it has none."""
    plan = federation.plan
    words = write_pool(plink2, federation, folder / "pool")
    words += [word for name, flag in FLAGS.items() if (value := called(name).of(plan)) not in (0, 1)
              for word in (flag, value)]  # fmt: skip
    words += ["--condition", *CONDITION.of(plan)] if CONDITION.of(plan) else []
    words += [
        "--glm",
        *([FIRTH.of(plan)] if plan.test == "logistic" else []),
        f"cols={','.join(GLM_COLS.of(plan))}",
    ]
    words += [model] if (model := GENOTYPE_MODEL.of(plan)) != ADDITIVE else []
    words += ["interaction"] if INTERACTION.of(plan) else []
    words += ["hide-covar"] if HIDE_COVAR.of(plan) else []
    words += [] if COVARIATES.of(plan) else ["allow-no-covars"]
    try:
        plink2(*words, "--threads", 1, "--out", folder / "theirs")
    except subprocess.CalledProcessError as error:
        return str(error.stderr).strip().splitlines()[-1]
    return next(folder.glob("theirs.*.glm.*"))


def _beside(federation: Federation, ours: Path, theirs: Path) -> Outcome:
    found = Outcome(notes=Counter({federation.plan.test: 1}))
    mine, their = ({(row["ID"], row["TEST"]): row for row in rows(path)} for path in (ours, theirs))
    if list(mine) != list(their):
        odd = sorted(mine.keys() ^ their.keys())[:5]
        found.disagreements.append(f"other lines: {odd}")
    for key in mine.keys() & their.keys():
        found.lines += 1
        found.identical += mine[key] == their[key]
        if mine[key] != their[key]:
            _judge(federation, mine[key], their[key], found)
    return found


def _judge(federation: Federation, ours: Row, theirs: Row, found: Outcome) -> None:
    """Two lines that differ: whether that is rounding, or plink2's, and ours is statsmodels'."""
    both = f"\n    ours   {' '.join(ours.values())}\n    plink2 {' '.join(theirs.values())}"
    different = [title for title in WORDS if ours.get(title) != theirs.get(title)]
    if different and different[0] in ("REF", "ALT", "A1") and _is_tied(federation, ours):
        found.notes[TIE] += 1
    elif any(title not in FITS for title in different):
        found.disagreements.append(f"another {different[0]}{both}")
    elif not different and _is_near(federation, ours, theirs):
        found.notes[NEAR_IT] += 1
    elif (ours["ERRCODE"], theirs["ERRCODE"]) == ("FIRTH_CONVERGE_FAIL", "UNFINISHED"):
        found.notes[LIMIT] += 1
    elif ours["P"] == "NA":
        regression = regression_of(federation, ours)
        if regression.is_dependent or (federation.plan.test == "logistic" and not regression.is_estimable()):
            found.notes[NO_ESTIMATE] += 1
        else:
            found.disagreements.append(f"NA though there is an estimate{both}")
    elif _is_right(federation, ours):
        found.notes[PLINK2 if theirs["P"] != "NA" else GAVE_UP] += 1
    else:
        found.disagreements.append(f"other numbers{both}")


def _is_tied(federation: Federation, line: Row) -> bool:
    """Tell whether both alleles are equally common in founders, so that plink2's rounding may say which is
    A1.
    """
    dosages = federation.pooled[federation.place(line["ID"])]
    inside = (federation.sex == 1) | (line["#CHROM"] != "Y")
    counted = dosages[(dosages >= 0) & inside & (federation.founder | federation.plan.nonfounders)]
    return int(counted.sum()) == len(counted) * COPY


def _is_near(federation: Federation, ours: Row, theirs: Row) -> bool:
    """Tell whether numbers are plink2's, as closely as it computes."""
    near = NEAR[federation.plan.test]
    for title in ours.keys() - {*WORDS}:
        a, b = ours[title], theirs[title]
        if a != b and "NA" in (a, b):
            return False
        scale = max(abs(float(b)), 1.0 if title.endswith("_STAT") else 0.0) if a != b else 0.0
        if a != b and abs(float(a) - float(b)) > near * scale + 1.001 * unit(b, 6):
            return False
    return True


def _is_right(federation: Federation, ours: Row) -> bool:
    """Tell whether estimate and standard error are statsmodels', or those by definition of Firth's fit."""
    rows = regression_of(federation, ours)
    is_penalised = ours.get("FIRTH?") == "Y" or FIRTH.of(federation.plan) == "firth"
    fit = rows.penalised(np.zeros(rows.x.shape[1] - 1)) if is_penalised else rows.fit()
    if fit is None:
        return False
    statistic = next(title for title in ours if title.endswith("_STAT"))
    if ours["TEST"] == JOINT:
        joint = fit.together([0, 1])
        return abs(float(ours[statistic]) - joint / 2) <= RIGHT * joint
    error = float(ours["LOG(OR)_SE" if "OR" in ours else "SE"])
    # An odds ratio may print as 0.
    effect = float(ours[statistic]) * error if "OR" in ours else float(ours["BETA"])
    beta, se, _ = fit.of(ours["TEST"])
    return abs(effect - beta) <= RIGHT * max(se, abs(beta)) and abs(error - se) <= RIGHT * se


def regression_of(federation: Federation, line: Row) -> Rows:
    """The regression that a line is about, of everybody who is in it, as plink2 counts copies."""
    variant, sex = federation.place(line["ID"]), federation.sex
    place, dosages = federation.chromosome[variant], federation.pooled[variant]
    copies = np.where(dosages < 0, np.nan, dosages / COPY)
    copies = copies if line["A1"] != "A" else 2 - copies
    conditions = federation.conditions
    beside = [*conditions.values(), *federation.covariates.T]
    coded, half = terms_of(federation.plan).coded, 2 if place in ("Y", "MT") else 1
    own = [np.interp(copies, (0, 1, 2), one.values) / half for one in coded]
    columns = [*own, *beside]
    names = [
        *(one.test for one in coded),
        *conditions,
        *(covariate.title for covariate in COVARIATES.of(federation.plan)),
    ]
    complete = ~np.isnan([federation.phenotype, *beside]).any(axis=0)
    inside = complete & ~np.isnan(copies)
    if place == "X" and {1, 2} <= set(sex[complete].tolist()):
        inside &= sex > 0
        columns, names = [*columns, sex.astype(float)], [*names, "SEX"]
    factors = [(a, k) for k in range(len(own), len(columns)) for a in range(len(own))]
    factors = factors if INTERACTION.of(federation.plan) else []
    products = tuple((1 + len(columns) + k, 1 + a, 1 + b) for k, (a, b) in enumerate(factors))
    names += [f"{names[a]}x{names[b]}" for a, b in factors]
    columns += [columns[a] * columns[b] for a, b in factors]
    if place == "Y":
        inside &= sex == 1
    x = np.column_stack([np.ones(len(sex)), *columns])[inside]
    return Rows(federation.plan.test, tuple(names), federation.phenotype[inside], x, products)
