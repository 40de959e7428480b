"""Times several studies at once by how many workers share their rounds, beside PostgreSQL and Redis.

    python bench/workers.py [--workers 1 2 4] [--studies 4] [--variants 100000] [--samples 500] [--runs 3]

Seconds are from the moment when the first study is ready to that when the last one is done. Of the processor
they have what the cohorts leave: on two cores more workers show that they cost nothing, and hardly what they
would gain elsewhere. Bytes are all results', which must not depend on the number.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import rehearsal
from association_files import CACHE, simulated
from processor import processor_seconds

sys.path.insert(0, str(Path(__file__).parents[1]))  # the parties are those of the tests

from tests.federation import Federation, Trial
from tests.services import Stores, postgresql, redis


@dataclass(frozen=True)
class Run:
    seconds: float
    of_workers: float
    """Seconds of processor time of all workers."""
    megabytes: float
    """Megabytes that all parties exchanged, in all studies."""
    digests: frozenset[str]
    """Digests of the report of each study."""


def main() -> None:
    parser = rehearsal.parser(__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--studies", type=int, default=4)
    parser.add_argument("--variants", type=int, default=100_000)
    parser.add_argument("--samples", type=int, default=500, help="of each of three cohorts")
    parser.add_argument("--runs", type=int, default=3, help="of each number of workers, in turn")
    given = parser.parse_args()
    data = simulated(
        CACHE / f"{given.variants}x{given.samples} of workers",
        [given.samples] * 3,
        given.variants,
        covariates=2,
        pooled=False,
    )
    runs = [[measured(data, count, given) for count in given.workers] for _ in range(given.runs)]
    if len({run.digests for turn in runs for run in turn}) > 1:
        sys.exit("the reports depend on the number of workers")
    print("| Workers | Seconds | Studies a minute | MB a second | Processor of the workers |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for count, of_count in zip(given.workers, zip(*runs, strict=True), strict=True):
        seconds = statistics.median(run.seconds for run in of_count)
        spent = statistics.median(run.of_workers for run in of_count)
        rate = of_count[0].megabytes / seconds
        print(
            f"| {count} | {seconds:.1f} | {60 * given.studies / seconds:.1f} | {rate:.1f} | {spent:.1f} s |"
        )


def measured(data: Path, workers: int, given: argparse.Namespace) -> Run:
    """Run the studies once, from an empty database."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        database, broker = stack.enter_context(postgresql()), stack.enter_context(redis())
        federation = Federation(folder, Stores(database.create_database("platform"), broker.url()))
        federation.start()
        stack.callback(federation.stop)
        others = [federation.another_worker(f"worker{k}") for k in range(1, workers)]
        for other in others:
            other.start()
            stack.callback(other.stop)
        cohorts = [data.resolve() / f"cohort{k}" for k in (1, 2, 3)]
        trials = [federation.study(cohorts) for _ in range(given.studies)]
        run_all(trials)
        spent = sum(processor_seconds(party.process.pid) for party in (federation.worker, *others))
        times = federation.rows("SELECT ready_at, ended_at FROM unpooled_server_study")
        links = [link for trial in trials for link in trial.call("GET", "traffic")["links"]]
        return Run(
            (max(ended for _, ended in times) - min(ready for ready, _ in times)).total_seconds(),
            spent,
            sum(link["to_server"] + link["from_server"] for link in links) / 1e6,
            frozenset(sha256(trial.cohorts[0].results()["study.assoc"]).hexdigest() for trial in trials),
        )


def run_all(trials: list[Trial]) -> None:
    """Start all cohorts but one of each study, and these last ones once the others wait."""
    for trial in trials:
        for cohort in trial.cohorts[1:]:
            cohort.party.spawn()
    for trial in trials:
        trial.until(lambda trial=trial: trial.states().count("joined") == 2, "two cohorts have joined")
    for trial in trials:
        trial.cohorts[0].party.spawn()
    for trial in trials:
        trial.until_over()
        if trial.state != "done":
            sys.exit(trial.story())


if __name__ == "__main__":
    main()
