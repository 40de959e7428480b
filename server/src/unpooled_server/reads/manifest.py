"""The manifest: what a reader needs to judge results and to repeat them, and a cohort to verify them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from importlib.metadata import version
from typing import Any

from unpooled.asking.driver import label
from unpooled.described.manifest import ListedRound
from unpooled.methods import algorithm
from unpooled.protocol import VERSION, sealing
from unpooled_server.models import ResultFile, Round, Study
from unpooled_server.reads import selectors
from unpooled_server.storage import store


def manifest(
    study: Study, summary: Any, files: Iterable[ResultFile], began: datetime, ended: datetime
) -> dict[str, Any]:
    """The manifest as it is written, as JSON."""
    plan = study.plan
    counted = selectors.traffic(study)
    counted["seconds"]["server"]["files"] = round((ended - began).total_seconds(), 3)
    return {
        "study": {"id": study.pk, "name": study.name, "description": study.description},
        "plan": plan.to_json(),
        "plan_hash": plan.hash().hex(),
        "test": algorithm(plan.test).title,
        "blind": study.is_blind,
        "operators": _operators(study),
        "roster": [
            {
                "name": cohort.name,
                "fingerprint": sealing.fingerprint(bytes.fromhex(cohort.public_key)),
                "compared_by_telephone": bool(cohort.compared_at),
            }
            for cohort in study.members()
        ],
        "compensator": None
        if plan.in_pairs
        else {
            "fingerprint": sealing.fingerprint(plan.compensator_key),
            "compared_by_telephone": bool(study.compared_at),
        },
        "panel": {"variants": study.panel_size, "sha256": digest} if (digest := study.panel_digest) else None,
        "summary": summary,
        "files": [{"name": file.name, "bytes": file.size, "sha256": file.sha256} for file in files],
        "rounds": [each.line for each in _listed_rounds(study)],
        "traffic": counted,
        "started_at": study.started_at.isoformat() if study.started_at else None,
        "ended_at": ended.isoformat(),
        "versions": {"unpooled": version("unpooled-core"), "protocol": VERSION},
    }


def _operators(study: Study) -> str:
    if study.plan.in_pairs:
        besides = "; shares are encrypted besides (experimental)" * study.plan.is_encrypted
        return f"no compensator: each two cohorts share masks{besides}"
    return "server and compensator apart" if study.is_blind else "one operator: not blind"


def _listed_rounds(study: Study) -> Iterator[ListedRound]:
    """Every round with its place in the study, and the digest of what cohorts were told of its sum."""
    asked: Counter[int] = Counter()  # questions of each branch so far: it asks one at a time
    for each in Round.objects.filter(study=study).select_related("branch").order_by("pk").iterator():
        branch, place, told = each.branch, "", ""
        if branch is not None and branch.path is not None:
            place = label(branch.path, asked[branch.pk])
            asked[branch.pk] += 1
            # Rounds of the release before have no digest in their row.
            told = bytes(each.told).hex() or (store.told_digest(study.pk, place) if branch.is_told else "")
        yield ListedRound(each.pk, place, bytes(each.question).hex(), told)
