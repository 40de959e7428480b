"""The coordinator's list of variants: `unpooled.list_text`, or any text or .bim file that says the same."""

from __future__ import annotations

import mmap
from collections.abc import Iterator

from unpooled import list_text, text
from unpooled.alleles import capital
from unpooled.chromosomes import chromosome_code
from unpooled.errors import ProtocolError
from unpooled.panel import Panel

_COLUMNS = {5: (0, 1, 2, 3, 4), 6: (0, 3, 1, 4, 5)}  # ours; a .bim: chromosome, ID, cM, position, A1, A2


def read(data: bytes | mmap.mmap, autosomes: int) -> Panel:
    """The panel in a list. ProtocolError with the line if it cannot be read, or names a variant twice."""
    try:
        panel = list_text.read(data)
    except ProtocolError:
        return _from_words(data, autosomes)
    small = any(capital(allele) != allele for allele in panel.alleles)
    return _from_words(data, autosomes) if small else panel


def _from_words(data: bytes | mmap.mmap, autosomes: int) -> Panel:
    variants, names = [], set()
    for row, (chromosome, position, name, *pair) in enumerate(_rows(data)):
        place = _code(chromosome, autosomes, row), _number(position, row)
        variants.append((*place, name, *sorted(map(capital, pair))))
        if name in names:
            raise ProtocolError(
                f"list of variants, line {row + 1}: {name.decode('utf-8', 'replace')} appears twice"
            )
        names.add(name)
    return Panel.of(variants)  # type: ignore[arg-type]


def _rows(data: bytes | mmap.mmap) -> Iterator[list[bytes]]:
    """Chromosome, position, ID and two alleles of each line; all lines have five words, or all six."""
    found: set[int] = set()
    for block, _ in text.blocks(data):
        tokens = text.tokenize(block)
        found.update(tokens.widths.tolist())
        if len(found) > 1 or not found <= _COLUMNS.keys():
            raise ProtocolError(
                "a list of variants has five words in each line (chromosome, position, ID, allele, allele), "
                "or the six of a .bim file"
            )
        for row in range(len(tokens)):
            yield [tokens.word(row, column) for column in _COLUMNS[min(found)]]


def _code(word: bytes, autosomes: int, row: int) -> int:
    name = word.decode("ascii", "replace")
    code = chromosome_code(name, autosomes)
    if code is None:
        raise ProtocolError(f"list of variants, line {row + 1}: the chromosome {name[:20]!r} is not known")
    return code


def _number(word: bytes, row: int) -> int:
    if word.isdigit() and len(word) < 20 and int(word) < 2**31:
        return int(word)
    raise ProtocolError(f"list of variants, line {row + 1}: the position is not a number up to {2**31 - 1}")
