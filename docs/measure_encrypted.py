"""Measures normalization and FedHEONN under threshold CKKS, as in their papers, beside ours by masks.

    .venv/bin/python docs/measure_encrypted.py

Writes docs/measured/encrypted*.md. OpenFHE has packages for CPython 3.12 and 3.10 only: the first of these
that imports it, or the one that UNPOOLED_OPENFHE_PYTHON names, gets an environment in .cache, once. All
parties are in one process, one after the other on one core; bytes are of what they send one another.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import measure_fedheonn as fedheonn
import measuring
import numpy as np
from measure_skew import AT_HOME
from sklearn.datasets import load_breast_cancer

from unpooled.asking import question as questions
from unpooled.asking.cohort import ArrayTable
from unpooled.asking.driver import Place
from unpooled.asking.in_one_process import deriving, tables
from unpooled.asking.procedure import Study
from unpooled.asking.question import Arrays, Question
from unpooled.fitted.scaler import MIN_MAX, ROBUST, Z_SCORE, Scaler
from unpooled.methods import check, usual, whole
from unpooled.panel.panel import Panel
from unpooled.plan.common_options import BITS, COHORTS, COMPENSATOR, ENCRYPTED, OPENS, SUMS, TRUST
from unpooled.plan.plan import NO_KEY, Plan
from unpooled.plan.schema import Column
from unpooled.protocol.encrypted import arrays_by_pipe
from unpooled.protocol.encrypted.arrays_by_pipe import read, write
from unpooled.protocol.encrypted.carrier import help_bytes, upload_bytes
from unpooled.protocol.encrypted.worker import SETTING, worker
from unpooled.protocol.pairs import KEY_PART_BYTES
from unpooled.run import reports, run

WRITES = (
    measuring.Table("encrypted", apart=0.05, free=(2, 3, 5)),
    measuring.Table("encrypted-fedheonn", apart=0.05, free=(4, 5, 6, 7)),
)
ROOT = measuring.HERE.parent
PARTIES, PAPER = 10, {Z_SCORE: 44, MIN_MAX: 253, ROBUST: 368}
"""The paper's table V has so many parties, and these seconds."""
PACKAGED = str(Path(arrays_by_pipe.__file__).parent)
SPLITS, OF_FEDHEONN = 5, ("iris", "wine", "breast cancer", "digits")
SMALL_RING = 2**12
NOBODY = Panel.of([])


# The other interpreter


class NoInterpreterError(Exception):
    """No interpreter imports OpenFHE."""


@functools.cache
def interpreter() -> Path:
    """Return one that imports OpenFHE, in an environment of its own; NoInterpreterError if there is none."""
    done = subprocess.run([ROOT / "scripts" / "openfhe-python"], capture_output=True, text=True)
    if done.returncode:
        raise NoInterpreterError(done.stderr.strip())
    return Path(done.stdout.strip())


@dataclass(eq=False)
class Cost:
    """Seconds of the processor, and bytes that parties send one another; of keys apart."""

    seconds: float = 0.0
    bytes: int = 0
    key_seconds: float = 0.0
    key_bytes: int = 0

    def add(self, said: Mapping[str, Any]) -> None:
        for name in vars(self):
            setattr(self, name, getattr(self, name) + said[name])


class Parties:
    """The parties in their process."""

    def __init__(self, ring: int) -> None:
        self.ring = ring
        self.process = subprocess.Popen(
            [interpreter(), measuring.HERE / "openfhe_parties.py"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={
                **os.environ,
                "OMP_NUM_THREADS": "1",
                "PYTHONPATH": PACKAGED,
            },
        )

    def __enter__(self) -> Parties:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.communicate()

    def ask(self, task: str, parties: int, keys: tuple[str, ...], cost: Cost, **given: Any) -> Arrays:
        """Have them do a task, with new `keys` for it, and add what it costs."""
        arrays = {name: value for name, value in given.items() if isinstance(value, np.ndarray)}
        others = {name: value for name, value in given.items() if name not in arrays}
        said = {"do": task, "parties": parties, "keys": keys, "ring": self.ring, **others}
        write(self.process.stdin, said, arrays)
        if not (found := read(self.process.stdout)):
            raise RuntimeError(f"{task}: the parties have ended; what they said is above")
        cost.add(found)
        return found


@dataclass(frozen=True)
class Table:
    """The table that is normalized, and who has which row."""

    x: np.ndarray
    party: np.ndarray

    @classmethod
    def dealt(cls, rows: int, features: int, parties: int) -> Table:
        """The first rows and features of scikit-learn's breast cancer, dealt at random."""
        x = load_breast_cancer().data[:rows, :features]
        return cls(x, np.random.default_rng(1).permutation(np.arange(len(x)) % parties))

    @property
    def parties(self) -> int:
        return int(self.party.max()) + 1

    @property
    def parts(self) -> list[ArrayTable]:
        return [ArrayTable(self.x[self.party == k]) for k in range(self.parties)]

    def plan(self, method: str, trust: str, opens: str) -> Plan:
        chosen = {OPENS.name: opens} if OPENS.name in usual(method) else {}
        schema = tuple(Column(str(k)) for k in range(self.x.shape[1]))
        return Plan(**{
            **usual(method), **chosen, TRUST.name: trust, "test": method, "files": ("parameters",),
            "cohorts": self.parties, "compensator_key": NO_KEY, "schema": schema,
        })  # fmt: skip

    def error(self, method: str, scaled: np.ndarray) -> float:
        """The greatest distance of a normalized value from scikit-learn's on the pooled table."""
        return float(np.abs(scaled - AT_HOME[method]().fit_transform(self.x)).max())


@dataclass(eq=False)
class Counting:
    """Counts the bytes of one cohort's shares, by masks and with encryption."""

    plan: Plan
    cohorts: list[ArrayTable]
    kinds: tuple[type[Question], ...] | None = None
    masked: int = 0
    uploads: int = 0
    helps: int = 0

    def total(self, place: Place, question: Question) -> Arrays:
        scheme, size = self.plan.scheme(question.ring_bits), len(self.cohorts)
        self.cohorts = [deriving(question, cohort) for cohort in self.cohorts]
        answers = [questions.answer(question, cohort) for cohort in self.cohorts]
        shares = [questions.pack(question, each, scheme, size, b"") for each in answers]
        self.masked += len(shares[0]) * scheme.word_bytes
        self.uploads += upload_bytes(scheme.label, len(shares[0]))
        self.helps += help_bytes(scheme.label, len(shares[0]))
        return questions.unpack(question, functools.reduce(scheme.add, shares), scheme, size, b"")


def counted(table: Table, method: str) -> Counting:
    plan = table.plan(method, COHORTS, SUMS)
    tables(whole(Study(plan, lambda: NOBODY)), found := Counting(plan, table.parts))
    return found


def study(table: Table, method: str, trust: str, opens: str = SUMS) -> tuple[bytes, float]:
    """The parameters of a study, as its file, and its seconds, with those of the process that encrypts."""
    plan = table.plan(method, trust, opens)
    check(plan)
    begun = seconds()
    found = reports(plan, NOBODY, run(plan, NOBODY, table.parts))["parameters"]
    if plan.is_encrypted:
        worker().close()
    return found, seconds() - begun


def seconds() -> float:
    """Seconds of the processor, of this process and of those that have ended."""
    return sum(os.times()[:4])


def as_the_paper(table: Table, method: str, parties: Parties) -> tuple[np.ndarray, Cost]:
    """The table as normalized by what the paper's protocol finds.

    Comparisons and the inverse are for numbers in [-1, 1]: each feature is in units of a public power of 2.
    """
    unit = 2.0 ** np.ceil(np.log2(np.abs(table.x).max(axis=0)))
    keys = ("counts", "products") if method == ROBUST else ("products",)
    found = parties.ask(
        method, table.parties, keys, cost := Cost(), rows=table.x, party=table.party, unit=unit
    )
    return (table.x - found["centre"]) / found["scale"], cost


def lines(table: Table, parties: Parties) -> Iterator[str]:
    yield "| Normalization | Way | Seconds | Of these for keys | MB, all parties | Greatest error |"
    yield "| --- | --- " + "| --: " * 4 + "|"
    size = table.parties
    for method, seconds in PAPER.items():
        for way in (study, study):  # the first compiles what is compiled
            ours, took = way(table, method, COMPENSATOR)
        by_pairs, took_by_pairs = study(table, method, COHORTS)
        encrypted, took_encrypted = study(table, method, ENCRYPTED)
        if not ours == by_pairs == encrypted:
            raise AssertionError(f"{method}: masks and encryption give different files")
        error, of = table.error(method, Scaler(json.loads(ours)).transform(table.x)), counted(table, method)
        yield row(method, "masks and a compensator", took, 0, (size + 1) * of.masked, error)
        if method != Z_SCORE:
            _, compared = study(table, method, COMPENSATOR, BITS)
            yield f"| {method} | the same, compared, read by nobody | {compared:.2f} | 0.00 | | {error:.0e} |"
        yield row(method, "masks of each two cohorts", took_by_pairs, 0, size * of.masked, error)
        # Each cohort sends its upload, is handed all of them, and helps; at first, parts of the key likewise.
        sent = size * (of.uploads + size * of.uploads + of.helps) + (size + size * size) * KEY_PART_BYTES
        yield row(method, "these, and encrypted sums", took_encrypted, 0, sent, error)
        scaled, cost = as_the_paper(table, method, parties)
        total, sent = cost.seconds + cost.key_seconds, cost.bytes + cost.key_bytes
        yield row(method, "as in the paper", total, cost.key_seconds, sent, table.error(method, scaled))
        yield f"| {method} | the paper's own figure | {seconds} | | | |"


def row(method: str, way: str, seconds: float, for_keys: float, size: int, error: float) -> str:
    return f"| {method} | {way} | {seconds:.2f} | {for_keys:.2f} | {size / 1e6:,.1f} | {error:.0e} |"


# FedHEONN


def lines_of_fedheonn(names: tuple[str, ...], splits: int, parties: Parties) -> Iterator[str]:
    """Ours by masks beside the paper's merging, whose vector m is added up under CKKS."""
    yield (
        "| Table | Sums, % | CKKS on m, % | Pooled, % | Sums from pooled | CKKS from pooled | "
        "Seconds, merging and CKKS | MB, merging and CKKS |"
    )
    yield "| --- " + "| --: " * 7 + "|"
    for name in names:
        found, cost, took, clear = [], Cost(), 0.0, 0
        for seed in range(splits):
            of = fedheonn.split(fedheonn.TABLES[name], seed)
            cohort = fedheonn.at_random(of.y, of.random)
            model = fedheonn.federated(of.a, of.y, cohort)
            ours, whole = fedheonn.weights(model, of.mean, of.deviation), fedheonn.pooled(of.za, of.y)
            begun = time.process_time()
            theirs = fedheonn.merged(of.za, of.y, cohort, _under_ckks(parties, cost))
            took += time.process_time() - begun
            clear += sum(fedheonn.sent(of.za[cohort == k]).nbytes for k in range(fedheonn.COHORTS))
            shares = (
                fedheonn.right(model, of),
                *(fedheonn.accuracy(of.zb, of.y_test, w) for w in (theirs, whole)),
            )
            found.append([*shares, *(fedheonn.from_whole(w, whole) for w in (ours, theirs))])
        accuracies = (f"{100 * share:.1f}" for share in np.mean(found, axis=0)[:3])
        apart = (f"{worst:.0e}" for worst in np.max(found, axis=0)[3:])
        seconds = (took + cost.seconds + cost.key_seconds) / splits
        sent = (clear + cost.bytes + cost.key_bytes) / splits / 1e6
        yield f"| {name} | {' | '.join((*accuracies, *apart))} | {seconds:.2f} | {sent:.1f} |"


def _under_ckks(parties: Parties, cost: Cost) -> Callable[[np.ndarray], np.ndarray]:
    def summed(parts: np.ndarray) -> np.ndarray:
        values = parts.reshape(len(parts), -1)
        found = parties.ask("reals", len(parts), ("reals",), cost, values=values)
        return np.asarray(found["total"]).reshape(parts.shape[1:])

    return summed


if __name__ == "__main__":
    arguments = measuring.parser(__doc__).parse_args()
    table = Table.dealt(60, 2, 3) if arguments.small else Table.dealt(569, 30, PARTIES)
    names, splits = (fedheonn.SMALL, 1) if arguments.small else (OF_FEDHEONN, SPLITS)
    try:
        os.environ[SETTING] = str(interpreter())
        with Parties(SMALL_RING if arguments.small else 0) as parties:
            measuring.write(arguments.out, "encrypted", lines(table, parties))
            measuring.write(arguments.out, "encrypted-fedheonn", lines_of_fedheonn(names, splits, parties))
    except NoInterpreterError as error:
        sys.exit(f"measure_encrypted: {error}")
