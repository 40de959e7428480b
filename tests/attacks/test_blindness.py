"""Server and compensator never see a cohort's counts: a search through all that they received and stored.

A relay before the server and one before the compensator keep every message; every file that the server ever
had in its home is kept too, those that it deletes included. In none of it is a run of 16 counts of a cohort,
in any encoding (tests/attacks/transcript.py). Studies with a leak put in show that the search would find it.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import json
import os
import shutil
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from unpooled.asking import question as questions
from unpooled.asking.driver import Place, Tree
from unpooled.asking.procedure import Study
from unpooled.asking.question import Arrays, Question
from unpooled.methods import questions_of, whole, with_chunks
from unpooled.methods.chi_square import CountGenotypes
from unpooled.panel.panel import Panel
from unpooled.plan.plan import Plan
from unpooled.protocol import messages
from unpooled.protocol.messages import Questions, Told
from unpooled.simulate import simulate
from unpooled_client.data.cohort import open_cohort
from unpooled_client.data.options import DataOptions

from ..federation import Cohort, Federation, Trial
from ..launch import Function
from ..leaks import MASKS, NONCE
from ..relay import Relay
from .transcript import Finding, Searcher


class Keeper:
    """Keeps every file that appears in a folder, even if it is deleted a moment later."""

    def __init__(self, watched: Path, kept: Path) -> None:
        self._watched, self._kept = watched, kept
        kept.mkdir()
        self._seen: set[int] = set()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(0.005):
            for folder, _, names in os.walk(self._watched):
                for name in names:
                    with contextlib.suppress(OSError):  # gone already
                        self._keep(Path(folder) / name)

    def _keep(self, path: Path) -> None:
        number = path.stat().st_ino  # given to no other file while we hold on to this one
        if number not in self._seen:
            (self._kept / f"{number} {path.name}").hardlink_to(path)
            self._seen.add(number)


@dataclass
class Transcript:
    """All that each side got to see of one study, by where it was."""

    trial: Trial
    server: dict[str, bytes]
    compensator: dict[str, bytes]
    counts: dict[str, np.ndarray]
    """Counts that must stay at the cohorts, by cohort and kind."""

    @functools.cached_property
    def searcher(self) -> Searcher:
        return Searcher(self.counts)

    def search(self, blobs: Mapping[str, bytes]) -> list[Finding]:
        return self.searcher.search(blobs)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    folder = tmp_path_factory.mktemp("data")
    rates = {"missing_rate": (0.3, 0.02), "missing_phenotype_rate": 0.05, "nonfounder_rate": 0.2}
    return simulate(folder, cohorts=(260, 320, 390), variants=1200, seed=3, pooled=False, **rates).cohorts


def run_captured(
    running: Federation,
    data: tuple[Path, ...],
    folder: Path,
    stubs_of_cohorts: Mapping[str, Function] | None = None,
) -> Transcript:
    """Run a study, and keep all that passes and all that is stored."""
    trial = running.study(data, chunk_size=250)
    relay = Relay(running.address)
    stored = running.home / "studies" / trial.id
    keeper = Keeper(stored, folder / "kept")
    began = len(running.to_compensator.exchanges)
    try:
        for cohort in trial.cohorts:
            cohort.through(relay.url)
            if stubs_of_cohorts:
                running.stub(cohort.party.name, stubs_of_cohorts)
        trial.start()
        trial.until_over()
        assert trial.state == "done", trial.story()
    finally:
        trial.stop()
        keeper.stop()
        relay.close()
    asked = running.to_compensator.exchanges[began:]
    received = {f"request {n} {e.request.line}": e.request.to_bytes() for n, e in enumerate(relay.exchanges)}
    answers = {f"answer {n} of the compensator": e.answer.to_bytes() for n, e in enumerate(asked) if e.answer}
    requests = {f"request {n} {e.request.line}": e.request.to_bytes() for n, e in enumerate(asked)}
    own = {**files(stored), **files(folder / "kept"), **logs(running, "web", "worker")}
    own |= {path.name: path.read_bytes() for path in running.home.iterdir() if path.is_file()}
    return Transcript(
        trial,
        server={**received, **answers, **own, **running.dump()},
        compensator={**requests, **files(running.folder / "compensator"), **logs(running, "compensator")},
        counts=local_counts(trial, relay),
    )


def files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def logs(running: Federation, *names: str) -> dict[str, bytes]:
    return {f"log of {name}": (running.logs / name).read_bytes() for name in names}


def local_counts(trial: Trial, relay: Relay) -> dict[str, np.ndarray]:
    """Each cohort's counts, computed here from its files: as a share holds them, by column, as alleles."""
    panel = Panel.from_canonical((trial.federation.home / "studies" / trial.id / "panel.bin").read_bytes())
    asked = genotype_questions(Plan.from_json(trial.call("GET")["plan"]), panel, relay)
    counts: dict[str, np.ndarray] = {}
    for cohort in trial.cohorts:
        opened, report = open_cohort(DataOptions(bfile=cohort.prefix))
        assert opened is not None, report
        aligned = opened.align(panel)
        chunks = [step.local(aligned)["genotypes"] for step in asked]
        for step, chunk in zip(asked, chunks, strict=True):
            counts[f"{cohort.name}: share of variants {step.start} to {step.stop}"] = chunk.ravel()
        whole = np.concatenate(chunks)
        for group in range(whole.shape[1]):
            name = f"{cohort.name}: {' '.join(asked[0].groups[group])}"
            for genotype in range(3):
                counts[f"{name}, genotype {genotype}"] = whole[:, group, genotype]
            counts[f"{name}, first allele"] = 2 * whole[:, group, 0] + whole[:, group, 1]
            counts[f"{name}, called"] = whole[:, group].sum(axis=1)
    return counts


def genotype_questions(plan: Plan, panel: Panel, relay: Relay) -> list[CountGenotypes]:
    """The questions about genotypes that the cohorts found, in the order of variants."""

    def told(place: Place, question: Question) -> Arrays:
        exchange = relay.found(f"GET /api/v1/cohort/told/{place.label} ")[0]
        assert exchange.answer
        sums, scheme = messages.decode(exchange.answer.body, Told), plan.scheme(question.ring_bits)
        total = scheme.from_bytes(sums.total, questions.words(question, scheme))
        return questions.unpack(question, total, scheme, plan.cohorts, sums.salt)

    tree = Tree(whole(Study(with_chunks(plan), lambda: panel)), questions_of(plan), told)
    found: dict[int, CountGenotypes] = {}
    for exchange in relay.found("GET /api/v1/cohort/questions"):
        if exchange.answer is not None and exchange.status == 200:
            for item in messages.decode(exchange.answer.body, Questions).items:
                step = tree.question(Place.of(item.place))
                if isinstance(step, CountGenotypes):
                    found[step.start] = step
    chunks = [found[start] for start in sorted(found)]
    assert len({chunk.groups for chunk in chunks}) == 1
    return chunks


@pytest.fixture(scope="module")
def seen(
    running: Federation, data: tuple[Path, ...], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Transcript]:
    folder = tmp_path_factory.mktemp("seen")
    yield run_captured(running, data, folder)
    shutil.rmtree(folder)


@pytest.mark.services
def test_the_transcript_is_whole(seen: Transcript) -> None:
    """Else finding nothing in it would mean nothing."""
    rounds = seen.trial.rounds()["aggregated"]
    shares = [blob for name, blob in seen.server.items() if " PUT /api/v1/cohort/shares/" in name]
    assert len(shares) == 3 * rounds
    asked = [blob for name, blob in seen.compensator.items() if "/releases" in name]
    # One whose answer is long in coming is asked for again, in the same bytes.
    assert len({blob.partition(b"\r\n\r\n")[2] for blob in asked}) == rounds
    assert sum(name.startswith("answer ") for name in seen.server) >= rounds
    # Shares are deleted as soon as they are summed; most were caught on disk before.
    bodies = {blob.partition(b"\r\n\r\n")[2] for blob in shares}
    kept = [blob for name, blob in seen.server.items() if "/kept/" in name and blob in bodies]
    assert len(kept) > len(shares) / 2
    assert any("share" in name or b"unpooled_server_share" in blob for name, blob in seen.server.items())
    for cohort in ("cohort1", "cohort2", "cohort3"):
        assert sum(name.startswith(cohort) for name in seen.counts) > 20


@pytest.mark.services
def test_the_server_gets_no_counts_of_a_cohort(seen: Transcript) -> None:
    assert seen.search(seen.server) == []


def test_the_compensator_gets_no_counts_of_a_cohort(seen: Transcript) -> None:
    assert seen.search(seen.compensator) == []


def test_the_pooled_counts_are_there(seen: Transcript) -> None:
    """The server is to learn sums over all cohorts: the search finds them where the results are."""
    names = [name.partition(": ")[2] for name in seen.counts if name.startswith("cohort1: ")]
    pooled = {
        name: sum(seen.counts[f"cohort{k}: {name}"] for k in (1, 2, 3)) for name in names if "control" in name
    }
    assert Searcher(pooled).search(seen.server)


def secrets_of(cohort: Cohort) -> list[bytes]:
    state = json.loads((cohort.folder / "state" / "state.json").read_text())
    return [bytes.fromhex(state["signing_key"]), bytes.fromhex(state["acceptance"]["seed"])]


@pytest.mark.services
def test_nobody_gets_a_seed_or_a_private_key(seen: Transcript) -> None:
    shapes = [
        shape
        for cohort in seen.trial.cohorts
        for secret in secrets_of(cohort)
        for shape in (secret, secret.hex().encode(), base64.b64encode(secret)[:40])
    ]
    for name, blob in {**seen.server, **seen.compensator}.items():
        assert not any(shape in blob for shape in shapes), name


def test_without_masks_the_search_finds_every_cohort_at_the_server(
    running: Federation, data: tuple[Path, ...], tmp_path: Path
) -> None:
    running.stub("compensator", MASKS)
    running.compensator.restart()
    try:
        leaky = run_captured(running, data, tmp_path, MASKS)
    finally:
        running.stub("compensator", {})
        running.compensator.restart()
    received = {name: blob for name, blob in leaky.server.items() if name.startswith("request ")}
    for blobs in (received, {name: blob for name, blob in leaky.server.items() if "/kept/" in name}):
        found = leaky.search(blobs)
        assert {finding.vector.partition(":")[0] for finding in found} == {"cohort1", "cohort2", "cohort3"}
        assert "<u4" in {finding.encoding for finding in found}


def test_a_nonce_that_tells_is_found_at_the_compensator(
    running: Federation, data: tuple[Path, ...], tmp_path: Path
) -> None:
    leaky = run_captured(running, data, tmp_path, NONCE)
    found = leaky.search(leaky.compensator)
    assert {finding.vector.partition(":")[0] for finding in found} == {"cohort1", "cohort2", "cohort3"}
