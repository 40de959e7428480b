"""Sums whose order the source fixes, and multiply-adds that are rounded once.

LLVM vectorises a sum only if it may take the terms in any order (`fastmath`), and then takes one of its own
in each compilation: a function that was compiled by itself, and once more inside its caller, gave sums that
differed in the last bits. Which of the two ran depended on whether the cache of compiled code was warm. Here
the vectors are written out in LLVM's own language, so that nothing is left to choose.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from unpooled.kernels.compiled import intrinsic, ir, types

WIDTH = 32
"""Bytes of the vectors that sums are taken in, on every processor: its own width must not show. Nine sums and
what they are made of fill the sixteen registers of AVX2; wider vectors would go through memory there."""

_WHOLE = ir.IntType(64)
_FEW = 5
"""Maximum number of sums that take vectors twice as wide: an addition ends long after another could begin."""

Product = tuple[Any, Any]
"""Two vectors whose product is to be added; one alone, with None, is added as it is."""


@intrinsic
def _muladd(context: Any, a: Any, b: Any, c: Any) -> Any:

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _multiplied_and_added(builder, *arguments)

    return a(a, b, c), generate


muladd: Any = _muladd
"""a b + c, rounded once wherever the processor has an instruction for that; numbers of one type."""


def tile_sums(tile: int, count: int, products: Callable[..., list[Product]]) -> Any:
    """Makes a compiled function from a tuple of arrays of `tile` numbers, all of one type, to `count` sums.

    `products(builder, *vectors)` says in LLVM's terms what is added up, given the vectors at one place of
    the arrays. Each lane is summed apart; in the end halves are added, until one number is left.
    """

    @intrinsic
    def summed(context: Any, arrays: Any) -> Any:
        kind = arrays[0].dtype

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            real = context.get_value_type(kind)
            width = 2 * WIDTH if count <= _FEW else WIDTH
            vector = ir.VectorType(real, width * 8 // kind.bitwidth)
            values = [builder.extract_value(arguments[0], k) for k in range(len(arrays))]
            places = [
                builder.bitcast(context.make_array(array)(context, builder, value).data, vector.as_pointer())
                for array, value in zip(arrays, values, strict=True)
            ]

            def add(index: Any, totals: list[Any]) -> list[Any]:
                at = [builder.load(builder.gep(place, [index]), align=kind.bitwidth // 8) for place in places]
                return [
                    _multiplied_and_added(builder, *term, total)
                    for term, total in zip(products(builder, *at), totals, strict=True)
                ]

            turns = _WHOLE(tile // vector.count)
            totals = looped(builder, turns, [ir.Constant(vector, None)] * count, add)
            return context.make_tuple(builder, signature.return_type, _over_lanes(builder, totals))

        return types.UniTuple(kind, count)(arrays), generate

    return summed


def _multiplied_and_added(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """a b + c of numbers or vectors; a + c where b is None."""
    if b is None:
        return builder.fadd(a, c)
    # Not fadd and fmul with `contract`: of two products LLVM would choose which one is not rounded.
    kind, vector = c.type, isinstance(c.type, ir.VectorType)
    short = f"v{kind.count}{kind.element.intrinsic_name}" if vector else kind.intrinsic_name
    name = f"llvm.fmuladd.{short}"
    known = builder.module.globals.get(name)
    function = known or ir.Function(builder.module, ir.FunctionType(kind, [kind] * 3), name)
    return builder.call(function, [a, b, c])


def looped(
    builder: Any, stop: Any, totals: list[Any], add: Callable[[Any, list[Any]], list[Any]], step: int = 1
) -> list[Any]:
    """Build a loop of `add`, which gets 0, `step` and so on to before `stop`; return the `totals` after it.

    It is gone through once at the least, even if `stop` is 0: the test comes at its end.
    """
    before = builder.block
    loop, after = builder.append_basic_block("loop"), builder.append_basic_block("after")
    builder.branch(loop)
    builder.position_at_end(loop)
    at, sums = builder.phi(_WHOLE), [builder.phi(total.type) for total in totals]
    added, following = add(at, sums), builder.add(at, _WHOLE(step))
    for now, first, then in zip([at, *sums], [_WHOLE(0), *totals], [following, *added], strict=True):
        now.add_incoming(first, before)
        now.add_incoming(then, loop)
    builder.cbranch(builder.icmp_unsigned("<", following, stop), loop, after)
    builder.position_at_end(after)
    return added


def _over_lanes(builder: Any, totals: list[Any]) -> list[Any]:
    """The sum of each vector's lanes: halves are added, then their halves, of two vectors at once."""
    count, lanes = len(totals), totals[0].type.count
    sums, width = 1, lanes  # in a vector, and lanes that each has
    while width > 1:
        width //= 2
        lower = [start + lane for start in range(0, 2 * lanes, 2 * width) for lane in range(width)]
        halves = [_constant_lanes(lower), _constant_lanes([lane + width for lane in lower])]
        totals = [
            builder.fadd(*(builder.shuffle_vector(*two, half) for half in halves))
            for two in itertools.zip_longest(totals[::2], totals[1::2], fillvalue=totals[-1])
        ]
        sums *= 2
    return [builder.extract_element(totals[k // sums], ir.IntType(32)(k % sums)) for k in range(count)]


def _constant_lanes(lanes: list[int]) -> Any:
    return ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes)
