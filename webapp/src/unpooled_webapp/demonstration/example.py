"""The generated cohorts that `unpooled demo`, the demo in the browser and the example data share."""

from __future__ import annotations

import importlib.metadata
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

from unpooled.methods.chi_square import CHI_SQUARE
from unpooled.simulate import SimulationReport, simulate


@dataclass(frozen=True)
class Place:
    """A generated cohort."""

    name: str
    people: int
    case_fraction: float

    @property
    def prefix(self) -> str:
        return self.name.lower()


PLACES = (Place("Graz", 900, 0.6), Place("Munich", 600, 0.45), Place("Tartu", 400, 0.3))
EFFECTS = (1.8, 1.7, 1.6)  # odds ratios of the planted variants
VARIANTS = 10_000
NAME = "Demo: three generated cohorts"
PLAN: dict[str, Any] = {
    "test": CHI_SQUARE.name,
    "phenotype": "case/control, generated",
    "cohorts": len(PLACES),
    "file_stem": "demo",
}
SUFFIXES = (".bed", ".bim", ".fam")
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest that a ZIP can say: the same bytes at any time


def generate(out: Path, *, pooled: bool = True) -> SimulationReport:
    """Write the cohorts as cohort1, cohort2 and cohort3 to a folder. The same bytes each time."""
    return simulate(
        out,
        cohorts=[place.people for place in PLACES],
        variants=VARIANTS,
        case_fractions=[place.case_fraction for place in PLACES],
        effects=EFFECTS,
        missing_rate=(0.3, 0.01),
        pooled=pooled,
    )


def archive(home: Path) -> Path:
    """The ZIP of the cohorts, named by place, with a README.txt; made at the first call of this version."""
    made = home / "example" / f"unpooled-example-{importlib.metadata.version('unpooled-core')}.zip"
    if not made.exists():
        made.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryDirectory(dir=made.parent) as folder:
            report, draft = generate(Path(folder), pooled=False), Path(folder, "draft.zip")
            with zipfile.ZipFile(draft, "w") as packed:
                _pack(packed, report)
            draft.replace(made)  # there whole, or not at all
    return made


def unpack(home: Path, folder: Path) -> None:
    """Write the cohorts of the archive to a folder: graz.bed and so on."""
    with zipfile.ZipFile(archive(home)) as packed:
        packed.extractall(folder)  # made here, by `archive`


def _pack(packed: zipfile.ZipFile, report: SimulationReport) -> None:
    _add(packed, "README.txt", readme(report.planted).encode())
    for place, prefix in zip(PLACES, report.cohorts, strict=True):
        for suffix in SUFFIXES:
            _add(packed, place.prefix + suffix, prefix.with_suffix(suffix).read_bytes())


def _add(packed: zipfile.ZipFile, name: str, data: bytes) -> None:
    packed.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_DEFLATED)


def readme(planted: tuple[str, ...]) -> str:
    people = "\n".join(f"  {place.prefix:8} {place.people} people" for place in PLACES)
    odds = "\n".join(f"  {name:14} odds ratio {odds}" for name, odds in zip(planted, EFFECTS, strict=True))
    return _README.format(
        test=CHI_SQUARE.title, variants=VARIANTS, people=people, planted=odds, first=PLACES[0].prefix
    )


_README = dedent("""\
    Three generated cohorts, to try a study with clients that you start yourself
    =============================================================================

    The people are invented. PLINK files (.bed, .bim, .fam), {variants} variants, cases and controls:

    {people}

    In the browser
      1. Create a study of the test "{test}", with three cohorts.
      2. Invite Graz, Munich and Tartu. Save each invitation as a file: graz.txt, munich.txt, tartu.txt.

    In three terminals, one for each cohort, in the folder of these files. The client is installed from a
    checkout of Unpooled:

      python -m venv unpooled
      unpooled/bin/pip install ./core ./client

    First check the files. Nothing is sent:

      unpooled-client check --bfile {first}

    Then take part. The client shows the plan, who takes part, and what will leave the computer, and asks:

      unpooled-client run {first}.txt --bfile {first}

    Likewise with the other two. The study starts once all three are ready, and takes some seconds.

    What was planted, and should stand out in the results:

    {planted}
    """)
