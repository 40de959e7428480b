"""Surroundings of a study's variants: genes and recombination, searches, and another study next to it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from click.testing import CliRunner
from django.conf import settings
from federation_fixtures import Data
from signing_in import Http, Person
from whole_studies import PLAN, created, finished

from unpooled.panel.panel import Panel
from unpooled.plan.plan import NO_KEY, Plan
from unpooled_server.reads import annotation
from unpooled_webapp import accounts
from unpooled_webapp.cli import main

FTO = 53_767_042  # rs1421085 on GRCh38
LOCI = [(2, 1_000_000, b"rs1"), (16, FTO, b"rs1421085"), (16, FTO + 10, b"rs2"), (23, 15_600_000, b"rs3")]


def people(seed: int, planted: int, is_turned: bool = False) -> Data:
    """A cohort in which cases carry more of one variant."""
    data = Data.make(seed, Panel.of([(code, place, name, b"C", b"T") for code, place, name in LOCI]), 300)
    ill = np.asarray(data.people.phenotype) == 1
    random = np.random.default_rng(seed)
    shares = np.where(ill, 0.2, 0.6) if is_turned else np.where(ill, 0.6, 0.2)
    data.genotypes[planted] = random.binomial(2, shares)
    return data


@pytest.fixture
def studies(me: httpx.Client, http: Http) -> Callable[..., str]:
    def make(planted: int = 1, is_turned: bool = False, **plan: object) -> str:
        cohorts = [people(seed, planted, is_turned) for seed in range(3)]
        return finished(me, http, cohorts, build="GRCh38", **plan)

    return make


@pytest.fixture(autouse=True)
def no_files_of_the_operator() -> Iterator[None]:
    yield
    shutil.rmtree(Path(settings.UNPOOLED_HOME) / "reference", ignore_errors=True)


def plan_on(build: str, **more: Any) -> Plan:
    return Plan("chi-square", phenotype="trait", cohorts=3, compensator_key=NO_KEY, build=build, **more)


@pytest.mark.parametrize(
    ("build", "start"), [("GRCh38", 53_703_963), ("GRCh37", 53_737_875), ("hg19", 53_737_875)]
)
def test_both_human_builds_have_their_genes_from_the_start(build: str, start: int) -> None:
    known = annotation.genes(plan_on(build))
    assert known.named("FTO", 1)[0].start == start and "NCBI RefSeq" in known.source
    assert len(known.all) > 25_000 and {gene.chromosome for gene in known.all} == {
        *map(str, range(1, 23)), "X", "Y", "MT",
    }  # fmt: skip


def test_other_genomes_have_none() -> None:
    for plan in (plan_on("GRCm38", autosomes=19), plan_on("../GRCh38", autosomes=19)):
        assert not annotation.genes(plan).all
        assert annotation.around(plan, "1", 1, 10**8)["genes_source"] == ""


def test_a_region_and_a_search(me: httpx.Client, studies: Callable[..., str]) -> None:
    study = studies()
    window = {"chromosome": "16", "from": 53_600_000, "to": 54_300_000}
    found = me.get(f"{study}/surroundings", params=window).json()
    genes = {gene["name"]: gene for gene in found["genes"]}
    assert genes["FTO"] == {
        "name": "FTO", "start": 53_703_963, "end": 54_121_941, "strand": "+", "kind": "coding",
    }  # fmt: skip
    assert genes["RPGRIP1L"]["strand"] == "-" and found["count"] == len(genes)
    assert (found["build"], found["chromosome"], found["recombination"]) == ("GRCh38", "16", None)
    wide = me.get(f"{study}/surroundings", params={"chromosome": "1", "to": 10**9}).json()
    assert wide["count"] > 1000 and wide["genes"] == []

    def places(text: str) -> list[tuple[str, str, str, int, int]]:
        rows = me.get(f"{study}/places", params={"search": text}).json()["places"]
        return [tuple(row[name] for name in ("kind", "name", "chromosome", "first", "last")) for row in rows]

    assert places(" fto ")[0] == ("gene", "FTO", "16", 53_703_963, 54_121_941)
    assert places("RS1421085") == [("variant", "rs1421085", "16", FTO, FTO)]
    assert places("chr16:53,000,000-54,000,000") == [
        ("place", "chr16:53,000,000-54,000,000", "16", 53_000_000, 54_000_000)
    ]
    assert places("16:9-1")[0][3:] == (1, 9) and places("") == places("no such thing") == []
    assert len(places("A")) == 10 and all(row[1].startswith("A") for row in places("A"))

    rows = me.get(f"{study}/variants", params={"search": "fto"}).json()["rows"]
    assert [(row["id"], row["gene"]) for row in rows] == [("rs1421085", "FTO"), ("rs2", "FTO")]
    assert "FTO" in me.get(f"{study}/loci.csv").text
    for query in (
        "surroundings",
        "surroundings?chromosome=99&from=1&to=2",
        "surroundings?chromosome=1&from=5&to=4",
    ):
        answer = me.get(f"{study}/{query}")
        assert answer.status_code == 400 and answer.json()["error"]["fields"], query


GTF = "16\tmade\tgene\t53000000\t54000000\t.\t-\t.\t" + 'gene_name "MINE"; gene_biotype "protein_coding";\n'
MAP = "position rate cM\n53000000 1.5 0\n53500000 80 1\n53600000 0.5 2\n"


def test_an_operator_gives_genes_and_rates(
    me: httpx.Client, studies: Callable[..., str], tmp_path: Path
) -> None:
    study = studies()
    window = {"chromosome": "16", "from": 53_100_000, "to": 53_550_000}
    gtf, rates = tmp_path / "mine.gtf", tmp_path / "genetic_map_chr16.txt"
    gtf.write_text(GTF)
    rates.write_text(MAP)
    assert "NCBI" in me.get(f"{study}/surroundings", params=window).json()["genes_source"]
    for command, said in (
        (["genes", "GRCh38", gtf, "--source", "our own"], "1 genes of GRCh38 are kept"),
        (["recombination", "GRCh38", rates], "3 positions of GRCh38 are kept"),
    ):
        done = CliRunner().invoke(main, ["genome", *map(str, command)])
        assert done.exit_code == 0 and said in done.output, done.output
    found = me.get(f"{study}/surroundings", params=window).json()
    assert [gene["name"] for gene in found["genes"]] == ["MINE"] and found["genes_source"] == "our own"
    assert found["recombination"] == {"position": [53_100_000, 53_500_000], "rate": [1.5, 80]}
    other = me.get(f"{study}/surroundings", params=window | {"chromosome": "2"}).json()
    assert other["recombination"] is None

    gtf.write_text(GTF.replace("53000000", "here"))
    done = CliRunner().invoke(main, ["genome", "genes", "GRCh38", str(gtf)])
    assert done.exit_code == 1 and f"{gtf}:1: got 'here' as a position" in done.output
    done = CliRunner().invoke(main, ["genome", "genes", "../up", str(tmp_path / "genetic_map_chr16.txt")])
    assert done.exit_code == 1 and "Traceback" not in done.output
    assert me.get(f"{study}/surroundings", params=window).json()["genes_source"] == "our own"


def test_two_studies_side_by_side(me: httpx.Client, studies: Callable[..., str]) -> None:
    first, second, opposite = studies(), studies(), studies(is_turned=True)
    elsewhere = studies(planted=0)

    def compared(one: str, two: str) -> httpx.Response:
        return me.get(f"{one}/compared/{two.rpartition('/')[2]}")

    found = compared(first, second).json()
    (row,) = found["rows"]
    assert found["effects"] == ["OR", "OR"] and row["same_direction"] is True
    assert (row["id"], row["gene"], row["leads"]) == ("rs1421085", "FTO", ["rs1421085", "rs1421085"])
    assert row["studies"][0] == row["studies"][1]
    told = me.get(f"{first}/variants").json()["rows"][0]
    assert all(row["studies"][0][name] == told[name] for name in ("effect", "lower", "upper", "se", "p"))

    (row,) = compared(first, opposite).json()["rows"]
    ratios = [each["effect"] for each in row["studies"]]
    assert row["same_direction"] is False and (ratios[0] - 1) * (ratios[1] - 1) < 0
    frequencies = [each["a1_freq"] for each in row["studies"]]
    assert abs(frequencies[0] - frequencies[1]) < 0.1, "of the same allele in both"

    apart = compared(first, elsewhere).json()["rows"]
    assert {(row["id"], *row["leads"]) for row in apart} == {
        ("rs1421085", "rs1421085", None), ("rs1", None, "rs1"),
    }  # fmt: skip
    assert all(each is not None for row in apart for each in row["studies"])


def test_what_cannot_be_compared(
    me: httpx.Client, http: Http, person: Person, studies: Callable[..., str]
) -> None:
    first = studies()
    older = finished(me, http, [people(seed, 1) for seed in range(3)], build="GRCh37")
    answer = me.get(f"{first}/compared/{older.rpartition('/')[2]}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "other-build")
    assert re.search("GRCh38 and GRCh37", answer.json()["error"]["message"])
    assert me.get(f"{first}/compared/unknown").status_code == 404

    you = person("you", accounts.COORDINATOR)
    mine = created(you, name="Mine", plan=PLAN)
    answer = you.get(f"/api/v1/studies/{mine}/compared/{first.rpartition('/')[2]}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "no-such-study")
