"""A list of variants as text: a line for each, its five words between tabs, in canonical order.

Chromosome code, position, ID and the two alleles, sorted.
"""

from __future__ import annotations

import mmap

import numpy as np

from unpooled import text
from unpooled.errors import ProtocolError
from unpooled.panel import Panel


def read(data: bytes | mmap.mmap) -> Panel:
    """The panel in such a text; ProtocolError for any other text."""
    if not data:
        return Panel.of([])
    alleles: dict[bytes, int] = {}
    blocks = [_columns(block, line, alleles) for block, line in text.blocks(data)]
    chromosome, position, name, first, second = map(np.concatenate, zip(*blocks, strict=True))
    panel = Panel(chromosome, position, name, tuple(alleles), first, second)
    panel.check_order()
    rank = np.argsort(np.argsort(np.array(panel.alleles, dtype=object)))
    if np.any(rank[first] > rank[second]):
        raise ProtocolError("a list of variants has a pair of alleles that is not sorted")
    return panel


def write(panel: Panel) -> bytes:
    """The text of a panel that is not large."""
    columns = (panel.chromosome, panel.position, panel.name, panel.first, panel.second)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    alleles = panel.alleles
    return b"".join(b"%d\t%d\t%b\t%b\t%b\n" % (c, p, n, alleles[f], alleles[s]) for c, p, n, f, s in rows)


def _columns(data: bytes, line: int, alleles: dict[bytes, int]) -> tuple[np.ndarray, ...]:
    """The columns of some lines of a canonical text, the first of which is `line`; numbers new `alleles`."""
    tokens = text.tokenize(data, line)
    _check_form(data, tokens)
    pair = []
    for j in (3, 4):
        code, words = text.distinct(tokens.text, *tokens.column(j))
        pair.append(np.array([alleles.setdefault(word, len(alleles)) for word in words], np.uint32)[code])
    chromosome, position = _number(tokens, 0, 255), _number(tokens, 1, 2**31 - 1)
    name = text.strings(tokens.text, *tokens.column(2))
    return chromosome.astype(np.uint8), position.astype(np.int32), name, *pair


def _check_form(data: bytes, tokens: text.Tokens) -> None:
    """ProtocolError unless every line is five words with one tab between any two."""
    rows = len(tokens)
    blanks = len(data) - int((tokens.end - tokens.start).sum())
    if (
        np.any(tokens.widths != 5)
        or (data.count(b"\t"), data.count(b"\n"), blanks) != (4 * rows, rows, 5 * rows)
        or not data.endswith(b"\n")
    ):
        raise ProtocolError("a list of variants has five words in each line, and one tab between any two")


def _number(tokens: text.Tokens, j: int, largest: int) -> np.ndarray:
    """Word `j` of each line as a number from 0 to `largest`, written without sign or leading zero."""
    start, end = tokens.column(j)
    values, good = text.integers(tokens.text, start, end)
    lead = tokens.text[start]
    plain = (lead >= ord("1")) | ((lead == ord("0")) & (end - start == 1))
    fine = good & plain & (lead <= ord("9")) & (values <= largest)
    if not fine.all():
        line = tokens.line[np.argmin(fine)]
        raise ProtocolError(f"list of variants, line {line}, word {j + 1}: want a number up to {largest}")
    return values
