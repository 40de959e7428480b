"""Changing a study: its name at any time, its plan until a sum over the cohorts is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unpooled.described.facts import changes
from unpooled.errors import UnpooledError
from unpooled.methods import ALGORITHMS, completed
from unpooled.plan.common_options import COMPENSATOR, FILE_STEM, TRUST
from unpooled.plan.file_names import stem_of
from unpooled.plan.plan import NO_KEY, Plan, PlanError
from unpooled.protocol.encrypted import worker
from unpooled_server.compensator_client import CompensatorAway, CompensatorRefused, compensator
from unpooled_server.errors import Conflict, Refused, Unavailable
from unpooled_server.models import NO_LIST_YET, Study
from unpooled_server.names import StudyState
from unpooled_server.services.joining import begin_again, locked, require_changeable
from unpooled_server.services.transitions import note, touch


def change(study: Study, who: str, *, plan: Mapping[str, Any] | None = None, **fields: str | bool) -> None:
    """Change a study. By another plan all cohorts begin again: what they accepted is void."""
    with locked(study.pk) as fresh:
        others = {name: value for name, value in fields.items() if getattr(fresh, name) != value}
        if others:
            touch(study.pk, **others)
            note(study.pk, who, f"changed {', '.join(others)}")
        if plan is not None:
            _change_plan(fresh, who, plan)


def compensator_key(plan: Mapping[str, Any]) -> str:
    """Ask the compensator for its key, in hex; NO_KEY where a plan has no compensator."""
    if is_in_pairs(plan):
        return NO_KEY.hex()
    try:
        return compensator().key().hex()
    except (CompensatorAway, CompensatorRefused) as error:
        raise Unavailable(
            "compensator", f"{error}.", "Start the compensator, or set its address, then try again."
        ) from error


def is_in_pairs(plan: Mapping[str, Any]) -> bool:
    """Tell whether these fields of a plan trust the cohorts with the masks."""
    return bool(plan.get(TRUST.name, COMPENSATOR) != COMPENSATOR)


def _change_plan(study: Study, who: str, plan: Mapping[str, Any]) -> None:
    old = study.plan_json
    stays = _heeded(old, str(plan.get("test", old["test"])))
    merged = {**stays, **plan, "compensator_key": old["compensator_key"]}
    if is_in_pairs(merged) != is_in_pairs(old):
        if study.state != StudyState.DRAFT:
            raise Conflict(
                "other-trust",
                "Cohorts are invited already: invitations and keys are made for who shares the masks.",
                f"Duplicate the study, and change “{TRUST.label}” before you invite.",
            )
        merged["compensator_key"] = compensator_key(merged)
    # A list was read by the number of autosomes: with another number it has to come again.
    same = merged.get("autosomes") == old["autosomes"]
    keeps_list = merged.get("panel_mode") == "list" and study.list_ready and same
    merged["panel_digest"] = old["panel_digest"] if keeps_list else ""
    merged[FILE_STEM.name] = merged.get(FILE_STEM.name) or old.get(FILE_STEM.name, "")
    new = checked(merged)
    if as_plan(new) == as_plan(old):
        return
    require_changeable(study)
    if awaits_list(new) and study.state != StudyState.DRAFT:
        raise no_list("Cohorts are invited already, and this plan")
    if new["cohorts"] < study.members().count():
        raise Conflict("too-many-invited", "More cohorts are invited than the plan now asks for.")
    put_plan(study, who, new, list_ready=keeps_list)


def put_plan(study: Study, who: str, new: dict[str, Any], *, list_ready: bool) -> None:
    """Have a study that is locked go by another plan from now on, and say in its log what differs."""
    begin_again(study)
    touch(study.pk, plan_json=new, list_ready=list_ready)
    for difference in changes(as_plan(study.plan_json), as_plan(new)):
        note(study.pk, who, f"changed the plan. {difference}")


def no_list(what: str) -> Conflict:
    """Why a plan that goes by a list cannot be taken before there is one."""
    return Conflict(
        "no-list",
        f"{what} would use a list of variants that has not been uploaded yet.",
        "Duplicate the study, and upload the list before you invite.",
    )


def awaits_list(fields: Mapping[str, Any]) -> bool:
    """Tell whether the list that these fields of a plan name is still to come."""
    return bool(fields.get("panel_mode") == "list" and not fields.get("panel_digest"))


def as_plan(fields: Mapping[str, Any]) -> Plan:
    """The plan of a study's fields; one whose list is still to come has an empty digest of it."""
    return Plan.from_json(_with_some_list(fields))


def _with_some_list(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**fields, "panel_digest": NO_LIST_YET} if awaits_list(fields) else fields


def with_file_name(fields: Mapping[str, Any], title: str) -> dict[str, Any]:
    """The fields of a plan; where they name no files, the title of the study does."""
    return {**fields, FILE_STEM.name: fields.get(FILE_STEM.name) or stem_of(title)}


def checked(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The plan's fields in full. A list's digest may still be missing: the list follows."""
    try:
        plan = completed(_with_some_list(fields))
    except PlanError as error:
        raise Refused(
            "bad-plan",
            f"This plan is not valid: {error}.",
            "Change these fields.",
            fields={f"plan.{field}": problem for field, problem in error.problems.items()},
        ) from error
    except UnpooledError as error:
        raise Refused("bad-plan", str(error), fields={"plan.test": str(error)}) from error
    if plan.is_encrypted and (problem := worker.problem()):
        fields = {f"plan.{TRUST.name}": problem}
        raise Refused("bad-plan", f"This plan is not valid: {problem}.", fields=fields)
    return plan.to_json() | ({"panel_digest": ""} if awaits_list(fields) else {})


def _heeded(fields: Mapping[str, Any], test: str) -> dict[str, Any]:
    """The fields of a plan that mean something to this test, which takes the plan over."""
    found = ALGORITHMS.get(test)
    if found is None or test == fields["test"]:
        return dict(fields)
    own, before = {option.name for option in found.options}, ALGORITHMS[fields["test"]]
    dropped = {option.name for option in before.options if option.name not in own}
    if fields["trait"] not in found.traits:
        dropped.add("trait")
    if not set(fields["files"]) <= set(found.files):
        dropped.add("files")
    if found.fields != before.fields:
        dropped |= {*found.fields, *before.fields}
    return {field: value for field, value in fields.items() if field not in dropped}
