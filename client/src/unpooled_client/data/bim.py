"""The .bim or .pvar file: the variants, in the canonical order of a panel.

A .bim as plink1.9 reads it (tried with v1.90b6.26): the first line says whether there is a centimorgan column
(six words or five); lines that begin with `#` are comments; a variant with a negative position is skipped
but has its row in the .bed; positions end at 2147483646; PLINK stops at a comma in an allele.

A .pvar as plink2 reads it (tried with v2.00a3.7): the line that begins with `#CHROM` names the columns, which
stand in any order, and ALT is A1; without it, it is a .bim. A variant of several alternate alleles is passed
over and has its row in the .pgen.

Where PLINK stops at a chromosome that it does not know (without --allow-extra-chr), its variants are skipped.
Bases in lower case, which PLINK takes for other alleles, are read as capitals.

The file is read in blocks, so that besides the list itself only one block of words is in memory.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from unpooled import text
from unpooled.alleles import UNSEEN, capital
from unpooled.chromosomes import HUMAN, chromosome_code, chromosome_name
from unpooled.panel import Panel, canonical_order
from unpooled.text import Tokens
from unpooled_client.data.ids_and_alleles import IdsAndAlleles
from unpooled_client.data.layout import Layout, called, header_of, kind_of
from unpooled_client.data.oddities import Listed, look_at
from unpooled_client.data.report import Code, Report, Severity, at_lines, shown
from unpooled_client.data.source import (
    BYTE_ORDER_MARK,
    enough_columns,
    exists,
    good_line_ends,
    is_text,
    rows_of,
    unreadable,
    warn_of_mark,
)

BLOCK = 1 << 20
LAST_POSITION = 2**31 - 2

_NOWHERE = 255
"""The chromosome of a variant that is passed over."""
_NOT_SEEN = {b".": UNSEEN}
"""What a .pvar writes for an allele that was not seen, beside what a .bim does."""


@dataclass(frozen=True, eq=False)
class Variants:
    """A cohort's own list of variants: m of the `rows` variants of the file, without those passed over."""

    panel: Panel
    row: np.ndarray
    """int32 (m,): row of each variant in the .bed or .pgen."""
    a1_is_first: np.ndarray
    """bool (m,): the file's A1 is `panel.first`."""
    rows: int
    """Variants in the file, hence rows of genotypes; lines that are too short included."""
    about: dict[str, Any] = field(default_factory=dict)
    """What is to be said of the alleles and the build of the whole file."""

    def __len__(self) -> int:
        return len(self.panel)

    def take(self, chosen: np.ndarray) -> Variants:
        """Some of them: bool (m,)."""
        return dataclasses.replace(
            self,
            panel=self.panel.take(chosen),
            row=self.row[chosen],
            a1_is_first=self.a1_is_first[chosen],
        )


@dataclass(frozen=True, eq=False)
class _Block:
    """The columns of some lines; alleles are numbers in the reader's table."""

    chromosome: np.ndarray
    position: np.ndarray
    name: np.ndarray
    """Of no letters where variants are called after their places."""
    a1: np.ndarray
    a2: np.ndarray
    line: np.ndarray


def read_bim(
    path: Path,
    report: Report,
    autosomes: int = HUMAN,
    block: int = BLOCK,
    build: str = "",
    *,
    by_place: bool = False,
) -> Variants | None:
    """Read a .bim or .pvar file, or None where it cannot be read; the report says why and what else there is.

    `build`: the plan's, to hold the positions against; empty if there is no plan. `by_place`: variants
    are called after their place and alleles, whatever their IDs.
    """
    what = called(path)
    if not exists(path, what, report):
        return None
    reader = _Reader(path, autosomes, build, report, by_place=by_place)
    try:
        read = (reader.block(data, line) for data, line in _blocks(path, block, report))
        blocks = [block for block in read if block is not None]
    except OSError as error:
        unreadable(error, path, what, report)
        return None
    if not report.ok and not blocks:
        return None
    return reader.variants(blocks)


def _blocks(path: Path, size: int, report: Report) -> Iterator[tuple[bytes, int]]:
    """The text in pieces of whole lines, with the number of their first line; none if it is no text."""
    line = 1
    with path.open("rb") as file:
        head = file.read(4096)
        what = called(path)
        if not is_text(head, path, what, report):
            return
        if head.startswith(BYTE_ORDER_MARK):
            warn_of_mark(path, report)
        file.seek(len(BYTE_ORDER_MARK) if head.startswith(BYTE_ORDER_MARK) else 0)
        for piece in _whole_lines(file, size):
            if line == 1 and not good_line_ends(piece, path, what, report):
                return
            yield piece, line
            line += piece.count(b"\n")


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


class _Reader:
    """One reading of a file: what is known across its blocks."""

    def __init__(self, path: Path, autosomes: int, build: str, report: Report, *, by_place: bool) -> None:
        self.path, self.autosomes, self.build, self.report = path, autosomes, build, report
        self.by_place = by_place
        self.what, self.is_pvar = called(path), kind_of(path) == ".pvar"
        self.errors = len(report.of(Severity.ERROR))
        self.layout, self.is_laid_out, self.is_unknown = Layout.of_bim(6), False, False
        self.has_centimorgans = False
        self.rows = 0
        self.alleles: dict[bytes, int] = {}

    def block(self, data: bytes, first_line: int) -> _Block | None:
        """Read some whole lines; None if there is no variant in them."""
        if not self.is_laid_out and self.is_pvar:
            self._read_header(data, first_line)
        if self.is_unknown:
            return None
        rows = rows_of(data, first_line)
        if not len(rows):
            return None
        self.rows += len(rows)
        if not self.is_laid_out:
            self.layout, self.is_laid_out = Layout.of_bim(int(rows.widths[0])), True
        layout = self.layout
        tokens = enough_columns(rows, layout.columns, self.path, self.what, str(layout), self.report)
        if not len(tokens):
            return None
        position = self._positions(tokens, layout.position)
        if layout.centimorgans is not None and layout.centimorgans < layout.columns and not position.any():
            _, words = text.distinct(tokens.text, *tokens.column(layout.centimorgans))
            self.has_centimorgans |= any(word.strip(b"0.") for word in words)
        several = self._several(tokens, layout.a1) if self.is_pvar else np.zeros(len(tokens), bool)
        a1, a2 = self._alleles(tokens, (layout.a1, layout.a2), several)
        return _Block(
            np.where(several, np.uint8(_NOWHERE), self._chromosomes(tokens, layout.chromosome)),
            position,
            self._names(tokens),
            a1,
            a2,
            tokens.line.astype(np.uint32),
        )

    def _names(self, tokens: Tokens) -> np.ndarray:
        if self.by_place:
            return np.zeros(len(tokens), "S1")
        return text.strings(tokens.text, *tokens.column(self.layout.name))

    def _read_header(self, data: bytes, first_line: int) -> None:
        """Take the layout from the line `#CHROM …`, if that is there."""
        line, words = header_of(data, first_line)
        if not words:
            return
        self.is_laid_out = True
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

    def _several(self, tokens: Tokens, column: int) -> np.ndarray:
        """Which variants have more than one alternate allele, bool (rows,)."""
        code, words = text.distinct(tokens.text, *tokens.column(column))
        several = np.array([b"," in word for word in words])[code]
        if several.any():
            self._tell(
                Code.ALLELES_SEVERAL,
                "a variant has several alternate alleles and is skipped",
                tokens,
                column,
                several,
                self.report.warning,
                expected="one alternate allele",
                remedy="For the study, this cohort lacks it. All cohorts can split such variants "
                "alike before, e.g. with `bcftools norm -m-`.",
            )
        return several

    def _chromosomes(self, tokens: Tokens, column: int) -> np.ndarray:
        code, words = text.distinct(tokens.text, *tokens.column(column))
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
        return np.array([_NOWHERE if c is None else c for c in codes], np.uint8)[code]

    def _positions(self, tokens: Tokens, column: int) -> np.ndarray:
        values, good = text.integers(tokens.text, *tokens.column(column))
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
        self, tokens: Tokens, columns: tuple[int, int], several: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        codes, small = [], np.zeros(len(tokens), bool)
        for column in columns:
            code, words = text.distinct(tokens.text, *tokens.column(column))
            if self.is_pvar:
                words = [_NOT_SEEN.get(word, word) for word in words]
            small |= np.array([capital(word) != word for word in words])[code]
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
            known = [self.alleles.setdefault(capital(word), len(self.alleles)) for word in words]
            codes.append(np.array(known, np.uint32)[code])
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
        words = [tokens.word(row, column) for row in rows[:3]]
        tell(
            code,
            message,
            file=self.path,
            line=int(tokens.line[rows[0]]),
            column=column + 1,
            read=shown(words[0]),
            count=len(rows),
            examples=at_lines(tokens.line[rows[:3]].tolist(), words),
            **more,
        )

    def variants(self, blocks: list[_Block]) -> Variants | None:
        """Put the blocks together, in canonical order. They are gone then."""
        if not blocks:
            if self.report.ok:
                self.report.error(
                    Code.FILE_EMPTY, f"{self.what} has no variants", file=self.path, remedy="Write it again."
                )
            return None
        whole = _joined(blocks)
        here = self._placed(whole)
        alleles = sorted(self.alleles)
        rank = np.empty(len(alleles), np.min_scalar_type(len(alleles)))
        rank[[self.alleles[allele] for allele in alleles]] = np.arange(len(alleles))
        a1, a2 = rank[whole.a1], rank[whole.a2]
        panel = Panel(
            whole.chromosome,
            whole.position,
            None if self.by_place else whole.name,
            tuple(alleles),
            np.minimum(a1, a2),
            np.maximum(a1, a2),
            self.autosomes if self.by_place else 0,
        )
        whole = dataclasses.replace(whole, name=panel.name, a1=a1, a2=a2)
        told = IdsAndAlleles(self.path, self.layout.name + 1, self.report)
        self._check(told, whole, here, alleles)
        about = self._oddities(whole, here, alleles)
        chosen, order = panel.take(here), here
        if not chosen.is_in_order:
            order = here[canonical_order(chosen.chromosome, chosen.position, chosen.name)].astype(np.int32)
            chosen = panel.take(order)
        if self.by_place:
            told.check_alike(chosen, whole.line[order])
        return Variants(chosen, order, a1[order] <= a2[order], self.rows, about)

    def _check(self, told: IdsAndAlleles, whole: _Block, here: np.ndarray, alleles: list[bytes]) -> None:
        """What can be said before the variants are in order; `here`: those that are not passed over."""
        unseen = alleles.index(UNSEEN) if UNSEEN in alleles else -1
        if self.by_place:
            is_unseen = (whole.a1[here] == unseen) | (whole.a2[here] == unseen)
            told.check_unseen(here[is_unseen], whole.line, whole.name)
        else:
            told.check_ids(whole.line[here], whole.name[here])
        is_one = (whole.a1 == whole.a2) & (whole.a1 != unseen)
        told.check_equal(np.flatnonzero(is_one), whole.line, whole.name)

    def _oddities(self, whole: _Block, here: np.ndarray, alleles: list[bytes]) -> dict[str, Any]:
        """What is odd about the variants that are not passed over; nothing if some could not be read."""
        if len(self.report.of(Severity.ERROR)) > self.errors:
            return {}
        rows = slice(None) if len(here) == len(whole.line) else here  # without a copy where nothing is
        listed = Listed(
            self.path,
            whole.chromosome[rows],
            whole.position[rows],
            whole.name if len(here) == len(whole.line) else whole.name[rows],
            whole.a1[rows],
            whole.a2[rows],
            tuple(alleles),
            whole.line[rows],
            self.layout.position + 1,
            self.autosomes,
            self.has_centimorgans,
        )
        return look_at(listed, self.build, self.report)

    def _placed(self, whole: _Block) -> np.ndarray:
        negative = whole.position < 0
        if negative.any():
            line, name = whole.line[negative], whole.name[negative]
            self.report.note(
                Code.POSITION_NEGATIVE,
                "a variant has a negative position and is skipped, as in PLINK",
                file=self.path,
                line=int(line[0]),
                column=self.layout.position + 1,
                count=len(line),
                examples=at_lines(line, name),
            )
        rows = np.arange(len(negative), dtype=np.int32)
        here: np.ndarray = rows[~negative & (whole.chromosome != _NOWHERE)]
        if not len(here) and self.report.ok:
            self.report.error(
                Code.NO_VARIANT_LEFT,
                f"{self.what} has no variant that a study can use",
                file=self.path,
                expected="a variant on a known chromosome at a position of 0 or more",
                remedy="Is it the right file? For another species give --chr-set.",
            )
        return here


def _joined(blocks: list[_Block]) -> _Block:
    """The blocks put together; they are gone then, for both would take twice the room."""
    columns = [[getattr(block, column.name) for block in blocks] for column in dataclasses.fields(_Block)]
    blocks.clear()
    whole = []
    while columns:
        whole.append(np.concatenate(columns.pop(0)))
    return _Block(*whole)


def by_chromosome(variants: Variants, autosomes: int) -> dict[str, int]:
    """Number of variants of each chromosome that has any."""
    counts = np.bincount(variants.panel.chromosome)
    return {chromosome_name(int(c), autosomes): int(counts[c]) for c in np.flatnonzero(counts)}
