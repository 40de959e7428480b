"""`unpooled-client check` as a person or a script meets it."""

from __future__ import annotations

import dataclasses
import io
import json
import socket
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from unpooled_client.data.check_command import check
from unpooled_client.data.cohort import open_cohort
from unpooled_client.data.options import (
    Covariate,
    DataOptions,
    data_options,
    options_from,
    plan_options,
)
from unpooled_client.data.show import show


def run(files: Any, *arguments: str) -> Result:
    return CliRunner().invoke(check, ["--bfile", str(files.folder / "t"), *arguments])


def test_a_sound_cohort(files: Any) -> None:
    result = run(files)
    assert result.exit_code == 0
    assert "Ready: no errors" in result.output
    assert "cases 30, controls 30" in result.output


def test_a_spoiled_cohort(files: Any) -> None:
    (files.folder / "t.bim").write_text("1 rs1 0 1.5 A G\n1 rs2 0 2 A G\n1 rs3 0 3 A G\n")
    result = run(files)
    assert result.exit_code == 1
    assert f"error: {files.folder / 't.bim'}:1:4: the position is not a whole number" in result.output
    assert "    read: 1.5\n" in result.output
    assert "    remedy: Write the position" in result.output
    assert "Not ready: 1 error to mend" in result.output


def test_json(files: Any) -> None:
    result = run(files, "--json", "--keep", str(files.folder / "gone"))
    assert result.exit_code == 1
    told = json.loads(result.output)
    assert told["ok"] is False
    assert told["findings"][0]["code"] == "file-missing"
    assert told["findings"][0]["severity"] == "error"
    assert told["summary"]["samples"]["kept"] == 60


def test_on_a_terminal(files: Any) -> None:
    (files.folder / "t.fam").write_text((files.folder / "t.fam").read_text().replace(" 0 0 1 ", " 0 0 M "))
    _, report = open_cohort(files.options())
    out = io.StringIO()
    show(report, Console(file=out, force_terminal=True, width=200))
    assert "! warning" in out.getvalue()
    assert "sex-unknown" in out.getvalue()


def test_nothing_is_sent(files: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert run(files).exit_code == 0


def read(arguments: list[str]) -> DataOptions:
    """The options that a command line gives."""
    seen: list[DataOptions] = []

    @click.command()
    @data_options
    @plan_options
    def command(**given: Any) -> None:
        seen.append(options_from(given))
        assert not given

    result = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return seen[0]


def test_every_option_can_be_given() -> None:
    assert read([]) == DataOptions()
    words = (
        "--bfile A --bed B --bim C --fam D --pheno E --mpheno 2 --pheno-name n --covar F --covar-name a,b-c "
        "--covar-name d --covar-number 1,2-3 --keep G --remove H --extract I --exclude J "
        "--missing-phenotype -8 --1 --allow-no-sex --chr-set 19 "
        "--min-samples 5 --min-per-class 0 --one-class --trait quantitative --categorical s=x,y"
    )
    options = read(words.split())
    assert options.covar_name == ("a", "b-c", "d")
    assert options.covar_number == ("1", "2-3")
    assert options.covariates == (Covariate("s", ("x", "y")),)
    assert str(options.file("bed")) == "B"
    default = DataOptions()
    same = {
        f.name for f in dataclasses.fields(options) if getattr(options, f.name) == getattr(default, f.name)
    }
    assert same == {
        "build",
        "chromosomes",
        "schema",
        "from_plan",
        "table",
    }  # a plan decides, or it is a table


@pytest.mark.parametrize("word", ["site", "site=", "site=a", "=a,b", "site=a,a", "site=a,,b"])
def test_levels_that_are_none(files: Any, word: str) -> None:
    result = run(files, "--categorical", word)
    assert result.exit_code == 2
    assert "NAME=LEVEL" in result.output


def test_a_table_is_checked_as_its_schema_says(tmp_path: Path) -> None:
    table, schema = tmp_path / "table.csv", tmp_path / "schema.csv"
    table.write_text("age,site\n" + "61,Graz\n" * 50)
    schema.write_text("name,type\nage,integer\nsite,text\n")
    found = CliRunner().invoke(check, ["--table", str(table), "--schema", str(schema)])
    assert found.exit_code == 0 and "rows 50, features 1" in found.output
    found = CliRunner().invoke(check, ["--table", str(table)])
    assert found.exit_code == 1
    assert f"{table}:2:2: the column site holds text (50 times) [value-text]" in found.output
