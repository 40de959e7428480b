# ruff: noqa: RUF012  # generated

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import unpooled_server.models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Round",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("step_name", models.CharField(max_length=80)),
                ("salt", models.BinaryField()),
                ("question", models.BinaryField()),
                ("scheme", models.CharField(max_length=60)),
                ("words", models.PositiveBigIntegerField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("open", "Waiting for shares"),
                            ("complete", "All shares are here"),
                            ("released", "The sum of masks is asked for"),
                            ("aggregated", "Summed"),
                        ],
                        default="open",
                        max_length=16,
                    ),
                ),
                ("release_seconds", models.FloatField(default=0.0)),
                ("sum_seconds", models.FloatField(default=0.0)),
                ("opened_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("complete_at", models.DateTimeField(null=True)),
                ("released_at", models.DateTimeField(null=True)),
                ("aggregated_at", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="Cohort",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=80)),
                ("token_hash", models.CharField(max_length=64, unique=True)),
                ("revoked", models.BooleanField(default=False)),
                ("invited_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("joined_at", models.DateTimeField(null=True)),
                ("heard_at", models.DateTimeField(null=True)),
                ("instance", models.CharField(blank=True, max_length=32)),
                ("public_key", models.CharField(blank=True, max_length=64)),
                ("box_sealed", models.BinaryField(blank=True, default=b"")),
                ("box_signature", models.BinaryField(blank=True, default=b"")),
                ("list_digest", models.CharField(blank=True, max_length=64)),
                ("list_wanted", models.BooleanField(default=False)),
                ("list_stored", models.BooleanField(default=False)),
                ("problem", models.CharField(blank=True, max_length=40)),
                ("problem_name", models.CharField(blank=True, max_length=200)),
                ("problem_at", models.DateTimeField(null=True)),
                ("timing", models.JSONField(default=dict)),
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="Asked",
            fields=[
                (
                    "round",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="asked",
                        serialize=False,
                        to="unpooled_server.round",
                    ),
                ),
                ("message", models.BinaryField()),
                ("step", models.BinaryField(blank=True, default=b"")),
            ],
        ),
        migrations.CreateModel(
            name="Study",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=unpooled_server.models.new_id,
                        editable=False,
                        max_length=32,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                ("description", models.TextField(blank=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("draft", "Draft"),
                            ("open", "Open for cohorts"),
                            ("ready", "Ready"),
                            ("running", "Running"),
                            ("paused", "Paused"),
                            ("done", "Done"),
                            ("aborted", "Aborted"),
                            ("failed", "Failed"),
                        ],
                        default="draft",
                        max_length=16,
                    ),
                ),
                ("reason", models.TextField(blank=True)),
                (
                    "pause_kind",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("", "Not paused"),
                            ("asked", "Paused by its coordinator"),
                            ("away", "A cohort stays away"),
                            ("problem", "A cohort reports a problem"),
                            ("compensator", "The compensator does not answer"),
                            ("disk", "The platform cannot write to its disk"),
                        ],
                        default="",
                        max_length=16,
                    ),
                ),
                ("archived", models.BooleanField(default=False)),
                ("auto_start", models.BooleanField(default=True)),
                ("one_operator", models.BooleanField(default=False)),
                ("version", models.PositiveIntegerField(default=1)),
                ("plan_json", models.JSONField(default=dict)),
                ("frozen", models.BooleanField(default=False)),
                ("list_ready", models.BooleanField(default=False)),
                ("panel_digest", models.CharField(blank=True, max_length=64)),
                ("panel_size", models.PositiveIntegerField(null=True)),
                ("begun", models.BooleanField(default=False)),
                ("results_folder", models.CharField(blank=True, max_length=40)),
                ("summary", models.JSONField(null=True)),
                ("columns", models.JSONField(blank=True, default=list)),
                ("enrolled_at", models.DateTimeField(null=True)),
                ("enrolled", models.BooleanField(default=False)),
                ("forgotten", models.BooleanField(default=False)),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("changed_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("opened_at", models.DateTimeField(null=True)),
                ("ready_at", models.DateTimeField(null=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("panel_at", models.DateTimeField(null=True)),
                ("last_sum_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "observers",
                    models.ManyToManyField(
                        blank=True, related_name="observed_studies", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="studies",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["-created_at"],
            },
        ),
        migrations.CreateModel(
            name="Share",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("nonce", models.CharField(max_length=32)),
                ("size", models.PositiveBigIntegerField()),
                ("received_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "cohort",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="shares",
                        to="unpooled_server.cohort",
                    ),
                ),
                (
                    "round",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="shares",
                        to="unpooled_server.round",
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="shares",
                        to="unpooled_server.study",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="RowFile",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveSmallIntegerField()),
                ("table", models.CharField(max_length=80)),
                ("columns", models.JSONField()),
                (
                    "round",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="row_files",
                        to="unpooled_server.round",
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="row_files",
                        to="unpooled_server.study",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.AddField(
            model_name="round",
            name="study",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="rounds", to="unpooled_server.study"
            ),
        ),
        migrations.CreateModel(
            name="ResultFile",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=120)),
                ("size", models.PositiveBigIntegerField()),
                ("sha256", models.CharField(max_length=64)),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="result_files",
                        to="unpooled_server.study",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="LogEntry",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("time", models.DateTimeField(default=django.utils.timezone.now)),
                ("who", models.CharField(max_length=200)),
                ("what", models.TextField()),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="log",
                        to="unpooled_server.study",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.AddField(
            model_name="cohort",
            name="study",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="cohorts",
                to="unpooled_server.study",
            ),
        ),
        migrations.CreateModel(
            name="Traffic",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("party", models.CharField(max_length=80)),
                (
                    "phase",
                    models.CharField(
                        choices=[
                            ("joining", "Joining"),
                            ("panel", "Agreeing on variants"),
                            ("rounds", "Questions and shares"),
                            ("results", "Delivery of results"),
                        ],
                        max_length=16,
                    ),
                ),
                ("received", models.PositiveBigIntegerField(default=0)),
                ("sent", models.PositiveBigIntegerField(default=0)),
                ("requests", models.PositiveBigIntegerField(default=0)),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="traffic",
                        to="unpooled_server.study",
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="study",
            index=models.Index(fields=["state"], name="unpooled_se_state_cf5432_idx"),
        ),
        migrations.AddConstraint(
            model_name="share",
            constraint=models.UniqueConstraint(
                fields=("study", "round", "cohort"), name="one_share_of_a_cohort"
            ),
        ),
        migrations.AddIndex(
            model_name="round",
            index=models.Index(fields=["study", "state"], name="unpooled_se_study_i_835081_idx"),
        ),
        migrations.AddConstraint(
            model_name="resultfile",
            constraint=models.UniqueConstraint(fields=("study", "name"), name="one_result_of_a_name"),
        ),
        migrations.AddConstraint(
            model_name="cohort",
            constraint=models.UniqueConstraint(fields=("study", "name"), name="one_cohort_of_a_name"),
        ),
        migrations.AddConstraint(
            model_name="traffic",
            constraint=models.UniqueConstraint(
                fields=("study", "party", "phase"), name="one_count_of_traffic"
            ),
        ),
    ]
