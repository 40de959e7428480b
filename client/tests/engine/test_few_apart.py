"""Two studies of one cohort whose people differ by few: nobody releases the second unseen."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from client_trials import Member, Platform, Trial, ended, make_trial

from tests.patience import PATIENCE
from unpooled.described.what_leaves import Form
from unpooled.simulate import SimulationReport
from unpooled_client.data.options import DataOptions
from unpooled_client.state import ledger
from unpooled_client.state.events import Exit, Failed, Finished, ReleaseNeeded
from unpooled_client.state.folder import StateFolder
from unpooled_client.study.engine import Engine


class Again(Member):
    """A cohort in another study: the states of all lie in one folder."""

    @property
    def state(self) -> StateFolder:
        return StateFolder(self.folder / self.invitation.study)

    @property
    def out(self) -> Path:
        return self.folder / f"{self.invitation.study}-results"


@pytest.fixture(scope="module")
def folder(platform: Platform, files: SimulationReport, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of three cohorts that have all been in a study of everybody."""
    made = tmp_path_factory.mktemp("cohorts")
    first = make_trial(platform, files.cohorts, made, name="Everybody")
    first.run_all()
    assert first.state == "done"
    return made


def without(member: Member, people: int) -> Path:
    """A list of the first few people of its files."""
    lines = Path(f"{member.bfile}.fam").read_text().splitlines()[:people]
    member.folder.mkdir(exist_ok=True)
    file = member.folder / "leave-out.txt"
    file.write_text("".join(" ".join(line.split()[:2]) + "\n" for line in lines))
    return file


def second(platform: Platform, files: SimulationReport, folder: Path, **plan: object) -> Trial:
    return make_trial(platform, files.cohorts, folder, name="All but few", kind=Again, **plan)


def test_one_person_less_is_told_and_yes_does_not_release_it(
    platform: Platform, files: SimulationReport, folder: Path
) -> None:
    trial = second(platform, files, folder)
    member, *others = trial.members
    threads = [other.beside() for other in others]
    left_out = ("--remove", str(without(member, 1)))
    output, _ = (process := member.process(*left_out)).communicate(timeout=PATIENCE)
    assert process.returncode == Exit.USAGE, output
    assert "few people differ from those of" in output and "Everybody" in output
    assert "--few-apart beside it does" in output
    assert not member.state.load().is_released

    options = DataOptions(bfile=member.bfile, remove=Path(left_out[1]))
    seen = []

    def answer(engine: Engine, asked: object) -> None:
        seen.append(asked)
        engine.decline()

    last = member.run(member.engine(options=options), answer=answer)
    assert isinstance(last, Failed) and last.code == "declined"
    [asked] = seen
    assert isinstance(asked, ReleaseNeeded)
    [few] = asked.few_apart
    assert (few.study, few.earlier, few.more, few.fewer) == ("All but few", "Everybody", 0, 1)

    output, _ = (process := member.process(*left_out, "--few-apart")).communicate(timeout=PATIENCE)
    assert process.returncode == Exit.DONE, output
    ended(*threads)
    for other in others:  # of whom everybody is in both
        assert isinstance(other.events[-1], Finished)
        assert [asked.few_apart for asked in other.told(ReleaseNeeded)] == [()]
    before = len(member.events)
    assert isinstance(member.run(), Finished)
    assert not [event for event in member.events[before:] if isinstance(event, ReleaseNeeded)]


def test_who_is_left_out_for_missing_calls_is_told_before_the_first_sum(
    platform: Platform, files: SimulationReport, folder: Path
) -> None:
    member, *others = second(platform, files, folder, mind=0.2).members
    member.bfile = lacking(member.bfile, folder / "lacking")
    threads = [other.beside() for other in others]
    before: list[tuple[int, int]] = []

    def answer(engine: Engine, asked: object) -> None:
        if isinstance(asked, ReleaseNeeded):
            masked = [entry for entry in ledger.read(member.state.ledger) if entry.form == Form.MASKED]
            before.append((sum(each.fewer for each in asked.few_apart), len(masked)))
        engine.accept(asked)  # type: ignore[arg-type]

    assert isinstance(member.run(answer=answer), Finished), member.events[-1]
    ended(*threads)
    (first, _), (fewer, sent) = before
    assert first == 0 and 1 <= fewer <= 3 and sent == 0  # of the closest sets, such as men


def lacking(bfile: Path, to: Path) -> Path:
    """The same files, in which the first three people have no call of half of the variants."""
    for kind in ("bim", "fam"):
        shutil.copy(f"{bfile}.{kind}", f"{to}.{kind}")
    calls = bytearray(Path(f"{bfile}.bed").read_bytes())
    width = -(-len(Path(f"{bfile}.fam").read_text().splitlines()) // 4)
    for place in range(3, len(calls), 2 * width):
        calls[place] = calls[place] & 0b11000000 | 0b010101
    Path(f"{to}.bed").write_bytes(calls)
    return to
