"""Results are verified by what a cohort did itself; what is published otherwise is named."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from client_trials import Member, Platform, Table, Trial, make_trial

from unpooled.described.manifest import ListedRound
from unpooled.simulate import SimulationReport
from unpooled_client.commands.cli import cli
from unpooled_client.commands.verify import verify
from unpooled_client.state.events import Exit
from unpooled_client.state.folder import StateFolder
from unpooled_client.study.book import Heard, lines_of
from unpooled_client.study.failures import UsageProblem

MANIFEST, REPORT = "study.manifest.json", "study.assoc.logistic"
Manifest = dict[str, Any]


def verified(state: StateFolder) -> Result:
    """Run the command as a person who types it."""
    words = [verify.name, "--state", str(state.path)]
    return CliRunner().invoke(cli, words, standalone_mode=False, catch_exceptions=False)


@pytest.fixture(scope="module")
def member(platform: Platform, files: SimulationReport, tmp_path_factory: pytest.TempPathFactory) -> Member:
    """One of a study that is done, of which sums were told."""
    folder = tmp_path_factory.mktemp("verified")
    return done(make_trial(platform, files.cohorts, folder, test="logistic"))


def done(trial: Trial) -> Member:
    trial.run_all()
    assert trial.state == "done", trial.log()
    return trial.members[0]


@pytest.fixture
def copy(member: Member, tmp_path: Path) -> StateFolder:
    """The state of its client, with results of its own, to be changed."""
    shutil.copytree(member.state.path, tmp_path / "state")
    shutil.copytree(member.out, tmp_path / "out")
    state = StateFolder(tmp_path / "state")
    state.save(replace(state.load(), out=str(tmp_path / "out")))
    return state


def test_an_honest_study_is_verified(member: Member, copy: StateFolder) -> None:
    for state in (member.state, copy):
        found = verified(state)
        assert found.return_value == Exit.DONE
        rounds = [ListedRound.of(line) for line in manifest(state)["rounds"]]
        lines = found.stdout.splitlines()
        asked, told, untold = (int(re.findall(r": (\d+)", line)[0]) for line in lines[1:4])
        assert asked == len(rounds)
        assert told + untold == len(rounds) and told > untold
        assert untold >= sum(not each.told for each in rounds)


def by_a_list(platform: Platform, files: SimulationReport, folder: Path) -> Trial:
    text = b"".join(Path(f"{files.cohorts[0]}.bim").read_bytes().splitlines(keepends=True)[:200])
    return make_trial(
        platform, files.cohorts, folder, text, test="linear", panel_mode="list", masking="gaussian",
        trait="quantitative", variance=1e6,
    )  # fmt: skip


def by_bits(platform: Platform, files: SimulationReport, folder: Path) -> Trial:
    random, tables = np.random.default_rng(1), [folder / f"table{k}.csv" for k in range(3)]
    for table in tables:
        table.write_text("x\n" + "".join(f"{value:.3f}\n" for value in random.normal(size=40)))
    schema = [{"name": "x"}]
    return make_trial(
        platform, tables, folder, kind=Table, test="robust", phenotype="", schema=schema, opens="bits"
    )


@pytest.mark.parametrize("make", [by_a_list, by_bits])
def test_so_are_sums_that_fit_no_check(
    make: Callable[..., Trial], platform: Platform, files: SimulationReport, tmp_path: Path
) -> None:
    found = verified(done(make(platform, files, tmp_path)).state)
    assert found.return_value == Exit.DONE, found.output
    assert not found.stdout.splitlines()[2].endswith(": 0.")


def manifest(state: StateFolder) -> Manifest:
    found: Manifest = json.loads((Path(state.load().out) / MANIFEST).read_bytes())
    return found


def rounds(change: Callable[[list[ListedRound]], list[ListedRound]]) -> Callable[[Manifest], None]:
    def changed(found: Manifest) -> None:
        listed = change([ListedRound.of(line) for line in found["rounds"]])
        found["rounds"] = [each.line for each in listed]

    return changed


def first_told(**changes: str) -> Callable[[Manifest], None]:
    """Change the first round whose sum was told."""

    def changed(listed: list[ListedRound]) -> list[ListedRound]:
        at = next(number for number, each in enumerate(listed) if each.told)
        return [*listed[:at], replace(listed[at], **changes), *listed[at + 1 :]]

    return rounds(changed)


def plan(found: Manifest) -> None:
    found["plan_hash"] = found["plan_hash"][::-1]


def roster(found: Manifest) -> None:
    found["roster"].pop()


def study(found: Manifest) -> None:
    found["study"]["id"] = "another"


def left_out(found: Manifest) -> None:
    found["files"] = [file for file in found["files"] if file["name"] != REPORT]


def no_digests(found: Manifest) -> None:
    found["rounds"] = [0]


OTHER = "0" * 64
LIES: dict[str, tuple[Callable[[Manifest], None], str]] = {
    "a sum": (first_told(told=OTHER), f"has a sum with the digest {OTHER}; expected was"),
    "no sum": (first_told(told=""), "has no sum; expected was"),
    "a question": (first_told(asked=OTHER), f"asked {OTHER} at the place"),
    "a place": (first_told(place="9.9"), "at the place 9.9; expected was"),
    "a round less": (rounds(lambda listed: listed[:-1]), "is missing; expected was"),
    "a round more": (
        rounds(lambda listed: [*listed, replace(listed[-1], round=listed[-1].round + 1)]),
        "is one that this cohort never answered; expected was no such round",
    ),
    "a plan": (plan, "plan_hash is"),
    "a roster": (roster, "roster is"),
    "a study": (study, "study is another; expected was"),
    "a file less": (left_out, f"{REPORT}: the manifest does not name this file"),
    "no digests": (no_digests, "this is no manifest"),
}


@pytest.mark.parametrize("name", LIES)
def test_another_manifest_is_named(copy: StateFolder, name: str) -> None:
    change, said = LIES[name]
    change(found := manifest(copy))
    (Path(copy.load().out) / MANIFEST).write_text(json.dumps(found))
    refused(copy, said, MANIFEST if REPORT not in said else REPORT)


def test_the_round_that_differs_is_named(copy: StateFolder) -> None:
    acceptance, found = copy.load().acceptance, manifest(copy)
    assert acceptance
    *_, last = (line for line in lines_of(copy.book, acceptance.seed) if isinstance(line, Heard))
    listed = [ListedRound.of(line) for line in found["rounds"]]
    changed = [replace(each, told=OTHER) if each.round == last.round else each for each in listed]
    found["rounds"] = [each.line for each in changed]
    (Path(copy.load().out) / MANIFEST).write_text(json.dumps(found))
    refused(copy, f"round {last.round}, at the place {last.place} in the study", last.digest.hex())


def refused(state: StateFolder, *said: str) -> None:
    found = verified(state)
    assert found.return_value == Exit.REFUSED
    assert not found.stdout
    for part in said:
        assert part in found.stderr


def test_another_file_is_named(copy: StateFolder) -> None:
    path = Path(copy.load().out) / REPORT
    path.write_bytes(path.read_bytes().replace(b"1", b"2", 1))
    refused(copy, str(path), "its SHA-256 is", "as the manifest has it", "unpooled-client results")
    path.unlink()
    refused(copy, str(path), "this file is not there")


def test_manifests_of_earlier_releases_say_too_little(copy: StateFolder) -> None:
    found = manifest(copy)
    (Path(copy.load().out) / MANIFEST).write_text(json.dumps(found | {"rounds": len(found["rounds"])}))
    with pytest.raises(UsageProblem, match="written by an earlier release"):
        verified(copy)


def test_before_there_are_results_there_is_nothing_to_verify(copy: StateFolder) -> None:
    copy.save(replace(copy.load(), delivered=False))
    with pytest.raises(UsageProblem, match="not here yet"):
        verified(copy)
