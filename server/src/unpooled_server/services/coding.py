"""Points of words, on their way to the compensator that makes codes of them (`unpooled.protocol.codes`)."""

from __future__ import annotations

from unpooled.protocol import codes
from unpooled.protocol.messages import CodeRequest
from unpooled_server.compensator_client import CompensatorAway, CompensatorRefused, compensator
from unpooled_server.errors import Conflict, Refused, Unavailable
from unpooled_server.models import Cohort
from unpooled_server.names import Phase
from unpooled_server.services.joining import require_not_over
from unpooled_server.services.metering import compensator_meter


def points_bytes(cohort: Cohort, column: int) -> int:
    """The exact length of the points of a column, which follows from the plan."""
    schema = cohort.study.plan.schema
    if column >= len(schema) or not schema[column].most:
        raise Refused("no-such-column", f"The plan looks for no words in column {column}.", status=404)
    return schema[column].most * codes.POINT_BYTES


def multiplied(cohort: Cohort, column: int, points: bytes, signature: bytes) -> bytes:
    """What the cohort can tell its codes from. The same points again get the same answer, others none."""
    study = cohort.study
    require_not_over(study)
    if study.enrolled_at is None:  # the compensator's answer would fix the boxes, and the plan with them
        raise Conflict("not-enrolled", "No round of this study was released yet.", "Ask when you are asked.")
    request = CodeRequest(study.pk, cohort.name, column, points, signature)
    try:
        return compensator().codes(request, compensator_meter(study.pk, Phase.ROUNDS))
    except CompensatorAway as error:
        raise Unavailable("compensator", f"The codes cannot be made now: {error}.", "Ask again.") from error
    except CompensatorRefused as error:
        raise Conflict("codes-refused", f"The codes cannot be made: {error}.") from error
