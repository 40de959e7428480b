"""Forms of a study under way: its progress, what leaves a cohort, who gets what, and the traffic."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from unpooled_server.names import CohortState, Phase, StudyState
from unpooled_webapp.api.serializers import STAGES, Now, PlanFacts, Wait


class Turn(serializers.Serializer[Any]):
    """Progress of a comparison of sums between server and compensator."""

    number = serializers.IntegerField(help_text="of the turn that is waited for, from 1")
    of = serializers.IntegerField(help_text="how many turns there are")


class StepProgress(serializers.Serializer[Any]):
    name = serializers.CharField()
    title = serializers.CharField()
    rounds = serializers.IntegerField()
    summed = serializers.IntegerField()
    turn = Turn(allow_null=True, help_text="of the oldest comparison under way; null if there is none")


class CohortProgress(serializers.Serializer[Any]):
    name = serializers.CharField()
    state = serializers.ChoiceField(CohortState.choices, help_text="by what it has sent")
    stage = serializers.ChoiceField(STAGES, help_text="what it is at now")
    since = serializers.DateTimeField(
        allow_null=True, help_text="since when; null where that is nobody's concern"
    )
    heard_at = serializers.DateTimeField(allow_null=True)
    questions_open = serializers.IntegerField()
    problem = serializers.CharField()


class Progress(Now):
    state = serializers.ChoiceField(StudyState.choices)
    reason = serializers.CharField()
    steps = StepProgress(many=True)
    cohorts = CohortProgress(many=True)
    waiting_for = serializers.ListField(
        child=serializers.CharField(), help_text="the cohorts without which it does not go on now"
    )
    waits = Wait(many=True)
    share_done = serializers.FloatField(help_text="of the whole study, from 0 to 1; it never goes back")
    seconds_left = serializers.FloatField(
        allow_null=True, help_text="at the pace so far; null while nobody can tell"
    )
    panel_size = serializers.IntegerField(allow_null=True)
    seconds = serializers.DictField(child=serializers.FloatField())


class Link(serializers.Serializer[Any]):
    party = serializers.CharField()
    phase = serializers.ChoiceField(Phase.choices)
    to_server = serializers.IntegerField()
    from_server = serializers.IntegerField()
    requests = serializers.IntegerField()
    messages = serializers.IntegerField(help_text="requests that brought something")
    content = serializers.IntegerField(help_text="bytes of these without headers: what ledgers count")


class Leaving(serializers.Serializer[Any]):
    """One quantity that leaves a cohort, as it reads it before it accepts."""

    what = serializers.CharField()
    detail = serializers.CharField()
    form = serializers.CharField(help_text="in clear, masked, or sealed")
    readable_by = serializers.CharField()
    to = serializers.CharField(help_text="to whom it goes, by way of the server")
    learns = serializers.CharField(help_text="what whoever reads it can learn from it")
    shape = serializers.CharField(help_text="how much it is, in words")
    bytes = serializers.IntegerField(
        allow_null=True,
        help_text="of one round, as ledgers count them; null where the plan alone does not tell",
    )
    rounds = serializers.IntegerField(help_text="how often it is sent")
    exact = serializers.BooleanField(help_text="whether bytes and rounds are these, or the most that can be")
    usual_rounds = serializers.IntegerField(help_text="how often it is sent as a rule")


class Foreseen(serializers.Serializer[Any]):
    """Forecast of a study by a plan, at cohorts as there are many."""

    facts = PlanFacts()
    leaving = Leaving(many=True)
    bytes = serializers.IntegerField(help_text="that leave a cohort as a rule", allow_null=True)
    seconds = serializers.FloatField(
        help_text="of one core at a cohort, without waiting; with tables, from the first question to the "
        "last if every cohort answers at once; null where nobody has measured it",
        allow_null=True,
    )
    variants = serializers.IntegerField(help_text="for which bytes and seconds are; 0 in a study of tables")
    people = serializers.IntegerField(help_text="likewise, of one cohort")


class Party(serializers.Serializer[Any]):
    """One party of a study: what it gets, and what of it that party can read."""

    name = serializers.CharField(help_text="server, compensator, each cohort or coordinator")
    gets = serializers.CharField()
    reads = serializers.CharField()
    never = serializers.CharField(help_text="what it never gets")
    bytes = serializers.IntegerField(
        allow_null=True, help_text="that it got so far, all cohorts together; null where they are not counted"
    )


class ComparedStep(serializers.Serializer[Any]):
    """Time that comparing the sums of one step took so far."""

    title = serializers.CharField()
    rounds = serializers.IntegerField()
    turns = serializers.IntegerField(help_text="requests to the compensator, in all rounds")
    seconds = serializers.FloatField(help_text="of all turns, as the server waited for them")
    slowest = serializers.FloatField(help_text="seconds of the slowest turn")


class TrafficTable(serializers.Serializer[Any]):
    links = Link(many=True)
    total = serializers.IntegerField(help_text="bytes in all directions until the last sum")
    delivery_of_results = serializers.IntegerField(help_text="bytes of handing out the result files")
    seconds = serializers.DictField(
        child=serializers.DictField(child=serializers.FloatField()),
        help_text="seconds of work per party and phase",
    )
    comparisons = ComparedStep(many=True)
