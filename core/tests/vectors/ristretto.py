"""ristretto255 (RFC 9496) in Python's integers: slow, and not in constant time."""

from __future__ import annotations

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
ROOT = pow(2, (P - 1) // 4, P)
"""Square root of -1."""

Point = tuple[int, int]
"""Point on the curve -x^2 + y^2 = 1 + d x^2 y^2."""
ZERO: Point = (0, 1)


def is_negative(number: int) -> bool:
    return number % P & 1 == 1


def absolute(number: int) -> int:
    return -number % P if is_negative(number) else number % P


def root_of_ratio(u: int, v: int) -> tuple[bool, int]:
    """Tell whether u/v is a square, and return the nonnegative root of it or of i·u/v."""
    ratio = u * pow(v, -1, P) % P if v % P else 0
    for is_square, square in ((True, ratio), (False, ratio * ROOT % P)):
        root = pow(square, (P + 3) // 8, P)
        for candidate in (root, root * ROOT % P):
            if candidate * candidate % P == square:
                return is_square, absolute(candidate)
    raise AssertionError("neither is a square")


def add(one: Point, other: Point) -> Point:
    (a, b), (c, d) = one, other
    product = D * a * b * c * d
    x = (a * d + b * c) * pow(1 + product, -1, P)
    y = (b * d + a * c) * pow(1 - product, -1, P)
    return x % P, y % P


def times(factor: int, point: Point) -> Point:
    found = ZERO
    for bit in bin(factor)[2:]:
        found = add(found, found)
        if bit == "1":
            found = add(found, point)
    return found


def number(uniform: bytes) -> int:
    return int.from_bytes(uniform, "little") % ORDER


def unpacked(data: bytes) -> Point:
    """RFC 9496, 4.3.1."""
    s = int.from_bytes(data, "little")
    assert s < P and not is_negative(s)
    u1, u2 = (1 - s * s) % P, (1 + s * s) % P
    v = (-(D * u1 * u1) - u2 * u2) % P
    was_square, root = root_of_ratio(1, v * u2 * u2)
    x = absolute(2 * s * root * u2)
    y = u1 * root * root * u2 * v % P
    assert was_square and not is_negative(x * y) and y
    return x, y


BASE = unpacked(bytes.fromhex("e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76"))


def packed(point: Point) -> bytes:
    """RFC 9496, 4.3.2, with Z = 1 and T = x y."""
    x, y = point
    u1, u2 = (1 + y) * (1 - y) % P, x * y % P
    _, root = root_of_ratio(1, u1 * u2 * u2)
    one, two = root * u1 % P, root * u2 % P
    inverse = one * two * x * y % P
    if is_negative(x * y * inverse):
        _, of_minus_one_minus_d = root_of_ratio(1, -1 - D)
        x, y, scale = y * ROOT % P, x * ROOT % P, one * of_minus_one_minus_d % P
    else:
        scale = two
    if is_negative(x * inverse):
        y = -y % P
    return absolute(scale * (1 - y)).to_bytes(32, "little")


def from_hash(uniform: bytes) -> Point:
    """RFC 9496, 4.3.4."""
    halves = uniform[:32], uniform[32:]
    return add(*(mapped(int.from_bytes(half, "little") & 2**255 - 1) for half in halves))


def mapped(t: int) -> Point:
    r = ROOT * t * t % P
    u = (r + 1) * (1 - D * D) % P
    v = (-1 - r * D) * (r + D) % P
    was_square, s = root_of_ratio(u, v)
    s, c = (s, -1) if was_square else (-absolute(s * t) % P, r)
    n = (c * (r - 1) * (D - 1) ** 2 - v) % P
    _, root = root_of_ratio(-D - 1, 1)  # of which the RFC takes the other
    return 2 * s * v * pow(n * -root, -1, P) % P, (1 - s * s) * pow(1 + s * s, -1, P) % P
