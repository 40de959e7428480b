"""Every procedure asks the same on any processor, given the same sums: by `python -m tests.same_bits`."""

from __future__ import annotations

import functools

import pytest
from numpy._core._multiarray_umath import __cpu_features__

from ..same_bits import elsewhere, machine
from .options import OPTIONS
from .studies import STUDIES

NAMES = [*STUDIES, *(name for name in OPTIONS if name.endswith(("every file", "filters")))]


@functools.cache
def found() -> tuple[dict[str, list[str]], dict[str, str]]:
    return elsewhere(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_is_asked_on_another_processor(name: str) -> None:
    unlike, _ = found()
    assert unlike[name] == []


@pytest.mark.skipif(not __cpu_features__.get("AVX2"), reason="this processor is itself of the oldest")
def test_the_other_processor_computes_otherwise() -> None:
    _, there = found()
    here = machine()
    assert {name for name in here if here[name] != there[name]} >= {"NumPy", "OpenBLAS"}
