"""Runs a study whose parties are held where a kill hurts most, and kills them there; how it has to end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..federation import Trial
from ..launch import Gate
from ..parties import Party


@dataclass
class Hold:
    """Point at which a party is held: its place, the calls it lets pass, and the state of the study then."""

    party: Party
    place: str
    when: str = "before"
    passing: int = 0
    is_at: Callable[[Trial], bool] = lambda trial: True

    def gate(self, trial: Trial) -> Gate:
        return Gate(trial.federation.gates(self.party.name), self.place, self.when)

    def close(self, trial: Trial) -> None:
        self.gate(trial).close(self.passing)

    def await_reached(self, trial: Trial) -> None:
        gate = self.gate(trial)
        trial.until(lambda: gate.is_reached, f"{self.party.name} comes to {self.place}")
        trial.until(lambda: self.is_at(trial), self.is_at.__name__)

    def kill(self, trial: Trial) -> None:
        """Kill the party right here; it is started again with the gate open."""
        acknowledged = trial.shares()
        self.party.kill()
        self.gate(trial).open()
        self.party.start()
        assert trial.shares() >= acknowledged, f"{self.party.name} forgot"


def kill_the_others(trial: Trial, held: Party) -> None:
    """Kill everybody else, one after the other; nothing that was acknowledged is lost."""
    clients = [cohort.party for cohort in trial.cohorts]
    for party in [*trial.federation.parties, *clients]:
        if party is not held and not party.has_ended:
            acknowledged = trial.shares()
            party.restart()
            assert trial.shares() >= acknowledged, f"{party.name} forgot"


def run_through(trial: Trial, holds: Sequence[Hold], *, all_parties: bool) -> None:
    """Run a study that is held at one place after the other, and kill there."""
    holds[0].close(trial)
    trial.start()
    for hold, following in zip(holds, [*holds[1:], None], strict=True):
        hold.await_reached(trial)
        if following:
            following.close(trial)
        if all_parties:
            kill_the_others(trial, hold.party)
        hold.kill(trial)


def assert_as_undisturbed(trial: Trial, undisturbed: dict[str, bytes]) -> None:
    """The study is done, every cohort has its bytes, and every cohort was counted once in every round."""
    trial.until_over()
    assert trial.state == "done", trial.story()
    for cohort in trial.cohorts:
        assert cohort.party.wait() == 0, cohort.party.said()
        assert cohort.results() == undisturbed, cohort.name
    assert set(trial.rounds()) == {"aggregated"}
    shares = trial.shares()
    assert len(shares) == 3 * trial.rounds()["aggregated"]
    assert len({nonce for _, _, nonce in shares}) == len(shares)
