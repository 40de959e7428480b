"""Scores of this cohort's own people, polygenic or of components: written beside its data, never sent."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import numpy as np

from unpooled.asking.cohort import ArrayTable
from unpooled.described.file_list import report_name
from unpooled.formats.density import read_density
from unpooled.formats.eigenvectors import Loadings, exactly
from unpooled.formats.scoring_file import ScoringFile
from unpooled.methods.shared.kept_autosomes import scores_of
from unpooled.methods.shared.options import DOSAGES
from unpooled.pages.page import document, encoded, section, tag
from unpooled.panel.panel import Panel
from unpooled.pictures import drawing, people_svg
from unpooled.pictures.people_svg import people_over_density
from unpooled.plan.plan import Plan
from unpooled.plan.plan import component_titles as titles
from unpooled.plan.result_files import (
    COUNTS_FILE,
    DENSITY_FILE,
    EIGENVAL_FILE,
    ERRORS_FILE,
    LOADINGS_FILE,
    SCORE_FILE,
)
from unpooled_client.data.cohort import PlinkData
from unpooled_client.data.findings.report import Report
from unpooled_client.data.options import DataOptions
from unpooled_client.data.plink.fam import read_fam
from unpooled_client.state.events import Event
from unpooled_client.study.delivery import write_beside
from unpooled_client.study.reading import opened
from unpooled_client.study.session import Session


def score(
    session: Session, plan: Plan, options: DataOptions, folder: Path, table: ArrayTable | None
) -> Generator[Event, None, None]:
    """Write the score of each person of the cohort, by the weights that were delivered into `folder`."""
    target, made = Path(f"{options.prefix}.{plan.test}.tsv"), (options, plan, folder)
    yield from write_beside(session, options, target, "scores of this cohort's people", write_to, *made)


def project(
    session: Session, plan: Plan, options: DataOptions, folder: Path, table: ArrayTable | None
) -> Generator[Event, None, None]:
    """Write the principal components of each person of the cohort, likewise; and draw them over the pool's
    density, where that was delivered."""
    target, made = Path(f"{options.prefix}.eigenvec"), (options, plan, folder)
    yield from write_beside(session, options, target, "this cohort's components", write_eigenvec, *made)
    if DENSITY_FILE in plan.files:
        picture, about = Path(f"{target}.html"), "a picture of this cohort's people over the pool's density"
        yield from write_beside(session, options, picture, about, draw_people, *made)


def write_to(target: Path, options: DataOptions, plan: Plan, folder: Path) -> None:
    """FID, IID and SCORE of everybody who was not removed. Raises DataProblem if the files cannot be read."""
    found = ScoringFile.read((folder / report_name(SCORE_FILE, plan)).read_bytes(), plan.autosomes)
    # About the means, which stand for missing calls.
    people, scores = _scores(options, plan, found.panel, found.mean, found.weight[:, None])
    _write_people(target, (b"FID", b"IID", b"SCORE"), people, found.middle + scores)


def write_eigenvec(target: Path, options: DataOptions, plan: Plan, folder: Path) -> None:
    """plink2's `.eigenvec`, of everybody who was not removed. Raises DataProblem likewise."""
    files = (EIGENVAL_FILE, LOADINGS_FILE, COUNTS_FILE)
    values, weights, counts = ((folder / report_name(file, plan)).read_bytes() for file in files)
    found = Loadings.read(values, weights, counts, plan.autosomes)
    people, scores = _scores(options, plan, found.panel, found.mean, found.weights)
    heads = (b"#FID", b"IID", *(title.encode() for title in titles(scores.shape[1])))
    _write_people(target, heads, people, scores)


def draw_people(target: Path, options: DataOptions, plan: Plan, folder: Path) -> None:
    """A page with everybody who was not removed, by the `.eigenvec` that lies beside the data."""
    cells = read_density((folder / report_name(DENSITY_FILE, plan)).read_bytes())
    lines = Path(f"{options.prefix}.eigenvec").read_text(encoding="utf-8").splitlines()[1:]
    scores = np.array([line.split("\t")[2:4] for line in lines], np.float64).reshape(len(lines), -1)
    shown = (
        people_over_density(cells, scores, ("PC1", "PC2"))
        if scores.shape[1] == 2
        else tag("p", "A picture takes two components.")
    )
    errors = (folder / report_name(ERRORS_FILE, plan)).read_text("utf-8") if ERRORS_FILE in plan.files else ""
    off = [f"{float(line.split()[2]):.1e}" for line in errors.splitlines()[1:3]]
    told = (
        f"Dots are this cohort's {len(scores):,} people, drawn at the edge if they are beyond it. "
        f"{people_svg.SHADED}"
        + (f" The error of PC1 and PC2, as 1 - |cos|, is at most {' and '.join(off)}." if off else "")
    )
    page = document(
        "This cohort's people by principal components",
        section("PC1 and PC2", tag("p", told), tag("figure", shown)),
        about="Of this cohort alone. It was not sent.",
        style=drawing.STYLE + people_svg.STYLE,
    )
    target.write_bytes(encoded(page))


def _scores(
    options: DataOptions, plan: Plan, panel: Panel, mean: np.ndarray, weights: np.ndarray
) -> tuple[list[tuple[bytes, bytes]], np.ndarray]:
    """FID and IID of everybody who was not removed, and sums of weighted copies: float64 (people, s)."""
    data = opened(PlinkData, plan, options)
    if (fam := read_fam(data.options.samples, report := Report())) is None:
        raise report.problem()
    cohort, kept = data.align(panel), np.flatnonzero(data.samples.kept)
    there = np.flatnonzero(cohort.rows >= 0)
    of_there = np.ascontiguousarray(weights[there])
    scores = scores_of(cohort, there, mean[there], of_there, dosed=DOSAGES.of(plan))
    return [(fam.fid[k], fam.iid[k]) for k in kept.tolist()], scores[kept]


def _write_people(
    target: Path, heads: tuple[bytes, ...], people: list[tuple[bytes, bytes]], scores: np.ndarray
) -> None:
    columns = [exactly(column).tolist() for column in scores.T]
    with target.open("wb") as file:
        file.write(b"\t".join(heads) + b"\n")
        for (fid, iid), *numbers in zip(people, *columns, strict=True):
            file.write(b"\t".join((fid, iid, *numbers)) + b"\n")
