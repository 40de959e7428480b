"""The people of a VCF or BGEN as the rows of a .psam: by the file's own IDs, a .sample, a .psam or .fam.

In a .sample, as Oxford's programs and plink2 write it, the second line has the columns' types, and people
stand in the order of the BGEN. In a .psam or .fam they stand in any order and are found by their IID.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

from unpooled.memory.tokenizer import Tokens, tokenize
from unpooled_client.data.findings.report import EXAMPLES, Code, Report, at, shown
from unpooled_client.data.findings.source import enough_columns, even_columns, read_bytes, select
from unpooled_client.data.plink.fam import Fam, read_fam

WHAT = "the .sample file"
_SEXES = {b"1": b"1", b"2": b"2", b"M": b"1", b"F": b"2", b"m": b"1", b"f": b"2"}
_HEADER = (b"#FID", b"IID", b"PAT", b"MAT", b"SEX")


@dataclasses.dataclass(frozen=True)
class _Person:
    fid: bytes
    iid: bytes
    sex: bytes = b"NA"


def rows_of_psam(
    file: Path, named: tuple[str, ...], samples: int, sample: Path | None, psam: Path | None, report: Report
) -> list[bytes] | None:
    """The lines of a .psam with all people in the order of `file`; None if the report says why not.

    `named` are the file's own IDs, none if it has none; `sample` and `psam` are the files that were given.
    """
    if sample is not None:
        people = _of_sample(sample, named, samples, report)
    elif named:
        people = [_Person(b"0", iid.encode()) for iid in named]
    else:
        people = None
        report.error(
            Code.OPTION,
            "the file does not say who its people are",
            file=file,
            remedy="Give the .sample file that goes with it: --sample FILE.",
        )
    if people is None or not _are_words(file, people, report):
        return None
    if psam is None:
        return [b"#FID\tIID\tSEX", *(b"\t".join((each.fid, each.iid, each.sex)) for each in people)]
    fam = read_fam(psam, report, by_header=True)
    return None if fam is None else _of_psam(file, people, fam, report)


def _are_words(file: Path, people: list[_Person], report: Report) -> bool:
    odd = [each.iid for each in people if len(each.iid.split()) != 1]
    if odd:
        report.error(
            Code.SAMPLE_ID,
            "the ID of a sample has blanks, which stand between the columns of all of PLINK's files",
            file=file,
            read=shown(odd[0]),
            expected="an ID without blanks",
            remedy="Rename the samples, e.g. with `bcftools reheader --samples FILE`.",
            count=len(odd),
        )
    return not odd


def _of_sample(path: Path, named: tuple[str, ...], samples: int, report: Report) -> list[_Person] | None:
    """The people of a .sample; None if it is not of this file."""
    data = read_bytes(path, WHAT, report)
    if data is None:
        return None
    words = tokenize(data)
    header = [words.word(0, j) for j in range(int(words.widths[0]))] if len(words) else []
    has_second = len(header) < 2 or header[0].upper() != b"ID_1" or header[1].upper() in (b"ID_2", b"MISSING")
    if len(words) < 2 or not (has_second and header[0].upper().startswith(b"ID")) or words.word(1, 0) != b"0":
        report.error(
            Code.HEADER,
            f"{WHAT} does not begin like one",
            file=path,
            line=1,
            read=shown(b" ".join(header[:4])),
            expected="ID_1 ID_2 missing sex, and then a line such as 0 0 0 D",
            remedy="If it is a .psam or .fam, give it with --psam.",
        )
        return None
    rows = select(words, words.row[:-1] >= words.row[2])
    rows = enough_columns(rows, len(header), path, WHAT, b" ".join(header).decode(errors="replace"), report)
    even_columns(rows, len(header), path, WHAT, report)
    if not report.ok:
        return None
    if len(rows) != samples:
        report.error(
            Code.SAMPLES_DIFFER,
            f"{WHAT} has another number of people than the file of genotypes",
            file=path,
            read=f"{len(rows)} people",
            expected=f"{samples}",
            remedy="Give the .sample that was written with it.",
        )
        return None
    people = [_person(rows, header, row) for row in range(len(rows))]
    return people if _in_order(path, rows, named, report) else None


def _person(rows: Tokens, header: list[bytes], row: int) -> _Person:
    has_two = len(header) > 1 and header[1].upper() == b"ID_2"
    first, second = rows.word(row, 0), rows.word(row, 1) if has_two else rows.word(row, 0)
    sex = _SEXES.get(rows.word(row, header.index(b"sex")), b"NA") if b"sex" in header else b"NA"
    return _Person(first if has_two else b"0", second, sex)


def _in_order(path: Path, rows: Tokens, named: tuple[str, ...], report: Report) -> bool:
    """Tell whether a .sample lists the people in the order of the file, as far as the file names them."""
    other = [row for row, name in enumerate(named) if name.encode() not in _names(rows, row)]
    if other:
        report.error(
            Code.SAMPLES_DIFFER,
            f"{WHAT} has the people in another order than the file of genotypes, or has other people",
            expected=shown(named[other[0]]),
            remedy="Give the .sample that was written with it. For sexes and phenotypes in any order, give a "
            ".psam with --psam instead.",
            **at(path, rows.line[other], [rows.word(row, 0) for row in other[:EXAMPLES]]),
        )
    return not other


def _names(rows: Tokens, row: int) -> tuple[bytes, ...]:
    """Return the names that a program may give a person: one ID, or both joined."""
    first, second = rows.word(row, 0), rows.word(row, min(1, int(rows.widths[row]) - 1))
    return first, second, first + b"_" + second, first + b" " + second


def _of_psam(file: Path, people: list[_Person], fam: Fam, report: Report) -> list[bytes] | None:
    """The rows of a .psam or .fam in the order of the file."""
    lacking = [each.iid for each in people if each.iid not in fam.index_by_iid]
    if lacking:
        report.error(
            Code.SAMPLES_DIFFER,
            f"somebody in the file of genotypes is not, or not once, in {fam.what}",
            file=fam.path,
            expected=shown(lacking[0]),
            remedy=f"Their IIDs must be written as in {file.name}: list these with `bcftools query -l` or "
            "`bgenix`. The order does not matter.",
            count=len(lacking),
            examples=tuple(shown(iid) for iid in lacking[:EXAMPLES]),
        )
        return None
    found = [fam.index_by_iid[each.iid] for each in people]
    if found != sorted(found):
        report.note(
            Code.SAMPLES_DIFFER,
            f"{fam.what} has the people in another order than the file of genotypes: they are found by IID",
            file=fam.path,
        )
    if len(fam) > len(people):
        report.note(
            Code.SAMPLES_UNMATCHED,
            f"somebody in {fam.what} has no genotypes and is not in the study",
            file=fam.path,
            count=len(fam) - len(people),
        )
    has_phenotype = fam.place[5] > 0
    name = (fam.phenotype or "PHENO1").encode()
    columns = 6 if has_phenotype else 5
    rows = (b"\t".join(fam.tokens.word(row, j) for j in range(columns)) for row in found)
    return [b"\t".join((*_HEADER, *([name] if has_phenotype else []))), *rows]
