"""Stored models. Uploads of cohorts lie in files (`store`); rows say who may, who did, and what is next."""

from __future__ import annotations

import functools
import json
import secrets
from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

from unpooled.asking.driver import label
from unpooled.methods.shared.summary import FREQUENCIES_FAR, Summary
from unpooled.plan.common_options import COMPENSATOR, ENCRYPTED, TRUST
from unpooled.plan.plan import Plan
from unpooled.protocol import two_party
from unpooled_server.names import OVER, BranchState, CohortState, PauseKind, Phase, RoundState, StudyState


def new_id() -> str:
    return secrets.token_hex(8)


# By its text: a request looks at a plan several times, and to make one takes longer than all else in it.
@functools.lru_cache(maxsize=64)
def _plan(text: str) -> Plan:
    return Plan.from_text(text)


NO_LIST_YET = bytes(32).hex()
"""Digest that a plan has while its list is still to come: a plan by a list is not valid without one."""


class Study(models.Model):
    """A study, which people create. Its plan may be changed until `enrolled_at` is set, and never after."""

    id = models.CharField(primary_key=True, max_length=32, default=new_id, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="studies")
    observers = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="observed_studies", blank=True)
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    state = models.CharField(max_length=16, choices=StudyState.choices, default=StudyState.DRAFT)
    reason = models.TextField(blank=True)
    # The plan's field or option that the reason is about, if it is about one.
    refused_field = models.CharField(max_length=80, blank=True, default="")
    pause_kind = models.CharField(max_length=16, choices=PauseKind.choices, default="", blank=True)
    archived = models.BooleanField(default=False)
    auto_start = models.BooleanField(default=True)
    one_operator = models.BooleanField(default=False)
    # The platform made its cohorts and their data.
    is_demo = models.BooleanField(default=False)
    # The study that ended, of which this one is the repetition: with the same cohorts, by another plan.
    repeats = models.OneToOneField("self", on_delete=models.SET_NULL, related_name="repetition", null=True)
    version = models.PositiveIntegerField(default=1)
    plan_json = models.JSONField(default=dict)
    list_ready = models.BooleanField(default=False)
    # A list has come or gone since the lists were last compared.
    lists_changed = models.BooleanField(default=False)
    # What is wrong with the cohorts' lists, in words, and how many variants all of them share.
    lists_said = models.JSONField(default=list, blank=True)
    lists_share = models.PositiveIntegerField(default=0)
    # The coordinator is content with what all share.
    lists_accepted = models.BooleanField(default=False)
    panel_digest = models.CharField(max_length=64, blank=True)
    panel_size = models.PositiveIntegerField(null=True)
    begun = models.BooleanField(default=False)
    results_folder = models.CharField(max_length=40, blank=True)
    # `unpooled.methods.shared.summary`, once there are results; of several phenotypes one for each name.
    summary = models.JSONField(null=True)
    # Names of the result columns that are kept for the API, once they are; of several phenotypes likewise.
    columns = models.JSONField(default=list, blank=True)
    # The compensator may have boxes of this study: set before the first are sent, and never taken back.
    boxes_sent = models.BooleanField(default=False)
    # It has those of this roster and plan, and has answered the witnesses.
    enrolled = models.BooleanField(default=False)
    # `unpooled.protocol.codes`: the server's key, until the study ends; the public ones, once it enrolled.
    code_key = models.BinaryField(default=b"", blank=True)
    code_keys = models.BinaryField(default=b"", blank=True)
    # Set before the first sum is asked for: from then on neither the roster nor the plan can ever change.
    enrolled_at = models.DateTimeField(null=True)
    forgotten = models.BooleanField(default=False)
    # What is foreseen to be asked, by step (`unpooled_server.reads.remaining`), once the first question is.
    foreseen = models.JSONField(default=dict, blank=True)
    # Who has compared the fingerprint of the compensator's key by telephone, and when.
    compared_by = models.CharField(max_length=150, default="", blank=True)
    compared_at = models.DateTimeField(null=True)
    # Errors in a row that nobody foresaw.
    attempts = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now)
    changed_at = models.DateTimeField(default=timezone.now)
    opened_at = models.DateTimeField(null=True)
    ready_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    panel_at = models.DateTimeField(null=True)
    last_sum_at = models.DateTimeField(null=True)
    paused_at = models.DateTimeField(null=True)
    # Of the pauses that have ended.
    paused_seconds = models.FloatField(default=0.0)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering: ClassVar = ["-created_at"]
        indexes: ClassVar = [models.Index(fields=["state"])]

    def __str__(self) -> str:
        return self.name

    @property
    def plan(self) -> Plan:
        return _plan(json.dumps(self.plan_json))

    @property
    def is_blind(self) -> bool:
        """True unless one operator has masked numbers and masks; it never has without a compensator."""
        return not self.one_operator or self.has_no_compensator

    @property
    def has_no_compensator(self) -> bool:
        """True if each two cohorts share masks."""
        return bool(self.plan_json.get(TRUST.name, COMPENSATOR) != COMPENSATOR)

    @property
    def is_encrypted(self) -> bool:
        """True if shares are encrypted besides (`services.helping`)."""
        return bool(self.plan_json.get(TRUST.name) == ENCRYPTED)

    @property
    def awaits_list(self) -> bool:
        """True if the list that its plan names is still to come."""
        return self.plan_json["panel_mode"] == "list" and not self.list_ready

    def columns_of(self, plan: Plan) -> list[str]:
        """The result columns that are kept of a plan's phenotype."""
        found = self.columns
        return list(found.get(plan.phenotype, []) if isinstance(found, dict) else found)

    @property
    def summaries(self) -> list[Summary]:
        """One for each phenotype; none before there are results, and of tables."""
        if self.summary is None:
            return []
        names = self.phenotypes
        found = [self.summary[name] for name in names] if len(names) > 1 else [self.summary]
        return [{FREQUENCIES_FAR: None, **one} for one in found]  # earlier releases did not count them

    @property
    def phenotypes(self) -> list[str]:
        """Their names, also while the plan is incomplete; one empty one in a study of tables."""
        return [self.plan_json["phenotype"], *self.plan_json.get("phenotypes", ())]

    @property
    def plan_may_change(self) -> bool:
        return self.enrolled_at is None and self.state not in OVER

    def members(self) -> models.QuerySet[Cohort]:
        """The cohorts that take part. One that is revoked before the first release has no key any more."""
        return self.cohorts.exclude(revoked=True, public_key="")


class Cohort(models.Model):
    """A participating site: its invitation, its key, what it has sent so far."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="cohorts")
    name = models.CharField(max_length=80)
    token_hash = models.CharField(max_length=64, unique=True)
    revoked = models.BooleanField(default=False)
    invited_at = models.DateTimeField(default=timezone.now)
    joined_at = models.DateTimeField(null=True)
    heard_at = models.DateTimeField(null=True)
    # The word of `unpooled.protocol.stages.Doing` that its client told last, and since when it is this one.
    doing = models.CharField(max_length=12, default="", blank=True)
    doing_at = models.DateTimeField(null=True)
    # Who has compared the fingerprint of its key by telephone, and when.
    compared_by = models.CharField(max_length=150, default="", blank=True)
    compared_at = models.DateTimeField(null=True)
    instance = models.CharField(max_length=32, blank=True)
    # Of the client that it was; empty if that did not tell.
    release = models.CharField(max_length=40, default="", blank=True)
    # As the roster has it: in a study without a compensator the digest of the sealing key follows the signing
    # key.
    public_key = models.CharField(max_length=128, blank=True)
    sealing_key = models.BinaryField(default=b"", blank=True)
    # The seed sealed to the compensator. Without one, all boxes for the other cohorts, and their digest.
    box_sealed = models.BinaryField(default=b"", blank=True)
    box_signature = models.BinaryField(default=b"", blank=True)
    # `unpooled.protocol.witness`, sealed for this cohort, once the study has enrolled.
    witness = models.BinaryField(default=b"", blank=True)
    list_digest = models.CharField(max_length=64, blank=True)
    list_wanted = models.BooleanField(default=False)
    list_stored = models.BooleanField(default=False)
    # `unpooled.panel.overlap`: how its list lies beside those of the others, once they were compared.
    overlap = models.JSONField(null=True)
    # Its list has too little in common with the others': it is to send another one.
    list_apart = models.BooleanField(default=False)
    problem = models.CharField(max_length=40, blank=True)
    problem_name = models.CharField(max_length=200, blank=True)
    problem_at = models.DateTimeField(null=True)
    timing = models.JSONField(default=dict)

    class Meta:
        ordering: ClassVar = ["name"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["study", "name"], name="one_cohort_of_a_name")
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def accepted(self) -> bool:
        return bool(self.box_signature)

    @property
    def ready(self) -> bool:
        return self.state == CohortState.READY

    @property
    def has_sent_list(self) -> bool:
        return bool(self.list_digest) and (self.list_stored or not self.list_wanted)

    @property
    def state(self) -> CohortState:
        if self.revoked:
            return CohortState.REVOKED
        if not self.public_key:
            return CohortState.INVITED
        if not self.accepted:
            return CohortState.JOINED
        if not self.has_sent_list or self.list_apart:
            return CohortState.ACCEPTED
        return CohortState.READY


class Coded(models.Model):
    """Keeps the SHA-256 of a cohort's points of a column: the server multiplies no others."""

    cohort = models.ForeignKey(Cohort, on_delete=models.CASCADE, related_name="coded")
    column = models.PositiveIntegerField()
    points = models.BinaryField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["cohort", "column"], name="one_batch_of_points_of_a_column")
        ]

    def __str__(self) -> str:
        return f"{self.cohort_id}, {self.column}"


class Branch(models.Model):
    """A procedure that runs: `unpooled.asking.driver` goes on with it from its call and its journal."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="branches")
    parent = models.ForeignKey("self", on_delete=models.CASCADE, related_name="children", null=True)
    # As the how-manieth it was begun by another branch.
    place = models.PositiveIntegerField(default=0)
    procedure = models.CharField(max_length=80)
    # Of the program that began it, and alone goes on with it.
    release = models.CharField(max_length=40)
    state = models.CharField(max_length=16, choices=BranchState.choices, default=BranchState.ASKING)
    # Digest of what it waits for.
    waits_for = models.BinaryField(default=b"", blank=True)
    # Where cohorts follow the study: the path by which they find it, as the label of a place has it.
    path = models.CharField(max_length=200, null=True)
    # Files of its state before the one that is kept.
    last_files = models.JSONField(default=list, blank=True)
    # How many questions it has asked before the one that it waits for, and how many branches it has begun.
    asked = models.PositiveIntegerField(default=0)
    begun = models.PositiveIntegerField(default=0)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["study", "state"])]

    def __str__(self) -> str:
        return f"{self.procedure} #{self.pk}"

    @property
    def is_told(self) -> bool:
        """Tell whether cohorts are told the sums that it waits for: not those that only make rows."""
        return self.path == "" or (self.path is not None and self.parent_id is not None)

    @property
    def asks_at(self) -> str:
        """The label of the place in the study at which it asks what it waits for, if cohorts follow it."""
        return label(self.path or "", self.asked)


class Kept(models.Model):
    """Stored state of a branch: the arguments of its call, then its journal; in the end its value.

    Arguments or value come first, and have nothing in `asked`. It has a table of its own: these can be
    megabytes, and a branch is looked at and changed often. What is larger lies in files.
    """

    branch = models.ForeignKey(Branch, on_delete=models.CASCADE, related_name="kept")
    number = models.PositiveIntegerField()
    # Digest of what was waited for.
    asked = models.BinaryField(default=b"", blank=True)
    data = models.BinaryField()
    # Where the data lies if it is large; empty if it is in the row.
    file = models.CharField(max_length=100, default="", blank=True)

    class Meta:
        ordering: ClassVar = ["number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["branch", "number"], name="one_of_a_number_is_kept")
        ]

    def __str__(self) -> str:
        return f"{self.branch_id}, {self.number}"


class Round(models.Model):
    """One asking of a question. Its primary key is the round's number, never used twice."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="rounds")
    # Who asks. Rounds of releases that knew no branches have none.
    branch = models.ForeignKey(Branch, on_delete=models.CASCADE, related_name="rounds", null=True)
    step_name = models.CharField(max_length=80)
    turn = models.PositiveIntegerField(default=0)
    salt = models.BinaryField()
    question = models.BinaryField()
    scheme = models.CharField(max_length=60)
    words = models.PositiveBigIntegerField()
    # How its sums are compared; empty where they are read.
    circuit = models.CharField(max_length=40, default="", blank=True)
    # From which the order of compared rows follows; empty until the dealing is there.
    shuffle = models.BinaryField(default=b"", blank=True)
    # Of each turn with the compensator so far, one after the other.
    turn_seconds = models.JSONField(default=list, blank=True)
    state = models.CharField(max_length=16, choices=RoundState.choices, default=RoundState.OPEN)
    # SHA-256 of what cohorts are told of its sums; empty if they are told nothing.
    told = models.BinaryField(default=b"", blank=True)
    release_seconds = models.FloatField(default=0.0)
    sum_seconds = models.FloatField(default=0.0)
    opened_at = models.DateTimeField(default=timezone.now)
    complete_at = models.DateTimeField(null=True)
    released_at = models.DateTimeField(null=True)
    aggregated_at = models.DateTimeField(null=True)

    class Meta:
        ordering: ClassVar = ["id"]
        indexes: ClassVar = [models.Index(fields=["study", "state"])]

    def __str__(self) -> str:
        return f"{self.step_name} #{self.pk}"

    @property
    def turns(self) -> int:
        """Number of turns with the compensator until its sums are compared; 0 if they are read."""
        if not self.circuit:
            return 0
        return len(two_party.lengths(self.scheme, self.circuit, self.words).compensator)


class Asked(models.Model):
    """Question of a round, until it is aggregated. It has a table of its own: these are megabytes, and a
    round is looked at and changed often.
    """

    round = models.OneToOneField(Round, on_delete=models.CASCADE, primary_key=True, related_name="asked")
    message = models.BinaryField()
    # Where it lies if it is large; empty if it is in the row.
    file = models.CharField(max_length=100, default="", blank=True)

    def __str__(self) -> str:
        return f"question of {self.round_id}"


class Share(models.Model):
    """One cohort's committed answer. Its bytes lie in the file that round, cohort and nonce name."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="shares")
    round = models.ForeignKey(Round, on_delete=models.CASCADE, related_name="shares")
    cohort = models.ForeignKey(Cohort, on_delete=models.CASCADE, related_name="shares")
    nonce = models.CharField(max_length=32)
    size = models.PositiveBigIntegerField()
    # The cohort keeps what its own run of the study goes on from: at this question, and at the one before.
    keeps = models.BooleanField(default=False)
    # Not while the cohort has yet to help in reading the sum of encrypted shares: `services.helping`.
    is_whole = models.BooleanField(default=True)
    received_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["study", "round", "cohort"], name="one_share_of_a_cohort")
        ]

    def __str__(self) -> str:
        return f"{self.cohort_id} → {self.round_id}"


class RowFile(models.Model):
    """Finished result rows, as a file of arrays."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="row_files")
    name = models.CharField(max_length=40)
    table = models.CharField(max_length=80)
    columns = models.JSONField()

    class Meta:
        ordering: ClassVar = ["id"]

    def __str__(self) -> str:
        return f"{self.table}: {self.name}"


class ResultFile(models.Model):
    """A file that a study ended with."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="result_files")
    name = models.CharField(max_length=255)
    size = models.PositiveBigIntegerField()
    sha256 = models.CharField(max_length=64)

    class Meta:
        ordering: ClassVar = ["id"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["study", "name"], name="one_result_of_a_name")
        ]

    def __str__(self) -> str:
        return self.name


class Traffic(models.Model):
    """Bytes between the server and one party, headers included, TLS and TCP not.

    `messages` and `content` are of the requests that brought something, without their headers: what a
    cohort's ledger counts.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="traffic")
    party = models.CharField(max_length=80)
    phase = models.CharField(max_length=16, choices=Phase.choices)
    received = models.PositiveBigIntegerField(default=0)
    sent = models.PositiveBigIntegerField(default=0)
    requests = models.PositiveBigIntegerField(default=0)
    messages = models.PositiveBigIntegerField(default=0)
    content = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["study", "party", "phase"], name="one_count_of_traffic")
        ]

    def __str__(self) -> str:
        return f"{self.party} {self.phase}"


class LogEntry(models.Model):
    """Entry of a study's log: what happened, when, by whom. Entries are only ever added."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="log")
    time = models.DateTimeField(default=timezone.now)
    who = models.CharField(max_length=200)
    what = models.TextField()

    class Meta:
        ordering: ClassVar = ["id"]

    def __str__(self) -> str:
        return self.what

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None:
            raise ValueError("a log is only added to")
        super().save(*args, **kwargs)
