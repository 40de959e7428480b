"""Shows whether procedures ask the same on another kind of processor, given the same sums.

    python -m tests.same_bits                      every small study of `tests.contract`
    python -m tests.same_bits STUDY …              those whose names begin so
    python -m tests.same_bits --openblas Haswell   as with this kernel of OpenBLAS

The studies run here. Then their procedures run once more, with the sums of that run, in a process without all
that a processor can beyond the oldest of its kind: for NumPy, Numba, OpenBLAS, and the C library. Whatever
they ask otherwise is said, with the fields that differ. Another architecture is not tried so.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

from unpooled.asking import driver
from unpooled.asking import question as questions
from unpooled.asking.driver import Place, Tree
from unpooled.asking.question import Arrays, Question
from unpooled.methods import questions_of, whole
from unpooled.protocol import codec

from .contract.options import OPTIONS
from .contract.runs import Run, run, small, study_of
from .contract.studies import STUDIES

ROOT = Path(__file__).parents[1]
COMPILED = ROOT / ".cache" / "same-bits"
"""Folder of what Numba has compiled for the oldest processor."""
_OF_GLIBC = ("AVX512F", "AVX512VL", "AVX2", "AVX", "FMA", "FMA4", "BMI2", "ERMS")

Asked = list[tuple[bytes, bytes]]
"""The questions of a study, each with its sums, as a journal has them."""


def asked(found: Run) -> Asked:
    return [(questions.encode(each), driver.sums_bytes(each, sums)) for each, sums in found.answers]


def least(openblas: str = "Nehalem") -> dict[str, str]:
    """The environment of a process that does without what newer processors can."""
    glibc = [f"-{name}{usable}" for name in _OF_GLIBC for usable in ("", "_Usable")]
    return {
        **os.environ,
        "NPY_DISABLE_CPU_FEATURES": ",".join(name for name in __cpu_dispatch__ if __cpu_features__[name]),
        "NUMBA_CPU_NAME": "generic",
        "NUMBA_CPU_FEATURES": "",
        "NUMBA_CACHE_DIR": str(COMPILED),
        "OPENBLAS_CORETYPE": openblas,
        "GLIBC_TUNABLES": f"glibc.cpu.hwcaps={','.join(glibc)}",
    }


def machine() -> dict[str, str]:
    """Digests of what each way to compute gives of the same numbers, which machines differ in."""
    values = np.random.default_rng(1).normal(size=(300, 300))
    found = {
        "NumPy": np.exp(values),
        "sums": values.sum(axis=1),
        "OpenBLAS": values @ values,
        "C library": np.log1p(np.abs(values)),
    }
    return {name: hashlib.sha256(array.tobytes()).hexdigest() for name, array in found.items()}


class Told:
    """A study that is told the sums that it was told before, and whose questions are compared."""

    def __init__(self, name: str, before: Asked) -> None:
        self.plan = small(name).plan
        self.kinds = questions_of(self.plan)
        self._before, self._place = before, 0
        self.unlike: defaultdict[str, set[str]] = defaultdict(set)
        """Fields that differ, by the names of their questions."""

    @property
    def left(self) -> int:
        return len(self._before) - self._place

    def total(self, place: Place, question: Question) -> Arrays:
        message, came = self._before[self._place]
        self._place += 1
        if message != questions.encode(question):
            then = questions.decode(message, self.kinds, self.plan)
            self.unlike[question.name].update(_fields_apart(vars(then), vars(question)))
            if type(then) is not type(question):
                raise ValueError(f"asks {question.name} where it asked {then.name}")
        arrays = codec.decode(came)
        return dict(zip(questions.returns(question), arrays, strict=True))


def _fields_apart(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for name in before.keys() & now.keys():
        if isinstance(before[name], Question):
            yield from _fields_apart(vars(before[name]), vars(now[name]))
        elif codec.encode(before[name]) != codec.encode(now[name]):
            yield name


def unlike(name: str, before: Asked) -> Iterator[str]:
    """Find what a study asks otherwise than before, a line for each kind of question."""
    told = Told(name, before)
    try:
        Tree(whole(study_of(small(name))), told.kinds, told.total, []).value()
    except (ValueError, IndexError, KeyError) as error:
        yield str(error)
    if told.left:
        yield f"asks {told.left} questions less"
    for question, fields in told.unlike.items():
        yield f"{question}: {', '.join(sorted(fields))}"


def elsewhere(
    studies: Sequence[str], openblas: str = "Nehalem"
) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Find what each study asks otherwise there, and how that process computes what machines differ in."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "asked"
        file.write_bytes(codec.encode(tuple((name, tuple(asked(run(name)))) for name in studies)))
        done = subprocess.run(
            [sys.executable, "-m", "tests.same_bits", "--again", file],
            env=least(openblas),
            cwd=ROOT,
            stdout=subprocess.PIPE,
            check=True,
        )
    lines, of_machine = json.loads(done.stdout)
    return dict(zip(studies, lines, strict=True)), of_machine


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare what procedures ask on another processor.")
    parser.add_argument("--openblas", default="Nehalem", help="the kernel of OpenBLAS to use there")
    parser.add_argument("--again", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("studies", nargs="*", metavar="STUDY", help="beginnings of names; all without any")
    given = parser.parse_args()
    if given.again:
        before = codec.decode(given.again.read_bytes())
        print(json.dumps([[list(unlike(*one)) for one in before], machine()]))
        return
    studies = [name for name in STUDIES | OPTIONS if name.startswith(tuple(given.studies) or "")]
    found, of_machine = elsewhere(studies, given.openblas)
    lines = [f"{name}: {line}" for name, of_study in found.items() for line in of_study]
    here = machine()
    differs = [name for name in here if here[name] != of_machine[name]]
    print(*lines, f"{len(studies)} studies; computed otherwise there: {', '.join(differs)}", sep="\n")
    sys.exit(bool(lines))


if __name__ == "__main__":
    main()
