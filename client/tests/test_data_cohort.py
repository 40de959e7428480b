"""A cohort's .bed and .bim against PLINK and slow, clear readers; aligned with a panel; and unchanged."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from bed_reader import open_bed
from client_lists import rows
from hypothesis import given
from hypothesis import strategies as st

from unpooled.errors import DataProblem
from unpooled.kernels.counts import count_genotypes, group_masks
from unpooled.panel.chromosomes import chromosome_code, chromosome_name
from unpooled.panel.panel import Panel
from unpooled_client.data.findings.report import Code, Report, Severity
from unpooled_client.data.plink import bed
from unpooled_client.data.plink.bed import BedFile
from unpooled_client.data.plink.bim import read_bim
from unpooled_client.data.plink.variants import Variants
from unpooled_client.state.fingerprint import BLOCK, Fingerprint, check_unchanged, fingerprints

# Out of order, with a comment, a negative position and a variant that no panel has.
BIM = "2 b 0 9 T C\n2 c 0 9 A G\n#x\n1 z 0 50 0 G\n1 y 0 -1 A C\n1 x 0 50 G A\nX w 0 1 A T\n"
PANEL = [
    (1, 50, b"x", b"A", b"G"),
    (1, 50, b"z", b"A", b"G"),
    (2, 9, b"absent", b"A", b"C"),
    (2, 9, b"b", b"A", b"G"),  # the other strand
    (2, 9, b"c", b"A", b"G"),
]


def counts(words: np.ndarray, samples: int) -> np.ndarray:
    """Count each two-bit code, (rows, 4)."""
    shifts = 2 * np.arange(32, dtype=np.uint64)
    code = (words[:, :, None] >> shifts & np.uint64(3)).reshape(len(words), -1)[:, :samples]
    return np.stack([(code == c).sum(axis=1) for c in range(4)], axis=1)


def test_genotypes_are_plinks(files: Any) -> None:
    """The counts of --freqx, whose order of alleles is that of the .bim with --keep-allele-order."""
    bim = "".join(sorted(BIM.replace("#x\n", "").splitlines(keepends=True)))
    files.write(bim=bim)
    assert files.plink("--freqx", "--keep-allele-order", "--nonfounders").returncode == 0
    _, *rows = files.output("frqx")
    expected = {row[1]: (int(row[4]), int(row[-1]), int(row[5]), int(row[6])) for row in rows}
    data = files.open()
    found = counts(data.align(data.panel).packed(slice(None)).words, 60)
    names = [name.decode() for name in data.panel.name.tolist()]
    autosomal = [k for k, name in enumerate(names) if name != "w"]  # haploid calls are counted apart
    assert {names[k]: tuple(found[k]) for k in autosomal} == {
        name: row for name, row in expected.items() if name != "w"
    }


def test_alignment_with_a_panel(files: Any) -> None:
    files.write(bim=BIM)
    data = files.open()
    assert data.panel.name.tolist() == [b"x", b"z", b"b", b"c", b"w"]
    assert data.variants.rows == 6
    cohort = data.align(Panel.of(PANEL))
    assert cohort.rows.tolist() == [4, 2, -1, 0, 1]
    packed = cohort.packed(slice(None))
    # A1 of x is G, of z the unseen one, of b T, which is A on the other strand, and of c A.
    assert packed.swapped[[0, 3, 4]].tolist() == [True, False, False]
    assert counts(packed.words, 60)[2].tolist() == [0, 60, 0, 0]
    some = cohort.packed(np.array([4, 0]))
    assert np.array_equal(counts(some.words, 60), counts(packed.words, 60)[[4, 0]])
    assert some.swapped.tolist() == [False, True]


def test_the_same_panel_whatever_the_order_of_the_file(files: Any) -> None:
    files.write(bim=BIM)
    own = files.open().panel
    files.write(bim="\n".join(reversed(BIM.splitlines())))
    assert files.open().panel.digest == own.digest


@pytest.mark.parametrize("name", ["bed", "bim", "fam", "pheno"])
def test_a_file_that_changed_is_named(files: Any, name: str) -> None:
    files.write(pheno="".join(f"F{k} I{k} 1\n" for k in range(60)))
    paths = files.options(pheno="pheno").paths
    accepted = fingerprints(paths)
    check_unchanged(accepted, paths)
    content = paths[name].read_bytes()
    times = paths[name].stat()
    paths[name].write_bytes(content[:-2] + bytes([content[-2] ^ 1]) + content[-1:])
    os.utime(paths[name], ns=(times.st_atime_ns, times.st_mtime_ns + 1))
    with pytest.raises(DataProblem, match=f"the {name} file has changed"):
        check_unchanged(accepted, paths)
    paths[name].write_bytes(content)  # restored, with another time
    check_unchanged(accepted, paths)
    paths[name].unlink()
    with pytest.raises(DataProblem, match=f"the {name} file has changed"):
        check_unchanged(accepted, paths)


def test_other_options_than_accepted_are_told(files: Any) -> None:
    files.write(pheno="F1 I1 1\n")
    accepted = fingerprints(files.options().paths)
    with pytest.raises(DataProblem, match="pheno"):
        check_unchanged(accepted, files.options(pheno="pheno").paths)


def test_a_huge_file_is_sampled_and_then_its_time_counts(files: Any) -> None:
    path = files.folder / "huge"
    path.write_bytes(bytes(3 * BLOCK))
    before = Fingerprint.of(path, whole=BLOCK)
    assert before.sampled
    assert before.same(Fingerprint.of(path, whole=BLOCK))
    os.utime(path, ns=(0, 0))
    assert not before.same(Fingerprint.of(path, whole=BLOCK))
    path.write_bytes(bytes(3 * BLOCK - 1) + b"\1")
    assert before.digest != Fingerprint.of(path, whole=BLOCK).digest


MISSING = 1


def codes(words: np.ndarray, samples: int) -> np.ndarray:
    """The two-bit codes, uint8 (rows, samples)."""
    shifts = 2 * np.arange(32, dtype=np.uint64)
    wide = (words[:, :, None] >> shifts & np.uint64(3)).reshape(len(words), 32 * words.shape[1])
    return wide[:, :samples].astype(np.uint8)


def slow_codes(path: Path, samples: int, rows: list[int]) -> list[list[int]]:
    data = path.read_bytes()[3:]
    width = (samples + 3) // 4
    return [
        [MISSING if row < 0 else data[row * width + i // 4] >> 2 * (i % 4) & 3 for i in range(samples)]
        for row in rows
    ]


def write(folder: Path, samples: int, variants: int, seed: int = 1) -> BedFile:
    path = folder / "x.bed"
    content = np.random.default_rng(seed).integers(0, 256, variants * ((samples + 3) // 4), np.uint8)
    path.write_bytes(b"\x6c\x1b\x01" + content.tobytes())
    return BedFile(path, samples, variants)


@given(st.integers(1, 70), st.integers(1, 20), st.data())
def test_any_rows_in_any_order(samples: int, variants: int, data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(-1, variants - 1), max_size=30))
    with TemporaryDirectory() as folder:
        file = write(Path(folder), samples, variants)
        words = file.words(np.array(rows, np.int64))
        expected = slow_codes(file.path, samples, rows)
    assert words.dtype == np.uint64
    assert words.shape == (len(rows), -(-samples // 32))
    assert codes(words, samples).tolist() == expected


@pytest.mark.parametrize(("window", "hole"), [(1, 0), (40, 0), (40, 1000), (1 << 20, 7)])
def test_windows_and_holes_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, window: int, hole: int
) -> None:
    monkeypatch.setattr(bed, "WINDOW", window)
    monkeypatch.setattr(bed, "HOLE", hole)
    file = write(tmp_path, 33, 200)
    rng = np.random.default_rng(2)
    for some in (
        np.arange(200),
        np.arange(50, 60),
        rng.permutation(200),
        np.flatnonzero(rng.random(200) < 0.2),
    ):
        assert codes(file.words(some), 33).tolist() == slow_codes(file.path, 33, some.tolist())


def test_a_file_cut_off_while_in_use_is_told(tmp_path: Path) -> None:
    file = write(tmp_path, 33, 10)
    file.path.write_bytes(file.path.read_bytes()[:-5])
    assert file.words(np.arange(9)).shape == (9, 2)
    with pytest.raises(DataProblem, match="cut off"):
        file.words(np.arange(10))


def test_a_file_that_went_away_is_told(tmp_path: Path) -> None:
    file = write(tmp_path, 33, 10)
    file.path.unlink()
    with pytest.raises(DataProblem, match="cannot be read"):
        file.words(np.arange(2))


def test_as_an_independent_reader_reads_it(files: Any) -> None:
    """bed-reader, told to count A1, so the codes 00, 10, 11 are 2, 1, 0; samples by variants."""
    expected = open_bed(f"{files.folder / 't'}.bed", count_A1=True).read(dtype="int8").T
    read = codes(files.open().genotypes.words(np.arange(3)), 60)
    assert np.array_equal(np.array([2, -127, 1, 0])[read], expected)


GOOD = ["0", "1", "9", "01", "22", "23", "24", "25", "26", "X", "Y", "XY", "MT", "M", "x", "mt", "xY"]
GOOD += ["0X", "0Y", "0M", "chr1", "Chr1", "CHR22", "chrX", "chrMT", "chrM", "chr23", "chr0"]
BAD = ["27", "chr27", "UN", "Z", "1_random", "1x", "100", "-1", "+1", "001", "chr", "chrUn", "chrchr1"]


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
    """Only one block is in memory besides the list itself: not the words of the whole file."""
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
