"""Studies of imputed dosages against plink2 on the pooled .pgen, line by line."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2

from unpooled.kernels.dosages import COPY, NO_DOSAGE
from unpooled.plan.plan import NO_KEY, Plan
from unpooled_client.compare.frequencies import compare_dosages
from unpooled_client.data.cohort import open_cohort
from unpooled_client.data.options import DataOptions
from unpooled_client.data.plink.pgen import PgenFile

from ..conftest import EVERY, MOUSE, Rehearse
from ..plinks import plink, plink2, rows
from .dosages import (
    Words,
    differences,
    ids,
    in_bcf,
    in_bgen,
    in_vcf,
    parts_of,
    pfiles,
    rarer_second,
    write_covariate,
    write_pgen,
)
from .reports import GLM, agreement, same_bytes

FLOORS = ("--min-samples", 20, "--allow-no-sex")
COLUMNS = "+a1freq,+machr2,+ax,+a1count,+totallele"
VARIANTS = 300
CHROMOSOMES = ("1", "2", "X", "Y", "MT")


@dataclass(frozen=True)
class Pooled:
    """Everybody's files, and those of three cohorts."""

    prefix: Path
    parts: list[Path]
    covar: Words
    chr_set: Words
    least: int
    """Lines that a report without filters has more than."""


@pytest.fixture(scope="module")
def everywhere(tmp_path_factory: pytest.TempPathFactory) -> Pooled:
    """240 people of both sexes and some of unknown sex; dosages of 300 variants on all kinds of chromosomes,
    some missing, some of rare alleles, some the same for everybody."""
    folder, random = tmp_path_factory.mktemp("everywhere"), np.random.default_rng(5)
    frequency = np.resize((0.003, 0.02, 0.3, 0.5, 0.8), VARIANTS)[:, None]
    dosages = random.binomial(2, frequency, (VARIANTS, 240)) + random.normal(0, 0.05, (VARIANTS, 240))
    dosages = np.where(random.random(dosages.shape) < 0.2, np.rint(dosages), np.clip(dosages, 0, 2))
    for number, k in enumerate(range(0, VARIANTS, 29)):
        dosages[k] = (0, 2, 0.375)[number % 3]
    dosages[::3][random.random((len(dosages[::3]), 240)) < 0.15] = np.nan
    dosages[[4, 200]] = np.nan
    sexes: list[object] = ["NA" if k % 19 == 0 else 1 + k % 2 for k in range(240)]
    return made(folder, dosages, 60, sexes, np.round(random.normal(size=240), 5))


def made(folder: Path, dosages: np.ndarray, each: int, sexes: list[object], phenotype: np.ndarray) -> Pooled:
    """Files of these dosages, so many variants on each of `CHROMOSOMES`."""
    variants = [f"{CHROMOSOMES[k // each]}\t{1000 + k}\tv{k}\tA\tC" for k in range(len(dosages))]
    people = [f"p{k}\t{sex}\t{y}" for k, (sex, y) in enumerate(zip(sexes, phenotype, strict=True))]
    write_pgen(folder / "all", variants, dosages, ["#IID\tSEX\tPHENO1", *people])
    prefix = rarer_second(folder / "all")
    covar = write_covariate(prefix, np.random.default_rng(1))
    return Pooled(prefix, parts_of(prefix), ["--covar", covar], [], 2 * len(dosages))


@pytest.fixture(scope="module")
def mice(mouse: Path, mouse_tables: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Pooled:
    """1,940 real mice, with the dosages that were imputed where they had no call, and a real quantity."""
    folder, chr_set = tmp_path_factory.mktemp("mice"), ["--chr-set", 19]
    with gzip.open(MOUSE / "mouse_hs1940.geno.txt.gz", "rt") as lines:
        genotypes = [[word.strip() for word in line.split(",")] for line in lines][::EVERY]
    bim = [line.split() for line in mouse.with_suffix(".bim").read_text().splitlines()]
    places = {row[1]: (row[0], row[3]) for row in bim}
    genotypes.sort(key=lambda row: (int(places[row[0]][0]), int(places[row[0]][1]), row[0]))
    variants = ["\t".join([*places[name], name, ref, alt]) for name, alt, ref, *_ in genotypes]
    fam = [line.split() for line in mouse.with_suffix(".fam").read_text().splitlines()]
    values = [line.split()[3] for line in mouse_tables["pheno"].read_text().splitlines()[1:]]
    people = ["\t".join([*row[:2], row[4], y]) for row, y in zip(fam, values, strict=True)]
    dosages = np.array([row[3:] for row in genotypes], float)
    assert np.count_nonzero(dosages % 1) > 500
    write_pgen(folder / "all", variants, dosages, ["#FID\tIID\tSEX\tPHENO1", *people])
    prefix = rarer_second(folder / "all", *chr_set)
    covar = write_covariate(prefix, np.random.default_rng(2))
    return Pooled(prefix, parts_of(prefix, *chr_set), ["--covar", covar], chr_set, len(genotypes))


@pytest.fixture(scope="module")
def phased(tmp_path_factory: pytest.TempPathFactory) -> Pooled:
    """Files that plink2 generates: dosages and calls with phase, which plays no part."""
    folder = tmp_path_factory.mktemp("phased")
    kinds = ("dosage-freq=0.6", "phase-freq=0.7", "scalar-pheno", "acgt")
    plink2("--dummy", 300, 250, 0.03, 0.02, *kinds, "--seed", 7, "--out", folder / "all")
    prefix = rarer_second(folder / "all")
    return Pooled(prefix, parts_of(prefix), [], [], 200)


SETS = ("everywhere", "mice", "phased")
FILTERS: dict[str, Words] = {
    "all": [],
    "quality": ["--mach-r2-filter", 0.95],
    "filters": ["--maf", 0.03, "--geno", 0.15, "--chr", "1,2,Y,MT", "--hwe", 1e-3],
}


@pytest.mark.parametrize(
    ("which", "flags"),
    [*((name, "all") for name in SETS), ("everywhere", "quality"), ("everywhere", "filters")],
)
def test_linear_is_plink2s(
    which: str, flags: str, request: pytest.FixtureRequest, rehearse: Rehearse, tmp_path: Path
) -> None:
    pooled: Pooled = request.getfixturevalue(which)
    given, chosen = [*pooled.covar, *pooled.chr_set], FILTERS[flags]
    theirs = linear_of_plink2(pooled.prefix, tmp_path / "pooled", *given, *chosen)
    rehearse("--test", "linear", "--dosages", *pfiles(pooled.parts), *given, *FLOORS, *chosen,
             "--files", "glm,ssf", "--glm-cols", COLUMNS, "--out", tmp_path / "ours")  # fmt: skip
    lines = len(theirs.read_text().splitlines())
    assert lines > (200 if chosen else pooled.least)
    assert not differences(tmp_path / "ours.phenotype.glm.linear", theirs)


@pytest.mark.parametrize(("which", "condition"), [("everywhere", (2, 63)), ("mice", (100, 400))])
def test_conditions_are_plink2s(
    which: str,
    condition: tuple[int, ...],
    request: pytest.FixtureRequest,
    rehearse: Rehearse,
    tmp_path: Path,
) -> None:
    """Copies of a condition are dosages, too; whoever lacks one is in no regression."""
    pooled: Pooled = request.getfixturevalue(which)
    lines = pooled.prefix.with_suffix(".pvar").read_text().splitlines()
    names = [row.split()[2] for row in lines if row[0] != "#"]
    (listed := tmp_path / "listed").write_text("".join(f"{names[place]}\n" for place in condition))
    given = [*pooled.covar, *pooled.chr_set, "--condition-list", listed]
    theirs = linear_of_plink2(pooled.prefix, tmp_path / "pooled", *given)
    rehearse("--test", "linear", "--dosages", *pfiles(pooled.parts), *given, *FLOORS,
             "--files", "glm,ssf", "--glm-cols", COLUMNS, "--out", tmp_path / "ours")  # fmt: skip
    assert len(theirs.read_text().splitlines()) > pooled.least
    assert not differences(tmp_path / "ours.phenotype.glm.linear", theirs)


MODELS: dict[str, Words] = {
    "genotypic": ["--genotype-model", "genotypic"],
    "interaction": ["--interaction", "age"],
    "recessive interaction": ["--genotype-model", "recessive", "--interaction", "age"],
}


@pytest.mark.parametrize("model", MODELS)
def test_models_are_plink2s(model: str, everywhere: Pooled, rehearse: Rehearse, tmp_path: Path) -> None:
    """Between whole copies plink2 interpolates; tests/fuzz/dosages has every model and both regressions."""
    theirs = tmp_path / "pooled.PHENO1.glm.linear"
    plink2("--pfile", everywhere.prefix, *everywhere.covar, "--glm", *model.split(), f"cols={COLUMNS}",
           "--out", tmp_path / "pooled")  # fmt: skip
    rehearse("--test", "linear", "--dosages", *pfiles(everywhere.parts), *everywhere.covar, *FLOORS,
             *MODELS[model], "--files", "glm", "--glm-cols", COLUMNS, "--out", tmp_path / "ours")  # fmt: skip
    assert len(theirs.read_text().splitlines()) > 300
    statistic = "T_OR_F_STAT" if "genotypic" in model else "T_STAT"
    bounds = {"BETA": (1e-5, 0.0), "SE": (1e-5, 0.0), statistic: (1e-5, 1e-5), "P": (1e-5, 0.0)}
    found = agreement(tmp_path / "ours.phenotype.glm.linear", theirs, GLM, bounds, digits=6)
    assert found.numbers > 200 and not found.far and not found.ours_alone and not found.theirs_alone


@pytest.mark.parametrize("test", ["linear", "logistic"])
def test_own_estimates_are_plink2s(
    test: str, everywhere: Pooled, few_cases: Pooled, rehearse: Rehearse, tmp_path: Path
) -> None:
    """The fixed effect and Cochran's Q are those of what plink2 says of each cohort's own files."""
    pooled, own = (everywhere, everywhere.covar) if test == "linear" else (few_cases, [])
    words = ["no-firth", "hide-covar", "allow-no-covars"][test == "linear" :]
    columns = f"cols=+ax{',+beta,-orbeta' * (test == 'logistic')}"
    estimates: dict[str, list[tuple[float, float]]] = {}
    for k, part in enumerate(pooled.parts):
        plink2("--pfile", part, *own, "--glm", *words, columns, "--out", tmp_path / f"{k}")
        for row in rows(next(tmp_path.glob(f"{k}.PHENO1.glm.*"))):
            if row["BETA"] != "NA" and row["ERRCODE"] == ".":
                sign = 1 if row["A1"] == "C" else -1
                estimates.setdefault(row["ID"], []).append((sign * float(row["BETA"]), float(row["SE"])))
    rehearse("--test", test, "--dosages", *pfiles(pooled.parts), *own, *FLOORS, *OF_META[test],
             "--files", "meta", "--out", tmp_path / "ours")  # fmt: skip
    compared, near = 0, 1e-3 if test == "linear" else 2e-2  # plink2 fits in single precision
    for row in rows(tmp_path / "ours.meta"):
        found = np.array(estimates.get(row["SNP"], [])).reshape(-1, 2)
        if test == "logistic" and row["CHR"] == "23":  # where plink2 takes sex to separate, in one cohort
            continue
        assert int(row["N"]) == len(found), row
        if len(found) < 3:
            assert row["BETA"] == "NA"
            continue
        weight = 1 / found[:, 1] ** 2
        fixed = weight @ found[:, 0] / weight.sum()
        q = weight @ (found[:, 0] - fixed) ** 2
        sign = 1 if row["A1"] == "C" else -1
        assert float(row["BETA"]) == pytest.approx(sign * fixed, abs=near * weight.sum() ** -0.5)
        assert float(row["SE"]) == pytest.approx(weight.sum() ** -0.5, rel=near)
        assert float(row["Q"]) == pytest.approx(chi2.sf(q, 2), abs=near)
        compared += 1
    assert compared > (200 if test == "linear" else 5)


OF_META: dict[str, Words] = {
    "linear": ["--few-studies"],
    "logistic": ["--few-studies", "--beta", "--min-per-class", 1],
}


@pytest.fixture(scope="module")
def peoples(tmp_path_factory: pytest.TempPathFactory) -> Pooled:
    """600 people of three populations, with dosages of 800 variants, 160 on each kind of chromosome."""
    folder, random = tmp_path_factory.mktemp("peoples"), np.random.default_rng(12)
    population, ancestral = random.integers(3, size=600), random.uniform(0.15, 0.85, (800, 1))
    frequency = np.clip(ancestral + random.normal(0, 0.12, (800, 3)), 0.05, 0.95)[:, population]
    noise = np.resize((0.2, 0.05, 0.05, 0.05), (800, 1)) * random.normal(size=frequency.shape)
    dosages = np.clip(random.binomial(2, frequency) + noise, 0, 2)
    dosages[::7][random.random((len(dosages[::7]), 600)) < 0.05] = np.nan
    sexes: list[object] = [1 + k % 2 for k in range(600)]
    return made(folder, dosages, 160, sexes, np.round(population + random.normal(size=600), 5))


def test_components_are_plink2s(peoples: Pooled, rehearse: Rehearse, tmp_path: Path) -> None:
    """Eigenvalues, loadings and counts; scores at the cohorts, which plink2 also makes of our files."""
    ours, theirs, filters = tmp_path / "ours", tmp_path / "theirs", ("--maf", 0.1, "--geno", 0.3)
    rehearse("--test", "pca", "--dosages", *pfiles(peoples.parts), *filters, "--pca", 3, "--out", ours)
    plink2("--pfile", peoples.prefix, "--autosome", *filters, "--freq", "counts", "--pca", 3, "allele-wts",
           "meanimpute", "--threads", 1, "--out", theirs)  # fmt: skip
    values = [np.loadtxt(f"{stem}.eigenval") for stem in (ours, theirs)]
    np.testing.assert_allclose(*(each[:2] for each in values), rtol=1e-5)  # those that stand out
    weighted = [[row["ID"] for row in rows(Path(f"{stem}.eigenvec.allele"))] for stem in (ours, theirs)]
    assert weighted[0] == weighted[1] and 200 < len(weighted[0]) / 2 < 300
    counts, theirs_of = ({row["ID"]: row for row in rows(Path(f"{stem}.acount"))} for stem in (ours, theirs))
    for name, row in counts.items():
        of_alt, everything = (float(theirs_of[name][title]) for title in ("ALT_CTS", "OBS_CT"))
        of_ours = of_alt if row["ALT"] == theirs_of[name]["ALT"] else everything - of_alt
        assert float(row["ALT_CTS"]) == pytest.approx(of_ours, rel=1e-5)
    named = {row["IID"]: row for part in peoples.parts for row in rows(Path(f"{part}.eigenvec"))}
    for each in rows(Path(f"{theirs}.eigenvec")):
        for title in ("PC1", "PC2"):
            near = abs(float(named[each["#IID"]][title]))
            assert near == pytest.approx(abs(float(each[title])), abs=1e-5)
    plink2("--pfile", peoples.prefix, "--read-freq", f"{ours}.acount",
           "--score", f"{ours}.eigenvec.allele", 2, 5, "header-read", "no-mean-imputation",
           "variance-standardize", "cols=scoresums", "--score-col-nums", "6-7",
           "--out", tmp_path / "placed")  # fmt: skip
    unit = len(counts) * np.sqrt(values[0][:2])
    for each in rows(tmp_path / "placed.sscore"):
        placed = [float(each[f"PC{k}_SUM"]) / unit[k - 1] for k in (1, 2)]
        assert placed == pytest.approx([float(named[each["#IID"]][f"PC{k}"]) for k in (1, 2)], abs=1e-5)


def test_a_regression_beside_components_is_plink2s(
    peoples: Pooled, rehearse: Rehearse, tmp_path: Path
) -> None:
    filters = ("--maf", 0.1)
    rehearse("--test", "linear", "--dosages", *pfiles(peoples.parts), *FLOORS, *filters, "--components", 2,
             "--files", "glm", "--hide-covar", "--out", tmp_path / "ours")  # fmt: skip
    plink2("--pfile", peoples.prefix, "--autosome", *filters, "--pca", 2, "meanimpute", "--threads", 1,
           "--out", tmp_path / "axes")  # fmt: skip
    plink2("--pfile", peoples.prefix, *filters, "--covar", tmp_path / "axes.eigenvec",
           "--covar-variance-standardize", "--glm", "hide-covar", "--out", tmp_path / "pooled")  # fmt: skip
    bounds = {"BETA": (1e-4, 1e-4), "SE": (1e-4, 0.0), "T_STAT": (1e-4, 1e-3), "P": (2e-3, 0.0)}
    theirs = tmp_path / "pooled.PHENO1.glm.linear"
    found = agreement(tmp_path / "ours.phenotype.glm.linear", theirs, GLM, bounds, digits=6)
    assert found.numbers > 600 and not found.far and not found.ours_alone and not found.theirs_alone


def test_own_frequencies_are_plink2s(mice: Pooled, rehearse: Rehearse, tmp_path: Path) -> None:
    """Own frequencies are set next to the pool's, from the result of a study of dosages. Families are
    together in a cohort, so that a few differ.
    """
    rehearse("--test", "linear", "--dosages", *pfiles(mice.parts), *mice.chr_set, *FLOORS, "--files", "ssf",
             "--out", tmp_path / "ours")  # fmt: skip
    plan = Plan("linear", "phenotype", 3, NO_KEY, trait="quantitative", dosages=True, files=("ssf",),
                autosomes=19, allow_no_sex=True)  # fmt: skip
    for part in mice.parts:
        data, report = open_cohort(DataOptions(pfile=part).under(plan))
        assert data is not None, report.findings
        found = compare_dosages(tmp_path / "ours.tsv.gz", data, plan, None)
        assert found.variants > 700 and found.far < 0.01 * found.variants
        plink2("--pfile", part, *mice.chr_set, "--require-pheno", "--freq", "--out", tmp_path / "own")
        alt = {row["ID"]: float(row["ALT_FREQS"]) for row in rows(tmp_path / "own.afreq")}
        for one in found.farthest:
            assert min(abs(alt[one.name] - own) for own in (one.own, 1 - one.own)) < 1e-5


def test_sets_of_one_variant_are_tested_as_plink2_tests_it(
    mice: Pooled, rehearse: Rehearse, tmp_path: Path
) -> None:
    """Masks that have one variant each, of weights of their own, which change nothing. plink2's t has the
    residual variance beside the genotype, and those without a dosage left out."""
    given = [*mice.covar, *mice.chr_set]
    report = linear_of_plink2(mice.prefix, tmp_path / "pooled", *given)
    theirs = {row["ID"]: row for row in rows(report) if row["TEST"] == "ADD"}
    lines = {
        "--set-list": [f"s{k} 1 1 {name},{name}" for k, name in enumerate(theirs)],
        "--anno-file": [f"{name} s{k} any {k % 7 + 0.5}" for k, name in enumerate(theirs)],
        "--mask-def": ["mask any"],
    }
    files: Words = []
    for flag, text in lines.items():
        (file := tmp_path / flag.strip("-")).write_text("\n".join(text))
        files += [flag, file]
    study = ("--test", "gene-tests", "--trait", "quantitative", "--dosages", *FLOORS, "--max-maf", 0.5)
    rehearse(*study, *pfiles(mice.parts), *given, *files, "--set-weights", "own", "--out", tmp_path / "ours")
    compared = 0
    for row, name in zip([*rows(tmp_path / "ours.regenie")][::4], theirs, strict=True):
        n, t = (float(theirs[name][column].replace("NA", "nan")) for column in ("OBS_CT", "T_STAT"))
        if row["N"] == f"{n:.0f}" and row["CHISQ"] != "NA":
            assert float(row["CHISQ"]) == pytest.approx((n - 2) * t**2 / (t**2 + n - 3), rel=1e-4, abs=1e-6)
            compared += 1
    assert compared > 100


def linear_of_plink2(prefix: Path, out: Path, *flags: object) -> Path:
    """plink2's report on pooled dosages."""
    alone = () if "--covar" in flags else ("allow-no-covars",)
    plink2("--pfile", prefix, *flags, "--glm", *alone, f"cols={COLUMNS}", "--out", out)
    return out.with_name(f"{out.name}.PHENO1.glm.linear")


@pytest.mark.parametrize(("which", "last"), [("everywhere", in_bgen), ("phased", in_vcf)])
def test_other_formats_give_the_same_bytes(
    which: str,
    last: Callable[[Path], Words],
    request: pytest.FixtureRequest,
    rehearse: Rehearse,
    tmp_path: Path,
) -> None:
    """plink2 writes dosages so that they can be read exactly; only of phased ones a BGEN is less exact."""
    pooled: Pooled = request.getfixturevalue(which)
    study = ("--test", "linear", "--dosages", *pooled.covar, *FLOORS, "--files", "glm,ssf")
    rehearse(*study, *pfiles(pooled.parts), "--out", tmp_path / "pgen")
    formats = zip((in_vcf, in_bcf, last), pooled.parts, strict=True)
    others = [word for written, part in formats for word in written(part)]
    rehearse(*study, *others, "--copies", tmp_path / "copies", "--out", tmp_path / "other")
    same_bytes(tmp_path / "other", tmp_path / "pgen", ("phenotype.glm.linear", "tsv.gz"))


def test_several_alternate_alleles_are_left_out(phased: Pooled, rehearse: Rehearse, tmp_path: Path) -> None:
    """Some lines of every cohort's VCF have two; the report is plink2's without them."""
    given: Words = []
    for number, part in enumerate(phased.parts):
        in_vcf(part)
        lines = gzip.decompress(Path(f"{part}.vcf.gz").read_bytes()).decode().splitlines()
        written = [_with_two(line) if k % 5 == 0 and line[0] != "#" else line for k, line in enumerate(lines)]
        (vcf := tmp_path / f"{number}.vcf").write_text("\n".join(written) + "\n")
        given += ["--vcf", vcf, "--vcf-dosage", "DS", "--psam", f"{part}.psam"]
    rehearse("--test", "linear", "--dosages", *given, *FLOORS, "--files", "glm", "--glm-cols", COLUMNS,
             "--copies", tmp_path / "copies", "--out", tmp_path / "ours")  # fmt: skip
    plink2("--vcf", tmp_path / "0.vcf", "dosage=DS", "--max-alleles", 2, "--make-just-pvar", "--out",
           tmp_path / "left")  # fmt: skip
    left = [line.split()[2] for line in (tmp_path / "left.pvar").read_text().splitlines() if line[0] != "#"]
    assert 150 < len(left) < 230
    (listed := tmp_path / "left").write_text("\n".join(left) + "\n")
    theirs = linear_of_plink2(phased.prefix, tmp_path / "pooled", "--extract", listed)
    assert not differences(tmp_path / "ours.phenotype.glm.linear", theirs)


def _with_two(line: str) -> str:
    """A line of a VCF with a further allele, of which nobody has any."""
    words = line.split("\t")
    words[4] += ",N"
    return "\t".join([*words[:9], *(f"{cell},0" if ":" in cell else cell for cell in words[9:])])


def test_chi_square_is_of_the_calls(everywhere: Pooled, rehearse: Rehearse, tmp_path: Path) -> None:
    """Files of dosages in a study of calls: PLINK 1.9's bytes of what plink2 calls."""
    ill = tmp_path / "ill"
    people = [f"{name}\t{1 + (k % 5 < 2)}" for k, name in enumerate(ids(everywhere.prefix))]
    ill.write_text("\n".join(["#IID\till", *people]) + "\n")
    named = ("--pheno", ill, "--pheno-name", "ill")
    plink2("--pfile", everywhere.prefix, *named, "--make-bed", "--out", tmp_path / "calls")
    counted = ("--assoc", "--freq", "--missing", "--hardy", "--allow-no-sex")
    plink("--bfile", tmp_path / "calls", *counted, "--out", tmp_path / "pooled")
    rehearse(*pfiles(everywhere.parts), *named, *FLOORS, "--out", tmp_path / "ours")
    same_bytes(tmp_path / "ours", tmp_path / "pooled", ("assoc", "frq", "lmiss", "hwe"))


def test_cohorts_with_calls_count_whole_copies(
    everywhere: Pooled, rehearse: Rehearse, tmp_path: Path
) -> None:
    """One of the three has the hard calls alone, as a .bed."""
    first, second, third = everywhere.parts
    plink2("--pfile", third, "--make-bed", "--out", tmp_path / "calls")
    plink2("--bfile", tmp_path / "calls", "--make-pgen", "--out", tmp_path / "calls")
    values = []
    for part in (first, second, tmp_path / "calls"):
        file = PgenFile(part.with_suffix(".pgen"), len(ids(part)), VARIANTS)
        values.append(file.dosages(np.arange(VARIANTS)))
    copies = np.concatenate(values, axis=1)
    variants, psam = (
        [line for line in everywhere.prefix.with_suffix(kind).read_text().splitlines() if line[:2] != "##"]
        for kind in (".pvar", ".psam")
    )
    write_pgen(tmp_path / "mixed", variants[1:], np.where(copies == NO_DOSAGE, np.nan, copies / COPY), psam)
    theirs = linear_of_plink2(rarer_second(tmp_path / "mixed"), tmp_path / "pooled")
    cohorts = ("--bfile", tmp_path / "calls", *pfiles([first, second]))
    rehearse("--test", "linear", "--dosages", *cohorts, *FLOORS, "--files", "glm", "--glm-cols", COLUMNS,
             "--out", tmp_path / "ours")  # fmt: skip
    assert not differences(tmp_path / "ours.phenotype.glm.linear", theirs)
    assert "called only counted as whole copies" in (tmp_path / "ours.methods.txt").read_text()


@pytest.fixture(scope="module")
def few_cases(tmp_path_factory: pytest.TempPathFactory) -> Pooled:
    """300 people of whom 12 in a hundred are cases. Some rare alleles are in cases or in controls alone, so
    that there is no usual estimate."""
    folder, random = tmp_path_factory.mktemp("few"), np.random.default_rng(8)
    case = random.random(300) < 0.12
    frequency = np.resize((0.004, 0.01, 0.03, 0.2), 60)[:, None]
    dosages = random.binomial(2, frequency, (60, 300)).astype(float)
    dosages[1::6, case] = 0
    dosages[2::6, ~case] = 0
    less = np.clip(dosages - np.abs(random.normal(0, 0.2, dosages.shape)), 0, 2)
    dosages[1::3], dosages[2::3] = less[1::3], less[2::3]
    sexes: list[object] = [1 + k % 2 for k in range(300)]
    return made(folder, dosages, 12, sexes, 1 + case)


@pytest.mark.parametrize(
    ("firth", "own"),
    [("firth-fallback", ()), ("firth", ()), ("no-firth", ()), ("firth-fallback", ("--condition", "v3"))],
)
def test_logistic_is_plink2s(
    firth: str, own: tuple[str, ...], few_cases: Pooled, rehearse: Rehearse, tmp_path: Path
) -> None:
    """plink2 computes in single precision, and stops a Firth fit a little early."""
    columns = "+a1freq,+machr2"
    common = ("--glm", firth, "allow-no-covars", f"cols={columns}", "--threads", 1)
    plink2("--pfile", few_cases.prefix, *own, *common, "--out", tmp_path / "pooled")
    flags = ("--min-per-class", 1, "--firth", firth, "--files", "glm", "--glm-cols", columns)
    study = ("--test", "logistic", "--dosages", *own, *FLOORS, *flags)
    rehearse(*study, *pfiles(few_cases.parts), "--out", tmp_path / "ours")
    ours, theirs = (next(tmp_path.glob(f"{name}.*.glm.*")) for name in ("ours", "pooled"))
    for report in (ours, theirs):  # beside itself plink2 gives a condition numbers of single precision
        kept = [line for line in report.read_text().splitlines() if line.split("\t")[2] not in own]
        report.write_text("\n".join(kept) + "\n")
    bounds = {"OR": (1e-3, 0.0), "LOG(OR)_SE": (1e-3, 0.0), "Z_STAT": (0.0, 1e-3), "P": (2e-3, 0.0)}
    same = (*GLM, "A1_FREQ", "MACH_R2", *(["FIRTH?"] if firth == "firth-fallback" else []))
    found = agreement(ours, theirs, same, bounds, digits=6)
    assert found.numbers >= (30 if firth == "no-firth" else 60)
    assert not found.far and not found.ours_alone and not found.theirs_alone
