"""Endpoints for a cohort's client. Each view translates between HTTP and a service."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse

from unpooled.protocol import codec, sealing
from unpooled.protocol.messages import Questions, Sealed
from unpooled.protocol.pairs import most_sealed_bytes
from unpooled_server.cohort_api import bodies, waiting
from unpooled_server.cohort_api.admission import endpoint, heard, takes_long
from unpooled_server.errors import Conflict, Missing, Refused
from unpooled_server.models import Cohort, ResultFile, Study
from unpooled_server.names import OVER, Phase, StudyState
from unpooled_server.reads import asked, selectors
from unpooled_server.services import coding, dealings, helping, joining, panels, repeating, uploads
from unpooled_server.storage import store

# Rounds that a client can say it has: each is a value in the query, and a database takes so many only.
_MAX_SEEN = 1000
_LONG_SHARE = 1 << 20
"""Bytes from which a share may be long on its way."""


@endpoint(Phase.JOINING, "GET")
def study(request: HttpRequest, cohort: Cohort) -> HttpResponseBase:
    """All that a client shows its person; waits while nothing has changed since version `seen`."""
    seen = Study.objects.filter(pk=cohort.study_id, version__in=_numbers(request.GET.get("seen", "")))
    waiting.until(request, cohort, lambda: None if seen.all().exists() else True)
    return JsonResponse(_described(Study.objects.get(pk=cohort.study_id), cohort.pk))


def _described(study: Study, cohort_id: int) -> dict[str, Any]:
    cohort = Cohort.objects.get(pk=cohort_id)
    plan, roster = study.plan, selectors.roster_of(study)
    return {
        "version": study.version,
        "study": {
            "id": study.pk,
            "name": study.name,
            "description": study.description,
            "state": study.state,
            "reason": study.reason,
        },
        "plan": plan.to_json(),
        "plan_hash": plan.hash().hex(),
        "cohort": cohort.name,
        "cohort_state": cohort.state.value,
        "cohort_key": cohort.public_key,
        "list_wanted": cohort.list_wanted and not cohort.list_stored,
        "list_apart": cohort.overlap if cohort.list_apart else None,
        "roster": roster
        and [
            {"name": name, "key": key.hex(), "fingerprint": sealing.fingerprint(key)}
            for name, key in roster.members
        ],
        "roster_hash": roster and roster.hash().hex(),
        "compensator": {
            "key": plan.compensator_key.hex(),
            "fingerprint": sealing.fingerprint(plan.compensator_key),
            "one_operator": not study.is_blind,
        },
        "panel_digest": study.panel_digest,
        "is_repeated": study.state in OVER and selectors.in_repetition(cohort) is not None,
        **selectors.waiting(study),
        "results": [
            {"name": file.name, "bytes": file.size, "sha256": file.sha256}
            for file in study.result_files.all()
        ],
    }


@endpoint(Phase.JOINING, "POST")
def join(request: HttpRequest, cohort: Cohort) -> HttpResponseBase:
    key = bodies.hexadecimal(bodies.json_object(request), "key")
    joining.join(cohort, key)
    return JsonResponse({"joined": True})


@endpoint(Phase.JOINING, "POST")
def accept(request: HttpRequest, cohort: Cohort) -> HttpResponseBase:
    values = bodies.json_object(request)
    joining.accept(
        cohort,
        bodies.hexadecimal(values, "plan_hash", 32),
        bodies.hexadecimal(values, "roster_hash", 32),
        bytes.fromhex(bodies.hexadecimal(values, "box")),
        bytes.fromhex(bodies.hexadecimal(values, "signature", 64)),
    )
    return JsonResponse({"accepted": True})


@endpoint(Phase.JOINING, "PUT")
def sealed(request: HttpRequest, cohort: Cohort) -> HttpResponseBase:
    """Acceptance in a study without a compensator: with boxes for all other cohorts."""
    study = cohort.study
    most = most_sealed_bytes(study.plan_json["cohorts"], int(study.is_encrypted))
    found = bodies.record(request, Sealed, most)
    joining.accept_in_pairs(cohort, found)
    return JsonResponse({"accepted": True})


@endpoint(Phase.JOINING, "GET")
def keys(request: HttpRequest, cohort: Cohort) -> HttpResponseBase:
    """Keys to which one seals for each cohort, in a study without a compensator."""
    return HttpResponse(codec.encode(joining.sealing_keys(cohort)), content_type=bodies.RAW)


@endpoint(Phase.JOINING, "GET")
def boxes(request: HttpRequest, cohort: Cohort) -> HttpResponseBase:
    """Boxes that the other cohorts have sealed to this one."""
    return HttpResponse(codec.encode(joining.boxes_for(cohort)), content_type=bodies.RAW)


@endpoint(Phase.JOINING, "POST")
def repetition(request: HttpRequest, cohort: Cohort) -> HttpResponseBase:
    """Admit the cohort to the study that repeats this one. Server and compensator stay the same."""
    study, token = repeating.admit(cohort)
    response = JsonResponse({"study": study.pk, "token": token})
    response["Cache-Control"] = "no-store"
    return response


@endpoint(Phase.JOINING, "POST")
def problem(request: HttpRequest, cohort: Cohort) -> HttpResponseBase:
    values = bodies.json_object(request)
    joining.report_problem(cohort, bodies.text(values, "code"), bodies.text(values, "name", ""))
    return JsonResponse({"noted": True})


@endpoint(Phase.ROUNDS, "POST")
def timing(request: HttpRequest, cohort: Cohort) -> HttpResponseBase:
    joining.report_timing(cohort, bodies.json_object(request))
    return JsonResponse({"noted": True})


@endpoint(Phase.JOINING, "GET")
def traffic(request: HttpRequest, cohort: Cohort) -> HttpResponseBase:
    """Report what reached the server of this cohort's messages, to be compared with its ledger."""
    return JsonResponse(selectors.messages_of(cohort))


@endpoint(Phase.PANEL, "PUT")
def panel_digest(request: HttpRequest, cohort: Cohort) -> HttpResponseBase:
    digest = bodies.hexadecimal(bodies.json_object(request), "digest", 32)
    return JsonResponse({"list_wanted": panels.announce(cohort, digest)})


@endpoint(Phase.PANEL, "PUT")
def panel_list(request: HttpRequest, cohort: Cohort) -> HttpResponseBase:
    start, size, length = bodies.part_of_list(request)
    is_whole = panels.receive_list(cohort, start, size, bodies.blocks(request, length))
    return JsonResponse({"stored": is_whole}, status=201)


@endpoint(Phase.PANEL, "GET")
def panel(request: HttpRequest, cohort: Cohort) -> HttpResponseBase:
    if not cohort.study.panel_digest:
        raise Missing("no-panel", "The cohorts have not agreed on a panel yet.")
    return _file(store.panel_path(cohort.study_id))


@endpoint(Phase.PANEL, "GET")
def coordinator_list(request: HttpRequest, cohort: Cohort) -> HttpResponseBase:
    if not cohort.study.list_ready:
        raise Missing("no-list", "This study does not use a list.")
    return _file(store.coordinator_list_path(cohort.study_id))


@endpoint(Phase.ROUNDS, "GET")
def questions(request: HttpRequest, cohort: Cohort) -> HttpResponseBase:
    """Open rounds that the cohort has not answered; waits until there is one, or else to look."""
    seen, known = _numbers(request.GET.get("seen", "")), _known(request, cohort)
    found = waiting.until(
        request,
        cohort,
        lambda: asked.questions(cohort, seen) or ([] if asked.has_to_look(cohort.pk, *known) else None),
    )
    [(state, panel_digest, witness, keys)] = asked.beside_questions(cohort.pk)
    items = tuple(found or ())
    answer = Questions(state, bytes.fromhex(panel_digest), bytes(witness), items, bytes(keys))
    return HttpResponse(codec.encode(answer), content_type=bodies.RAW)


def _known(request: HttpRequest, cohort: Cohort) -> tuple[str, int]:
    """The study's state and version as the client knows them; as they are, where it does not say."""
    versions = _numbers(request.GET.get("version", ""))
    if versions and (state := request.GET.get("state")):
        return state, versions[0]
    return Study.objects.values_list("state", "version").get(pk=cohort.study_id)


@endpoint(Phase.ROUNDS, "GET")
def told(request: HttpRequest, cohort: Cohort, place: str) -> HttpResponseBase:
    """The sums that were asked for at a place in the study."""
    try:
        return _file(store.told_path(cohort.study_id, place))
    except FileNotFoundError:
        if not cohort.shares.filter(keeps=True).exists():
            raise Missing("nothing-told", f"No sums are told of the place {place[:80]}.") from None
        raise Conflict(
            "told-erased",
            f"The sums of the place {place[:80]} were erased, since this cohort keeps what follows of them.",
            "Restore the folder `states` in the folder of this cohort's state; or repeat the study.",
        ) from None


@endpoint(Phase.ROUNDS, "GET")
def shown(request: HttpRequest, cohort: Cohort, place: str) -> HttpResponseBase:
    """The comparison at a place in the study, for all cohorts but the one that dealt."""
    path = dealings.shown_to(cohort, place)
    if path is None:
        raise Missing("nothing-shown", f"No comparison is shown of the place {place[:80]}.")
    takes_long(request, cohort)
    return _file(path)


def _numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")[:_MAX_SEEN] if word.isdecimal() and len(word) < 19]


@endpoint(Phase.ROUNDS, "PUT")
def share(request: HttpRequest, cohort: Cohort, round_id: int) -> HttpResponseBase:
    bodies.require_raw(request)
    wanted = uploads.awaited(cohort, round_id)
    if wanted is None:
        return JsonResponse({"stored": True})
    dealings.require_before_share(cohort, round_id, wanted)
    size = bodies.exact_length(request, uploads.share_bytes(cohort, wanted), "share")
    nonce = bodies.hex_header(request, "Unpooled-Nonce", 32, "no-nonce")
    if size > _LONG_SHARE:
        takes_long(request, cohort)
    response = JsonResponse({"stored": True}, status=201)
    blocks = bodies.blocks(request, size)
    keeps = request.headers.get("Unpooled-Keeps") == "yes"
    heard_of = uploads.commit(
        cohort, round_id, nonce, blocks, size, lambda: heard(request, cohort, response), keeps=keeps
    )
    if not heard_of:
        response.status_code = 200
    return response


@endpoint(Phase.ROUNDS, "GET")
def all_shares(request: HttpRequest, cohort: Cohort, round_id: int) -> HttpResponseBase:
    """All cohorts' encrypted shares of a round, one after the other; waits while some are missing, then is
    empty.
    """
    found = waiting.until(request, cohort, lambda: helping.shares_of(cohort, round_id))
    return HttpResponse(found or b"", content_type=bodies.RAW)


@endpoint(Phase.ROUNDS, "PUT")
def help_to_read(request: HttpRequest, cohort: Cohort, round_id: int) -> HttpResponseBase:
    """A cohort's share of the decryption of a round's sum."""
    bodies.require_raw(request)
    size = bodies.exact_length(request, helping.help_bytes(cohort, round_id), "help")
    if size > _LONG_SHARE:
        takes_long(request, cohort)
    helping.commit(cohort, round_id, bodies.blocks(request, size), size)
    return JsonResponse({"stored": True}, status=201)


@endpoint(Phase.ROUNDS, "PUT")
def codes(request: HttpRequest, cohort: Cohort, column: int) -> HttpResponseBase:
    """Blinded points of the words of a column, for their codes."""
    bodies.require_raw(request)
    size = bodies.exact_length(request, coding.points_bytes(cohort, column), "points")
    signature = bodies.hex_header(request, "Unpooled-Signature", 128, "no-signature")
    takes_long(request, cohort)
    points = b"".join(bodies.blocks(request, size))
    if len(points) != size:
        raise Refused("truncated", "The connection broke before the body's end.", "Send it again.")
    found = coding.coded(cohort, column, points, bytes.fromhex(signature))
    return HttpResponse(found, content_type=bodies.RAW)


@endpoint(Phase.ROUNDS, "PUT")
def dealing(request: HttpRequest, cohort: Cohort, round_id: int) -> HttpResponseBase:
    """Random numbers by which a round is compared; the cohort that deals sends them before its share."""
    bodies.require_raw(request)
    wanted = uploads.awaited(cohort, round_id)
    if wanted is None:
        return JsonResponse({"stored": True})
    size = bodies.exact_length(request, dealings.awaited_bytes(cohort, round_id, wanted), "dealing")
    if size > _LONG_SHARE:
        takes_long(request, cohort)
    dealings.commit(cohort, round_id, bodies.blocks(request, size), size)
    return JsonResponse({"stored": True}, status=201)


@endpoint(Phase.RESULTS, "GET")
def result(request: HttpRequest, cohort: Cohort, name: str) -> HttpResponseBase:
    study = cohort.study
    if study.state != StudyState.DONE or not ResultFile.objects.filter(study=study, name=name).exists():
        raise Missing("no-result", f"This study has no result file {name[:120]!r}.")
    return _file(store.results_path(study.pk, study.results_folder) / name)


def _file(path: Path) -> FileResponse:
    return FileResponse(store.kept().open(path), content_type=bodies.RAW)
