"""Fixtures of whole-run tests: the real programs, real genotypes, and rehearsals as a person starts them."""

from __future__ import annotations

import contextlib
import gzip
import importlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from click.testing import CliRunner

from unpooled.simulate import simulate
from unpooled_webapp.cli import main as unpooled
from unpooled_webapp.rehearsal import Rehearsal, Settings
from unpooled_webapp.rehearsal.federation import platform, run_study
from unpooled_webapp.rehearsal.screen import Screen

from . import in_process, plinks
from .federation import SMALL_CHUNK, Federation, Trial, federation
from .plinks import needed as needed
from .services import fresh_stores

Rehearse = Callable[..., subprocess.CompletedProcess[str]]
DOCS = Path(__file__).parents[1] / "docs"
MOUSE = Path("/usr/share/doc/gemma/example")
MICE = ("--chr-set", 19, "--allow-no-sex")
"""Options that PLINK needs for these mice."""
EVERY = 12
"""Every so many-th of their variants is taken where a study is to be short."""


def inflation(said: str) -> str:
    """Return the genomic inflation that a program printed."""
    return re.findall(r"Genomic inflation est\. lambda \(based on median chisq\) = (.*)\.\n", said)[0]


@pytest.fixture(scope="session")
def mouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Prefix of real genotypes: 1,940 mice, 12,226 variants, a dichotomised phenotype with missing values.

    Nobody in the .fam is a founder; some markers have no place.
    """
    needed((MOUSE / "mouse_hs1940.bed.gz").exists(), "mouse_hs1940", "gemma-doc")
    prefix = tmp_path_factory.mktemp("mouse") / "mouse"
    bed, bim, fam = (
        gzip.decompress((MOUSE / f"mouse_hs1940.{s}.gz").read_bytes()) for s in ("bed", "bim", "fam")
    )
    variants = [line.split() for line in bim.decode().splitlines()]
    # In the order in which PLINK's merge, and a study, leave variants.
    order = sorted(
        range(len(variants)), key=lambda k: (int(variants[k][0]), int(variants[k][3]), variants[k][1])
    )
    calls = np.frombuffer(bed, np.uint8)[3:].reshape(len(variants), -1)
    prefix.with_suffix(".bed").write_bytes(bed[:3] + calls[order].tobytes())
    prefix.with_suffix(".bim").write_text("".join("\t".join(variants[k]) + "\n" for k in order))
    people = [line.split() for line in fam.decode().splitlines()]
    values = np.array([float(row[5]) if row[5] != "NA" else np.nan for row in people])
    coded = np.where(np.isnan(values), "-9", np.where(values > np.nanmedian(values), "2", "1"))
    lines = [" ".join([*row[:5], code, *row[6:]]) for row, code in zip(people, coded, strict=True)]
    prefix.with_suffix(".fam").write_text("".join(f"{line}\n" for line in lines))
    return prefix


@pytest.fixture(scope="session")
def founders(mouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The mice, all of them founders, and no variant on an unplaced piece: real linkage, no missing call."""
    prefix = tmp_path_factory.mktemp("founders") / "mouse"
    plinks.plink("--bfile", mouse, *MICE, "--make-founders", "--make-bed", "--out", prefix)
    return prefix


@pytest.fixture(scope="session")
def few(mouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some of the real variants of all mice, so that the study is short."""
    folder = tmp_path_factory.mktemp("few")
    names = [line.split()[1] for line in mouse.with_suffix(".bim").read_text().splitlines()]
    (listed := folder / "some.txt").write_text("\n".join(names[::EVERY]) + "\n")
    plinks.plink("--bfile", mouse, *MICE, "--extract", listed, "--make-bed", "--out", folder / "few")
    _forget(folder / "few", 240)
    return folder / "few"


def _forget(prefix: Path, variant: int) -> None:
    """Make some calls of a variant missing ones: there are none of mice."""
    data = bytearray(prefix.with_suffix(".bed").read_bytes())
    people = len(prefix.with_suffix(".fam").read_text().splitlines())
    row = 3 + variant * -(-people // 4)
    data[row + 10 : row + 30] = bytes([0b01010101]) * 20
    prefix.with_suffix(".bed").write_bytes(data)


@pytest.fixture(scope="session")
def mouse_tables(mouse: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The mice's real phenotypes with missing values, and generated covariates, one of them categorical."""
    folder = tmp_path_factory.mktemp("tables")
    rows = [
        line.split()
        for line in gzip.decompress((MOUSE / "mouse_hs1940.fam.gz").read_bytes()).decode().splitlines()
    ]
    random = np.random.default_rng(11)
    diets = ("chow", "fat", "sugar")
    pheno = ["FID IID first second\n"]
    covar, dummies = ["FID IID weight season diet\n"], ["FID IID weight season diet=fat diet=sugar\n"]
    for row in rows:
        weight, season, diet = (
            f"{random.normal(20, 3):.4f}",
            str(random.integers(4)),
            diets[random.integers(3)],
        )
        weight, diet = ("NA" if random.random() < 0.02 else word for word in (weight, diet))
        pheno.append(" ".join([*row[:2], row[5], row[6]]) + "\n")
        covar.append(" ".join([*row[:2], weight, season, diet]) + "\n")
        dummy = ("NA", "NA") if diet == "NA" else (str(int(diet == level)) for level in diets[1:])
        dummies.append(" ".join([*row[:2], weight, season, *dummy]) + "\n")
    paths = {}
    for name, lines in (("pheno", pheno), ("covar", covar), ("dummies", dummies)):
        paths[name] = folder / f"mouse.{name}"
        paths[name].write_text("".join(lines))
    return paths


@pytest.fixture(scope="session")
def rehearse_alone() -> Rehearse:
    """`unpooled rehearse` as a person starts it; with --services on a database and a broker of its own."""

    def call(*arguments: object, check: bool = True) -> subprocess.CompletedProcess[str]:
        stores = fresh_stores()
        environment = {name: value for name, value in os.environ.items() if not name.startswith("UNPOOLED_")}
        environment |= {"UNPOOLED_DATABASE_URL": stores.database, "UNPOOLED_BROKER_URL": stores.broker}
        command = [sys.executable, "-m", "unpooled_webapp", "rehearse", *map(str, arguments)]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=600, env=environment
        )
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done

    return call


@pytest.fixture(scope="session")
def rehearse(request: pytest.FixtureRequest) -> Rehearse:
    """`unpooled rehearse` with all parties in this process; over HTTP with --wire."""
    if request.config.getoption("--wire"):
        over_http: Rehearse = request.getfixturevalue("rehearse_over_http")
        return over_http
    return rehearsal_by(in_process.rehearse)


@pytest.fixture(scope="session")
def rehearse_over_http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearse]:
    """The command over HTTP, on one platform for all: starting it takes longer than a study."""
    stores, home = fresh_stores(), tmp_path_factory.mktemp("rehearsals")
    with contextlib.ExitStack() as stack:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("UNPOOLED_DATABASE_URL", stores.database)
            patch.setenv("UNPOOLED_BROKER_URL", stores.broker)
            running = stack.enter_context(platform(home, Screen(quiet=True), {"test": "none"}))

        def study(settings: Settings, screen: Screen) -> Rehearsal:
            try:
                return run_study(running, settings, screen)
            finally:
                shutil.rmtree(home / "cohorts", ignore_errors=True)

        yield rehearsal_by(study)


def rehearsal_by(study: Callable[[Settings, Screen], Rehearsal]) -> Rehearse:
    """The command itself, but for the study, which this runs."""

    def call(*arguments: object, check: bool = True) -> subprocess.CompletedProcess[str]:
        assert "--keep-home" not in arguments, "it is of all studies; use rehearse_alone"
        words = ["rehearse", *map(str, arguments)]
        done = CliRunner(catch_exceptions=False).invoke(unpooled, words, obj=study)
        assert not check or done.exit_code == 0, done.output
        return subprocess.CompletedProcess(words, done.exit_code, done.stdout, done.stderr)

    return call


VALIDATOR = ("gwas-sumstats-tools~=1.0", "numpy<2", "six", "click<8.2")  # as it needs them, and not our own


@pytest.fixture(scope="session")
def gwas_ssf() -> Callable[[Path], str]:
    """The GWAS Catalog's validator of GWAS-SSF files, with the metadata beside them; gives what it said."""
    folder = Path(__file__).parents[1] / ".cache" / "gwas-ssf"
    program, python = folder / "bin" / "gwas-ssf", folder / "bin" / "python"
    if not program.exists():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--clear", folder], check=True)
        pip = [sys.executable, "-m", "pip", "--python", python, "install", "-q", *VALIDATOR]
        subprocess.run(pip, check=False)  # the program is there once all of it is
    needed(
        program.exists(),
        "the GWAS Catalog's validator",
        " ".join(VALIDATOR),
        f"pip --python {python} install",
    )

    def validate(file: Path) -> str:
        command = [program, "validate", "--min-rows", "1", "--infer-from-metadata", file]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    return validate


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    """A federation of separate processes for all whole-run tests; leave it as it was."""
    with federation(tmp_path_factory.mktemp("shared") / "federation", fresh_stores()) as made:
        yield made


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    """Prefixes of three small cohorts with everything that is odd in real files."""
    folder = tmp_path_factory.mktemp("small")
    return simulate(folder, cohorts=(70, 90, 110), variants=600, oddities=True, seed=7, pooled=False).cohorts


@pytest.fixture(scope="session")
def undisturbed(running: Federation, small: tuple[Path, ...]) -> dict[str, bytes]:
    """The result files of a study of theirs in which nothing goes wrong."""
    trial = running.study(small, chunk_size=SMALL_CHUNK)
    trial.start()
    trial.until_over()
    assert trial.state == "done", trial.story()
    results = trial.cohorts[0].results()
    assert {"study.assoc", "study.frq", "study.lmiss", "study.hwe"} < set(results)
    return results


@pytest.fixture
def trial(running: Federation, small: tuple[Path, ...]) -> Iterator[Trial]:
    """The same study, yet to be run."""
    made = running.study(small, chunk_size=SMALL_CHUNK)
    yield made
    made.stop()


def documentation_script(name: str) -> ModuleType:
    """A program of docs/ as a module."""
    if str(DOCS) not in sys.path:
        sys.path.append(str(DOCS))  # of programs there that it imports
    return importlib.import_module(name)
