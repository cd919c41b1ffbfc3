"""Fixtures of all tests."""

import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from xdist.scheduler import LoadFileScheduling

from tests.examples import register_profiles
from tests.stack.room import NoRoomError, require_room
from tests.stack.scratch import keep_logs_only, of_spark

register_profiles()

_MODEL = Path(__file__).parent / "model"
_INTEGRATION = Path(__file__).parent / "integration"
_TOGETHER = tuple(
    f"tests/integration/{folder}/" for folder in ("brokers", "files", "hive", "kubernetes/installed", "reader")
)
"""Folders with servers of their own, which are started once where one worker plays all of a folder."""
_WORKER_COVERAGE = Path(__file__).parent / "worker_coverage"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--kafka",
        choices=("current", "oldest"),
        default="current",
        help="release of the brokers of tests/integration/brokers; oldest is what `make soak` fetches",
    )

    parser.addoption("--browser", action="store_true", help="also tests/browser, which needs Chromium")
    parser.addoption("--soak", action="store_true", help="only what is marked as soak, which is left out otherwise")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    chosen: list[pytest.Item] = []
    others: list[pytest.Item] = []
    for item in items:
        wanted = (item.get_closest_marker("soak") is not None) == config.getoption("soak")
        (chosen if wanted else others).append(item)
    config.hook.pytest_deselected(items=others)
    for item in chosen:
        if _searches(item):
            item.add_marker("no_cover")  # tracing lines doubles their time, and fast tests go through the same lines
    # The model computes for long and waits for nothing: it fills the time in which tests of real parts wait.
    items[:] = sorted(chosen, key=lambda item: _MODEL not in item.path.parents)


def _searches(item: pytest.Item) -> bool:
    slow = item.get_closest_marker("slow") is not None and _INTEGRATION not in item.path.parents
    return slow or _MODEL in item.path.parents


def pytest_sessionstart(session: pytest.Session) -> None:
    """Refuse to begin where tests of real parts would fail one after the other, since the disk is full."""
    config = session.config
    if hasattr(config, "workerinput") or not any(_has_real_parts(Path(one.partition("::")[0])) for one in config.args):
        return
    temporary = config.option.basetemp or os.environ.get("PYTEST_DEBUG_TEMPROOT") or tempfile.gettempdir()
    try:
        require_room(Path(temporary))
    except NoRoomError as error:
        pytest.exit(str(error), returncode=pytest.ExitCode.USAGE_ERROR)


def _has_real_parts(argument: Path) -> bool:
    path = argument.absolute()
    return path.is_relative_to(_INTEGRATION) or _INTEGRATION.is_relative_to(path)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Give a worker the tests of a whole file, or of a folder with servers of its own."""
    if config.getvalue("dist") != "loadfile":
        return None
    scheduler = LoadFileScheduling(config, log)
    scheduler._split_scope = _played_together
    return scheduler


def _played_together(test: str) -> str:
    return next((folder for folder in _TOGETHER if test.startswith(folder)), test.partition("::")[0])


def pytest_configure() -> None:
    """Spark's Python workers run in this environment; while coverage is measured they save theirs too."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    if "COVERAGE_PROCESS_CONFIG" in os.environ:
        paths = [str(_WORKER_COVERAGE), *filter(None, [os.environ.get("PYTHONPATH")])]
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)


@pytest.fixture(scope="session", autouse=True)
def _scratch_of_the_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Spark's files are below the session's directory, and what its servers have kept goes when they have ended.

    Their logs stay, beside the directories of tests that failed: pytest deletes all of it when no test did.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name, value in of_spark(tmp_path_factory.mktemp("spark-of-session")).items():
            patch.setenv(name, value)
        yield
    for place in tmp_path_factory.getbasetemp().iterdir():
        if place.is_dir() and not place.is_symlink() and not place.name.startswith("test_"):
            keep_logs_only(place)


@pytest.fixture
def secrets_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty ``$LOGPERSISTER_SECRETS_DIR``: a secret is ``<name>/<key>`` in it."""
    directory = tmp_path / "secrets"
    directory.mkdir()
    monkeypatch.setenv("LOGPERSISTER_SECRETS_DIR", str(directory))
    return directory


@pytest.fixture
def logging_as_before() -> Iterator[None]:
    """Take back what the test does to the logging of the whole process."""
    root = logging.root
    handlers, level = root.handlers[:], root.level
    yield
    logging.captureWarnings(capture=False)
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()
