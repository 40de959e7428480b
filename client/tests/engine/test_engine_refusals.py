"""Causes that make a study impossible, with a real server: told before anything is summed if they can be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from client_trials import Member, Trial, ended
from client_typed import typed

from unpooled_client.data.options import DataOptions
from unpooled_client.state.events import Exit, Failed

MakeStudy = Callable[..., Trial]
Row = Callable[[int, list[str]], str]
"""The covariates of a person: by the place in the file, and the words of the line of the .fam."""


def rewritten(member: Member, folder: Path, change: Callable[[int, list[str]], list[str]]) -> None:
    """Give a cohort files of its own, each line of whose .fam was changed."""
    prefix = folder / f"{member.name}-changed"
    for suffix in (".bed", ".bim"):
        prefix.with_suffix(suffix).write_bytes(member.bfile.with_suffix(suffix).read_bytes())
    lines = [line.split() for line in member.bfile.with_suffix(".fam").read_text().splitlines()]
    changed = [" ".join(change(number, words)) for number, words in enumerate(lines)]
    prefix.with_suffix(".fam").write_text("\n".join(changed) + "\n")
    member.bfile = prefix


def with_covariates(member: Member, folder: Path, names: str, row: Row) -> DataOptions:
    """The member's files with a table of covariates."""
    table = folder / f"{member.name}.cov"
    lines = [line.split() for line in member.bfile.with_suffix(".fam").read_text().splitlines()]
    rows = [f"{words[0]} {words[1]} {row(number, words)}" for number, words in enumerate(lines)]
    table.write_text("\n".join([f"FID IID {names}", *rows]) + "\n")
    return DataOptions(bfile=member.bfile, covar=table, one_class=True)


def shown(trial: Trial) -> Any:
    return trial.platform.call("GET", f"studies/{trial.id}")


def questions(trial: Trial) -> list[str]:
    """Return the titles of the questions that the cohorts were asked."""
    steps = trial.platform.call("GET", f"studies/{trial.id}/progress")["steps"]
    return [step["title"] for step in steps]


def test_a_pool_without_cases_ends_after_the_first_question(study: MakeStudy, tmp_path: Path) -> None:
    trial = study(files=["assoc"])
    for member in trial.members:
        rewritten(member, tmp_path, lambda number, words: [*words[:5], "1"])
    first, *others = trial.members
    engines = [each.engine(options=DataOptions(bfile=each.bfile, one_class=True)) for each in others]
    threads = [each.beside(engine) for each, engine in zip(others, engines, strict=True)]
    done = typed(*first.command("--yes", "--one-class")[3:])
    assert done.returncode == Exit.STUDY_ENDED
    assert done.stderr.count("there are no cases in the pool of all cohorts") == 1
    assert "Invite a cohort that has them" in done.stderr
    ended(*threads)
    found = shown(trial)
    assert (found["state"], found["refused_field"]) == ("failed", "phenotype")
    assert found["reason"].startswith("Count people: there are no cases in the pool")
    assert questions(trial) == ["Count people"]


SITE = {"name": "diet", "levels": ["chow", "fat"]}
LOGISTIC = {"test": "logistic", "files": ["assoc"]}
AT_HOME: dict[str, tuple[dict[str, Any], str, Row, tuple[str, str, str]]] = {
    "too few people": ({"min_samples": 90}, "", lambda number, words: "", ("floor", "", "min_samples")),
    "too few cases": (
        {"min_per_class": 60}, "", lambda number, words: "", ("floor-per-class", "", "min_per_class"),
    ),
    "no such column": (
        LOGISTIC | {"covariates": ["age"]}, "Age", lambda number, words: str(number),
        ("no-column", "age", "covariates"),
    ),
    "no value": (
        LOGISTIC | {"covariates": ["age"]}, "age", lambda number, words: "NA",
        ("no-values", "age", "covariates"),
    ),
    "no level of the plan": (
        LOGISTIC | {"covariates": [SITE]}, "diet", lambda number, words: "fat" if number % 2 else "Chow",
        ("level", "diet", "covariates"),
    ),
    "no such variant": (
        LOGISTIC | {"condition": ["rs-nowhere"]}, "", lambda number, words: "",
        ("no-variant", "rs-nowhere", "condition"),
    ),
    "words for numbers": (
        LOGISTIC | {"covariates": ["age"]}, "age", lambda number, words: "old" if number == 3 else "44",
        ("values", "age", "covariates"),
    ),
}  # fmt: skip
"""The plan, what the cohort's table has, and the code, name and field that the coordinator gets."""


def test_a_cohort_with_nobody_of_the_plans_sex_says_so(study: MakeStudy, tmp_path: Path) -> None:
    trial = study(sexes="females")
    member, *others = trial.members
    rewritten(member, tmp_path, lambda number, words: [*words[:4], "1", words[5]])
    threads = [other.beside() for other in others]
    last = member.run(member.engine(options=DataOptions(bfile=member.bfile)))
    assert isinstance(last, Failed) and (last.told_server, last.told_name) == ("no-such-sex", "")
    (row_of,) = (each for each in shown(trial)["cohorts"] if each["name"] == member.name)
    assert row_of["problem_field"] == "sexes"
    assert questions(trial) == []
    trial.abort(*threads)


@pytest.mark.parametrize("name", AT_HOME)
def test_what_a_cohort_sees_at_home_is_told_before_anything_is_sent(
    name: str, study: MakeStudy, tmp_path: Path
) -> None:
    plan, columns, row, told = AT_HOME[name]
    trial = study(**plan)
    member, *others = trial.members
    threads = [other.beside() for other in others]
    options = DataOptions(bfile=member.bfile)
    if columns:
        options = replace(with_covariates(member, tmp_path, columns, row), one_class=False)
    last = member.run(member.engine(options=options))
    assert isinstance(last, Failed)
    assert (last.exit, last.told_server, last.told_name) == (Exit.DATA, *told[:2])
    found = shown(trial)
    (row_of,) = (each for each in found["cohorts"] if each["name"] == member.name)
    assert (row_of["problem"], row_of["problem_name"], row_of["problem_field"]) == told
    assert row_of["problem_message"] and row_of["problem_remedy"]
    assert found["state"] == "open" and not found["refused_field"]
    assert questions(trial) == []
    trial.abort(*threads)
