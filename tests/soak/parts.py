"""What a soak is made of: commands of their own, each with a seed that brings its choices back."""

import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tests.examples import SOAK
from tests.stack.artifacts import MissingArtifactError, postgres

Command = Sequence[str]
_HISTORIES = 500
_SEEDS = 1 << 31
_LARGE = ("tests/chart", "tests/integration", "tests/model", "tests/unit")
"""Where tests are that each run leaves out, by the marker `soak`."""


@dataclass(frozen=True, slots=True)
class Part:
    """One kind of search."""

    name: str
    share: float
    """Of the time; 0: it takes what it takes."""
    commands: Callable[[random.Random, float], Iterator[Command]]
    """Gets the source of its seeds and its seconds; what it yields is run until they are over."""


def _python(module: str, *arguments: object) -> Command:
    return [sys.executable, "-m", module, *map(str, arguments)]


def _searches(chance: random.Random, seconds: float) -> Iterator[Command]:
    options = ("-q", "--timeout=0", f"--hypothesis-profile={SOAK}", f"--hypothesis-seed={chance.randrange(_SEEDS)}")
    yield _python("pytest", "--numprocesses=logical", "--dist=worksteal", *options, "-m", "hypothesis", "tests/unit")
    yield _python("pytest", *options, "-k", "are_what_spark_reads", "tests/integration/files/test_readers.py")


def _model(chance: random.Random, seconds: float) -> Iterator[Command]:
    while True:
        yield _python("tests.model", "--first", chance.randrange(_SEEDS), "--histories", _HISTORIES)


def _fuzz(chance: random.Random, seconds: float) -> Iterator[Command]:
    yield _python("tests.soak.fuzz", "--seed", 1 + chance.randrange(_SEEDS), "--seconds", seconds)


def _large(chance: random.Random, seconds: float) -> Iterator[Command]:
    yield _python("pytest", "-q", "--soak", "--timeout=0", *_LARGE)


def _chaos(chance: random.Random, seconds: float) -> Iterator[Command]:
    yield _python("tests.chaos", "--spark", "--seed", chance.randrange(_SEEDS), "--minutes", seconds / 60)


def _oldest(chance: random.Random, seconds: float) -> Iterator[Command]:
    """The stories of three brokers, then chaos on three of the oldest release."""
    yield _python("pytest", "-q", "--kafka=oldest", "tests/integration/brokers")
    yield _python(
        "tests.chaos", "--oldest", "--seed", chance.randrange(_SEEDS), "--minutes", seconds / 60, "--kills", 5
    )


def not_possible() -> Iterator[str]:
    """Yield what this machine lacks, and so is not tried."""
    try:
        postgres()
    except MissingArtifactError as error:
        yield f"NOT TRIED: a catalog of tables in PostgreSQL. {error}"


PARTS = (
    Part("searches", 0.0, _searches),
    Part("model", 0.2, _model),
    Part("fuzz", 0.1, _fuzz),
    Part("large", 0.0, _large),
    Part("chaos", 0.5, _chaos),
    Part("oldest", 0.2, _oldest),
)
