"""An algorithm that is only declared, with an option of each kind, is in every place that people see."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from ..services import fresh_stores
from .conftest import Site
from .pages import Pages
from .studies import NAMES, begin_study_of_variants, create, invite

FOLDER = Path(__file__).parents[1] / "one_more"
LABELS = ("Covariates", "Prior", "Shrinkage", "Rounds", "Mirrored", "Weights", "Lags", "Panels")
FLAGS = ("--prior", "--shrinkage", "--rounds", "--mirrored", "--weights", "--lags", "--panels")
SAID = {
    "Covariates": "age, site (a, b)",
    "Prior": "Normal prior",
    "Shrinkage": "by 0.25 towards the mean",
    "Rounds": "5",
    "Mirrored": "on both strands",
    "Weights": "0.5, 1.0",
    "Lags": "-2, 7",
    "Panels": "exome, genome",
}
WRITTEN = SAID | {"Shrinkage": "0.25", "Mirrored": "True"}


@pytest.fixture(scope="module", autouse=True)
def known() -> Iterator[None]:
    """Every process that is started here knows one more test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(FOLDER))
        yield


@pytest.fixture(scope="module")
def site(known: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = Site(tmp_path_factory.mktemp("one-more") / "site", fresh_stores())
    made.start()
    yield made
    made.stop()


def ask(module: str, *arguments: object) -> str:
    """Return a command's output as one line."""
    done = subprocess.run(
        [sys.executable, "-m", module, *map(str, arguments)],
        capture_output=True, text=True, check=False, env=os.environ | {"COLUMNS": "200"},
    )  # fmt: skip
    return " ".join((done.stdout + done.stderr).split())


def test_its_options_are_in_the_form_on_the_plans_page_and_in_the_consent(
    pages: Pages, tmp_path: Path
) -> None:
    begin_study_of_variants(pages, "One more")
    pages.choose("One more test")
    pages.fill("Name in the cohorts' files", "age, site")
    pages.page.keyboard.press("Enter")
    pages.page.get_by_label("Type of site").select_option("Categorical")
    pages.fill("Levels of site, the reference first", "a, b")
    pages.choose("Normal prior")
    pages.page.get_by_text("More rules").click()
    for label, text in (("Shrinkage", "2"), ("Rounds", "5"), ("Weights", "0.5, 1"), ("Lags", "-2 7")):
        pages.fill(label, text)
    pages.choose("Mirrored")
    pages.fill("Panels", "exom, genome")
    pages.sees("some of exome, array, genome, not “exom”")  # the page knows the words
    pages.fill("Panels", "exome, genome")
    pages.look("new-study-one-more")
    pages.press("Create study")
    pages.sees("a number from 0 to 1, not 2")  # the server knows the bounds
    pages.fill("Shrinkage", "0.25")
    create(pages, "One more")
    invitation = invite(pages, NAMES[0])[0].to_text()
    pages.follow("Plan")
    for label, said in SAID.items():
        assert pages.page.locator("dt", has_text=label).locator("+ dd").first.inner_text() == said
    pages.look("plan-one-more")
    consent = ask("unpooled_client", "join", invitation, "--state", tmp_path / "state")
    for label, said in SAID.items():
        assert f" {label} {said} " in consent, consent


def test_its_options_are_flags_fields_and_words_in_the_results(
    rehearse_alone: Callable[..., object], small: tuple[Path, ...], tmp_path: Path
) -> None:
    shown = ask("unpooled_webapp", "rehearse", "--help")
    assert "one-more" in shown and all(f" {flag} " in shown for flag in FLAGS)
    schema = tmp_path / "openapi.yaml"
    ask("unpooled_webapp", "manage", "spectacular", "--file", schema)
    fields = yaml.safe_load(schema.read_text())["components"]["schemas"]["PlanFields"]["properties"]
    assert fields["shrinkage"]["maximum"] == 1 and fields["lags"]["items"]["type"] == "integer"
    assert {flag.removeprefix("--") for flag in FLAGS} <= set(fields)
    assert "one-more about" in ask("unpooled_client", "check", "--bfile", small[0])
    covar = tmp_path / "all.cov"
    people = [line.split()[:2] for prefix in small for line in Path(f"{prefix}.fam").read_text().splitlines()]
    rows = [f"{fid} {iid} {40 + k % 9} {'ab'[k % 2]}" for k, (fid, iid) in enumerate(people)]
    covar.write_text("\n".join(["FID IID age site", *rows]) + "\n")
    bfiles = [word for prefix in small for word in ("--bfile", prefix)]
    floors = ["--min-samples", 20, "--min-per-class", 1]
    values = ["normal", 0.25, 5, "0.5,1", "-2,7", "exome,genome"]
    flags = [flag for flag in FLAGS if flag != "--mirrored"]
    asked = [word for pair in zip(flags, values, strict=True) for word in pair]
    rehearse_alone(
        "--test", "one-more", *bfiles, *floors, *asked, "--mirrored", "--allow-no-sex",
        "--covar", covar, "--categorical", "site=a,b", "--out", tmp_path / "out",
    )  # fmt: skip
    written = dict(line.split("\t") for line in (tmp_path / "out.asked.tsv").read_text().splitlines())
    assert int(written.pop("variants")) > 100
    assert list(written.values()) == list(WRITTEN.values())
    paper = " ".join((tmp_path / "out.methods.txt").read_text().split())
    for sentence in ("The prior was normal.", "shrunk by 0.25.", "took 5 rounds.", "Strands were mirrored."):
        assert sentence in paper
    assert "Covariates were age, site (categorical)." in paper
