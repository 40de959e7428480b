"""The coordinator's API, from creating a study to its results."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from federation_fixtures import NAMES, Data, Federation, variants, work
from signing_in import Http, Person
from whole_studies import SMALL
from whole_studies import created as created_study
from whole_studies import invited as invited_cohorts

from tests import list_text
from unpooled.protocol import sealing
from unpooled.protocol.invitation import Invitation
from unpooled_server.models import Study
from unpooled_server.services import panels
from unpooled_webapp import accounts, http_worker

PLAN = SMALL | {"chunk_size": 5}
NEW = {"name": "Type 2 diabetes", "plan": PLAN}


def created(me: httpx.Client, **changes: Any) -> str:
    return created_study(me, **{**NEW, **changes})


def invited(me: httpx.Client, http: Http, study: str) -> Federation:
    return invited_cohorts(me, http, study, [Data.make(seed, variants()) for seed in range(3)])


@pytest.mark.parametrize("act", ["patch", "delete", "start", "abort", "archive"])
def test_an_owner_who_became_an_observer_watches(me: httpx.Client, act: str) -> None:
    study = created(me)
    accounts.set_role(User.objects.get(username="me"), accounts.OBSERVER)
    address = f"/api/v1/studies/{study}"
    if act in ("patch", "delete"):
        answer = me.request(act, address, json={"name": "Other"} if act == "patch" else None)
    else:
        answer = me.post(f"{address}/{act}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "observer")
    assert me.get(address).json()["may_change"] is False


LOGISTIC = {"test": "logistic", "tolerance": 1e-4, "covariates": [{"name": "age"}], "files": ["assoc", "glm"]}
TABLES = {"test": "z-score", "cohorts": 3, "schema": [{"name": "glucose"}]}


def test_the_file_name_is_made_from_the_name_unless_the_plan_has_one(me: httpx.Client) -> None:
    unnamed = {field: value for field, value in PLAN.items() if field != "file_stem"}

    def stem(answer: httpx.Response) -> str:
        assert answer.is_success, answer.text
        return str(answer.json()["plan"]["file_stem"])

    def asked(plan: dict[str, Any]) -> httpx.Response:
        return me.post("/api/v1/studies", json={"name": "Typ 2, Größe", "plan": plan})

    made = asked(unnamed)
    assert stem(made) == stem(asked({**unnamed, "file_stem": ""})) == "typ-2-grosse"
    assert stem(asked({**unnamed, "file_stem": "T2D_2026"})) == "T2D_2026"
    url = f"/api/v1/studies/{made.json()['id']}"
    assert stem(me.patch(url, json={"name": "Other", "plan": {"phenotype": "BMI"}})) == "typ-2-grosse"
    assert stem(me.patch(url, json={"plan": {"file_stem": "bmi"}})) == "bmi"
    assert stem(me.patch(url, json={"plan": {"file_stem": ""}})) == "bmi"
    refused = asked({**unnamed, "file_stem": "../x"})
    assert refused.status_code == 400 and set(refused.json()["error"]["fields"]) == {"plan.file_stem"}


@pytest.mark.parametrize("copied", [False, True], ids=["draft", "duplicate"])
@pytest.mark.parametrize(
    ("before", "change", "gone"),
    [
        ({**PLAN, **LOGISTIC, "glm_cols": ["test", "p"]}, {"test": "chi-square"}, "tolerance"),
        ({**PLAN, "maf": 0.1}, {"test": "z-score", "schema": [{"name": "glucose"}]}, "maf"),
        ({**PLAN, "chromosomes": ["1"]}, {"test": "z-score", "schema": [{"name": "glucose"}]}, "chromosomes"),
        (TABLES, {"test": "linear", "phenotype": "height"}, "schema"),
        ({**TABLES, "test": "quantiles", "quantiles": [0.5]}, {"test": "z-score"}, "quantiles"),
    ],
)
def test_another_test_takes_over_what_it_heeds(
    me: httpx.Client, before: dict[str, Any], change: dict[str, Any], gone: str, copied: bool
) -> None:
    study = created(me, plan=before)
    if copied:
        study = me.post(f"/api/v1/studies/{study}/duplicate").json()["id"]
    answer = me.patch(f"/api/v1/studies/{study}", json={"plan": change})
    assert answer.status_code == 200, answer.text
    plan = answer.json()["plan"]
    assert plan["test"] == change["test"] and plan["cohorts"] == 3
    usual = {method["name"]: method["usual"] for method in me.get("/api/v1/methods").json()}
    assert plan.get(gone) == usual[change["test"]].get(gone) != before[gone]


@pytest.mark.services
def test_a_study_from_its_creation_to_its_results(me: httpx.Client, http: Http) -> None:
    study = created(me)
    trial = invited(me, http, study)
    assert trial.clients[0].invitation.server == "http://localhost"
    trial.run()
    detail = me.get(f"/api/v1/studies/{study}").json()
    assert detail["state"] == "done"
    assert detail["cohorts_joined"] == 3
    assert detail["cohorts"][0]["fingerprint"] == sealing.fingerprint(trial.clients[0].key.public)
    progress = me.get(f"/api/v1/studies/{study}/progress").json()
    assert progress["title"] == "Done"
    assert all(step["summed"] == step["rounds"] for step in progress["steps"])
    assert me.get(f"/api/v1/studies/{study}/traffic").json()["total"] > 0
    parties = {party["name"]: party for party in me.get(f"/api/v1/studies/{study}/parties").json()}
    counted = [name for name, party in parties.items() if party["bytes"]]
    assert counted == ["server", "compensator", "each cohort"]
    assert "list of variants" in parties["server"]["gets"]
    assert "list of variants" in parties["compensator"]["never"]
    (row,) = me.get("/api/v1/studies").json()
    assert row["now"] == {"title": "Done", "done": 0, "total": 0}
    assert row["active_at"] >= row["changed_at"]
    log = [line["what"] for line in me.get(f"/api/v1/studies/{study}/log").json()]
    assert log[0] == "created the study"
    results = me.get(f"/api/v1/studies/{study}/results").json()
    assert [result["name"] for result in results] == [
        "study.assoc",
        "study.frq",
        "study.lmiss",
        "study.hwe",
        "study.variants.tsv",
        "study.methods.txt",
        "study.report.html",
        "study.manifest.json",
    ]
    for result in results:
        answer = me.get(f"/api/v1/studies/{study}/results/{result['name']}")
        assert len(answer.content) == result["size"]
        assert answer.headers["Content-Disposition"] == f'attachment; filename="{result["name"]}"'
    assert me.get(f"/api/v1/studies/{study}/results/nothing").status_code == 404


def test_results_as_json(me: httpx.Client, http: Http) -> None:
    study = created(me)
    url = f"/api/v1/studies/{study}/table"
    assert me.get(url).status_code == 404
    trial = invited(me, http, study)
    trial.run()
    work()
    table = me.get(url).json()
    assert table["variants"] == 12
    assert {len(column) for column in table["columns"].values()} == {12}
    assert {"chromosome", "position", "id", "a1", "a2", "chi_square", "neg_log10_p"} <= set(table["columns"])
    lines = me.get(f"/api/v1/studies/{study}/results/study.assoc").text.splitlines()[1:]
    for row, line in enumerate(lines):
        words = line.split()
        for column, word in (("chromosome", 0), ("id", 1), ("position", 2), ("a1", 3), ("a2", 6)):
            assert str(table["columns"][column][row]) == words[word]
        assert table["columns"]["chi_square"][row] == pytest.approx(float(words[7]), rel=1e-3)
    page = me.get(url, params={"start": 10, "count": 5}).json()
    assert page["columns"]["id"] == table["columns"]["id"][10:]
    assert me.get(url, params={"start": 99}).json()["columns"]["id"] == []
    for params in ({"start": -1}, {"count": "x"}, {"count": 10_001}):
        assert me.get(url, params=params).status_code == 400


def test_steering(me: httpx.Client, http: Http) -> None:
    study = created(me, auto_start=False)
    trial = invited(me, http, study)
    url = f"/api/v1/studies/{study}"
    blocked = me.post(f"{url}/start")
    assert blocked.status_code == 409
    assert blocked.json()["error"]["message"].startswith("Waiting for Graz, ")
    trial.ready()
    work()  # the lists of variants are compared
    assert me.get(url).json()["start_blocked"] == ""
    assert me.post(f"{url}/start").json()["state"] == "running"
    work()
    assert me.post(f"{url}/pause").json()["state"] == "paused"
    assert me.get(url).json()["start_blocked"] == "The study is paused."
    assert me.delete(url).status_code == 409
    assert me.post(f"{url}/resume").json()["state"] == "running"
    assert me.post(f"{url}/resume").status_code == 409
    assert me.post(f"{url}/abort").json()["state"] == "aborted"
    copy = me.post(f"{url}/duplicate")
    assert (copy.status_code, copy.json()["state"]) == (201, "draft")
    assert copy.json()["name"] == "Type 2 diabetes (copy)"
    assert me.post(f"{url}/archive").json()["archived"] is True
    assert [row["id"] for row in me.get("/api/v1/studies").json()] == [copy.json()["id"]]
    assert [row["id"] for row in me.get("/api/v1/studies?archived=1").json()] == [study]
    assert me.delete(f"{url}/archive").json()["archived"] is False
    work()
    assert me.delete(url).status_code == 204
    assert me.get(url).status_code == 404


def test_changing_a_draft(me: httpx.Client, http: Http) -> None:
    study = created(me)
    url = f"/api/v1/studies/{study}"
    before = me.get(url).json()["plan_hash"]
    changed = me.patch(url, json={"name": "Other", "plan": {"phenotype": "BMI"}}).json()
    assert (changed["name"], changed["plan"]["phenotype"]) == ("Other", "BMI")
    assert changed["plan_hash"] != before
    bad = me.patch(url, json={"plan": {"cohorts": 1}})
    assert bad.status_code == 400
    assert bad.json()["error"]["fields"] == {"plan.cohorts": "3 to 1,000 cohorts, not 1"}
    invited(me, http, study).clients[0].join()
    changed = me.patch(url, json={"plan": {"phenotype": "x"}}).json()
    assert (changed["plan"]["phenotype"], changed["plan_may_change"]) == ("x", True)
    ended = me.post(f"{url}/abort").json()
    assert (ended["plan_may_change"], ended["repetition"]) == (False, None)
    refused = me.patch(url, json={"plan": {"phenotype": "y"}})
    assert refused.status_code == 409 and "Change and repeat" in refused.json()["error"]["remedy"]
    assert me.patch(url, json={"description": "still open to change"}).status_code == 200


def test_repeating(me: httpx.Client, http: Http) -> None:
    study = created(me)
    invited(me, http, study)
    url = f"/api/v1/studies/{study}"
    body = {"name": "Type 2 diabetes", "plan": PLAN}
    assert me.post(f"{url}/repeat", json=body).status_code == 409
    me.post(f"{url}/abort")
    made = me.post(f"{url}/repeat", json=body)
    assert made.status_code == 201, made.text
    found = made.json()
    assert (found["name"], found["state"]) == ("Type 2 diabetes (2)", "open")
    assert found["repeats"] == {"id": study, "name": "Type 2 diabetes"}
    assert me.get(url).json()["repetition"] == {"id": found["id"], "name": "Type 2 diabetes (2)"}
    assert me.post(f"{url}/repeat", json=body).status_code == 409


@pytest.mark.parametrize(
    ("left", "status", "code"),
    [([], 400, "invalid"), (["Nowhere"], 404, "no-cohort"), (["Oslo"], 409, "too-few-cohorts")],
)
def test_repeating_without_a_cohort_says_what_is_wrong(
    me: httpx.Client, http: Http, left: list[str], status: int, code: str
) -> None:
    trial = invited(me, http, study := created(me))
    trial.running()
    answer = me.post(f"/api/v1/studies/{study}/repeat-without", json={"cohorts": left})
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert me.get(f"/api/v1/studies/{study}").json()["state"] == "running"


@pytest.mark.services
@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, {"name", "plan"}),
        ({"name": "", "plan": PLAN}, {"name"}),
        ({"name": "x", "plan": "chi-square"}, {"plan"}),
        ({"name": "x", "plan": {}}, {"plan.test", "plan.phenotype", "plan.cohorts"}),
        ({"name": "x", "plan": {**PLAN, "test": "magic"}}, {"plan.test"}),
        ({"name": "x", "plan": {**PLAN, "cohorts": 2, "build": ""}}, {"plan.cohorts", "plan.build"}),
        ({"name": "x" * 300, "plan": PLAN}, {"name"}),
    ],
)
def test_what_is_wrong_with_a_new_study_is_said_by_field(
    me: httpx.Client, body: dict[str, Any], fields: set[str]
) -> None:
    answer = me.post("/api/v1/studies", json=body)
    assert answer.status_code == 400, answer.text
    assert set(answer.json()["error"]["fields"]) == fields
    assert not Study.objects.exists()


@pytest.mark.parametrize("content", [b"{", b"\xff\xff", b"[" * 100_000, b"[]", b"null"])
def test_a_body_that_is_no_json_is_refused(me: httpx.Client, content: bytes) -> None:
    answer = me.post("/api/v1/studies", content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert set(answer.json()) == {"error"}
    assert me.post("/api/v1/studies", content=b"x", headers={"Content-Type": "text/xml"}).status_code == 415
    assert me.post("/api/v1/studies", json={"name": "x" * (1 << 20)}).status_code == 413


@pytest.mark.services
@pytest.mark.parametrize(
    "odd",
    [
        {"min_samples": 2**63},
        {"min_per_class": 2**64},
        {"min_samples": 10**30},
        {"\ud800": 1},
        {"\x1b[31mred": 1},
        {"chromosomes": "\ud800"},
        {"covariates": [{"name": "\ud800", "levels": []}]},
    ],
)
def test_odd_plans_are_refused_in_plain_words(me: httpx.Client, odd: dict[str, Any]) -> None:
    content = json.dumps({"name": "x", "plan": {**PLAN, **odd}})
    answer = me.post("/api/v1/studies", content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].isprintable()


def test_answers_to_head_have_no_body(me: httpx.Client) -> None:
    for path in ("/", "/api/v1/studies", "/api/v1/nothing", "/api/v1/cohort/study", "/health"):
        answer = me.head(path)
        assert answer.content == b"" and int(answer.headers["Content-Length"]) > 0


def test_who_is_not_signed_in_sends_little(http: Http) -> None:
    for path in ("/api/v1/session", "/api/v1/studies", "/health", "/api/v1/nothing"):
        content = b"x" * (http_worker.SMALL_BODY + 1)
        answer = http().post(
            path, content=content, headers={"Content-Type": "multipart/form-data; boundary=x"}
        )
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "not-signed-in")


def test_a_list_without_a_length_or_with_too_large_a_one_is_refused_unread(me: httpx.Client) -> None:
    url = f"/api/v1/studies/{created(me, plan={**PLAN, 'panel_mode': 'list'})}/list"
    assert me.put(url, headers={"Content-Length": str(panels.MAX_LIST_BYTES + 1)}).status_code == 413
    assert me.put(url, content=iter([b"x"])).status_code == 411
    assert me.put(url, content=b"").status_code == 400


def test_the_list_of_a_study(me: httpx.Client) -> None:
    study = created(me, plan={**PLAN, "panel_mode": "list"})
    url = f"/api/v1/studies/{study}"
    detail = me.get(url).json()
    assert (detail["list_ready"], detail["plan_hash"], detail["plan"]["panel_digest"]) == (False, "", "")
    refused = me.post(f"{url}/invitations", json={"cohort": "Graz"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "no-list")
    assert me.put(f"{url}/list", content=b"nonsense").status_code == 400
    detail = me.put(f"{url}/list", content=list_text.write(variants())).json()
    assert detail["plan"]["panel_digest"] == variants().digest.hex()
    assert detail["plan_hash"]
    assert me.post(f"{url}/invitations", json={"cohort": "Graz"}).status_code == 201


@pytest.mark.services
def test_invitations(me: httpx.Client, http: Http) -> None:
    study = created(me)
    trial = invited(me, http, study)
    url = f"/api/v1/studies/{study}/invitations"
    assert [row["name"] for row in me.get(url).json()] == ["Graz", "Oslo", "Tartu"]
    assert "token" not in me.get(url).text
    assert me.post(url, json={"cohort": "Graz"}).status_code == 409
    assert me.post(url, json={"cohort": "Bergen"}).status_code == 409  # all are invited already
    assert me.delete(f"{url}/Tartu").status_code == 204
    assert me.post(url, json={"cohort": "<b>"}).status_code == 400
    anew = me.post(f"{url}/Graz/reissue").json()["invitation"]
    assert trial.clients[0].call("GET", "study").status_code == 401
    trial.clients[0].invitation = Invitation.from_text(anew)
    assert trial.clients[0].study()["cohort"] == "Graz"
    assert me.post(f"{url}/Graz/revoke").json()["state"] == "revoked"
    assert trial.clients[0].call("GET", "study").status_code == 401
    assert me.post(f"{url}/Bergen/revoke").status_code == 404


def test_invitations_carry_the_public_address(me: httpx.Client, platform: Any) -> None:
    platform.UNPOOLED_PUBLIC_URL = "https://studies.example.org"
    text = me.post(f"/api/v1/studies/{created(me)}/invitations", json={"cohort": "Graz"}).json()["invitation"]
    assert Invitation.from_text(text).server == "https://studies.example.org"


@pytest.mark.services
def test_an_observer_watches_what_somebody_lets_them_watch(me: httpx.Client, person: Person) -> None:
    study, observer = created(me), person("watcher", accounts.OBSERVER)
    url = f"/api/v1/studies/{study}"
    assert observer.get(url).status_code == 404
    assert me.patch(url, json={"observers": ["watcher", "ghost"]}).status_code == 400
    assert me.patch(url, json={"observers": ["watcher"]}).json()["observers"] == ["watcher"]
    assert observer.get(url).status_code == 200


def test_an_administrator_sees_all_studies(me: httpx.Client, person: Person) -> None:
    study = created(me)
    administrator = person("root", accounts.ADMINISTRATOR)
    assert [row["id"] for row in administrator.get("/api/v1/studies").json()] == [study]
    assert administrator.post(f"/api/v1/studies/{study}/abort").status_code == 200


def test_the_list_says_what_a_study_waits_for_you_to_do(me: httpx.Client, person: Person) -> None:
    study = created(me, description="Wave two")
    observer = person("watcher", accounts.OBSERVER)
    me.patch(f"/api/v1/studies/{study}", json={"observers": ["watcher"]})
    (mine,), (theirs,) = (who.get("/api/v1/studies").json() for who in (me, observer))
    assert (mine["description"], mine["asks_you"]) == ("Wave two", "Waits for you to invite 3 cohorts")
    assert theirs["asks_you"] == ""
    for name in NAMES:
        me.post(f"/api/v1/studies/{study}/invitations", json={"cohort": name})
    assert [row["asks_you"] for row in me.get("/api/v1/studies").json()] == [""]


@pytest.mark.services
def test_a_list_of_many_studies_takes_no_more_queries_than_one_of_few(me: httpx.Client) -> None:
    created(me)
    invited = created(me)
    me.post(f"/api/v1/studies/{invited}/invitations", json={"cohort": "Graz"})

    def queries() -> int:
        with CaptureQueriesContext(connection) as found:
            me.get("/api/v1/studies").raise_for_status()
        return len(found)

    before = queries()
    for _ in range(5):
        created(me)
    assert before == queries() > 0


def test_two_studies_at_once(me: httpx.Client, http: Http) -> None:
    trials = [invited(me, http, created(me)) for _ in range(2)]
    for trial in trials:
        trial.running()
    for _ in range(8):
        for trial in trials:
            trial.answer()
        work()
    assert [trial.study.state for trial in trials] == ["done", "done"]


def test_an_answer_that_has_not_changed_is_not_sent_again(me: httpx.Client) -> None:
    url = f"/api/v1/studies/{created(me)}/progress"
    first = me.get(url)
    again = me.get(url, headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
