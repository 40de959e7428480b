"""The .fam reader, and the choice of samples, against plink1.9."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

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
