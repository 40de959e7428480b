"""Studies by place of rows with several alternate alleles, against both PLINKs on everybody's split rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from unpooled.kernels.dosages import COPY

from ..conftest import Rehearse
from ..plinks import plink, plink2
from .dosages import Words, differences, rarer_second, write_pgen
from .reports import same_bytes

PEOPLE, PLACES = 270, 80
BASES = ("C", "G", "T", "AT", "<DEL>", "*")
COLUMNS = "+a1freq,+machr2"
FLOORS = ("--min-samples", 20, "--by-place", "--out")
HEADER = (
    "##fileformat=VCFv4.2\n##contig=<ID=1>\n##contig=<ID=X>\n"
    '##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">\n'
    '##FORMAT=<ID=DS,Number=A,Type=Float,Description="Dosage">\n'
)


@dataclass(frozen=True)
class Place:
    """A row of several alternate alleles."""

    chromosome: str
    position: int
    alternates: tuple[str, ...]
    calls: np.ndarray
    """int8 (people, 2): allele numbers, -1 where the call is missing."""
    dosages: np.ndarray
    """(people, alternates), with three decimals: whole copies of the first cohort, which has calls alone."""

    def row(self, first: int, last: int, which: list[int], field: str) -> str:
        """A line of a VCF of some people, with these of the alternates; the others count as the reference."""
        cells = []
        for pair, dosage in zip(
            self.calls[first:last].tolist(), self.dosages[first:last].tolist(), strict=True
        ):
            own = [str(which.index(one) + 1 if one in which else 0) if one >= 0 else "." for one in pair]
            numbers = ",".join(
                "." if np.isnan(dosage[one - 1]) else f"{dosage[one - 1]:.3f}" for one in which
            )
            cells.append("/".join(own) + (f":{numbers}" if field == "GT:DS" else ""))
        alternates = ",".join(self.alternates[one - 1] for one in which)
        return "\t".join(
            [self.chromosome, str(self.position), ".", "A", alternates, ".", ".", ".", field, *cells]
        )

    def names(self) -> list[str]:
        """Name the variants by place."""
        pairs = (sorted(["A", alternate]) for alternate in self.alternates)
        return [":".join([self.chromosome, str(self.position), *pair]) for pair in pairs]


@dataclass(frozen=True)
class Made:
    """Three cohorts of other formats, and everybody's split rows."""

    pooled: Path
    given: Words


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A .pgen of calls; a VCF of dosages, with several alleles in a row; and one with a row for each."""
    folder, random = tmp_path_factory.mktemp("several"), np.random.default_rng(11)
    places = [place(random, k) for k in range(PLACES)]
    men = np.arange(PEOPLE) % 2 == 0
    rows = [f"p{k}\t{2 - men[k]}\t{y:.5f}\t{1 + (y > 0)}" for k, y in enumerate(random.normal(size=PEOPLE))]
    title = "#IID\tSEX\tPHENO1\till"
    bounds = ((0, 90), (90, 180), (180, PEOPLE))
    given: Words = []
    for number, (first, last) in enumerate(bounds):
        (psam := folder / f"part{number}.psam").write_text("\n".join([title, *rows[first:last]]) + "\n")
        lines = [line for each in places for line in lines_of(each, first, last, number)]
        titles = [
            "#CHROM",
            "POS",
            "ID",
            "REF",
            "ALT",
            "QUAL",
            "FILTER",
            "INFO",
            "FORMAT",
            *(f"p{k}" for k in range(first, last)),
        ]
        (vcf := folder / f"part{number}.vcf").write_text(
            HEADER + "\n".join(["\t".join(titles), *lines]) + "\n"
        )
        if number == 0:
            plink2("--vcf", vcf, "--psam", psam, "--make-pgen", "--out", folder / "first")
            given += ["--pfile", folder / "first"]
        else:
            given += ["--vcf", vcf, "--vcf-dosage", "DS", "--psam", psam]
    named = sorted(
        (each.chromosome == "X", each.position, name, each, k)
        for each in places
        for k, name in enumerate(each.names())
    )
    variants = [
        f"{each.chromosome}\t{position}\t{name}\tA\t{each.alternates[k]}"
        for _, position, name, each, k in named
    ]
    dosages = np.stack([np.floor(each.dosages[:, k] * COPY + 0.5) / COPY for *_, each, k in named])
    write_pgen(folder / "all", variants, dosages, [title, *rows])
    return Made(folder / "all", given)


def place(random: np.random.Generator, k: int) -> Place:
    """Two to five alternates, of which some nobody has; some calls and dosages are missing."""
    alternates = tuple(random.permutation(BASES)[: 1 + k % 5].tolist())
    chance = random.dirichlet(np.ones(len(alternates) + 1) * (0.3, 2.0)[k % 2])
    calls = random.choice(len(alternates) + 1, (PEOPLE, 2), p=chance).astype(np.int8)
    chromosome = "1X"[k >= 60]
    if chromosome == "X":
        calls[::2, 1] = calls[::2, 0]
    copies = np.stack([(calls == one).sum(axis=1) for one in range(1, len(alternates) + 1)], axis=1)
    dosages = copies * np.where(
        random.random((PEOPLE, 1)) < 0.5, 1, random.uniform(0.6, 1, (PEOPLE, 1))
    ).round(3)
    dosages[:90] = copies[:90]
    lacks = random.random(PEOPLE) < 0.05
    calls[lacks], dosages[lacks] = -1, np.nan
    return Place(chromosome, 50_000_000 + k, alternates, calls, dosages.round(3))


def lines_of(each: Place, first: int, last: int, number: int) -> list[str]:
    """The lines of a cohort: the third one has one for each allele, in any order."""
    numbers = list(range(1, len(each.alternates) + 1))
    field = "GT" if number == 0 else "GT:DS"
    if number < 2:
        return [each.row(first, last, numbers, field)]
    return [each.row(first, last, [one], field) for one in numbers[::-1]]


def test_dosages_are_plink2s(made: Made, rehearse: Rehearse, tmp_path: Path) -> None:
    theirs = ("--glm", "allow-no-covars", f"cols={COLUMNS}", "--pheno-name", "PHENO1")
    plink2("--pfile", rarer_second(made.pooled), *theirs, "--out", tmp_path / "pooled")
    rehearse("--test", "linear", "--dosages", *made.given, "--files", "glm", "--glm-cols", COLUMNS,
             "--copies", tmp_path / "copies", *FLOORS, tmp_path / "ours")  # fmt: skip
    ours = tmp_path / "ours.phenotype.glm.linear"
    assert len(ours.read_text().splitlines()) > 250
    assert not differences(ours, tmp_path / "pooled.PHENO1.glm.linear")


def test_calls_are_plinks(made: Made, rehearse: Rehearse, tmp_path: Path) -> None:
    ill = tmp_path / "ill"
    people = [line.split("\t") for line in made.pooled.with_suffix(".psam").read_text().splitlines()[1:]]
    ill.write_text("\n".join(["#IID\till", *(f"{words[0]}\t{words[3]}" for words in people)]) + "\n")
    named = ("--pheno", ill, "--pheno-name", "ill")
    plink2("--pfile", made.pooled, *named, "--make-bed", "--out", tmp_path / "calls")
    counted = ("--assoc", "--freq", "--missing", "--hardy")
    plink("--bfile", tmp_path / "calls", *counted, "--out", tmp_path / "pooled")
    copies = ("--copies", tmp_path / "copies")
    rehearse(*made.given, *named, *copies, *FLOORS, tmp_path / "ours")
    same_bytes(tmp_path / "ours", tmp_path / "pooled", ("assoc", "frq", "lmiss", "hwe"))
