"""A dishonest compensator: the honest one, behind a relay that changes what it answers to the server."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unpooled.protocol import masking, messages
from unpooled.protocol.messages import ReleaseRequest
from unpooled.simulate import simulate

from ..federation import Federation, Trial
from ..leaks import CHECK, CONTENT
from ..relay import Message, with_body

VARIANTS = 200
Change = Callable[[Message, Message], Message]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    folder = tmp_path_factory.mktemp("data")
    return simulate(folder, cohorts=(120, 140, 160), variants=VARIANTS, seed=17, pooled=False).cohorts


@pytest.fixture
def asked(running: Federation, data: tuple[Path, ...]) -> Iterator[Trial]:
    made = running.study(data)
    yield made
    made.stop()


@contextmanager
def answering(trial: Trial, change: Change) -> Iterator[None]:
    """The compensator's releases for a study go through `change`."""
    relay, honest = trial.federation.to_compensator, trial.federation.to_compensator.change
    releases = f"POST /v1/studies/{trial.id}/releases"
    relay.change = lambda request, answer: (
        change(request, answer) if request.line.startswith(releases) and answer.line == "200" else answer
    )
    try:
        yield
    finally:
        relay.change = honest


def one_more_case(request: Message, answer: Message) -> Message:
    """One word changed: of the first variant on, a case more has two copies of the one allele."""
    asked = messages.decode(request.body, ReleaseRequest)
    if asked.words < VARIANTS:
        return answer
    place = masking.scheme(asked.scheme).check_words
    masks = np.frombuffer(answer.body, "<u4").copy()
    masks[place] -= np.uint32(1)
    return with_body(answer, masks.tobytes())


def compressed(request: Message, answer: Message) -> Message:
    headers = (*answer.headers, ("Content-Encoding", "gzip"))
    return replace(answer, body=gzip.compress(answer.body), headers=headers)


def too_long(request: Message, answer: Message) -> Message:
    return with_body(answer, answer.body + bytes(1 << 20))


def statistics(trial: Trial) -> bytes:
    assert trial.state == "done", trial.story()
    return trial.cohorts[0].results()["study.assoc"]


def test_one_changed_word_ends_the_study_without_a_result(asked: Trial) -> None:
    with answering(asked, one_more_case):
        asked.start()
        asked.until_over()
    assert asked.state == "failed", asked.story()
    assert f"Count genotypes: {masking.NOT_CANCELLED}" in asked.reason
    assert asked.call("GET", "results") == []
    assert not any(cohort.results() for cohort in asked.cohorts)


def test_with_a_constant_for_a_check_it_becomes_a_result(
    asked: Trial, running: Federation, data: tuple[Path, ...]
) -> None:
    """The same, on parties whose check is no secret combination: wrong statistics, and nobody is told."""
    honest = running.study(data)
    honest.start()
    honest.until_over()
    for name in ("web", "worker", *(cohort.party.name for cohort in asked.cohorts)):
        running.stub(name, CHECK)
    for party in (running.web, running.worker):
        party.restart()
    try:
        with answering(asked, one_more_case):
            asked.start()
            asked.until_over()
    finally:
        for party in (running.web, running.worker):
            running.stub(party.name, {})
            party.restart()
    true, false = statistics(honest).splitlines(), statistics(asked).splitlines()
    assert len(true) == len(false)
    assert sum(a != b for a, b in zip(true, false, strict=True)) == 1


@pytest.mark.parametrize("change", [too_long, compressed])
def test_an_answer_of_another_form_is_waited_out(asked: Trial, change: Change) -> None:
    with answering(asked, change):
        asked.start()
        asked.until(lambda: asked.state == "paused", "the study pauses")
        assert "compensator" in asked.reason
    asked.until_over()
    assert statistics(asked)


# What it can have a server read

LONG = 200 << 20


@pytest.mark.parametrize("is_checked", [True, False], ids=["as it is", "weakened"])
def test_a_compressed_answer_fills_the_memory_of_a_weakened_server_only(
    asked: Trial, running: Federation, is_checked: bool
) -> None:
    bomb, worker = gzip.compress(bytes(LONG), 1), running.worker
    if not is_checked:
        running.stub(worker.name, CONTENT)
        worker.restart()
    assert worker.process
    status = Path(f"/proc/{worker.process.pid}/status")
    try:
        with answering(asked, lambda request, answer: replace(compressed(request, answer), body=bomb)):
            before = memory(status, "VmRSS")
            status.with_name("clear_refs").write_text("5")  # the peak begins anew
            asked.start()
            asked.until(lambda: asked.state == "paused", "the study pauses")
        assert (memory(status, "VmHWM") - before > LONG // 2) is not is_checked
        asked.until_over()
        assert statistics(asked)
    finally:
        if not is_checked:
            running.stub(worker.name, {})
            worker.restart()


def memory(status: Path, what: str) -> int:
    """Bytes that a process holds, or has held at most."""
    (kib,) = (line.split()[1] for line in status.read_text().splitlines() if line.startswith(f"{what}:"))
    return int(kib) << 10
