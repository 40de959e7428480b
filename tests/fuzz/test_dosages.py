"""Random federations of imputed dosages beside plink2 on their pool: a few here, thousands by `make fuzz`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unpooled.kernels.dosages import COPY
from unpooled.methods.regression.options import FIRTH

from ..conftest import needed
from . import dosages
from .dosages import judge
from .dosages.federation import FORMATS, Federation, draw, write_pool
from .gwas.plinks import missing

COUNT = 25


@pytest.fixture(autouse=True)
def _plink2() -> None:
    needed("plink2" not in missing(), "plink2", "plink2")


def test_random_federations_agree_with_plink2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dosages.main(COUNT, np.inf, 1, tmp_path) == 0, capsys.readouterr().err
    assert "identical" in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_all_formats_and_tests_are_drawn() -> None:
    drawn = [draw(seed) for seed in range(1, 1 + COUNT)]
    assert {name for each in drawn for name in each.formats} == set(FORMATS)
    assert {FIRTH.of(each.plan) for each in drawn if each.plan.test == "logistic"} == {
        *("firth-fallback", "firth", "no-firth"),
    }


@pytest.mark.parametrize("seed", [64, 141, 327])
def test_firths_fit_is_the_higher_of_two_maxima(seed: int, tmp_path: Path) -> None:
    """All cases have next to nothing of an allele, which puts the usual estimate far out."""
    assert FIRTH.of(draw(seed).plan) == "firth"
    assert not (found := dosages.compared(seed, tmp_path).disagreements), found


@pytest.mark.parametrize("seed", [4, 5, 6])
def test_a_wrong_dosage_in_the_pool_is_noticed(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One person has a copy more, or less, in the pool than in the cohort's files."""

    def off(plink2: object, federation: Federation, prefix: Path) -> object:
        values = federation.dosages.copy()
        someone = int(np.flatnonzero(~np.isnan(federation.phenotype) & (federation.sex == 1))[0])
        values[:, someone] = np.where(values[:, someone] < COPY, 2 * COPY, 0)
        return write_pool(plink2, replace(federation, dosages=values), prefix)  # type: ignore[arg-type]

    monkeypatch.setattr(judge, "write_pool", off)
    assert dosages.compared(seed, tmp_path).disagreements


def test_a_seed_is_one_federation() -> None:
    one, again, other = draw(11), draw(11), draw(12)
    assert one.plan == again.plan and (one.dosages == again.dosages).all()
    assert one.dosages.shape != other.dosages.shape
