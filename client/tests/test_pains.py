"""Complaints of users of such tools, each with the tests that show what a person sees here."""

from __future__ import annotations

import ast
from pathlib import Path

CHECK = "client/tests/test_check.py::test_a_fault_is_found_where_it_is"
ENGINE = "client/tests/engine"

PAINS: dict[str, tuple[str, ...]] = {
    "sample IDs do not match, and the message does not say so": (CHECK,),
    "a phenotype or covariate file is refused without a line number": (CHECK,),
    "missing codes, categorical covariates, 1/2 against 0/1": (
        CHECK,
        "client/tests/test_check_command.py::test_missing_values_are_told_as_they_are_written",
        "client/tests/test_check_command.py::test_what_a_column_seems_to_be",
    ),
    "which allele is the effect allele; strand flips cost days": (
        "core/tests/test_panel.py::test_a_cohort_finds_which_of_its_alleles_is_the_panels_first",
        "core/tests/test_panel.py::test_flips_and_ambiguous_pairs_are_kept_and_listed",
        "tests/oracles/test_association.py::test_odd_cohorts_give_the_pooled_files",
    ),
    "one bad variant stops the run": (
        CHECK,
        "core/tests/test_panel.py::test_what_cannot_be_reconciled_is_left_out_with_its_reason",
    ),
    "P = 0": ("tests/oracles/test_counts.py::test_p_values_down_to_0",),
    "holes where the model did not converge": ("tests/oracles/test_firth.py::test_separation_is_plink2s",),
    "hangs with no reason": (
        f"{ENGINE}/test_engine_faults.py::test_a_server_that_does_not_answer_is_waited_for",
        "tests/browser/test_coordinator.py::test_a_cohort_that_stays_away_and_one_that_lost_its_key",
    ),
    "a crash loses the run": (
        f"{ENGINE}/test_engine_faults.py::test_a_client_killed_again_and_again_never_uses_a_nonce_twice",
        "tests/faults/test_faults.py::test_each_party_is_killed_at_each_phase",
    ),
    "who is at which stage": (
        "tests/browser/test_coordinator.py::test_a_study_from_the_first_run_to_the_download",
        "tests/browser/test_coordinator.py::test_bad_data_and_their_remedy_and_an_abort",
    ),
    "the quick start does not run": (
        "tests/test_readme.py::test_commands_are_there",
        "tests/browser/test_demo.py::test_a_demo_study_to_its_results",
    ),
    "proxies, VPN, inbound ports": (
        f"{ENGINE}/test_engine_network.py::test_a_study_behind_a_proxy_with_a_password_and_a_private_authority",
    ),
    "secure aggregation that is silently wrong": (
        "core/tests/test_protocol_ring.py::test_sums_of_signed_integers_are_right",
        "core/tests/test_protocol_ring.py::test_a_sum_of_integers_beyond_64_bits_is_noticed",
    ),
    "output is refused downstream": (
        "tests/oracles/test_counts.py::test_files_are_plinks",
        "tests/oracles/test_gwas_ssf.py::test_the_catalogs_validator_takes_the_file",
    ),
}


def test_every_proof_is_there() -> None:
    root = Path(__file__).parents[2]
    for proof in {proof for proofs in PAINS.values() for proof in proofs}:
        path, _, name = proof.partition("::")
        module = ast.parse((root / path).read_text("utf-8"))
        assert name in {node.name for node in module.body if isinstance(node, ast.FunctionDef)}, proof
