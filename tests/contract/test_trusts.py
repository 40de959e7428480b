"""Whom a study trusts with its masks changes none of its results, and who needs a compensator says so."""

from __future__ import annotations

import numpy as np
import pytest

from unpooled.methods import check, compares
from unpooled.plan.common_options import COHORTS, COMPENSATOR, ENCRYPTED, MOST_ENCRYPTED, TRUST
from unpooled.plan.plan import NO_KEY, Plan, PlanError
from unpooled.protocol.encrypted import worker
from unpooled.run import run

from ..plinks import needed
from .studies import STUDIES, of_model, of_tables, of_variants

KINDS = (
    *("chi-square", "linear, mean", "linear, exact", "linear, of conditions", "logistic, exact"),
    *("linear, beside components", "polygenic", "prune", "summary", "z-score", "min-max", "robust"),
    *("yeo-johnson", "quantiles", "encode, without a dictionary", "private-ridge", "private-network"),
)
ENCRYPTED_KINDS = ("chi-square", "linear, mean", "robust", "encode, without a dictionary", "private-ridge")


def trusting(plan: Plan, trust: str = COHORTS) -> Plan:
    return Plan(**{**vars(plan), "options": (*plan.options, (TRUST.name, trust))})


def results(plan: Plan, name: str) -> dict[tuple[str, str], np.ndarray]:
    one = STUDIES[name]()
    found = run(plan, one.panel, one.cohorts)
    return {(table, column): values for table, of in found.items() for column, values in of.items()}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Take a study of each kind; with --every-trust every one that needs no compensator, under each trust."""
    if metafunc.function is not test_results_are_the_same_in_every_byte:
        return
    kinds = {COHORTS: KINDS, ENCRYPTED: ENCRYPTED_KINDS}
    if metafunc.config.getoption("--every-trust"):
        kinds = dict.fromkeys(kinds, tuple(filter(needs_no_compensator, STUDIES)))
    metafunc.parametrize(("name", "trust"), [(name, trust) for trust in kinds for name in kinds[trust]])


def needs_no_compensator(name: str) -> bool:
    try:
        check(trusting(STUDIES[name]().plan))
    except PlanError as refused:
        assert list(refused.problems) == [TRUST.name], name
        return False
    return True


def test_results_are_the_same_in_every_byte(name: str, trust: str) -> None:
    if trust == ENCRYPTED:
        needed(not worker.problem(), "OpenFHE", "", "scripts/openfhe-python")
    plan = STUDIES[name]().plan
    check(trusting(plan, trust))
    theirs, ours = results(plan, name), results(trusting(plan, trust), name)
    assert theirs.keys() == ours.keys() and theirs
    for key, values in theirs.items():
        assert values.dtype == ours[key].dtype and values.tobytes() == ours[key].tobytes(), key


def test_a_plan_that_does_not_say_keeps_its_hash() -> None:
    plan = of_variants("chi-square").plan
    assert trusting(plan, COMPENSATOR) == plan
    assert trusting(plan).hash() != plan.hash()
    assert Plan.from_json(trusting(plan).to_json()) == trusting(plan)


REFUSED: dict[str, tuple[Plan, str]] = {
    "compared": (of_tables("robust", opens="bits").plan, r"\(--opens\) compares sums"),
    "a density": (
        of_variants("pca", pca=2, files=("eigenval", "eigenvec.allele", "acount", "density")).plan,
        "with the file density compares sums",
    ),
    "normal scores": (
        of_variants("linear", rint=True).plan,
        r"^trust: Linear regression with Normal scores of the phenotype \(--rint\) compares sums",
    ),
    "scaled by what is compared": (
        of_model("ridge", scalings=("yeo-johnson", "robust")).plan,
        "regression compares sums",
    ),
    "searched": (STUDIES["encode, of searched words"]().plan, "list them"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("trust", [COHORTS, ENCRYPTED])
def test_who_needs_a_compensator_says_so(name: str, trust: str) -> None:
    plan, said = REFUSED[name]
    with pytest.raises(PlanError, match=said) as refused:
        check(trusting(plan, trust))
    assert list(refused.value.problems) == [TRUST.name]


def test_more_cohorts_than_a_ciphertext_holds_are_not_encrypted() -> None:
    trusting(Plan("chi-square", "asthma", MOST_ENCRYPTED, NO_KEY), ENCRYPTED)
    many = Plan("chi-square", "asthma", MOST_ENCRYPTED + 1, NO_KEY)
    assert trusting(many).in_pairs
    with pytest.raises(PlanError, match="up to 16 cohorts, not 17: choose cohorts") as refused:
        trusting(many, ENCRYPTED)
    assert list(refused.value.problems) == [TRUST.name]


def test_normal_masks_need_a_compensator() -> None:
    with pytest.raises(PlanError, match="only with uniform masks"):
        trusting(Plan("chi-square", "asthma", 3, NO_KEY, masking="gaussian"))


def test_sums_that_are_told_need_none() -> None:
    plan = trusting(of_tables("robust").plan)
    assert not compares(plan)
    check(plan)
