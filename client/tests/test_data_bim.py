"""The .bim reader against plink1.9 and against a slow, clear version of itself."""

from __future__ import annotations

import hashlib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from client_lists import rows
from hypothesis import given
from hypothesis import strategies as st

from unpooled.chromosomes import chromosome_code, chromosome_name
from unpooled.kernels.counts import count_genotypes, group_masks
from unpooled_client.data.bim import read_bim
from unpooled_client.data.report import Code, Report, Severity
from unpooled_client.data.variants import Variants

GOOD = ["0", "1", "9", "01", "22", "23", "24", "25", "26", "X", "Y", "XY", "MT", "M", "x", "mt", "xY"]
GOOD += ["0X", "0Y", "0M", "chr1", "Chr1", "CHR22", "chrX", "chrMT", "chrM", "chr23", "chr0"]
BAD = [
    "27",
    "chr27",
    "UN",
    "Z",
    "1_random",
    "1x",
    "100",
    "-1",
    "+1",
    "001",
    "chr",
    "chrUn",
    "chrchr1",
]


def slow_rows(text: bytes, autosomes: int = 22) -> list[tuple[Any, ...]]:
    found, columns, bed_row = [], 0, -1
    for line in text.split(b"\n"):
        words = line.split()
        if not words or words[0].startswith(b"#"):
            continue
        bed_row += 1
        columns = columns or (5 if len(words) == 5 else 6)
        position, a1, a2 = int(words[columns - 3]), words[columns - 2], words[columns - 1]
        if position < 0:
            continue
        chromosome = chromosome_code(words[0].decode(), autosomes)
        first, second = sorted([a1, a2])
        found.append((chromosome, position, words[1], first, second, bed_row, a1 == first))
    return sorted(found, key=lambda row: (*row[:3], row[5]))


def read(text: bytes, folder: Path, **more: Any) -> tuple[Variants | None, Report]:
    report = Report()
    path = folder / "x.bim"
    path.write_bytes(text)
    return read_bim(path, report, **more), report


line = st.tuples(
    st.sampled_from(["0", "1", "2", "chrX", "MT", "25"]),
    st.sampled_from(["rs1", "rs10", "rs9", ".", "a:b", "é"]),
    st.integers(-3, 12) | st.just(2**31 - 2),
    st.sampled_from(["A", "C", "0", "ACGT", "-", "<DEL>"]),
    st.sampled_from(["G", "T", "0", "A", "*"]),
)
separator = st.sampled_from([" ", "\t", "  "])
end = st.sampled_from(["\n", "\r\n", "\n\n", " \n#c 1\n"])


@given(st.lists(st.tuples(line, separator, end), min_size=1, max_size=12), st.booleans(), st.integers(1, 200))
def test_reads_as_the_slow_version_in_blocks_of_any_size(
    lines: list[tuple[Any, str, str]], centimorgans: bool, block: int
) -> None:
    text = ""
    for (chromosome, name, position, a1, a2), between, after in lines:
        words = [chromosome, name, *(["0.5"] if centimorgans else []), str(position), a1, a2]
        text += between.join(words) + after
    expected = slow_rows(text.encode())
    with TemporaryDirectory() as folder:
        variants, _ = read(text.encode(), Path(folder), block=block)
    assert variants is not None
    assert rows(variants) == expected
    assert variants.rows == len(lines)


@pytest.mark.parametrize("autosomes", [22, 19, 1])
def test_good_chromosome_codes_are_plinks(files: Any, autosomes: int) -> None:
    words = [word for word in GOOD if chromosome_code(word, autosomes) is not None]
    # plink1.9 wants the rows of a chromosome together.
    words.sort(key=lambda word: chromosome_code(word, autosomes) or 0)
    files.write(bim="".join(f"{word} v{k} 0 {k} A G\n" for k, word in enumerate(words)))
    assert files.plink("--make-just-bim", "--chr-set", str(autosomes)).returncode == 0
    assert [int(row[0]) for row in files.output("bim")] == [chromosome_code(w, autosomes) for w in words]
    assert rows(files.open(chr_set=autosomes).variants)[0][2] == b"v0"


@pytest.mark.parametrize("word", BAD)
def test_bad_chromosome_codes_are_plinks(files: Any, word: str) -> None:
    files.write(bim=f"{word} v 0 1 A G\n")
    assert "Invalid chromosome code" in files.plink("--make-just-bim").stderr
    assert chromosome_code(word) is None


def test_unknown_chromosomes_are_passed_over_as_plink_leaves_them_out(files: Any) -> None:
    """PLINK is told to; and so are the genotypes of the others those that it has."""
    bim = "1 a 0 1 A G\nchrUn_1 b 0 5 A G\nchrUn_1 c 0 7 C T\nKI270 d 0 3 A C\n2 e 0 9 T C\n"
    files.write(bim=bim)
    chosen = "--allow-extra-chr", "--chr", "0-26"
    done = files.plink(*chosen, "--freq", "counts", "--nonfounders")
    assert done.returncode == 0, done.stderr
    data = files.open()
    assert data.panel.name.tolist() == [b"a", b"e"] and data.variants.rows == 5
    cohort = data.align(data.panel)
    counts = count_genotypes(cohort.packed(slice(0, 2)).words, group_masks(np.ones((1, 60), bool)))[:, 0]
    alleles = [2 * two + one for two, one, _ in counts.tolist()]
    assert [{int(row[4]), int(row[5])} for row in files.output("frq.counts")[1:]] == [
        {count, 2 * int(genotypes.sum()) - count} for count, genotypes in zip(alleles, counts, strict=True)
    ]
    found = files.check().findings
    assert [(f.severity, f.count, f.examples) for f in found if f.code == Code.CHROMOSOME] == [
        (Severity.WARNING, 3, ("line 2: chrUn_1", "line 3: chrUn_1", "line 4: KI270"))
    ]


def test_small_letters_are_capitals(tmp_path: Path) -> None:
    capitals, _ = read(b"1 a 0 1 A G\n1 b 0 2 CT C\n1 c 0 3 0 T\n1 d 0 4 <del> A\n", tmp_path)
    small, report = read(b"1 a 0 1 a g\n1 b 0 2 ct C\n1 c 0 3 0 t\n1 d 0 4 <del> A\n", tmp_path)
    assert small is not None and capitals is not None
    assert rows(small) == rows(capitals)
    assert [(f.code, f.count) for f in report.findings] == [(Code.ALLELE_CODES, 3)]


@pytest.mark.parametrize("autosomes", [1, 19, 22, 30, 95])
def test_every_code_has_a_name_that_is_read_back(autosomes: int) -> None:
    for code in range(autosomes + 5):
        name = chromosome_name(code, autosomes)
        assert chromosome_code("0" if code == 0 else name, autosomes) == code


@pytest.mark.parametrize(
    ("bim", "good"),
    [
        ("1 a 100 A G\n1 b 200 A G\n", True),  # five columns
        ("1 a 0 100 A G\n1 b 200 A G\n", False),
        ("1 a 0 2147483646 A G\n", True),
        ("1 a 0 2147483647 A G\n", False),
        ("1 a 0 x A G\n", False),
        ("1 a 0 +5 A G\n1 b 0 00012 A G\n1 c 0 12 A A\n", True),
        ("1 a 0 5 A,C G\n", False),
        ("#c\n\n1 a 0 5 0 0\n", True),
        ("1 a 0 -5 A G\n1 b 0 7 A G\n", True),
    ],
)
def test_accepts_what_plink_accepts(files: Any, bim: str, good: bool) -> None:
    files.write(bim=bim)
    done = files.plink("--make-just-bim")
    variants, report = read(bim.encode(), files.folder)
    assert (done.returncode == 0, report.ok) == (good, good)
    if good:
        assert variants is not None
        names = [row[1].encode() for row in files.output("bim")]
        assert sorted(names) == sorted(variants.panel.name.tolist())


@pytest.mark.parametrize("position", ["1.5", "1e6", "1,000"])
def test_a_position_that_plink_would_cut_short_is_an_error(files: Any, position: str) -> None:
    """plink1.9 reads 1.5, 1e6 and 1,000 as 1."""
    report = read(f"1 a 0 {position} A G\n".encode(), files.folder)[1]
    assert [(f.code, f.line, f.column, f.read) for f in report.findings] == [(Code.POSITION, 1, 4, position)]


def test_findings_of_several_blocks_are_one(tmp_path: Path) -> None:
    text = b"".join(b"1 v%d 0 %s A G\n" % (k, b"x" if k % 2 else b"1") for k in range(100))
    report = read(text, tmp_path, block=64)[1]
    assert [(f.code, f.line, f.count) for f in report.findings] == [(Code.POSITION, 2, 50)]
    assert report.findings[0].examples == ("line 2: x", "line 4: x", "line 6: x")


def test_duplicates_and_unnamed_stay_in_the_list_and_are_told(tmp_path: Path) -> None:
    variants, report = read(b"1 a 0 1 A G\n1 a 0 1 A C\n1 . 0 2 A G\n1 b 0 3 A G\n", tmp_path)
    assert report.ok
    assert variants is not None
    assert variants.panel.name.tolist() == [b"a", b"a", b".", b"b"]
    assert variants.row.tolist() == [0, 1, 2, 3]
    assert [(f.code, f.count) for f in report.findings] == [
        (Code.VARIANT_UNNAMED, 1),
        (Code.VARIANT_DUPLICATE, 2),
    ]


def test_memory_stays_small(tmp_path: Path) -> None:
    """Beside the list itself there is only one block: not the words of the whole file."""
    import tracemalloc

    m = 50_000
    text = b"".join(b"1\trs%d\t0\t%d\tA\tG\n" % (10**7 + k, k) for k in range(m))
    read(text[:1000], tmp_path)
    path = tmp_path / "x.bim"
    path.write_bytes(text)
    tracemalloc.start()
    variants = read_bim(path, Report(), block=1 << 16)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert variants is not None
    assert np.array_equal(variants.panel.position, np.arange(m))
    assert peak < 200 * m


def test_variants_are_called_after_their_places(tmp_path: Path) -> None:
    long = b"A" * 21
    text = (
        b"1 rs9 0 7 G A\n1 . 0 7 C G\nX affx 0 3 A "
        + long
        + b"\nMT rs1 0 2 T C\n0 rs2 0 0 A G\nUN u 0 1 A C\n"
    )
    variants, report = read(text, tmp_path, by_place=True)
    assert variants is not None and not report.of(Severity.ERROR)
    digest = hashlib.sha256(long).hexdigest()[:20].encode()
    assert variants.panel.name.tolist() == [
        b"0:0:A:G", b"1:7:A:G", b"1:7:C:G", b"X:3:A:" + digest, b"MT:2:C:T"
    ]  # fmt: skip
    assert Code.VARIANT_UNNAMED not in {finding.code for finding in report.findings}


def test_two_variants_of_one_place_and_pair_share_a_name(tmp_path: Path) -> None:
    _, report = read(b"1 a 0 7 G A\n1 b 0 7 A G\n", tmp_path, by_place=True)
    [told] = [finding for finding in report.findings if finding.code == Code.VARIANT_DUPLICATE]
    assert told.count == 2 and told.read == "1:7:A:G"


def test_an_allele_that_nobody_saw_is_told_where_alleles_name_variants(tmp_path: Path) -> None:
    text = b"1 a 0 7 0 A\n1 b 0 9 C A\n1 c 0 11 C A\n"
    told = [finding for finding in read(text, tmp_path, by_place=True)[1].findings
            if finding.code == Code.ALLELES_UNSEEN]  # fmt: skip
    assert [finding.count for finding in told] == [1] and "both alleles" in str(told[0].remedy)
    assert Code.ALLELES_UNSEEN not in {finding.code for finding in read(text, tmp_path)[1].findings}
