"""Progress of comparisons of sums between server and compensator, and how long their turns took."""

from __future__ import annotations

from typing import Any

from django.db.models import Q, Sum

from unpooled.methods import questions_of
from unpooled_server.models import Round, Study
from unpooled_server.names import RoundState


def under_way(study: Study) -> dict[str, dict[str, int]]:
    """Return, for each step whose sums are being compared, the turn of its oldest comparison, and of how
    many.
    """
    under_way = Round.objects.filter(study=study, state=RoundState.RELEASED).exclude(circuit="")
    return {
        current.step_name: {"number": len(current.turn_seconds) + 1, "of": current.turns}
        for current in under_way.order_by("-id")
    }


def seconds(study: Study) -> dict[str, float]:
    """Return the seconds that the compensator took to release sums of masks and, if any, to compare sums."""
    found = Round.objects.filter(study=study).aggregate(
        releasing=Sum("release_seconds", filter=Q(circuit="")),
        comparing=Sum("release_seconds", filter=~Q(circuit="")),
    )
    releasing = {"releasing": round(found["releasing"] or 0.0, 3)}
    return (
        releasing if found["comparing"] is None else releasing | {"comparing": round(found["comparing"], 3)}
    )


def compared_steps(study: Study) -> list[dict[str, Any]]:
    """Report how long the turns with the compensator took, for each step whose sums are compared."""
    titles = {kind.name: kind.title for kind in questions_of(study.plan)}
    seconds: dict[str, list[list[float]]] = {}
    compared = Round.objects.filter(study=study).exclude(circuit="").exclude(turn_seconds=[])
    for name, turns in compared.values_list("step_name", "turn_seconds"):
        seconds.setdefault(name, []).append(turns)
    return [
        {
            "title": titles.get(name, name),
            "rounds": len(rounds),
            "turns": sum(map(len, rounds)),
            "seconds": round(sum(map(sum, rounds)), 3),
            "slowest": round(max(map(max, rounds)), 3),
        }
        for name, rounds in seconds.items()
    ]
