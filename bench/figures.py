"""Figures that `bench/association.py --write` measured, in association.json, and the tables that are made of
them.

    .venv/bin/python bench/figures.py     # writes the tables in README and docs anew, and measures nothing

No figure of these tables is typed: they stand between two marks in each page.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from association_studies import STUDIES

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "bench" / "association.json"
VARIANTS = 580_000
IN_README = ("assoc", "linear", "logistic")

_BEGIN, _END = "<!-- made by bench/figures.py -->\n", "<!-- end -->\n"
_MARKED = re.compile(f"(?<={re.escape(_BEGIN)}).*?(?={re.escape(_END)})", re.DOTALL)


@dataclass(frozen=True)
class Figures:
    """The runs of one study. Of older releases the medians were kept, as if of one run."""

    variants: int
    plink: list[float]
    """Seconds of PLINK, before each run."""
    platform: list[float]
    """Seconds until the files were on the platform."""
    cohorts: list[float]
    """Seconds until the last cohort had them; empty where that was not written down."""
    megabytes: float

    def ratio(self, seconds: Sequence[float]) -> str:
        """Say how many times PLINK's time that is: the median of the runs, the least and the most."""
        ratios = [ours / theirs for ours, theirs in zip(seconds, self.plink, strict=True)]
        spread = f", {min(ratios):.2f} to {max(ratios):.2f}" if len(ratios) > 1 else ""
        return f"{median(ratios):.2f}{spread}"


def read() -> dict[str, Figures]:
    """Read the committed figures, by study."""
    found = json.loads(FILE.read_text())
    return {name: Figures(**found[name]) for name in STUDIES if name in found}


def write(found: Mapping[str, Figures]) -> None:
    """Keep new figures beside those of studies that were not run, and write the tables anew."""
    kept = {name: asdict(figures) for name, figures in (read() | dict(found)).items()}
    FILE.write_text(json.dumps(kept, indent=2) + "\n")
    for page in PAGES:
        page.write_text(filled(page))


def filled(page: Path) -> str:
    """Fill the table of a page in as the figures have it; the page's text."""
    table = "\n".join(PAGES[page](read())) + "\n"
    text, tables = _MARKED.subn(lambda _: table, page.read_text())
    if tables != 1:
        raise ValueError(f"{page} has {tables} places for the table; it must have one")
    return text


def in_readme(found: Mapping[str, Figures]) -> Iterator[str]:
    federated = "Federated, from all cohorts ready to files on disk"
    yield f"| | PLINK, pooled | {federated} | Bytes to the last sum, all parties |"
    yield "| --- | ---: | ---: | ---: |"
    for name in IN_README:
        one = found[name]
        took = _seconds(one.platform)
        if one.cohorts:
            took += f"; {_seconds(one.cohorts)} until the last cohort has them"
        yield f"| {_title(name, one)} | {_plink(name, one)} | {took} | {one.megabytes:,.0f} MB |"


def in_docs(found: Mapping[str, Figures]) -> Iterator[str]:
    yield "| Study | PLINK, pooled | Federated | Times PLINK's time | Goal | Bytes to the last sum | Goal |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for name, one in found.items():
        study = STUDIES[name]
        took, ratio = _seconds(one.platform), one.ratio(one.platform)
        if one.cohorts:
            took, ratio = f"{took} ({_seconds(one.cohorts)})", f"{ratio} ({one.ratio(one.cohorts)})"
        goal, *further = (f"{goal:g}" for goal in study.goals)
        goals = goal + "".join(f" ({other})" for other in further)
        size = f"{one.megabytes:,.0f} MB | {study.megabytes:,.0f} MB"
        yield f"| {_title(name, one)} | {_plink(name, one)} | {took} | {ratio} | {goals} | {size} |"


PAGES: Mapping[Path, Callable[[Mapping[str, Figures]], Iterator[str]]] = {
    ROOT / "README.md": in_readme,
    ROOT / "docs" / "performance.md": in_docs,
}


def _title(name: str, figures: Figures) -> str:
    title = STUDIES[name].title
    return title if figures.variants == VARIANTS else f"{title}, {figures.variants:,} variants"


def _plink(name: str, figures: Figures) -> str:
    return f"`{STUDIES[name].program}` {_seconds(figures.plink)}"


def _seconds(of_runs: Sequence[float]) -> str:
    """Write their median, in two digits or more."""
    seconds = median(of_runs)
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"


if __name__ == "__main__":
    write({})
