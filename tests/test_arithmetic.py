"""Whatever leads to a question is computed with the same bits on every machine (docs/architecture.md).

That is every function which a procedure names, and which those name, but

    `local`, which only a cohort runs, on its own data
    functions that return `Rows`, or iterate over them, and what `Rows.later` is given: they only make rows,
        but those of regressions: from estimates in their rows follows which variants lead clumps

What such a function may not do is below. A sum of whole numbers says that it is one: `.sum(dtype=np.int64)`.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "core" / "src"
FIXED_ORDER = "unpooled.kernels.fixed_order", "unpooled.kernels.elementary"

_SUMS = {"average", "mean", "nanmean", "nansum", "prod", "std", "sum", "trace", "var"}
_REDUCTIONS = {"reduce", "reduceat"}
_FUNCTIONS = {
    *("cbrt", "einsum", "exp", "exp2", "expm1", "float_power", "geomspace", "hypot", "inner", "log", "log10"),
    *("log1p", "log2", "logaddexp", "logspace", "matmul", "pow", "power", "special", "stats", "tanh"),
    *("tensordot", "vdot"),
}
_OF_PYTHON = {name for kind in (dict, list, set, str) for name in dir(kind)} - {"copy"}
"""Methods of Python's containers, which are no methods of ours."""


_REGRESSIONS = "unpooled.methods.regression."
_PRINTED = {"joint_test", "normal_neg_log10_p", "t_neg_log10_p"}
"""Functions whose numbers stand in rows only: leads follow from P by `printed_tail`."""


@dataclass(frozen=True, eq=False)
class Function:
    """A function or a method, where it is, and what it may be called by there."""

    module: str
    node: ast.FunctionDef

    @property
    def makes_rows(self) -> bool:
        returns = "" if self.node.returns is None else ast.unparse(self.node.returns)
        is_of_clumps = self.module.startswith(_REGRESSIONS)
        return self.node.name in _PRINTED or (returns in ("Rows", "Iterator[Rows]") and not is_of_clumps)

    @property
    def is_procedure(self) -> bool:
        return any(ast.unparse(each).startswith("procedure(") for each in self.node.decorator_list)


@dataclass(frozen=True, eq=False)
class Module:
    """Declarations and imports of a module."""

    functions: dict[str, Function]
    classes: dict[str, dict[str, Function]]
    imported: dict[str, tuple[str, str]]
    """Module and name there, by the name here; the name there is empty for a module."""


@functools.cache
def modules() -> dict[str, Module]:
    found = {}
    for file in (SOURCE / "unpooled").rglob("*.py"):
        name = ".".join(file.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        found[name] = _module(name, ast.parse(file.read_text(encoding="utf-8")))
    return found


def _module(name: str, tree: ast.Module) -> Module:
    imported = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("unpooled"):
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                is_module = (SOURCE / Path(*whole.split("."))).with_suffix(".py").exists()
                imported[alias.asname or alias.name] = (
                    (whole, "") if is_module else (str(node.module), alias.name)
                )
    return Module(
        {each.name: Function(name, each) for each in tree.body if isinstance(each, ast.FunctionDef)},
        {
            each.name: {
                own.name: Function(name, own) for own in each.body if isinstance(own, ast.FunctionDef)
            }
            for each in tree.body
            if isinstance(each, ast.ClassDef)
        },
        imported,
    )


@functools.cache
def methods() -> dict[str, list[Function]]:
    """All methods of algorithms, by name: which one an attribute is, nothing here knows."""
    found: dict[str, list[Function]] = {}
    for name, module in modules().items():
        if name.startswith(("unpooled.methods", "unpooled.kernels.statistics")):
            for own in module.classes.values():
                for method in own.values():
                    found.setdefault(method.node.name, []).append(method)
    return found


def nodes(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all within, but what only makes rows."""
    yield node
    if not (isinstance(node, ast.Call) and ast.unparse(node.func) == "Rows.later"):
        for child in ast.iter_child_nodes(node):
            yield from nodes(child)


def named(function: Function) -> Iterator[Function]:
    """The functions that a function names."""
    module = modules()[function.module]
    for node in nodes(function.node):
        if isinstance(node, ast.Name):
            where, name = module.imported.get(node.id, (function.module, node.id))
            there = modules().get(where)
            if there and name in there.functions:
                yield there.functions[name]
        elif isinstance(node, ast.Attribute) and node.attr not in _OF_PYTHON:
            where, _ = module.imported.get(ast.unparse(node.value), ("", ""))
            if where in modules():
                if node.attr in modules()[where].functions:
                    yield modules()[where].functions[node.attr]
            else:
                yield from methods().get(node.attr, ())


def leading_to_questions() -> list[Function]:
    waiting = [
        each
        for module in modules().values()
        for each in module.functions.values()
        if each.is_procedure and not each.makes_rows
    ]
    found = set(waiting)
    while waiting:
        for each in named(waiting.pop()):
            if each not in found and each.node.name != "local" and not each.makes_rows:
                found.add(each)
                waiting.append(each)
    return [each for each in found if each.module not in FIXED_ORDER]


def faults(function: Function) -> Iterator[str]:
    """Find what a function does that it may not, with its place."""
    for node in nodes(function.node):
        if what := _fault(node):
            yield f"{function.module}:{node.lineno}: {function.node.name}: {what}"


def _fault(node: ast.AST) -> str:
    match node:
        case ast.BinOp(op=ast.MatMult()) | ast.AugAssign(op=ast.MatMult()):
            return "@"
        case ast.BinOp(op=ast.Pow(), left=left, right=right):
            is_exact = isinstance(left, ast.Constant) and isinstance(left.value, int)
            is_square = isinstance(right, ast.Constant) and right.value == 2
            return "" if is_exact or is_square else ast.unparse(node)
        case ast.Call(func=ast.Attribute(value=value, attr=name), keywords=keywords):
            is_sum = name in _SUMS or (
                name in _REDUCTIONS and ast.unparse(value) in ("np.add", "np.multiply")
            )
            is_whole = any(each.arg == "dtype" for each in keywords) or ast.unparse(value) == "math"
            return ast.unparse(node) if is_sum and not is_whole else ""
        case ast.Attribute(value=ast.Name(id="np" | "math" | "scipy"), attr=name) if name in _FUNCTIONS:
            return ast.unparse(node)
        case ast.Attribute(attr="linalg" | "dot") | ast.keyword(arg="fastmath"):
            return ast.unparse(node)
    return ""


def test_whatever_leads_to_a_question_has_the_same_bits_everywhere() -> None:
    functions = leading_to_questions()
    assert {"fit_path", "advance", "find_means"} <= {each.node.name for each in functions}
    assert sorted({fault for each in functions for fault in faults(each)}) == []
