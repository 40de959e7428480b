"""A person takes part in whole studies, also of two phenotypes, with nothing but the window."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from client_trials import Platform, Trial, make_trial
from PIL import Image
from PySide6.QtWidgets import QFileDialog
from window_desk import Desk

from unpooled.described.what_leaves import DECRYPTION, PARTS, SEED
from unpooled.kernels.statistics import inflation_text
from unpooled.plan.common_options import COHORTS, ENCRYPTED
from unpooled_client.state.folder import known_folders
from unpooled_client.state.stage import Stage

MakeStudy = Callable[..., Trial]

_heard: list[str] | None = None
_others: set[int] = set()
"""Threads of cohorts that took part in earlier tests within this process, and may still ask their server."""


def _listen(event: str, arguments: Any) -> None:
    if _heard is not None and event.startswith("socket.") and threading.get_ident() not in _others:
        _heard.append(f"{event} {arguments} in {threading.current_thread()}")


@contextmanager
def no_socket() -> Iterator[None]:
    """Fails if this process, which is the window's, opens, binds or connects a socket meanwhile."""
    global _heard
    sys.addaudithook(_listen)
    # Neither the main thread nor a thread of Qt's is of the class itself.
    _others.update(
        each.ident for each in threading.enumerate() if type(each) is threading.Thread and each.ident
    )
    _heard = []
    try:
        yield
        assert _heard == []
    finally:
        _heard = None


def test_a_whole_study_with_nothing_but_the_window(
    desk: Desk, study: MakeStudy, beside: Callable[..., None], tmp_path: Path
) -> None:
    trial = study(name="Asthma in adults")
    me, *others = trial.members
    beside(*others)
    with no_socket():
        join(desk, me.invitation.to_text())
        desk.look("join-accept")
        desk.press(desk.view.join.accept_button)
        desk.at(Stage.DATA)
        desk.bot.keyClicks(desk.view.data.genotypes.edit, f"{me.bfile}.bim")
        desk.look("data")
        desk.press(desk.view.data.check_button)
        desk.until(lambda: desk.window.busy.words == "Reading the files")
        desk.reads("Ready: no errors")
        desk.until(lambda: not desk.window.busy.words)
        desk.look("check")
        for kind in ("html", "json", "txt"):
            desk.view.check.save_report(tmp_path / f"check.{kind}")
        desk.press(desk.view.check.next_button)
        desk.at(Stage.REVIEW)
        desk.reads("Nothing of your data has left")
        review = desk.view.review
        assert "What it does not tell" in review.summary.text
        assert not review.table.isVisible()
        desk.look("review")
        desk.press(review.more_button)
        assert review.table.isVisible()
        assert "per variant and group of people" in review.table.text
        desk.look("review-everything")
        desk.press(review.more_button)
        assert not review.table.isVisible()
        desk.view.review.keep(tmp_path / "review.html")
        desk.until((tmp_path / "review.html").is_file)
        desk.press(desk.view.review.release_button)
        desk.at(Stage.RUN)
        desk.look("run-before")
        desk.press(desk.view.run.start_button)
        desk.until(lambda: bool(desk.view.study.progress.bars))
        desk.look("run")
        desk.at(Stage.RESULTS)
        desk.until(lambda: "Verified" in desk.view.results.totals.text)
        desk.until(lambda: desk.view.results.pictures.numbers["λ"].isVisible())
    assert "study.assoc" in desk.view.results.files.text
    told = trial.call("GET", "qq")["curves"][0]["inflation"]
    assert desk.view.results.pictures.numbers["λ"].text() == inflation_text(told)
    for number, name in enumerate(("pictures", "own", "files", "ledger")):
        desk.view.results.tabs.setCurrentIndex(number)
        desk.look(f"results-{name}")
    desk.view.show_stage(Stage.RUN)
    desk.look("run-done")
    desk.view.run.save_log(tmp_path / "log.txt")
    assert "Count genotypes" in (tmp_path / "log.txt").read_text(encoding="utf-8")
    assert "What leaves this computer" in (tmp_path / "review.html").read_text(encoding="utf-8")
    for kind, told in (("html", "Ready: no errors"), ("json", '"ok": true'), ("txt", "Ready: no errors")):
        assert told in (tmp_path / f"check.{kind}").read_text(encoding="utf-8")
    desk.window.show_home()
    desk.look("home")
    assert known_folders()[0].load().delivered


@pytest.mark.parametrize("trust", [COHORTS, ENCRYPTED])
def test_a_study_without_a_compensator(
    desk: Desk, study: MakeStudy, beside: Callable[..., None], trust: str
) -> None:
    """The review names no seed for a compensator, and the results come."""
    me, *others = study(trust=trust).members
    beside(*others)
    desk.agree(me)
    desk.bot.keyClicks(desk.view.data.genotypes.edit, f"{me.bfile}.bed")
    desk.press(desk.view.data.check_button)
    desk.press(desk.view.check.next_button)
    review = desk.view.review
    desk.press(review.more_button)
    shown = review.table.text
    assert PARTS in shown and SEED not in shown and (DECRYPTION in shown) == (trust == ENCRYPTED)
    desk.look(f"review-{trust}")
    desk.press(review.release_button)
    desk.press(desk.view.run.start_button)
    desk.at(Stage.RESULTS)
    desk.until(lambda: "Verified" in desk.view.results.totals.text)
    assert "study.assoc" in desk.view.results.files.text


def test_after_components_nothing_is_said_of_effects(
    desk: Desk, study: MakeStudy, beside: Callable[..., None]
) -> None:
    me, *others = study(test="pca").members
    beside(*others)
    desk.agree(me)
    desk.bot.keyClicks(desk.view.data.genotypes.edit, f"{me.bfile}.bed")
    desk.check_and_start()
    desk.at(Stage.RESULTS)
    desk.until(lambda: "Verified" in desk.view.results.totals.text)
    tabs = desk.view.results.tabs
    assert [tabs.isTabVisible(k) for k in range(tabs.count())] == [False, False, True, True]
    assert not [line for line in desk.view.study.progress.log if "effect" in line]
    desk.look("results-components")


def join(desk: Desk, invitation: str) -> None:
    """Paste the invitation, press Join, and wait until there is something to accept."""
    desk.press(desk.window.home.join_button)
    desk.bot.keyClicks(desk.window.invite.text, "nonsense")
    desk.reads("This is no invitation")
    desk.look("invitation-wrong")
    desk.window.invite.text.setPlainText(invitation)
    desk.look("invitation")
    desk.press(desk.window.invite.join_button)
    desk.reads("Accept the plan and the roster?")


def test_a_study_of_words(
    desk: Desk, platform: Platform, tmp_path: Path, beside: Callable[..., None]
) -> None:
    """A dictionary that is looked for: own words with their counts are seen before anything is released."""
    rng = random.Random(8)
    tables = [tmp_path / f"table{number}.csv" for number in range(3)]
    for table in tables:
        drugs = rng.choices(("aspirin", "ibuprofen", "Aspirin", "warfarin"), (6, 5, 1, 3), k=60)
        rows = (f"p{k},{drug},{rng.choice(('never', 'former'))}" for k, drug in enumerate(drugs))
        table.write_text("\n".join(("name,drug,smoking", *rows)) + "\n", encoding="utf-8")
    schema = [
        {"name": "name", "type": "text"},
        {"name": "drug", "type": "category", "encoding": "one-hot", "most": 16},
        {"name": "smoking", "type": "category", "encoding": "ordinal", "levels": ["never", "former"]},
    ]
    trial = make_trial(platform, tables, tmp_path, test="encode", phenotype="", schema=schema)
    me, *others = trial.members
    beside(*others, data="--table")
    desk.agree(me)
    desk.view.data.table.set_path(str(me.bfile))
    desk.until(lambda: desk.view.data.table_note.text().startswith("✓ All 3 columns"))
    desk.press(desk.view.data.check_button)
    desk.until(lambda: desk.view.check.next_button.isEnabled())
    assert "Values of drug differ in case or blanks only" in desk.view.check.findings.text
    desk.look("words-check")
    desk.view.check.tabs.setCurrentIndex(1)
    own = tables[0].read_text(encoding="utf-8")
    assert f"aspirin: {own.count(',aspirin,')}" in desk.view.check.document.toPlainText()
    assert f"never: {own.count(',never')}" in desk.view.check.document.toPlainText()
    desk.look("words-holdings")
    desk.press(desk.view.check.next_button)
    desk.until(lambda: desk.view.review.release_button.isEnabled())
    desk.look("words-review")
    desk.press(desk.view.review.release_button)
    desk.press(desk.view.run.start_button)
    desk.at(Stage.RESULTS)
    desk.until(lambda: "Verified" in desk.view.results.totals.text)
    assert "share of ibuprofen" in desk.view.results.own.text
    desk.look("words-results")
    assert list(tmp_path.rglob("table0.encode.csv"))


def test_a_folder_of_images_is_chosen_where_the_files_are_given(
    desk: Desk,
    platform: Platform,
    tmp_path: Path,
    beside: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random, folders = np.random.default_rng(6), [tmp_path / f"images{number}" for number in range(3)]
    for folder in folders:
        for number in range(160):
            (path := folder / ("benign", "malignant")[number % 2]).mkdir(parents=True, exist_ok=True)
            Image.fromarray(random.integers(0, 256, (8, 8)).astype(np.uint8)).save(path / f"{number}.png")
    schema = [
        {"name": "file", "type": "image", "encoding": "1x8x8"},
        {"name": "y", "type": "category", "role": "outcome", "levels": ["benign", "malignant"]},
    ]
    trial = make_trial(platform, folders, tmp_path, test="image-network", phenotype="", schema=schema)
    me, *others = trial.members
    beside(*others, data="--table")
    desk.agree(me)
    data = desk.view.data
    assert data.images.isVisible() and not data.table.isVisible() and not data.genotypes.isVisible()
    desk.press(data.check_button)
    desk.reads("Choose the folder of this cohort")
    # The dialog is the system's; what it is asked for is a folder.
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *asked: str(me.bfile))
    desk.press(data.images.button)
    assert data.images.path == str(me.bfile)
    desk.look("images-data")
    desk.press(data.check_button)
    desk.until(lambda: desk.view.check.next_button.isEnabled())
    assert desk.view.study.form.arguments() == ["--table", str(me.bfile)]


def test_every_page_says_that_a_result_is_not_the_pooled_one(
    desk: Desk, platform: Platform, tmp_path: Path, beside: Callable[..., None]
) -> None:
    tables = [tmp_path / f"table{number}.csv" for number in range(3)]
    for table in tables:
        table.write_text("age\n" + "50\n" * 60, encoding="utf-8")
    schema = [{"name": "age", "type": "number", "low": 0, "high": 100}]
    noisy = {"test": "z-score", "phenotype": "", "schema": schema, "epsilon": 1.0}
    trial = make_trial(platform, tables, tmp_path, **noisy)
    me, *others = trial.members
    beside(*others, data="--table")
    desk.agree(me)
    for page in range(desk.view.pages.count()):
        desk.view.pages.setCurrentIndex(page)
        assert desk.view.warning.isVisible() and "Not the pooled result" in desk.view.warning.text


def test_columns_are_found_by_name_and_results_are_chosen(
    desk: Desk, study: MakeStudy, beside: Callable[..., None], tmp_path: Path
) -> None:
    trial = study(
        test="linear", trait="quantitative", phenotype="ldl", phenotypes=["hdl"], files=["assoc", "glm"]
    )
    me, *others = trial.members
    random, lines = np.random.default_rng(1), ["FID IID ldl hdl"]
    for member in trial.members:
        for k, line in enumerate(Path(f"{member.bfile}.fam").read_text().splitlines()):
            values = random.normal(size=2)
            hdl = "NA" if k < 10 else f"{values[1]:.4f}"
            lines.append(" ".join([*line.split()[:2], f"{values[0]:.4f}", hdl]))
    (table := tmp_path / "lipids.txt").write_text("\n".join(lines) + "\n")
    beside(*others, more=["--pheno", str(table)])
    desk.agree(me)
    data = desk.view.data
    data.genotypes.set_path(str(me.bfile))
    desk.press(data.check_button)
    desk.reads("the plan asks for several phenotypes")
    data.pheno.set_path(str(table))
    desk.until(lambda: data.pheno_note.text().startswith("✓ All 2 phenotypes"))
    assert not data.pheno_name.isVisible()
    desk.check_and_start()
    desk.at(Stage.RESULTS)
    results = desk.view.results
    desk.until(lambda: results.pictures.numbers["λ"].isVisible())
    assert [results.phenotype.itemText(k) for k in range(results.phenotype.count())] == ["ldl", "hdl"]
    desk.look("results-phenotypes")
    folder = results.folder
    assert folder is not None
    desk.until(lambda: "Verified" in results.totals.text)  # the run has ended
    for name in ("hdl", "ldl"):
        desk.until(lambda: not desk.window.busy.words)
        results.phenotype.setCurrentText(name)
        desk.until(lambda: not desk.window.busy.words)
        head, first, *_ = (folder / f"study.{name}.own-against-pool.tsv").read_text().splitlines()
        strongest = dict(zip(head.split("\t"), first.split("\t"), strict=True))
        assert strongest["SNP"] in results.own.text and strongest["POOL_P"] in results.own.text
        assert results.pictures.numbers["λ"].text() == inflation_text(inflation_of(trial, name))
    assert "study.hdl.assoc.linear" in results.files.text


def inflation_of(trial: Trial, phenotype: str) -> float:
    summaries = trial.platform.call("GET", f"studies/{trial.id}")["summaries"]
    return float(next(each["genomic_inflation"] for each in summaries if each["phenotype"] == phenotype))
