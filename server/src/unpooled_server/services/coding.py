"""Points of words, on their way to the compensator: times the keys of both they give codes.

`unpooled.protocol.codes` says how.
"""

from __future__ import annotations

import hashlib

from unpooled.errors import ProtocolError
from unpooled.protocol import codes, messages, sealing
from unpooled.protocol.messages import CodeRequest
from unpooled.protocol.oprf import POINT_BYTES
from unpooled.protocol.sealing import Purpose
from unpooled_server.compensator_client import CompensatorAway, CompensatorRefused, compensator
from unpooled_server.errors import Conflict, Refused, Unavailable
from unpooled_server.models import Coded, Cohort
from unpooled_server.names import Phase
from unpooled_server.reads.selectors import whole_roster
from unpooled_server.services.joining import require_not_over
from unpooled_server.services.metering import compensator_meter


def points_bytes(cohort: Cohort, column: int) -> int:
    """The exact length of the points of a column, which follows from the plan."""
    schema = cohort.study.plan.schema
    if column >= len(schema) or not schema[column].most:
        raise Refused("no-such-column", f"The plan looks for no words in column {column}.", status=404)
    return schema[column].most * POINT_BYTES


def coded(cohort: Cohort, column: int, points: bytes, signature: bytes) -> bytes:
    """Return what the cohort gets its codes from. The same points get the same answer again, others none."""
    study = cohort.study
    require_not_over(study)
    if study.enrolled_at is None:  # the compensator's answer would fix the boxes, and the plan with them
        raise Conflict(
            "not-enrolled", "No round of this study has been released yet.", "Ask when you are asked."
        )
    about = _signed(cohort, column, points, signature)
    try:
        part = codes.answered(bytes(study.code_key), about, points)
    except ProtocolError as error:
        raise Refused("bad-points", f"The codes cannot be made: {error}.") from error
    _keep_only(cohort, column, points)
    request = CodeRequest(study.pk, cohort.name, column, points, part, signature)
    try:
        return part + compensator().codes(request, compensator_meter(study.pk, Phase.ROUNDS))
    except CompensatorAway as error:
        raise Unavailable("compensator", f"The codes cannot be made now: {error}.", "Ask again.") from error
    except CompensatorRefused as error:
        raise Conflict("codes-refused", f"The codes cannot be made: {error}.") from error


def _signed(cohort: Cohort, column: int, points: bytes, signature: bytes) -> bytes:
    """Return what the cohort has signed; Conflict if it has not."""
    plan, roster = cohort.study.plan, whole_roster(cohort.study)
    purpose = Purpose(cohort.study_id, plan.hash(), roster.hash(), cohort.name, plan.compensator_key)
    signed = messages.signed_points(purpose, column, points)
    if not sealing.is_signed(bytes.fromhex(cohort.public_key), signature, signed):
        raise Conflict(
            "codes-refused",
            "The codes cannot be made: these points carry no valid signature of this cohort.",
            "The cohort signs them with its key of the roster, for this study, plan and column.",
        )
    return signed


def _keep_only(cohort: Cohort, column: int, points: bytes) -> None:
    """Conflict if other points of this column were multiplied: who had more could try words."""
    content = hashlib.sha256(points).digest()
    # Of two requests at once one creates the row, by its unique constraint, and both read that one.
    kept, _ = Coded.objects.get_or_create(cohort=cohort, column=column, defaults={"points": content})
    if bytes(kept.points) != content:
        raise Conflict(
            "codes-refused",
            f"The codes cannot be made: column {column} of {cohort.name} has other points.",
            "A cohort asks for the codes of a column once. Send exactly what was sent first.",
        )
