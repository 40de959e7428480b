"""Description of methods from which the form for a new study is made."""

from __future__ import annotations

from typing import Any

import pytest
from signing_in import Person

from unpooled.methods import ALGORITHMS, completed
from unpooled.methods import usual as say_nothing
from unpooled.plan.common_options import COHORTS, COMPENSATOR, ENCRYPTED, TRUST
from unpooled.plan.plan import NO_KEY, Plan, PlanError
from unpooled.protocol.encrypted import worker
from unpooled_server.errors import Refused
from unpooled_server.services import changing
from unpooled_webapp import accounts
from unpooled_webapp.api.plan_options import IS_NOT_ENCRYPTED


@pytest.fixture
def methods(person: Person) -> dict[str, dict[str, Any]]:
    offered = person("observer", accounts.OBSERVER).get("/api/v1/methods").json()
    return {method["name"]: method for method in offered}


def test_every_algorithm_is_offered(methods: dict[str, dict[str, Any]]) -> None:
    assert list(methods) == list(ALGORITHMS)
    assert methods["logistic"]["traits"] == ["case/control"]
    options = {option["name"]: option for option in methods["logistic"]["options"]}
    assert options["covariates"]["kind"] == "covariates" and options["maf"]["flag"] == "--maf"
    assert (options["maf"]["least"], options["maf"]["most"]) == (0, 0.5)
    assert {"name": "frq", "title": "Allele frequencies", "hint": ".frq"} in methods["logistic"]["files"]
    assert methods["z-score"]["of_tables"] and not methods["linear"]["of_tables"]


def test_encryption_is_offered_only_where_the_server_has_an_interpreter(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = person("observer", accounts.OBSERVER)
    monkeypatch.setenv(worker.SETTING, "/nowhere/python")
    (method, *_) = client.get("/api/v1/methods").json()
    trust = next(option for option in method["options"] if option["name"] == TRUST.name)
    assert [answer["value"] for answer in trust["answers"]] == [COMPENSATOR, COHORTS]
    assert trust["hint"] == IS_NOT_ENCRYPTED
    fields = {"test": "chi-square", "phenotype": "asthma", "cohorts": 3, TRUST.name: ENCRYPTED}
    with pytest.raises(Refused, match=r"does not import OpenFHE: .*nowhere") as refused:
        changing.checked({**fields, "compensator_key": NO_KEY.hex()})
    assert list(refused.value.fields) == [f"plan.{TRUST.name}"]


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_the_usual_plan_is_the_plan_of_who_says_nothing(
    methods: dict[str, dict[str, Any]], name: str
) -> None:
    of_tables = methods[name]["of_tables"]
    question = {"schema": ["glucose"]} if of_tables else {"phenotype": "asthma"}
    said = {"test": name, "cohorts": 3, "compensator_key": NO_KEY.hex(), **question}
    usual = methods[name]["usual"]
    nothing_said = {**say_nothing(name), **said}
    assert Plan.from_json({**usual, **said}) == Plan.from_json(nothing_said)
    assert usual.get("opens", "bits") == "bits"  # who asks for nothing has sums compared, not read


def test_only_studies_of_structure_do_without_a_phenotype() -> None:
    said = {"phenotype": "", "cohorts": 3, "compensator_key": NO_KEY.hex()}
    assert completed({**said, "test": "pca"}).phenotype == ""
    with pytest.raises(PlanError, match="phenotype: the phenotype's name"):
        completed({**said, "test": "chi-square"})


def test_a_form_knows_what_has_to_be_said(methods: dict[str, dict[str, Any]]) -> None:
    assert methods["prune"]["needed"] == methods["pca"]["needed"] == []
    assert methods["linear"]["needed"] == ["phenotype"]
    assert methods["quantiles"]["needed"] == ["schema", "quantiles"]
    assert "epsilon" in methods["private-ridge"]["needed"]


def test_a_plan_is_foreseen_or_refused_as_a_study_would_be(person: Person) -> None:
    own = person("planner", accounts.COORDINATOR)
    plan = {"test": "linear", "phenotype": "ldl", "trait": "quantitative", "cohorts": 3}

    def asked(**more: Any) -> Any:
        return own.post("/api/v1/foreseen", json={"plan": plan | more})

    one, two = (asked(covariates=[{"name": name} for name in names]).json() for names in ("a", "ab"))
    assert {"title": "Covariates", "said": "a, b"} in two["facts"]["model"]
    assert one["bytes"] < two["bytes"] and one["seconds"] <= two["seconds"]
    sent = [line["bytes"] * line["usual_rounds"] for line in one["leaving"] if line["bytes"]]
    assert sum(sent) == one["bytes"]
    cases = {"test": "logistic", "trait": "case/control"}
    plain, saddlepoint = (asked(**cases, files=files).json() for files in (["assoc"], ["assoc", "spa"]))
    assert 1.2 < saddlepoint["seconds"] / plain["seconds"] < 2
    for option in ("robust", "loco"):
        assert 1.1 < asked(**{option: True}).json()["seconds"] / asked().json()["seconds"] < 3
    tables = {"test": "network", "phenotype": "", "trait": "none", "panel_mode": "none"}
    columns = [{"name": "age"}, {"name": "los", "role": "outcome"}]
    short, long = (asked(**tables, schema=columns, training_rounds=rounds).json() for rounds in (10, 100))
    assert (long["variants"], long["people"]) == (0, 1_000)
    assert 4 < (long["seconds"] - short["seconds"]) / 9 < 6, "half a second a round"
    refused = asked(maf=2, cohorts=1)
    assert refused.status_code == 400
    assert set(refused.json()["error"]["fields"]) == {"plan.maf", "plan.cohorts"}


def test_templates_are_offered_with_what_they_set(methods: dict[str, dict[str, Any]]) -> None:
    offered = {each["name"]: each for method in methods.values() for each in method["templates"]}
    assert list(offered) == [each.name for method in ALGORITHMS.values() for each in method.templates]
    set_by_qc = {"mind": 0.02, "geno": 0.02, "hwe": 1e-6, "maf": 0.01, "ci": 0.95}
    assert offered["chi-square-qc"]["plan"] == set_by_qc
    components = offered["linear-components"]
    assert components["covariates"][::9] == ["PC1", "PC10"]
    assert components["plan"]["covariates"][0] == {"name": "PC1", "levels": []}
