"""Review of what will leave this computer: at a terminal, as JSON, as a page; and its release."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from html.parser import HTMLParser
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from unpooled.described.facts import plan_facts
from unpooled.described.methods_section import Run, methods
from unpooled.described.parties import what_parties_get
from unpooled.described.what_leaves import COHORT_SUMS, SERVER, Form, what_leaves
from unpooled.methods.shared.summary import Summary
from unpooled.plan.common_options import COVARIATES
from unpooled.plan.plan import NO_KEY, Covariate, Plan
from unpooled.protocol.invitation import Invitation
from unpooled.protocol.messages import Roster
from unpooled_client.commands.review import review as command
from unpooled_client.commands.screen import LineScreen
from unpooled_client.data.options import DataOptions
from unpooled_client.sentences import sentences
from unpooled_client.sentences.review import review_page
from unpooled_client.state.events import PEOPLE, FewApart, ReleaseNeeded
from unpooled_client.state.fingerprint import Fingerprint
from unpooled_client.state.folder import Agreement, Saved, StateFolder

PLAN = Plan(
    test="logistic", phenotype="asthma", cohorts=3, compensator_key=NO_KEY, files=("assoc",),
    covariates=(Covariate("age"), Covariate("site", ("<a>", "b"))),
)  # fmt: skip
ROSTER = Roster((("Graz", bytes(32)), ("Oulu", bytes(31) + b"1"), ("Tartu", bytes(31) + b"2")))
INVITATION = Invitation("https://studies.example.org", "s1", "t" * 43, " ".join(["ab12"] * 8))
SIZES = {
    "samples": 90,
    "variants": 30_500,
    "variants_autosomal": 30_000,
    "variants_x": 500,
    "list_bytes": 900_000,
}
AGREED = Agreement("<b>Asthma</b> & more", PLAN, ROSTER, False)
CHECKED = replace(
    Saved.new(INVITATION),
    cohort="Oulu",
    agreement=AGREED,
    files={"bed": Fingerprint(700_000, 1, "ab" * 32)},
    sizes=SIZES,
)

Keep = Callable[[Saved], StateFolder]


@pytest.fixture
def keep(tmp_path: Path) -> Keep:
    def kept(saved: Saved) -> StateFolder:
        folder = StateFolder(tmp_path / "state")
        with folder.locked():
            folder.save(saved)
        return folder

    return kept


def review(folder: StateFolder, *options: object) -> Result:
    arguments = ["--state", str(folder.path), *map(str, options)]
    return CliRunner().invoke(command, arguments)


def test_the_table_fits_a_terminal_and_has_every_quantity_with_its_size() -> None:
    rows = what_leaves(PLAN, SIZES)
    shown = sentences.leaves(rows)
    assert max(map(len, shown)) <= 100
    text = " ".join(" ".join(shown).split())
    for row in rows:
        for part in (row.what, row.shape, row.learns, sentences.how_much(row)):
            assert part in text, part
    assert "in at most 100 rounds, usually in 6" in text and "a round" in text


@pytest.mark.parametrize("covariates", [COVARIATES.of(PLAN), ()], ids=["covariates", "none"])
@pytest.mark.parametrize("allowed", [False, True])
def test_sums_over_one_cohort_are_told_of_wherever_a_plan_allows_them(
    covariates: tuple[Covariate, ...], allowed: bool
) -> None:
    plan = replace(PLAN, covariates=covariates, cohort_sums=allowed)
    rows = what_leaves(plan, SIZES)
    server = what_parties_get(plan)[0]
    numbers: Summary = {"people": 9, "cases": 4, "controls": 5, "variants": 5, "genomic_inflation": None}
    paper = methods(plan, Run(("Graz", "Oulu", "Tartu"), [numbers], "", 5, False, "2024-12-31", "Unpooled"))
    told = {
        "plan": "may be seen" in dict(plan_facts(plan).all).get(COHORT_SUMS, ""),
        "consent": any(row.what == COHORT_SUMS and row.readable_by == SERVER for row in rows),
        "below it": "except its sums" in " ".join(sentences.leaves(rows)),
        "page": "one exception" in review_page(CHECKED, replace(AGREED, plan=plan), datetime(2026, 5, 4)),
        "can read": "sums over one cohort" in server.reads,
        "never gets": "one cohort's numbers" not in server.never,
        "paper": "sums over one cohort" in " ".join(paper.split()),
    }
    assert set(told.values()) == {allowed and bool(covariates)}, told
    assert (COHORT_SUMS in dict(plan_facts(plan).all)) == bool(covariates)


def test_without_a_terminal_it_says_how_to_release(keep: Keep) -> None:
    folder = keep(CHECKED)
    done = review(folder)
    assert done.exit_code == 0
    assert f"unpooled-client review --release --state {folder.path}" in done.output
    assert not folder.load().is_released
    done = review(folder, "--release")
    assert done.exit_code == 0 and folder.load().is_released
    assert "This is released" in review(folder).output


def test_few_people_apart_are_not_released_unseen(keep: Keep) -> None:
    few = FewApart("Asthma", "case", "Asthma last year", "case", 0, 1, PEOPLE)
    folder = keep(replace(CHECKED, few_apart=(few,)))
    refused = review(folder, "--release")
    assert "few people differ from those of “Asthma last year”" in str(refused.exception)
    assert not folder.load().is_released
    assert json.loads(review(folder, "--json").output)["few_apart"] == [sentences.apart(few)]
    assert review(folder, "--release", "--few-apart").exit_code == 0 and folder.load().is_released


def test_a_data_file_is_never_written_over(keep: Keep, tmp_path: Path) -> None:
    folder = keep(replace(CHECKED, options=DataOptions(bfile=tmp_path / "own").to_json()))
    done = review(folder, "--release", "--html", tmp_path / "own.bed")
    assert done.exit_code == 2 and "one of the data files" in done.output
    assert not folder.load().is_released and not (tmp_path / "own.bed").exists()


@pytest.mark.parametrize(
    ("saved", "remedy"),
    [
        (replace(CHECKED, agreement=None, files={}), "unpooled-client join --wait"),
        (replace(CHECKED, files={}), "unpooled-client check --state"),
    ],
    ids=["no agreement", "no check"],
)
def test_there_is_nothing_to_review_before_the_agreement_and_the_check(
    keep: Keep, saved: Saved, remedy: str
) -> None:
    done = review(keep(saved), "--release")
    assert done.exit_code != 0 and remedy in str(done.exception)


def test_json_has_what_the_engine_asks_with(keep: Keep) -> None:
    found = json.loads(review(keep(CHECKED), "--json").output)
    assert found["plan_hash"] == PLAN.hash().hex() and found["roster_hash"] == ROSTER.hash().hex()
    assert not found["released"]
    rows = what_leaves(PLAN, SIZES)
    assert [row["bytes"] for row in found["leaves"]] == [row.bytes for row in rows]
    assert {row["amount"] for row in found["leaves"]} == {sentences.how_much(row) for row in rows}


class Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.addresses: list[str | None] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.addresses += [value for name, value in attrs if name in ("src", "href") or name.startswith("on")]

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("one_operator", [False, True])
def test_the_page_stands_by_itself_and_names_everything(one_operator: bool) -> None:
    agreed = replace(AGREED, one_operator=one_operator)
    page = review_page(CHECKED, agreed, datetime(2026, 5, 4, 3, 2))
    found = Tags(page)
    assert not {"script", "link", "img", "b", "a", "iframe"} & found.names and not found.addresses
    for part in (
        "<b>Asthma</b> & more", "Oulu (this cohort)", INVITATION.server, PLAN.hash().hex(),
        ROSTER.hash().hex(), "2026-05-04 03:02", "unpooled-client", "ab" * 32, "<a>", "not released yet",
    ):  # fmt: skip
        assert part in found.text, part
    rows = what_leaves(PLAN, SIZES, one_operator=one_operator)
    assert all(row.what in found.text and row.learns in found.text for row in rows)
    assert (
        ("not blind" in found.text) == ("whoever runs server and compensator" in found.text) == one_operator
    )
    assert ("not what this cohort added" in found.text) != one_operator


def test_five_lines_say_whom_what_who_how_much_and_what_not() -> None:
    rows = what_leaves(PLAN, SIZES)
    short = dict(sentences.summary_rows(rows, SIZES))
    assert list(short) == ["Of whom", "What leaves", "Who can read it", "How much", "What it does not tell"]
    assert f"{SIZES['variants']:,} variants" in short["Of whom"]
    for row in rows:  # nothing that leaves in clear is left out
        if row.form == Form.CLEAR:
            assert row.what[1:] in short["What leaves"]
    assert "the server and all cohorts read the sum over all cohorts" in short["Who can read it"]
    assert f"{short['How much']}." == sentences.in_all(rows)
    assert "But a sum may be of one person" in short["What it does not tell"]
    assert max(map(len, sentences.summary(rows, SIZES))) <= 100
    assert len(sentences.summary(rows, SIZES)) < len(sentences.leaves(rows)) / 4


def test_the_summary_hides_no_exception() -> None:
    plain = dict(sentences.summary_rows(what_leaves(PLAN, SIZES), SIZES))["What it does not tell"]
    assert "nobody learns what this cohort's part in a sum is." in plain
    open_plan = replace(PLAN, cohort_sums=True)
    exception = dict(sentences.summary_rows(what_leaves(open_plan, SIZES), SIZES))["What it does not tell"]
    assert f"but for “{COHORT_SUMS}”" in exception
    rows = what_leaves(PLAN, SIZES, one_operator=True)
    short = dict(sentences.summary_rows(rows, SIZES))
    assert "Masks hide nothing" in short["Who can read it"]
    assert "part in a sum" not in short["What it does not tell"]
    assert "ONE OPERATOR: NOT BLIND" in " ".join(sentences.summary(rows, SIZES))


def test_review_has_the_summary_and_everything(keep: Keep) -> None:
    shown = review(keep(CHECKED)).output
    assert shown.index("IN SHORT") < shown.index("WHAT WILL LEAVE THIS COMPUTER\n")
    found = json.loads(review(keep(CHECKED), "--json").output)
    assert found["summary"][0][0] == "Of whom"


@pytest.mark.parametrize(
    ("typed", "released"), [("?\ny\n", True), ("?\n\n", False), ("YES\n", True), ("n\n", False)]
)
def test_a_question_mark_at_the_prompt_shows_everything(
    typed: str, released: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = what_leaves(PLAN, SIZES)
    event = ReleaseNeeded(PLAN.hash().hex(), rows, SIZES)
    everything = "\n".join(sentences.leaves(rows))

    @click.command()
    def prompt() -> None:
        monkeypatch.setattr("sys.stdin.isatty", lambda: True)
        with LineScreen() as screen:
            screen.show(event)
            click.echo(f"answer: {screen.ask('Release it?', everything)}")

    done = CliRunner().invoke(prompt, input=typed)
    assert f"answer: {released}" in done.output
    assert "IN SHORT" in done.output and "? shows everything" in done.output
    assert (everything in done.output) == ("?\n" in typed)
