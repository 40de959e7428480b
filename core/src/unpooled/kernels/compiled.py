"""Compiled functions. Numba is imported when the first of them is called: loading it takes as long as much of
what the programs do without it, such as answering `--help` or showing who asks for what.

Machine code is kept by Numba beside the source, or in the user's cache where that cannot be written, and is
made anew when the source has changed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib import import_module
from types import CodeType, FunctionType
from typing import Any

_lock = threading.RLock()


class _Later:
    """A module that is imported when something of it is first named."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._module), name)


ir: Any = _Later("llvmlite.ir")
types: Any = _Later("numba.types")
cgutils: Any = _Later("numba.core.cgutils")
"""Modules that an `intrinsic` is written with."""


class Compiled:
    """A function that is compiled when it is first called, or when a compiled function that calls it is."""

    def __init__(self, function: FunctionType, make: Callable[[FunctionType], Any]) -> None:
        self.py_func, self._make, self._made = function, make, None
        self.__doc__, self.__name__, self.__module__ = (
            function.__doc__,
            function.__name__,
            function.__module__,
        )

    def __call__(self, *arguments: Any) -> Any:
        return (self._made or self.made)(*arguments)

    @property
    def made(self) -> Any:
        """The function as compiled by Numba, now if it was not before."""
        if self._made is None:
            with _lock:
                self._made = self._made or self._make(self.py_func)
                _replace(self.py_func.__code__, self.py_func.__globals__)
        return self._made


def _replace(code: CodeType, names: dict[str, Any]) -> None:
    """Put what Numba has made in the place of what a function calls: it knows nothing of `Compiled`."""
    for name in code.co_names:
        if isinstance(found := names.get(name), Compiled):
            names[name] = found.made
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            _replace(inner, names)


def compiled(function: Any) -> Any:
    """A function in machine code, which runs without Python's lock, and divides as NumPy does."""
    return Compiled(function, _njit)


def inlined(function: Any) -> Any:
    """The same, written out in each compiled function that calls it."""
    return Compiled(function, lambda function: _njit(function, inline="always"))


def intrinsic(function: Any) -> Any:
    """A function that writes LLVM's own language for the compiled function that calls it."""
    return Compiled(function, _intrinsic)


def _njit(function: FunctionType, **options: Any) -> Any:
    from numba import njit

    return njit(cache=True, nogil=True, error_model="numpy", **options)(function)


def _intrinsic(function: FunctionType) -> Any:
    from numba.extending import intrinsic

    return intrinsic(function)
