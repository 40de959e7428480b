"""Numbers as PLINK prints them, against a slow and clear twin in decimal arithmetic.

`tests/oracles/test_counts.py` compares with what the program itself prints.
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_EVEN, Decimal

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from unpooled.formats.number import LONGEST, blanks, number_text, write_real, write_text, write_whole


def rounded(value: Decimal, digits: int) -> Decimal:
    """`value` to so many significant digits."""
    unit = Decimal(1).scaleb(value.adjusted() - digits + 1)
    return value.quantize(unit, ROUND_HALF_EVEN) if value else value


def slow_text(value: float, digits: int) -> str:
    """Round to 14 digits, PLINK's idea of exact; then to the digits wanted, a half to even; then print."""
    number = rounded(rounded(Decimal(value), 14), digits)
    exponent = number.adjusted() if number else 0
    if -5 < exponent < digits:
        text = f"{number:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa = f"{number.scaleb(-exponent):f}".rstrip("0").rstrip(".")
    return f"{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02}"


def on_the_edge(value: float, digits: int) -> bool:
    """Tell whether a number is so near to a half, but not on it, that the last bits decide."""
    scaled = Decimal(value).scaleb(digits - 1 - Decimal(value).adjusted())
    offset = abs(scaled % 1 - Decimal("0.5"))
    return Decimal("1e-13") < offset < Decimal(10) ** (digits - 12)


@pytest.mark.parametrize("denominator", [4000, 1280, 20_000, 32_000])
def test_decimal_halves_go_to_the_even_digit(denominator: int) -> None:
    for k in range(denominator + 1):
        value = k / denominator
        assert number_text(value) == slow_text(value, 4), k


@given(st.floats(min_value=5e-324, allow_infinity=False, exclude_min=False), st.integers(1, 8))
@example(0.10025, 4)
@example(9.9995e-5, 4)
@example(9999.5, 4)
@example(99994.9, 4)
@example(5e-324, 4)
@example(1.7976931348623157e308, 8)
@example(123.45, 4)
@example(0.00012345, 4)
def test_every_number_is_as_its_slow_twin_says(value: float, digits: int) -> None:
    assume(not on_the_edge(value, digits))
    assert number_text(value, digits) == slow_text(value, digits)
    assert number_text(-value, digits) == "-" + slow_text(value, digits)


@given(st.integers(0, 99_999), st.integers(-12, 12))
def test_five_digit_decimals_in_every_range(digits: int, exponent: int) -> None:
    value = float(f"{digits}e{exponent}")
    assert number_text(value) == slow_text(value, 4)


def test_what_is_no_number() -> None:
    assert number_text(math.nan, width=6) == "   nan"
    assert number_text(math.inf, width=6) == "   inf"
    assert number_text(-math.inf, width=6) == "  -inf"
    assert number_text(0.0, width=3) == "  0"
    assert number_text(-0.0, width=3) == "  0"


def test_wider_than_its_column_stays_whole() -> None:
    assert number_text(1.234e-05, width=8) == "1.234e-05"
    assert number_text(-1.234e-105, width=8) == "-1.234e-105"
    assert number_text(0.5, width=8) == "     0.5"


@given(st.integers(0, 2**32 - 1), st.integers(0, 12))
def test_whole_numbers(value: int, width: int) -> None:
    buffer = blanks(LONGEST)
    assert bytes(buffer[: write_whole(buffer, 0, value, width)]).decode() == f"{value:{width}}"


def test_one_after_the_other() -> None:
    buffer = blanks(40)
    at = write_real(buffer, 0, 0.25, 4, 8)
    at = write_whole(buffer, at + 1, 12, 4)
    at = write_text(buffer, at + 1, np.frombuffer(b"rs1234", np.uint8), 2, 6, 5)
    assert bytes(buffer[:at]) == b"    0.25   12  1234"
