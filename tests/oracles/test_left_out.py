"""Whatever variant is in no result file stands in `.variants.tsv`, with its reason."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pooled import Pool

from ..conftest import Rehearse
from ..people import people
from ..plinks import plink, plink2

CODES = ("26", "M", "MT", "0M", "chr26", "chrM", "chrMT")
"""Styles in which both PLINKs may write chromosomes: --output-chr."""
PLACED = {
    **{f"on{code}": (code, 1000) for code in (*range(23), 24, 26)},
    **{"in_par1": (23, 100_000), "on_x": (23, 50_000_000), "in_par2": (23, 155_000_000)},
}
"""Variants in every result; the PLINKs move those of PAR1 and PAR2 to places of their own, by different
names.
"""
LEFT_OUT = {
    "on_contig": "on no known chromosome at cohort1, cohort2, cohort3",
    "on_contig_of_one": "on no known chromosome at cohort2",
    "of_several": "of several alternate alleles at cohort2",
    "negative": "at a negative position at cohort3",
    "unnamed": "has no ID: name it, e.g. with plink2 --set-missing-var-ids @:#",
    "twice": "ID appears more than once at cohort2",
    "lacking": "absent at cohort3",
    "elsewhere": "is at different positions: 3:2007, 3:2008",
    "misfit": "alleles cannot be reconciled: A/C at cohort1, A/G at cohort2, A/G at cohort3",
    "again": "absent at cohort2",
    "another": "absent at cohort1, cohort2",
}
KINDS = {".pvar": (0, 1, 2, 4, 3), ".bim": (0, 3, 1, 4, 5)}
"""Places of chromosome, position, ID, A1 and A2 in a line."""


def spoil(path: Path, cohort: int) -> None:
    """Make of a cohort's list of variants one with its faults."""
    chromosome, position, name, a1, a2 = KINDS[path.suffix]
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    for words in lines:
        match words[name], cohort:
            case ("on_contig", _) | ("on_contig_of_one", 2):
                words[chromosome] = "GL000192.1"
            case "of_several", 2:
                words[a1] = "A,T"
            case "negative", 3:
                words[position] = "-5"
            case "unnamed", _:
                words[name] = "."
            case "again", 2:
                words[name] = "twice"
            case "lacking", 3:
                words[name] = "another"
            case "elsewhere", 2:
                words[position] = "2008"
            case "misfit", 1:
                words[a1], words[a2] = "A", "C"
    path.write_text("".join("\t".join(words) + "\n" for words in lines))


@pytest.mark.parametrize("written", CODES)
def test_every_variant_is_in_the_results_or_left_out_with_its_reason(
    written: str, rehearse: Rehearse, tmp_path: Path
) -> None:
    # With 0M Debian's plink2 says XY of Y.
    placed = {name: place for name, place in PLACED.items() if (written, name) != ("0M", "on24")}
    faulty = {name: (3, 2000 + k) for k, name in enumerate(LEFT_OUT) if name != "another"}
    rows = sorted((c, at, name.encode(), b"A", b"G") for name, (c, at) in {**placed, **faulty}.items())
    given: list[object] = []
    for cohort in (1, 2, 3):
        random = np.random.default_rng(cohort)
        samples = people(np.arange(60) % 2, sex=random.integers(1, 3, 60).astype(np.uint8))
        copies = random.binomial(2, 0.4, (len(rows), 60)).astype(np.int8)
        Pool(samples, rows, copies).write(tmp_path / "own")
        made = ("--bfile", tmp_path / "own", "--output-chr", written, "--out", tmp_path / f"part{cohort}")
        if cohort == 1:
            plink(*made, "--split-x", "b37", "no-fail", "--make-bed")
        else:
            plink2(*made, "--split-par", "b37", "--make-pgen")
        spoil(tmp_path / f"part{cohort}.{'bim' if cohort == 1 else 'pvar'}", cohort)
        given += ["--bfile" if cohort == 1 else "--pfile", tmp_path / f"part{cohort}"]
    rehearse(*given, "--files", "assoc,frq", "--out", tmp_path / "ours")
    tested = {line.split()[1] for line in (tmp_path / "ours.frq").read_text().splitlines()[1:]}
    told = [line.split("\t") for line in (tmp_path / "ours.variants.tsv").read_text().splitlines()[1:]]
    assert tested == set(placed)
    reasons = {name: reason for _, _, name, status, reason in told if status == "left out"}
    assert reasons == {("." if name == "unnamed" else name): reason for name, reason in LEFT_OUT.items()}
    assert {code for code, _, name, *_ in told if name.startswith("on_contig")} <= {"0", "3"}
