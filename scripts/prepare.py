"""Prepares what the project is developed with; `make` calls it: ``scripts/prepare.py [PART ...]``.

Each part has a fingerprint of everything that it is made from, kept in a stamp beside the result: a part is made again
only when its fingerprint changes, so a second run does nothing. The stamp is written last and results are made aside
and then renamed, so an interrupted run is taken up again. A lock per part lets several runs go on at once.

Standard library only: this makes the environment that holds everything else.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import logged
import preflight
from go_builds import GO_BUILDS, GoBuild
from logged import CACHE, ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
UV = CACHE / "uv" / "uv"
NATIVE = ROOT / "spark-app" / "native"

MAVEN = ("mvn", "--batch-mode", "--strict-checksums", "--no-transfer-progress")


@dataclass(frozen=True)
class Part:
    """One thing to prepare."""

    name: str
    title: str
    stamp: Path
    make: Callable[[], None]
    files: Sequence[Path] = ()
    """Files and folders whose content counts."""
    facts: Sequence[str] = field(default=())
    """Versions and places that count."""
    group: str = "setup"
    """Who needs it; ``setup`` is what is made when nothing is named."""

    def fingerprint(self) -> str:
        """Hash of everything that the part is made from."""
        digest = hashlib.sha256()
        for fact in self.facts:
            digest.update(fact.encode() + b"\0")
        for file in sorted(file for path in self.files for file in _files(path)):
            digest.update(f"{file.relative_to(ROOT)}\0".encode() + file.read_bytes() + b"\0")
        return digest.hexdigest()

    def ready(self) -> bool:
        """Whether the result is there and made from what is there now."""
        return self.stamp.exists() and self.stamp.read_text() == self.fingerprint()


def parts() -> dict[str, Part]:
    """Every part by name, in the order in which they are made."""
    kafka, spark_kafka = CACHE / "kafka", CACHE / "spark-kafka"
    stack = ROOT / "tests" / "stack"
    found = [
        Part("uv", "uv, the package installer", UV.with_name(".stamp"), _uv, [ROOT / "requirements-uv.lock"]),
        Part(
            "python",
            "Python environment in .venv, some 40 packages",
            VENV / ".stamp",
            _python,
            [ROOT / "requirements.lock", ROOT / "pyproject.toml"],
            [str(ROOT), sys.version],
        ),
        Part(
            "native",
            "native decoder, a Rust build of about a minute",
            VENV / ".stamp-native",
            _native,
            [NATIVE / "Cargo.toml", NATIVE / "pyproject.toml", NATIVE / "src", NATIVE / "python"],
            [str(ROOT), sys.version],
        ),
        Part("kafka", "Kafka, 45 MB of jars", kafka / ".stamp", _kafka, [stack / "pom.xml"]),
        Part(
            "spark-kafka",
            "Spark's own Kafka source, for comparison in tests",
            spark_kafka / ".stamp",
            _spark_kafka,
            [stack / "spark-kafka.pom.xml"],
        ),
        *(_go_part(build) for build in GO_BUILDS),
    ]
    return {part.name: part for part in found}


def _uv() -> None:
    with _aside(UV.parent) as new:
        _run("uv", [sys.executable, "-m", "venv", str(new / "venv")])
        install = [str(new / "venv" / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check"]
        _run("uv", [*install, "--require-hashes", "--requirement", str(ROOT / "requirements-uv.lock")])
        (new / "venv" / "bin" / "uv").replace(new / "uv")  # stands alone: the environment around it can go
        shutil.rmtree(new / "venv")


def _python() -> None:
    if not _healthy():
        _run("python", [str(UV), "venv", "--clear", "--no-project", "--python", sys.executable, str(VENV)])
    (VENV / ".stamp-native").unlink(missing_ok=True)  # the next step removes what is not in the lock
    lock = str(ROOT / "requirements.lock")
    _run("python", [str(UV), "pip", "sync", "--python", str(PYTHON), "--require-hashes", "--compile-bytecode", lock])
    _install("python", "--editable", str(ROOT))


def _healthy() -> bool:
    """Whether .venv is an environment of this Python, made at this place."""
    probe = "import sys; print(sys.version); print(sys.prefix)"
    with contextlib.suppress(OSError):
        done = subprocess.run([str(PYTHON), "-c", probe], capture_output=True, text=True, check=False)
        script = VENV / "bin" / "activate"
        return done.stdout == f"{sys.version}\n{VENV}\n" and str(VENV) in script.read_text()
    return False


def _native() -> None:
    _install("native", "--reinstall", str(NATIVE))


def _install(name: str, *what: str) -> None:
    """Install something of ours, built with the tools of the lock."""
    _run(name, [str(UV), "pip", "install", "--python", str(PYTHON), "--no-deps", "--no-build-isolation", *what])


def _kafka() -> None:
    with _aside(CACHE / "kafka") as new:
        pom = str(ROOT / "tests" / "stack" / "pom.xml")
        goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={new}"]
        _run("kafka", [*MAVEN, "--file", pom, *goal])


def _spark_kafka() -> None:
    with _aside(CACHE / "spark-kafka") as new:
        pom = str(ROOT / "tests" / "stack" / "spark-kafka.pom.xml")
        _run("spark-kafka", [*MAVEN, "--file", pom, "dependency:copy", f"-DoutputDirectory={new}"])


def _go_part(build: GoBuild) -> Part:
    def make() -> None:
        with _aside(CACHE / build.name) as new:
            # Nice: it takes all cores for minutes, and the machine may be somebody's desk.
            command = ["nice", *build.command(new)]
            _run(build.name, command, build.environment(new), build.module or ROOT)

    return Part(build.name, build.title, CACHE / build.name / ".stamp", make, build.files, build.facts, build.group)


@contextlib.contextmanager
def _aside(place: Path) -> Iterator[Path]:
    """Yield an empty folder that takes the place of ``place`` when the block ends well."""
    new = place.with_name(place.name + ".new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    yield new
    shutil.rmtree(place, ignore_errors=True)
    new.rename(place)


def _run(name: str, command: Sequence[str], environment: Mapping[str, str] | None = None, folder: Path = ROOT) -> None:
    """Run a command with its output in the part's log, showing that it goes on."""
    # --no-build-isolation takes build tools from the environment, and maturin calls itself by name.
    path = f"{VENV / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
    logged.run(name, command, {"PATH": path, "UV_PYTHON_DOWNLOADS": "never", **(environment or {})}, folder)


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        found = (file for file in path.rglob("*") if file.is_file())
        yield from (file for file in found if "__pycache__" not in file.parts and file.suffix != ".so")
    elif path.exists():
        yield path


@contextlib.contextmanager
def _locked(part: Part) -> Iterator[None]:
    with (CACHE / "lock" / part.name).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"... another run is at: {part.title}; waiting for it", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def prepare(part: Part) -> None:
    """Make ``part`` if it is not ready."""
    if part.ready():
        return
    (CACHE / "lock").mkdir(parents=True, exist_ok=True)
    with _locked(part):
        if part.ready():
            return
        fingerprint = part.fingerprint()  # before the work: what changes meanwhile is made again next time
        print(f"==> {part.title}", flush=True)
        began = time.monotonic()
        logged.begin(part.name)
        part.stamp.unlink(missing_ok=True)
        part.make()
        new = part.stamp.with_name(part.stamp.name + ".new")
        new.write_text(fingerprint)
        new.replace(part.stamp)
        print(f"    done in {time.monotonic() - began:.0f} s", flush=True)


def main() -> int:
    """Prepare the named parts, or all; return 1 with a message when that cannot be done."""
    known = parts()
    parser = argparse.ArgumentParser(description="Prepare what the project is developed with.")
    groups = sorted({part.group for part in known.values()})
    choice = f"of {', '.join(known)}, or a group of them: {', '.join(groups)}; setup when none is named"
    parser.add_argument("parts", nargs="*", metavar="PART", help=choice)
    names = set(parser.parse_args().parts) or {"setup"}
    if unknown := names - set(known) - set(groups):
        parser.error(f"unknown part {', '.join(sorted(unknown))}; there are {', '.join([*known, *groups])}")
    chosen = [part for name, part in known.items() if name in names or part.group in names]
    try:
        if not all(part.ready() for part in chosen):
            preflight.check()
        for part in chosen:
            prepare(part)
    except (logged.FailedError, preflight.MissingError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ninterrupted; the next run goes on from here", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
