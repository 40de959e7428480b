"""A study of encodings through the real platform; one cohort's mistake is mended by that cohort alone."""

from __future__ import annotations

import csv
import json
import os
import stat
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from client_trials import Member, Platform, Trial

from tests.patience import PATIENCE
from unpooled.encoder import Encoder
from unpooled.protocol.invitation import Invitation
from unpooled.protocol.problems import Problem
from unpooled_client.data.options import DataOptions
from unpooled_client.data.report import Code
from unpooled_client.state.events import Checked, Failed, Finished, Proposal, ReleaseNeeded, Transformed
from unpooled_client.words.sentences import leaves, lines

LEVELS = ["never", "former", "current"]
SCHEMA = [
    {"name": "smoking", "type": "category", "encoding": "one-hot", "levels": LEVELS},
    {"name": "ward", "type": "category", "encoding": "target:days", "levels": ["A", "B"]},
    {"name": "days", "type": "number"},
]


class Table(Member):
    def engine(self, **changes: object) -> object:  # type: ignore[override]
        return super().engine(**({"options": DataOptions(table=self.bfile)} | changes))


def write(path: Path, seed: int, prefix: str = "") -> None:
    random = np.random.default_rng(seed)
    with path.open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["smoking", "ward", "days"])
        for _ in range(120):
            smoking = prefix + str(random.choice([*LEVELS, "cigars"]))
            out.writerow([smoking, random.choice([*"ABC"]), random.integers(1, 30)])


@pytest.fixture
def study(platform: Platform, tmp_path: Path) -> Trial:
    plan = {"test": "encode", "cohorts": 3, "schema": SCHEMA, "folds": 2, "file_stem": "study"}
    made = platform.call("POST", "studies", json={"name": "words", "plan": plan})["id"]
    members: list[Member] = []
    for number in (1, 2, 3):
        path = tmp_path / f"cohort{number}" / "table.csv"
        path.parent.mkdir()
        write(path, number)
        text = platform.call("POST", f"studies/{made}/invitations", json={"cohort": f"cohort{number}"})
        invitation = Invitation.from_text(text["invitation"])
        members.append(Table(f"cohort{number}", invitation, path, path.parent))
    return Trial(platform, made, members)


def test_rows_are_encoded_by_the_other_fold(study: Trial) -> None:
    study.run_all()
    member = study.members[0]
    (told,) = member.told(Transformed)
    assert told.what == "encoded table" and Path(told.file) == member.bfile.with_name("table.encode.csv")
    assert os.name == "nt" or stat.S_IMODE(Path(told.file).stat().st_mode) == 0o600
    encoder = Encoder.from_file(member.out / "study.encoding.json")
    mine, made = pd.read_csv(member.bfile), pd.read_csv(told.file)
    wards = json.loads((member.out / "study.encoding.json").read_text())["columns"][1]
    by_fold = [{**dict(zip(wards["values"], one["encoded"], strict=True)), "C": one["rest_encoded"]}
               for one in wards["folds"]]  # fmt: skip
    found = made["ward"].to_numpy()
    matches = np.array([[fold[ward] for ward in mine["ward"]] for fold in by_fold]) == found
    assert (matches.sum(axis=0) == 1).all() and matches.sum(axis=1).tolist() == [60, 60]
    one_hot = encoder.transform(mine[["smoking", "ward"]])[:, :4]
    assert np.array_equal(made.iloc[:, :4].to_numpy(), one_hot)
    own = (member.out / "study.own-against-pool.tsv").read_text()
    assert "share of never\t" in own
    said = "\n".join(line for event in member.told(ReleaseNeeded) for line in leaves(event.leaves))
    assert "per kept value, the rest of each column" in " ".join(said.split())
    read = "\n".join(line for event in member.told(Proposal) for line in lines(event))
    assert "smoking (one-hot, of never, former, current)" in " ".join(read.split())


def test_a_cohort_with_other_codes_mends_its_table_and_nobody_else_does_anything(study: Trial) -> None:
    *others, wrong = study.members
    write(wrong.bfile, 3, "smoking: ")
    threads = [member.beside() for member in others]
    last = wrong.run()
    assert isinstance(last, Failed) and (last.told_server, last.told_name) == (Problem.LEVEL.value, "smoking")
    (checked,) = wrong.told(Checked)
    assert Code.WORD_NONE_LISTED in {finding["code"] for finding in checked.report["findings"]}
    write(wrong.bfile, 3)
    wrong.run()
    for thread in threads:
        thread.join(PATIENCE)
    assert [type(member.events[-1]) for member in study.members] == [Finished] * 3
