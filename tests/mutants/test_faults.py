"""Each fault can still be made, and its test is there; `make mutants` says whether that finds it."""

from __future__ import annotations

import pytest

from .faults import ROOT, Fault, faults


@pytest.mark.parametrize("fault", faults(), ids=lambda fault: fault.breaks)
def test_a_fault_can_be_made(fault: Fault) -> None:
    compile(fault.text(), fault.file, "exec")
    file, test = fault.test.split("::")
    assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8")
