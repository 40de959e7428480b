"""Pictures of the results of a study of variants, from the result files that every cohort gets.

The pictures are those of `unpooled.pictures`, so a cohort sees what the coordinator sees. They are made from
plink2's report if it is there, which has frequencies, else from PLINK 1.9's. Files may have many millions of
lines: of each only numbers are held, and names are read again for the few variants that are shown.
"""

from __future__ import annotations

import contextlib
import json
import math
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unpooled.described.file_list import manifest_name
from unpooled.formats import titles
from unpooled.formats.reading import Line, Report, number
from unpooled.kernels.statistics import chi_square_neg_log10_p
from unpooled.panel.chromosomes import chromosome_code
from unpooled.pictures import loci, manhattan, quantiles
from unpooled.pictures.associations import Associations, Floats, Part
from unpooled.plan.plan import Plan
from unpooled_client.compare.pool import EFFECT, NothingToCompare, estimates, file_of, tested

_SOURCES = ("glm", "assoc")


def pictures(files: Iterable[Path], plan: Plan) -> dict[str, Any]:
    """Manhattan and QQ plot, loci and genomic inflation of the delivered `files`, for JSON.

    Raises NothingToCompare if there is nothing to draw.
    """
    files = list(files)
    report = _report(files, plan)
    columns, at = _numbers(report, plan)
    found = Reported(columns, plan, report, at)
    if not len(found):
        raise NothingToCompare(f"no variant has a P value in {report.path.name}")
    table = loci.table(found)
    curves = quantiles.quantiles(found)
    return {
        "file": report.path.name,
        "effect": found.effect_name,
        "confidence": found.confidence,
        "genomic_inflation": _inflation(files, plan, curves["curves"][0]["inflation"]),
        "manhattan": manhattan.overview(found, [row["index"] for row in table]),
        "quantiles": curves,
        "loci": table,
    }


def _inflation(files: Iterable[Path], plan: Plan, printed: float | None) -> float | None:
    """Return the genomic inflation from the study's manifest, else that of the `printed` statistics, which is
    less exact.
    """
    for manifest in (path for path in files if path.name == manifest_name(plan)):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            summary = json.loads(manifest.read_bytes())["summary"]
            of_one = summary[plan.phenotype] if plan.of_several else summary
            return float(of_one["genomic_inflation"])
    return printed


def _report(files: list[Path], plan: Plan) -> Report:
    named = [path for file in _SOURCES if file in plan.files and (path := file_of(file, files, plan))]
    if not named:
        raise NothingToCompare("the results have no report with P values: neither .assoc nor .glm")
    return Report(named[0])


@dataclass(frozen=True)
class Reported(Associations):
    """The variants of a report that have a P value."""

    report: Report
    at: NDArray[np.int64]
    """Offset in the file at which the line of each begins."""

    def id(self, part: Part) -> list[str]:
        return self.report.texts(self._lines(part), titles.NAME)

    def alleles(self, part: Part) -> tuple[list[str], list[str]]:
        lines = self._lines(part)
        a1 = self.report.texts(lines, titles.A1)
        return a1, self.report.texts(lines, titles.A2, titles.OTHER_ALLELE)

    @property
    def effect_name(self) -> str:
        return titles.ODDS_RATIO.plink if self.report.has(titles.ODDS_RATIO) else titles.BETA.plink

    def effects(self, part: Part) -> tuple[Floats, Floats, Floats, Floats]:
        if not self.report.has(*EFFECT):
            none = np.full(len(self.position(part)), np.nan)
            return none, none, none, none
        found = estimates(self.report, self._lines(part), self.plan)
        return found.effect, found.lower, found.upper, found.se

    def _lines(self, part: Part) -> list[Line]:
        lines = []
        with self.report.path.open("rb") as file:
            for at in self.at[part].tolist():
                file.seek(at)
                lines.append(file.readline().split())
        return lines


def _numbers(report: Report, plan: Plan) -> tuple[Mapping[str, NDArray[Any]], NDArray[np.int64]]:
    """The columns that pictures are made from, and where in the file each variant's line begins."""
    frequency = report.place(titles.FREQUENCY) if report.has(titles.FREQUENCY) else None
    codes: dict[bytes, int] = {}
    of, places, starts = array("B"), array("q"), array("q")
    sizes, squares, shares = array("d"), array("d"), array("d")
    for one in tested(report):
        if one.chromosome not in codes:
            name = one.chromosome.decode("utf-8", "replace")
            codes[one.chromosome] = chromosome_code(name, plan.autosomes) or 0
        of.append(codes[one.chromosome])
        places.append(one.position)
        starts.append(one.start)
        sizes.append(one.size)
        squares.append(one.statistic)
        shares.append(math.nan if frequency is None else number(one.line[frequency]))
    square = np.frombuffer(squares) if report.has(titles.CHI_SQUARE) else np.square(np.frombuffer(squares))
    columns: dict[str, NDArray[Any]] = {
        "chromosome": np.frombuffer(of, np.uint8),
        "position": np.frombuffer(places, np.int64),
        "neg_log10_p": _whole(np.frombuffer(sizes), square),
        "chi_square": square,
        "a1_freq": np.frombuffer(shares),
    }
    return columns, np.frombuffer(starts, np.int64)


def _whole(size: Floats, chi_square: Floats) -> Floats:
    """-log10 P; where a P was too small to be printed, what the statistic says."""
    return np.where(np.isinf(size), chi_square_neg_log10_p(chi_square), size)
