"""Fixtures of all tests."""

import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
import structlog

# How long an example takes says what else the machine does.
hypothesis.settings.register_profile("untimed", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("untimed")

_WORKER_COVERAGE = Path(__file__).parent / "worker_coverage"


def pytest_configure() -> None:
    """Spark's Python workers run in this environment; while coverage is measured they save theirs too."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    if "COVERAGE_PROCESS_CONFIG" in os.environ:
        paths = [str(_WORKER_COVERAGE), *filter(None, [os.environ.get("PYTHONPATH")])]
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)


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
