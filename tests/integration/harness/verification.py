"""`logpersister verify`, as the second opinion on a scene."""

import io
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, Protocol

from logpersister.cli import main
from logpersister.cli.exits import Exit

Findings = Mapping[tuple[str, int], int]


class Verify(Protocol):
    """Runs the command in this process and returns its document, once it has ended with the expected code.

    ``finds``: nothing is wrong, and these are all findings (`kinds`). ``compared``: so many records of each topic.
    """

    def __call__(
        self,
        manifest: Path,
        *options: str,
        code: Exit = Exit.OK,
        finds: Findings | None = None,
        compared: Sequence[int] | None = None,
    ) -> Any: ...


def run_verify(
    manifest: Path,
    *options: str,
    code: Exit = Exit.OK,
    finds: Findings | None = None,
    compared: Sequence[int] | None = None,
) -> Any:
    """Run it in this process, as `Verify` says."""
    document = json.loads(said("verify", "-f", str(manifest), "--json", *options, code=code))
    if finds is not None:
        assert (document["ok"], kinds(document)) == (True, finds), document["findings"]
    if compared is not None:
        assert [one["compared"] for one in document["topics"]] == list(compared)
    return document


def said(*command: str, code: int = Exit.OK) -> str:
    """Run a command in this process; return what it writes, once it has ended with the expected code."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        ended = main([*command])
    assert ended == code, out.getvalue() + err.getvalue()
    return out.getvalue()


def said_json(*command: str, code: int = Exit.OK) -> Any:
    """Return the document of a command."""
    return json.loads(said(*command, "--json", code=code))


def kinds(document: Any, topic: str | None = None) -> Findings:
    """Return how many findings (of ``topic``) there are of each kind in each partition."""
    found = (one for one in document["findings"] if topic in (None, one["topic"]))
    return dict(Counter((one["kind"], one["partition"]) for one in found))
