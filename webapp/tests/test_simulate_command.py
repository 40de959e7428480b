"""The command line of the simulation: what it writes, and what it says when it cannot."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from unpooled_webapp.commands.simulate import simulate


def run(*arguments: str | Path | int) -> tuple[int, str]:
    result = CliRunner().invoke(simulate, [str(argument) for argument in arguments])
    return result.exit_code, result.output


def test_writes_what_it_lists(tmp_path: Path) -> None:
    status, output = run(
        tmp_path, "--sizes", "20,30", "--case-fraction", "0.5,0.4", "--variants", 400, "--oddities",
        "--sex-chromosomes", "--effects", "2,0.5", "--covariates", 2, "--phenotype-files",
    )  # fmt: skip
    assert status == 0, output
    assert f"{tmp_path / 'cohort2'}.bed .bim .fam  30 samples" in output
    assert "50 samples" in output
    for name in ("cohort1.bed", "cohort2.pheno", "cohort1.cov", "pooled.bim", "truth.json"):
        assert (tmp_path / name).stat().st_size > 0


def test_replaces_nothing_unless_told(tmp_path: Path) -> None:
    assert run(tmp_path, "--samples", 10, "--variants", 50)[0] == 0
    before = (tmp_path / "cohort1.bed").read_bytes()
    status, output = run(tmp_path, "--samples", 10, "--variants", 50, "--seed", 2)
    assert status == 1
    assert "--force" in output
    assert (tmp_path / "cohort1.bed").read_bytes() == before
    assert run(tmp_path, "--samples", 10, "--variants", 50, "--seed", 2, "--force")[0] == 0
    assert (tmp_path / "cohort1.bed").read_bytes() != before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--sizes", "20,many"], "not a list of numbers such as 1781"),
        (["--case-fraction", "0.5,0.5"], "3 cohorts but 2 case fractions"),
        (["--case-fraction", "50"], "between 0 and 1"),
        (["--variants", "100", "--oddities"], "at least 300 variants"),
        (["--missing-calls", "0.9"], "not in the range"),
        (["--trait", "binary"], "is not one of"),
        (["--effects", "0"], "odds ratio is above 0"),
    ],
)
def test_says_what_is_wrong_and_leaves_nothing(tmp_path: Path, arguments: list[str], words: str) -> None:
    status, output = run(tmp_path / "out", *arguments)
    assert status != 0
    assert words in output
    assert not list(tmp_path.glob("out/*"))


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    status, output = run(tmp_path / "out")
    assert status != 0
    assert "is a file" in output
