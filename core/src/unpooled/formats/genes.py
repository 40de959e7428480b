"""Genes of a genome: read from a GTF of Ensembl, GENCODE or NCBI, and kept as a compact table.

Positions count from 1, and a gene's last base belongs to it. Of a GTF those genes are read that code for
proteins, or for RNA that has a name of its own; pseudogenes and RNA known by a number only would fill any
picture.
"""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from unpooled.errors import DataProblem

CODING, RNA = "coding", "RNA"

LONGEST_LINE = 1 << 20
MOST_GENES = 200_000
_LAST = (1 << 31) - 1  # position

_COLUMNS = ("chromosome", "start", "end", "strand", "kind", "name")
_SOURCE = "# source: "

_CHROMOSOME = re.compile(r"(?:chr)?([0-9]{1,2}|X|Y|MT?)", re.ASCII | re.IGNORECASE)
_ACCESSION = re.compile(r"NC_0000([0-9]{2})\.[0-9]+")  # of the human chromosomes, at NCBI
_HUMAN_MT = "NC_012920."
_ATTRIBUTE = re.compile(r'([A-Za-z_]+) "([^"]*)"')
_NAME = re.compile(r"[!-~]{1,40}")
_IS_CODING = re.compile(r"protein_coding|(IG|TR)_[CDJV]_gene|[DJV]_segment|C_region")
_IS_RNA = re.compile(
    r"lncRNA|lincRNA|miRNA|antisense|antisense_RNA|processed_transcript|sense_intronic|sense_overlapping|"
    r"3prime_overlapping_ncRNA|bidirectional_promoter_lncRNA|macro_lncRNA|telomerase_RNA|non_coding"
)
_IS_NUMBERED = re.compile(r"LOC[0-9]+|ENS[A-Z]*G[0-9.]+|A[CFLP][0-9]{6}\.[0-9]+|RP[0-9]+-.*|CT[ABCD]-.*")

_WHENCE = "Give the file as Ensembl, GENCODE or NCBI give it away, compressed or not."


class Gene(NamedTuple):
    chromosome: str
    start: int
    end: int
    strand: str
    kind: str
    name: str


def read_gtf(path: Path) -> list[Gene]:
    """The genes of a GTF in the order of the genome. DataProblem names file, line and remedy."""
    genes = []
    for number, line in lines_of(path):
        if gene := _gene(path, number, line):
            genes.append(gene)
        if len(genes) > MOST_GENES:
            raise DataProblem(
                f"got more than {MOST_GENES:,} genes",
                file=path,
                line=number,
                remedy="Give one genome's file.",
            )
    if not genes:
        raise DataProblem("no line tells of a gene that has a name", file=path, remedy=_WHENCE)
    return in_order(genes)


def in_order(genes: Iterable[Gene]) -> list[Gene]:
    """Sort genes by chromosome, then by position."""

    def place(gene: Gene) -> tuple[int, str, int, int, str]:
        number = int(gene.chromosome) if gene.chromosome.isdecimal() else 100
        return number, gene.chromosome, gene.start, gene.end, gene.name

    return sorted(set(genes), key=place)


def _gene(path: Path, number: int, line: str) -> Gene | None:
    """The gene that a line tells of; None where it tells of none that is kept."""
    if not line or line.startswith("#"):
        return None
    words = line.split("\t")
    if len(words) != 9:
        raise DataProblem(
            f"got {len(words)} columns; want 9, with tabs between them",
            file=path,
            line=number,
            remedy=_WHENCE,
        )
    name, _, feature, start, end, _, strand, _, attributes = words
    chromosome = chromosome_of(name)
    if feature != "gene" or chromosome is None:
        return None
    kind, symbol = _kind_and_name(path, number, attributes)
    if not kind:
        return None
    first, last = (_position(path, number, word) for word in (start, end))
    if first > last:
        raise DataProblem(
            f"the gene ends at {last}, before its start at {first}", file=path, line=number, column=5
        )
    if strand not in ("+", "-", "."):
        raise DataProblem(
            f"got {strand[:20]!r} as the strand; want +, - or .", file=path, line=number, column=7
        )
    return Gene(chromosome, first, last, strand, kind, symbol)


def chromosome_of(name: str) -> str | None:
    """`7`, `X` or `MT`; None for what is no chromosome, such as a patch."""
    if found := _CHROMOSOME.fullmatch(name):
        plain = found[1].upper()
        return "MT" if plain == "M" else plain
    if found := _ACCESSION.fullmatch(name):
        code = int(found[1])
        return {23: "X", 24: "Y"}.get(code, str(code)) if 1 <= code <= 24 else None
    return "MT" if name.startswith(_HUMAN_MT) else None


def _kind_and_name(path: Path, number: int, attributes: str) -> tuple[str, str]:
    """Return the kind of a gene, and its name; two empty texts for one that is not kept."""
    told: dict[str, str] = {}
    for key, value in _ATTRIBUTE.findall(attributes):
        told.setdefault(key, value)
    biotype = told.get("gene_biotype") or told.get("gene_type") or ""
    kind = CODING if _IS_CODING.fullmatch(biotype) else RNA if _IS_RNA.fullmatch(biotype) else ""
    if not kind:
        return "", ""
    name = told.get("gene_name") or told.get("gene") or told.get("gene_id") or ""
    if kind == RNA and _IS_NUMBERED.fullmatch(name):
        return "", ""
    if not _NAME.fullmatch(name):
        raise DataProblem(
            f"got {name[:40]!r} as the gene's name; want 1 to 40 letters, digits and signs without blanks",
            file=path, line=number, column=9, remedy=_WHENCE,
        )  # fmt: skip
    return kind, name


def _position(path: Path, number: int, word: str) -> int:
    if not (word.isascii() and word.isdecimal()) or len(word) > 10 or not 1 <= int(word) <= _LAST:
        raise DataProblem(
            f"got {word[:20]!r} as a position; want a whole number from 1 to {_LAST:,}",
            file=path,
            line=number,
        )
    return int(word)


# The compact table


def write_table(out: BinaryIO, genes: Iterable[Gene], source: str) -> None:
    """Genes as compressed text, the same bytes each time, with a line that says where they are from."""
    lines = ["\t".join(map(str, gene)) for gene in genes]
    text = "\n".join([_SOURCE + " ".join(source.split()), "\t".join(_COLUMNS), *lines, ""])
    out.write(gzip.compress(text.encode(), compresslevel=9, mtime=0))


def read_table(path: Path) -> tuple[list[Gene], str]:
    """The genes of a compact table, and where they are from."""
    lines = lines_of(path)
    source, header = (next(lines, (0, ""))[1] for _ in range(2))
    if not source.startswith(_SOURCE) or header.split("\t") != list(_COLUMNS):
        raise DataProblem("this is no table of genes", file=path, remedy="Make it anew from a GTF.")
    return [_row(path, number, line) for number, line in lines], source.removeprefix(_SOURCE)


def _row(path: Path, number: int, line: str) -> Gene:
    words = line.split("\t")
    if len(words) != len(_COLUMNS) or not words[1].isdecimal() or not words[2].isdecimal():
        raise DataProblem(
            "this line tells of no gene", file=path, line=number, remedy="Make it anew from a GTF."
        )
    return Gene(words[0], int(words[1]), int(words[2]), words[3], words[4], words[5])


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a text, compressed or not, with their numbers; none is longer than `LONGEST_LINE`."""
    with opened(path) as file:
        number = 0
        while line := file.readline(LONGEST_LINE):
            number += 1
            if len(line) == LONGEST_LINE:
                raise DataProblem("the line is too long", file=path, line=number, remedy=_WHENCE)
            try:
                yield number, line.decode().rstrip("\r\n")
            except UnicodeDecodeError:
                raise DataProblem("the line is no text", file=path, line=number, remedy=_WHENCE) from None


@contextmanager
def opened(path: Path) -> Iterator[io.BufferedIOBase]:
    """A file of text, compressed or not, to read. DataProblem where it ends amid its compression."""
    try:
        with path.open("rb") as raw:
            is_packed = raw.peek(2)[:2] == b"\x1f\x8b"
            if is_packed:
                with gzip.GzipFile(fileobj=raw) as file:
                    yield file
            else:
                yield raw
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise DataProblem(
            "the compressed file is damaged or not whole", file=path, remedy="Download it again."
        ) from None
