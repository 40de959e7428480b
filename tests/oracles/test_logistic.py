"""Logistic regressions against plink1.9 --logistic on the pooled data, line by line.

PLINK 1.9 computes in single precision and prints four digits. Where it is farther from ours than rounding
explains, statsmodels says who is right.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pooled import Statuses, statuses

from unpooled.errors import Refuse
from unpooled.kernels import least_squares as fits
from unpooled.simulate import simulate

from ..conftest import Rehearse
from ..plinks import bfiles, plink, rows, split
from .reports import GLM, Agreement, Row, agreement, by_statsmodels, glm, unit
from .test_few_cases import check_one, regression_of

SHARES = {3: (5, 3, 2), 7: (9, 2, 5, 1, 4, 3, 2)}
FLOORS = ("--min-samples", 20, "--min-per-class", 5, "--one-class")
WITHOUT_FIRTH = ("--files", "assoc,glm", "--firth", "no-firth")
SAME = ("CHR", "SNP", "BP", "A1", "TEST", "NMISS")


def compare(ours: Path, plinks: Path) -> Agreement:
    """Compare as exactly as PLINK 1.9 is: odds ratio and P to 1e-3, STAT to 1e-3 absolute."""
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
    """Assert that PLINK 1.9's iteration diverged where it prints a number and we do not."""
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
        plinks2 = glm(mouse, table, tmp_path / "plink2", *asked, chr_set=common[:2])
        reports.append(compare_with_plink2(Path(f"{ours}.phenotype.glm.logistic"), plinks2))
    for found in reports:
        assert not found.ours_alone and not found.theirs_alone
        assert found.numbers > 9_000 and len(found.far) < 1e-3 * found.numbers  # where P is 1e-16 or so
        names = [row.get("SNP") or row["ID"] for row, _ in found.far]
        truth = by_statsmodels(mouse, table, columns, names, tmp_path, *common)
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
        tables.append([f"{header}\tHUGE\tLARGE\tNEAR"])
        for line in lines:
            huge, near = random.normal(3e8, 1e9), float(line.split()[2]) + random.normal()
            tables[-1].append(f"{line}\t{huge:.10g}\t{huge / 10:.10g}\t{near:.6f}")
        (folder / f"cohort{number}.cov").write_text("\n".join(tables[-1]) + "\n")
    pooled = [*tables[0], *tables[1][1:], *tables[2][1:]]
    (folder / "pooled.cov").write_text("\n".join(pooled) + "\n")
    return folder


def rehearsed(people: Path, covariates: str, rehearse: Rehearse, folder: Path) -> tuple[Path, Path]:
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
    people: Path, rehearse: Rehearse, tmp_path: Path
) -> None:
    ours, pooled = rehearsed(people, "AGE,LARGE,NEAR", rehearse, tmp_path)
    found = compare(Path(f"{ours}.assoc.logistic"), Path(f"{pooled}.assoc.logistic"))
    reasons = codes(Path(f"{ours}.phenotype.glm.logistic"))
    assert not found.ours_alone
    assert_no_estimate(found.theirs_alone, reasons)
    assert found.numbers > 10_000 and len(found.far) < 0.01 * found.numbers
    # Single precision, beside nearly collinear columns.
    assert {ours["TEST"] for ours, _ in found.far} <= {"AGE", "NEAR"}
    columns, names = ("AGE", "LARGE", "NEAR"), [ours["SNP"] for ours, _ in found.far]
    table = people / "pooled.cov"
    assert_ours_are_right(found.far, by_statsmodels(people / "pooled", table, columns, names, tmp_path))
    assert "SEPARATION,ALT1" in reasons.values()
    flags = ("no-firth", "--covar-name", *columns, "--vif", 1e5, "--ci", 0.95)
    plinks = glm(people / "pooled", table, tmp_path / "plink2", *flags)
    glms = Path(f"{ours}.phenotype.glm.logistic")
    found = compare_with_plink2(glms, plinks)
    complete = variants_without_missing_calls(glms)
    assert not found.ours_alone and not found.theirs_alone
    assert not [ours for ours, _ in found.far if ours["ID"] in complete]
    names = [ours["ID"] for ours, _ in found.far]
    truth = by_statsmodels(people / "pooled", table, columns, names, tmp_path, by_plink2=True)
    assert_ours_are_right(found.far, truth)


def test_people_without_covariates_in_filters(people: Path, rehearse: Rehearse, tmp_path: Path) -> None:
    """People with a value missing have no phenotype for PLINK's --hardy and --hwe; those without a line have
    one.
    """
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


# Pools of generated people


KINDS: dict[str, dict[str, object]] = {
    "two covariates": {},
    "no covariates": {"covariates": 0},
    "four covariates": {"covariates": 4, "n": 900},
    "no missing calls": {"missing": 0.0},
    "many missing calls": {"missing": 0.3},
    "large values": {"scale": 1e9},
    "few people": {"n": 60},
    "hardly more people than parameters": {"n": 36},
    "rare variants": {"n": 1500, "rare": True},
    "nearly separated": {"apart": True},
}
SEVEN = (1, 1, 2, 3, 5, 8, 13)
"""Shares of seven uneven cohorts, of which the first has cases only."""


@pytest.mark.parametrize(
    ("kind", "mean"),
    [*((kind, False) for kind in KINDS), *((kind, True) for kind in KINDS if "people" not in kind)],
)
def test_estimates_are_those_of_statsmodels(kind: str, mean: bool) -> None:
    pooled = statuses(len(kind), **KINDS[kind])  # type: ignore[arg-type]
    _, rows = pooled.study(SEVEN, missing="mean" if mean else "exact", chunk_size=30)
    assert len(rows["variant"]) == len(pooled.variants)
    fitted = 0
    for k in range(len(rows["variant"])):
        of = regression_of(pooled, rows, k, mean)
        y, design = of.y, of.x
        assert rows["n"][k] == len(y)
        if rows["code"][k] not in (fits.FITTED, *fits.REFUSED):
            assert np.isnan(rows["beta"][k]).all()
            cases, controls = design[y == 1, 1], design[y == 0, 1]
            if rows["code"][k] == fits.SEPARATED and not mean:
                assert cases.max() <= controls.min() or controls.max() <= cases.min()
            elif rows["code"][k] == fits.CONSTANT:
                assert np.ptp(design[:, 1]) == 0
            continue
        check_one(of, *(rows[name][k, : len(of.names)] for name in ("beta", "se")))
        fitted += 1
    assert fitted > len(pooled.variants) / 3
    if kind == "nearly separated":
        assert np.nanmax(np.abs(rows["beta"][:, 0])) > 5


def numbers(report: bytes) -> list[list[bytes]]:
    return [line.split() for line in report.splitlines()]


@pytest.mark.parametrize("kind", KINDS)
def test_reports_agree_with_plinks(kind: str, tmp_path: Path) -> None:
    pooled = statuses(3 + len(kind), **KINDS[kind])  # type: ignore[arg-type]
    out = pooled.plink1(tmp_path, "--logistic", "--ci", 0.95)
    ours, rows = pooled.study(ci=0.95)
    names = [pooled.variants[variant][2] for variant in rows["variant"]]
    reasons = dict(zip(names, rows["code"].tolist(), strict=True))
    plinks = Path(f"{out}.assoc.logistic").read_bytes()
    header, *lines = zip(ours["assoc"].splitlines(), plinks.splitlines(), strict=True)
    assert header[0] == header[1]
    compared, running_off = 0, {}
    for our_line, plinks_line in lines:
        a, b = our_line.split(), plinks_line.split()
        assert a[:6] == b[:6]
        assert (a[-1] == b"NA") >= (b[-1] == b"NA")
        if a[-1] == b"NA" and b[-1] != b"NA":  # PLINK prints where it stopped, though there is no estimate
            assert reasons[a[1]] in (fits.SEPARATED, fits.UNFINISHED)
            running_off[a[1]] = max(running_off.get(a[1], 0.0), float(b[7]))
        if b"NA" in a or b"NA" in b:
            continue
        odds, statistic, p = (tuple(float(x[k]) for x in (a, b)) for k in (6, 10, 11))
        if not 1e-3 < odds[1] < 1e3:
            continue  # nearly separated: PLINK stops early
        compared += 1
        digit = 1.001e-3  # plus a step in the fourth digit
        assert abs(odds[0] - odds[1]) <= 2 * digit * abs(odds[1])
        assert abs(statistic[0] - statistic[1]) <= 2e-3 + 1e-3 * abs(statistic[1])
        assert abs(p[0] - p[1]) <= 2 * digit * p[1]
    assert compared > len(lines) / 3
    assert all(error > 100 for error in running_off.values()), running_off
    assert len(running_off) <= 0.05 * len(names)


def plinks_and_ours(pooled: Statuses, folder: Path, **options: object) -> tuple[np.ndarray, np.ndarray]:
    """P of PLINK's report and of ours, of all lines: NaN where it says NA."""
    out = pooled.plink1(folder, "--logistic")
    reports = Path(f"{out}.assoc.logistic").read_bytes(), pooled.study(**options)[0]["assoc"]
    plinks, ours = ([row[-1].replace(b"NA", b"nan") for row in numbers(report)[1:]] for report in reports)
    return np.array(plinks, float), np.array(ours, float)


def test_covariates_that_plink_refuses(tmp_path: Path) -> None:
    """Unlike --linear it takes what is nearly collinear. It says NA if two estimates are nearly the same.

    So it does for a covariate whose mean is far below zero, in units of its deviation: that estimate is
    nearly the intercept's. A mean far above zero is as bad, but not refused.
    """
    pooled = statuses(11, n=300)
    random, n = np.random.default_rng(3), 300
    a, b, noise = random.normal(size=n), random.normal(size=n), random.normal(size=n)
    trials = {
        "variance inflation of 70": ((a, a + 0.12 * noise), False),
        "a third, nearly a sum": ((a, b, a + b + 0.05 * noise), False),
        "two that oppose": ((a, -2 * a + 0.008 * noise), True),
        "a mean far below zero": ((a - 1000, b), True),
        "one who differs": (((np.arange(n) == 17).astype(float), a), None),
        "collinear": ((a, b, a + b), True),
        "deviations of 1e12": ((1e12 * a, b), True),
    }
    for name, (columns, refused) in trials.items():
        trial = pooled.beside(*columns)
        if name == "collinear":
            with pytest.raises(Refuse, match="the covariates C1, C2, C3 determine one another") as caught:
                trial.study()
            assert caught.value.field == "covariates"
            continue
        plinks, ours = plinks_and_ours(trial, tmp_path)
        if refused is None:  # PLINK goes on to where its estimate is of no use
            assert np.isnan(ours).all(), name
            continue
        assert np.array_equal(np.isnan(plinks), np.isnan(ours)), name
        assert np.isnan(ours).all() == refused, name
        np.testing.assert_allclose(ours, plinks, rtol=2e-3, err_msg=name)


def test_one_person_far_away(tmp_path: Path) -> None:
    """A covariate of 1e9 in one person is refused: no float64 has an estimate."""
    pooled = statuses(11, n=300)
    random = np.random.default_rng(3)
    a, b = random.normal(size=300), random.normal(size=300)
    far = pooled.beside(np.where(np.arange(300) == 5, 1e9, a), b)
    with pytest.raises(Refuse, match="C1: the values of a few people"):
        far.study()
    near = pooled.beside(np.where(np.arange(300) == 5, 1e3, a), b)
    _, rows = near.study()
    assert np.isfinite(rows["beta"][:, 0]).sum() > 40


def test_separated_by_a_covariate() -> None:
    pooled = statuses(6, n=200, each=4, missing=0.0)
    s = pooled.samples
    _, rows = pooled.beside(np.where(s.phenotype == 1, 1.0, 0.0) + np.linspace(0, 0.5, len(s))).study()
    assert np.isnan(rows["beta"]).all() and np.all(rows["code"] > 0)
