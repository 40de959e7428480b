"""The record of whose sums studies were about, beside sets of Python's, and what it says of two studies."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unpooled.asking.cohort import ArrayTable
from unpooled.methods import usual
from unpooled.plan.categories import Words
from unpooled.plan.plan import NO_KEY, Plan
from unpooled.plan.schema import Column
from unpooled.protocol.invitation import Invitation
from unpooled.protocol.messages import Roster
from unpooled_client.data.options import DataOptions
from unpooled_client.sentences import sentences
from unpooled_client.state.events import PEOPLE, FewApart
from unpooled_client.state.files import StateError
from unpooled_client.state.folder import Agreement, Saved
from unpooled_client.state.people import People, Whose
from unpooled_client.study import few_apart

IDS = [b"FAM%d ID%d" % (k, k) for k in range(400)]


def whose(study: str, **sets: list[int]) -> Whose:
    """The people of a study, and its sets of them, by their numbers."""
    everybody = sorted(set().union(*sets.values()))
    inside = {who: np.isin(everybody, numbers) for who, numbers in sets.items()}
    return Whose(f"{study}/Graz", study, PEOPLE, [IDS[k] for k in everybody], inside)


def slowly(earlier: dict[str, list[int]], new: dict[str, list[int]]) -> tuple[int, int] | None:
    """Count who is in only one of the closest two sets, the new one's first; None if none is close."""
    close = []
    for who, mine in new.items():
        if set(earlier.get(who, ())) == set(mine):
            continue
        for theirs in earlier.values():
            apart, shared = set(mine) ^ set(theirs), set(mine) & set(theirs)
            if 1 <= len(apart) <= 9 and len(apart) < len(shared):
                close.append((len(apart), len(set(mine) - set(theirs)), len(set(theirs) - set(mine))))
    return min(close)[1:] if close else None


@pytest.mark.parametrize("seed", range(20))
def test_the_closest_sets_are_those_of_a_slow_twin(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    people = rng.permutation(300)
    earlier = {"everybody": people[:200].tolist(), "case": people[: rng.integers(30)].tolist()}
    lost, came = rng.integers(0, 8, 2)
    new = {"everybody": people[lost : 200 + came].tolist(), "case": people[rng.integers(8) : 30].tolist()}
    record = People(tmp_path)
    assert not record.enter(whose("one", **earlier), ())
    found = record.few_apart(whose("two", **new))
    wanted = slowly(earlier, new)
    assert bool(found) == (wanted is not None)
    if wanted is not None:
        assert found[0].apart == sum(wanted)


@pytest.mark.parametrize(("lost", "is_told"), [(0, False), (1, True), (9, True), (10, False)])
def test_one_to_nine_people_are_told_of(tmp_path: Path, lost: int, is_told: bool) -> None:
    record = People(tmp_path)
    record.enter(whose("Asthma", everybody=list(range(100))), ())
    for people in (range(lost, 100), range(100 + lost)):
        found = record.few_apart(whose("Asthma again", everybody=list(people)))
        assert [(each.study, each.earlier) for each in found] == is_told * [("Asthma again", "Asthma")]
    assert not record.few_apart(whose("Asthma again", everybody=list(range(200, 209))))


def test_what_differs_is_kept_only_once_it_was_told(tmp_path: Path) -> None:
    record, hundred = People(tmp_path), list(range(100))
    assert not record.enter(whose("one", everybody=hundred), ())
    other = whose("two", everybody=hundred[1:])
    found = record.enter(other, ())
    assert found == (FewApart("two", "everybody", "one", "everybody", 0, 1, PEOPLE),)
    assert record.enter(other, ()) == found  # as nothing was kept
    assert not record.enter(other, found)
    assert not record.few_apart(other) and not record.enter(other, ())  # it goes on after a restart
    assert not record.few_apart(whose("three", everybody=hundred)), (
        "this tells nothing that one and two do not"
    )
    assert record.few_apart(whose("three", complete=hundred)), "these may be sums of something else"


def test_a_study_has_the_people_with_which_it_was_entered_last(tmp_path: Path) -> None:
    record, hundred = People(tmp_path), list(range(100))
    record.enter(whose("one", everybody=hundred), ())
    record.enter(whose("one", everybody=hundred[50:]), ())
    assert not record.few_apart(whose("two", everybody=hundred[1:]))
    assert record.few_apart(whose("two", everybody=hundred[51:]))


def test_one_who_is_there_twice_is_two(tmp_path: Path) -> None:
    record, twice = People(tmp_path), [*IDS[:50], IDS[0]]
    record.enter(Whose("1/Graz", "one", PEOPLE, twice, {"everybody": np.ones(51, bool)}), ())
    found = record.few_apart(Whose("2/Graz", "two", PEOPLE, IDS[:50], {"everybody": np.ones(50, bool)}))
    assert [each.apart for each in found] == [1]


def test_the_files_are_private_and_hold_no_id(tmp_path: Path) -> None:
    record = People(tmp_path)
    record.enter(whose("one", everybody=list(range(100))), ())
    for file in (record.path, record.key):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert b"FAM" not in file.read_bytes()
    other = People(tmp_path / "elsewhere")
    other.enter(whose("one", everybody=list(range(100))), ())
    assert other.path.read_bytes() != record.path.read_bytes()  # under another key


@pytest.mark.parametrize("lose", ["key", "path"])
def test_a_record_that_says_nothing_is_not_taken_for_an_empty_one(tmp_path: Path, lose: str) -> None:
    record, people = People(tmp_path), whose("one", everybody=list(range(100)))
    record.enter(people, ())
    file: Path = getattr(record, lose)
    file.unlink() if lose == "key" else file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(StateError, match="nothing is compared with earlier studies"):
        record.few_apart(people)


def test_a_hundred_studies_of_a_hundred_thousand_people_take_few_bytes(tmp_path: Path) -> None:
    ids = [b"%d" % k for k in range(100_000)]
    rng, record, size = np.random.default_rng(1), People(tmp_path), 0
    for study in range(2):
        sets = {who: rng.random(len(ids)) < 0.5 for who in ("case", "male")}
        record.enter(Whose(f"{study}/Graz", str(study), PEOPLE, ids, sets), ())
        size, before = record.path.stat().st_size, size
    assert before < 9 * len(ids) and size - before < 27_000  # a bit for each person and set, after the first


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (FewApart("B", "case", "A", "case", 1, 0, "people"), "1 person differs: 1 only in “B”"),
        (FewApart("B", "case", "A", "case", 2, 3, "rows"), "5 rows differ: 2 only in “B” and 3 only in “A”"),
    ],
)
def test_both_studies_and_what_can_be_computed_are_named(found: FewApart, said: str) -> None:
    text = sentences.apart(found)
    assert said in text and "“B” (case) and “A” (case)" in text and "subtract one from the other" in text
    assert ("genotypes" in text) == (found.unit == "people")


COLUMNS = (Column("age"), Column("smokes", "category", "", "one-hot", ("no", "yes")))
WITH_PATIENTS = (*COLUMNS, Column("mrn", "text", role="patient"))


def rows_of(
    folder: Path, study: str, schema: tuple[Column, ...], rows: Sequence[int], older: int = 0
) -> Whose:
    """The rows of a table, whose people may be older than they were."""
    folder.mkdir(exist_ok=True)
    file = folder / f"{study}.csv"
    lines = [f"{20 + k % 50 + older},{('no', 'yes')[k % 2]},P{k}" for k in rows]
    file.write_text("\n".join(["age,smokes,mrn", *lines]) + "\n")
    words = Words(np.array([k % 2 for k in rows]), ("no", "yes"))
    table = ArrayTable(np.array([[20.0 + k % 50 + older] for k in rows]), {"smokes": words})
    plan = Plan("z-score", cohorts=3, compensator_key=NO_KEY, schema=schema, **usual("z-score"))
    invitation = Invitation("https://studies.example.org", study, "t" * 43, " ".join(["ab12"] * 8))
    agreement = Agreement(study, plan, Roster(()), False)
    saved = replace(Saved.new(invitation), cohort="Graz", agreement=agreement)
    return few_apart._whose(saved, DataOptions(table=file), table)


@pytest.mark.parametrize("schema", [COLUMNS, WITH_PATIENTS])
def test_a_row_less_is_told(tmp_path: Path, schema: tuple[Column, ...]) -> None:
    record = People(tmp_path)
    assert not record.enter(rows_of(tmp_path, "one", schema, range(200)), ())
    found = record.few_apart(rows_of(tmp_path, "two", schema, range(1, 200)))
    assert [(each.more, each.fewer, each.unit) for each in found] == [(0, 1, "rows")]
    assert not record.few_apart(rows_of(tmp_path, "two", schema, range(200)[::-1])), "rows in another order"


def test_only_who_names_patients_knows_rows_whose_values_changed(tmp_path: Path) -> None:
    record = People(tmp_path)
    for schema, is_told in ((COLUMNS, False), (WITH_PATIENTS, True)):
        record.enter(rows_of(tmp_path, "one", schema, range(200)), ())
        assert bool(record.few_apart(rows_of(tmp_path, "two", schema, range(1, 200), older=60))) == is_told
