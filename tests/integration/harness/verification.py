"""`logpersister verify`, as the second opinion on a scene."""

import json
from collections import Counter
from pathlib import Path
from typing import Any, Protocol

import pytest

from logpersister.cli import main
from logpersister.cli.exits import Exit


class Verify(Protocol):
    """Runs the command in this process and returns its document, once it has ended with the expected code."""

    def __call__(self, manifest: Path, *options: str, code: Exit = Exit.OK) -> Any: ...


def verify_with(capsys: pytest.CaptureFixture[str]) -> Verify:
    """Return `Verify` for a test that captures its output."""

    def run(manifest: Path, *options: str, code: Exit = Exit.OK) -> Any:
        capsys.readouterr()
        ended = main(["verify", "-f", str(manifest), "--json", *options])
        captured = capsys.readouterr()
        assert ended == code, captured.out + captured.err
        return json.loads(captured.out)

    return run


def kinds(document: Any, topic: str | None = None) -> dict[tuple[str, int], int]:
    """Return how many findings (of ``topic``) there are of each kind in each partition."""
    found = (one for one in document["findings"] if topic in (None, one["topic"]))
    return dict(Counter((one["kind"], one["partition"]) for one in found))
