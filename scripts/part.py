"""A part of what the project is developed with, who needs it, and which one is made next. Pure but for fingerprints."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from logged import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from preflight import Tool

GROUPS: Mapping[str, str | None] = {
    "code": None,  # style, types, layers
    "unit": "code",  # unit tests and the model
    "stack": "unit",  # `make demo` and `make stack`
    "test": "stack",  # `make test`
    "bench": "stack",
    "soak": "test",
    "cluster": "test",
    "release": "code",
}
"""Each group by name, with the group that it includes."""


@dataclass(frozen=True)
class Part:
    """One thing to prepare."""

    name: str
    title: str
    group: str
    """The smallest group that needs it."""
    stamp: Path
    make: Callable[[], None]
    files: Sequence[Path] = ()
    """Files and folders whose content counts."""
    facts: Sequence[str] = ()
    """Versions and places that count."""
    after: Sequence[str] = ()
    """Parts that must be ready before."""
    tools: Sequence[Tool] = ()
    """Programs of the machine that make it, or run it."""
    better: Part | None = None
    """A part that takes its place: this one is not made where that is wanted or ready."""

    def fingerprint(self) -> str:
        """Hash of everything that the part is made from."""
        digest = hashlib.sha256()
        for fact in self.facts:
            digest.update(fact.encode() + b"\0")
        for file in sorted(file for path in self.files for file in _files(path)):
            digest.update(f"{file.relative_to(ROOT)}\0".encode() + file.read_bytes() + b"\0")
        return digest.hexdigest()

    def ready(self) -> bool:
        """Whether the result is there and made from what is there now, or a better one is."""
        if self.better is not None and self.better.ready():
            return True
        return self.stamp.exists() and self.stamp.read_text() == self.fingerprint()


def selected(parts: Mapping[str, Part], names: Iterable[str]) -> list[Part]:
    """Return the parts that are named, those of the groups that are named, and what they need, in their order."""
    wanted: set[str] = set()
    for name in names:
        included = set(_included(name))
        wanted |= {part.name for part in parts.values() if part.group in included} or {name}
    pending = list(wanted)
    while pending:
        needed = set(parts[pending.pop()].after) - wanted
        wanted |= needed
        pending.extend(needed)
    chosen = [part for part in parts.values() if part.name in wanted]
    return [part for part in chosen if part.better is None or part.better.name not in wanted]


def next_part(waiting: Sequence[Part], running: Collection[Part]) -> Part | None:
    """Return the first part that needs none of those that are waiting or being made."""
    unfinished = {part.name for part in (*waiting, *running)}
    return next((part for part in waiting if not unfinished.intersection(part.after)), None)


def _included(group: str) -> Iterator[str]:
    """Yield the group and all that it includes; nothing for what is no group."""
    found: str | None = group
    while found is not None and found in GROUPS:
        yield found
        found = GROUPS[found]


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        found = (file for file in path.rglob("*") if file.is_file())
        yield from (file for file in found if "__pycache__" not in file.parts and file.suffix != ".so")
    elif path.exists():
        yield path
