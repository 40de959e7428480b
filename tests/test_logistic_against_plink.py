"""Rehearsed logistic regressions against plink1.9 --logistic on the pooled data, line by line.

PLINK 1.9 computes in single precision and prints four digits. Where it is farther from ours than rounding
explains, statsmodels says who is right.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from unpooled.simulate import simulate

from .conftest import Rehearse
from .reports import GLM, Agreement, Plink, Row, agreement, bfiles, by_statsmodels, glm, rows, unit

SHARES = {3: (5, 3, 2), 7: (9, 2, 5, 1, 4, 3, 2)}
FLOORS = ("--min-samples", 20, "--min-per-class", 5, "--one-class")
WITHOUT_FIRTH = ("--files", "assoc,glm", "--firth", "no-firth")
SAME = ("CHR", "SNP", "BP", "A1", "TEST", "NMISS")


def compare(ours: Path, plinks: Path) -> Agreement:
    """As exact as PLINK 1.9 is: odds ratio and P to 1e-3, STAT to 1e-3 absolute."""
    effect = "OR" if "OR" in next(rows(plinks)) else "BETA"
    # The logarithm of an odds ratio that is off by 1e-3 is off by that.
    bounds = {effect: (1e-3, 0.0) if effect == "OR" else (0.0, 1e-3), "STAT": (0.0, 1e-3), "P": (1e-3, 0.0)}
    return agreement(ours, plinks, SAME, bounds, digits=4)


def compare_with_plink2(ours: Path, plinks: Path) -> Agreement:
    """Codes are the same, and numbers as exact as plink2 is without missing calls."""
    bounds = {"OR": (1e-3, 0.0), "Z_STAT": (0.0, 1e-3), "P": (1e-3, 0.0)}
    return agreement(ours, plinks, GLM, bounds, digits=6, tests=("ADD", "SEX"))


def codes(report: Path) -> dict[str, str]:
    """Why a variant has no result, by its name."""
    return {row["ID"]: row["ERRCODE"] for row in rows(report)}


def variants_without_missing_calls(report: Path) -> set[str]:
    """Variants with as many people as any on their chromosome."""
    counts = [(row["#CHROM"], row["ID"], int(row["OBS_CT"])) for row in rows(report)]
    most = {
        chromosome: max(n for c, _, n in counts if c == chromosome) for chromosome in {c for c, *_ in counts}
    }
    return {name for chromosome, name, n in counts if n == most[chromosome]}


def assert_no_estimate(pairs: list[tuple[Row, Row]], reasons: dict[str, str]) -> None:
    """Where PLINK 1.9 prints a number and we do not, its iteration ran off to where nothing is known."""
    errors: dict[str, float] = {}
    for ours, plinks in pairs:
        assert reasons[ours["SNP"]].split(",")[0] in ("SEPARATION", "LOGISTIC_CONVERGE_FAIL")
        errors[ours["SNP"]] = max(errors.get(ours["SNP"], 0.0), float(plinks["SE"]))
    assert all(error > 100 for error in errors.values()), errors


def assert_ours_are_right(
    far: list[tuple[Row, Row]], truth: dict[tuple[str, str], tuple[float, float]]
) -> None:
    """Ours are what statsmodels finds, to the last digit printed."""
    for ours, plinks in far:
        name, statistic, digits = ("SNP", "STAT", 4) if "SNP" in ours else ("ID", "Z_STAT", 6)
        beta, error = truth[ours[name], ours["TEST"]]
        effect = ("OR", np.exp(beta)) if "OR" in ours else ("BETA", beta)
        for title, value in (effect, (statistic, beta / error)):
            allowed = max(0.501 * unit(ours[title], digits), 1e-8)
            assert abs(float(ours[title]) - value) <= allowed, (title, value, ours, plinks)


@pytest.mark.parametrize(
    ("cohorts", "flags", "plinks"),
    [
        (3, ("--ci", 0.95), ("--logistic", "--ci", 0.95)),
        (7, ("--beta", "--hide-covar", "--chunk-size", 3333), ("--logistic", "beta", "hide-covar")),
    ],
    ids=["3 cohorts", "7 cohorts"],
)
def test_mice_in_uneven_cohorts_agree_with_the_pooled_file(
    cohorts: int,
    flags: tuple[object, ...],
    plinks: tuple[object, ...],
    mouse: Path,
    mouse_tables: dict[str, Path],
    split: Callable[..., list[Path]],
    plink: Plink,
    plink2: Plink,
    rehearse: Rehearse,
    tmp_path: Path,
) -> None:
    """One cohort has cases only. No call is missing, so plink2 is exact, too."""
    parts = split(mouse, SHARES[cohorts], tmp_path, "--chr-set", "19", cases_only=True)
    common = ["--chr-set", 19, "--allow-no-sex"]
    pooled, ours = tmp_path / "pooled", tmp_path / "ours"
    plink("--bfile", mouse, *common, *plinks, "--covar", mouse_tables["dummies"], "--out", pooled)
    rehearse("--test", "logistic", *bfiles(parts), *common, *flags, *FLOORS, "--covar", mouse_tables["covar"],
             "--categorical", "diet=chow,fat,sugar", *WITHOUT_FIRTH, "--out", ours)  # fmt: skip
    reports = [compare(Path(f"{ours}.assoc.logistic"), Path(f"{pooled}.assoc.logistic"))]
    table, columns = mouse_tables["dummies"], ("weight", "season", "diet=fat", "diet=sugar")
    if "--ci" in flags:
        asked = ("no-firth", "--ci", 0.95)
        plinks2 = glm(plink, plink2, mouse, table, tmp_path / "plink2", *asked, chr_set=common[:2])
        reports.append(compare_with_plink2(Path(f"{ours}.phenotype.glm.logistic"), plinks2))
    for found in reports:
        assert not found.ours_alone and not found.theirs_alone
        assert found.numbers > 9_000 and len(found.far) < 1e-3 * found.numbers  # where P is 1e-16 or so
        names = [row.get("SNP") or row["ID"] for row, _ in found.far]
        truth = by_statsmodels(plink, mouse, table, columns, names, tmp_path, *common)
        assert_ours_are_right(found.far, truth)


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Generated cohorts, from cases alone to few cases, with missing calls and on every chromosome.

    HUGE has deviations of 1e9, LARGE of 1e8, and NEAR a variance inflation far above 50 beside AGE.
    """
    folder = tmp_path_factory.mktemp("people")
    simulate(
        folder,
        cohorts=[300, 200, 150],
        variants=3_000,
        seed=4,
        case_fractions=[0.2, 0.6, 1.0],
        covariates=3,
        effects=[1.5],
        missing_rate=(0.3, 0.05),
        missing_phenotype_rate=0.03,
        nonfounder_rate=0.1,
        sex_chromosomes=True,
    )
    random = np.random.default_rng(8)
    tables = []
    for number in (1, 2, 3):
        header, *lines = (folder / f"cohort{number}.cov").read_text().splitlines()
        tables.append([f"{header}\tHUGE\tLARGE\tNEAR\tCONSTANT"])
        for line in lines:
            huge, near = random.normal(3e8, 1e9), float(line.split()[2]) + random.normal()
            tables[-1].append(f"{line}\t{huge:.10g}\t{huge / 10:.10g}\t{near:.6f}\t7")
        (folder / f"cohort{number}.cov").write_text("\n".join(tables[-1]) + "\n")
    pooled = [*tables[0], *tables[1][1:], *tables[2][1:]]
    (folder / "pooled.cov").write_text("\n".join(pooled) + "\n")
    return folder


def rehearsed(
    people: Path, covariates: str, plink: Plink, rehearse: Rehearse, folder: Path
) -> tuple[Path, Path]:
    """Prefixes of our reports of the generated cohorts, and of PLINK's."""
    parts = [people / f"cohort{number}" for number in (1, 2, 3)]
    covar = [word for part in parts for word in ("--covar", part.with_suffix(".cov"))]
    ours, pooled = folder / "ours", folder / "pooled"
    flags = ("--covar-name", covariates, "--ci", 0.95)
    plink(
        "--bfile", people / "pooled", "--covar", people / "pooled.cov", "--logistic", *flags, "--out", pooled
    )
    rehearse("--test", "logistic", *bfiles(parts), *covar, *flags, *FLOORS, *WITHOUT_FIRTH, "--out", ours)
    return ours, pooled


def test_generated_cohorts_agree_with_the_pooled_files(
    people: Path, plink: Plink, plink2: Plink, rehearse: Rehearse, tmp_path: Path
) -> None:
    ours, pooled = rehearsed(people, "AGE,LARGE,NEAR", plink, rehearse, tmp_path)
    found = compare(Path(f"{ours}.assoc.logistic"), Path(f"{pooled}.assoc.logistic"))
    reasons = codes(Path(f"{ours}.phenotype.glm.logistic"))
    assert not found.ours_alone
    assert_no_estimate(found.theirs_alone, reasons)
    assert found.numbers > 10_000 and len(found.far) < 0.01 * found.numbers
    # Single precision, beside nearly collinear columns.
    assert {ours["TEST"] for ours, _ in found.far} <= {"AGE", "NEAR"}
    columns, names = ("AGE", "LARGE", "NEAR"), [ours["SNP"] for ours, _ in found.far]
    table = people / "pooled.cov"
    assert_ours_are_right(
        found.far, by_statsmodels(plink, people / "pooled", table, columns, names, tmp_path)
    )
    assert "SEPARATION,ALT1" in reasons.values()
    flags = ("no-firth", "--covar-name", *columns, "--vif", 1e5, "--ci", 0.95)
    plinks = glm(plink, plink2, people / "pooled", table, tmp_path / "plink2", *flags)
    glms = Path(f"{ours}.phenotype.glm.logistic")
    found = compare_with_plink2(glms, plinks)
    complete = variants_without_missing_calls(glms)
    assert not found.ours_alone and not found.theirs_alone
    assert not [ours for ours, _ in found.far if ours["ID"] in complete]
    names = [ours["ID"] for ours, _ in found.far]
    truth = by_statsmodels(plink, people / "pooled", table, columns, names, tmp_path, by_plink2=True)
    assert_ours_are_right(found.far, truth)


def test_deviations_of_1e9(people: Path, plink: Plink, rehearse: Rehearse, tmp_path: Path) -> None:
    """PLINK 1.9 says NA where the variance of an estimate is below 1e-20, and so do we. plink2 does not."""
    ours, pooled = rehearsed(people, "HUGE", plink, rehearse, tmp_path)
    found = compare(Path(f"{ours}.assoc.logistic"), Path(f"{pooled}.assoc.logistic"))
    assert found.numbers < 100 and not found.far and not found.ours_alone and not found.theirs_alone
    lines = {(row["ID"], row["TEST"]): row for row in rows(Path(f"{ours}.phenotype.glm.logistic"))}
    names = [name for (name, test), row in lines.items() if test == "ADD" and row["ERRCODE"] == "."][::10]
    assert len(names) > 200
    table = people / "pooled.cov"
    truth = by_statsmodels(plink, people / "pooled", table, ("HUGE",), names, tmp_path, by_plink2=True)
    for key, (beta, error) in truth.items():
        assert float(lines[key]["LOG(OR)_SE"]) == pytest.approx(error, rel=1e-5)
        assert float(lines[key]["Z_STAT"]) == pytest.approx(beta / error, rel=1e-5)


def test_a_constant_covariate_ends_the_study_and_is_named(
    people: Path, rehearse: Rehearse, tmp_path: Path
) -> None:
    """PLINK says NA but for a few numbers, where rounding makes the column vary."""
    parts = [people / f"cohort{number}" for number in (1, 2, 3)]
    covar = [word for part in parts for word in ("--covar", part.with_suffix(".cov"))]
    flags = ("--covar-name", "PC1,CONSTANT", *FLOORS, "--out", tmp_path / "ours")
    done = rehearse("--test", "logistic", *bfiles(parts), *covar, *flags, check=False)
    assert done.returncode
    assert done.stderr.count("CONSTANT: the same value for everybody in the pool") == 1
    assert not list(tmp_path.glob("ours.*"))


def test_people_without_covariates_in_filters(
    people: Path, plink: Plink, rehearse: Rehearse, tmp_path: Path
) -> None:
    """With a value missing they have no phenotype for PLINK's --hardy and --hwe; without a line they have."""
    header, *lines = (people / "pooled.cov").read_text().splitlines()
    random = np.random.default_rng(6)
    kept = [header.split()[:3]]
    for line, fate in zip(lines, random.random(len(lines)), strict=True):
        fid, iid, age, *_ = line.split()
        kept += [[fid, iid, "NA" if fate < 0.2 else age]] if fate < 0.8 else []
    table = tmp_path / "some.cov"
    table.write_text("".join("\t".join(words) + "\n" for words in kept))
    ours, pooled = tmp_path / "ours", tmp_path / "pooled"
    common = ("--test", "logistic", *bfiles(people / f"cohort{number}" for number in (1, 2, 3)))
    flags = ("--covar", table, "--hide-covar", "--hwe", 0.2, "--geno", 0.2)
    rehearse(*common, *flags, *FLOORS, "--files", "assoc,frq,lmiss,hwe", "--out", ours)
    flags = ("--covar", table, "--logistic", "hide-covar", *flags[3:], "--freq", "--missing", "--hardy")
    plink("--bfile", people / "pooled", *flags, "--out", pooled)
    found = compare(Path(f"{ours}.assoc.logistic"), Path(f"{pooled}.assoc.logistic"))
    assert found.numbers > 1_000 and not found.ours_alone
    for suffix in ("frq", "lmiss", "hwe"):
        # Of cases and controls on Y PLINK's .hwe has numbers that nobody set.
        reports = [Path(f"{prefix}.{suffix}").read_text().splitlines() for prefix in (ours, pooled)]
        told, theirs = ([line for line in report if line.split()[0] != "24"] for report in reports)
        assert told == theirs
