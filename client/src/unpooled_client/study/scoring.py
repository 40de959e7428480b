"""The polygenic scores of this cohort's own people: written beside its data, and never sent."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import numpy as np

from unpooled.algorithms.polygenic.questions import scores_of
from unpooled.algorithms.result_files import report_name
from unpooled.cohort import ArrayTable
from unpooled.formats.scoring_file import ScoringFile
from unpooled.plan import SCORE_FILE, Plan
from unpooled_client.data.cohort import PlinkData
from unpooled_client.data.fam import read_fam
from unpooled_client.data.options import DataOptions
from unpooled_client.data.report import Report
from unpooled_client.state.events import Event, Transformed
from unpooled_client.state.written import Written
from unpooled_client.study.reading import guard, open_under
from unpooled_client.study.session import Session


def score(
    session: Session, plan: Plan, options: DataOptions, folder: Path, table: ArrayTable | None
) -> Generator[Event, None, None]:
    """Write the score of each person of the cohort, by the weights that were delivered into `folder`.

    Raises DataChanged if the files are no longer those that were accepted, and NotOurs if a file of other
    origin stands in the new one's place.
    """
    guard(session.saved.files, options.paths)
    target = Path(f"{options.prefix}.{plan.test}.tsv")
    with Written(session.folder, "Move it away and start again.").draft(target) as part:
        yield from session.wait_for(write_to, part, options, plan, folder / report_name(SCORE_FILE, plan))
    yield Transformed(str(target), "scores of this cohort's people")


def write_to(target: Path, options: DataOptions, plan: Plan, scoring_file: Path) -> None:
    """FID, IID and SCORE of everybody who was not removed. Raises DataProblem if the files cannot be read."""
    data, report = open_under(plan, options, 1)
    if not isinstance(data, PlinkData) or (fam := read_fam(data.options.samples, Report())) is None:
        raise report.problem()
    found = ScoringFile.read(scoring_file.read_bytes(), plan.autosomes)
    cohort = data.align(found.panel)
    there = np.flatnonzero(cohort.rows >= 0)
    # About the means, which stand for missing calls.
    scores = found.middle + scores_of(cohort, there, found.mean[there], found.weight[there, None])[:, 0]
    with target.open("wb") as file:
        file.write(b"FID\tIID\tSCORE\n")
        for k in np.flatnonzero(data.samples.kept).tolist():
            file.write(b"%b\t%b\t%b\n" % (fam.fid[k], fam.iid[k], repr(float(scores[k])).encode()))
