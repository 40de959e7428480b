"""Times searches of lambda by signs over lines with a delay, every party a process of its own.

    python bench/slow_line.py [--cohorts 10] [--delay 0.02] [--runs 3]

The delay is of each request and its answer together, between the cohorts and the server and between the
server and the compensator. Seconds are from the moment the last cohort is ready to the parameters at every
cohort, as the database and the files have it; bytes are all that cohorts and compensator exchange with the
server in all rounds, headers included.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import rehearsal
from sklearn.datasets import load_breast_cancer

sys.path.insert(0, str(Path(__file__).parents[1]))  # the parties and their relays are those of the tests

from tests.federation import Federation, Trial
from tests.relay import Message, Relay
from tests.services import Stores

FEATURES = [str(name) for name in load_breast_cancer().feature_names]


@dataclass(frozen=True)
class Run:
    seconds: float
    of_turns: float
    """Seconds of the messages between server and compensator."""
    rounds: int
    of_search: int
    turns: int
    requests: int
    bytes: int


def main() -> None:
    parser = rehearsal.parser(__doc__)
    parser.add_argument("--cohorts", type=int, default=10)
    parser.add_argument("--delay", type=float, default=0.02, help="seconds")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--opens", default="bits", choices=("bits", "sums"))
    arguments = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        tables = dealt_out(folder, arguments.cohorts)
        federation = stack.enter_context(running(folder))
        runs = [
            searched(federation, tables, arguments.opens, arguments.delay) for _ in range(arguments.runs + 1)
        ]
    show(runs[1:], arguments)  # the first warms caches


def show(runs: list[Run], arguments: argparse.Namespace) -> None:
    print(
        f"\nlambda of {len(FEATURES)} features by {arguments.opens}, {arguments.cohorts} cohorts, "
        f"{1000 * arguments.delay:.0f} ms a request: {len(runs)} runs"
    )
    seconds = [run.seconds for run in runs]
    spread = f"from {min(seconds):.2f} to {max(seconds):.2f}"
    print(f"  whole run   {statistics.median(seconds):8.2f} s    ({spread})")
    last = runs[-1]
    print(f"  of which    {last.of_turns:8.2f} s    {last.turns} turns with the compensator")
    print(
        f"  rounds      {last.rounds:8}      {last.of_search} of the search, {last.requests} requests of all"
    )
    print(f"  a feature   {last.bytes / len(FEATURES) / 1e6:8.3f} MB")


def dealt_out(folder: Path, cohorts: int) -> list[Path]:
    """The 30 features of scikit-learn's breast cancer table, its rows dealt out to cohorts."""
    table = load_breast_cancer(as_frame=True).data
    paths = [folder / f"table{k}.csv" for k in range(cohorts)]
    for k, path in enumerate(paths):
        table.iloc[k::cohorts].to_csv(path, index=False)
    return paths


@contextmanager
def running(folder: Path) -> Iterator[Federation]:
    federation = Federation(folder / "federation", Stores("", ""))
    federation.start()
    try:
        yield federation
    finally:
        federation.stop()


def searched(federation: Federation, tables: list[Path], opens: str, delay: float) -> Run:
    """One study, through relays that take their time."""
    trial = federation.study(
        tables,
        test="yeo-johnson",
        trait="none",
        phenotype="",
        panel_mode="none",
        opens=opens,
        files=["parameters"],
        schema=[{"name": name} for name in FEATURES],
    )

    def late(request: Message, answer: Message) -> Message:
        time.sleep(delay)
        return answer

    relays = [Relay(federation.address) for _ in tables]
    for cohort, relay in zip(trial.cohorts, relays, strict=True):
        cohort.through(relay.url)
    for relay in (*relays, federation.to_compensator):
        relay.change = late
    try:
        trial.start()
        trial.until_over()
    finally:
        federation.to_compensator.change = lambda request, answer: answer
        for relay in relays:
            relay.close()
    return measured(trial)


def measured(trial: Trial) -> Run:
    if trial.state != "done":
        raise SystemExit(trial.story())
    [(ready,)] = trial.federation.rows("SELECT ready_at FROM unpooled_server_study WHERE id = ?", trial.id)
    began = datetime.fromisoformat(ready).replace(tzinfo=UTC).timestamp()
    files = [cohort.folder / "results" / "study.parameters.json" for cohort in trial.cohorts]
    traffic = trial.call("GET", "traffic")
    links = [link for link in traffic["links"] if link["phase"] == "rounds"]
    return Run(
        seconds=max(file.stat().st_mtime for file in files) - began,
        of_turns=sum(row["seconds"] for row in traffic["comparisons"]),
        rounds=sum(trial.rounds().values()),
        of_search=sum(row["rounds"] for row in traffic["comparisons"] if "lambda" in row["title"]),
        turns=sum(row["turns"] for row in traffic["comparisons"]),
        requests=sum(link["requests"] for link in links),
        bytes=sum(link["to_server"] + link["from_server"] for link in links),
    )


if __name__ == "__main__":
    main()
