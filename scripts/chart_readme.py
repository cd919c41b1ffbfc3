"""The chart's README, made from its values and their comments: ``scripts/chart_readme.py charts/logpersister``.

A comment explains the key below it, or the neighbours below it together. Standard library only.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_KEY = re.compile(r"( *)([-\w]+):(?: (.+))?$")
_BEGIN, _END = "<!-- values -->\n", "<!-- end -->\n"


def rows(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield path, default and explanation of each value, and of each block that has an explanation of its own."""
    place: list[tuple[int, str]] = []
    said: list[str] = []
    for line in text.splitlines():
        if line.lstrip().startswith("#"):
            said.append(line.strip().removeprefix("#").strip())
            continue
        if key := _KEY.match(line):
            depth, name, default = len(key[1]), key[2], key[3] or ""
            place = [*((at, one) for at, one in place if at < depth), (depth, name)]
            if said or default:
                yield ".".join(one for _, one in place), default, " ".join(said)
        said = []


def table(text: str) -> str:
    """Return the values as a table of Markdown."""
    lines = ["| value | default | |", "| --- | --- | --- |"]
    for path, default, said in rows(text):
        lines.append(f"| `{path}` | {f'`{default}`' if default else ''} | {said.replace('|', chr(92) + '|')} |")
    return "\n".join(lines) + "\n"


def readme(chart: Path) -> str:
    """Return the README of a chart with the table of its values anew."""
    head, begin, rest = (chart / "README.md").read_text().partition(_BEGIN)
    return f"{head}{begin}{table((chart / 'values.yaml').read_text())}{_END}{rest.partition(_END)[2]}"


if __name__ == "__main__":
    (Path(sys.argv[1]) / "README.md").write_text(readme(Path(sys.argv[1])))
