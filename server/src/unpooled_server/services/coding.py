"""Points of words times the compensator's key, then this study's own (`unpooled.protocol.codes`)."""

from __future__ import annotations

from unpooled.errors import ProtocolError
from unpooled.protocol import codes
from unpooled.protocol.messages import CodeRequest
from unpooled_server.compensator_client import CompensatorAway, CompensatorRefused, compensator
from unpooled_server.errors import Conflict, Refused, Unavailable
from unpooled_server.models import Cohort, Study
from unpooled_server.names import LIVE, Phase
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
    if not study.enrolled:
        raise Conflict("not-enrolled", "No round of this study was released yet.", "Ask when you are asked.")
    request = CodeRequest(study.pk, cohort.name, column, points, signature)
    try:
        found = compensator().codes(request, compensator_meter(study.pk, Phase.ROUNDS))
        return codes.multiply(_key(study), found, len(points) // codes.POINT_BYTES)
    except CompensatorAway as error:
        raise Unavailable("compensator", f"The codes cannot be made now: {error}.", "Ask again.") from error
    except (CompensatorRefused, ProtocolError) as error:
        raise Conflict("codes-refused", f"The codes cannot be made: {error}.") from error


def _key(study: Study) -> bytes:
    """This study's key, made when it is first needed, and deleted with what cohorts have sent."""
    of_study = Study.objects.filter(pk=study.pk)
    of_study.filter(state__in=LIVE, code_key=b"").update(code_key=codes.new_key())
    return bytes(of_study.values_list("code_key", flat=True).get())
