"""Studies whose dictionary nobody has listed, through the real platform: words are found, or stay codes."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from client_trials import Member, Platform, Table, Trial, ended, make_trial

from unpooled.described.what_leaves import CODES
from unpooled.protocol.problems import Problem
from unpooled_client.state import ledger
from unpooled_client.state.events import Failed, Finished, ReleaseNeeded, ReviewNeeded, Sent

COHORTS, ROWS, MOST = 3, 60, 48
SCHEMA = [
    {"name": "patient", "type": "text"},
    {"name": "drug", "type": "category", "encoding": "one-hot", "most": MOST},
    {"name": "ward", "type": "category", "encoding": "frequency", "most": MOST},
]
WORDS = ["aspirin", "Ibuprofen", "ü", 'say "hi"', "1,5", *(f"drug {k}" for k in range(30))]


class OfWords(Table):
    @property
    def words(self) -> list[list[str]]:
        with self.bfile.open(newline="") as file:
            return [row[1:] for row in list(csv.reader(file))[1:]]


@pytest.fixture
def study(platform: Platform, tmp_path: Path) -> Callable[..., Trial]:
    def make(**changes: Any) -> Trial:
        random = np.random.default_rng(5)
        tables = [tmp_path / f"cohort{number}" / "table.csv" for number in range(1, COHORTS + 1)]
        for number, path in enumerate(tables, 1):
            path.parent.mkdir()
            write(path, random, number)
        plan: dict[str, Any] = {"test": "encode", "phenotype": "", "schema": SCHEMA, **changes}
        return make_trial(platform, tables, tmp_path, kind=OfWords, **plan)

    return make


def write(path: Path, random: np.random.Generator, number: int) -> None:
    share = random.dirichlet(np.full(len(WORDS), 0.4))
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["patient", "drug", "ward"])
        for k in range(ROWS):
            drug = random.choice(WORDS, p=share) if random.random() > 0.1 else ""
            out.writerow([f"p{number}-{k}", drug, random.choice(["icu", "er", f"only {number}"])])


def passing(trial: Trial, column: int) -> dict[str, int]:
    """The words that ten people in two cohorts have, with their counts."""
    counts = [Counter(row[column] for row in member.words if row[column]) for member in trial.members]
    total, holders = sum(counts, Counter()), Counter(word for count in counts for word in count)
    return {word: n for word, n in total.items() if n >= 10 and holders[word] >= 2}


def encoding(member: Member) -> list[dict[str, Any]]:
    found: dict[str, Any] = json.loads((member.out / "study.encoding.json").read_text(encoding="utf-8"))
    return found["columns"]


def encoded(member: Member) -> dict[str, list[str]]:
    with member.bfile.with_name("table.encode.csv").open(newline="") as file:
        head, *rows = csv.reader(file)
    return dict(zip(head, map(list, zip(*rows, strict=True)), strict=True))


def test_words_are_found_and_each_table_is_encoded(trial: Trial) -> None:
    trial.run_all()
    for member in trial.members:
        for place, column in enumerate(encoding(member)):
            want = passing(trial, place)
            assert sorted([*column["values"], *column["folded"]]) == sorted(want)
            counts = dict(zip(column["values"], column["counts"], strict=True))
            assert counts == {word: want[word] for word in counts}
        of_drug, table = encoding(member)[0]["values"], encoded(member)
        for word in of_drug:
            assert table[f"drug={word}"] == [str(int(row[0] == word)) for row in member.words]
        sent = [entry.bytes for entry in ledger.read(member.state.ledger) if entry.quantity.startswith(CODES)]
        assert sent == [32 * MOST] * 2


def test_words_that_stay_codes_encode_each_table_the_same_way(study: Callable[..., Trial]) -> None:
    trial = study(spelled="own")
    trial.run_all()
    of_word: dict[str, set[str]] = {}
    for member in trial.members:
        table, values = encoded(member), encoding(member)[0]["values"]
        assert all(value.startswith("code ") for value in values)
        assert sorted(encoding(member)[0]["counts"]) == sorted(passing(trial, 0).values())
        for value in values:
            rows = [place for place, cell in enumerate(table[f"drug={value}"]) if cell == "1"]
            for place in rows:
                of_word.setdefault(member.words[place][0], set()).add(value)
    assert set(of_word) == set(passing(trial, 0))
    assert all(len(codes) == 1 for codes in of_word.values())


def test_a_client_that_is_stopped_after_its_words_went_out_has_the_same_codes(
    trial: Trial,
) -> None:
    first, *others = trial.members
    threads = [member.beside() for member in others]
    engine = first.engine()
    for event in engine.run():
        if isinstance(event, Sent) and event.quantity.startswith(CODES):
            engine.stop()
        elif isinstance(event, ReviewNeeded | ReleaseNeeded):
            engine.accept(event)
    assert isinstance(first.run(), Finished)
    ended(*threads)
    assert sorted(passing(trial, 0)) == sorted([*encoding(first)[0]["values"], *encoding(first)[0]["folded"]])


def test_more_different_words_than_the_plan_lets_a_cohort_have_are_told_to_the_coordinator(
    trial: Trial,
) -> None:
    """The number is in the plan: who only hears of a problem in somebody's file cannot raise it."""
    *others, wrong = trial.members
    threads = [member.beside() for member in others]
    table = wrong.bfile.read_text()
    wrong.bfile.write_text(table + "".join(f"p-{k},another drug {k},icu\n" for k in range(MOST)))
    failed = wrong.run()
    assert isinstance(failed, Failed)
    assert (failed.told_server, failed.told_name) == (Problem.VALUES.value, "drug")
    wrong.bfile.write_text(table)
    assert isinstance(wrong.run(), Finished)
    ended(*threads)
