"""GWAS-SSF files of rehearsed regressions, by the GWAS Catalog's own validator."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import yaml

from unpooled.simulate import simulate

from ..conftest import Rehearse, inflation
from ..plinks import plink, rows
from .reports import glm


@pytest.mark.parametrize(
    ("test", "trait", "effect", "build"),
    [
        ("linear", "quantitative", "beta", ()),
        ("logistic", "case/control", "odds_ratio", ("--build", "GRCh37")),
    ],
)
def test_the_catalogs_validator_takes_the_file(
    test: str,
    trait: str,
    effect: str,
    build: tuple[str, ...],
    gwas_ssf: Callable[[Path], str],
    rehearse: Rehearse,
    tmp_path: Path,
) -> None:
    """Every chromosome is in it, longer alleles, odd IDs, and in the linear study a P below 1e-300."""
    made = simulate(
        tmp_path,
        cohorts=[250, 160, 140],
        variants=1_000,
        seed=4,
        trait=trait,
        covariates=2,
        effects=[5.2] if test == "linear" else [2.0],
        sex_chromosomes=True,
        oddities=True,
    )
    assert made.pooled
    files = [word for path in made.cohorts for word in ("--bfile", path, "--covar", path.with_suffix(".cov"))]
    out, theirs = tmp_path / "ours", tmp_path / "theirs"
    said = rehearse("--test", test, *files, "--files", "assoc,adjusted,glm,ssf", "--allow-no-sex",
                    *build, "--out", out).stdout  # fmt: skip
    data, text = Path(f"{out}.tsv.gz"), Path(f"{out}.tsv.gz-meta.yaml").read_text()
    verdict = gwas_ssf(data)
    assert "Validation status: True" in verdict, verdict
    assert "All chromosomes, including X, Y, and MT, exist." in verdict
    p_value = "neg_log_10_p_value" if test == "linear" else "p_value"
    assert gzip.decompress(data.read_bytes()).decode().splitlines()[0].split("\t")[4:8:3] == [effect, p_value]

    about = yaml.safe_load(text)
    assert about["genome_assembly"] == (build[-1] if build else "NR")
    assert about["data_file_name"] == data.name
    assert about["data_file_md5sum"] == hashlib.md5(data.read_bytes(), usedforsecurity=False).hexdigest()
    log = plink("--bfile", made.pooled, "--covar", f"{made.pooled}.cov", f"--{test}", "--adjust",
                "--allow-no-sex", "--out", theirs)  # fmt: skip
    summary = json.loads(Path(f"{out}.report.json").read_text())["summary"]
    assert inflation(said) == f"{float(inflation(log)):.3f}"
    people = about["samples"][0]
    classes = (people.get("case_count"), people.get("control_count"))
    assert (people["sample_size"], *classes) == tuple(
        summary[name] for name in ("people", "cases", "controls")
    )

    if test == "linear":
        two = glm(made.pooled, Path(f"{made.pooled}.cov"), tmp_path / "two")
        _tiny_p_is_printed_as_by_plink(made.planted[0], out, theirs, two)
        _, *lines = (line.split("\t") for line in gzip.decompress(data.read_bytes()).decode().splitlines())
        p = np.array([line[7] for line in lines], float)
        assert np.isfinite(p).all() and p.max() > 300


def _tiny_p_is_printed_as_by_plink(planted: str, ours: Path, theirs: Path, glm_of_plink2: Path) -> None:
    """Compare the line of the variant whose P is below 1e-300: each report's byte by byte; plink2's only in
    P.
    """
    for suffix in ("assoc.linear", "assoc.linear.adjusted"):
        found = [_lines_about(planted, Path(f"{prefix}.{suffix}")) for prefix in (ours, theirs)]
        assert found[0] == found[1]
        assert found[0]
    p = [
        next(row["P"] for row in rows(path) if row["ID"] == planted and row["TEST"] == "ADD")
        for path in (next(ours.parent.glob(f"{ours.name}.*.glm.linear")), glm_of_plink2)
    ]
    assert p[0] == p[1]
    assert int(p[0].partition("e-")[2]) > 300


def _lines_about(variant: str, report: Path) -> list[str]:
    return [line for line in report.read_text().splitlines() if line.split()[1] == variant]
