"""`unpooled-client columns`: what a person sees who chooses a phenotype and covariates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from unpooled.errors import DataProblem
from unpooled_client.commands.columns import columns
from unpooled_client.data.report import Report
from unpooled_client.data.seen import columns_of

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
