"""Outcome of a rehearsal: `PREFIX.report.json`, and a few lines for a person."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from unpooled.kernels.statistics import inflation_text
from unpooled.methods.algorithm import NOT_POOLED
from unpooled.methods.shared.options import FAR
from unpooled.methods.shared.summary import FREQUENCIES_FAR


def report(
    study: dict[str, Any],
    progress: dict[str, Any],
    traffic: dict[str, Any],
    *,
    files_at: float,
    delivered_at: float,
    command_seconds: float,
) -> dict[str, Any]:
    """Report the time and the bytes that a rehearsal took.

    `files_at` and `delivered_at` are times, in seconds since 1970: all result files were at their places here
    and at the last of the cohorts. The platform itself had them at the end of its last phase.
    Bytes count request and response with their headers, as the server sent and received them.
    """
    ready_at, ended_at = (
        datetime.fromisoformat(study[name]).timestamp() for name in ("ready_at", "ended_at")
    )
    return {
        "study": study["id"],
        "test": study["test"],
        "plan_hash": study["plan_hash"],
        "unlike_pool": study["unlike_pool"],
        "cohorts": study["cohorts_wanted"],
        "variants": study["panel_size"],
        "summary": study["summary"],
        "summaries": study["summaries"],
        "rounds": sum(step["rounds"] for step in progress["steps"]),
        "steps": {step["title"]: step["rounds"] for step in progress["steps"]},
        "seconds": {
            "command": round(command_seconds, 3),
            "ready_to_platform": round(ended_at - ready_at, 3),
            "ready_to_files": round(files_at - ready_at, 3),
            "ready_to_cohorts": round(delivered_at - ready_at, 3),
            "phases": progress["seconds"],
            "cohorts": {cohort["name"]: cohort["timing"] for cohort in study["cohorts"]},
        },
        "bytes": {
            "to_last_sum": traffic["total"],
            "delivery": traffic["delivery_of_results"],
            "links": traffic["links"],
        },
    }


def lines(report: dict[str, Any]) -> list[str]:
    """Say why the result is not the pooled one, if it is not; then a study of variants in a few words,
    phenotype by phenotype, the inflation as PLINK's log has it.
    """
    differs = report["unlike_pool"]
    said = [(summary["phenotype"], _lines(summary)) for summary in report["summaries"]]
    numbers = [f"{name}: {line}" if len(said) > 1 else line for name, lines in said for line in lines]
    return [*([f"{NOT_POOLED}: {differs}."] if differs else []), *numbers]


def _lines(summary: dict[str, Any]) -> Iterator[str]:
    people = f"{summary['people']:,} people"
    if summary["cases"] is not None:
        people += f" ({summary['cases']:,} cases, {summary['controls']:,} controls)"
    yield f"{summary['variants']:,} variants and {people} in the analysis."
    if (inflation := summary["genomic_inflation"]) is not None:
        words = "Genomic inflation est. lambda (based on median chisq)"
        yield f"{words} = {inflation_text(inflation)}."
    if (far := summary[FREQUENCIES_FAR]) is not None:
        yield f"{far:,} allele frequencies of cohorts are beyond {FAR} standard deviations of the pool's."
