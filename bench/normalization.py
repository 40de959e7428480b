"""Times federated normalizations beside scikit-learn on the pooled table, in turn, on this machine.

    make bench-tables [ARGS="z-score robust --format csv --rows 1000000 --columns 50 --cohorts 5 --runs 3"]

Federated: from the study's creation to the parameters and every cohort's table on disk; the start of every
client, HTTP and reading included, that of the platform not. scikit-learn: a process that reads the pooled
table, fits, transforms and writes, with the same library for the files. Files are read once before, so that
they come from memory.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import rehearsal
from memory import PARTIES, from_nothing, peaks
from pooled_normalization import read, write
from processor import seconds_of_children
from scipy import stats

from unpooled.methods import METHODS

CACHE = Path(".cache/bench")
FORMATS = ("csv", "parquet")
GOALS = {"z-score": 3.0, "min-max": 3.0, "robust": 3.0, "yeo-johnson": 10.0}
"""Times scikit-learn's seconds."""
MISSING_COLUMNS, MISSING_SHARE = 10, 0.01
EVERY = 0.05  # seconds between two looks at the memory


@dataclass(frozen=True)
class Run:
    """One normalization, of either kind."""

    seconds: float
    cpu: float
    """Seconds of all processes, also of those that start the platform."""
    peaks: dict[str, int]
    """Bytes, by party: of its largest process; of `all` the sum over all processes."""
    sent: int = 0
    """Bytes between all parties."""


def main() -> None:
    parser = rehearsal.parser(__doc__)
    parser.add_argument("methods", nargs="*", metavar="METHOD", help=f"of {', '.join(GOALS)}; usually all")
    parser.add_argument("--format", action="append", choices=FORMATS, help="usually both")
    parser.add_argument("--rows", type=int, default=1_000_000, help="of all cohorts together")
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--cohorts", type=int, default=5)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    wanted = arguments.methods or [method for method in GOALS if method in METHODS]
    if unknown := set(wanted) - set(GOALS):
        parser.error(f"no method is called {', '.join(unknown)}; there are {', '.join(GOALS)}")
    data = generated(arguments.rows, arguments.columns, arguments.cohorts)
    for kind in arguments.format or FORMATS:
        for method in wanted:
            pairs = []
            for run in range(arguments.runs + 1):
                pair = time_pooled(method, data, kind), time_study(method, data, kind, arguments.cohorts)
                check(method, data, kind, arguments.cohorts)
                if run or arguments.runs == 0:  # the first warms caches, compiled kernels among them
                    pairs.append(pair)
            show(method, kind, pairs)


def generated(rows: int, columns: int, cohorts: int) -> Path:
    """The tables, pooled and of each cohort, in each format; made once, and kept."""
    data = CACHE / f"table-{rows}x{columns}-{cohorts}"
    if not (data / "done").exists():
        print(f"generating {cohorts} tables of {rows // cohorts} rows and {columns} columns", file=sys.stderr)
        data.mkdir(parents=True, exist_ok=True)
        table = simulated(rows, columns)
        for kind in FORMATS:
            write(table, data / f"pooled.{kind}")
            for k in range(cohorts):
                first, last = (rows * j // cohorts for j in (k, k + 1))
                write(table.slice(first, last - first), data / f"cohort{k + 1}.{kind}")
        (data / "done").touch()
    return data


def simulated(rows: int, columns: int) -> pa.Table:
    """Skewed numbers of all magnitudes, with all their digits; of some columns a few are missing."""
    random = np.random.default_rng(1)
    table = {}
    for k in range(columns):
        values = random.gamma(random.uniform(1, 9), size=rows) * 10.0 ** random.integers(-3, 5)
        missing = random.random(rows) < MISSING_SHARE if k < MISSING_COLUMNS else None
        table[f"feature {k + 1}"] = pa.array(values - random.integers(0, 3), mask=missing)
    return pa.table(table)


def time_pooled(method: str, data: Path, kind: str) -> Run:
    program = [sys.executable, str(Path(__file__).with_name("pooled_normalization.py")), method]
    cpu, start = seconds_of_children(), time.perf_counter()
    done = subprocess.run(
        [*program, str(data / f"pooled.{kind}"), str(data / f"pooled.{method}.{kind}")],
        check=True,
        stdout=subprocess.PIPE,
    )
    return Run(time.perf_counter() - start, seconds_of_children() - cpu, {"all": int(done.stdout)})


def time_study(method: str, data: Path, kind: str, cohorts: int) -> Run:
    """A rehearsal, and the peaks of its processes while it runs."""
    tables = [word for k in range(cohorts) for word in ("--table", str(data / f"cohort{k + 1}.{kind}"))]
    command = rehearsal.command(data / "ours", "--normalize", method, *tables)
    by_process: dict[int, tuple[str, int]] = {}
    cpu = seconds_of_children()
    with subprocess.Popen(from_nothing(command)) as study:
        while study.poll() is None:
            by_process.update({pid: (party, peak) for pid, party, peak in peaks(study.pid)})
            time.sleep(EVERY)
    if study.returncode:
        sys.exit(f"bench: the study of {method} failed")
    report = rehearsal.report(data / "ours")
    found = {
        party: max((peak for whose, peak in by_process.values() if whose == party), default=0)
        for party in PARTIES
    }
    found["all"] = sum(peak for _, peak in by_process.values())
    return Run(
        report["seconds"]["command"], seconds_of_children() - cpu, found, report["bytes"]["to_last_sum"]
    )


def check(method: str, data: Path, kind: str, cohorts: int) -> None:
    """Hold the cohorts' tables against the pooled one: fast and wrong is worth nothing."""
    ours = pa.concat_tables(read(data / f"cohort{k + 1}.{method}.{kind}") for k in range(cohorts))
    theirs = read(data / f"pooled.{method}.{kind}")
    # scikit-learn's search for lambda ends some 1e-8 from the minimum.
    tolerance = 1e-5 if method == "yeo-johnson" else 1e-9
    for name in theirs.column_names:
        pair = (table[name].to_numpy(zero_copy_only=False) for table in (ours, theirs))
        if not np.allclose(*pair, rtol=tolerance, atol=tolerance, equal_nan=True) and not (
            method == "yeo-johnson" and is_likelier(data, name, read(data / f"pooled.{kind}"))
        ):
            sys.exit(f"bench: {method} of {name} is not scikit-learn's")


def is_likelier(data: Path, name: str, pooled: pa.Table) -> bool:
    """Tell whether our lambda of a feature has a larger likelihood than that at which SciPy's search ends."""
    features = json.loads((data / "ours.parameters.json").read_text())["features"]
    (own,) = (feature["lambda"] for feature in features if feature["name"] == name)
    values = pooled[name].to_numpy()
    values = values[~np.isnan(values)]
    theirs = stats.yeojohnson(values)[1]
    print(f"{name}: lambda {own:.6g}, of scikit-learn {theirs:.6g}", file=sys.stderr)
    exact = values.astype(np.longdouble)  # with a lambda of some hundreds squares of float64 overflow
    return bool(stats.yeojohnson_llf(own, exact) > stats.yeojohnson_llf(theirs, exact))


def show(method: str, kind: str, pairs: list[tuple[Run, Run]]) -> None:
    ratios = [ours.seconds / theirs.seconds for theirs, ours in pairs]
    theirs, ours = pairs[-1]
    print(f"\n{method}, {kind}: {len(pairs)} runs, each beside scikit-learn on the pooled table")
    print(f"  scikit-learn    {statistics.median(run.seconds for run, _ in pairs):8.2f} s")
    print(f"  federated       {statistics.median(run.seconds for _, run in pairs):8.2f} s")
    spread = f"from {min(ratios):.2f} to {max(ratios):.2f}; goal {GOALS[method]:g}"
    print(f"  ratio           {statistics.median(ratios):8.2f}    ({spread})")
    print(f"  of CPU          {theirs.cpu:8.2f} s at scikit-learn, {ours.cpu:.2f} s of all parties")
    print(f"  to the last sum {ours.sent / 1e6:8.2f} MB")
    print(f"  memory          {theirs.peaks['all'] / 1e6:8.0f} MB at scikit-learn's peak")
    sizes = ", ".join(f"{party} {ours.peaks[party] / 1e6:.0f}" for party in PARTIES)
    print(f"                  {ours.peaks['client'] / 1e6:8.0f} MB at a client's peak ({sizes})", flush=True)


if __name__ == "__main__":
    main()
