"""The phenotype against plink1.9: which values are missing, and whether it is case/control."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unpooled_client.data.report import Code

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
def test_as_plink(files: Any, name: str, extra: list[str], source: str) -> None:
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
