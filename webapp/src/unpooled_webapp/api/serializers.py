"""Forms of the coordinator's API, for requests and answers; the schema is made from them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, cast

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from unpooled.panel.builds import known_build
from unpooled.protocol import problems, sealing
from unpooled.protocol.stages import Stage
from unpooled_server.models import Cohort, LogEntry, ResultFile, Study
from unpooled_server.names import CohortState, StudyState
from unpooled_server.reads import pictures, selectors, stages
from unpooled_server.reads.result_columns import results_of
from unpooled_server.reads.stages import Standing
from unpooled_server.services.studies import ends_its_keep, why_not_startable
from unpooled_webapp import accounts
from unpooled_webapp.api.plan_forms import FrozenPlanDict, PlanDict, SomePlanFields
from unpooled_webapp.models import Following

# ruff: noqa: RUF012  # Django's Meta classes are declarations, not mutable state


def found(
    by: Callable[[Any], Any], form: Any = OpenApiTypes.STR, **said: Any
) -> serializers.Field[Any, Any, Any, Any]:
    """A field whose value a function finds of the row; `form` is that of the value in the schema."""

    @extend_schema_field(form)
    class Found(serializers.ReadOnlyField):
        def to_representation(self, row: Any) -> Any:
            return by(row)

    return Found(source="*", **said)


def _problem(cohort: Cohort, part: str) -> str:
    problem = problems.Problem.of(cohort.problem)
    return str(getattr(problem, part)) if problem else ""


def _fingerprint(key: str) -> str:
    return sealing.fingerprint(bytes.fromhex(key)) if key else ""


def _plan_hash(study: Study) -> str:
    return "" if study.awaits_list else study.plan.hash().hex()


class NewStudy(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=200)
    description = serializers.CharField(required=False, default="", allow_blank=True, max_length=20_000)
    auto_start = serializers.BooleanField(
        required=False, default=True, help_text="start by itself once every cohort is ready"
    )
    plan = PlanDict()


class ChangedStudy(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=200, required=False)
    description = serializers.CharField(required=False, allow_blank=True, max_length=20_000)
    auto_start = serializers.BooleanField(required=False)
    plan = SomePlanFields(required=False, help_text="only before a cohort has joined")
    observers = serializers.ListField(child=serializers.CharField(), required=False)


class LeftCohorts(serializers.Serializer[Any]):
    cohorts = serializers.ListField(
        child=serializers.CharField(), allow_empty=False, help_text="the names of those that have left"
    )


COMPARED_BY = "who compared the fingerprint of the key by telephone; empty if nobody did"
STAGES = [(stage.value, stage.word) for stage in Stage]


class CohortRow(serializers.ModelSerializer[Cohort]):
    """One cohort as its coordinator sees it. Never a number of its data."""

    state = serializers.ChoiceField(CohortState.choices, read_only=True, help_text="by what it has sent")
    stage = serializers.SerializerMethodField(help_text="what it is at now")
    since = serializers.SerializerMethodField(help_text="since when; null where that is nobody's concern")
    compared_by = serializers.CharField(read_only=True, help_text=COMPARED_BY)
    compared_at = serializers.DateTimeField(read_only=True, allow_null=True)
    fingerprint = found(lambda cohort: _fingerprint(cohort.public_key))
    problem_message = found(lambda cohort: _problem(cohort, "message"))
    problem_remedy = found(lambda cohort: _problem(cohort, "remedy"))
    problem_field = found(
        lambda cohort: _problem(cohort, "field") or cohort.study.plan.field_of(cohort.problem_name),
        help_text="the plan's field that the problem is about; may be empty",
    )

    class Meta:
        model = Cohort
        fields = [
            *("name", "state", "stage", "since", "fingerprint", "compared_by", "compared_at"),
            *("invited_at", "joined_at", "heard_at"),
            *("problem", "problem_name", "problem_message", "problem_remedy", "problem_field", "problem_at"),
            "timing",
        ]

    def _standing(self, cohort: Cohort) -> Standing:
        # Found once for all rows of an answer.
        known: dict[str, dict[str, Standing]] = cast(dict[str, Any], self.context).setdefault("standings", {})
        if cohort.study_id not in known:
            known[cohort.study_id] = selectors.standings(cohort.study)
        return known[cohort.study_id][cohort.name]

    @extend_schema_field(serializers.ChoiceField(STAGES))
    def get_stage(self, cohort: Cohort) -> str:
        return self._standing(cohort).stage.value

    def get_since(self, cohort: Cohort) -> datetime | None:
        return self._standing(cohort).since


class Now(serializers.Serializer[Any]):
    """The step of a study that is being done."""

    title = serializers.CharField(help_text="what is being done now")
    done = serializers.IntegerField(help_text="rounds of this step that are summed")
    total = serializers.IntegerField(help_text="rounds of this step; 0 if no step is asked")


class StudyRow(serializers.ModelSerializer[Study]):
    """A study in a list."""

    owner = serializers.CharField(source="owner.username", read_only=True)
    owner_name = found(
        lambda study: accounts.shown_name(study.owner), help_text="how the owner is called on pages"
    )
    state = serializers.ChoiceField(StudyState.choices, read_only=True)
    test = serializers.CharField(source="plan_json.test", read_only=True)
    trait = serializers.CharField(source="plan_json.trait", read_only=True)
    phenotype = found(
        lambda study: ", ".join(study.phenotypes),
        help_text="or several, with commas between; empty in a study of tables",
    )
    build = found(
        lambda study: (build := study.plan_json.get("build", "")) and (known_build(build) or build),
        help_text="genome build, GRCh37 and GRCh38 by these names",
    )
    phenotypes = serializers.ListField(
        child=serializers.CharField(), read_only=True, help_text="their names, each as a choice of results"
    )
    cohorts_wanted = serializers.IntegerField(source="plan_json.cohorts", read_only=True)
    cohorts_joined = found(
        lambda study: sum(bool(cohort.public_key) for cohort in study.cohorts.all()), OpenApiTypes.INT
    )
    cohorts_stopped = found(
        stages.stopped,
        OpenApiTypes.INT,
        help_text="whose client has stopped on a problem; 0 once the study is over",
    )
    now = found(selectors.now, Now)
    asks_you = serializers.SerializerMethodField(
        help_text="what it waits for you to do, such as: Waits for you to start it; empty if nothing"
    )
    active_at = found(
        selectors.active_at,
        OpenApiTypes.DATETIME,
        help_text="when it changed, or when a cohort was heard, whichever is later",
    )

    class Meta:
        model = Study
        fields = [
            *("id", "name", "description", "owner", "owner_name", "state", "reason"),
            *("test", "trait", "phenotype", "phenotypes", "build"),
            *("cohorts_wanted", "cohorts_joined", "cohorts_stopped"),
            *("now", "asks_you", "archived", "is_demo", "created_at", "changed_at", "active_at"),
        ]

    def get_asks_you(self, study: Study) -> str:
        asked = stages.asked_of_the_coordinator(study)
        return asked if asked and accounts.may_change(self.context["person"], study) else ""


class Summary(serializers.Serializer[Any]):
    """The results in a few numbers."""

    people = serializers.IntegerField(help_text="with a phenotype and every covariate")
    cases = serializers.IntegerField(allow_null=True)
    controls = serializers.IntegerField(allow_null=True)
    variants = serializers.IntegerField(help_text="that passed the filters")
    genomic_inflation = serializers.FloatField(
        allow_null=True, help_text="lambda: median chi-square over 0.456, not below 1"
    )
    frequencies_far = serializers.IntegerField(
        allow_null=True,
        help_text="over how many variants and cohorts a cohort's allele frequency is far from the pool's; "
        "null where the plan does not ask for that",
    )


class SummaryOfPhenotype(Summary):
    """The results of a phenotype in a few numbers."""

    phenotype = serializers.CharField()


class PlanFact(serializers.Serializer[Any]):
    title = serializers.CharField()
    said = serializers.CharField()


class PlanFacts(serializers.Serializer[Any]):
    """The plan in words, as the cohorts read it before they accept it."""

    question = PlanFact(many=True)
    model = PlanFact(many=True)
    rules = PlanFact(many=True)


class Wait(serializers.Serializer[Any]):
    """Somebody for whom a study waits: "Graz and Munich to join"."""

    who = serializers.ListField(child=serializers.CharField())
    to = serializers.CharField(help_text="what they are to do")
    since = serializers.DateTimeField(allow_null=True)


class OtherStudy(serializers.ModelSerializer[Study]):
    """Another study, to be led to."""

    class Meta:
        model = Study
        fields = ["id", "name"]


class StudyDetail(StudyRow):
    """A study with its plan and its cohorts."""

    plan = FrozenPlanDict(source="plan_json")
    facts = found(selectors.facts, PlanFacts)
    unlike_pool = found(
        selectors.unlike_pool, help_text="why its result is not that of the pooled data; empty if it is"
    )
    plan_hash = found(_plan_hash)
    plan_fingerprint = found(
        lambda study: sealing.grouped(_plan_hash(study)),
        help_text="of the plan's hash what people compare by telephone; empty while the plan is incomplete",
    )
    roster_fingerprint = found(
        selectors.roster_fingerprint,
        help_text="likewise of the roster's; empty until all cohorts have joined",
    )
    waits = found(
        lambda study: Wait(selectors.waiting(study)["waits"], many=True).data,
        Wait(many=True),
        help_text="for whom it waits",
    )
    compared_by = serializers.CharField(read_only=True, help_text=COMPARED_BY)
    compared_at = serializers.DateTimeField(read_only=True, allow_null=True)
    one_operator = found(
        lambda study: not study.is_blind,
        OpenApiTypes.BOOL,
        help_text="whether server and compensator are run by the same people",
    )
    compensator_fingerprint = found(
        lambda study: "" if study.has_no_compensator else _fingerprint(study.plan_json["compensator_key"]),
        help_text="empty where there is no compensator",
    )
    # Said here, for the models' own largest numbers are those of the database in use.
    panel_size = serializers.IntegerField(read_only=True, allow_null=True)
    summary = found(
        lambda study: next(iter(study.summaries), None),
        Summary(allow_null=True),
        help_text="of several phenotypes the first's",
    )
    summaries = serializers.SerializerMethodField(
        help_text="of each phenotype, the first first; none before there are results, and of tables"
    )
    cohorts = CohortRow(many=True, read_only=True)
    start_blocked = found(why_not_startable)
    lists_said = serializers.SerializerMethodField(
        help_text="what is wrong with the cohorts' lists of variants; for those who may change the study"
    )
    lists_share = serializers.IntegerField(read_only=True, help_text="variants that all of these lists share")
    has_pictures = serializers.SerializerMethodField(
        help_text="whether Manhattan and QQ plot and the loci can be had; shortly after the end of a study"
    )
    may_change = serializers.SerializerMethodField(help_text="whether it is yours to change")
    plan_may_change = serializers.BooleanField(
        read_only=True, help_text="until a sum over the cohorts is asked for"
    )
    cohorts_accepted = found(
        lambda study: sum(cohort.accepted for cohort in study.members()),
        OpenApiTypes.INT,
        help_text="how many have accepted the plan as it is",
    )
    repeats = OtherStudy(read_only=True, allow_null=True, help_text="the study that this one repeats")
    repetition = found(
        lambda study: (again := selectors.repetition(study)) and OtherStudy(again).data,
        OtherStudy(allow_null=True),
        help_text="the study that repeats this one",
    )
    observers: serializers.ManyRelatedField = serializers.SlugRelatedField(  # type: ignore[assignment]
        slug_field="username", many=True, read_only=True
    )
    names = found(
        accounts.names_of,
        serializers.DictField(child=serializers.CharField()),
        help_text="how the people of the study are called on pages, by user name",
    )
    is_followed = serializers.SerializerMethodField(help_text="whether you are told what becomes of it")
    deleted_at = found(
        ends_its_keep,
        serializers.DateTimeField(allow_null=True),
        help_text="when the platform deletes it; null where it keeps studies for good, or until it is over",
    )

    class Meta(StudyRow.Meta):
        fields = [
            *StudyRow.Meta.fields,
            *("refused_field", "auto_start", "one_operator", "pause_kind", "plan_may_change", "list_ready"),
            *("plan", "facts", "unlike_pool", "plan_hash", "plan_fingerprint", "roster_fingerprint"),
            *("compensator_fingerprint", "compared_by", "compared_at"),
            *("waits", "panel_size", "summary", "summaries", "has_pictures"),
            *("cohorts", "cohorts_accepted", "observers", "names", "is_followed", "repeats", "repetition"),
            *("may_change", "start_blocked", "lists_said", "lists_share"),
            *("opened_at", "ready_at", "started_at", "panel_at", "last_sum_at", "ended_at"),
            "deleted_at",
        ]

    def get_has_pictures(self, study: Study) -> bool:
        return bool(study.columns) and all(
            pictures.there_are(results_of(study, name)) for name in study.phenotypes
        )

    @extend_schema_field(SummaryOfPhenotype(many=True))
    def get_summaries(self, study: Study) -> list[dict[str, Any]]:
        named = zip(study.phenotypes, study.summaries, strict=False)
        return [{"phenotype": name, **numbers} for name, numbers in named]

    def get_may_change(self, study: Study) -> bool:
        return accounts.may_change(self.context["person"], study)

    def get_is_followed(self, study: Study) -> bool:
        return Following.objects.filter(study=study, user=self.context["person"]).exists()

    def get_lists_said(self, study: Study) -> list[str]:
        asks = study.state == StudyState.OPEN and not study.lists_accepted
        return list(study.lists_said) if asks and self.get_may_change(study) else []


class Demo(serializers.Serializer[Any]):
    """Availability of a study over generated cohorts, whose clients run on the server's machine."""

    permitted = serializers.BooleanField(help_text="by the platform's operator, and to you")
    lacking = serializers.CharField(help_text="what has to be set up first; empty if nothing")
    running = serializers.BooleanField(help_text="there is one at most")


class Compared(serializers.Serializer[Any]):
    """A fingerprint that somebody has compared by telephone."""

    fingerprint = serializers.CharField(help_text="the one that was compared")
    is_same = serializers.BooleanField(help_text="false takes it back")


class NewInvitation(serializers.Serializer[Any]):
    cohort = serializers.CharField(max_length=80)


class IssuedInvitation(serializers.Serializer[Any]):
    cohort = serializers.CharField()
    invitation = serializers.CharField(help_text="shown this once")


class LogLine(serializers.ModelSerializer[LogEntry]):
    who_name = serializers.SerializerMethodField(help_text="how a person is called on pages; else as `who`")

    class Meta:
        model = LogEntry
        fields = ["time", "who", "who_name", "what"]

    def get_who_name(self, line: LogEntry) -> str:
        return str(self.context["names"].get(line.who, line.who))


class Result(serializers.ModelSerializer[ResultFile]):
    size = serializers.IntegerField(read_only=True)

    class Meta:
        model = ResultFile
        fields = ["name", "size", "sha256"]


class ResultTable(serializers.Serializer[Any]):
    variants = serializers.IntegerField(help_text="rows of the whole table")
    start = serializers.IntegerField(help_text="index of the first row")
    columns = serializers.DictField(
        child=serializers.ListField(),
        help_text="per column the values of these rows; null where there is no number",
    )


class Problem(serializers.Serializer[Any]):
    code = serializers.CharField()
    message = serializers.CharField()
    remedy = serializers.CharField()
    fields = serializers.DictField(child=serializers.CharField(), required=False)  # type: ignore[assignment]


class ErrorAnswer(serializers.Serializer[Any]):
    error = Problem()
