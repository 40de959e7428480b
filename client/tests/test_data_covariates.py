"""The covariates against plink1.9: which columns, and which values are missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unpooled_client.data.options import Covariate

ROWS = "".join(f"F{k} I{k} {k} {k}.5 {k * k}\n" for k in range(60))
HEADED = "FID IID age bmi pc1\n" + ROWS


def reference(files: Any, *arguments: str) -> tuple[list[str], np.ndarray]:
    done = files.plink("--write-covar", "--covar", "covar", *arguments)
    assert done.returncode == 0, done.stderr
    header, *rows = files.output("cov")
    values = np.array([[float(word) for word in row[2:]] for row in rows])
    return header[2:], np.where(values == -9, np.nan, values)


@pytest.mark.parametrize(
    ("table", "arguments"),
    [
        (HEADED, []),
        (ROWS, []),
        (HEADED, ["--covar-name", "age,pc1"]),
        (HEADED, ["--covar-name", "pc1,age"]),
        (HEADED, ["--covar-name", "age-bmi"]),
        (HEADED, ["--covar-number", "1,3"]),
        (HEADED, ["--covar-number", "2-3"]),
        (ROWS, ["--covar-number", "2"]),
        ("#FID IID age bmi pc1\n" + ROWS, ["--covar-name", "bmi-pc1"]),
        ("FID IID age bmi\nF0 I0 1 -9\nF1 I1 NA 2\nF3 I3 3 -9.0\nQ Q 1 1\nQ Q\n", []),
        ("FID IID age\nQ I0 1\nQ I0 2\nF0 I0 1\n", []),
    ],
)
def test_as_plink(files: Any, table: str, arguments: list[str]) -> None:
    files.write(covar=table)
    names, expected = reference(files, *arguments)
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
        (ROWS, {"covar_name": ("age",)}),
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
    words = [["FID", "IID", "age", "bmi", "pc1"], *(row.split() for row in ROWS.splitlines())]
    words[4][2] = words[6][4] = ""
    files.write(covar="".join("\t".join(row) + "\n" for row in words))
    values = files.open(covar="covar").samples.covariates
    assert np.argwhere(np.isnan(values)).tolist() == [[3, 0], [5, 2]]
    assert values[3, 1:].tolist() == [3.5, 9]


def test_nan_is_missing(files: Any) -> None:
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
