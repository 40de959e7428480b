"""Genes and genetic maps from files that people download: what is read, and what is said of a wrong line."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from unpooled.errors import DataProblem
from unpooled.formats import genes as files
from unpooled.formats.genes import Gene, read_gtf, read_table, write_table
from unpooled.formats.genetic_map import read_genetic_maps
from unpooled.pictures.genes import Genes


def line(chromosome: str, start: int, end: int, strand: str, attributes: str) -> str:
    return "\t".join([chromosome, "made", "gene", str(start), str(end), ".", strand, ".", attributes])


FTO = line("16", 53703963, 54121941, "+",
           'gene_id "ENSG00000140718"; gene_name "FTO"; gene_biotype "protein_coding";')  # fmt: skip
ANRIL = line("chr9", 21994790, 22121096, "+", 'gene_id "ENSG1"; gene_type "lncRNA"; gene_name "CDKN2B-AS1";')
ACE2 = line("NC_000023.11", 15561033, 15602069, "-",
            'gene_id "ACE2"; gene "ACE2"; gene_biotype "protein_coding";')  # fmt: skip
LEFT_OUT = [
    "#!genome-build GRCh38.p14",
    "",
    FTO.replace("\tgene\t", "\texon\t"),
    FTO.replace("16\t", "KI270721.1\t"),
    FTO.replace("protein_coding", "processed_pseudogene").replace("FTO", "FTOP1"),
    ANRIL.replace("CDKN2B-AS1", "LOC105375951"),
]


def written(folder: Path, *lines: str, packed: bool = False) -> Path:
    text = "".join(f"{line}\n" for line in lines).encode()
    path = folder / ("genes.gtf.gz" if packed else "genes.gtf")
    path.write_bytes(gzip.compress(text) if packed else text)
    return path


@pytest.mark.parametrize("packed", [False, True])
def test_genes_of_ensembl_gencode_and_ncbi_are_read_in_the_order_of_the_genome(
    tmp_path: Path, packed: bool
) -> None:
    assert read_gtf(written(tmp_path, ACE2, FTO, *LEFT_OUT, ANRIL, FTO, packed=packed)) == [
        Gene("9", 21994790, 22121096, "+", "RNA", "CDKN2B-AS1"),
        Gene("16", 53703963, 54121941, "+", "coding", "FTO"),
        Gene("X", 15561033, 15602069, "-", "coding", "ACE2"),
    ]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (FTO.replace("\t", " "), "got 1 columns; want 9, with tabs between them"),
        (FTO.replace("\t.\t+", "\t+"), "got 8 columns"),
        (FTO.replace("53703963", "5e7"), "got '5e7' as a position; want a whole number from 1"),
        (FTO.replace("53703963", "-1"), "got '-1' as a position"),
        (FTO.replace("53703963", "0"), "got '0' as a position"),
        (FTO.replace("53703963", "99999999999999"), "as a position"),
        (FTO.replace("53703963", chr(0x665)), "as a position"),
        (FTO.replace("53703963", "55000000"), "the gene ends at 54121941, before its start at 55000000"),
        (FTO.replace("\t+\t", "\tx\t"), "got 'x' as the strand; want +, - or ."),
        (FTO.replace('"FTO"', '"<b>F T O</b>"'), "as the gene's name"),
        (FTO.replace('"FTO"', f'"{"F" * 41}"'), "as the gene's name"),
        (FTO.replace('"FTO"', '"F\x1b[2JTO"'), r"'F\x1b[2JTO' as the gene's name"),
    ],
)
def test_a_wrong_line_is_named_with_what_was_expected(tmp_path: Path, wrong: str, said: str) -> None:
    path = written(tmp_path, "# a comment", ACE2, wrong)
    with pytest.raises(DataProblem) as found:
        read_gtf(path)
    assert (found.value.file, found.value.line) == (path, 3) and said in str(found.value)
    assert "\x1b" not in str(found.value)


def test_a_file_that_is_no_gtf_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def problem(content: bytes) -> str:
        path = tmp_path / "file"
        path.write_bytes(content)
        with pytest.raises(DataProblem) as found:
            read_gtf(path)
        return str(found.value)

    assert "no line tells of a gene that has a name. Give the file" in problem(b"")
    assert "file:1: the line is no text" in problem(b"\xff\xfe\x00\n")
    packed = gzip.compress(f"{FTO}\n".encode() * 1000)
    assert "is damaged or not whole. Download it again" in problem(packed[:-20])
    assert "is damaged or not whole" in problem(packed[:30] + b"\x00" * 30 + packed[60:])
    monkeypatch.setattr(files, "LONGEST_LINE", 100)
    assert "file:1: the line is too long" in problem(gzip.compress(b"x" * 1000))
    monkeypatch.setattr(files, "LONGEST_LINE", 1 << 20)
    monkeypatch.setattr(files, "MOST_GENES", 1)
    assert "got more than 1 genes" in problem(f"{FTO}\n{ACE2}\n".encode())


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    genes = read_gtf(written(tmp_path, FTO, ACE2))
    first, again = tmp_path / "first", tmp_path / "again"
    for path in (first, again):
        with path.open("wb") as out:
            write_table(out, genes, "a source\nof two lines")
    assert first.read_bytes() == again.read_bytes()
    assert read_table(first) == (genes, "a source of two lines")
    for content in (b"", b"# source: x\n", gzip.decompress(first.read_bytes()).replace(b"53703963", b"here")):
        first.write_bytes(content)
        with pytest.raises(DataProblem, match=r"Make it anew from a GTF\."):
            read_table(first)


ALL = Genes(
    [
        Gene("1", 100, 200, "+", "coding", "LONG"),
        Gene("1", 150, 160, "-", "RNA", "INNER"),
        Gene("1", 900_000, 900_100, "+", "RNA", "near"),
        Gene("1", 950_000, 950_100, "+", "coding", "Far"),
        Gene("1", 5_000_000, 5_000_100, "+", "coding", "FARTHER"),
        Gene("X", 10, 20, "+", "coding", "SHARED"),
    ],
    "made up",
)


def test_genes_that_reach_into_a_region() -> None:
    def names(chromosome: str, first: int, last: int) -> list[str]:
        return [gene.name for gene in ALL.within(chromosome, first, last)]

    assert names("1", 155, 158) == ["LONG", "INNER"] and names("1", 200, 300) == ["LONG"]
    assert names("1", 201, 300) == [] and names("1", 1, 99) == [] and names("2", 1, 10**9) == []
    assert names("XY", 20, 30) == ["SHARED"], "where X and Y are the same"


def test_genes_by_name_the_exact_one_first() -> None:
    assert [gene.name for gene in ALL.named("far", 10)] == ["Far", "FARTHER"]
    assert [gene.name for gene in ALL.named("FAR", 1)] == ["Far"] and ALL.named("FTO", 10) == []


@pytest.mark.parametrize(
    ("position", "gene"),
    [(155, "LONG"), (900_050, "near"), (899_000, "Far"), (2_000_000, ""), (5_400_000, "FARTHER")],
)
def test_the_gene_next_to_a_variant(position: int, gene: str) -> None:
    assert ALL.next_to("1", position) == gene


HEADER = "Chromosome\tPosition(bp)\tRate(cM/Mb)\tMap(cM)"


def test_genetic_maps_with_the_chromosome_in_the_lines_or_in_the_name(tmp_path: Path) -> None:
    hapmap = written(tmp_path, HEADER, "chr1\t55550\t2.98\t0", "chr1\t82571\t2.08\t0.08", "chrX\t9\t0\t0")
    thousand = tmp_path / "genetic_map_chr7_combined_b37.txt"
    thousand.write_text("position COMBINED_rate(cM/Mb) Genetic_Map(cM)\n14808 0.5 0\n30000 120.25 0.01\n")
    rates = read_genetic_maps([hapmap, thousand])
    assert {name: position.tolist() for name, (position, _) in rates.items()} == {
        "1": [55550, 82571], "X": [9], "7": [14808, 30000],
    }  # fmt: skip
    np.testing.assert_allclose(rates["7"][1], [0.5, 120.25])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("chr1\t5\t1.0\t0", "position 5 comes after 10; want rising positions"),
        ("chr1\tx\t1.0\t0", "got 'x' as a position"),
        ("chr1\t20\tnan\t0", "got 'nan' as a rate; want cM/Mb from 0"),
        ("chr1\t20\t-1\t0", "got '-1' as a rate"),
        ("chr1\t20\tinf\t0", "got 'inf' as a rate"),
        ("20\t1.0\t0", "or the last three in a file whose name tells the chromosome"),
        ("chrUn\t20\t1\t0", "want chromosome, position"),
        ("20", "want chromosome, position"),
    ],
)
def test_a_wrong_line_of_a_map_is_named(tmp_path: Path, wrong: str, said: str) -> None:
    path = written(tmp_path, HEADER, "chr1\t10\t1\t0", wrong)
    with pytest.raises(DataProblem) as found:
        read_genetic_maps([path])
    assert (found.value.file, found.value.line) == (path, 3) and said in str(found.value)


def test_a_map_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataProblem, match="no line tells of a rate"):
        read_genetic_maps([written(tmp_path, HEADER)])
