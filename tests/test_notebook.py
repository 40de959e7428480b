"""Cohorts of xarray in a study of one process: the tables are those of the files as clients read them."""

from __future__ import annotations

import contextlib
import importlib
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import xarray

from unpooled.notebook import Cohort
from unpooled.panel.agreement import reconcile
from unpooled.plan.plan import NO_KEY, Plan
from unpooled.run import run
from unpooled.simulate import simulate
from unpooled_client.data.cohort import open_cohort
from unpooled_client.data.options import DataOptions

from .plinks import needed, plink

# pip heeds the declarations of none of these: they are what pandas-plink imports and our tools do not have.
PANDAS_PLINK = ("pandas-plink~=2.3", "deprecated~=1.2", "tqdm~=4.67")
Array = Callable[[Path], xarray.DataArray]

NAMES = ("cohort1", "cohort2", "cohort3")
EXAMPLE = Path(__file__).parents[1] / "docs/examples/notebook.py"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Missing calls, X and Y; one cohort's files call other alleles A1."""
    folder = tmp_path_factory.mktemp("made")
    simulate(
        folder,
        cohorts=[90, 70, 60],
        variants=400,
        seed=5,
        missing_rate=(0.3, 0.05),
        nonfounder_rate=0.1,
        sex_chromosomes=True,
    )
    bim = folder / "cohort2.bim"
    lines = [line.split() for line in bim.read_text().splitlines()]
    turned = [[*line[:4], line[5], line[4]] if k % 2 else line for k, line in enumerate(lines)]
    bim.write_text("".join("\t".join(line) + "\n" for line in turned))
    return folder


@pytest.fixture(scope="session")
def pandas_plink() -> ModuleType:
    """The real package beside our NumPy, which its declaration forbids (docs/notebooks.md)."""
    folder = Path(__file__).parents[1] / ".cache" / "pandas-plink"
    if not folder.exists():
        folder.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as made:
            pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", f"{made}/all"]
            if subprocess.run([*pip, *PANDAS_PLINK], check=False).returncode == 0:
                with contextlib.suppress(OSError):  # another run of the tests was first
                    Path(made, "all").rename(folder)  # so that what is there is all of it
    install = f"pip install --no-deps --target {folder}"
    needed(folder.exists(), "pandas-plink", " ".join(PANDAS_PLINK), install)
    sys.path.append(str(folder))  # last: it replaces nothing of ours
    return importlib.import_module("pandas_plink")


@pytest.fixture
def array(pandas_plink: ModuleType) -> Array:
    """An array of a fileset in several pieces: people by variants, copies of `a1`."""
    pieces = pandas_plink.Chunk(nsamples=48, nvariants=100)  # it reads whole bytes: others come out shifted
    return lambda prefix: pandas_plink.read_plink1_bin(f"{prefix}.bed", verbose=False, chunk=pieces)


def cohort(genotypes: xarray.DataArray) -> Cohort:
    codes = genotypes.trait.values.astype(float)
    return Cohort.from_xarray(genotypes, np.select([codes == 1, codes == 2], [0.0, 1.0], np.nan))


def test_the_tables_are_those_of_the_files(made: Path, array: Array) -> None:
    mine = {name: cohort(array(made / name)) for name in NAMES}
    theirs = {}
    for name in NAMES:
        data, report = open_cohort(DataOptions(bfile=made / name, min_samples=1, min_per_class=0))
        assert data is not None, report.findings
        theirs[name] = data
    panel = reconcile({name: each.panel for name, each in mine.items()}).panel
    assert panel.digest == reconcile({name: each.panel for name, each in theirs.items()}).panel.digest
    plan = Plan("chi-square", "phenotype", len(NAMES), NO_KEY, allow_no_sex=True)
    ours = run(plan, panel, [each.align(panel) for each in mine.values()])
    wanted = run(plan, panel, [each.align(panel) for each in theirs.values()])
    assert ours.keys() == wanted.keys() and len(ours["variants"]["variant"]) > 300
    for table, columns in wanted.items():
        for name, values in columns.items():
            assert np.array_equal(ours[table][name], values, equal_nan=values.dtype.kind == "f"), (
                table,
                name,
            )


def test_covariates_and_a_quantity(made: Path, array: Array) -> None:
    rng = np.random.default_rng(1)
    cohorts = []
    for name in NAMES:
        genotypes = array(made / name)
        people = len(genotypes)
        cohorts.append(Cohort.from_xarray(genotypes, rng.normal(size=people), rng.normal(size=(people, 2))))
    assert all(each.samples.covariates.shape[1] == 2 for each in cohorts)


def test_other_people_are_refused(made: Path, array: Array) -> None:
    with pytest.raises(ValueError, match="of 90 people"):
        Cohort.from_xarray(array(made / "cohort1"), np.zeros(89))


def test_only_what_is_asked_for_is_read(made: Path, array: Array) -> None:
    read = cohort(array(made / "cohort1"))
    aligned = read.align(read.panel)
    some = np.array([7, 3, 200])
    whole = aligned.packed(slice(None)).words
    assert (aligned.packed(some).words == whole[some]).all()


def test_the_example_prints_the_p_values_of_plink(
    made: Path,
    pandas_plink: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["notebook.py", *NAMES])
    monkeypatch.chdir(made)
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    printed = [line.split("\t") for line in capsys.readouterr().out.splitlines()]

    (tmp_path / "others.txt").write_text("\n".join(NAMES[1:]) + "\n")
    merged = ("--bfile", NAMES[0], "--merge-list", tmp_path / "others.txt", "--assoc")
    plink(*merged, "--out", tmp_path / "pool")
    header, *rows = (line.split() for line in (tmp_path / "pool.assoc").read_text().splitlines())
    wanted = {row[header.index("SNP")]: row[header.index("P")] for row in rows}
    best = sorted(float(p) for p in wanted.values() if p != "NA")[:5]
    assert len(printed) == 5 and [(name, f"{float(wanted[name]):.4g}") for name, _ in printed] == [
        tuple(row) for row in printed
    ]
    assert [float(p) for _, p in printed] == pytest.approx(best)
