"""Reads the coordinator's list of variants: a line for each, its five words between tabs, or a .bim file.

It is read in pieces. Each is put in order and on the disk, and all are then merged.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from typing import NoReturn

import numpy as np

from unpooled.errors import ProtocolError
from unpooled.memory import tokenizer
from unpooled.memory.tokenizer import Tokens
from unpooled.panel import partition
from unpooled.panel.agreement import merged
from unpooled.panel.alleles import capital
from unpooled.panel.chromosomes import chromosome_code
from unpooled.panel.list_file import is_too_wide
from unpooled.panel.panel import Panel, canonical_order

PIECE = 1 << 24
"""Bytes of the text that are read at once: half a million variants or so."""

_COLUMNS = {5: (0, 1, 2, 3, 4), 6: (0, 3, 1, 4, 5)}  # ours; a .bim: chromosome, ID, cM, position, A1, A2


def read(data: bytes | mmap.mmap, autosomes: int, piece: int = PIECE) -> Panel:
    """The panel in a list. ProtocolError with the line if it cannot be read, or names a variant twice."""
    parts = [_panel(tokens, autosomes).put_away() for tokens in _pieces(data, piece)]
    if not parts:
        return Panel.of([])
    _require_narrow(sum(map(len, parts)), max(part.name.dtype.itemsize for part in parts), len(data))
    panel = parts[0] if len(parts) == 1 else Panel.joined(part.put_away() for part in merged(parts))
    if (again := _repeated(panel)) is not None:
        _refuse_again(data, piece, again)
    return panel


def _pieces(data: bytes | mmap.mmap, piece: int) -> Iterator[Tokens]:
    """The words of some lines at a time; all lines have five words, or all six."""
    found: set[int] = set()
    for block, line in tokenizer.blocks(data, piece):
        tokens = tokenizer.tokenize(block, line)
        found.update(np.unique(tokens.widths).tolist())
        if len(found) > 1 or not found <= _COLUMNS.keys():
            raise ProtocolError(
                "a list of variants has five words in each line (chromosome, position, ID, allele, allele), "
                "or the six of a .bim file"
            )
        if len(tokens):
            yield tokens


def _panel(tokens: Tokens, autosomes: int) -> Panel:
    """The variants of some lines, in canonical order."""
    chromosome, position, name, *pair = (tokens.column(k) for k in _COLUMNS[int(tokens.widths[0])])
    codes = _codes(tokens, *chromosome, autosomes)
    places = _positions(tokens, *position)
    table: dict[bytes, int] = {}
    numbers = []
    for column in pair:
        code, words = tokenizer.distinct(tokens.text, *column)
        known = [table.setdefault(capital(word), len(table)) for word in words]
        numbers.append(np.array(known, np.uint32)[code])
    alleles = sorted(table)
    rank = np.empty(len(alleles), np.uint32)
    rank[[table[allele] for allele in alleles]] = np.arange(len(alleles))
    first, second = np.sort(rank[np.stack(numbers)], axis=0)
    names = _names(tokens, *name)
    order = canonical_order(codes, places, names)
    return Panel(codes, places, names, tuple(alleles), first, second).take(order)


def _names(tokens: Tokens, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    _require_narrow(len(tokens), int((end - start).max(initial=0)), len(tokens.text))
    return tokenizer.strings(tokens.text, start, end)


def _require_narrow(ids: int, longest: int, letters: int) -> None:
    if is_too_wide(ids, longest, letters):
        raise ProtocolError("an ID in the list of variants is far longer than the others")


def _codes(tokens: Tokens, start: np.ndarray, end: np.ndarray, autosomes: int) -> np.ndarray:
    which, words = tokenizer.distinct(tokens.text, start, end)
    codes = [chromosome_code(word.decode("ascii", "replace"), autosomes) for word in words]

    def what(word: bytes) -> str:
        return f"the chromosome {word.decode('ascii', 'replace')[:20]!r} is not known"

    _check(np.array([code is not None for code in codes])[which], tokens, start, end, what)
    return np.array(codes, np.uint8)[which]


def _positions(tokens: Tokens, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    values, good = tokenizer.integers(tokens.text, start, end)
    lead = tokens.text[start]
    good &= (lead >= ord("0")) & (lead <= ord("9")) & (values < 2**31)
    _check(good, tokens, start, end, lambda _: f"the position is not a number up to {2**31 - 1}")
    return values.astype(np.int32)


def _check(
    good: np.ndarray, tokens: Tokens, start: np.ndarray, end: np.ndarray, what: Callable[[bytes], str]
) -> None:
    """ProtocolError at the first line that is not good, bool (lines,)."""
    if not good.all():
        row = int(np.argmin(good))
        word = tokens.text[start[row] : end[row]].tobytes()
        raise ProtocolError(f"list of variants, line {tokens.line[row]}: {what(word)}")


def _repeated(panel: Panel) -> np.ndarray | None:
    """Some IDs that stand more than once, sorted; None if there are none."""
    parts = partition.number_of_parts(len(panel))
    for rows in partition.members(partition.by_name(panel.name, parts), parts):
        names, times = np.unique(panel.name[rows], return_counts=True)
        if (times > 1).any():
            return np.asarray(names[times > 1])
    return None


def _refuse_again(data: bytes | mmap.mmap, piece: int, again: np.ndarray) -> NoReturn:
    """ProtocolError at the line where the first of some IDs stands again."""
    seen: set[bytes] = set()
    for tokens in _pieces(data, piece):
        names = _names(tokens, *tokens.column(_COLUMNS[int(tokens.widths[0])][2]))
        for row in np.flatnonzero(np.isin(names, again)).tolist():
            name = bytes(names[row])
            if name in seen:
                shown = name.decode("utf-8", "replace")
                raise ProtocolError(f"list of variants, line {tokens.line[row]}: {shown} appears twice")
            seen.add(name)
    raise AssertionError("an ID stands twice, and in no line again")
