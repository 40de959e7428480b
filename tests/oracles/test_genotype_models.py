"""PLINK's genotype models on real genotypes: plink1.9, line by line; tests/fuzz/gwas draws every model and
interaction, on every chromosome, beside both PLINKs.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pooled import mice

from .reports import same

_PLACES = {"20", "21"}


def autosomal(report: bytes) -> bytes:
    """The lines that are not about the mice's X or Y."""
    lines = report.splitlines(keepends=True)
    return b"".join(line for line in lines if line.split()[0].decode() not in _PLACES)


@pytest.mark.parametrize("model", ["dominant", "genotypic"])
def test_mice(model: str, tmp_path: Path) -> None:
    """plink1.9 is asked without X, Y and MT: after these it takes a variant for another."""
    pooled = mice(5)
    ours, _ = pooled.study(files=("assoc", "adjusted"), genotype_model=model)
    out = pooled.plink1(tmp_path, "--linear", model, "--not-chr", "X,Y,MT", "--adjust")
    same(autosomal(ours["assoc"]), out.with_suffix(".assoc.linear").read_bytes())
    adjusted = (ours["adjusted"], out.with_suffix(".assoc.linear.adjusted").read_bytes())
    same(*(b"\n".join(sorted(text.splitlines())) for text in adjusted))
