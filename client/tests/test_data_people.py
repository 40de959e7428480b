"""People, phenotypes, covariates and what is conditioned on: as plink1.9 reads the same files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unpooled.methods.shared.conditions import with_copies
from unpooled.methods.shared.groups import complete, phenotype
from unpooled.panel.panel import Panel
from unpooled.plan.plan import NO_KEY, Plan
from unpooled_client.data.findings.report import Code
from unpooled_client.data.options import Covariate
from unpooled_client.data.thorough.completeness import kept_by_mind, missing_calls
from unpooled_client.study.reading import Alignments, DataRefused
from unpooled_client.study.trust import Distrust

SEXES = ["1", "2", "0", "-9", "M", "F", "01", "1.0", "3", "NA"]
PARENTS = [("0", "0"), ("x", "0"), ("0", "y"), ("00", "0"), ("I0", "I1")]


def test_sexes_and_founders_are_plinks(files: Any) -> None:
    lines = [
        f"F{k} I{k} {PARENTS[k % 5][0]} {PARENTS[k % 5][1]} {SEXES[k % 10]} {1 + k // 30}\n"
        for k in range(60)
    ]
    files.write(fam="".join(lines))
    samples = files.open(allow_no_sex=True).samples
    log = files.plink("--make-just-fam", "--allow-no-sex").stdout
    assert samples.sex.tolist() == [int(row[4]) for row in files.output("fam")]
    assert f"{samples.founder.sum()} founders and {(~samples.founder).sum()} nonfounders present" in log


@pytest.mark.parametrize("between", [" ", "\t", " \t  "])
@pytest.mark.parametrize("end", ["\n", "\r\n", " \n\n", "\n# comment\n"])
def test_any_whitespace_and_more_columns(files: Any, between: str, end: str) -> None:
    fam = "".join(between.join([f"F{k}", f"I{k}", "0", "0", "1", "2", "7", "8"]) + end for k in range(60))
    files.write(fam=fam.rstrip() if end == "\n" else fam)
    samples = files.open().samples
    assert len(samples) == 60
    assert (samples.phenotype == 1).all()
    assert files.plink("--make-just-fam").returncode == 0


@pytest.mark.parametrize(("allow", "known"), [(False, 40), (True, 60)])
def test_phenotypes_of_unknown_sex(files: Any, allow: bool, known: int) -> None:
    files.write(fam="".join(f"F{k} I{k} 0 0 {k % 3} {1 + k // 30}\n" for k in range(60)))
    samples = files.open(allow_no_sex=allow).samples
    assert (~np.isnan(samples.phenotype)).sum() == known
    log = files.plink("--assoc", *(["--allow-no-sex"] if allow else [])).stdout
    cases = int(np.nansum(samples.phenotype))
    assert f"{cases} are cases and {known - cases} are" in " ".join(log.split())


@pytest.mark.parametrize(
    "lists",
    [
        {"keep": "F1 I1\nF3 I3 more\nF9 I9\nno body\n"},
        {"keep": "F1 I1\nF1 I1\n"},
        {"keep": "FID IID\nF1 I1\n"},
        {"remove": "F1 I1\nno body\n"},
        {"remove": ""},
        {"keep": "F1 I1\nF2 I2\n", "remove": "F2 I2\n"},
    ],
)
def test_keep_and_remove_are_plinks(files: Any, lists: dict[str, str]) -> None:
    files.write(**lists)
    samples = files.open(**{name: name for name in lists}).samples
    done = files.plink("--make-just-fam", *(word for name in lists for word in (f"--{name}", name)))
    assert done.returncode == 0
    kept = [f"I{k}" for k in np.flatnonzero(samples.kept)]
    assert kept == [row[1] for row in files.output("fam")]


# Ten values, repeated six times over the 60 samples.
COLUMNS = {
    "case/control": "1 2 1 2 1 2 1 2 1 2",
    "missing codes": "1 2 0 -9 NA 2 1 2 na NA",
    "negative zero": "1 2 -0 2 1 2 1 2 1 2",
    "all missing but two": "1 2 0 0 0 -9 -9 NA 0 0",
    "with a 3": "1 2 3 2 1 2 0 -9 NA 2",
    "fractions": "0.5 NA 1 2 0 0 -9.0 -9.5 1e3 .5",
    "points": "1.0 2.0 1 2 0 -9.0 1 2 1 2",
    "signs": "+1 2 1 2 1 2 1 2 1 2",
    "zeros first": "01 02 1 2 1 2 1 2 1 2",
    "exponents": "1e0 2 1 2 1 2 1 2 1 2",
    "minus eight": "1 2 -8 2 1 -9 1 2 1 2",
}


def reference(files: Any, *arguments: str) -> tuple[str, list[float]]:
    """Trait and values as plink1.9 sees them."""
    log = files.plink("--make-just-fam", "--allow-no-sex", *arguments).stdout
    values = [float(row[5]) for row in files.output("fam")]
    trait = "quantitative" if "Phenotype data is quantitative" in log else "case/control"
    missing = -8 if "-8" in arguments else -9  # which is what plink1.9 writes, too
    known = [np.nan if value == missing else value for value in values]
    return trait, known if trait == "quantitative" else [value - 1 for value in known]


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize(
    "extra", [[], ["--1"], ["--missing-phenotype", "-8"]], ids=["plain", "one", "minus8"]
)
@pytest.mark.parametrize("source", ["fam", "pheno"])
def test_phenotypes_as_plink(files: Any, name: str, extra: list[str], source: str) -> None:
    words = COLUMNS[name].split() * 6
    options: dict[str, Any] = {"one": "--1" in extra}
    if "--missing-phenotype" in extra:
        options["missing_phenotype"] = -8
    if source == "fam":
        files.write(fam="".join(f"F{k} I{k} 0 0 1 {word}\n" for k, word in enumerate(words)))
        trait, expected = reference(files, *extra)
    else:
        files.write(pheno="".join(f"F{k} I{k} {word}\n" for k, word in enumerate(words)))
        trait, expected = reference(files, *extra, "--pheno", "pheno")
        options["pheno"] = "pheno"
    report = files.check(**options, min_samples=1, min_per_class=0)
    if not report.ok:  # stricter than PLINK, on purpose
        assert {f.code for f in report.findings if f.severity == "error"} == {Code.PHENOTYPE_CODING}
        assert options["one"]
        return
    data = files.open(**options)
    assert data.trait == trait
    assert np.array_equal(data.samples.phenotype, expected, equal_nan=True)


ROWS = "".join(f"F{k} I{k} {1 + k % 2} {k}.5\n" for k in range(60))


@pytest.mark.parametrize(
    ("table", "options"),
    [
        ("FID IID a b\n" + ROWS, {}),
        ("#FID IID a b\n" + ROWS, {}),
        ("#FID\tIID\ta\tb\r\n" + ROWS.replace("\n", "\r\n"), {"pheno_name": "b"}),
        ("FID IID a b\n" + ROWS, {"mpheno": 2}),
        (ROWS, {"mpheno": 2}),
        ("\n \nFID IID a a\n" + ROWS, {"pheno_name": "a"}),
        ("X Y 1\nF1 I1 2\nF0 I0 1\nQ Q\n", {}),
    ],
)
def test_columns_of_a_pheno_file(files: Any, table: str, options: dict[str, Any]) -> None:
    files.write(pheno=table)
    flags = [w for name, value in options.items() for w in (f"--{name.replace('_', '-')}", str(value))]
    trait, expected = reference(files, "--pheno", "pheno", *flags)
    if "mpheno" in options:
        expected = [float(row[5]) for row in files.output("fam")]
    data = files.open(pheno="pheno", **options)
    assert data.trait == trait
    assert np.array_equal(data.samples.phenotype, expected, equal_nan=True)


def test_rows_without_family_ids(files: Any) -> None:
    files.write(pheno="#IID a\n" + "".join(f"I{k} {k}.5\n" for k in range(60)))
    assert files.open(pheno="pheno").samples.phenotype.tolist() == [k + 0.5 for k in range(60)]


def test_nan_is_missing(files: Any) -> None:
    files.write(pheno="".join(f"F{k} I{k} {'nan' if k == 3 else 1 + k % 2}\n" for k in range(60)))
    data = files.open(pheno="pheno")
    assert data.trait == "case/control"
    assert np.flatnonzero(np.isnan(data.samples.phenotype)).tolist() == [3]


def test_the_plan_goes_before_the_values(files: Any) -> None:
    data = files.open(trait="quantitative")
    assert data.trait == "quantitative"
    assert sorted(set(data.samples.phenotype)) == [1, 2]


VALUES = "".join(f"F{k} I{k} {k} {k}.5 {k * k}\n" for k in range(60))
HEADED = "FID IID age bmi pc1\n" + VALUES


def written_covariates(files: Any, *arguments: str) -> tuple[list[str], np.ndarray]:
    done = files.plink("--write-covar", "--covar", "covar", *arguments)
    assert done.returncode == 0, done.stderr
    header, *rows = files.output("cov")
    values = np.array([[float(word) for word in row[2:]] for row in rows])
    return header[2:], np.where(values == -9, np.nan, values)


@pytest.mark.parametrize(
    ("table", "arguments"),
    [
        (HEADED, []),
        (VALUES, []),
        (HEADED, ["--covar-name", "age,pc1"]),
        (HEADED, ["--covar-name", "pc1,age"]),
        (HEADED, ["--covar-name", "age-bmi"]),
        (HEADED, ["--covar-number", "1,3"]),
        (HEADED, ["--covar-number", "2-3"]),
        (VALUES, ["--covar-number", "2"]),
        ("#FID IID age bmi pc1\n" + VALUES, ["--covar-name", "bmi-pc1"]),
        ("FID IID age bmi\nF0 I0 1 -9\nF1 I1 NA 2\nF3 I3 3 -9.0\nQ Q 1 1\nQ Q\n", []),
        ("FID IID age\nQ I0 1\nQ I0 2\nF0 I0 1\n", []),
    ],
)
def test_covariates_as_plink(files: Any, table: str, arguments: list[str]) -> None:
    files.write(covar=table)
    names, expected = written_covariates(files, *arguments)
    options = {
        a.lstrip("-").replace("-", "_"): tuple(b.split(","))
        for a, b in zip(*[iter(arguments)] * 2, strict=True)
    }
    data = files.open(covar="covar", **options)
    assert list(data.covariates) == names
    assert np.array_equal(data.samples.covariates, expected, equal_nan=True)


@pytest.mark.parametrize(
    ("table", "options"),
    [
        (VALUES, {"covar_name": ("age",)}),
        (HEADED, {"covar_name": ("bmi-age",)}),
        (HEADED, {"covar_name": ("age", "age")}),
        (HEADED, {"covar_name": ("age", "age-bmi")}),
        (HEADED, {"covar_name": ("age", "height")}),
        (HEADED, {"covar_name": ("bmi-",)}),
        (HEADED, {"covar_number": ("4",)}),
        (HEADED, {"covar_number": ("0",)}),
        (HEADED, {"covar_number": ("1",), "covar_name": ("bmi",)}),
        ("FID IID age\nF0 I0 1\nF0 I0 1\n", {}),
        ("FID IID age bmi\nF0 I0 1\n", {}),
        ("FID IID\nF0 I0\n", {}),
        ("", {}),
    ],
)
def test_refuses_what_plink_refuses(files: Any, table: str, options: dict[str, tuple[str, ...]]) -> None:
    files.write(covar=table)
    flags = [w for name, v in options.items() for w in (f"--{name.replace('_', '-')}", ",".join(v))]
    assert files.plink("--write-covar", "--covar", "covar", *flags).returncode != 0
    assert not files.check(covar="covar", **options).ok


def test_an_empty_cell_between_tabs_is_missing(files: Any) -> None:
    """plink1.9 takes the value of the next column for it, and so the bmi for the age."""
    words = [["FID", "IID", "age", "bmi", "pc1"], *(row.split() for row in VALUES.splitlines())]
    words[4][2] = words[6][4] = ""
    files.write(covar="".join("\t".join(row) + "\n" for row in words))
    values = files.open(covar="covar").samples.covariates
    assert np.argwhere(np.isnan(values)).tolist() == [[3, 0], [5, 2]]
    assert values[3, 1:].tolist() == [3.5, 9]


def test_nan_is_a_missing_covariate(files: Any) -> None:
    """plink1.9 takes nan for a number, and gets nan everywhere."""
    files.write(covar=HEADED.replace("F3 I3 3 ", "F3 I3 nan "))
    assert np.isnan(files.open(covar="covar").samples.covariates[3, 0])


def test_levels_become_dummies_in_the_order_of_the_plan(files: Any) -> None:
    words = ["a", "b", "c", "NA"]
    files.write(covar="FID IID age site\n" + "".join(f"F{k} I{k} {k} {words[k % 4]}\n" for k in range(60)))
    wanted = (Covariate("site", ("b", "a", "c")), Covariate("age"))
    data = files.open(covar="covar", covariates=wanted, from_plan=True)
    assert data.covariates == ("site=a", "site=c", "age")
    nan = np.nan
    expected = np.array([[1, 0, 0], [0, 0, 1], [0, 1, 2], [nan, nan, 3]])
    assert np.array_equal(data.samples.covariates[:4], expected, equal_nan=True)


def test_a_level_may_be_spelled_like_a_missing_code(files: Any) -> None:
    files.write(
        covar="FID IID site\n" + "".join(f"F{k} I{k} {'none' if k % 2 else 'x'}\n" for k in range(60))
    )
    wanted = (Covariate("site", ("x", "none")),)
    data = files.open(covar="covar", covariates=wanted, from_plan=True)
    assert data.samples.covariates[:, 0].tolist() == [0.0, 1.0] * 30


def test_a_plan_without_covariates_reads_none(files: Any) -> None:
    files.write(covar="nonsense\n")
    assert files.open(covar="covar", from_plan=True).samples.covariates.shape == (60, 0)


BIM = "".join(f"{c} v{c}_{k} 0 {k + 1} A G\n" for c in (1, 5, 23, 24, 26) for k in range(40))


@pytest.mark.parametrize("most", [0.0, 0.22, 0.25, 0.2667, 0.27, 0.4, 1.0])
def test_who_is_kept_is_plinks(files: Any, most: float) -> None:
    files.write(bim=BIM)
    done = files.plink("--mind", str(most), "--make-just-fam")
    plinks = {row[0] for row in files.output("fam")} if done.returncode == 0 else set()
    data = files.open()
    kept = kept_by_mind(data.align(data.panel), data.panel, most, 22)
    assert {f"F{k}" for k in np.flatnonzero(kept)} == plinks


def test_missing_calls_are_counted_per_person(files: Any) -> None:
    files.write(bim=BIM)
    data = files.open()
    words = data.align(data.panel).packed(slice(None)).words
    shifts = 2 * np.arange(32, dtype=np.uint64)
    codes = (words[:, :, None] >> shifts & np.uint64(3)).reshape(len(words), -1)[:, :60]
    assert missing_calls(data.align(data.panel), np.arange(200)).tolist() == (codes == 1).sum(axis=0).tolist()


def test_a_cohort_that_mind_leaves_too_small_declines(files: Any) -> None:
    files.write(bim=BIM)
    data = files.open(min_samples=50)
    plan = Plan("chi-square", "asthma", 3, NO_KEY, mind=0.2)
    with pytest.raises(DataRefused):
        Alignments(data, plan)._without_incomplete(data.align(data.panel), data.panel)


THREE = "1 rs1 0 100 A G\n1 rs2 0 200 T C\n2 rs3 0 50 A C\n"
PLAN = Plan("logistic", "asthma", 3, NO_KEY, condition=("rs2", "rs1"))


OWN = [(1, 100, b"rs1", b"A", b"G"), (1, 200, b"rs2", b"C", b"T"), (2, 50, b"rs3", b"A", b"C")]


@pytest.mark.parametrize(
    "first",
    [
        [OWN[0], OWN[0]],
        [(1, 150, b"rs1", b"A", b"G")],
        [(3, 100, b"rs1", b"A", b"G")],
        [(1, 100, b"rs1", b"A", b"C")],
        [(1, 100, b"rs2", b"A", b"G")],
    ],
    ids=["twice", "another position", "another chromosome", "another allele", "another ID"],
)
def test_the_panel_has_this_cohorts_own_variants_as_they_are(files: Any, first: list[Any]) -> None:
    files.write(bim=THREE)
    own = Alignments(files.open(), Plan("chi-square", "asthma", 3, NO_KEY))
    own.beside(Panel.of(OWN[::2]))  # another cohort lacks one
    with pytest.raises(Distrust, match="has 1 variants that this cohort lacks"):
        own.beside(Panel.of(sorted([*first, OWN[2]])))


def test_copies_are_plinks(files: Any) -> None:
    files.write(bim=THREE)
    data = files.open()
    found = with_copies(data.align(data.panel), data.panel, PLAN).covariates
    assert files.plink("--recode", "A", "--keep-allele-order").returncode == 0
    head, *people = files.output("raw")
    columns = zip(*(row[6:] for row in people), strict=True)
    of = dict(zip(head[6:], ([float(x.replace("NA", "nan")) for x in c] for c in columns), strict=True))
    of_c = 2 - np.array(of["rs2_T"])  # the panel's first allele is the first in the alphabet
    np.testing.assert_array_equal(found, np.column_stack([of_c, of["rs1_A"]]))
    assert np.isnan(found).any() and not np.isnan(found).all(axis=0).any()


def test_who_lacks_a_call_is_in_no_regression_but_a_case_or_a_control_still(files: Any) -> None:
    files.write(bim=THREE)
    data = files.open()
    samples = with_copies(data.align(data.panel), data.panel, PLAN)
    lacks = np.isnan(samples.covariates).any(axis=1)
    assert lacks.any()
    np.testing.assert_array_equal(complete(samples), complete(data.samples) & ~lacks)
    np.testing.assert_array_equal(phenotype(samples), phenotype(data.samples))


def test_a_cohort_in_which_too_few_have_the_call_declines(files: Any) -> None:
    files.write(bim=THREE)
    data = files.open(min_samples=50, from_plan=True)
    with pytest.raises(DataRefused, match="too few samples have a phenotype and every covariate"):
        Alignments(data, PLAN)._conditioned(data.align(data.panel), data.panel)


def test_nobody_is_complete_where_the_panel_lacks_the_variant(files: Any) -> None:
    """Only a server that does not keep to the protocol asks anything then: it gets sums over nobody."""
    files.write(bim=THREE)
    data = files.open()
    panel = Panel.of([(2, 50, b"rs3", b"A", b"C")])
    assert not complete(with_copies(data.align(panel), panel, PLAN)).any()
