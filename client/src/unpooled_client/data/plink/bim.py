"""The .bim or .pvar file: the variants, in the canonical order of a panel.

A .bim as plink1.9 reads it (tried with v1.90b6.26): the first line says whether there is a centimorgan column
(six words or five), and here, unlike there, how many words all others have; lines that begin with `#` are
comments; a variant with a negative position is skipped but has its row in the .bed; positions end at
2147483646; PLINK stops at a comma in an allele.

A .pvar as plink2 reads it (tried with v2.00a3.7): the line that begins with `#CHROM` names the columns, which
stand in any order, and ALT is A1; without it, it is a .bim. A line of several alternate alleles is one
variant for each of these where variants are called after their places; elsewhere it is passed over, since
plink2 leaves what it splits without an ID.

Where PLINK stops at a chromosome that it does not know (without --allow-extra-chr), its variants are skipped.
Bases in lower case, which PLINK takes for other alleles, are read as capitals.

The file is read in blocks. What they say goes to the disk if it is much (`unpooled.memory.spool`), and is
made into the list once all alleles are known: neither the file nor the list is ever in memory as a whole.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from unpooled.memory import tokenizer
from unpooled.memory.spool import AT_ONCE, ROOM, NoRoom, Spool, forget
from unpooled.memory.tokenizer import Tokens
from unpooled.panel.alleles import UNSEEN, capital
from unpooled.panel.chromosomes import HUMAN, chromosome_code
from unpooled.panel.panel import NEGATIVE, NO_CHROMOSOME, SEVERAL_ALLELES, UNUSABLE, Panel
from unpooled_client.data.findings import source
from unpooled_client.data.findings.report import EXAMPLES, Code, Report, Severity, at, shown
from unpooled_client.data.plink.ids_and_alleles import IdsAndAlleles
from unpooled_client.data.plink.layout import Layout, called, header_of, kind_of
from unpooled_client.data.plink.oddities import Listed, look_at
from unpooled_client.data.plink.split import WHOLE, Split, copies_of, misspelt
from unpooled_client.data.plink.variants import Listing, Variants

BLOCK = 1 << 20
LAST_POSITION = 2**31 - 2

OTHERS_ARE_REFERENCE = (
    "All other alleles count as the reference, as after `plink2 --make-pgen multiallelics=-`. A study uses "
    "those variants that all cohorts have."
)
FOUND_BY_PLACE = (
    "For the study, this cohort lacks it. Ask the coordinator for a plan that matches variants by place, "
    "where it is one variant for each alternate allele; or all cohorts split and name such variants alike, "
    "e.g. with `bcftools norm -m-`."
)

_NOT_SEEN = {b".": UNSEEN}
"""Codes of a .pvar for an unseen allele, in addition to those of a .bim."""


@dataclass(frozen=True, eq=False)
class _Block:
    """The columns of some lines; alleles are numbers in the reader's table."""

    chromosome: np.ndarray
    position: np.ndarray
    name: np.ndarray | None
    """None where variants are called after their places."""
    a1: np.ndarray
    a2: np.ndarray
    line: np.ndarray

    def names(self, rows: np.ndarray) -> np.ndarray:
        """Return the IDs of some lines, (k,); empty strings if IDs were not read."""
        return np.zeros(len(rows), "S1") if self.name is None else self.name[rows]


class _Blocks:
    """The blocks of a file, of which many lie on the disk."""

    def __init__(self, room: int) -> None:
        kinds = {"chromosome": np.uint8, "position": np.int32, "a1": np.uint32, "a2": np.uint32}
        self._spools = {name: Spool(kind, room) for name, kind in {**kinds, "line": np.uint32}.items()}
        self._letters = Spool(np.uint8, room)
        self._sizes: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return len(self._sizes)

    @property
    def width(self) -> int:
        """Bytes of the longest name."""
        return max((width for _, width in self._sizes), default=0)

    def append(self, block: _Block) -> None:
        for name, spool in self._spools.items():
            spool.append(getattr(block, name))
        letters = np.zeros(0, np.uint8) if block.name is None else block.name.view(np.uint8)
        self._sizes.append((len(block.line), len(letters) // len(block.line)))
        self._letters.append(letters)

    def __iter__(self) -> Iterator[_Block]:
        columns = {name: spool.column() for name, spool in self._spools.items()}
        letters, start, at = self._letters.column(), 0, 0
        for rows, width in self._sizes:
            name = letters[at : at + rows * width].view(f"S{width}") if width else None
            yield _Block(name=name, **{key: each[start : start + rows] for key, each in columns.items()})
            start, at = start + rows, at + rows * width
            forget(letters, *columns.values())


def read_bim(
    path: Path,
    report: Report,
    autosomes: int = HUMAN,
    block: int = BLOCK,
    build: str = "",
    *,
    by_place: bool = False,
    room: int = ROOM,
    at_once: int = AT_ONCE,
) -> Variants | None:
    """Read a .bim or .pvar file, or None where it cannot be read; the report says why and what else there is.

    `build`: the plan's, to hold the positions against; empty if there is no plan. `by_place`: variants
    are called after their place and alleles, whatever their IDs. `room`: bytes of each column that are kept
    in memory; `at_once`: variants that are looked at at once.
    """
    what = called(path)
    if not source.exists(path, what, report):
        return None
    reader = _Reader(path, autosomes, build, report, by_place, room, at_once)
    try:
        for data, line in _blocks(path, block, report):
            reader.read(data, line)
        return reader.variants()
    except OSError as error:
        source.unreadable(error, path, what, report)
    except NoRoom as error:
        report.error(Code.FILE_UNREADABLE, error.what, file=path, remedy=error.remedy)
    return None


def _blocks(path: Path, size: int, report: Report) -> Iterator[tuple[bytes, int]]:
    """The text in pieces of whole lines, with the number of their first line; none if it is no text."""
    line, piece = 1, b""
    with path.open("rb") as file:
        head = file.read(4096)
        what = called(path)
        if not source.is_text(head, path, what, report):
            return
        if head.startswith(source.BYTE_ORDER_MARK):
            source.warn_of_mark(path, report)
        file.seek(len(source.BYTE_ORDER_MARK) if head.startswith(source.BYTE_ORDER_MARK) else 0)
        for piece in _whole_lines(file, size):
            if line == 1 and not source.good_line_ends(piece, path, what, report):
                return
            if not source.is_clean(piece, path, what, report, line):
                return
            yield piece, line
            line += piece.count(b"\n")
        source.note_of_end(piece, path, what, report)


def _whole_lines(file: BinaryIO, size: int) -> Iterator[bytes]:
    """The rest of a file in pieces of about `size` bytes that end where a line ends."""
    rest = b""
    while data := file.read(size):
        end = data.rfind(b"\n") + 1
        if end:
            yield rest + data[:end]
            rest = data[end:]
        else:
            rest += data
    if rest:
        yield rest


@dataclass
class _Reader:
    """One reading of a file: what is known across its blocks."""

    path: Path
    autosomes: int
    build: str
    report: Report
    by_place: bool
    room: int
    at_once: int
    layout: Layout = field(default_factory=lambda: Layout.of_bim(6))
    is_laid_out: bool = False
    is_unknown: bool = False
    """True if the header lacks a column: nothing below it is read."""
    width: int = 0
    has_centimorgans: bool = False
    rows: int = 0
    alleles: dict[bytes, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.blocks, self.further = _Blocks(self.room), Spool(np.int32, self.room)
        self.what, self.is_pvar = called(self.path), kind_of(self.path) == ".pvar"
        self.errors = len(self.report.of(Severity.ERROR))

    def read(self, data: bytes, first_line: int) -> None:
        """Read some whole lines."""
        block = self._block(data, first_line)
        if block is not None:
            self.blocks.append(block)

    def _block(self, data: bytes, first_line: int) -> _Block | None:
        """Parse a block of lines; None if it holds no variant."""
        if not self.is_laid_out and self.is_pvar:
            self._read_header(data, first_line)
        if self.is_unknown:
            return None
        rows = source.without_comments(
            tokenizer.tokenize(data, first_line), self.path, self.what, self.report
        )
        if not len(rows):
            return None
        self.rows += len(rows)
        if not self.is_laid_out:
            self.layout, self.is_laid_out = Layout.of_bim(int(rows.widths[0])), True
        layout = self.layout
        tokens = source.enough_columns(rows, layout.columns, self.path, self.what, str(layout), self.report)
        self.width = self.width or int(rows.widths[0])
        tokens = source.even_columns(tokens, self.width, self.path, self.what, self.report)
        if not len(tokens):
            return None
        position = self._positions(tokens, layout.position)
        if layout.centimorgans is not None and layout.centimorgans < layout.columns and not position.any():
            _, words = tokenizer.distinct(tokens.text, *tokens.column(layout.centimorgans))
            self.has_centimorgans |= any(word.strip(b"0.") for word in words)
        alternates = self._alternates(tokens, layout.a1) if self.is_pvar else np.ones(len(tokens), np.int64)
        several = alternates > 1
        line, which = copies_of(alternates) if self.by_place else (np.s_[:], None)
        place = self._chromosomes(tokens, layout.chromosome)
        return _Block(
            place[line] if self.by_place else np.where(several, np.uint8(SEVERAL_ALLELES), place),
            position[line],
            None if self.by_place else tokenizer.strings(tokens.text, *tokens.column(layout.name)),
            *self._alleles(tokens, (layout.a1, layout.a2), several, line, which),
            tokens.line[line].astype(np.uint32),
        )

    def _read_header(self, data: bytes, first_line: int) -> None:
        """Take the layout from the line `#CHROM …`, if that is there."""
        line, words = header_of(data, first_line)
        if not words:
            return
        self.is_laid_out, self.width = True, len(words)
        if layout := Layout.of_pvar(words):
            self.layout = layout
        else:
            self.is_unknown = True
            self.report.error(
                Code.HEADER,
                f"the header of {self.what} lacks a column",
                file=self.path,
                line=line,
                read=shown(b" ".join(words)),
                expected="#CHROM POS ID REF ALT",
                remedy="Write it again with `plink2 --pfile OLD --make-pgen --out NEW`.",
            )

    def _alternates(self, tokens: Tokens, column: int) -> np.ndarray:
        """Count the alternate alleles of each line, int64 (rows,), and note the rows that have several."""
        code, words = tokenizer.distinct(tokens.text, *tokens.column(column))
        alternates = np.array([1 + word.count(b",") for word in words])[code]
        several = alternates > 1
        if not several.any():
            return alternates
        self.further.append(np.repeat(self.rows - len(tokens) + np.arange(len(tokens)), alternates - 1))
        for wrong in {misspelt(word) for word in words if b"," in word} - {""}:
            bad = np.array([b"," in word and misspelt(word) == wrong for word in words])[code]
            self._tell(
                Code.ALLELE,
                wrong,
                tokens,
                column,
                bad,
                self.report.error,
                expected="different alleles with commas between",
                remedy="PLINK does not read such a file. Write it again, or leave the variant out.",
            )
        tell, what, remedy = (
            (self.report.note, "read as one variant for each of them", OTHERS_ARE_REFERENCE)
            if self.by_place
            else (self.report.warning, "skipped", FOUND_BY_PLACE)
        )
        message = f"a variant has several alternate alleles and is {what}"
        self._tell(Code.ALLELES_SEVERAL, message, tokens, column, several, tell, remedy=remedy)
        return alternates

    def _chromosomes(self, tokens: Tokens, column: int) -> np.ndarray:
        code, words = tokenizer.distinct(tokens.text, *tokens.column(column))
        codes = [chromosome_code(word.decode("utf-8", "replace"), self.autosomes) for word in words]
        bad = np.array([c is None for c in codes])[code]
        if bad.any():
            self._tell(
                Code.CHROMOSOME,
                "a variant is on an unknown chromosome, such as an unplaced contig, and is skipped",
                tokens,
                column,
                bad,
                self.report.warning,
                expected=f"0 to {self.autosomes + 4}, X, Y, XY or MT, with or without chr",
                remedy="For the study, this cohort lacks it. If it is a chromosome of your species, say how "
                "many autosomes there are with --chr-set.",
            )
        return np.array([NO_CHROMOSOME if c is None else c for c in codes], np.uint8)[code]

    def _positions(self, tokens: Tokens, column: int) -> np.ndarray:
        values, good = tokenizer.integers(tokens.text, *tokens.column(column))
        bad = ~good | (values > LAST_POSITION)
        if bad.any():
            self._tell(
                Code.POSITION,
                "the position is not a whole number of base pairs",
                tokens,
                column,
                bad,
                self.report.error,
                expected=f"a whole number up to {LAST_POSITION}",
                remedy="Write the position without a decimal point, commas or an exponent.",
            )
        return np.where(bad, 0, values).clip(-1).astype(np.int32)

    def _alleles(
        self,
        tokens: Tokens,
        columns: tuple[int, int],
        several: np.ndarray,
        line: slice | np.ndarray,
        which: np.ndarray | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Number the alleles of the variants on each `line`, which have its alternates `which`."""
        codes, small = [], np.zeros(len(tokens), bool)
        for column in columns:
            code, words = tokenizer.distinct(tokens.text, *tokens.column(column))
            if self.is_pvar:
                words = [_NOT_SEEN.get(word, word) for word in words]
            is_split = which is not None and column == columns[0]
            lists = [word.split(b",") if is_split else [word] for word in words]
            small |= np.array([any(capital(word) != word for word in each) for each in lists])[code]
            comma = np.array([b"," in word for word in words])[code] & ~several
            if comma.any():
                self._tell(
                    Code.ALLELE,
                    "an allele contains a comma",
                    tokens,
                    column,
                    comma,
                    self.report.error,
                    expected="one allele",
                    remedy="PLINK does not read such a file. Split variants with several alleles, e.g. with "
                    "`bcftools norm -m-`, or leave them out.",
                )
            # Numbered as they come, for all alleles are known only at the end; then sorted.
            flat = [capital(word) for each in lists for word in each]
            known = [self.alleles.setdefault(word, len(self.alleles)) for word in flat]
            at = code[line]
            if is_split:
                start = np.cumsum([0, *map(len, lists)])
                at = start[at] + which
            codes.append(np.array(known, np.uint32)[at])
        if small.any():
            message = "an allele is in lower case: read as capitals"
            self._tell(Code.ALLELE_CODES, message, tokens, columns[0], small, self.report.note)
        return codes[0], codes[1]

    def _tell(
        self,
        code: Code,
        message: str,
        tokens: Tokens,
        column: int,
        bad: np.ndarray,
        tell: Callable[..., None],
        **more: str,
    ) -> None:
        rows = np.flatnonzero(bad)
        words = [tokens.word(row, column) for row in rows[:EXAMPLES]]
        tell(code, message, **at(self.path, tokens.line[rows], words, column + 1), **more)

    def variants(self) -> Variants | None:
        """All that was read, in canonical order."""
        if not len(self.blocks):
            if self.report.ok:
                self.report.error(
                    Code.FILE_EMPTY, f"{self.what} has no variants", file=self.path, remedy="Write it again."
                )
            return None
        whole = self._placed()
        told = IdsAndAlleles(self.path, self.layout.name + 1, self.report, self.at_once)
        told.check(whole)
        ordered = whole.in_order(self.room, self.at_once)
        about = self._oddities(whole, ordered)
        if self.by_place:
            told.check_alike(ordered)
        return dataclasses.replace(ordered, about=about)

    def _placed(self) -> Variants:
        """The variants that are not passed over, in the order of the file; the others beside them."""
        alleles = sorted(self.alleles)
        rank = np.empty(len(alleles), np.min_scalar_type(len(alleles)))
        rank[[self.alleles[allele] for allele in alleles]] = np.arange(len(alleles))
        like = self._like(tuple(alleles), rank.dtype)
        listing, others, start = Listing(like, self.room), Listing(like, self.room), 0
        split = Split(self.further.column()) if len(self.further) else WHOLE
        for block in self.blocks:
            self._tell_negative(block)
            a1, a2 = rank[block.a1], rank[block.a2]
            pair = {"first": np.minimum(a1, a2), "second": np.maximum(a1, a2)}
            place = {
                "chromosome": np.where(block.position < 0, np.uint8(NEGATIVE), block.chromosome),
                "position": np.maximum(block.position, 0),
            }
            panel = dataclasses.replace(like, ids=block.name, **place, **pair)
            row = np.arange(start, start + len(a1), dtype=np.int32)
            row = row if self.by_place else split.first(row).astype(np.int32)
            some = Variants(panel, row, a1 <= a2, block.line, self.rows)
            is_unusable = np.isin(panel.chromosome, list(UNUSABLE))
            listing.append(some.part(~is_unusable))
            others.append(some.part(is_unusable))
            start += len(a1)
        unusable = others.variants(self.rows).in_order(self.room, self.at_once).panel
        whole = listing.variants(self.rows, unusable=unusable, split=split)
        if not len(whole) and self.report.ok:
            self.report.error(
                Code.NO_VARIANT_LEFT,
                f"{self.what} has no variant that a study can use",
                file=self.path,
                expected="a variant on a known chromosome at a position of 0 or more",
                remedy="Is it the right file? For another species give --chr-set.",
            )
        return whole

    def _like(self, alleles: tuple[bytes, ...], kind: np.dtype[Any]) -> Panel:
        """A panel of no variants, called as these are."""
        codes = np.zeros(0, kind)
        names = None if self.by_place else np.zeros(0, f"S{self.blocks.width}")
        autosomes = self.autosomes if self.by_place else 0
        return Panel(np.zeros(0, np.uint8), np.zeros(0, np.int32), names, alleles, codes, codes, autosomes)

    def _tell_negative(self, block: _Block) -> None:
        here = np.flatnonzero(block.position < 0)
        if len(here):
            names = block.names(here[:EXAMPLES])
            self.report.note(
                Code.POSITION_NEGATIVE,
                "a variant has a negative position and is skipped, as in PLINK",
                **at(self.path, block.line[here], names, self.layout.position + 1) | {"read": None},
            )

    def _oddities(self, whole: Variants, ordered: Variants) -> dict[str, Any]:
        """Summarize what is odd about the variants that are not skipped; empty if some could not be read."""
        if len(self.report.of(Severity.ERROR)) > self.errors:
            return {}
        listed = Listed(
            self.path,
            whole,
            ordered,
            self.layout.position + 1,
            self.autosomes,
            self.has_centimorgans,
            self.at_once,
        )
        return look_at(listed, self.build, self.report)
