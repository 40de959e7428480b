"""Opening a text file: the faults that concern the file as a whole, found before its words are looked at."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from unpooled.memory.tokenizer import Tokens
from unpooled.panel.filesets import FILESETS, OF_BFILE, Fileset
from unpooled_client.data.findings.report import EXAMPLES, Code, Report, shown

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_NO_TEXT = re.compile(rb"[\0-\x08\x0b\x0c\x0e-\x1f]|\r(?![\r\n]|\Z)")
"""PLINK takes these for blanks, and no program writes them for one: a flipped byte, or a lost line end."""

# The first bytes of what is handed over by mistake, and what to do about it.
_COMPRESSED = {
    b"\x1f\x8b": "gzip: unpack it with `gunzip`",
    b"BZh": "bzip2: unpack it with `bunzip2`",
    b"\x28\xb5\x2f\xfd": "zstd: unpack it with `unzstd`",
    b"\xfd7zXZ": "xz: unpack it with `unxz`",
}
_NOT_TEXT = {
    b"PK\x03\x04": "a zip archive or a spreadsheet (.xlsx): save the sheet as tab-separated text",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet (.xls): save the sheet as tab-separated text",
    b"\x6c\x1b": "a .bed or .pgen file of genotypes: give the text file that goes with it",
    b"\xff\xfe": "text in UTF-16: save it as UTF-8 or ASCII",
    b"\xfe\xff": "text in UTF-16: save it as UTF-8 or ASCII",
}


def how_to_install(extra: str) -> str:
    """The remedy where an extra of the client is missing that reads genotypes."""
    if os.name == "nt":  # neither Pgenlib nor cyvcf2 is built for Windows
        return (
            "There is none for Windows: make a .bed with `plink2 … --make-bed`, and give that with --bfile. "
            "Its dosages are lost: only calls are left."
        )
    return f"Install it with: pip install 'unpooled-client[{extra}]'"


def exists(path: Path, what: str, report: Report) -> bool:
    """Tell whether `path` is a file that is not empty; if not, the report says so.

    `what` is what people call it: "the .fam file".
    """
    try:
        is_file, is_folder, size = path.is_file(), path.is_dir(), path.stat().st_size if path.is_file() else 0
    except OSError as error:  # a folder above it may not be entered
        unreadable(error, path, what, report)
        return False
    if not is_file:
        kind = "is a folder" if is_folder else "does not exist"
        report.error(Code.FILE_MISSING, f"{what} {kind}", file=path, remedy=_where_to_look(path))
        return False
    if size == 0:
        report.error(Code.FILE_EMPTY, f"{what} is empty", file=path, remedy="Write the file again.")
        return False
    return True


def read_bytes(path: Path, what: str, report: Report) -> bytes | None:
    """The whole content of a text file without its byte order mark, or None with the reason in the report."""
    if not exists(path, what, report):
        return None
    data = None
    with readable(path, what, report):
        data = path.read_bytes()
    if data is None or not is_text(data[:4096], path, what, report):
        return None
    if data.startswith(BYTE_ORDER_MARK):
        warn_of_mark(path, report)
        data = data[len(BYTE_ORDER_MARK) :]
    note_of_end(data, path, what, report)
    return data if good_line_ends(data, path, what, report) and is_clean(data, path, what, report) else None


def is_clean(data: bytes, path: Path, what: str, report: Report, first_line: int = 1) -> bool:
    """Tell whether every byte is one of a text; the report says where one is not."""
    odd = _NO_TEXT.search(data)
    if odd is None:
        return True
    is_return, line = odd[0] == b"\r", first_line + data.count(b"\n", 0, odd.start())
    start = data.rfind(b"\n", 0, odd.start()) + 1
    report.error(
        Code.OLD_LINE_ENDS if is_return else Code.FILE_NOT_TEXT,
        f"a line of {what} has {'an old Mac line end (CR)' if is_return else 'a byte that is no text'} in it",
        file=path,
        line=line,
        column=len(data[start : odd.start()].split()) + 1,
        read=shown(odd[0]),
        remedy="Look at this line: the file is damaged, or was written on several systems. Copy it again.",
    )
    return False


def note_of_end(data: bytes, path: Path, what: str, report: Report) -> None:
    """Tell if the last line has no line end: nobody can tell whether it is whole."""
    if data and not data.endswith((b"\n", b"\r")):
        report.note(
            Code.LAST_LINE,
            f"the last line of {what} has no line end: read all the same",
            file=path,
            remedy="Look at the end of the file: if it was cut off there, copy it again.",
        )


@contextlib.contextmanager
def readable(path: Path, what: str, report: Report) -> Iterator[None]:
    """Read a file in this block; if it cannot be, the report says so, and what follows the block is done."""
    try:
        yield
    except OSError as error:
        unreadable(error, path, what, report)


def head_of(path: Path, what: str, size: int, report: Report) -> bytes | None:
    """The first bytes of a file; None where there are none, and the report says why."""
    if exists(path, what, report):
        with readable(path, what, report), path.open("rb") as file:
            return file.read(size)
    return None


def unreadable(error: OSError, path: Path, what: str, report: Report) -> None:
    report.error(
        Code.FILE_UNREADABLE,
        f"{what} cannot be read: {error.strerror}",
        file=path,
        remedy="Look at the permissions of the file and of its folders.",
    )


def is_text(head: bytes, path: Path, what: str, report: Report) -> bool:
    """Tell whether a file that begins with `head` can be a PLINK text file; if not, the report says what it
    is.
    """
    for magic, remedy in _COMPRESSED.items():
        if head.startswith(magic):
            report.error(Code.FILE_COMPRESSED, f"{what} is compressed", file=path, remedy=f"It is {remedy}.")
            return False
    for magic, remedy in _NOT_TEXT.items():
        if head.startswith(magic):
            report.error(
                Code.FILE_NOT_TEXT, f"{what} is not a text file", file=path, remedy=f"It is {remedy}."
            )
            return False
    if b"\0" in head:
        remedy = "Give a text file with words separated by blanks or tabs, in UTF-8 or ASCII."
        report.error(Code.FILE_NOT_TEXT, f"{what} contains zero bytes", file=path, remedy=remedy)
        return False
    return True


def warn_of_mark(path: Path, report: Report) -> None:
    report.warning(
        Code.BYTE_ORDER_MARK,
        "the file begins with a byte order mark; it is skipped here",
        file=path,
        line=1,
        column=1,
        remedy="PLINK takes it as part of the first word. Save the file as UTF-8 without a byte order mark "
        "(BOM).",
    )


def good_line_ends(head: bytes, path: Path, what: str, report: Report) -> bool:
    """Tell whether the file has line ends that can be read; Windows line ends are reported, too."""
    if b"\r" not in head:
        return True
    if b"\r\n" in head:
        report.note(
            Code.WINDOWS_LINE_ENDS, f"{what} has Windows line ends (CR LF): read all the same", file=path
        )
    elif b"\n" not in head:
        report.error(
            Code.OLD_LINE_ENDS,
            f"{what} has old Mac line ends (CR), so it is one single line",
            file=path,
            line=1,
            remedy="Convert it, e.g. with `tr '\\r' '\\n' <old >new`.",
        )
        return False
    return True


def without_comments(tokens: Tokens, path: Path, what: str, report: Report) -> Tokens:
    """The rows that do not begin with `#`. One that does, but else looks like the others, is an error."""
    comment = tokens.text[tokens.start[tokens.row[:-1]]] == ord("#")
    if not comment.any() or comment.all():
        return select(tokens, ~comment)
    alike = np.flatnonzero(comment & (tokens.widths == tokens.widths[~comment][0]))
    late = [row for row in alike.tolist() if _has_number(tokens, row)]
    if late:
        report.error(
            Code.HEADER_LINE,
            f"a line of {what} looks like the others but begins with #: PLINK would pass over it",
            file=path,
            line=int(tokens.line[late[0]]),
            column=1,
            read=shown(tokens.word(late[0], 0)),
            remedy="Remove the line, or copy the file again if it is damaged.",
            count=len(late),
        )
    return select(tokens, ~comment)


def _has_number(tokens: Tokens, row: int) -> bool:
    """Tell whether a word is a whole number: a header has none, a person or variant always has one."""
    return any(tokens.word(row, j).isdigit() for j in range(1, int(tokens.widths[row])))


def select(tokens: Tokens, keep: np.ndarray) -> Tokens:
    """The rows for which `keep`, bool (rows,), holds."""
    if keep.all():
        return tokens
    words = np.repeat(keep, tokens.widths)
    row = np.concatenate([[0], np.cumsum(tokens.widths[keep])])
    return Tokens(tokens.text, tokens.start[words], tokens.end[words], row, tokens.line[keep])


def enough_columns(tokens: Tokens, columns: int, path: Path, what: str, names: str, report: Report) -> Tokens:
    """The rows that have at least `columns` words; the report hears of the others."""
    short = tokens.widths < columns
    if not short.any():
        return tokens
    row = int(np.argmax(short))
    line = b" ".join(tokens.word(row, j) for j in range(tokens.widths[row]))
    commas = line.count(b",") >= columns - 1 or line.count(b";") >= columns - 1
    report.error(
        Code.TOO_FEW_COLUMNS,
        f"a line of {what} has fewer columns than expected",
        file=path,
        line=int(tokens.line[row]),
        column=int(tokens.widths[row]) + 1,
        read=f"{tokens.widths[row]} column(s)",
        expected=f"at least {columns}: {names}",
        remedy="Columns are separated by blanks or tabs, not by commas: export the table as tab-separated "
        "text."
        if commas
        else "An empty field is not a column: write NA, or 0 for an unknown parent, sex or allele.",
        count=int(short.sum()),
        examples=tuple(f"line {line}" for line in tokens.line[short][:EXAMPLES]),
    )
    return select(tokens, ~short)


def even_columns(tokens: Tokens, wanted: int, path: Path, what: str, report: Report) -> Tokens:
    """The rows that have as many words as `wanted`: in others one may stand in a wrong column."""
    widths = tokens.widths
    for code, more, uneven in (
        (Code.TOO_FEW_COLUMNS, "fewer", widths < wanted),
        (Code.TOO_MANY_COLUMNS, "more", widths > wanted),
    ):
        if uneven.any():
            row = int(np.argmax(uneven))
            report.error(
                code,
                f"a line of {what} has {more} columns than the first line",
                file=path,
                line=int(tokens.line[row]),
                column=min(int(widths[row]), wanted) + 1,
                read=f"{widths[row]} column(s)",
                expected=f"{wanted}, as the first line has",
                remedy="Write NA for a missing value, and no blanks inside of one: both move what follows.",
                count=int(uneven.sum()),
                examples=tuple(f"line {line}" for line in tokens.line[uneven][:EXAMPLES]),
            )
    return select(tokens, widths == wanted)


def _where_to_look(path: Path) -> str:
    """Return advice about a file that is missing."""
    if (packed := path.with_name(f"{path.name}.zst")).exists():
        return f"{packed.name} is here: unpack it with `unzstd {packed.name}`."
    if path.suffix in _GENOTYPES and (hint := _of_others(path)):
        return hint
    beside = _beside(path)
    hint = (
        f"In the same folder: {', '.join(beside)}." if beside else "Look at the path: it is taken as typed."
    )
    if path.suffix in _GENOTYPES:
        prefixes = sorted({name.rpartition(".")[0] for name in beside if name.endswith(_GENOTYPES)})
        meant = f" Did you mean {prefixes[0]}?" if prefixes else ""
        *first, last = (f".{kind}" for kind in _fileset(path).kinds)
        return f"{hint}{meant} The name is given without {', '.join(first)} or {last}."
    return hint


_GENOTYPES = tuple(f".{kind}" for fileset in FILESETS for kind in fileset.kinds)


def _fileset(path: Path) -> Fileset:
    """The files of which this one is one."""
    return next(fileset for fileset in FILESETS if path.suffix[1:] in fileset.kinds)


def _of_others(path: Path) -> str:
    """Return advice about a missing one of three genotype files, if others of them are there; else empty."""
    fileset = _fileset(path)
    others = [each for kind in fileset.kinds if (each := path.with_suffix(f".{kind}")).exists()]
    if not others:
        return ""
    names, are = " and ".join(other.name for other in others), "is" if len(others) == 1 else "are"
    renamed = f"If it has another name, choose it by that (--{path.suffix[1:]}); if"
    return (
        f"Genotypes are three files of one name, and of these {names} {are} here. Copy "
        f"{path.name} to them from where they came from. {renamed if fileset is OF_BFILE else 'If'} it is "
        f"lost, write all three anew (plink2 --make-{fileset.genotypes})."
    )


def _beside(path: Path) -> list[str]:
    """Up to three files in the same folder whose names begin alike."""
    if not path.parent.is_dir():
        return []
    alike = sorted(p.name for p in path.parent.iterdir() if p.stem[:3].lower() == path.stem[:3].lower())
    return alike[:3]
