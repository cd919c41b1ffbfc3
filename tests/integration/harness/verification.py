"""`logpersister verify`, as the second opinion on a scene."""

import io
import json
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, Protocol

from logpersister.cli import main
from logpersister.cli.exits import Exit


class Verify(Protocol):
    """Runs the command in this process and returns its document, once it has ended with the expected code."""

    def __call__(self, manifest: Path, *options: str, code: Exit = Exit.OK) -> Any: ...


def run_verify(manifest: Path, *options: str, code: Exit = Exit.OK) -> Any:
    """Run it in this process, as `Verify` says."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        ended = main(["verify", "-f", str(manifest), "--json", *options])
    assert ended == code, out.getvalue() + err.getvalue()
    return json.loads(out.getvalue())


def kinds(document: Any, topic: str | None = None) -> dict[tuple[str, int], int]:
    """Return how many findings (of ``topic``) there are of each kind in each partition."""
    found = (one for one in document["findings"] if topic in (None, one["topic"]))
    return dict(Counter((one["kind"], one["partition"]) for one in found))
