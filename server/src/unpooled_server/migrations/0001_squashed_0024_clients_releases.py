"""All tables at once, for a new database; the steps to them stay for databases of the release before.

Delete the steps, and `replaces`, once no database that they are for is upgraded from.
"""

# ruff: noqa: RUF012  # generated

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import unpooled_server.models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("unpooled_server", "0001_initial"),
        ("unpooled_server", "0002_demo"),
        ("unpooled_server", "0003_round_turn"),
        ("unpooled_server", "0004_traffic_content"),
        ("unpooled_server", "0005_branches"),
        ("unpooled_server", "0006_protocol_version_2"),
        ("unpooled_server", "0007_lists_compared"),
        ("unpooled_server", "0008_refused_field"),
        ("unpooled_server", "0009_stages"),
        ("unpooled_server", "0010_repetitions"),
        ("unpooled_server", "0011_longer_names_of_results"),
        ("unpooled_server", "0012_compared_rounds"),
        ("unpooled_server", "0013_code_key"),
        ("unpooled_server", "0014_protocol_version_3"),
        ("unpooled_server", "0015_no_code_key"),
        ("unpooled_server", "0016_protocol_version_4"),
        ("unpooled_server", "0017_protocol_version_5"),
        ("unpooled_server", "0018_places"),
        ("unpooled_server", "0019_protocol_version_6"),
        ("unpooled_server", "0020_code_keys"),
        ("unpooled_server", "0021_states_in_files"),
        ("unpooled_server", "0022_keys_of_pairs"),
        ("unpooled_server", "0023_encrypted"),
        ("unpooled_server", "0024_clients_releases"),
    ]

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
                ("turn", models.PositiveIntegerField(default=0)),
                ("salt", models.BinaryField()),
                ("question", models.BinaryField()),
                ("scheme", models.CharField(max_length=60)),
                ("words", models.PositiveBigIntegerField()),
                ("circuit", models.CharField(blank=True, default="", max_length=40)),
                ("shuffle", models.BinaryField(blank=True, default=b"")),
                ("turn_seconds", models.JSONField(blank=True, default=list)),
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
                ("told", models.BinaryField(blank=True, default=b"")),
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
            name="Branch",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("place", models.PositiveIntegerField(default=0)),
                ("procedure", models.CharField(max_length=80)),
                ("release", models.CharField(max_length=40)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("asking", "Waits for the sums of a round"),
                            ("waiting", "Waits for branches of its own"),
                            ("due", "What it waited for is there"),
                            ("ended", "Ended"),
                            ("taken", "Ended, and its value was taken"),
                        ],
                        default="asking",
                        max_length=16,
                    ),
                ),
                ("waits_for", models.BinaryField(blank=True, default=b"")),
                ("path", models.CharField(max_length=200, null=True)),
                ("last_files", models.JSONField(blank=True, default=list)),
                ("asked", models.PositiveIntegerField(default=0)),
                ("begun", models.PositiveIntegerField(default=0)),
                (
                    "parent",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="children",
                        to="unpooled_server.branch",
                    ),
                ),
            ],
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
                ("doing", models.CharField(blank=True, default="", max_length=12)),
                ("doing_at", models.DateTimeField(null=True)),
                ("compared_by", models.CharField(blank=True, default="", max_length=150)),
                ("compared_at", models.DateTimeField(null=True)),
                ("instance", models.CharField(blank=True, max_length=32)),
                ("release", models.CharField(blank=True, default="", max_length=40)),
                ("public_key", models.CharField(blank=True, max_length=128)),
                ("sealing_key", models.BinaryField(blank=True, default=b"")),
                ("box_sealed", models.BinaryField(blank=True, default=b"")),
                ("box_signature", models.BinaryField(blank=True, default=b"")),
                ("witness", models.BinaryField(blank=True, default=b"")),
                ("list_digest", models.CharField(blank=True, max_length=64)),
                ("list_wanted", models.BooleanField(default=False)),
                ("list_stored", models.BooleanField(default=False)),
                ("overlap", models.JSONField(null=True)),
                ("list_apart", models.BooleanField(default=False)),
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
                ("file", models.CharField(blank=True, default="", max_length=100)),
            ],
        ),
        migrations.AddField(
            model_name="round",
            name="branch",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="rounds",
                to="unpooled_server.branch",
            ),
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
                ("refused_field", models.CharField(blank=True, default="", max_length=80)),
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
                            ("release", "Another release began it"),
                        ],
                        default="",
                        max_length=16,
                    ),
                ),
                ("archived", models.BooleanField(default=False)),
                ("auto_start", models.BooleanField(default=True)),
                ("one_operator", models.BooleanField(default=False)),
                ("is_demo", models.BooleanField(default=False)),
                ("version", models.PositiveIntegerField(default=1)),
                ("plan_json", models.JSONField(default=dict)),
                ("list_ready", models.BooleanField(default=False)),
                ("lists_changed", models.BooleanField(default=False)),
                ("lists_said", models.JSONField(blank=True, default=list)),
                ("lists_share", models.PositiveIntegerField(default=0)),
                ("lists_accepted", models.BooleanField(default=False)),
                ("panel_digest", models.CharField(blank=True, max_length=64)),
                ("panel_size", models.PositiveIntegerField(null=True)),
                ("begun", models.BooleanField(default=False)),
                ("results_folder", models.CharField(blank=True, max_length=40)),
                ("summary", models.JSONField(null=True)),
                ("columns", models.JSONField(blank=True, default=list)),
                ("boxes_sent", models.BooleanField(default=False)),
                ("enrolled", models.BooleanField(default=False)),
                ("code_key", models.BinaryField(blank=True, default=b"")),
                ("code_keys", models.BinaryField(blank=True, default=b"")),
                ("enrolled_at", models.DateTimeField(null=True)),
                ("forgotten", models.BooleanField(default=False)),
                ("foreseen", models.JSONField(blank=True, default=dict)),
                ("compared_by", models.CharField(blank=True, default="", max_length=150)),
                ("compared_at", models.DateTimeField(null=True)),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("changed_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("opened_at", models.DateTimeField(null=True)),
                ("ready_at", models.DateTimeField(null=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("panel_at", models.DateTimeField(null=True)),
                ("last_sum_at", models.DateTimeField(null=True)),
                ("paused_at", models.DateTimeField(null=True)),
                ("paused_seconds", models.FloatField(default=0.0)),
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
                (
                    "repeats",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="repetition",
                        to="unpooled_server.study",
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
                ("keeps", models.BooleanField(default=False)),
                ("is_whole", models.BooleanField(default=True)),
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
                ("name", models.CharField(max_length=40)),
                ("table", models.CharField(max_length=80)),
                ("columns", models.JSONField()),
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
                ("name", models.CharField(max_length=255)),
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
        migrations.AddField(
            model_name="branch",
            name="study",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="branches",
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
                ("messages", models.PositiveBigIntegerField(default=0)),
                ("content", models.PositiveBigIntegerField(default=0)),
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
        migrations.CreateModel(
            name="Coded",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("column", models.PositiveIntegerField()),
                ("points", models.BinaryField()),
                (
                    "cohort",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="coded",
                        to="unpooled_server.cohort",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("cohort", "column"), name="one_batch_of_points_of_a_column"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Kept",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("asked", models.BinaryField(blank=True, default=b"")),
                ("data", models.BinaryField()),
                ("file", models.CharField(blank=True, default="", max_length=100)),
                (
                    "branch",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="kept",
                        to="unpooled_server.branch",
                    ),
                ),
            ],
            options={
                "ordering": ["number"],
                "constraints": [
                    models.UniqueConstraint(fields=("branch", "number"), name="one_of_a_number_is_kept")
                ],
            },
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
        migrations.AddIndex(
            model_name="branch",
            index=models.Index(fields=["study", "state"], name="unpooled_se_study_i_7342ea_idx"),
        ),
        migrations.AddConstraint(
            model_name="traffic",
            constraint=models.UniqueConstraint(
                fields=("study", "party", "phase"), name="one_count_of_traffic"
            ),
        ),
    ]
