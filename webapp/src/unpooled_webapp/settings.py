"""Django's settings. Every value that an operator may set is an environment variable named UNPOOLED_…"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from unpooled_webapp import environment, log_settings, roles

HERE = Path(__file__).parent

UNPOOLED_HOME = environment.home()
UNPOOLED_STORE = environment.address("UNPOOLED_STORE", ("file:///", "s3://"))
UNPOOLED_STORE_KEY = environment.secret("UNPOOLED_STORE_KEY")
UNPOOLED_BROKER_URL = environment.secret("UNPOOLED_BROKER_URL")
UNPOOLED_COMPENSATOR_URL = environment.secret("UNPOOLED_COMPENSATOR_URL").rstrip("/")
UNPOOLED_METRICS_SECRET = environment.secret("UNPOOLED_METRICS_SECRET")
UNPOOLED_COMPENSATOR_SECRET = environment.secret("UNPOOLED_COMPENSATOR_SECRET")
UNPOOLED_ONE_OPERATOR = environment.flag("UNPOOLED_ONE_OPERATOR")
UNPOOLED_PUBLIC_URL = environment.secret("UNPOOLED_PUBLIC_URL").rstrip("/")
UNPOOLED_DEMO_ADDRESS = environment.secret("UNPOOLED_DEMO_ADDRESS").rstrip("/")
UNPOOLED_AWAY_SECONDS = environment.number("UNPOOLED_AWAY_SECONDS", 60)
UNPOOLED_MAIL_URL = environment.secret("UNPOOLED_MAIL_URL")
UNPOOLED_WEBHOOKS_INSIDE = environment.flag("UNPOOLED_WEBHOOKS_INSIDE")
UNPOOLED_WEBHOOK_PORTS = environment.ports("UNPOOLED_WEBHOOK_PORTS")
UNPOOLED_ERROR_REPORTS = environment.secret("UNPOOLED_ERROR_REPORTS")
OTEL_EXPORTER_OTLP_ENDPOINT = environment.address("OTEL_EXPORTER_OTLP_ENDPOINT", ("http://", "https://"))
UNPOOLED_OPERATORS = environment.words("UNPOOLED_OPERATORS")
UNPOOLED_WAITED_SECONDS = environment.number("UNPOOLED_WAITED_SECONDS", 600)
UNPOOLED_OIDC_ISSUER = environment.provider("UNPOOLED_OIDC_ISSUER")
UNPOOLED_OIDC_CLIENT = environment.text("UNPOOLED_OIDC_CLIENT")
UNPOOLED_OIDC_SECRET = environment.secret("UNPOOLED_OIDC_SECRET")
UNPOOLED_OIDC_SCOPES = environment.text("UNPOOLED_OIDC_SCOPES", "openid profile email")
UNPOOLED_OIDC_NAME = environment.text("UNPOOLED_OIDC_NAME", "single sign-on")
UNPOOLED_OIDC_CLAIM = environment.text("UNPOOLED_OIDC_CLAIM", "groups")
UNPOOLED_OIDC_ROLES = environment.pairs("UNPOOLED_OIDC_ROLES", roles.ROLES)
UNPOOLED_THREADS = environment.threads()
UNPOOLED_KEEP_DAYS = environment.number("UNPOOLED_KEEP_DAYS", 0)
UNPOOLED_MOST_STUDIES = environment.number("UNPOOLED_MOST_STUDIES", 0)
UNPOOLED_MOST_GIGABYTES = environment.number("UNPOOLED_MOST_GIGABYTES", 0)

SECRET_KEY = environment.secret("UNPOOLED_SECRET_KEY") or environment.kept_secret(
    UNPOOLED_HOME / "secret-key"
)
if UNPOOLED_STORE and not environment.secret("UNPOOLED_SECRET_KEY"):
    raise SystemExit(
        "UNPOOLED_STORE: also set UNPOOLED_SECRET_KEY, the same for all processes of the platform"
    )
DEBUG = False
_public = urlsplit(UNPOOLED_PUBLIC_URL)
ALLOWED_HOSTS = [
    *environment.words("UNPOOLED_ALLOWED_HOSTS"),
    *([_public.hostname] if _public.hostname else []),
    "localhost",
    "127.0.0.1",
    "[::1]",
]

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "unpooled_server",
    "unpooled_webapp",
]

MIDDLEWARE = [
    "unpooled_webapp.operating.probes.Probes",
    "unpooled_webapp.operating.logs.AccessLog",
    "unpooled_webapp.middleware.NoBodyForHead",
    "django.middleware.security.SecurityMiddleware",
    # Above what serves files, for the application's page can be had as a file too.
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "unpooled_webapp.middleware.ContentSecurityPolicy",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "unpooled_webapp.operating.logs.Traces",
    "unpooled_webapp.middleware.Compression",
    "unpooled_webapp.middleware.EntityTags",
    "unpooled_webapp.middleware.AlwaysAsked",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "unpooled_webapp.middleware.WithoutDatabase",
    "unpooled_webapp.middleware.WithoutRoom",
    "unpooled_webapp.middleware.LargeBodiesOfKnownPeople",
    "unpooled_webapp.audit.Audit",
]

ROOT_URLCONF = "unpooled_webapp.urls"
WSGI_APPLICATION = "unpooled_webapp.wsgi.application"
APPEND_SLASH = False

DATABASES = {
    "default": environment.database(environment.secret("UNPOOLED_DATABASE_URL"), UNPOOLED_HOME / "db.sqlite3")
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

globals().update(environment.mail(UNPOOLED_MAIL_URL))
DEFAULT_FROM_EMAIL = environment.mail_sender(UNPOOLED_MAIL_URL)

# Sign-in attempts are counted here; several processes must see the same count.
_IN_MEMORY = {
    "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
    "OPTIONS": {"MAX_ENTRIES": 100_000},  # with the usual 300 a count is soon forgotten
}
_IN_REDIS = {
    "BACKEND": "django.core.cache.backends.redis.RedisCache",
    "LOCATION": UNPOOLED_BROKER_URL,
    "OPTIONS": {"socket_connect_timeout": 1, "socket_timeout": 1},
}
CACHES = {
    "default": _IN_REDIS if UNPOOLED_BROKER_URL.startswith("redis") else _IN_MEMORY,
    "of this process": _IN_MEMORY,  # while Redis is away
}

PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

# Behind HTTPS cookies and addresses are for HTTPS only. A proxy in front must set X-Forwarded-Proto itself.
_HTTPS = _public.scheme == "https"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _HTTPS
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = 12 * 3600
SECURE_HSTS_SECONDS = 31_536_000 if _HTTPS else 0
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if _HTTPS else None
CSRF_TRUSTED_ORIGINS = [UNPOOLED_PUBLIC_URL] if _HTTPS else []
X_FRAME_OPTIONS = "DENY"

STATIC_URL = "/static/"
WHITENOISE_USE_FINDERS = True
WHITENOISE_IMMUTABLE_FILE_TEST = r"^/static/app/assets/"  # their names have a digest of what is in them

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False
DATA_UPLOAD_MAX_MEMORY_SIZE = 1 << 20

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["unpooled_webapp.api.authentication.Session"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["unpooled_webapp.api.parsers.Json"],
    "DEFAULT_SCHEMA_CLASS": "unpooled_webapp.api.description.Operation",
    "UNICODE_JSON": False,  # half a character, which a request may hold, is no UTF-8
    "EXCEPTION_HANDLER": "unpooled_webapp.api.problems.answer",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Unpooled",
    "DESCRIPTION": "The coordinator's API. Cohorts use another one; see the protocol in the docs.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.IsAuthenticated"],
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_NAME_OVERRIDES": {
        "StudyState": "unpooled_server.names.StudyState",
        "PlatformCheck": "unpooled_webapp.api.platform.CHECK_NAMES",
        "CohortState": "unpooled_server.names.CohortState",
        "Stage": "unpooled_webapp.api.serializers.STAGES",
        "Phase": "unpooled_server.names.Phase",
        "PauseKind": "unpooled_server.names.PauseKind",
        "Role": "unpooled_webapp.accounts.ROLES",
        "Trait": "unpooled_webapp.api.plan_forms.TRAITS",
        "ColumnType": "unpooled.plan.schema.TYPES",
        "ColumnRole": "unpooled.plan.schema.ROLES",
        "Masking": "unpooled_webapp.api.plan_forms.MASKING",
        "OptionKind": "unpooled_webapp.api.plan_options.KINDS",
        "PanelMode": "unpooled_webapp.api.plan_forms.PANEL_MODES",
        "Place": "unpooled_webapp.api.plan_forms.PLACES",
        "NoticeEvent": "unpooled_webapp.models.Event",
        "ChannelKind": "unpooled_webapp.models.ChannelKind",
        "TokenScope": "unpooled_webapp.models.Scope",
        "DeliveryOutcome": "unpooled_webapp.models.Outcome",
    },
}

CELERY_BROKER_URL = UNPOOLED_BROKER_URL or None
CELERY_TASK_IGNORE_RESULT = True
# A ring is taken before its work is done: the sweep rings again for what a killed worker left. One that is
# not yet acknowledged when Redis goes away would end the worker, for Kombu cannot put it back.
CELERY_TASK_ACKS_LATE = False
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
# A doorbell is rung once: a request must not wait for a broker that is away, the sweep rings again.
CELERY_BROKER_TRANSPORT_OPTIONS = {"socket_connect_timeout": 2, "socket_timeout": 5, "max_retries": 0}
CELERY_BEAT_SCHEDULE = {
    "sweep": {"task": "unpooled_server.tasks.sweep", "schedule": 15.0, "options": {"expires": 14}},
    "notices": {
        "task": "unpooled_webapp.tasks.deliver_notices",
        "schedule": 15.0,
        "options": {"expires": 14},
    },
}

LOGGING = log_settings.from_environment()
