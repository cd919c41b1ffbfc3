"""The version of a release: ``version.py`` tells it when all places agree, ``version.py 0.2.0`` writes it to them.

``pyproject.toml`` has it. Everything else repeats it, because Cargo, Helm, a shell script and the pages cannot read it
there, and the program would have to look for its own package at each start. Standard library only.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from logged import ROOT

_VERSION = r"[0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z.]+)?"


class VersionError(Exception):
    """Places disagree, or a version is none; the message says which."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the version is written; ``before`` and ``after`` are regular expressions around it."""

    file: str
    before: str
    after: str = r"$"

    @property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(rf"(?m)(?P<before>{self.before})(?P<version>{_VERSION})(?P<after>{self.after})")

    def found(self, root: Path) -> set[str]:
        """Return the versions that are there; raises `VersionError` when there is none."""
        versions = {found["version"] for found in self.pattern.finditer((root / self.file).read_text())}
        if not versions:
            raise VersionError(f"{self.file}: nothing matches {self.pattern.pattern}")
        return versions

    def write(self, root: Path, version: str) -> None:
        file = root / self.file
        file.write_text(self.pattern.sub(rf"\g<before>{version}\g<after>", file.read_text()))


SOURCE = Place("pyproject.toml", '^version = "', '"$')
COPIES = (
    Place("pyproject.toml", '"logpersister-native==', '"'),
    Place("spark-app/logpersister/__init__.py", '^__version__ = "', '"$'),
    Place("spark-app/native/pyproject.toml", '^version = "', '"$'),
    Place("spark-app/native/Cargo.toml", r'\[package\]\nname = "logpersister-native"\nversion = "', '"$'),
    Place("charts/logpersister/Chart.yaml", "^(?:version|appVersion): "),
    Place("kubectl/kubectl-logpersister", "^VERSION="),
    Place("docs/install.md", r"logpersister(?:-operator)?:", r"\b"),
    Place("docs/first-hour.md", r"logpersister(?:_native)?-", r"-(?:py3|cp311|\*)"),
)


def version(root: Path = ROOT) -> str:
    """Return the version that all places have; raises `VersionError` naming those that have another one."""
    (source,) = SOURCE.found(root)
    found = {place.file: place.found(root) for place in COPIES if place.found(root) != {source}}
    others = [f"{file} has {', '.join(sorted(versions))}" for file, versions in found.items()]
    if others:
        raise VersionError(f"pyproject.toml has {source}, but {'; '.join(others)}; run scripts/version.py {source}")
    return source


def set_version(new: str, root: Path = ROOT) -> None:
    """Write a version to all places."""
    if re.fullmatch(_VERSION, new) is None:
        raise VersionError(f"{new!r} is not a version; write for example 0.2.0 or 0.2.0-rc.1")
    for place in (SOURCE, *COPIES):
        place.write(root, new)


def main() -> int:
    """Set or tell the version; return 1 with a message when that cannot be done."""
    try:
        for new in sys.argv[1:]:
            set_version(new)
        print(version())
    except VersionError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
