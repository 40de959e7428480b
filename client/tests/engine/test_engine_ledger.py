"""Uploads as foreseen in the review, as written in the ledger, and as counted by the server: all the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from client_trials import Member, Trial
from client_typed import typed

from unpooled.described.what_leaves import DOING, PROBLEM, TIMING
from unpooled.simulate import SimulationReport, simulate
from unpooled_client.data.options import DataOptions
from unpooled_client.state import ledger
from unpooled_client.state.events import Finished, ReleaseNeeded
from unpooled_client.state.ledger import Entry

SMALL = {"min_samples": 20, "min_per_class": 5, "chunk_size": 100}
AGE = [{"name": "AGE", "levels": []}]
PLANS: dict[str, dict[str, Any]] = {
    "chi-square": {"test": "chi-square"},
    "linear": {
        "test": "linear", "trait": "quantitative", "covariates": AGE, "missing": "exact",
        "files": ["assoc", "glm"],
    },
    "logistic": {"test": "logistic", "covariates": AGE, "missing": "mean", "files": ["assoc"]},
    "z-score": {"test": "z-score", "phenotype": "", "schema": [{"name": "AGE"}]},
}  # fmt: skip


class WithCovariates(Member):
    """A cohort that gives its covariates, too."""

    def engine(self, **changes: Any) -> Any:
        covar = self.bfile.with_suffix(".cov")
        return super().engine(**({"options": DataOptions(bfile=self.bfile, covar=covar)} | changes))


class WithTable(Member):
    """A cohort whose covariates are its table."""

    def engine(self, **changes: Any) -> Any:
        self.folder.mkdir(exist_ok=True)
        table = self.folder / "table.csv"
        rows = [line.split() for line in self.bfile.with_suffix(".cov").read_text().splitlines()]
        table.write_text("\n".join(",".join(row[2:]) for row in rows) + "\n")
        return super().engine(**({"options": DataOptions(table=table)} | changes))


@pytest.fixture
def method(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def files(method: str, tmp_path: Path) -> SimulationReport:
    """Three cohorts with variants on X and Y, and missing calls."""
    return simulate(
        tmp_path / "data", cohorts=(60, 70, 80), variants=300, covariates=1, sex_chromosomes=True,
        pooled=False, trait=PLANS[method].get("trait", "case/control"), missing_rate=(0.3, 0.05), seed=3,
    )  # fmt: skip


@pytest.fixture
def trial(method: str, study: Callable[..., Trial]) -> Trial:
    """A whole study that has run."""
    plan = SMALL | PLANS[method]
    made = study(**plan)
    kind = WithTable if method == "z-score" else WithCovariates if "covariates" in plan else Member
    made.members = [kind(**vars(member)) for member in made.members]
    made.run_all()
    last = [member.events[-1] for member in made.members]
    assert all(isinstance(event, Finished) for event in last), last
    return made


def title_of(quantity: str) -> str:
    return quantity.partition(":")[0]


@pytest.mark.parametrize("method", PLANS, indirect=True)
def test_what_leaves_is_foreseen_and_counted_alike_by_ledger_and_server(trial: Trial) -> None:
    counted = trial.call("GET", "traffic")["links"]
    for member in trial.members:
        entries = list(ledger.read(member.state.ledger))
        check_foreseen(member, entries)
        links = [link for link in counted if link["party"] == member.name]
        assert sum(link["messages"] for link in links) == len(entries)
        assert sum(link["content"] for link in links) == sum(entry.bytes for entry in entries)


def check_foreseen(member: Member, entries: list[Entry]) -> None:
    """The review shown before the release had these bytes, or at least so many where it said at most."""
    shown = member.told(ReleaseNeeded)[0].leaves
    foreseen = {title: list(lines) for title, lines in groupby(shown, lambda line: title_of(line.what))}
    sent = {title: list(lines) for title, lines in groupby(sorted(entries, key=by_title), by_title)}
    assert set(sent) <= set(foreseen)
    for title, lines in foreseen.items():
        if any(line.bytes is None for line in lines):
            assert title in (DOING, TIMING, PROBLEM)
            continue
        most = sum(line.bytes * line.rounds for line in lines)
        found = sum(entry.bytes for entry in sent.get(title, []))
        assert found == most if all(line.exact for line in lines) else found <= most, (title, found, most)
        assert {line.form for line in lines} == {entry.form for entry in sent.get(title, [])} or not found


def by_title(entry: Entry) -> str:
    return title_of(entry.quantity)


@pytest.mark.parametrize("method", ["z-score"], indirect=True)
def test_the_ledger_is_proved_and_compared_with_the_server(trial: Trial) -> None:
    member = trial.members[0]
    entries = list(ledger.read(member.state.ledger))
    total = f"{sum(entry.bytes for entry in entries):,} bytes in {len(entries)} messages"
    code, said, _ = ledger_command(member, "verify", "--server", "--allow-http")
    assert code == 0
    assert f"{total}; no line was changed or removed" in said
    assert f"The server counted the same: {total}" in said
    code, said, _ = ledger_command(member, "verify", "--server", "--json")
    found = json.loads(said)
    assert found["whole"] and found["server"]["same"] and found["bytes"] == found["server"]["bytes"]
    assert sum(part["bytes"] for part in found["totals"]) == found["bytes"]
    lines = member.state.ledger.read_bytes().splitlines(keepends=True)
    member.state.ledger.write_bytes(b"".join(lines[:-2]))
    code, said, wrong = ledger_command(member, "verify", "--json")
    assert code == 3 and not json.loads(said)["whole"]
    assert f"{member.state.ledger}:{len(lines) - 1}: 2 lines at the end were removed" in wrong


def ledger_command(member: Member, *arguments: str) -> tuple[int, str, str]:
    done = typed("ledger", *arguments, "--state", member.state.path)
    return done.returncode, done.stdout, done.stderr
