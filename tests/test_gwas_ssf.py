"""GWAS-SSF files of rehearsed regressions, by the GWAS Catalog's own validator."""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from unpooled.simulate import simulate

from .conftest import inflation

Rehearse = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.parametrize(
    ("test", "trait", "effect"),
    [("linear", "quantitative", "beta"), ("logistic", "case/control", "odds_ratio")],
)
def test_the_catalogs_validator_takes_the_file(
    test: str,
    trait: str,
    effect: str,
    gwas_ssf: Callable[[Path], str],
    plink: Callable[..., str],
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
        effects=[6.0] if test == "linear" else [2.0],
        sex_chromosomes=True,
        oddities=True,
    )
    assert made.pooled
    files = [word for path in made.cohorts for word in ("--bfile", path, "--covar", path.with_suffix(".cov"))]
    home, out = tmp_path / "home", tmp_path / "ours"
    said = rehearse("--test", test, *files, "--files", "assoc,ssf", "--keep-home", home, "--out", out).stdout
    data, text = Path(f"{out}.tsv.gz"), Path(f"{out}.tsv.gz-meta.yaml").read_text()
    verdict = gwas_ssf(data)
    assert "Validation status: True" in verdict, verdict
    assert "All chromosomes, including X, Y, and MT, exist." in verdict
    p_value = "neg_log_10_p_value" if test == "linear" else "p_value"
    assert gzip.decompress(data.read_bytes()).decode().splitlines()[0].split("\t")[4:8:3] == [effect, p_value]

    about = yaml.safe_load(text)
    assert about["data_file_name"] == data.name
    assert about["data_file_md5sum"] == hashlib.md5(data.read_bytes(), usedforsecurity=False).hexdigest()
    log = plink(
        "--bfile", made.pooled, "--covar", f"{made.pooled}.cov", f"--{test}", "--adjust", "--out", out
    )
    summary = json.loads(Path(f"{out}.report.json").read_text())["summary"]
    assert summary == json.loads(Path(f"{out}.manifest.json").read_text())["summary"]
    assert inflation(said) == inflation(log)
    people = about["samples"][0]
    classes = (people.get("case_count"), people.get("control_count"))
    assert (people["sample_size"], *classes) == tuple(
        summary[name] for name in ("people", "cases", "controls")
    )

    delivered = sorted(home.rglob("results/study.tsv.gz-meta.yaml"))
    assert len(delivered) == 3
    assert {path.read_text() for path in delivered} == {text.replace(data.name, "study.tsv.gz")}
