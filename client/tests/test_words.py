"""Columns of words at a cohort: read, looked at, and written encoded."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unpooled.fitted.encoder import Encoder
from unpooled.plan.plan import NO_KEY, Plan
from unpooled.plan.schema import Column
from unpooled.protocol.problems import Problem
from unpooled_client.data.findings.report import Code, Report, Severity
from unpooled_client.data.show import as_text
from unpooled_client.data.tables import open_table
from unpooled_client.data.tables.categories import WORDS
from unpooled_client.data.tables.encoded import suffix_of, write_encoded
from unpooled_client.study.problems import what_is_told

SMOKING = Column("smoking", "category", "", "ordinal", ("never", "former"))
SCHEMA = (Column("id", "text"), SMOKING, Column("died", "integer"))
HEADER = "id,smoking,died\n"


def checked(path: Path, schema: tuple[Column, ...] = SCHEMA, **more: Any) -> Report:
    open_table(path, schema, 1, report := Report(), **more)
    return report


def written(tmp_path: Path, words: list[str]) -> Path:
    path = tmp_path / "table.csv"
    with path.open("w", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(["id", "smoking", "died"])
        lines.writerows([str(k), word, k % 2] for k, word in enumerate(words))
    return path


def codes(report: Report) -> list[Code]:
    return [finding.code for finding in report.findings]


def test_words_and_what_is_missing(tmp_path: Path) -> None:
    path = written(tmp_path, ["never", "", "NA", " former ", "never", "a,\nb"])
    table = open_table(path, SCHEMA, 1, report := Report())
    assert table is not None and report.ok
    words = table.words["smoking"]
    assert [words.values[code] if code >= 0 else None for code in words.codes] == [
        *("never", None, None, " former ", "never", "a,\nb")
    ]
    (about,) = report.summary[WORDS]
    assert about["values"]["never"] == 2 and about["missing"] == 2
    assert about["rows of values that the plan does not list"] == 1
    assert "words of smoking:\n    encoding: ordinal\n    values: never: 2" in as_text(report)


def test_more_different_words_than_a_search_allows(tmp_path: Path) -> None:
    schema = (SCHEMA[0], Column("smoking", "category", "", "one-hot", most=2), SCHEMA[2])
    report = checked(written(tmp_path, ["a", "b", "a ", "c", "w" * 49]), schema)
    (many, long) = report.findings
    assert (many.code, many.severity) == (Code.WORDS_TOO_MANY, Severity.ERROR)
    assert "3 different words, and the plan looks for 2 at most" in many.message
    assert "identifiers" in many.remedy
    assert (long.code, long.severity) == (Code.WORD_LONG, Severity.WARNING)
    assert "1 rows of smoking have a word that is too long" in long.message
    assert checked(written(tmp_path, ["a", "b", "a "]), schema).ok


def test_words_of_a_table_that_only_the_slow_reader_reads(tmp_path: Path) -> None:
    path = written(tmp_path, ["never", "x" * 5_000_000, "former"])
    table = open_table(path, SCHEMA, 1, Report())
    assert table is not None
    assert [len(word) for word in table.words["smoking"].values] == [5, 5_000_000, 6]


@pytest.mark.parametrize(
    ("words", "code", "severity", "said"),
    [
        (["Never", "FORMER"], Code.WORD_NONE_LISTED, Severity.ERROR, "no value of smoking is one"),
        (["never", "Former"], Code.WORD_UNLISTED, Severity.WARNING, "1 rows of smoking have a value"),
        (["never", "Never", "ne ver"], Code.WORD_ALIKE, Severity.WARNING, "differ in case or blanks only"),
        (["never", "NULL", "None", "n/a", "#N/A", "<NA>"], Code.WORD_MISSING, Severity.WARNING, "5 rows"),
        ([f"never{k}" for k in range(30)] + ["never"], Code.WORD_IDENTIFIER, Severity.WARNING, "identifier"),
        (["never", *["he does not say what he smokes"] * 3, *["she does not want to say anything"] * 3],
         Code.WORD_FREE_TEXT, Severity.WARNING, "free text"),
        ([""] * 3, Code.COLUMN_EMPTY, Severity.WARNING, "every value of smoking is missing"),
    ],
)  # fmt: skip
def test_what_looks_wrong(
    tmp_path: Path, words: list[str], code: Code, severity: Severity, said: str
) -> None:
    report = checked(written(tmp_path, words))
    (found,) = (finding for finding in report.findings if finding.code == code)
    assert found.severity == severity and said in found.message and found.remedy
    assert report.ok == (severity != Severity.ERROR)


def test_the_server_is_told_of_a_column_without_any_listed_value(tmp_path: Path) -> None:
    plan = Plan("encode", "", 3, NO_KEY, trait="none", panel_mode="none", files=("encoding",), schema=SCHEMA)
    report = checked(written(tmp_path, ["Never", "FORMER"]))
    assert what_is_told(report, plan) == (Problem.LEVEL, "smoking")


def test_the_remedy_names_the_value_that_is_meant(tmp_path: Path) -> None:
    report = checked(written(tmp_path, ["never", "Former", "Former"]))
    (found,) = (finding for finding in report.findings if finding.code == Code.WORD_UNLISTED)
    assert "“former” for “Former”" in found.remedy


def test_case_that_is_ignored_is_no_fault(tmp_path: Path) -> None:
    path = written(tmp_path, ["Never", "FORMER", "never"])
    assert codes(checked(path, ignore_case=True)) == []
    assert Code.WORD_NONE_LISTED not in codes(checked(path)) and Code.WORD_UNLISTED in codes(checked(path))


def test_words_are_not_looked_at_where_nothing_is_encoded(tmp_path: Path) -> None:
    assert codes(checked(written(tmp_path, ["Never", "FORMER"]), reads_words=lambda column: False)) == []


def test_words_of_parquet(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    columns = {
        "plain": pa.array(["a", None, " "]),
        "coded": pa.array(["a", None, "b"]).dictionary_encode(),
        "whole": pa.array([1, None, 2]),
        "floating": pa.array([1.0, np.nan, 2.5]),
        "flag": pa.array([True, None, False]),
    }
    pq.write_table(pa.table(columns), path)
    schema = tuple(Column(title, "category", "", "hash:4") for title in columns)
    table = open_table(path, schema, 1, Report())
    assert table is not None
    assert {title: words.values for title, words in table.words.items()} == {
        "plain": ("a",),
        "coded": ("a", "b"),
        "whole": ("1", "2"),
        "floating": ("1", "2.5"),
        "flag": ("true", "false"),
    }


def test_lists_are_no_words(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table({"lists": [["a"], ["b"]]}), path)
    report = checked(path, (Column("lists", "category", "", "hash:4"),))
    (found,) = report.findings
    assert found.code == Code.WORD_TYPE and "contains no words" in found.message


def encoder(values: list[str], encoding: str = "one-hot") -> Encoder:
    column = {"name": "smoking", "encoding": encoding, "values": values, "folded": []}
    return Encoder(
        {
            "format": "unpooled/encoding",
            "version": 1,
            "missing_words": "missing",
            "ignore_case": False,
            "columns": [column],
        }
    )


def encoded(path: Path, made: Encoder, schema: tuple[Column, ...] = SCHEMA) -> Path:
    table = open_table(path, schema, 1, Report())
    assert table is not None
    target = path.with_name("encoded").with_suffix(suffix_of(path, made))
    write_encoded(path, target, schema, table.words, made, None)
    return target


def test_an_encoded_csv_keeps_all_else(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(b'id,smoking,died\r\n"a,1",never,1\r\n02,,0\r\n3,cigars,\r\n')
    target = encoded(path, encoder(["never", 'a "b", c']))
    assert target.read_bytes() == (
        b'id,smoking=never,"smoking=a ""b"", c",smoking=(rest),died\r\n'
        b'"a,1",1,0,0,1\r\n02,0,0,0,0\r\n3,0,0,1,\r\n'
    )
    assert encoded(path, encoder(["never"], "ordinal")).read_bytes() == (
        b'id,smoking,died\r\n"a,1",0,1\r\n02,,0\r\n3,1,\r\n'
    )


def test_more_than_200_columns_become_parquet(tmp_path: Path) -> None:
    words = [f"w{k % 300}" for k in range(900)]
    path, made = written(tmp_path, words), encoder([f"w{k}" for k in range(299)])
    listed = Column("smoking", "category", "", "one-hot", tuple(f"w{k}" for k in range(299)))
    target = encoded(path, made, (SCHEMA[0], listed, SCHEMA[2]))
    assert target.suffix == ".parquet"
    frame = pd.read_parquet(target)
    assert frame.shape == (900, 302) and frame["id"][7] == "7" and frame["died"].sum() == 450
    assert np.array_equal(frame.filter(like="smoking=").to_numpy().argmax(axis=1), np.arange(900) % 300)


def test_parquet_stays_parquet(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    pq.write_table(
        pa.table({"id": ["a", "b", "c"], "smoking": ["never", None, "x"], "died": [1, 0, None]}), path
    )
    found = pq.read_table(encoded(path, encoder(["never"], "ordinal")))
    assert found.column_names == ["id", "smoking", "died"]
    assert found.column("smoking").to_pylist() == [0.0, None, 1.0]
    assert found.schema.field("died").type == pa.int64()


@settings(max_examples=60)
@given(st.lists(st.text(max_size=6).filter(lambda word: "\0" not in word), min_size=1, max_size=12))
def test_any_word_is_encoded_as_the_encoder_does_in_memory(tmp_path: Path, words: list[str]) -> None:
    path = tmp_path / "table.csv"
    with path.open("w", newline="", encoding="utf-8", errors="surrogatepass") as file:
        try:
            lines = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
            lines.writerows([["id", "smoking", "died"], *([k, word, 1] for k, word in enumerate(words))])
        except UnicodeEncodeError:
            return
    schema = (Column("id", "text"), Column("smoking", "category", "", "ngrams:16"), Column("died"))
    table = open_table(path, schema, 1, report := Report())
    if table is None:
        assert report.findings  # such as a lone surrogate
        return
    parameters = {**encoder([]).parameters, "columns": [{"name": "smoking", "encoding": "ngrams:16"}]}
    target = path.with_name("encoded.csv")
    write_encoded(path, target, schema, table.words, Encoder(parameters), None)
    found = pd.read_csv(target).filter(like="smoking#").to_numpy()
    missing = {"", "NA", "N/A", "NaN", "nan", "null"}
    cells = [None if word.strip() in missing else word for word in words]
    assert np.array_equal(found, Encoder(parameters).transform(np.array([[cell] for cell in cells], object)))
