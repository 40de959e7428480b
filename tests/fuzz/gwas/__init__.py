"""Random federations of GWAS, each from one integer, beside both PLINKs on the pool.

study      people, variants and plan of a federation, and what it can be cut to
models     what a plan changes of people and covariates
draw       what a seed makes of them; variants in `variants`
files      PLINK files of each cohort, and of the pool
ours       the product: its readers, panel, masks, and writers; `rehearsal` with a real server
plinks     PLINK 1.9 and plink2
compare    the panel, and reports that must be equal
regressions  those whose numbers may differ
derived    files that follow from a report: adjusted P values, clumps, GWAS-SSF
combined   the meta-analysis of the cohorts' own estimates
scores     saddlepoint tests and credible sets, which are of scores at the covariates' model
others     pruning, components and polygenic scores of the same people
known      where PLINK may differ, and why
judge      who is right then; by `truth`: pooled rows, a linear program, statsmodels
outcome    what came of it
shrink     the least that still disagrees
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
import traceback
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from . import known
from .combined import look_at_combined
from .compare import same_bytes, same_panel
from .derived import look_at_derived
from .draw import draw
from .files import Tables, pool_names, write_cohort, write_pool
from .others import look_at_others
from .ours import Refused, Results, plan_of, run_study
from .outcome import Disagreement, Outcome
from .plinks import Reports, plink1, plink2, rarer_first
from .regressions import Comparison
from .rehearsal import can_rehearse, rehearse
from .scores import look_at_scores
from .shrink import shrunk
from .study import Study
from .truth import Truth, with_scores

_COUNTED = ("frq", "lmiss", "hwe")
_SHRINKING = 60.0
"""Seconds that a case may take to be made small."""
_SHOWN = 3
_CLOSELY = 3
"""Variants of each regression that are put before statsmodels in any case."""


def compare(study: Study, folder: Path, pool: Study | None = None, with_server: bool = False) -> Outcome:
    """Run a federation and PLINK on its pool, in a folder, and compare every line.

    `pool` stands for the pool of another study, to see what a wrong result looks like; `with_server` runs
    the federation a second time, through `unpooled rehearse`.
    """
    outcome = Outcome()
    cohorts = [write_cohort(study, k, folder) for k in range(study.cohorts)]
    try:
        each = run_study(study, cohorts)
    except Refused as error:
        outcome.refused(known.DECLINED, str(error))
        return outcome
    except Exception as error:  # whatever it is, it is not to be
        text = traceback.format_exc()
        outcome.disagreements.append(Disagreement("run", type(error).__name__, "", text, ""))
        return outcome
    same_panel(study, each[0], outcome)
    for number, (one, results) in enumerate(zip(study.each, each, strict=True)):
        own = folder / f"phenotype{number}" if number else folder
        own.mkdir(exist_ok=True)
        for name, report in results.files.items():
            (own / f"ours.{name}").write_bytes(report)
        if with_server and can_rehearse(study):
            rehearse(study, cohorts, results, folder, outcome)
        if not outcome.disagreements:  # with another panel all else would be about other variants
            _compare_reports(one, pool or one, results, own, outcome)
    if not pool:
        look_at_others(study, cohorts, folder, outcome)
    return outcome


def _compare_reports(study: Study, pool: Study, results: Results, folder: Path, outcome: Outcome) -> None:
    pooled = write_pool(pool, folder)
    if study.plan.get("rint"):
        study = with_scores(study, _left(study, rarer_first(study, pooled, folder / "ranked")))
        pooled = write_pool(study, folder)
    reports = plink1(study, pooled, folder / "plink1")
    if reports.said:
        outcome.refused(known.REFUSED, reports.said)
        return
    own = ("assoc", "assoc.adjusted") if study.test == "chi-square" else ()
    for file in (*own, *_COUNTED):
        same_bytes(file, results.files[file], reports.files[file], study.autosomes, outcome)
    look_at_derived(study, results, pooled, folder, outcome)
    if study.test != "chi-square":
        _compare_regressions(study, results, pooled, reports, folder, outcome)


def _compare_regressions(
    study: Study, results: Results, pooled: Tables, reports: Reports, folder: Path, outcome: Outcome
) -> None:
    """The reports of both PLINKs; plink2's is about the variants and the people that PLINK 1.9 has left."""
    minor = rarer_first(study, pooled, folder / "minor")
    truth = Truth(study, _left(study, minor))
    file = f"assoc.{study.test}"
    comparison = Comparison(study, results, truth, file, outcome)
    if study.model != "hetonly":  # which PLINK 1.9 does not have
        comparison.compare(reports)
    comparison.look_closely(_CLOSELY)
    look_at_combined(study, results, truth, _CLOSELY, folder, outcome)
    look_at_scores(study, results, truth, outcome)
    report = reports.files[file] or results.files[file]
    names = list(dict.fromkeys(line.split()[1].decode() for line in report.splitlines()[1:]))
    if not names:
        return
    again = plink2(study, folder / "minor", names, folder / "plink2")
    if again.said:
        outcome.refused(known.REFUSED, again.said)
    glm = next(name for name in results.files if ".glm." in name)
    Comparison(study, results, truth, glm, outcome).compare(again)


def _left(study: Study, minor: Reports) -> np.ndarray:
    """Mark the people in PLINK's .fam after --mind: bool (n,)."""
    left = {tuple(line.split()[:2]) for line in minor.files["fam"].decode().splitlines()}
    return np.array([names in left for names in pool_names(study)])


def compared(study: Study, with_server: bool = False) -> Outcome:
    """The same in a folder of its own, that is gone then."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        return compare(study, Path(folder), with_server=with_server)


def fuzz(
    seeds: Iterable[int], out: Path, test: str | None = None, seconds: float = np.inf, rehearsals: int = 0
) -> tuple[int, int, Outcome]:
    """Compare the federations of some seeds: how many there were, how many disagree, and what came of all.

    Each that disagrees is printed, and written to `out`. So many as `rehearsals` says run once more with a
    real server, from the first on.
    """
    total, odd, done, until = Outcome(), 0, 0, time.monotonic() + seconds
    for seed in seeds:
        if time.monotonic() > until:
            break
        study = draw(seed, test)
        outcome = compared(study, with_server=total.rehearsed < rehearsals)
        done, total = done + 1, total + outcome
        if outcome.disagreements:
            odd += 1
            print(f"--seed {seed} --test {study.test}: {len(outcome.disagreements)} disagreements")
            print("\n".join(f"  {found}" for found in outcome.disagreements[:_SHOWN]))
            print(f"  a smaller case: {write_case(study, outcome, out)}", flush=True)
    return done, odd, total


def main(
    count: int, seconds: float, seed: int, out: Path, test: str | None = None, rehearsals: int = 0
) -> int:
    """Compare `count` federations from `seed` on, or as many as `seconds` allow; the number that disagree."""
    done, odd, total = fuzz(range(seed, seed + count), out, test, seconds, rehearsals)
    print(f"{done} federations, of which {odd} disagree. {total}")
    return odd


def write_case(study: Study, outcome: Outcome, out: Path, seconds: float = _SHRINKING) -> Path:
    """Cut a case down, and write its files, its plan, and what ours and PLINK say to a folder of its own."""
    kind = outcome.disagreements[0].kind
    small = shrunk(
        study, lambda less: kind in (found.kind for found in compared(less).disagreements), seconds
    )
    folder = out / f"{study.test}-{study.seed}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    again = compare(small, folder)
    (folder / "plan.json").write_text(json.dumps(plan_of(small).to_json(), indent=1) + "\n")
    (folder / "disagreements").write_text("\n".join(map(str, again.disagreements)) + "\n")
    return folder
