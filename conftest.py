"""`pytest --services`: the tests that are marked `services`, on private PostgreSQL, Redis and Celery."""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib.util
import os
import signal
import sys
from pathlib import Path
from typing import Any

import absl.logging
import pytest
from hypothesis import HealthCheck, settings

OPTION = "--services"
FROZEN = "--frozen"
WIRE, EVERY_TRUST = "--wire", "--every-trust"

# What a shell runs in its background is deaf to Ctrl-C, and so would be the programs that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

# dp-accounting loads absl, whose handler closes its stream when logging is set up anew. That must not be what
# pytest has for sys.stderr where the handler was made.
absl.logging.get_absl_handler().python_handler.setStream(sys.__stderr__)

# What is made up is the same every time, however long it takes: nothing is left to chance, or to other work
# here. `make fuzz` makes up other inputs.
settings.register_profile(
    "unpooled",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("unpooled")

ROOT = Path(__file__).parent
WINDOW = ROOT / "tests" / "window"
CONTRACT = "tests/contract/"
# What tests of several rooms need is in `tests`.
sys.path.insert(0, str(ROOT))


def _needs_qt() -> bool:
    """Tell whether the window's tests are asked for and Qt loads; they say themselves what is missing."""
    words = [Path(word.partition("::")[0]) for word in sys.argv[1:] if not word.startswith("-")]
    given = [path.resolve() for path in words if path.exists()] or [Path.cwd()]
    if not any(WINDOW.is_relative_to(path) or path.is_relative_to(WINDOW) for path in given):
        return False
    with contextlib.suppress(ImportError):
        import PySide6.QtTest
        import PySide6.QtWidgets  # noqa: F401

        return importlib.util.find_spec("pytestqt") is not None
    return False


# A worker of a test loads machine code when a study needs it, and not that of every method at each start.
os.environ.setdefault("UNPOOLED_READY_FOR", "none")

# Encryption has an interpreter of its own, which `scripts/openfhe-python` prepares.
for _python in sorted(ROOT.glob(".cache/openfhe-*/bin/python")):
    os.environ.setdefault("UNPOOLED_OPENFHE_PYTHON", str(_python))

pytest_plugins = ["pytestqt.plugin"] if _needs_qt() else []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        OPTION,
        action="store_true",
        help="Run tests marked `services`: on private PostgreSQL and Redis, with a Celery worker, instead "
        "of SQLite and the embedded worker.",
    )
    parser.addoption(WIRE, action="store_true", help="Rehearse over HTTP what is otherwise run in process.")
    parser.addoption(EVERY_TRUST, action="store_true", help="Run every small study under each trust.")
    parser.addoption(FROZEN, metavar="FOLDER", help="Test the client that `make freeze` made there.")
    # Now, before options are parsed: conftest files further down point Django at the database that is given.
    # Processes that run tests side by side have no such word on their command line; they inherit what is set.
    if OPTION in sys.argv:
        _start_services()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "qt_no_exception_capture: pytest-qt's own, which is not always loaded")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """The tests of the frozen client are none where there is no such folder: it takes minutes to make."""
    return True if collection_path.name == "test_frozen.py" and not config.getoption(FROZEN) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption(OPTION):
        left_out = [item for item in items if not item.get_closest_marker("services")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item.get_closest_marker("services")]


def pytest_collection_finish() -> None:
    """Let no collection look again at what is loaded by now: statsmodels asks for one at each correction."""
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: some wait for the processes that they have started."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """Each file in one process, and the contract's files in one together: they look at the same runs."""
    from xdist.scheduler import LoadFileScheduling

    class Shared(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return CONTRACT if nodeid.startswith(CONTRACT) else super()._split_scope(nodeid)

    return Shared(config, log)


@pytest.fixture(scope="session")
def django_db_use_migrations(pytestconfig: pytest.Config) -> bool:
    """Only with services: elsewhere tables are made from the models, which is done in a third of the time."""
    return bool(pytestconfig.getoption(OPTION))


def _start_services() -> None:
    """Start both for the whole session, and say where they are as everybody would who has their own."""
    from tests import services

    if missing := services.missing():
        raise pytest.UsageError(
            f"{OPTION} needs {' and '.join(missing)}: apt-get install {' '.join(missing)}"
        )
    stack = contextlib.ExitStack()
    atexit.register(stack.close)
    postgres, redis = stack.enter_context(services.postgresql()), stack.enter_context(services.redis())
    os.environ["UNPOOLED_TEST_DATABASE_URL"] = postgres.create_database("unpooled")
    os.environ["UNPOOLED_TEST_BROKER_URL"] = redis.url()
