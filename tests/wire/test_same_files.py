"""Rehearsals over HTTP: server, compensator and clients give, in every byte, what one process gives."""

from __future__ import annotations

import functools
import json
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unpooled.plan.common_options import COHORTS, COMPENSATOR, COVARIATES
from unpooled.plan.plan import Plan
from unpooled.simulate import simulate

from .. import in_process
from ..conftest import Rehearse, rehearsal_by
from ..oracles.dosages import pfiles, write_pgen
from ..oracles.test_model_floors import wards
from ..plinks import bfiles

FLOORS = ("--min-samples", 20, "--min-per-class", 1)
SERVERS = ("manifest.json", "report.html", "report.json")
"""Files that only a server can fill: traffic, the roster, and what is drawn of kept columns."""
DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
Words = list[object]
Rehearsed = tuple[subprocess.CompletedProcess[str], dict[str, bytes]]


def calls(folder: Path) -> Words:
    """Everything that is odd in real files, on all chromosomes."""
    made = simulate(folder, cohorts=(70, 90, 110), variants=600, oddities=True, sex_chromosomes=True,
                    nonfounder_rate=0.1, seed=7)  # fmt: skip
    return [*bfiles(made.cohorts), "--adjust", "--mind", 0.2, "--ring", 64, "--chunk-size", 77]


def linear(folder: Path, cohorts: Sequence[int] = (90, 50, 60, 40)) -> Words:
    made = simulate(folder, cohorts=cohorts, variants=300, covariates=2, trait="quantitative",
                    missing_rate=(0.3, 0.02), seed=3)  # fmt: skip
    covar = [word for prefix in made.cohorts for word in ("--covar", prefix.with_suffix(".cov"))]
    lines = made.cohorts[0].with_suffix(".bim").read_text().splitlines()
    calls_of = np.fromfile(made.cohorts[0].with_suffix(".bed"), np.uint8)[3:].reshape(len(lines), -1)
    common = np.abs(np.unpackbits(calls_of, axis=1).mean(axis=1) - 0.5).argmin()
    condition = lines[int(common)].split()[1]
    return ["--test", "linear", *bfiles(made.cohorts), *covar, "--condition", condition,
            "--files", "assoc,glm,ssf,meta"]  # fmt: skip


def dosages(folder: Path) -> Words:
    random, parts = np.random.default_rng(2), [folder / f"part{k}" for k in range(3)]
    for k, part in enumerate(parts):
        copies = np.clip(random.binomial(2, 0.3, (60, 50)) + random.normal(0, 0.1, (60, 50)), 0, 2)
        people = [f"p{k}-{n}\t{1 + n % 2}\t{1 + int(random.random() < 0.3)}" for n in range(50)]
        variants = [f"1\t{100 + n}\tv{n}\tA\tC" for n in range(60)]
        write_pgen(part, variants, copies, ["#IID\tSEX\tPHENO1", *people])
    return ["--test", "logistic", "--dosages", *pfiles(parts), "--files", "glm"]


def phenotypes(folder: Path, cohorts: Sequence[int] = (60, 70, 80)) -> Words:
    """Two, one of which some people lack."""
    made = simulate(folder, cohorts=cohorts, variants=200, seed=4)
    random, lines = np.random.default_rng(1), ["FID IID first second"]
    for prefix in made.cohorts:
        for n, line in enumerate(prefix.with_suffix(".fam").open()):
            second = "NA" if n % 3 == 0 else f"{random.normal():.4f}"
            lines.append(" ".join([*line.split()[:2], f"{random.normal():.4f}", second]))
    (table := folder / "phenotypes").write_text("\n".join(lines) + "\n")
    return ["--test", "linear", *bfiles(made.cohorts), "--pheno", table, "--pheno-name", "first,second"]


def scores(folder: Path) -> Words:
    """Normal scores, which each cohort keeps of each phenotype."""
    return [*phenotypes(folder, (130, 140, 150)), "--rint", "--few-studies", "--files", "assoc,glm,meta"]


def by_list(folder: Path) -> Words:
    """A coordinator's list with variants that a cohort lacks; and a score, of which some are left out."""
    made = simulate(folder, cohorts=(150, 150, 150), variants=300, effects=(0.8, 0.8, -0.8),
                    trait="quantitative", seed=3)  # fmt: skip
    (left := folder / "left").write_text("\n".join(f"rs{k}" for k in range(20)))
    (none := folder / "none").write_text("nothing")
    lists = [word for path in (none, left, none) for word in ("--exclude", path)]
    return ["--fit", "polygenic", *bfiles(made.cohorts), *lists, "--panel-list", folder / "pooled.bim"]


def tables_of(folder: Path) -> list[Path]:
    random = np.random.default_rng(6)
    for k in range(3):
        rows = zip(random.normal(size=60), random.choice(["a", "b", "c"], 60), random.lognormal(size=60),
                   strict=True)  # fmt: skip
        text = "".join(f"{x:.5f},{word},{y:.5f}\n" for x, word, y in rows)
        (folder / f"table{k}.csv").write_text(f"weight,ward,days\n{text}")
    (folder / "schema.csv").write_text(
        "name,type,encoding,values\nweight,number\nward,category,target:days,a|b|c\ndays,number\n"
    )
    return [folder / f"table{k}.csv" for k in range(3)]


def table(folder: Path) -> Words:
    return ["--encode", "--schema", folder / "schema.csv", *as_tables(folder)]


def sums(folder: Path) -> Words:
    """Sums that are read, and so need no compensator."""
    (folder / "numbers.csv").write_text("name,type\nweight,number\nward,text\ndays,number\n")
    return ["--normalize", "z-score", *as_tables(folder), "--schema", folder / "numbers.csv"]


def bits(folder: Path) -> Words:
    """Comparisons under masks, of which only bits are opened."""
    words = as_tables(folder)
    (folder / "numbers.csv").write_text("name,type\nweight,number\nward,text\ndays,number\n")
    return ["--normalize", "robust", "--schema", folder / "numbers.csv", "--opens", "bits", *words]


def as_tables(folder: Path) -> Words:
    return [word for path in tables_of(folder) for word in ("--table", path)]


STUDIES: dict[str, Callable[[Path], Words]] = {
    "calls": calls,
    "seven cohorts": functools.partial(linear, cohorts=(90, 30, 50, 40, 60, 45, 35)),
    "dosages": dosages,
    "several phenotypes": phenotypes,
    "normal scores of several phenotypes": scores,
    "by a list": by_list,
    "table": table,
    "sums": sums,
    "bits": bits,
    "model": lambda folder: ["--fit", "logistic", *wards(folder, troponin="ignored")[1][:-2]],
}
"""The model is of joined folds."""
COMPARED = ("table", "bits", "model", "normal scores of several phenotypes")
"""These need a compensator: they compare how many have a word, a score or a phenotype."""
ONE_OF_EACH_KIND = ("calls", "sums")


def both(rehearse_over_http: Rehearse, words: Words, folder: Path) -> tuple[Rehearsed, Rehearsed]:
    """Return what both ways say and write, by names; one after the other, for some files lie next to the
    data.
    """
    found, study = [], rehearse_over_http
    for name in ("http", "process"):
        (out := folder / name / "study").parent.mkdir()
        done = study(*words, "--out", out)
        paths = [Path(line) for line in done.stdout.splitlines() if Path(line).is_file()]
        found.append((done, {path.name: path.read_bytes() for path in paths}))
        plan = json.loads((folder / "http" / "study.manifest.json").read_text())["plan"]
        key = bytes.fromhex(plan["compensator_key"])
        study = rehearsal_by(functools.partial(in_process.rehearse, key=key))
    return found[0], found[1]


def report(files: dict[str, bytes]) -> dict[str, Any]:
    return dict(json.loads(files["study.report.json"]))


def told(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Return what is said of the results, without the names of files."""
    return [line for line in done.stdout.splitlines() if not Path(line).is_file()]


def dated(file: bytes, name: str) -> bytes:
    """A text without the day of the run."""
    return DATE.sub("", file.decode()).encode() if name.endswith((".txt", ".yaml")) else file


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each study; without a compensator one of each kind, and all that can be by `make wire`."""
    if "trust" not in metafunc.fixturenames:
        return
    wanted = STUDIES if metafunc.config.getoption("--wire") else ONE_OF_EACH_KIND
    in_pairs = [(name, COHORTS) for name in STUDIES if name in wanted and name not in COMPARED]
    metafunc.parametrize(("name", "trust"), [*((name, COMPENSATOR) for name in STUDIES), *in_pairs])


def test_every_file_is_the_same(name: str, trust: str, rehearse_over_http: Rehearse, tmp_path: Path) -> None:
    floors = FLOORS if name not in ("table", "sums", "bits", "model") else FLOORS[:2]
    words = [*STUDIES[name](tmp_path), *floors, "--trust", trust]
    (http, theirs), (process, ours) = both(rehearse_over_http, words, tmp_path)
    assert told(http) == told(process)
    assert {file for file in theirs if not file.endswith(SERVERS[:2])} == set(ours)
    for file in ours.keys() - {"study.report.json"}:
        assert dated(theirs[file], file) == dated(ours[file], file), file
    for fact, value in report(ours).items():
        assert report(theirs)[fact] == value or fact == "study", fact
    summary = json.loads(theirs["study.manifest.json"])["summary"]
    several = [{"phenotype": phenotype, **each} for phenotype, each in (summary or {}).items()] if (
        "several" in name
    ) else [{"phenotype": "phenotype", **summary}] if summary else []  # fmt: skip
    assert report(ours)["summaries"] == several


def test_gaussian_masks_come_near(rehearse_over_http: Rehearse, tmp_path: Path) -> None:
    """Counts are the same whatever the masks; estimates differ by what the masks add, and are rounded."""
    words = [*linear(tmp_path)[:-1], "assoc,glm", "--masking", "gaussian", *FLOORS]
    (_, theirs), (_, ours) = both(rehearse_over_http, words, tmp_path)
    for file in ("study.assoc.linear", "study.phenotype.glm.linear"):
        lines = [files[file].decode().splitlines() for files in (theirs, ours)]
        for one, other in zip(*lines, strict=True):
            for a, b in zip(one.split(), other.split(), strict=True):
                assert a == b or float(a) == pytest.approx(float(b), rel=2e-3, abs=2e-4), (one, other)


def wrong_sex(folder: Path) -> Words:
    words = calls(folder)
    fam = folder / "cohort2.fam"
    fam.write_text(fam.read_text().replace(" 1 ", " x ", 1).replace("\t1\t", "\tx\t", 1))
    (folder / "cohort2.bed").write_bytes(b"no genotypes")
    return words


def other_names(folder: Path) -> Words:
    made = simulate(folder, cohorts=(60, 60, 60), variants=300, seed=8)
    for k, prefix in enumerate(made.cohorts):
        bim = prefix.with_suffix(".bim")
        bim.write_text(re.sub(r"\brs", f"affx{k}-", bim.read_text()))
    return bfiles(made.cohorts)


def constant(folder: Path) -> Words:
    """Found in the pool, so the study fails."""
    words = linear(folder)
    for path in folder.glob("*.cov"):
        head, *rows = path.read_text().splitlines()
        path.write_text("\n".join([f"{head} C", *(f"{row} 7" for row in rows)]) + "\n")
    return words


def no_such_column(folder: Path) -> Words:
    return [*linear(folder), "--covar-name", "WEIGHT"]


@pytest.mark.parametrize("wrong", [wrong_sex, other_names, constant, no_such_column])
def test_of_wrong_files_the_same_is_said(
    wrong: Callable[[Path], Words], rehearse_over_http: Rehearse, tmp_path: Path
) -> None:
    """The command ends with the same status, too, and leaves no result."""
    words = [*wrong(tmp_path), *FLOORS]
    said = []
    for name, study in (("http", rehearse_over_http), ("process", rehearsal_by(in_process.rehearse))):
        done = study(*words, "--out", tmp_path / name, check=False)
        assert done.returncode and not list(tmp_path.glob(f"{name}.*"))
        *_, reason = re.split(r"Error: |the study is failed: ", " ".join(done.stderr.split()))
        said.append((done.returncode, reason))
    (status, over_http), (other, in_one) = said
    # Where a client hears of it first, it says more than the command does.
    assert status == other and in_one in over_http, said


def test_results_reach_every_cohort_and_little_leaves_it(rehearse_alone: Rehearse, tmp_path: Path) -> None:
    """The study runs as a person starts it. By the mean rule nothing is sent about who lacks a call of a
    variant.
    """
    variants = 2_000
    made = simulate(tmp_path, cohorts=(80, 70, 60), variants=variants, covariates=3, trait="quantitative",
                    missing_rate=(0.3, 0.05), seed=3)  # fmt: skip
    covar = [word for prefix in made.cohorts for word in ("--covar", prefix.with_suffix(".cov"))]
    home, out = tmp_path / "home", tmp_path / "study"
    rehearse_alone("--test", "linear", "--missing", "mean", *bfiles(made.cohorts), *covar, *FLOORS,
                   "--files", "assoc,ssf", "--keep-home", home, "--out", out)  # fmt: skip
    for file in ("assoc.linear", "tsv.gz-meta.yaml"):
        delivered = [path.read_bytes() for path in home.rglob(f"results/study.{file}")]
        assert delivered == [Path(f"{out}.{file}").read_bytes()] * 3
    lines = [line.split() for line in Path(f"{out}.assoc.linear").read_text().splitlines()]
    column = lines[0].index("NMISS")
    assert len({line[column] for line in lines[1:] if line[0] == "1"}) == 1
    ledger = map(json.loads, next(home.rglob("ledger.jsonl")).read_text().splitlines())
    sent = [entry["bytes"] // 8 for entry in ledger if "Sum genotypes" in json.dumps(entry)]
    columns = 1 + len(COVARIATES.of(Plan.from_json(json.loads(manifest(out))["plan"])))
    assert 0 < sum(sent) < 1.025 * variants * 2 * (columns + 1)  # no products of covariates per variant


def manifest(out: Path) -> str:
    return Path(f"{out}.manifest.json").read_text()
