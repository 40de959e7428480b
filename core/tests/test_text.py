"""The tokenizer and its conversions against slow, clear versions of themselves."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from unpooled.memory.tokenizer import blocks, classes, distinct, integers, strings, tokenize

# The first call of a kernel compiles it, which takes longer than hypothesis lets an example take.
settings.register_profile("kernels")
settings.load_profile("kernels")

words = st.binary(min_size=1, max_size=9).map(lambda w: bytes(b for b in w if b > 32) or b"x")
texts = st.lists(st.sampled_from([b" ", b"\t", b"\n", b"\r\n", b"a", b"-9", b"rs10", b"\xc3\xa9"])).map(
    b"".join
)


def slow_rows(text: bytes) -> list[tuple[int, list[bytes]]]:
    lines = text.split(b"\n")
    rows = [
        (number, bytes(b if b > 32 else 32 for b in line).split()) for number, line in enumerate(lines, 1)
    ]
    return [(number, row) for number, row in rows if row]


@given(texts)
def test_words_rows_and_line_numbers(text: bytes) -> None:
    tokens = tokenize(text)
    found = [
        (int(tokens.line[i]), [tokens.word(i, j) for j in range(tokens.widths[i])])
        for i in range(len(tokens))
    ]
    assert found == slow_rows(text)


@given(texts, st.integers(1, 10**6))
def test_a_block_can_start_at_any_line(text: bytes, first: int) -> None:
    assert (tokenize(text, first).line == tokenize(text).line + first - 1).all()


@given(texts, st.integers(1, 30))
def test_blocks_are_whole_lines(text: bytes, size: int) -> None:
    pieces = list(blocks(text, size))
    assert b"".join(piece for piece, _ in pieces) == text
    assert all(piece.endswith(b"\n") for piece, _ in pieces[:-1])
    found = [line for piece, first in pieces for line in tokenize(piece, first).line.tolist()]
    assert found == tokenize(text).line.tolist()


@given(st.lists(words, max_size=30))
def test_conversions(column: list[bytes]) -> None:
    tokens = tokenize(b"\n".join(column))
    place = tokens.text, *tokens.column(0)
    assert strings(*place).tolist() == column
    code, kinds = distinct(*place)
    assert [kinds[c] for c in code] == column
    assert kinds == list(dict.fromkeys(column))
    assert classes(*place)[1].tolist() == [column.index(kind) for kind in kinds]


numbers = st.one_of(
    st.integers(-(10**18) + 1, 10**18 - 1).map(str),
    st.from_regex(r"[+-]?[0-9]{0,20}", fullmatch=True),
    st.text("+-0123456789.eE:/", min_size=1, max_size=6),
).filter(bool)


def slow_integer(word: str) -> tuple[int, bool]:
    digits = word[1:] if word[:1] in ("+", "-") else word
    fine = digits.isascii() and digits.isdigit() and len(digits) <= 18
    return (int(word), True) if fine else (0, False)


@given(st.lists(numbers, max_size=20))
def test_integers(column: list[str]) -> None:
    tokens = tokenize("\n".join(column).encode())
    values, good = integers(tokens.text, *tokens.column(0))
    assert list(zip(values.tolist(), good.tolist(), strict=True)) == [slow_integer(word) for word in column]


def test_nothing_is_a_text_without_rows() -> None:
    for text in (b"", b"\n", b" \t\r\n\n"):
        tokens = tokenize(text)
        assert len(tokens) == 0
        assert len(tokens.start) == 0
    assert strings(tokens.text, *tokens.column(0)).dtype == np.dtype("S1")
    assert distinct(tokens.text, *tokens.column(0))[1] == []
