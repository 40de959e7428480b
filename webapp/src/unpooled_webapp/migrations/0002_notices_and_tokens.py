from __future__ import annotations

import uuid
from typing import ClassVar

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("unpooled_server", "0007_lists_compared"),
        ("unpooled_webapp", "0001_installation"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations: ClassVar = [
        migrations.CreateModel(
            name="ApiToken",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=80)),
                ("token_hash", models.CharField(max_length=64, unique=True)),
                (
                    "scope",
                    models.CharField(choices=[("read", "Read"), ("change", "Read and change")], max_length=8),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("expires_at", models.DateTimeField()),
                ("used_at", models.DateTimeField(null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="api_tokens",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["-created_at", "-id"],
            },
        ),
        migrations.CreateModel(
            name="Channel",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.CharField(choices=[("mail", "Mail"), ("webhook", "Webhook")], max_length=8)),
                ("address", models.CharField(max_length=500)),
                ("events", models.JSONField(default=list)),
                ("all_own", models.BooleanField(default=False)),
                ("nonce", models.CharField(max_length=64)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="channels",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="Delivery",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "event",
                    models.CharField(
                        choices=[
                            ("done", "Done"),
                            ("paused", "Paused"),
                            ("failed", "Failed"),
                            ("waited-for", "A cohort is waited for"),
                            ("trial", "A trial"),
                        ],
                        max_length=12,
                    ),
                ),
                ("time", models.DateTimeField(default=django.utils.timezone.now)),
                ("due_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("tries", models.PositiveSmallIntegerField(default=0)),
                (
                    "outcome",
                    models.CharField(
                        choices=[
                            ("waiting", "Not yet delivered"),
                            ("delivered", "Delivered"),
                            ("given-up", "Given up"),
                        ],
                        default="waiting",
                        max_length=12,
                    ),
                ),
                ("said", models.CharField(blank=True, max_length=200)),
                (
                    "channel",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="deliveries",
                        to="unpooled_webapp.channel",
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="deliveries",
                        to="unpooled_server.study",
                    ),
                ),
            ],
            options={
                "ordering": ["-time"],
            },
        ),
        migrations.CreateModel(
            name="Following",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="followings",
                        to="unpooled_server.study",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="followings",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="channel",
            constraint=models.UniqueConstraint(
                fields=("user", "kind", "address"), name="one_channel_of_an_address"
            ),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(fields=["outcome", "due_at"], name="unpooled_we_outcome_37e80b_idx"),
        ),
        migrations.AddConstraint(
            model_name="following",
            constraint=models.UniqueConstraint(fields=("user", "study"), name="one_following_of_a_study"),
        ),
    ]
