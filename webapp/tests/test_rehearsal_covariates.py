"""Which covariates a rehearsal's plan names."""

from __future__ import annotations

from pathlib import Path

import pytest

from unpooled_webapp.rehearsal.covariates import NoSuchCovariate, chosen, names_in, planned

NAMES = ["age", "bmi", "pc-1", "pc-2"]


@pytest.mark.parametrize(
    ("first", "names"),
    [
        ("FID IID age bmi", ["age", "bmi"]),
        ("\n#FID\tIID\tage", ["age"]),
        ("\ufeff#IID age", ["age"]),
        ("f1 s1 20 31.5", ["COV1", "COV2"]),
        ("FID s1 20", ["COV1"]),
    ],
)
def test_names_are_those_of_the_header(first: str, names: list[str], tmp_path: Path) -> None:
    file = tmp_path / "a.cov"
    file.write_text(f"{first}\nf2 s2 1 2\n", encoding="utf-8")
    assert names_in(file) == names


@pytest.mark.parametrize(
    ("by_name", "by_number", "found"),
    [
        ([], [], NAMES),
        (["bmi", "age"], [], ["age", "bmi"]),
        (["age-bmi", "pc-2"], [], ["age", "bmi", "pc-2"]),
        ([], ["3", "1-2"], ["age", "bmi", "pc-1"]),
    ],
)
def test_columns_are_chosen_as_plink_does(by_name: list[str], by_number: list[str], found: list[str]) -> None:
    assert chosen(NAMES, by_name, by_number) == found


@pytest.mark.parametrize(
    ("by_name", "by_number"),
    [(["sex"], []), (["age-x"], []), ([], ["5"]), ([], ["0-2"]), (["bmi-age"], []), ([], ["3-1"])],
)
def test_what_the_file_lacks_is_refused(by_name: list[str], by_number: list[str]) -> None:
    with pytest.raises(NoSuchCovariate):
        chosen(NAMES, by_name, by_number)


def test_levels_make_a_covariate_categorical() -> None:
    assert planned(["age", "diet"], {"diet": ["chow", "fat"]}) == [
        {"name": "age", "levels": []},
        {"name": "diet", "levels": ["chow", "fat"]},
    ]
    with pytest.raises(NoSuchCovariate, match="sex"):
        planned(["age"], {"sex": ["1", "2"]})
