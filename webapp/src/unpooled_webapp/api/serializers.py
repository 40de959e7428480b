"""What the coordinator's API takes and gives; the schema is made from this."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from unpooled.options import Place
from unpooled.protocol import problems, sealing
from unpooled.schema import TYPES
from unpooled_server import pictures, selectors
from unpooled_server.models import Cohort, LogEntry, ResultFile, Study
from unpooled_server.names import CohortState, Phase, StudyState
from unpooled_server.services.studies import why_not_startable
from unpooled_webapp import accounts
from unpooled_webapp.api import plan_options

# ruff: noqa: RUF012  # Django's Meta classes are declarations, not mutable state


TRAITS = ["case/control", "quantitative", "none"]
PANEL_MODES = ["names", "list", "none"]
MASKING = ["modular", "gaussian"]
PLACES = [place.value for place in Place]


class PlanColumn(serializers.Serializer[Any]):
    """A column of the cohorts' tables."""

    name = serializers.CharField(max_length=200)
    type = serializers.ChoiceField(
        TYPES, required=False, help_text="`number` if not given; `text` is neither read nor changed"
    )
    unit = serializers.CharField(max_length=40, required=False)


class PlanFields(serializers.Serializer[Any]):
    """Everything that decides a number or who sees it. Hashes and keys are hex; the server adds the key.

    Fields that every study has; then the options, of which each test has some.
    """

    test = serializers.CharField()
    phenotype = serializers.CharField(max_length=200, help_text="empty in a study of tables")
    cohorts = serializers.IntegerField(help_text="how many take part, at least 3")
    trait = serializers.ChoiceField(TRAITS, required=False, help_text="none: a study of tables")
    build = serializers.CharField(max_length=40, required=False)
    autosomes = serializers.IntegerField(required=False)
    chromosomes = serializers.ListField(
        child=serializers.CharField(), required=False, help_text="only these, such as 1-4, 22 and X"
    )
    nonfounders = serializers.BooleanField(required=False)
    allow_no_sex = serializers.BooleanField(required=False)
    files = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="result files, of those that the test has; `assoc` is a regression's own report",
    )
    min_samples = serializers.IntegerField(required=False, help_text="per cohort")
    min_per_class = serializers.IntegerField(required=False, help_text="cases, and controls, per cohort")
    chunk_size = serializers.IntegerField(
        required=False, help_text="variants in one question; 0 for as many as make a share of a few megabytes"
    )
    panel_mode = serializers.ChoiceField(PANEL_MODES, required=False, help_text="none: a study of tables")
    masking = serializers.ChoiceField(MASKING, required=False)
    variance = serializers.FloatField(required=False, help_text="of Gaussian masks")
    ring_bits = serializers.IntegerField(required=False, help_text="32, 64 or 128")
    schema = PlanColumn(many=True, required=False, help_text="in a study of tables, their columns")

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        return {**super().get_fields(), **plan_options.fields()}


class FrozenPlan(PlanFields):
    compensator_key = serializers.CharField(read_only=True)
    panel_digest = serializers.CharField(read_only=True)
    version = serializers.IntegerField(read_only=True)


@extend_schema_field(PlanFields)
class PlanDict(serializers.DictField):
    """Checked by the plan itself, which says what is wrong with each field."""


@extend_schema_field(PlanFields(partial=True))
class SomePlanFields(serializers.DictField):
    """Those fields of a plan that change."""


class MethodFile(serializers.Serializer[Any]):
    """A result file that a method can write."""

    name = serializers.CharField()
    title = serializers.CharField()
    hint = serializers.CharField()


class Answer(serializers.Serializer[Any]):
    """One of the values of a choice."""

    value = serializers.CharField()
    title = serializers.CharField()
    hint = serializers.CharField()


class MethodOption(serializers.Serializer[Any]):
    """What a plan can ask of a method beside the fields of every plan."""

    name = serializers.CharField(help_text="of the plan's field")
    kind = serializers.ChoiceField(plan_options.KINDS)
    title = serializers.CharField()
    hint = serializers.CharField()
    flag = serializers.CharField(help_text="PLINK's flag for the same; may be empty")
    place = serializers.ChoiceField(PLACES, help_text="in a form")
    needs = serializers.CharField(help_text="another option, without which it means nothing; may be empty")
    wanted = serializers.CharField(help_text="what it takes, as in: a number from 0 to 1")
    least = serializers.FloatField(allow_null=True)
    most = serializers.FloatField(allow_null=True)
    answers = Answer(many=True, help_text="of a choice")
    among = serializers.ListField(
        child=serializers.CharField(), help_text="all words that there are, if any word will not do"
    )


class Method(serializers.Serializer[Any]):
    """A test of variants, or a way to normalize tables."""

    name = serializers.CharField()
    title = serializers.CharField()
    of_tables = serializers.BooleanField()
    traits = serializers.ListField(child=serializers.ChoiceField(TRAITS), help_text="the usual one first")
    files = MethodFile(many=True)
    options = MethodOption(many=True, help_text="in the order of a form")
    usual = PlanDict(help_text="a plan of this method where its author said nothing")


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


class CohortRow(serializers.ModelSerializer[Cohort]):
    """One cohort as its coordinator sees it. Never a number of its data."""

    state = serializers.ChoiceField(CohortState.choices, read_only=True)
    fingerprint = serializers.SerializerMethodField()
    problem_message = serializers.SerializerMethodField()
    problem_remedy = serializers.SerializerMethodField()

    class Meta:
        model = Cohort
        fields = [
            "name",
            "state",
            "fingerprint",
            "invited_at",
            "joined_at",
            "heard_at",
            "problem",
            "problem_name",
            "problem_message",
            "problem_remedy",
            "problem_at",
            "timing",
        ]

    def get_fingerprint(self, cohort: Cohort) -> str:
        return sealing.fingerprint(bytes.fromhex(cohort.public_key)) if cohort.public_key else ""

    def get_problem_message(self, cohort: Cohort) -> str:
        return next((known.message for known in problems.Problem if known.value == cohort.problem), "")

    def get_problem_remedy(self, cohort: Cohort) -> str:
        return next((known.remedy for known in problems.Problem if known.value == cohort.problem), "")


class Now(serializers.Serializer[Any]):
    """What is being done in a study."""

    title = serializers.CharField(help_text="what is being done now")
    done = serializers.IntegerField(help_text="rounds of this step that are summed")
    total = serializers.IntegerField(help_text="rounds of this step; 0 if no step is asked")


class StudyRow(serializers.ModelSerializer[Study]):
    """A study in a list."""

    owner = serializers.CharField(source="owner.username", read_only=True)
    state = serializers.ChoiceField(StudyState.choices, read_only=True)
    test = serializers.CharField(source="plan_json.test", read_only=True)
    trait = serializers.CharField(source="plan_json.trait", read_only=True)
    phenotype = serializers.CharField(
        source="plan_json.phenotype", read_only=True, help_text="empty in a study of tables"
    )
    cohorts_wanted = serializers.IntegerField(source="plan_json.cohorts", read_only=True)
    cohorts_joined = serializers.SerializerMethodField()
    now = serializers.SerializerMethodField()
    active_at = serializers.SerializerMethodField(
        help_text="when it changed, or when a cohort was heard, whichever is later"
    )

    class Meta:
        model = Study
        fields = [
            "id",
            "name",
            "owner",
            "state",
            "reason",
            "test",
            "trait",
            "phenotype",
            "cohorts_wanted",
            "cohorts_joined",
            "now",
            "archived",
            "is_demo",
            "created_at",
            "changed_at",
            "active_at",
        ]

    def get_cohorts_joined(self, study: Study) -> int:
        return sum(bool(cohort.public_key) for cohort in study.cohorts.all())

    @extend_schema_field(Now)
    def get_now(self, study: Study) -> dict[str, Any]:
        return selectors.now(study)

    def get_active_at(self, study: Study) -> datetime:
        return selectors.active_at(study)


class Summary(serializers.Serializer[Any]):
    """The results in a few numbers."""

    people = serializers.IntegerField(help_text="with a phenotype and every covariate")
    cases = serializers.IntegerField(allow_null=True)
    controls = serializers.IntegerField(allow_null=True)
    variants = serializers.IntegerField(help_text="that passed the filters")
    genomic_inflation = serializers.FloatField(
        allow_null=True, help_text="lambda: median chi-square over 0.456, not below 1"
    )


class PlanFact(serializers.Serializer[Any]):
    title = serializers.CharField()
    said = serializers.CharField()


class PlanFacts(serializers.Serializer[Any]):
    """The plan in words, as the cohorts read it before they accept it."""

    question = PlanFact(many=True)
    model = PlanFact(many=True)
    rules = PlanFact(many=True)


class StudyDetail(StudyRow):
    """A study with its plan and its cohorts."""

    plan = FrozenPlan(source="plan_json", read_only=True)
    facts = serializers.SerializerMethodField()
    plan_hash = serializers.SerializerMethodField()
    compensator_fingerprint = serializers.SerializerMethodField()
    # Said here, for the models' own largest numbers are those of the database in use.
    panel_size = serializers.IntegerField(read_only=True, allow_null=True)
    summary = Summary(read_only=True, allow_null=True)
    cohorts = CohortRow(many=True, read_only=True)
    start_blocked = serializers.SerializerMethodField()
    has_pictures = serializers.SerializerMethodField(
        help_text="whether Manhattan and QQ plot and the loci can be had; shortly after the end of a study"
    )
    may_change = serializers.SerializerMethodField(help_text="whether it is yours to change")
    observers: serializers.ManyRelatedField = serializers.SlugRelatedField(  # type: ignore[assignment]
        slug_field="username", many=True, read_only=True
    )

    class Meta(StudyRow.Meta):
        fields = [
            *StudyRow.Meta.fields,
            "description",
            "auto_start",
            "one_operator",
            "pause_kind",
            "frozen",
            "list_ready",
            "plan",
            "facts",
            "plan_hash",
            "compensator_fingerprint",
            "panel_size",
            "summary",
            "has_pictures",
            "cohorts",
            "observers",
            "may_change",
            "start_blocked",
            "opened_at",
            "ready_at",
            "started_at",
            "panel_at",
            "last_sum_at",
            "ended_at",
        ]

    @extend_schema_field(PlanFacts)
    def get_facts(self, study: Study) -> dict[str, list[dict[str, str]]]:
        return selectors.facts(study)

    def get_plan_hash(self, study: Study) -> str:
        awaits_list = study.plan_json["panel_mode"] == "list" and not study.list_ready
        return "" if awaits_list else study.plan.hash().hex()

    def get_compensator_fingerprint(self, study: Study) -> str:
        return sealing.fingerprint(bytes.fromhex(study.plan_json["compensator_key"]))

    def get_has_pictures(self, study: Study) -> bool:
        return pictures.there_are(study)

    def get_may_change(self, study: Study) -> bool:
        return accounts.may_change(self.context["person"], study)

    def get_start_blocked(self, study: Study) -> str:
        return why_not_startable(study)


class Demo(serializers.Serializer[Any]):
    """Whether a study over generated cohorts can be had, whose clients run on the server's machine."""

    permitted = serializers.BooleanField(help_text="by the platform's operator, and to you")
    lacking = serializers.CharField(help_text="what has to be set up first; empty if nothing")
    running = serializers.BooleanField(help_text="there is one at most")


class NewInvitation(serializers.Serializer[Any]):
    cohort = serializers.CharField(max_length=80)


class IssuedInvitation(serializers.Serializer[Any]):
    cohort = serializers.CharField()
    invitation = serializers.CharField(help_text="shown this once")


class LogLine(serializers.ModelSerializer[LogEntry]):
    class Meta:
        model = LogEntry
        fields = ["time", "who", "what"]


class Result(serializers.ModelSerializer[ResultFile]):
    size = serializers.IntegerField(read_only=True)

    class Meta:
        model = ResultFile
        fields = ["name", "size", "sha256"]


class StepProgress(serializers.Serializer[Any]):
    name = serializers.CharField()
    title = serializers.CharField()
    rounds = serializers.IntegerField()
    summed = serializers.IntegerField()


class CohortProgress(serializers.Serializer[Any]):
    name = serializers.CharField()
    state = serializers.ChoiceField(CohortState.choices)
    heard_at = serializers.DateTimeField(allow_null=True)
    questions_open = serializers.IntegerField()
    waiting_since = serializers.DateTimeField(
        allow_null=True, help_text="when the oldest question was asked that it has not answered"
    )
    problem = serializers.CharField()


class Progress(Now):
    state = serializers.ChoiceField(StudyState.choices)
    reason = serializers.CharField()
    steps = StepProgress(many=True)
    cohorts = CohortProgress(many=True)
    waiting_for = serializers.ListField(child=serializers.CharField())
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


class Party(serializers.Serializer[Any]):
    """What one party gets in a study, and what it can read of it."""

    name = serializers.CharField(help_text="server, compensator, each cohort or coordinator")
    gets = serializers.CharField()
    reads = serializers.CharField()
    never = serializers.CharField(help_text="what it never gets")
    bytes = serializers.IntegerField(
        allow_null=True, help_text="that it got so far, all cohorts together; null where they are not counted"
    )


class TrafficTable(serializers.Serializer[Any]):
    links = Link(many=True)
    total = serializers.IntegerField(help_text="bytes in all directions until the last sum")
    delivery_of_results = serializers.IntegerField(help_text="bytes of handing out the result files")
    seconds = serializers.DictField(
        child=serializers.DictField(child=serializers.FloatField()),
        help_text="seconds of work per party and phase",
    )


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
