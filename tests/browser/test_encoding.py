"""A study of encodings in the browser: columns of words in the form, and dictionaries in the results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect

from unpooled.encoder import Encoder

from ..conftest import Rehearse
from ..federation import Cohort
from .conftest import Site
from .pages import Pages
from .studies import NAMES, all_end, begin_study, create, run_all

SCHEMA = """name,type,encoding,values
smoking,category,ordinal,never|former|current
ward,category,target:days,A|B|roof
days,number
"""


@pytest.fixture
def tables(tmp_path: Path) -> list[Path]:
    random = np.random.default_rng(6)
    paths = [tmp_path / f"{name}.csv" for name in NAMES]
    for path in paths:
        table = {
            "smoking": random.choice(["never", "former", "current", "cigars"], 90),
            "ward": random.choice(["A", "B", "C"], 90),
            "days": random.integers(1, 30, 90),
        }
        pd.DataFrame(table).to_csv(path, index=False)
    return paths


def test_a_study_of_encodings_to_its_files(
    administrator: Pages,
    site: Site,
    clients: list[Cohort],
    tables: list[Path],
    rehearse: Rehearse,
    tmp_path: Path,
) -> None:
    pages = administrator
    begin_study(pages, "Wards")
    pages.choose("Tables")
    pages.choose("Encoding of columns of words")
    (tmp_path / "schema.csv").write_text(SCHEMA)
    take = pages.page.get_by_label("Or take them from a CSV file")
    take.set_input_files(tmp_path / "schema.csv")
    values = pages.page.get_by_label("Values", exact=True)
    expect(values.first).to_have_value("never\nformer\ncurrent")
    expect(pages.page.get_by_label("Encoding", exact=True).nth(1)).to_have_value("target")
    expect(pages.page.get_by_label("Column of the target, of numbers or 0 and 1")).to_have_value("days")
    pages.fill("Column of the target, of numbers or 0 and 1", "nights")
    pages.press("Create study")
    pages.sees("its target nights is no column of numbers of this schema")
    pages.fill("Column of the target, of numbers or 0 and 1", "days")
    (tmp_path / "wards.txt").write_text("A\tsurgery\nB\nroof\n")
    pages.page.get_by_label("Or take them from a file, one value on each line:").nth(1).set_input_files(
        tmp_path / "wards.txt"
    )
    pages.sees("3 values")
    pages.look("new-study-encoding")
    create(pages, "Wards")
    run_all(pages, site, clients, tmp_path, tables)
    pages.follow("Plan")
    pages.sees("smoking (ordinal, of never, former, current)")
    pages.follow("Privacy and traffic")
    pages.sees("how many people of the pool have each kept value")
    pages.follow("Results")
    wards = pages.page.get_by_role("table", name="Values of ward")
    expect(wards.get_by_role("row")).to_have_count(4)  # heads, A, B, and the rest
    pages.sees("1 value of the plan has too few people")
    pages.look("done-encoding")
    found = pages.download("wards.encoding.json", tmp_path / "downloads")
    flags = [word for table in tables for word in ("--table", table)]
    rehearse(
        "--encode", "--schema", tmp_path / "schema.csv", *flags, "--min-samples", 20, "--out", tmp_path / "w"
    )
    assert found.read_bytes() == (tmp_path / "w.encoding.json").read_bytes()
    assert Encoder.from_file(found).get_feature_names_out().tolist() == ["smoking", "ward"]
    all_end(clients)
