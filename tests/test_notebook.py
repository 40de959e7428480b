"""Cohorts of xarray in a study of one process: the tables are those of the files as clients read them."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import dask.array
import numpy as np
import pytest
import xarray
from bed_reader import open_bed

from unpooled.agreement import reconcile
from unpooled.notebook import Cohort
from unpooled.plan import Plan
from unpooled.run import run
from unpooled.simulate import simulate
from unpooled_client.data.cohort import open_cohort
from unpooled_client.data.options import DataOptions

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


def array(prefix: Path) -> xarray.DataArray:
    """A .bed as pandas-plink gives it, read by another reader: people by variants, copies of `a1`."""
    with open_bed(f"{prefix}.bed", count_A1=False) as bed:
        copies = dask.array.from_array(bed.read(dtype="float32"), chunks=(50, 100))
        of_variants = {"chrom": bed.chromosome, "snp": bed.sid, "pos": bed.bp_position, "a0": bed.allele_1,
                       "a1": bed.allele_2}  # fmt: skip
        people = {"gender": bed.sex.astype(str), "father": bed.father, "mother": bed.mother}
        coordinates = {name: ("variant", values) for name, values in of_variants.items()}
        coordinates |= {name: ("sample", values) for name, values in people.items()}
        coordinates["trait"] = ("sample", bed.pheno)
    return xarray.DataArray(copies, dims=("sample", "variant"), coords=coordinates)


def cohort(prefix: Path) -> Cohort:
    genotypes = array(prefix)
    codes = genotypes.trait.values.astype(float)
    return Cohort.from_xarray(genotypes, np.select([codes == 1, codes == 2], [0.0, 1.0], np.nan))


def test_the_tables_are_those_of_the_files(made: Path) -> None:
    mine = {name: cohort(made / name) for name in NAMES}
    theirs = {}
    for name in NAMES:
        data, report = open_cohort(DataOptions(bfile=made / name, min_samples=1, min_per_class=0))
        assert data is not None, report.findings
        theirs[name] = data
    panel = reconcile({name: each.panel for name, each in mine.items()}).panel
    assert panel.digest == reconcile({name: each.panel for name, each in theirs.items()}).panel.digest
    plan = Plan("chi-square", "phenotype", len(NAMES), bytes(32), allow_no_sex=True)
    ours = run(plan, panel, [each.align(panel) for each in mine.values()])
    wanted = run(plan, panel, [each.align(panel) for each in theirs.values()])
    assert ours.keys() == wanted.keys() and len(ours["variants"]["variant"]) > 300
    for table, columns in wanted.items():
        for name, values in columns.items():
            assert np.array_equal(ours[table][name], values, equal_nan=values.dtype.kind == "f"), (
                table,
                name,
            )


def test_covariates_and_a_quantity(made: Path) -> None:
    rng = np.random.default_rng(1)
    cohorts = []
    for name in NAMES:
        genotypes = array(made / name)
        people = len(genotypes)
        cohorts.append(Cohort.from_xarray(genotypes, rng.normal(size=people), rng.normal(size=(people, 2))))
    assert all(each.samples.covariates.shape[1] == 2 for each in cohorts)


def test_other_people_are_refused(made: Path) -> None:
    with pytest.raises(ValueError, match="of 90 people"):
        Cohort.from_xarray(array(made / "cohort1"), np.zeros(89))


def test_only_what_is_asked_for_is_read(made: Path) -> None:
    read = cohort(made / "cohort1")
    aligned = read.align(read.panel)
    some = np.array([7, 3, 200])
    whole = aligned.packed(slice(None)).words
    assert (aligned.packed(some).words == whole[some]).all()


def test_the_example_prints_the_p_values_of_plink(
    made: Path,
    plink: Callable[..., str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def read(bed: str, verbose: bool) -> xarray.DataArray:
        return array(Path(bed).with_suffix(""))

    monkeypatch.setitem(
        sys.modules, "pandas_plink", SimpleNamespace(read_plink1_bin=read)
    )  # it wants NumPy 1
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
