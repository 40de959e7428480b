"""What users of such tools complain about, each with files that have it, and what a person sees here.

PAINS is the table. Those about data are proved below, with real files; the others where the parts are that
they are about, and `test_every_proof_is_there` sees that those tests exist.
"""

from __future__ import annotations

import ast
import io
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from unpooled.agreement import Agreement, reconcile
from unpooled.algorithms import algorithm
from unpooled.algorithms.shared.filters import lines
from unpooled.pictures.associations import p_text
from unpooled.plan import Plan
from unpooled.question import Arrays
from unpooled.run import run
from unpooled_client.commands.check import check
from unpooled_client.data.cohort import open_cohort
from unpooled_client.data.options import DataOptions

HERE = "client/tests/test_pains.py"
ENGINE = "client/tests/engine"

PAINS: dict[str, tuple[str, ...]] = {
    "sample IDs do not match, and the message does not say so": (
        f"{HERE}::test_ids_that_do_not_match",
        f"{HERE}::test_ids_that_match_in_part",
    ),
    "a phenotype or covariate file is refused without a line number": (
        f"{HERE}::test_a_refused_value_has_file_line_and_column",
    ),
    "missing codes, categorical covariates, 1/2 against 0/1": (
        f"{HERE}::test_codings",
        "client/tests/test_columns_command.py::test_what_a_column_seems_to_be",
    ),
    "which allele is the effect allele; strand flips cost days": (
        f"{HERE}::test_the_effect_allele_is_the_same_however_a_cohort_writes_it",
        f"{HERE}::test_flips_and_clashes_are_listed",
    ),
    "one bad variant stops the run": (
        f"{HERE}::test_bad_variants_stop_nobody",
        f"{HERE}::test_bad_variants_change_no_other",
    ),
    "P = 0": (f"{HERE}::test_p_is_never_lost",),
    "holes where the model did not converge": (f"{HERE}::test_a_hole_says_why",),
    "hangs with no reason": (
        f"{ENGINE}/test_engine_faults.py::test_a_server_that_does_not_answer_is_waited_for",
        "tests/browser/test_coordinator.py::test_a_cohort_that_stays_away_and_one_that_lost_its_key",
    ),
    "a crash loses the run": (
        f"{ENGINE}/test_engine_faults.py::test_a_killed_client_goes_on",
        "tests/test_faults.py::test_each_party_is_killed_at_each_phase",
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
        "core/tests/test_protocol_fixed_point.py::test_sums_of_signed_integers_are_right",
        "core/tests/test_protocol_fixed_point.py::test_a_sum_of_integers_beyond_64_bits_is_noticed",
    ),
    "output is refused downstream": (
        f"{HERE}::test_files_are_sorted_and_named_as_by_plink",
        "tests/oracles/test_gwas_ssf.py::test_the_catalogs_validator_takes_the_file",
    ),
}


def test_every_proof_is_there() -> None:
    root = Path(__file__).parents[2]
    for proof in {proof for proofs in PAINS.values() for proof in proofs}:
        path, _, name = proof.partition("::")
        module = ast.parse((root / path).read_text("utf-8"))
        assert name in {node.name for node in module.body if isinstance(node, ast.FunctionDef)}, proof


# What the check says of files.


def checked(files: Any, *options: str, **contents: str) -> Result:
    """The command on the small cohort of 60, with other files beside it."""
    for name, content in contents.items():
        (files.folder / name).write_text(content)
    words = [str(files.folder / word) if word in contents else word for word in options]
    return CliRunner().invoke(check, ["--bfile", str(files.folder / "t"), *words], catch_exceptions=False)


def table(*values: str, header: str = "", ids: str = "F{k} I{k}") -> str:
    """A row for each of the 60, with the values in turn."""
    rows = (f"{ids.format(k=k)} {values[k % len(values)]}\n" for k in range(60))
    return header + "".join(rows)


@pytest.mark.parametrize(
    ("ids", "remedy"),
    [
        ("I{k} F{k}", "FID and IID are in the wrong order: swap them."),
        ("0 I{k}", "The IIDs match but the FIDs do not: use the .fam's FID (e.g. F0 I0), or begin the header "
                   "with #IID and leave the FID out."),
        ("f{k} i{k}", "They differ only in upper and lower case: PLINK tells these apart."),
        ("F{k}_I{k} F{k}_I{k}", "The IID is FID_IID of the .fam: split it again."),
    ],
)  # fmt: skip
def test_ids_that_do_not_match(files: Any, ids: str, remedy: str) -> None:
    said = checked(files, "--pheno", "p", p=table("1", "2", ids=ids))
    assert said.exit_code == 1
    place = files.folder / "p"
    assert f"error: {place}:1:1: no row of the --pheno file belongs to a sample of the .fam" in said.output
    assert "(60 times) [nobody-matched]" in said.output
    assert f"    read: {', '.join(ids.format(k=k) for k in range(3))}\n" in said.output
    assert "    expected: FID and IID as in the .fam, e.g. F0 I0\n" in said.output
    assert f"    remedy: {remedy}\n" in said.output
    matching = "rows with a sample 0, rows without a sample 60, samples without a row 60"
    assert f"the --pheno file beside the samples: {matching}\n" in said.output


def test_ids_that_match_in_part(files: Any) -> None:
    rows = table("1", "2").splitlines(keepends=True)
    said = checked(files, "--pheno", "p", p="".join([*rows[:55], "X1 Y1 1\n", "X2 Y2 1\n"]))
    assert said.exit_code == 0
    assert "a row of the --pheno file has no sample in the .fam and is dropped (2 times)" in said.output
    assert "    e.g.: line 56: X1 Y1; line 57: X2 Y2\n" in said.output
    assert (
        "a sample of the .fam has no row in the --pheno file: its values there are missing (5" in said.output
    )
    assert "    e.g.: line 56: F55 I55; line 57: F56 I56; line 58: F57 I57\n" in said.output


@pytest.mark.parametrize(
    ("option", "row", "place", "message", "read"),
    [
        ("--pheno", "F9 I9 high 1", "10:3", "the phenotype column 3 of --pheno is not a number", "high"),
        (
            "--pheno",
            "F9 I9",
            "10:3",
            "a line of the --pheno file has fewer columns than expected",
            "2 column(s)",
        ),
        ("--covar", "F9 I9 5 1,5", "10:4", "the covariate COV2 is not a number", "1,5"),
        (
            "--covar",
            "F9 I9 5",
            "10:4",
            "a line of the --covar file has fewer columns than expected",
            "3 column(s)",
        ),
    ],
)
def test_a_refused_value_has_file_line_and_column(
    files: Any, option: str, row: str, place: str, message: str, read: str
) -> None:
    rows = [f"F{k} I{k} {1 + k % 2} {k}" for k in range(60)]
    said = checked(files, option, "p", p="\n".join([*rows[:9], row, *rows[10:], ""]))
    assert said.exit_code == 1
    assert f"error: {files.folder / 'p'}:{place}: {message}" in said.output
    assert f"    read: {read}\n    expected: " in said.output
    assert said.output.count("error: ") == 1 and "    remedy: " in said.output


LOOKS = "which looks like a code for a missing value"
CODINGS = {
    "0/1": ("--pheno", table("0", "1"), "is coded 0/1, where PLINK takes 1 for a control", "use --1"),
    "1/2 with --1": ("--pheno --1", table("1", "2"), "with --1 a phenotype is 0, 1 or", "leave --1 out"),
    "1, 2 and 9": ("--pheno", table("1", "2", "9"), f"the value 9, {LOOKS}", "--missing-phenotype 9"),
    "-99": ("--pheno", table("1.5", "2.25", "-99"), f"the value -99, {LOOKS}", "--missing-phenotype -99"),
    "999": ("--covar", table("61", "40", "999"), f"the value 999, {LOOKS}", "--missing-phenotype 999"),
    "words": ("--pheno", table("1", "unknown"), "is not a number", "a missing value: write NA"),
    "case": ("--pheno", table("control", "case"), "is not a number", "Write 2 for cases and 1 for controls"),
    "levels": (
        "--covar",
        table("a", "b"),
        "COV1 is not a number",
        "a (30 times), b (30 times). If it is cat",
    ),
    "three": ("--pheno", table("1", "2", "3"), "only 3 different values and is taken as quantitative", "--1"),
    "sites": ("--covar", table("1", "2", "3"), "only 3 values", "--categorical COV1=1,2,3"),
}


@pytest.mark.parametrize("name", CODINGS)
def test_codings(files: Any, name: str) -> None:
    """Detected, shown, and one option or one word to change."""
    option, content, message, remedy = CODINGS[name]
    first, *rest = option.split()
    said = checked(files, first, "p", *rest, p=content).output
    assert message in said
    assert remedy in said


@pytest.mark.parametrize(
    ("option", "value", "missing_as"),
    [
        ("--pheno", ("1", "2", "-9", "NA", "."), "-9: 12, .: 12, NA: 12"),
        ("--pheno --1", ("0", "1", "missing", "NULL"), "NULL: 15, missing: 15"),
        ("--pheno --missing-phenotype -99", ("1.5", "2.5", "3.25", "-99"), "-99: 15"),
    ],
)
def test_missing_values_are_told_as_they_are_written(
    files: Any, option: str, value: tuple[str, ...], missing_as: str
) -> None:
    first, *rest = option.split()
    said = checked(files, first, "p", *rest, "--min-per-class", "0", "--min-samples", "1", p=table(*value))
    assert said.exit_code == 0
    found = said.output.partition("missing as ")[2].splitlines()[0]
    assert sorted(found.split(", ")) == sorted(missing_as.split(", "))


# What a study does with files: three cohorts, whose variants are written as cohorts write them.

PEOPLE = 300
VARIANTS = {
    "rs1": "1 100 A G",
    "swap": "1 200 A C",
    "flip": "1 300 A C",
    "clash": "1 400 A G",
    "uncalled": "1 500 A G",
    "mono": "1 600 A G",
    "perfect": "2 700 A G",
}
SPOILED: list[dict[str, str]] = [
    {"mono": "1 600 0 G"},
    {"swap": "1 200 C A", "clash": "1 400 A C"},
    {"flip": "1 300 T G"},
]
BAD = ("1 . 0 800 A G", "1 twice 0 900 A G", "1 twice 0 901 A G", "1 same 0 902 A A", "1 odd 0 0 I D")


@dataclass
class Study:
    """Three cohorts' files, what was agreed on, and the files of results."""

    checks: list[Result]
    agreement: Agreement
    copies: dict[str, np.ndarray]
    """Of the first allele of VARIANTS, in all people: (n,)."""
    case: np.ndarray
    tables: dict[str, dict[str, Arrays]]
    files: dict[str, list[dict[str, str]]]
    """Lines by title, of `assoc` and so on."""


def genotypes(rng: np.random.Generator, case: np.ndarray) -> dict[str, np.ndarray]:
    found = {name: rng.binomial(2, 0.3, len(case)) for name in VARIANTS}
    return found | {"perfect": np.where(case, 2, 0)}


def write(
    prefix: Path, spoiled: dict[str, str], copies: dict[str, np.ndarray], case: np.ndarray, bad: bool
) -> None:
    """The files of one cohort; rows of BAD, if any, have the genotypes of the first variant."""
    rows, bim = [], []
    for name, words in VARIANTS.items():
        chromosome, position, a1, a2 = spoiled.get(name, words).split()
        bim.append(f"{chromosome} {name} 0 {position} {a1} {a2}")
        # The same alleles in the other order; on the other strand A1 stays A1.
        rows.append(2 - copies[name] if (a1, a2) == tuple(words.split()[:1:-1]) else copies[name])
    if bad:
        bim[6:6], rows[6:6] = BAD, [rows[0]] * len(BAD)
    codes = np.array([3, 2, 0, 1])[np.array(rows)].reshape(len(rows), -1, 4)
    packed = (codes << np.array([0, 2, 4, 6])).sum(axis=2).astype(np.uint8)
    prefix.with_suffix(".bed").write_bytes(b"\x6c\x1b\x01" + packed.tobytes())
    prefix.with_suffix(".bim").write_text("\n".join(bim) + "\n")
    people = enumerate(case.tolist())
    prefix.with_suffix(".fam").write_text(
        "".join(f"F{k} I{k} 0 0 {1 + k // 2 % 2} {1 + c}\n" for k, c in people)
    )


def conducted(folder: Path, bad: bool) -> Study:
    rng = np.random.default_rng(5)
    case = np.arange(PEOPLE) % 2
    opened, checks, all_copies = {}, [], []
    for k, spoiled in enumerate(SPOILED):
        copies = genotypes(rng, case)
        if "mono" in spoiled:
            copies["mono"] *= 0
        if k == 2:
            copies["uncalled"] = np.full(PEOPLE, -1)
        prefix = folder / f"cohort{k}"
        write(prefix, spoiled, copies, case, bad)
        checks.append(CliRunner().invoke(check, ["--bfile", str(prefix)], catch_exceptions=False))
        opened[prefix.name], report = open_cohort(DataOptions(bfile=prefix))
        assert opened[prefix.name] is not None, report.findings
        all_copies.append(copies)
    data = {name: found for name, found in opened.items() if found is not None}
    agreement = reconcile({name: found.panel for name, found in data.items()})
    tables, files = {}, {}
    without: dict[str, Any] = {"firth": "no-firth"}
    for test, wanted, more in (("chi-square", ("assoc", "frq"), {}), ("logistic", ("glm",), without)):
        plan = Plan(test, "status", 3, bytes(32), files=wanted, **more)
        cohorts = [found.align(agreement.panel) for found in data.values()]
        tables[test] = run(plan, agreement.panel, cohorts)
        for name in wanted:
            of = algorithm(test)
            columns = of.columns(name, tables[test]) if of.columns else lines(name, tables[test])
            of.files[name](out := io.BytesIO(), agreement.panel, columns, plan)
            files[name] = read(out.getvalue().decode())
    together = {name: np.concatenate([copies[name] for copies in all_copies]) for name in VARIANTS}
    return Study(checks, agreement, together, np.tile(case, 3), tables, files)


def read(text: str) -> list[dict[str, str]]:
    header, *rows = (line.split() for line in text.splitlines())
    return [dict(zip(header, row, strict=True)) for row in rows]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return conducted(tmp_path_factory.mktemp("study"), bad=True)


def line_of(study: Study, file: str, variant: str) -> dict[str, str]:
    return next(line for line in study.files[file] if line.get("SNP", line.get("ID")) == variant)


@pytest.mark.parametrize("name", ["rs1", "swap", "flip"])
def test_the_effect_allele_is_the_same_however_a_cohort_writes_it(study: Study, name: str) -> None:
    """A1, A2 and A1's frequency are in the files; A1 is the rarer allele of the pool, as in PLINK."""
    copies, case = study.copies[name], study.case == 1
    rare, other = VARIANTS[name].split()[2:]
    found = line_of(study, "assoc", name)
    assert (found["A1"], found["A2"]) == (rare, other)
    assert float(found["F_A"]) == pytest.approx(copies[case].mean() / 2, rel=1e-3)
    assert float(found["F_U"]) == pytest.approx(copies[~case].mean() / 2, rel=1e-3)
    assert float(line_of(study, "frq", name)["MAF"]) == pytest.approx(copies.mean() / 2, rel=1e-3)


def test_flips_and_clashes_are_listed(study: Study) -> None:
    remarks = study.agreement.table().decode().splitlines()
    assert "1\t300\tflip\tin\tread on the other strand at cohort2" in remarks
    clash = "alleles cannot be reconciled: A/G at cohort0, A/C at cohort1, A/G at cohort2"
    assert f"1\t400\tclash\tleft out\t{clash}" in remarks


def test_bad_variants_stop_nobody(study: Study) -> None:
    for said in study.checks:
        assert said.exit_code == 0
        assert "a variant has no ID (.): it is left out of the study" in said.output
        assert "    e.g.: line 8: twice; line 9: twice\n" in said.output
        assert "a variant names the same allele twice" in said.output
        assert "an allele is written as I or D" in said.output
        assert "which is not a place" in said.output
        assert "Ready: no errors, 5 warnings." in said.output
    remarks = study.agreement.table().decode()
    assert "\t.\tleft out\t" in remarks and remarks.count("\ttwice\tleft out\t") == 1


def test_bad_variants_change_no_other(study: Study, tmp_path: Path) -> None:
    clean = conducted(tmp_path, bad=False)
    for file, theirs in clean.files.items():
        assert [
            line for line in study.files[file] if line.get("SNP", line.get("ID")) not in ("same", "odd")
        ] == theirs
    assert line_of(study, "assoc", "mono")["A1"] == "A"  # one cohort has seen G alone
    assert line_of(study, "frq", "uncalled")["NCHROBS"] == str(2 * 2 * PEOPLE)  # the third has no call


def test_p_is_never_lost(study: Study) -> None:
    """PLINK 1.9's own column has no room for it; the results have."""
    rows = study.tables["chi-square"]["variants"]
    variant = [study.agreement.panel.name[k] for k in rows["variant"]].index(b"perfect")
    score = float(rows["neg_log10_p"][variant])
    chi_square = 2 * 3 * PEOPLE
    assert score == pytest.approx(math.log10(math.e) * chi_square / 2, rel=0.01) and score > 308
    assert p_text(score).endswith(f"e-{math.ceil(score)}")


def test_a_hole_says_why(study: Study) -> None:
    found = line_of(study, "glm", "perfect")
    assert (found["P"], found["ERRCODE"]) == ("NA", "SEPARATION,REF")
    assert line_of(study, "glm", "rs1")["ERRCODE"] == "."


def test_files_are_sorted_and_named_as_by_plink(study: Study) -> None:
    places = [(int(line["CHR"]), int(line["BP"])) for line in study.files["assoc"]]
    assert places == sorted(places)
    assert list(study.files["assoc"][0]) == ["CHR", "SNP", "BP", "A1", "F_A", "F_U", "A2", "CHISQ", "P", "OR"]
    assert list(study.files["frq"][0]) == ["CHR", "SNP", "A1", "A2", "MAF", "NCHROBS"]
    assert list(study.files["glm"][0])[:7] == ["#CHROM", "POS", "ID", "REF", "ALT", "A1", "TEST"]
