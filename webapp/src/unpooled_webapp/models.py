from __future__ import annotations

import uuid
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

from unpooled_server.models import Study


class Installation(models.Model):
    """One row: the home folder that this database belongs to, by what that folder's marker says."""

    home = models.CharField(max_length=64)

    def __str__(self) -> str:
        return self.home


class AuditEntry(models.Model):
    """A change that a person, or a program in their name, asked for. It outlives what it was about."""

    at = models.DateTimeField(default=timezone.now)
    who = models.CharField(max_length=255)
    what = models.CharField(max_length=255)
    subject = models.TextField()
    status = models.PositiveSmallIntegerField()
    """HTTP's status of the answer; 0 of a command."""
    digest = models.CharField(max_length=64)
    """SHA-256 of the entry before and all of this one."""

    def __str__(self) -> str:
        return f"{self.who}: {self.what} {self.subject}"


class Scope(models.TextChoices):
    """Permissions of a program with a token: in both cases no more than those of the person who made it."""

    READ = "read", "Read"
    CHANGE = "change", "Read and change"


class ApiToken(models.Model):
    """Lets a program use the API in a person's name. The token itself is shown once, and stored hashed."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=80)
    token_hash = models.CharField(max_length=64, unique=True)
    scope = models.CharField(max_length=8, choices=Scope.choices)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    class Meta:
        ordering: ClassVar = ["-created_at", "-id"]

    def __str__(self) -> str:
        return self.name


class SecondFactor(models.Model):
    """A person's second factor, as `unpooled_webapp.second_factor` keeps it."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="second_factor", primary_key=True
    )
    # What the app's secret is derived from, beside the platform's own: this row alone does not tell it.
    nonce = models.CharField(max_length=32)
    is_confirmed = models.BooleanField(default=False)
    # Half minutes since 1970, of the last code that was used: none is good twice.
    last_step = models.BigIntegerField(default=0)
    # SHA-256 of each recovery code that is not spent.
    recovery = models.JSONField(default=list)

    def __str__(self) -> str:
        return str(self.user_id)


class Passkey(models.Model):
    """A key pair on a person's device, with which they sign in; `unpooled_webapp.passkeys` checks it."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="passkeys")
    name = models.CharField(max_length=80)
    # The device's own identifier for the pair, at most as long as the standard allows.
    credential = models.BinaryField(max_length=1023, unique=True)
    public_key = models.BinaryField()
    # Of the last signature; always 0 of a passkey that several devices share.
    sign_count = models.BigIntegerField()
    created_at = models.DateTimeField(default=timezone.now)
    used_at = models.DateTimeField(null=True)

    class Meta:
        ordering: ClassVar = ["id"]

    def __str__(self) -> str:
        return self.name


class ProviderAccount(models.Model):
    """A person who signs in through the organisation's own provider, and how that one identifies them."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="provider_account", primary_key=True
    )
    # The provider's address and its identifier for the person, which it never gives to another one.
    subject = models.CharField(max_length=512, unique=True)

    def __str__(self) -> str:
        return self.subject


class Event(models.TextChoices):
    """Events of a study that people are told of."""

    DONE = "done", "Done"
    PAUSED = "paused", "Paused"
    FAILED = "failed", "Failed"
    WAITED = "waited-for", "A cohort is waited for"
    TRIAL = "trial", "A trial"


class ChannelKind(models.TextChoices):
    MAIL = "mail", "Mail"
    WEBHOOK = "webhook", "Webhook"


class Channel(models.Model):
    """Channel on which a person is told of events, and the events."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="channels")
    kind = models.CharField(max_length=8, choices=ChannelKind.choices)
    # A mail address, or an https:// address.
    address = models.CharField(max_length=500)
    events = models.JSONField(default=list)
    # Of every study that the person coordinates; else of those alone that the person follows.
    all_own = models.BooleanField(default=False)
    # What a webhook's secret is derived from, beside the platform's own: this row alone does not tell it.
    nonce = models.CharField(max_length=64)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering: ClassVar = ["id"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["user", "kind", "address"], name="one_channel_of_an_address")
        ]

    def __str__(self) -> str:
        return self.address


class Following(models.Model):
    """A person who wants to be told about one study."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="followings")
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="followings")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["user", "study"], name="one_following_of_a_study")
        ]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.study_id}"


class Outcome(models.TextChoices):
    WAITING = "waiting", "Not yet delivered"
    DELIVERED = "delivered", "Delivered"
    GIVEN_UP = "given-up", "Given up"


class Delivery(models.Model):
    """One notice to one channel: the queue, and afterwards the list of what came of it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="deliveries")
    # None: a trial.
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="deliveries", null=True)
    event = models.CharField(max_length=12, choices=Event.choices)
    # When it happened, and when it is to be tried next.
    time = models.DateTimeField(default=timezone.now)
    due_at = models.DateTimeField(default=timezone.now)
    tries = models.PositiveSmallIntegerField(default=0)
    outcome = models.CharField(max_length=12, choices=Outcome.choices, default=Outcome.WAITING)
    # What came of the last try, in words.
    said = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering: ClassVar = ["-time"]
        indexes: ClassVar = [models.Index(fields=["outcome", "due_at"])]

    def __str__(self) -> str:
        return f"{self.event} to {self.channel_id}"
