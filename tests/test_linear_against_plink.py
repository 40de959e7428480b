"""Rehearsed linear regressions against plink1.9 --linear on the pooled data, line by line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from unpooled.simulate import simulate

from .conftest import Rehearse, inflation
from .reports import GLM, Plink, agreement, bfiles, glm, rows

SHARES = {3: (5, 3, 2), 7: (9, 2, 5, 1, 4, 3, 2)}
FLOORS = ("--min-samples", 20)
FILTERS = ("--covar-name", "AGE,PC1-PC2", "--nonfounders",
           "--maf", "0.05", "--geno", "0.04", "--hwe", "0.001", "--mind", "0.016")  # fmt: skip


def same(ours: Path, plinks: Path, least: float = 0.999, *, in_order: bool = True) -> None:
    """At least this share of lines byte-identical, the others off by one in the last digit."""
    lines = [path.read_bytes().splitlines() for path in (ours, plinks)]
    if not in_order:
        lines = [sorted(some) for some in lines]
    pairs = list(zip(*lines, strict=True))
    different = [pair for pair in pairs if pair[0] != pair[1]]
    far = [pair for pair in different if not _off_by_one(*pair)]
    assert not far, f"{len(far)} of {len(pairs)}; ours, then PLINK's:\n" + b"\n".join(far[0]).decode()
    assert len(different) <= (1 - least) * len(pairs), different[:5]


def _off_by_one(a: bytes, b: bytes) -> bool:
    words = zip(a.split(), b.split(), strict=True)
    return len(a) == len(b) and all(x == y or _neighbours(x, y) for x, y in words)


def _neighbours(a: bytes, b: bytes) -> bool:
    try:
        x, y = float(a), float(b)
    except ValueError:
        return False
    return abs(x - y) <= 1.001 * 10.0 ** (np.floor(np.log10(max(abs(x), abs(y)))) - 3)


@pytest.mark.parametrize("cohorts", SHARES)
def test_mice_in_uneven_cohorts_give_the_pooled_file(
    cohorts: int,
    mouse: Path,
    mouse_tables: dict[str, Path],
    split: Callable[..., list[Path]],
    plink: Plink,
    rehearse: Rehearse,
    tmp_path: Path,
) -> None:
    parts = split(mouse, SHARES[cohorts], tmp_path, "--chr-set", "19")
    common = ["--chr-set", 19, "--allow-no-sex", "--pheno", mouse_tables["pheno"], "--pheno-name", "second"]
    pooled, ours = tmp_path / "pooled", tmp_path / "ours"
    log = plink("--bfile", mouse, *common, "--linear", "--covar", mouse_tables["dummies"], "--adjust",
                "--out", pooled)  # fmt: skip
    said = rehearse("--test", "linear", *bfiles(parts), *common, *FLOORS, "--covar", mouse_tables["covar"],
                    "--categorical", "diet=chow,fat,sugar", "--adjust", "--out", ours).stdout  # fmt: skip
    assert inflation(said) == f"{float(inflation(log)):.3f}" != "1.000"
    same(Path(f"{ours}.assoc.linear"), Path(f"{pooled}.assoc.linear"))
    # By P: variants whose P is the same but for rounding stand in any order.
    adjusted = "assoc.linear.adjusted"
    same(Path(f"{ours}.{adjusted}"), Path(f"{pooled}.{adjusted}"), in_order=False)
    report = json.loads(Path(f"{ours}.report.json").read_text())
    assert (report["cohorts"], report["test"]) == (cohorts, "linear")


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Generated cohorts with four covariates, missing calls and phenotypes, on every kind of chromosome."""
    folder = tmp_path_factory.mktemp("people")
    simulate(
        folder,
        cohorts=[300, 200, 150],
        variants=8_000,
        seed=3,
        trait="quantitative",
        covariates=4,
        effects=[0.4],
        missing_rate=(0.3, 0.05),
        missing_phenotype_rate=0.03,
        nonfounder_rate=0.1,
        sex_chromosomes=True,
    )
    return folder


LIMITS = ("--ci", "0.95", "--chunk-size", "777", "--files", "assoc,glm")


@pytest.mark.parametrize(
    ("ours", "plinks"),
    [
        (LIMITS, ("--linear", "--ci", "0.95")),
        (
            ("--ring", "64", "--hide-covar", "--files", "assoc,frq,lmiss,hwe", *FILTERS),
            ("--linear", "hide-covar", "--freq", "--missing", "--hardy", *FILTERS),
        ),
    ],
    ids=["limits", "filters"],
)
def test_generated_cohorts_give_the_pooled_file(
    ours: tuple[str, ...],
    plinks: tuple[str, ...],
    people: Path,
    plink: Plink,
    plink2: Plink,
    rehearse: Rehearse,
    tmp_path: Path,
) -> None:
    parts = [people / f"cohort{number}" for number in (1, 2, 3)]
    covar = [word for part in parts for word in ("--covar", part.with_suffix(".cov"))]
    out, pooled = tmp_path / "ours", tmp_path / "pooled"
    plink("--bfile", people / "pooled", "--covar", people / "pooled.cov", *plinks, "--out", pooled)
    rehearse("--test", "linear", *bfiles(parts), *covar, *ours, *FLOORS, "--out", out)
    same(Path(f"{out}.assoc.linear"), Path(f"{pooled}.assoc.linear"))
    for file in ("frq", "lmiss", "hwe") if "--freq" in plinks else ():
        assert Path(f"{out}.{file}").read_bytes() == Path(f"{pooled}.{file}").read_bytes(), file
    if ours == LIMITS:
        table, flags = people / "pooled.cov", ("--ci", 0.95)
        report = glm(plink, plink2, people / "pooled", table, tmp_path / "plink2", *flags)
        bounds = {"SE": (1e-3, 0.0), "T_STAT": (0.0, 1e-3), "P": (1e-3, 0.0)}
        found = agreement(
            Path(f"{out}.phenotype.glm.linear"), report, GLM, bounds, digits=6, tests=("ADD", "SEX")
        )
        assert found.numbers > 8_000
        assert not found.far and not found.ours_alone and not found.theirs_alone


def test_covariates_that_are_hard_on_any_arithmetic(
    people: Path, plink: Plink, rehearse: Rehearse, tmp_path: Path
) -> None:
    """HUGE has deviations of 1e9; NEAR nearly follows AGE, with a variance inflation of some 15."""
    random, covar, pooled = np.random.default_rng(8), [], ["FID IID AGE HUGE NEAR\n"]
    for number in (1, 2, 3):
        header, *people_of = (people / f"cohort{number}.cov").read_text().splitlines()
        assert header.split()[2] == "AGE"
        for fid, iid, age, *_ in map(str.split, people_of):
            huge, near = random.normal(3e8, 1e9), float(age) + random.normal(scale=2.5)
            pooled.append(f"{fid} {iid} {age} {huge:.10g} {near:.6f}\n")
        table = tmp_path / f"cohort{number}.cov"
        table.write_text("".join([pooled[0], *pooled[-len(people_of) :]]))
        covar += ["--covar", table]
    (tmp_path / "pooled.cov").write_text("".join(pooled))
    ours, plinks = tmp_path / "ours", tmp_path / "plink"
    plink("--bfile", people / "pooled", "--covar", tmp_path / "pooled.cov", "--linear", "--out", plinks)
    parts = [people / f"cohort{number}" for number in (1, 2, 3)]
    rehearse("--test", "linear", *bfiles(parts), *covar, *FLOORS, "--files", "assoc", "--out", ours)
    report = Path(f"{ours}.assoc.linear")
    shown = [row["P"] for row in rows(report)]
    assert shown.count("NA") < 0.1 * len(shown)
    same(report, Path(f"{plinks}.assoc.linear"))


def test_the_mean_rule_keeps_single_people_apart(
    people: Path, rehearse_alone: Rehearse, tmp_path: Path
) -> None:
    """Nothing is sent about who lacks a call; every person with complete data is in every regression."""
    parts = [people / f"cohort{number}" for number in (1, 2, 3)]
    covar = [word for part in parts for word in ("--covar", part.with_suffix(".cov"))]
    home = tmp_path / "home"
    rehearse_alone("--test", "linear", "--missing", "mean", *bfiles(parts), *covar, *FLOORS,
             "--keep-home", home, "--out", tmp_path / "mean")  # fmt: skip
    lines = [line.split() for line in (tmp_path / "mean.assoc.linear").read_text().splitlines()]
    column = lines[0].index("NMISS")
    autosomal = [line[column] for line in lines[1:] if line[0] == "1"]
    assert len(set(autosomal)) == 1
    ledger = next(home.rglob("ledger.jsonl")).read_text()
    sent = [json.loads(line) for line in ledger.splitlines() if "Sum genotypes" in line]
    columns, words = 5, 0
    for line in sent:
        words += line["bytes"] // 8
    assert sent
    assert words < 8_200 * 2 * columns  # no products of covariates per variant


def test_a_covariate_that_tells_cohorts_apart_is_refused_unless_the_plan_allows_it(
    people: Path, rehearse: Rehearse, tmp_path: Path
) -> None:
    parts, table = [people / f"cohort{number}" for number in (1, 2, 3)], tmp_path / "sites"
    lines = ["FID IID site"]
    for site, part in zip("abc", parts, strict=True):
        lines += [" ".join([*line.split()[:2], site]) for line in part.with_suffix(".fam").open()]
    table.write_text("\n".join(lines) + "\n")
    words = ["--test", "linear", *bfiles(parts), "--covar", table, "--categorical", "site=a,b,c", "--chr", 22,
             "--out", tmp_path / "study"]  # fmt: skip
    refused = rehearse(*words, check=False)
    assert refused.returncode != 0 and not (tmp_path / "study.assoc.linear").exists()
    assert "fewer than 3 cohorts have at least 10 people each with the level a of the covariate site" in (
        " ".join(refused.stderr.split())
    )
    rehearse(*words, "--cohort-sums")
    assert (tmp_path / "study.assoc.linear").exists()


def test_a_level_of_nine_people_is_refused(people: Path, rehearse: Rehearse, tmp_path: Path) -> None:
    parts = [people / f"cohort{number}" for number in (1, 2, 3)]
    rows = [line.split()[:2] for part in parts for line in part.with_suffix(".fam").read_text().splitlines()]
    table = tmp_path / "sites"
    sites = ["north" if k % 50 == 0 and k < 450 else "south" for k in range(len(rows))]
    lines = [" ".join([*row, site]) + "\n" for row, site in zip(rows, sites, strict=True)]
    table.write_text("FID IID site\n" + "".join(lines))
    done = rehearse("--test", "linear", *bfiles(parts), "--covar", table, "--categorical", "site=south,north",
                    "--out", tmp_path / "refused", check=False)  # fmt: skip
    assert done.returncode != 0
    assert "fewer than 10 people in the pool have the level north of the covariate site" in done.stderr
    assert not list(tmp_path.glob("refused*"))
