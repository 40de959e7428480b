"""Write numbers as PLINK 1.9 prints them, straight into a byte buffer.

PLINK prints a real number with a fixed count of significant digits (four in its reports), without
trailing zeros, and in scientific notation below 1e-4 and from 10^digits on. It is *almost* C's `%.4g`.
The difference: a number whose decimal expansion ends in an exact half goes to the even digit (0.10025
prints 0.1002), where `%g` would round the binary number next to it. "Exact" means to 14 digits, PLINK's
own tolerance; so the steps of the arithmetic (which powers of ten, in which order) are PLINK's too, and
the text is the same in every byte. The test compares with the program itself.

The functions are compiled. They take a `uint8` buffer of blanks (`blanks`), the index `at` at which to
write and the column's width, and return the index after the column. A value that is wider than its
column stays whole, as in PLINK's files; `LONGEST` bytes are room enough for any number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unpooled.kernels.compiled import compiled

LONGEST = 32
"""Length in bytes beyond that of any number written here."""

MOST_DIGITS = 8
"""The most significant digits that can be asked for."""

_BLANK, _MINUS, _PLUS, _POINT, _ZERO, _E = (ord(character) for character in " -+.0e")
_NAN = np.frombuffer(b"nan", np.uint8)
_INFINITY = np.frombuffer(b"inf", np.uint8)

_STEPS = np.array([256, 128, 64, 32, 16, 8, 4, 2, 1], np.int64)
_UP_BY = np.array([float(f"1e{step}") for step in _STEPS])
_DOWN_BY = np.array([float(f"1e-{step}") for step in _STEPS])
_TENS = np.array([10**k for k in range(13)], np.int64)


def _bound(digits: int, exponent: int) -> float:
    """Return the least number that rounds to 10^exponent: 9.9995 x 10^(exponent - 1) for four digits.

    It has 14 digits, of which PLINK lowers the last, so that a number right on it rounds up.
    """
    lead = "9" * digits + "4" + "9" * (13 - digits)
    return float(f"{lead[0]}.{lead[1:]}e{exponent - 1}")


# Row digits - 1 of each: the bounds below which a number is scaled up by each step, those from which it
# is scaled down, the bounds of 10^-4 to 10^8, and what is added to a number, after an even and after an
# odd digit, before its fraction is cut off.
_DIGITS = range(1, MOST_DIGITS + 1)
_TOO_SMALL = np.array([[_bound(digits, 1 - int(step)) for step in _STEPS] for digits in _DIGITS])
_TOO_LARGE = np.array([[_bound(digits, int(step)) for step in _STEPS] for digits in _DIGITS])
_POWER = np.array([[_bound(digits, exponent) for exponent in range(-4, 9)] for digits in _DIGITS])
_PUSH = np.array(
    [[float("0.4" + "9" * (13 - d) + "5"), float("0.5" + "0" * (13 - d) + "5")] for d in _DIGITS]
)


def blanks(size: int) -> NDArray[np.uint8]:
    """A buffer to write into."""
    return np.full(size, _BLANK, np.uint8)


@compiled
def _round_half_even(value: Any, digits: Any) -> Any:
    """Nearest integer; what is within PLINK's tolerance of a half goes to the even one. Below 2^32."""
    whole = np.uint32(value)
    return whole + np.uint32((value - whole) + _PUSH[digits - 1, whole & np.uint32(1)])


@compiled
def count_digits(value: Any) -> Any:
    """Count the digits of a whole number from 0 to 2^32 - 1."""
    length = 1
    while value >= _TENS[length]:
        length += 1
    return length


@compiled
def _write_digits(buffer: Any, at: Any, value: Any, length: Any) -> Any:
    """The last `length` decimal digits of a number below 2^32, with leading zeros."""
    ten = np.uint32(10)
    rest = np.uint32(value)
    for index in range(at + length - 1, at - 1, -1):
        tenth = rest // ten
        buffer[index] = np.uint8(np.uint32(_ZERO) + rest - tenth * ten)
        rest = tenth
    return at + length


@compiled
def write_whole(buffer: Any, at: Any, value: Any, width: Any) -> Any:
    """A whole number from 0 to 2^32 - 1, right-aligned."""
    length = count_digits(value)
    return _write_digits(buffer, at + max(width - length, 0), value, length)


@compiled
def _scaled(value: Any, digits: Any) -> Any:
    """A positive, finite number as (n, decimals, exponent): n / 10^decimals x 10^exponent, rounded.

    The exponent is 0 where plain notation is used.
    """
    bound = _POWER[digits - 1]
    exponent = 0
    if value < bound[0]:
        for step in range(9):
            if value < _TOO_SMALL[digits - 1, step]:
                value *= _UP_BY[step]
                exponent -= _STEPS[step]
        decimals = digits - 1
    elif value >= bound[4 + digits]:
        for step in range(9):
            if value >= _TOO_LARGE[digits - 1, step]:
                value *= _DOWN_BY[step]
                exponent += _STEPS[step]
        decimals = digits - 1
    elif value >= bound[4]:
        decimals = digits - 1
        while value >= bound[4 + digits - decimals]:
            decimals -= 1
    else:
        decimals = digits
        if value < bound[2]:
            value *= 100.0
            decimals += 2
        if value < bound[3]:
            value *= 10.0
            decimals += 1
        return _round_half_even(value * _TENS[digits], digits), decimals, exponent
    return _round_half_even(value * _TENS[decimals], digits), decimals, exponent


@compiled
def write_real(buffer: Any, at: Any, value: Any, digits: Any, width: Any) -> Any:
    """A real number with 1 to 8 significant digits, right-aligned; `nan`, `inf`, `-inf` for what is none."""
    if np.isnan(value):
        return write_text(buffer, at, _NAN, 0, 3, width)
    negative = value < 0.0
    size = -value if negative else value
    if size == np.inf:
        at += max(width - 3 - negative, 0)
        if negative:
            buffer[at] = _MINUS
        return write_text(buffer, at + negative, _INFINITY, 0, 3, 0)
    if size == 0.0:
        return write_whole(buffer, at, 0, width)
    n, decimals, exponent = _scaled(size, digits)
    ten = np.uint32(10)
    while decimals and n % ten == 0:
        n //= ten
        decimals -= 1
    unit = np.uint32(_TENS[decimals])
    ones = n // unit
    places = count_digits(ones)
    length = negative + places + (decimals + 1 if decimals else 0)
    if exponent:
        length += 4 if -100 < exponent < 100 else 5
    at += max(width - length, 0)
    if negative:
        buffer[at] = _MINUS
    at = _write_digits(buffer, at + negative, ones, places)
    if decimals:
        buffer[at] = _POINT
        at = _write_digits(buffer, at + 1, n - ones * unit, decimals)
    if exponent:
        buffer[at] = _E
        buffer[at + 1] = _MINUS if exponent < 0 else _PLUS
        at = _write_digits(buffer, at + 2, abs(exponent), 2 if -100 < exponent < 100 else 3)
    return at


@compiled
def write_scaled(buffer: Any, at: Any, value: Any, down: Any, digits: Any, width: Any) -> Any:
    """A number from 1 to 10 times 10^-down, `down` above 1, with 1 to 8 significant digits, right-aligned."""
    ten = np.uint32(10)
    n = _round_half_even(value * _TENS[digits - 1], digits)
    if n == _TENS[digits]:
        n //= ten
        down -= 1
    decimals = digits - 1
    while decimals and n % ten == 0:
        n //= ten
        decimals -= 1
    unit = np.uint32(_TENS[decimals])
    places = max(count_digits(down), 2)
    at += max(width - (decimals + 2 if decimals else 1) - 2 - places, 0)
    at = _write_digits(buffer, at, n // unit, 1)
    if decimals:
        buffer[at] = _POINT
        at = _write_digits(buffer, at + 1, n % unit, decimals)
    buffer[at] = _E
    buffer[at + 1] = _MINUS
    return _write_digits(buffer, at + 2, down, places)


@compiled
def write_text(buffer: Any, at: Any, text: Any, start: Any, end: Any, width: Any) -> Any:
    """The bytes of `text` from `start` to `end`, right-aligned."""
    at += max(width - (end - start), 0)
    for index in range(start, end):
        buffer[at] = text[index]
        at += 1
    return at


def number_text(value: float, digits: int = 4, width: int = 0) -> str:
    """Write one number as text, where speed does not matter."""
    buffer = blanks(LONGEST + width)
    return bytes(buffer[: write_real(buffer, 0, float(value), digits, width)]).decode()
