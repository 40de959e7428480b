"""Files that were damaged on their way: what a reader accepts is what stands there, and no row is lost.

Each kind of file has here the plainest reader there can be, by the words of its lines. Some damage leaves a
file that nobody can tell from a whole one, such as another digit: then both read the same.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unpooled.errors import DataProblem
from unpooled.panel.alleles import UNSEEN, capital
from unpooled.plan.categories import is_missing
from unpooled.plan.schema import Column
from unpooled_client.data.findings.report import Code, Report
from unpooled_client.data.imputed.copied_people import rows_of_psam
from unpooled_client.data.imputed.vcf import open_vcf
from unpooled_client.data.options import DataOptions
from unpooled_client.data.plink.bim import read_bim
from unpooled_client.data.plink.fam import Fam, read_fam
from unpooled_client.data.samples.covariates import read_covariates
from unpooled_client.data.samples.phenotype import read_phenotypes
from unpooled_client.data.tables import cells, open_table
from unpooled_client.data.tables.faults import Faults

Damage: TypeAlias = tuple[str, int, int]

PEOPLE = 12
SITES = ["Graz", '"Tartu, old"', '"say ""x"", y"', "", '"München"', "Riga"]
SCHEMA = (Column("age", "integer"), Column("site", "category", "", "one-hot", most=64), Column("glucose"))
TABLE = 'age,site,"glucose"\n' + "".join(f"{61 + k},{SITES[k % 6]},{5.25 + k}\n" for k in range(PEOPLE))
FAM = "".join(f"c{k} c{k} 0 0 {1 + k % 2} {1 + k % 2}\n" for k in range(PEOPLE))
BIM = "".join(f"{3 + k // 6}\trs{k}\t0\t{100 + k}\tA\tG\n" for k in range(PEOPLE))
VALUES = "FID\tIID\tbmi\tage\n" + "".join(f"c{k}\tc{k}\t{21.5 + k}\t{60 + k}\n" for k in range(PEOPLE))
SAMPLE = "ID_1 ID_2 missing sex\n0 0 0 D\n" + "".join(f"F{k} c{k} 0 {1 + k % 2}\n" for k in range(PEOPLE))
ALTERNATES = ["G", "G,T", "C,G,T"]
PVAR = "#CHROM\tPOS\tID\tREF\tALT\n" + "".join(
    f"{3 + k // 6}\t{100 + k}\trs{k}\tA\t{ALTERNATES[k % 3]}\n" for k in range(PEOPLE)
)
CALLS = ["0/0", "0/1", "1/1", "./.", "1|0"]
VCF = (
    "##fileformat=VCFv4.2\n##contig=<ID=3>\n"
    '##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">\n'
    "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\ti0\ti1\ti2\n"
    + "".join(
        f"3\t{100 + k}\trs{k}\tA\t{ALTERNATES[k % 3]}\t.\t.\t.\tGT\t{CALLS[k % 5]}\t0/1\t{CALLS[k % 3]}\n"
        for k in range(9)
    )
)


def damaged(whole: bytes, damages: list[Damage]) -> bytes:
    """Bytes that were cut, flipped, or have something that does not belong there; places go round."""
    made = bytearray(whole)
    for kind, at, more in damages:
        place = at % len(made)
        quotes = [k for k, byte in enumerate(made) if byte == ord('"')] or [place]
        quote = quotes[at % len(quotes)]
        match kind:
            case "cut":
                del made[max(1, place) :]
            case "cut last line":
                last = made.rstrip(b"\r\n").rfind(b"\n") + 1
                del made[last + max(1, at % (len(made) - last)) :]
            case "double a quote":
                made.insert(quote, ord('"'))
            case "move a quote":
                made.pop(quote)
                made.insert(more % (len(made) + 1), ord('"'))
            case "a zero byte":
                made.insert(place, 0)
            case "a lone CR":
                made[place : place + more % 2] = b"\r"
            case "flip":
                made[place] ^= 1 << more % 8
        if not made:
            return b"\n"
    return bytes(made)


KINDS = ["cut", "cut last line", "double a quote", "move a quote", "a zero byte", "a lone CR", "flip", "flip"]
damages = st.tuples(st.sampled_from(KINDS), st.integers(0, 1 << 16), st.integers(0, 1 << 16))


def lines(content: bytes) -> Iterator[list[bytes]]:
    """The words of each line that has any."""
    return filter(None, (line.split() for line in content.split(b"\n")))


def of_table(path: Path, content: bytes) -> None:
    """The library and the slow reader, side by side; each line below the header is a row."""
    report = Report()
    table = open_table(path, SCHEMA, 0, report)
    assert (table is not None) == report.ok
    if table is None:
        return
    faults = Faults(path, slow := Report())
    header = next(
        row for row in csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True) if row
    )
    values = cells.read(path, header, SCHEMA, faults)
    assert values is not None, slow.findings
    assert np.array_equal(values, table.values, equal_nan=True)
    [sites] = cells.texts(path, header, [header.index("site")], faults)
    words = table.words["site"]
    read = ["" if code < 0 else words.values[code] for code in words.codes]
    assert read == ["" if is_missing(site) else site for site in sites]
    is_told = any(finding.code == Code.CELL_OF_LINES for finding in report.findings)
    assert is_told or len(values) == sum(1 for _ in lines(content)) - 1


def of_fam(path: Path, content: bytes) -> None:
    fam, report = read_fam(path, report := Report()), report
    if report.ok:
        assert fam is not None
        assert [*zip(fam.fid.tolist(), fam.iid.tolist(), strict=True)] == [
            (w[0], w[1]) for w in lines(content)
        ]


def of_bim(path: Path, content: bytes) -> None:
    variants, report = read_bim(path, report := Report()), report
    if report.ok:
        assert variants is not None
        skipped = sum(each.count for each in report.findings if each.severity != "note")
        assert len(variants) + skipped >= sum(1 for _ in lines(content))


def of_pvar(path: Path, content: bytes) -> None:
    """Each alternate allele is a variant of its own, which is found again by its number."""
    variants = read_bim(path, report := Report(), by_place=True)
    if not report.ok:
        return
    assert variants is not None and variants.unusable is not None
    rows = [words for words in lines(content) if not words[0].startswith(b"#")]
    named = [capital(allele) for words in rows for allele in words[4].split(b",")]
    wanted = [UNSEEN if allele == b"." else allele for allele in named]
    assert variants.rows == len(rows)
    assert len(variants) + len(variants.unusable) == len(wanted) == variants.rows + len(variants.split)
    read = [variants.panel.pair(k)[0 if variants.a1_is_first[k] else 1] for k in range(len(variants))]
    assert read == [wanted[row] for row in variants.row.tolist()]


def fam_in(folder: Path) -> Fam:
    (folder / "whole.fam").write_text(FAM)
    fam = read_fam(folder / "whole.fam", Report())
    assert fam is not None
    return fam


def number(word: bytes) -> float:
    return np.nan if word.lower() in (b"na", b"nan", b"-9", b".") else float(word)


def of_values(path: Path, content: bytes, read: Callable[[Fam, Path, Report], Any]) -> None:
    """A value of each person is the word of their line, or missing without one."""
    fam = fam_in(path.parent)
    found = read(fam, path, report := Report())
    if not report.ok:
        return
    wanted = np.full((PEOPLE, 2), np.nan)
    for line in content.split(b"\n")[1:]:
        words = [word.strip() or b"NA" for word in line.strip(b"\r").split(b"\t")]
        words = words if len(words) == 4 else line.split()
        if tuple(words[:2]) in fam.index:
            wanted[fam.index[words[0], words[1]]] = [number(words[2]), number(words[3])]
    assert np.array_equal(found, wanted, equal_nan=True)


def covariates(fam: Fam, path: Path, report: Report) -> Any:
    found = read_covariates(fam, DataOptions(covar=path), np.ones(PEOPLE, bool), report)
    return None if found is None else found.values


def phenotypes(fam: Fam, path: Path, report: Report) -> Any:
    # Of a named test: without one, a phenotype that nobody has is none.
    options = [DataOptions(pheno=path, mpheno=k, test="linear", trait="quantitative") for k in (1, 2)]
    found = [read_phenotypes(fam, each, report) for each in options]
    return np.column_stack([each[0].values for each in found]) if all(found) else None


def of_sample(path: Path, content: bytes) -> None:
    rows = rows_of_psam(path, (), PEOPLE, path, None, report := Report())
    if report.ok:
        assert rows is not None
        assert [tuple(row.split()[:2]) for row in rows[1:]] == [(w[0], w[1]) for w in [*lines(content)][2:]]


def of_vcf(path: Path, content: bytes) -> None:
    try:
        file = open_vcf(path, None, 22)
        count = file.rows(lambda done, of: None)
        read = [row for piece in file.pieces(Counter()) for row in piece.dosages]
    except DataProblem as problem:
        assert problem.remedy
        return
    rows = [line.split(b"\t") for line in content.split(b"\n") if line and not line.startswith(b"#")]
    assert count == len(read) == sum(len(words[4].split(b",")) for words in rows)


def of_parquet(path: Path, content: bytes) -> None:
    """Pages have sums to check them by: what is read is what was written."""
    try:
        table = open_table(path, SCHEMA, 0, report := Report())
    except DataProblem as problem:  # in a column of words
        assert problem.remedy
        return
    if report.ok:
        assert table is not None
        assert table.values[:, 0].tolist() == [61 + k for k in range(PEOPLE)]
        assert table.values[:, 1].tolist() == [5.25 + k for k in range(PEOPLE)]
        assert [table.words["site"].values[k] for k in table.words["site"].codes] == ["Graz"] * PEOPLE


def parquet() -> bytes:
    columns = {"age": [61 + k for k in range(PEOPLE)], "site": ["Graz"] * PEOPLE}
    columns["glucose"] = [5.25 + k for k in range(PEOPLE)]
    pq.write_table(pa.table(columns), out := io.BytesIO(), write_page_checksum=True)
    return out.getvalue()


FILES: dict[str, tuple[str, bytes, Callable[[Path, bytes], None]]] = {
    "csv": ("t.csv", TABLE.encode(), of_table),
    "csv of Windows": ("t.csv", TABLE.replace("\n", "\r\n").encode(), of_table),
    "fam": ("t.fam", FAM.encode(), of_fam),
    "bim": ("t.bim", BIM.encode(), of_bim),
    "pvar": ("t.pvar", PVAR.encode(), of_pvar),
    "phenotypes": ("t.pheno", VALUES.encode(), lambda path, content: of_values(path, content, phenotypes)),
    "covariates": ("t.covar", VALUES.encode(), lambda path, content: of_values(path, content, covariates)),
    "sample": ("t.sample", SAMPLE.encode(), of_sample),
    "vcf": ("t.vcf", VCF.encode(), of_vcf),
    "parquet": ("t.parquet", parquet(), of_parquet),
}


@pytest.mark.parametrize("kind", FILES)
@settings(max_examples=200, suppress_health_check=list(HealthCheck))
@given(damages=st.lists(damages, min_size=1, max_size=2))
def test_what_is_accepted_is_what_stands_there(kind: str, damages: list[Damage]) -> None:
    """A CSV gets one damage only: two quotes may stand so that rows cannot be told from a cell of lines."""
    name, whole, look = FILES[kind]
    content = damaged(whole, damages[:1] if "csv" in kind else damages)
    with TemporaryDirectory() as folder:
        (path := Path(folder) / name).write_bytes(content)
        look(path, content)
