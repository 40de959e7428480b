"""People who are there twice, related, or oddly heterozygous: as plink2 says of the same variants."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from opening import findings as found

from tests.plinks import plink2, rows, write_bed
from unpooled.kernels.kinship import SCREEN, related
from unpooled_client.commands.check import check
from unpooled_client.data.cohort import PlinkData, open_cohort
from unpooled_client.data.findings.report import Code, Report
from unpooled_client.data.options import DataOptions
from unpooled_client.data.thorough import people
from unpooled_client.data.thorough.people import check_people

PEOPLE, VARIANTS = 90, 1500
TWIN, BROTHERS, PARENT = (3, 80), (10, 11), (20, 21)
MIXED, INBRED = 40, 50


def _copies(rng: np.random.Generator) -> np.ndarray:
    """Copies of A1, int8 (people, variants), 3 for a missing call; one person twice, relatives, a mix."""
    frequency = rng.uniform(0.02, 0.98, VARIANTS)
    haplotypes = (rng.random((PEOPLE, 2, VARIANTS)) < frequency).astype(np.int8)
    haplotypes[TWIN[1]] = haplotypes[TWIN[0]]
    haplotypes[PARENT[1], 0] = haplotypes[PARENT[0], 0]
    same = rng.random((2, VARIANTS)) < 0.5
    haplotypes[BROTHERS[1]] = np.where(same, haplotypes[BROTHERS[0]], haplotypes[BROTHERS[1]])
    haplotypes[INBRED, 1] = np.where(rng.random(VARIANTS) < 0.6, haplotypes[INBRED, 0], haplotypes[INBRED, 1])
    copies = haplotypes.sum(axis=1).astype(np.int8)
    mixed = (copies[MIXED] != copies[MIXED + 1]) & (rng.random(VARIANTS) < 0.7)
    copies[MIXED, mixed] = 1
    copies[rng.random(copies.shape) < 0.02] = 3
    return copies


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    prefix = tmp_path_factory.mktemp("people") / "t"
    write_bed(prefix, _copies(np.random.default_rng(4)).T)
    variants = (f"{1 + k * 22 // VARIANTS} rs{k} 0 {1000 + k} A G\n" for k in range(VARIANTS))
    prefix.with_suffix(".bim").write_text("".join(variants))
    people = (f"F{k} I{k} 0 0 {1 + k % 2} {1 + k % 3 // 2}\n" for k in range(PEOPLE))
    prefix.with_suffix(".fam").write_text("".join(people))
    return prefix


def looked_at(prefix: Path, cutoff: float | None = None, **given: object) -> tuple[PlinkData, Report]:
    data, report = open_cohort(DataOptions(bfile=prefix, **given))  # type: ignore[arg-type]
    assert data is not None, report.findings
    check_people(data, cutoff, report)
    return data, report


def test_kinship_is_plink2s(prefix: Path, tmp_path: Path) -> None:
    data, _ = looked_at(prefix)
    seen = people._look(data, np.arange(PEOPLE))
    ours = {}
    for later in range(PEOPLE):
        count, pairs, kinship = related(seen.het, seen.first, seen.second, later, later + 1, -9, PEOPLE)
        assert count == later
        ours |= {(i, j): value for (i, j), value in zip(pairs.tolist(), kinship.tolist(), strict=True)}
    plink2("--bfile", prefix, "--maf", people.COMMON, "--make-king-table", "--out", tmp_path / "king")
    table = rows(tmp_path / "king.kin0")
    theirs = {(int(row["IID1"][1:]), int(row["IID2"][1:])): float(row["KINSHIP"]) for row in table}
    assert len(theirs) == len(ours) == len(list(combinations(range(PEOPLE), 2)))
    for (a, b), value in theirs.items():
        assert ours[max(a, b), min(a, b)] == pytest.approx(value, rel=1e-5, abs=1e-6)


def test_heterozygosity_is_plink2s(prefix: Path, tmp_path: Path) -> None:
    data, _ = looked_at(prefix)
    ours = people._look(data, np.arange(PEOPLE)).inbreeding
    plink2("--bfile", prefix, "--maf", people.COMMON, "--het", "--out", tmp_path / "het")
    theirs = [float(row["F"]) for row in rows(tmp_path / "het.het")]
    assert ours == pytest.approx(theirs, rel=1e-4, abs=1e-5)


def test_one_person_twice_and_relatives(prefix: Path) -> None:
    _, report = looked_at(prefix)
    [twins] = found(report, Code.PEOPLE_RELATED)
    assert (twins.count, twins.line) == (1, TWIN[1] + 1)
    assert "F80 I80 and F3 I3 (0.5" in str(twins.read) and "--remove FILE" in str(twins.remedy)
    _, report = looked_at(prefix, 0.177)
    [near] = found(report, Code.PEOPLE_RELATED)
    assert near.count == 4 and "plink2 --king-cutoff 0.177" in str(near.remedy)
    named = " ".join(near.examples)
    # A mixed sample is a relative of whom it was mixed with.
    assert all(f"F{i} I{i}" in named for i in (*BROTHERS, *PARENT, MIXED, MIXED + 1))


def test_a_removed_person_counts_nowhere(prefix: Path, tmp_path: Path) -> None:
    (listed := tmp_path / "out.txt").write_text(f"F{TWIN[0]} I{TWIN[0]}\nF{MIXED} I{MIXED}\n")
    _, report = looked_at(prefix, remove=listed)
    assert not found(report, Code.PEOPLE_RELATED)
    assert [finding.count for finding in found(report, Code.HETEROZYGOSITY)] == [1]


def test_heterozygosity_that_stands_out(prefix: Path) -> None:
    _, report = looked_at(prefix)
    [odd] = found(report, Code.HETEROZYGOSITY)
    assert odd.count == 2
    assert f"F{MIXED} I{MIXED} (F -" in odd.examples[0] and f"F{INBRED} I{INBRED} (F 0." in odd.examples[1]


@pytest.mark.parametrize("cutoff", [0.354, 0.177, 0.0884])
def test_screening_loses_no_pair(prefix: Path, cutoff: float) -> None:
    data, _ = looked_at(prefix)
    seen = people._look(data, np.arange(PEOPLE))
    assert seen.het.shape[1] > SCREEN
    pairs = PEOPLE * (PEOPLE - 1) // 2
    # Of a cutoff that low nobody is screened out.
    every = related(seen.het, seen.first, seen.second, 0, PEOPLE, -9, pairs)[2]
    assert related(seen.het, seen.first, seen.second, 0, PEOPLE, cutoff, 9)[0] == (every >= cutoff).sum() > 0


def test_few_variants_judge_nobody(files) -> None:  # type: ignore[no-untyped-def]
    files.write()
    data, report = open_cohort(files.options(min_samples=1, min_per_class=0))
    assert data is not None
    check_people(data, None, report)
    assert "people" not in report.summary


def test_many_people_want_a_cutoff(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(people, "MOST_PEOPLE", PEOPLE - 1)
    _, report = looked_at(prefix)
    assert not found(report, Code.PEOPLE_RELATED)
    assert "--king-cutoff" in str(report.summary["people"])
    assert found(looked_at(prefix, 0.354)[1], Code.PEOPLE_RELATED)


def test_the_command_and_its_page(prefix: Path, tmp_path: Path) -> None:
    page = tmp_path / "check.html"
    given = ["--bfile", str(prefix), "--king-cutoff", "0.177"]
    done = CliRunner().invoke(check, [*given, "--html", str(page)])
    assert "two people are related: their kinship is at least 0.177 (4 times)" in done.output
    assert "pairs with a kinship of at least 0.177" in page.read_text()
    assert json.loads(CliRunner().invoke(check, [*given, "--json"]).output)["summary"]["people"][
        "distribution"
    ]
    assert CliRunner().invoke(check, [*given[:2], "--king-cutoff", "0"]).exit_code == 2
