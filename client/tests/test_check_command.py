"""`unpooled-client check` and `columns` as a person or a script meets them, and what a shell completes."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import re
import shutil
import subprocess
import sys
from datetime import datetime
from html import unescape
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from unpooled.errors import DataProblem
from unpooled_client.commands.check import check
from unpooled_client.commands.columns import columns
from unpooled_client.commands.data_flags import data_options, plan_options
from unpooled_client.data.check_page import as_page
from unpooled_client.data.checks.data_checks import BINS
from unpooled_client.data.cohort import open_cohort
from unpooled_client.data.column_examples import columns_of
from unpooled_client.data.findings.report import Report
from unpooled_client.data.options import Covariate, DataOptions, options_from
from unpooled_client.data.show import as_text, show


def run(files: Any, *arguments: str) -> Result:
    return CliRunner().invoke(check, ["--bfile", str(files.folder / "t"), *arguments])


def test_a_sound_cohort(files: Any) -> None:
    result = run(files)
    assert result.exit_code == 0
    assert "Ready: no errors" in result.output
    assert "cases: 30\n    controls: 30\n" in result.output


def test_a_spoiled_cohort(files: Any) -> None:
    (files.folder / "t.bim").write_text("1 rs1 0 1.5 A G\n1 rs2 0 2 A G\n1 rs3 0 3 A G\n")
    result = run(files)
    assert result.exit_code == 1
    assert f"error: {files.folder / 't.bim'}:1:4: the position is not a whole number" in result.output
    assert "    read: 1.5\n" in result.output
    assert "    remedy: Write the position" in result.output
    assert "Not ready: 1 error to fix" in result.output


@pytest.mark.parametrize("ending", ["bed", "bim", "fam"])
def test_one_of_the_files_is_understood_as_their_prefix(files: Any, ending: str) -> None:
    result = CliRunner().invoke(check, ["--bfile", str(files.folder / f"t.{ending}")])
    assert result.exit_code == 0 and "Ready: no errors" in result.output


@pytest.mark.parametrize(
    ("option", "ending", "advice"),
    [
        ("bfile", "pgen", "goes with --pfile study"),
        ("pfile", "bed", "goes with --bfile study"),
        ("bfile", "vcf.gz", "goes with --vcf study.vcf.gz"),
        ("bfile", "ped", "plink1.9 --file study --make-bed --out study; then give --bfile study"),
        ("pfile", "ped", "plink1.9 --file study --make-bed --out study; then give --bfile study"),
    ],
)
def test_files_of_another_format_are_told_how_they_are_given(option: str, ending: str, advice: str) -> None:
    result = CliRunner().invoke(check, [f"--{option}", f"study.{ending}"])
    assert result.exit_code == 2
    assert advice in re.sub(r"[\s│]+", " ", result.output)


def test_the_files_that_were_probably_meant_are_named(tmp_path: Path) -> None:
    (tmp_path / "north.bed").touch()
    result = CliRunner().invoke(check, ["--bfile", str(tmp_path / "norht")])
    assert result.exit_code == 1 and "Did you mean north?" in result.output


def test_the_column_that_was_probably_meant_is_named(files: Any) -> None:
    (files.folder / "p").write_text("FID IID asthma age\nF0 I0 1 2\n")
    result = run(files, "--pheno", str(files.folder / "p"), "--pheno-name", "Astma")
    assert result.exit_code == 1 and "Did you mean asthma? Choose one of its columns" in result.output


@pytest.mark.parametrize(
    ("option", "values", "missing_as"),
    [
        ("--pheno", ("1", "2", "-9", "NA", "."), "-9: 12, .: 12, NA: 12"),
        ("--pheno --1", ("0", "1", "missing", "NULL"), "NULL: 15, missing: 15"),
        ("--pheno --missing-phenotype -99", ("1.5", "2.5", "3.25", "-99"), "-99: 15"),
    ],
)
def test_missing_values_are_told_as_they_are_written(
    files: Any, option: str, values: tuple[str, ...], missing_as: str
) -> None:
    (files.folder / "p").write_text("".join(f"F{k} I{k} {values[k % len(values)]}\n" for k in range(60)))
    first, *rest = option.split()
    said = run(files, first, str(files.folder / "p"), *rest, "--min-per-class", "0", "--min-samples", "1")
    assert said.exit_code == 0
    found = said.output.partition("missing as: ")[2].splitlines()[0]
    assert sorted(found.split(" · ")) == sorted(missing_as.split(", "))


def test_json(files: Any) -> None:
    result = run(files, "--json", "--keep", str(files.folder / "gone"))
    assert result.exit_code == 1
    told = json.loads(result.output)
    assert told["ok"] is False
    assert told["findings"][0]["code"] == "file-missing"
    assert told["findings"][0]["severity"] == "error"
    assert told["summary"]["samples"]["kept"] == 60


def test_a_page_to_keep(files: Any) -> None:
    """It has what the text has, whatever stands in the files; and the report comes back from its JSON."""
    covariates = "".join(f"F{k} I{k} {k} {'<b>&' if k == 3 else k % 2}\n" for k in range(60))
    (files.folder / "c").write_text("FID IID age <script>x</script>\n" + covariates)
    page = files.folder / "kept" / "check.html"
    result = run(files, "--covar", str(files.folder / "c"), "--json", "--html", str(page))
    assert result.exit_code == 1
    html = page.read_text("utf-8")
    assert "<script" not in html and "<b>" not in html
    report = Report.from_json(json.loads(result.output))
    assert as_page(report, datetime(2026, 1, 2)).count("<article>") == len(report.findings)
    said = re.sub(r"\s+", " ", unescape(re.sub("<[^>]*>", "", html)))
    for finding in report.findings:
        assert finding.message in said
        assert finding.remedy.replace("`", "") in said
    assert "cases30" in said and "not ready" in said and "1: 30, 2: 30" in said
    assert as_text(report).splitlines()[-1] in said


def test_a_page_never_takes_the_place_of_a_data_file(files: Any) -> None:
    before = (files.folder / "t.bim").read_bytes()
    result = run(files, "--html", str(files.folder / "t.bim"))
    assert result.exit_code == 2 and "is one of the data files" in result.output
    assert (files.folder / "t.bim").read_bytes() == before


def test_a_page_of_a_quantity_has_its_distribution(files: Any) -> None:
    (files.folder / "p").write_text("".join(f"F{k} I{k} {k}.5\n" for k in range(60)))
    page = files.folder / "check.html"
    assert run(files, "--pheno", str(files.folder / "p"), "--html", str(page)).exit_code == 0
    phenotype = page.read_text("utf-8").partition(">Phenotype<")[2].partition("</section>")[0]
    assert phenotype.count('<rect class="bar"') == BINS


def test_on_a_terminal(files: Any) -> None:
    (files.folder / "t.fam").write_text((files.folder / "t.fam").read_text().replace(" 0 0 1 ", " 0 0 M "))
    _, report = open_cohort(files.options())
    out = io.StringIO()
    show(report, Console(file=out, force_terminal=True, width=200))
    assert "! warning" in out.getvalue()
    assert "sex-unknown" in out.getvalue()


WATCHED = """
import os, runpy, sys

def watch(event, arguments):
    if event.startswith("socket."):
        os.write(2, f"{event}{arguments}".encode())
        os._exit(99)

sys.addaudithook(watch)
sys.argv = ["unpooled-client", *sys.argv[1:]]
"""
CHECK = "runpy.run_module('unpooled_client', run_name='__main__')"


def watched(program: str, *arguments: str) -> int:
    """The exit status of a program in a process of its own; 99 if it touches a socket."""
    command = [sys.executable, "-c", WATCHED + program, *arguments]
    return subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode


def test_no_socket_is_opened(files: Any) -> None:
    given = ["--bfile", str(files.folder / "t"), "--html", str(files.folder / "check.html")]
    assert watched(CHECK, "check", *given) == 0
    assert (files.folder / "check.html").exists()


def test_a_socket_would_be_seen() -> None:
    assert watched("import socket; socket.socket()") == 99


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
        "--bfile A --pfile Z --vcf V --vcf-dosage DS --bgen W --sample X --psam Y --copies K "
        "--bed B --bim C --fam D --pheno E --mpheno 2 --pheno-name n --covar F "
        "--covar-name a,b-c --covar-name d --covar-number 1,2-3 --keep G --remove H --extract I --exclude J "
        "--minimac3-r2-filter 0.3 --missing-phenotype -8 --1 --allow-no-sex --chr-set 19 "
        "--min-samples 5 --min-per-class 0 --one-class --trait quantitative --categorical s=x,y "
        "--by-place"
    )
    options = read(words.split())
    assert options.covar_name == ("a", "b-c", "d")
    assert options.covar_number == ("1", "2-3")
    assert options.covariates == (Covariate("s", ("x", "y")),)
    assert str(options.genotypes) == "V"
    default = DataOptions()
    same = {
        f.name for f in dataclasses.fields(options) if getattr(options, f.name) == getattr(default, f.name)
    }
    # A plan decides these, or there is a table.
    assert same == {
        *(
            "build",
            "chromosomes",
            "condition",
            "dosages",
            "from_plan",
            "phenotypes",
            "require_pheno",
            "schema",
        ),
        *("quality", "sexes", "table", "test"),
    }


@pytest.mark.parametrize("word", ["site", "site=", "site=a", "=a,b", "site=a,a", "site=a,,b"])
def test_levels_that_are_none(files: Any, word: str) -> None:
    result = run(files, "--categorical", word)
    assert result.exit_code == 2
    assert "NAME=LEVEL" in result.output


def test_a_search_of_words_is_estimated_beforehand(tmp_path: Path) -> None:
    """30,000 words of which 3,000 are here: at 0.3 ms for a point, and 0.1 ms for a code."""
    table, schema = tmp_path / "table.csv", tmp_path / "schema.csv"
    table.write_text("drug\n" + "".join(f"d{k}\n" for k in range(3_000)))
    schema.write_text("name,type,encoding,values\ndrug,category,one-hot,30000\n")
    found = CliRunner().invoke(check, ["--table", str(table), "--schema", str(schema)])
    wanted = (
        "codes of drug: about 9 s here and 3 s at the compensator, for each cohort; then up to 8 comparisons"
    )
    assert wanted in found.output


def test_a_table_foresees_every_column_that_a_model_is_refused_for(tmp_path: Path) -> None:
    """Were all three cohorts like this one: six people have it, and nine are far from the others."""
    table, schema = tmp_path / "table.csv", tmp_path / "schema.csv"
    rows = [f"{k},{int(k < 2)},{1e6 if k < 3 else k},{'yes' if k % 2 else 'no'}" for k in range(60)]
    table.write_text("\n".join(["age,rare,marker,died", *rows]) + "\n")
    schema.write_text("name,type,role,values\nage\nrare\nmarker\ndied,category,outcome,no|yes\n")
    found = CliRunner().invoke(check, ["--table", str(table), "--schema", str(schema)])
    assert found.exit_code == 0, found.output
    assert "the study would be refused: rare, marker: fewer than 10 people are above" in found.output
    assert "passes with the scaling yeo-johnson" in found.output
    for marker in (",ignored", ",,yeo-johnson"):
        schema.write_text(
            f"name,type,role,encoding,values\nage\nrare,,ignored\nmarker,{marker}\ndied,category,outcome,,no|yes\n"
        )
        found = CliRunner().invoke(check, ["--table", str(table), "--schema", str(schema)])
        assert "Ready: no errors" in found.output and "refused" not in found.output


def test_a_table_is_checked_as_its_schema_says(tmp_path: Path) -> None:
    table, schema = tmp_path / "table.csv", tmp_path / "schema.csv"
    table.write_text("age,site\n" + "61,Graz\n" * 50)
    schema.write_text("name,type\nage,integer\nsite,text\n")
    found = CliRunner().invoke(check, ["--table", str(table), "--schema", str(schema)])
    assert found.exit_code == 0
    told = ["rows: 50", "features: 1", "missing values: 0 (0.0%)", "the same in every row: age"]
    assert "\n    ".join(told) in found.output
    found = CliRunner().invoke(check, ["--table", str(table)])
    assert found.exit_code == 1
    assert f"{table}:2:2: the column site contains text (50 times) [value-text]" in found.output


N = 60


def listed(path: Path) -> list[dict[str, Any]]:
    result = CliRunner().invoke(columns, [str(path), "--json"], catch_exceptions=False)
    assert result.exit_code == 0
    return json.loads(result.output)["columns"]  # type: ignore[no-any-return]


def plink(*values: str) -> str:
    """A table with the values, in turn, as its one column."""
    return "FID IID x\n" + "".join(f"F{k} I{k} {values[k % len(values)]}\n" for k in range(N))


@pytest.mark.parametrize(
    ("values", "kind", "missing", "seen", "hint"),
    [
        (("1", "2", "-9"), "case/control", 20, ["1 (20)", "2 (20)"], "1 control, 2 case, 0 missing"),
        (("0", "1"), "case/control", 0, ["0 (30)", "1 (30)"], "0 control, 1 case (--1)"),
        (("a", "b", "NA"), "category", 20, ["a (20)", "b (20)"], "--categorical x=a,b"),
        (("3", "4", "5"), "number", 0, ["3 (20)", "4 (20)", "5 (20)"],
         "if a category: --categorical x=3,4,5"),
        (("1.5", "2.5", "3.5", "-99"), "number", 0, ["1.5 (15)", "2.5 (15)", "3.5 (15)", "-99 (15)"],
         "-99 looks like a missing value: --missing-phenotype -99"),
        (("1.5", "2.5", "unknown"), "number", 0, ["1.5 (20)", "2.5 (20)", "unknown (20)"],
         "not a number: unknown"),
        (("7",), "constant", 0, ["7 (60)"], ""),
        (("NA", "."), "empty", 60, [], ""),
        (tuple(f"p{k}" for k in range(N)), "text", 0, ["p0", "p1", "p2", "p3", "p4"], ""),
    ],
)  # fmt: skip
def test_what_a_column_seems_to_be(
    tmp_path: Path, values: tuple[str, ...], kind: str, missing: int, seen: list[str], hint: str
) -> None:
    (tmp_path / "p").write_text(plink(*values))
    expected = {"number": 1, "name": "x", "type": kind, "missing": missing, "values": seen, "hint": hint}
    assert listed(tmp_path / "p") == [expected]


def test_columns_are_numbered_as_mpheno_counts_them(files: Any) -> None:
    (files.folder / "p").write_text("".join(f"F{k} I{k} 7 {k}.5 {1 + k % 2}\n" for k in range(N)))
    found = listed(files.folder / "p")
    assert [(column["number"], column["name"]) for column in found] == [(1, ""), (2, ""), (3, "")]
    for column in found[1:]:
        about = files.check(pheno="p", mpheno=column["number"]).summary["phenotypes"][0]
        assert (about["trait"] == "case/control") == (column["type"] == "case/control")


CELLS = {"age": [61, 7, None], "site": ["Graz", "a,b", None], "none": [None, None, None]}


@pytest.mark.parametrize("kind", ["CSV", "Parquet"])
def test_columns_of_a_table(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "table"
    if kind == "CSV":
        path.write_text('age,site,none\n61,Graz,\n7,"a,b",NA\n,,null\n')
    else:
        pq.write_table(pa.table(CELLS | {"none": pa.array([float("nan"), None, None])}), path)
    found = columns_of(path, Report())
    assert found is not None and (found.kind, found.rows) == (kind, 3)
    assert [(c.name, c.type, c.missing, c.values) for c in found.columns] == [
        ("age", "number", 1, ("61", "7")),
        ("site", "category", 1, ("Graz", "a,b")),
        ("none", "empty", 3, ()),
    ]


def test_lines_between_tabs(tmp_path: Path) -> None:
    (tmp_path / "p").write_text("#IID age\nI1 5\nI2 NA\nI3\n")
    result = CliRunner().invoke(columns, [str(tmp_path / "p")])
    assert result.output == "number\tname\ttype\tmissing\tvalues\thint\n1\tage\tconstant\t2\t5\t\n"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty"),
        (b"\n \n", "no rows"),
        (b"PK\3\4", "spreadsheet"),
        (b"a,b\n1\n", "CSV"),
        (b"PAR1", "Parquet"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "p").write_bytes(content)
    with pytest.raises(DataProblem, match=says):
        CliRunner().invoke(columns, [str(tmp_path / "p")], catch_exceptions=False)


# compopt, which says "file names, please", only works while bash itself completes.
ASK = r"""
source /dev/stdin <<< "$(unpooled-client completion bash)"
compopt() { echo "$2"; }
ask() {
    COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); COMPREPLY=()
    echo "> $*"
    _unpooled_client_completion unpooled-client
    printf '%s\n' "${COMPREPLY[@]}"
}
"""
WANTED = {
    "unpooled-client do": {"doctor"},
    "unpooled-client check --phen": {"--pheno", "--pheno-name"},
    "unpooled-client run inv": {"default"},
    "unpooled-client join --state x": {"dirnames"},
}


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Environment with a path on which the program lies."""
    program = tmp_path / "unpooled-client"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m unpooled_client "$@"\n')
    program.chmod(0o755)
    return os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}


@pytest.mark.skipif(shutil.which("bash") is None or os.name == "nt", reason="needs bash")
def test_bash_completes_commands_options_and_names_of_files(environment: dict[str, str]) -> None:
    script = ASK + "\n".join(f"ask {words}" for words in WANTED)
    command = ["bash", "--norc", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    answers = [answer.split("\n") for answer in done.stdout.removeprefix("> ").split("\n> ")]
    found = {words: {line for line in lines if line} for words, *lines in answers}
    found = {words: lines - {"x", "inv"} for words, lines in found.items()}  # what was typed
    assert found == WANTED, done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_first_line_says_how_to_install_it(shell: str) -> None:
    command = [sys.executable, "-m", "unpooled_client", "completion", shell]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    first, *script = done.stdout.splitlines()
    assert first.startswith("# ") and f"unpooled-client completion {shell}" in first
    assert any("_UNPOOLED_CLIENT_COMPLETE" in line for line in script)


def test_names_of_commands_are_completed_without_loading_them() -> None:
    asked = {"_UNPOOLED_CLIENT_COMPLETE": "zsh_complete", "COMP_WORDS": "unpooled-client ", "COMP_CWORD": "1"}
    code = (
        "import sys\nfrom unpooled_client.commands.cli import main\n"
        "try: main()\nfinally: print(*sys.modules, file=sys.stderr)"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | asked)
    assert "Check data files offline" in done.stdout
    assert not set(done.stderr.split()) & {"numpy", "httpx", "rich", "cryptography"}
