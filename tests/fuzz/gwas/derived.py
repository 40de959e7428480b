"""Files that follow from a report, or from its numbers: adjusted P values, clumps, GWAS-SSF."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
from statsmodels.stats.multitest import multipletests

from .files import Tables
from .judge import Line, is_joint, is_number, parsed
from .models import is_known, is_shared, of_sex
from .ours import Results
from .outcome import Disagreement, Outcome
from .plinks import clumps as plink_clumps
from .study import Study
from .truth import Truth

_METHODS = {
    "BONF": "bonferroni",
    "HOLM": "holm",
    "SIDAK_SS": "sidak",
    "SIDAK_SD": "holm-sidak",
    "FDR_BH": "fdr_bh",
    "FDR_BY": "fdr_by",
}
_OF_ROUNDED = 3e-3
"""Tolerance of a number that follows from a P of four digits."""
_EFFECTS = (("beta", "BETA"), ("odds_ratio", "OR"), ("standard_error", "SE"))


def look_at_derived(study: Study, results: Results, pooled: Tables, folder: Path, outcome: Outcome) -> None:
    """Put each such file beside the report."""
    name = next(name for name in results.files if name.startswith("assoc") and "adjusted" not in name)
    report = parsed(results.files[name])
    own = {line.get("TEST", "ADD") for line in report[:1]}
    lines = [line for line in report if line.get("TEST", "ADD") in own]
    if study.test != "chi-square":
        joint = [line for line in report if is_joint(line["TEST"])] or lines
        _look_at_adjusted(joint, parsed(results.files[f"{name}.adjusted"]), outcome)
    if "ssf.tsv.gz" in results.files:
        _look_at_ssf(study, results, lines, outcome)
    if "clumped" in results.files:
        _look_at_clumps(study, results, lines, pooled, folder, outcome)


def _disagree(file: str, what: str, ours: object, theirs: object, outcome: Outcome) -> None:
    outcome.disagreements.append(Disagreement(file, what, "", str(ours), str(theirs)))


def _look_at_adjusted(lines: list[Line], ours: list[Line], outcome: Outcome) -> None:
    """Compare adjusted P with statsmodels' numbers; those of genomic control with their definition."""
    lines = sorted((line for line in lines if is_number(line)), key=lambda line: float(line["P"]))
    if sorted(line["SNP"] for line in lines) != sorted(line["SNP"] for line in ours):
        _disagree("adjusted", "other variants", len(ours), len(lines), outcome)
        return
    p = np.array([float(line["P"]) for line in lines])
    if not len(p) or p[0] < 1e-300:
        return
    with np.errstate(divide="ignore"):
        expected = {title: multipletests(p, method=how)[1] for title, how in _METHODS.items()}
    expected["UNADJ"] = p
    for title, values in expected.items():
        found = np.array([float(line[title].replace("INF", "0")) for line in ours])
        close = np.isclose(found, values, rtol=_OF_ROUNDED, atol=3e-16 if title.startswith("SIDAK") else 0)
        if not close.all():  # 1 - (1 - P)^n has no more digits, as in PLINK
            k = int(np.argmin(close))
            _disagree("adjusted", f"another {title}", ours[k], values[k], outcome)


def _look_at_ssf(study: Study, results: Results, lines: list[Line], outcome: Outcome) -> None:
    """Check a GWAS-SSF file by the format's rules: which variants, in which order; and against the report's
    numbers.
    """
    ours = parsed(gzip.decompress(results.files["ssf.tsv.gz"]))
    last = study.autosomes
    code = {str(last + 3): last + 1, str(last + 4): last + 3}
    place = {line["SNP"]: (code.get(line["CHR"], int(line["CHR"])), int(line["BP"])) for line in lines}
    chosen = [
        line
        for line in lines
        if is_number(line)
        and all(place[line["SNP"]])
        and all(set(allele.decode()) <= set("ACGT") for allele in results.alleles(line["SNP"]))
    ]
    chosen.sort(key=lambda line: place[line["SNP"]])
    keys = [(*map(str, place[line["SNP"]]), line["A1"], line["NMISS"]) for line in chosen]
    found = [
        tuple(line[title] for title in ("chromosome", "base_pair_location", "effect_allele", "n"))
        for line in ours
    ]
    if keys != found:
        odd = min(set(keys) ^ set(found), default="the order")
        _disagree("ssf.tsv.gz", "other lines", odd, f"{len(found)} for {len(keys)}", outcome)
        return
    for line, own in zip(chosen, ours, strict=True):
        logarithm = own.get("neg_log_10_p_value")
        pairs = [(own.get("p_value") or f"{10 ** -float(logarithm or 0)}", line["P"])]
        pairs += [(own[title], line[other]) for title, other in _EFFECTS if title in own and other in line]
        if not all(abs(float(a) - float(b)) <= 1e-3 * abs(float(b)) for a, b in pairs):
            _disagree("ssf.tsv.gz", "other numbers", own, line, outcome)
            return


def _look_at_clumps(
    study: Study, results: Results, lines: list[Line], pooled: Tables, folder: Path, outcome: Outcome
) -> None:
    """Compare clumps with PLINK 1.9's, where a study's sums tell all that PLINK knows: all calls are there. A
    variant with fewer than 10 carriers of an allele is alone.
    """
    v, people = study.variants, study.people
    counted = people.founder & of_sex(study)
    tied = (
        sum(line["P"] in ("0", "INF") for line in lines) > 1
    )  # though not in ours, which has their logarithms
    if tied or "mind" in study.plan or not is_known(study, counted)[study.kept].all():
        return
    alone = set(v.name[~is_shared(study, counted)].tolist())
    ours = [line.split() for line in results.files["clumped"].decode().splitlines()[1:] if line]
    if any(line[2] in alone and line[5] != "0" for line in ours):
        _disagree("clumped", "a rare variant leads others", ours, "", outcome)
    (report := folder / "to-clump").write_text(
        "SNP P\n" + "".join(f"{line['SNP']} {line['P']}\n" for line in lines if line["SNP"] not in alone)
    )
    theirs = plink_clumps(study, pooled, report, folder / "clumps")
    expected = [line.split() for line in theirs.files.get("clumped", b"").decode().splitlines()[1:] if line]
    truth = Truth(study, np.ones(len(people.sex), bool))
    if study.quantitative and any(truth.may_be_of_few(lead) for _, _, lead, *_ in expected):
        return  # it may be alone in ours
    outcome.lines += len(expected)
    outcome.identical += len(expected)
    if (found := [line for line in ours if line[2] not in alone]) != expected:
        odd = [line for line in (*found, *expected) if (line in found) != (line in expected)]
        _disagree("clumped", "other clumps", [x for x in odd if x in found], odd, outcome)
