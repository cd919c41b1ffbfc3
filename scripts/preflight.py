"""Checks that a machine has what the parts of set-up are made with, and says in one sentence what is missing."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class MissingError(Exception):
    """Tools are missing or too old; the message names them and says how to get them."""


@dataclass(frozen=True)
class Tool:
    """A program of the machine, and the version from which on it will do."""

    name: str
    command: tuple[str, ...]
    """Prints the version; its first number with a dot (or none) is taken."""
    oldest: tuple[int, ...]
    debian: str
    """Packages of Debian and Ubuntu, or how else to get it."""


JAVA, MAVEN, GO, RUST, C_COMPILER = TOOLS = (
    Tool("Java", ("java", "-version"), (17,), "openjdk-17-jdk-headless"),
    Tool("Maven", ("mvn",), (), "maven"),
    Tool("Go", ("go", "version"), (1, 24), "golang-go (from backports if need be)"),
    Tool("Rust", ("cargo", "--version"), (1, 88), "rustup with its stable toolchain"),
    Tool("a C compiler", ("cc",), (), "gcc"),
)
PROMTOOL = Tool("promtool", ("promtool",), (), "prometheus")
"""Of the machine only where there is no apt, which brings it."""

_OLDEST_PYTHON = (3, 11)


def check(tools: Iterable[Tool]) -> None:
    """Raise `MissingError` unless Python and these tools are there; each is asked once."""
    problems = [problem for problem in (_python(), *map(_problem, dict.fromkeys(tools))) if problem]
    if problems:
        raise MissingError(
            f"Missing: {'; '.join(what for what, _ in problems)}. "
            f"On Debian or Ubuntu install {', '.join(dict.fromkeys(how for _, how in problems))}, then run make again."
        )


def _python() -> tuple[str, str] | None:
    if sys.version_info < _OLDEST_PYTHON:
        found = ".".join(map(str, sys.version_info[:2]))
        return f"Python 3.11 or newer (found {found}; `make PYTHON=python3.12` takes another one)", "python3.11"
    try:
        import ensurepip  # noqa: F401, PLC0415 -- Debian packages it apart
        import venv  # noqa: F401, PLC0415
    except ImportError:
        return "Python's venv module", "python3-venv"
    return None


def _problem(tool: Tool) -> tuple[str, str] | None:
    wanted = ".".join(map(str, tool.oldest))
    name = f"{tool.name} {wanted} or newer" if wanted else tool.name
    if shutil.which(tool.command[0]) is None:
        return f"{name} (no {tool.command[0]} on the PATH)", tool.debian
    if not tool.oldest:
        return None
    done = subprocess.run(tool.command, capture_output=True, text=True, check=False)
    number = re.search(r"\d+(\.\d+)*", done.stdout + done.stderr)
    if done.returncode != 0 or number is None:
        return f"{name} (`{' '.join(tool.command)}` does not work)", tool.debian
    found = tuple(map(int, number.group().split(".")))
    return None if found >= tool.oldest else (f"{name} (found {number.group()})", tool.debian)


if __name__ == "__main__":
    try:
        check(TOOLS)
    except MissingError as error:
        sys.exit(str(error))
