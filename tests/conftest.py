"""Fixtures of all tests."""

from pathlib import Path

import pytest


@pytest.fixture
def secrets_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty ``$LOGPERSISTER_SECRETS_DIR``: a secret is ``<name>/<key>`` in it."""
    directory = tmp_path / "secrets"
    directory.mkdir()
    monkeypatch.setenv("LOGPERSISTER_SECRETS_DIR", str(directory))
    return directory
