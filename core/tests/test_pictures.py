"""Pictures of results, and the genes and genetic maps that lie beside them."""

from __future__ import annotations

import gzip
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.contract.studies import of_variants
from unpooled.errors import DataProblem
from unpooled.formats import genes as files
from unpooled.formats.density import Cell
from unpooled.formats.genes import Gene, read_gtf, read_table, write_table
from unpooled.formats.genetic_map import read_genetic_maps
from unpooled.pictures import loci, lookup, manhattan
from unpooled.pictures import quantiles as qq
from unpooled.pictures.associations import Associations, p_text
from unpooled.pictures.genes import Genes
from unpooled.pictures.people_svg import people_over_density
from unpooled.plan.plan import NO_KEY, Plan
from unpooled.run import run

PLAN = Plan("linear", "trait", 3, NO_KEY, trait="quantitative")


def made(size: int, seed: int = 0, **columns: np.ndarray) -> Associations:
    """Results of a linear regression that found nothing, but for `columns`."""
    random = np.random.default_rng(seed)
    chromosome = np.sort(random.choice([1, 2, 9, 22, 23], size)).astype(np.uint8)
    position = random.integers(1, 200_000_000, size)
    order = np.lexsort([position, chromosome])
    z = random.normal(size=size)
    usual = {
        "chromosome": chromosome,
        "position": position[order].astype(np.int32),
        "id": np.array([b"rs%d" % k for k in random.permutation(size)], "S"),
        "a1": np.zeros(size, np.uint32),
        "a2": np.ones(size, np.uint32),
        "alleles": np.frombuffer(b"A\nG\nTTA", np.uint8),
        "beta": z * 0.01,
        "se": np.full(size, 0.01),
        "neg_log10_p": -stats.norm.logsf(abs(z)) / np.log(10) - np.log10(2),
        "code": np.zeros(size, np.uint8),
        "a1_freq": random.uniform(0, 0.5, size),
    }
    return Associations({**usual, **columns}, PLAN)


def scored(score: np.ndarray, **columns: np.ndarray) -> Associations:
    return made(len(score), neg_log10_p=score.astype(float), **columns)


def slow_cells(associations: Associations, drawn: np.ndarray, height: float) -> set[tuple[int, int, int]]:
    """(chromosome, column, level) of each occupied cell."""
    columns = associations.columns
    rows = zip(
        columns["chromosome"][drawn].tolist(),
        columns["position"][drawn].tolist(),
        columns["neg_log10_p"][drawn].tolist(),
        strict=True,
    )
    return {(c, at // manhattan.BASES, int(score * (0.1 / height) * 10)) for c, at, score in rows}


def spread(picture: dict[str, Any]) -> list[tuple[int, int, int]]:
    """The cells of all segments of an overview."""
    codes = {"X": 23} | {str(code): code for code in range(1, 23)}
    return [
        (codes[chromosome], column, level)
        for chromosome, column, low, high in zip(*(picture["segments"][name] for name in (
            "chromosome", "column", "low", "high")), strict=True)
        for level in range(low, high + 1)
    ]  # fmt: skip


@pytest.mark.parametrize("tail", [0.4, 30.0])
def test_segments_cover_the_cells_that_are_occupied_and_no_others(
    tail: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manhattan, "MOST_SEGMENTS", 1500)
    random = np.random.default_rng(3)
    score = random.exponential(tail, 30_000)
    score[::100] = np.nan
    associations = scored(score)
    picture = json.loads(json.dumps(manhattan.overview(associations, []), allow_nan=False))
    strongest = np.argsort(-np.nan_to_num(score))[: manhattan.STRONGEST]
    assert picture["points"]["index"] == sorted(strongest)
    assert picture["points"]["neg_log10_p"] == pytest.approx(score[np.sort(strongest)], abs=1e-4)
    height = picture["cell"]["height"]
    assert (height > 0.1) == (tail > 1) and len(picture["segments"]["low"]) <= 1500
    cells = spread(picture)
    assert len(set(cells)) == len(cells)
    # The weakest of the points is drawn in its cell, too.
    drawn = np.flatnonzero(score <= np.sort(score[strongest])[0])
    assert set(cells) == slow_cells(associations, drawn, height)
    assert (picture["variants"], picture["without_p"]) == (29_700, 300)


def test_a_small_study_is_points_alone() -> None:
    associations = made(900)
    picture = manhattan.overview(associations, [5, 7])
    assert picture["points"]["index"] == list(range(900))
    assert picture["segments"]["low"] == [] and picture["leads"] == [5, 7]
    assert [chromosome["name"] for chromosome in picture["chromosomes"]] == ["1", "2", "9", "22", "X"]
    assert sum(chromosome["variants"] for chromosome in picture["chromosomes"]) == 900


@pytest.mark.parametrize("size", [0, 5])
def test_a_study_without_any_p(size: int) -> None:
    associations = scored(np.full(size, np.nan), beta=np.full(size, np.nan))
    assert loci.table(associations) == []
    picture = manhattan.overview(associations, [])
    assert (picture["variants"], picture["without_p"], picture["points"]["index"]) == (0, size, [])
    assert manhattan.region(associations, 1, 0, 10**9, [])["points"]["index"] == []
    curve = qq.quantiles(associations)["curves"][0]
    assert (curve["variants"], curve["inflation"], curve["observed"]) == (0, None, [])


def test_a_region_shows_its_variants_and_no_others() -> None:
    associations = made(40_000, seed=4)
    columns = associations.columns
    on_9 = columns["chromosome"] == 9
    few = np.flatnonzero(on_9 & (columns["position"] >= 7_000_000) & (columns["position"] <= 14_000_000))
    picture = manhattan.region(associations, 9, 7_000_000, 14_000_000, [int(few[3]), 0])
    assert picture["points"]["index"] == few.tolist()
    assert (picture["cell"], picture["leads"]) == (None, [3])
    assert picture["points"]["a1"] == ["A"] * len(few)
    assert picture["points"]["effect_of_a1"] == pytest.approx(columns["beta"][few], rel=1e-3)
    whole = manhattan.region(associations, 9, 0, 200_000_000, [])
    assert whole["variants"] == np.count_nonzero(on_9) and whole["cell"]["bases"] == 200_001
    assert len(whole["points"]["index"]) == manhattan.STRONGEST
    score, cells = columns["neg_log10_p"], set()
    cutoff = np.sort(score[on_9])[-manhattan.STRONGEST]
    for at, size in zip(columns["position"][on_9].tolist(), score[on_9].tolist(), strict=True):
        if size <= cutoff:
            cells.add((at // 200_001, int(size * 10)))
    found = zip(*whole["segments"].values(), strict=True)
    assert {(column, level) for column, low, high in found for level in range(low, high + 1)} == cells
    assert manhattan.region(associations, 3, 0, 10**9, [])["variants"] == 0


def slow_loci(place: list[tuple[int, int]], score: list[float]) -> list[tuple[int, int, int, int]]:
    """(lead, start, end, variants), the strongest first, by the rule as it is told."""
    left = [k for k in range(len(place)) if score[k] >= 5]
    hits, windows = list(left), []
    while left:
        lead = max(left, key=lambda k: (score[k], -k))
        c, at = place[lead]
        left = [k for k in left if place[k][0] != c or abs(place[k][1] - at) > loci.REACH]
        windows.append([c, at - loci.REACH, at + loci.REACH, lead])
    merged: list[list[int]] = []
    for window in sorted(windows):
        if merged and merged[-1][0] == window[0] and window[1] <= merged[-1][2]:
            before = merged[-1]
            before[2] = window[2]
            before[3] = max(before[3], window[3], key=lambda k: score[k])
        else:
            merged.append(window)
    found = [
        (k, max(low, 1), high, sum(place[h][0] == c and low <= place[h][1] <= high for h in hits))
        for c, low, high, k in merged
    ]
    return sorted(found, key=lambda locus: -score[locus[0]])


@pytest.mark.parametrize("seed", range(4))
def test_loci_by_distance(seed: int) -> None:
    random = np.random.default_rng(seed)
    associations = scored(random.exponential(2.5, 4000))
    at = [associations.columns[name].tolist() for name in ("chromosome", "position")]
    expected = slow_loci(list(zip(*at, strict=True)), associations.columns["neg_log10_p"].tolist())
    assert len(expected) > 50 and any(variants > 1 for *_, variants in expected)
    found = loci.find(associations)
    columns = (found.lead, found.start, found.end, found.variants)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == expected


def test_loci_end_with_their_chromosome_and_p_may_be_smaller_than_any_number() -> None:
    associations = scored(
        np.array([400.25, 6, 5, 4.999]),
        chromosome=np.array([1, 2, 2, 2], np.uint8),
        position=np.array([2**31 - 1, 1, 1_000_001, 1_000_002], np.int32),
    )
    first, second = loci.table(associations)
    assert (first["p"], first["neg_log10_p"]) == ("5.623e-401", 400.25)
    assert first["locus"]["variants"] == 1 and first["chromosome"] == "1"
    assert second["locus"] == {"start": 1, "end": 1_500_001, "variants": 2}
    assert (second["position"], second["p"]) == (1, "1e-06")
    assert manhattan.overview(associations, [0, 1])["points"]["neg_log10_p"][0] == 400.25
    assert p_text(301.0000001) == "1e-301" and p_text(0.0) == "1" and p_text(2.5) == "0.003162"


def test_quantiles_and_their_band() -> None:
    associations = made(20_000, seed=6)
    columns = associations.columns
    everything, *classes = qq.quantiles(associations)["curves"]
    p = np.sort(10 ** -columns["neg_log10_p"])
    rank = np.round(10 ** -np.array(everything["expected"]) * 20_001).astype(int)
    assert rank[0] == 1 and rank[-1] == 20_000 and set(range(1, 20)) <= set(rank)
    assert everything["observed"] == pytest.approx(-np.log10(p[rank - 1]), rel=1e-4)
    for edge, share in (("low", 0.975), ("high", 0.025)):
        band = stats.beta.ppf(share, rank, 20_001 - rank)
        assert everything[edge] == pytest.approx(-np.log10(band), rel=1e-3, abs=1e-6)
    z = columns["beta"] / columns["se"]
    assert everything["inflation"] == pytest.approx(max(1, np.median(z**2) / 0.456), rel=1e-5)
    for curve, (low, high) in zip(classes, ((0, 0.01), (0.01, 0.05), (0.05, 0.5)), strict=True):
        inside = (columns["a1_freq"] > low) & (columns["a1_freq"] <= high)
        assert curve["variants"] == np.count_nonzero(inside) > 0
        assert curve["inflation"] == pytest.approx(max(1, np.median(z[inside] ** 2) / 0.456), rel=1e-5)
        assert curve["observed"][0] == pytest.approx(columns["neg_log10_p"][inside].max(), rel=1e-4)


def test_variants_are_found_by_id() -> None:
    names = np.array([b"rs%d" % (k % 700) for k in range(1000)] + [b"Affx-1", b"1:5:A:G"], "S")
    entries = lookup.index(names)
    for k in (0, 1, 299, 300, 699):
        assert lookup.find(entries, names, f" RS{k} ").tolist() == [
            row for row in range(1000) if row % 700 == k
        ]
    assert lookup.find(entries, names, "1:5:a:g").tolist() == [1001]
    assert not len(lookup.find(entries, names, "rs7000")) and not len(lookup.find(entries[:0], names, "rs1"))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("7:1234", (7, 1234, 1234)),
        ("chr7:1,234-5,678", (7, 1234, 5678)),
        (" x:5-6 ", (23, 5, 6)),
        ("99:5", None),
        ("rs5", None),
        ("7:", None),
        ("7:5-", None),
        ("7:5:A:G", None),
    ],
)
def test_places(text: str, place: tuple[int, int, int] | None) -> None:
    assert lookup.place(text, 22) == place


@pytest.mark.parametrize(
    ("test", "beta"), [("chi-square", False), ("linear", False), ("logistic", False), ("logistic", True)]
)
def test_numbers_are_those_of_the_report(test: str, beta: bool) -> None:
    """P, effect, limits and what is NA, as in the file that PLINK's is compared with elsewhere."""
    options: dict[str, Any] = {} if test == "chi-square" else {"beta": beta, "cohort_sums": True}
    small = of_variants(test, files=("assoc",), ci=0.95, **options)
    for cohort in small.cohorts:
        cohort.genotypes[9] = 0  # of one allele only: NA
    plan, columns = small.plan, run(small.plan, small.panel, small.cohorts)["variants"]
    small.test.files["assoc"](report := io.BytesIO(), small.panel, columns, plan)
    header, *lines = (line.split() for line in report.getvalue().decode().splitlines())
    rows = [dict(zip(header, line, strict=True)) for line in lines]
    rows = [row for row in rows if row.get("TEST", "ADD") == "ADD"]

    kept = {name: column if column.ndim == 1 else column[:, 0] for name, column in columns.items()}
    tested = small.panel.chromosome, small.panel.position, small.panel.name
    named = zip(("chromosome", "position", "id"), (of[columns["variant"]] for of in tested), strict=True)
    alleles = {"a1": 1 - columns["first_is_a1"].astype(int), "a2": columns["first_is_a1"].astype(int)}
    text = np.frombuffer(b"\n".join(small.panel.alleles), np.uint8)
    associations = Associations({**kept, **dict(named), **alleles, "alleles": text}, plan)
    assert associations.effect_name == ("BETA" if test == "linear" or beta else "OR")
    described = loci.describe(associations, slice(0, len(rows)))
    assert 20 < len(rows) == len(described) and any(row["P"] == "NA" for row in rows)
    for row, ours in zip(rows, described, strict=True):
        assert (ours["id"], str(ours["position"]), ours["a1"]) == (row["SNP"], row["BP"], row["A1"])
        names = {"effect": associations.effect_name, "lower": "L95", "upper": "U95", "se": "SE", "p": "P"}
        for name, title in names.items():
            value = ours[name]
            assert (value is None) == (row[title] in ("NA", "nan", "inf")), (row, ours)
            if value is not None:
                assert float(value) == pytest.approx(float(row[title]), rel=2e-3, abs=1e-4)


def test_people_stand_where_their_scores_are_over_cells_that_are_darker_where_there_are_more() -> None:
    cells = [Cell(-1.0, 0.0, -1.0, 0.0, 10), Cell(0.0, 1.0, 0.0, 1.0, 80)]
    people = np.array([[-0.5, -0.5], [7.0, 0.0]])
    drawn = people_over_density(cells, people, ("PC1", "PC2"))
    assert "2 people of this cohort over 2 cells" in drawn
    assert 'd="M110 330h.01M440 220h.01"' in drawn  # whoever is beyond all cells stands where they end
    faint, dark = re.findall(r'<rect class="cell" x="(\d+)" y="(\d+)" .*?fill-opacity="(.*?)"', drawn)
    assert (faint[:2], dark[:2]) == (("0", "220"), ("220", "0"))
    assert float(dark[2]) > float(faint[2]) + 0.25
    assert re.findall(r'text-anchor="middle"[^>]*>([^<]*)<', drawn)[:5] == ["-1", "-0.5", "0", "0.5", "1"]
    alone = people_over_density((), people, ("PC1", "PC2"))
    assert "over 0 cells" in alone and alone.count("h.01") == 2


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
    [
        (155, ("LONG", 0)),
        (900_050, ("near", 0)),
        (899_000, ("Far", 51_000)),
        (2_000_000, ("", None)),
        (5_400_000, ("FARTHER", 399_900)),
    ],
)
def test_the_gene_next_to_a_variant_and_its_distance(position: int, gene: tuple[str, int | None]) -> None:
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
