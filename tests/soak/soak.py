"""Runs the parts one after the other, each to its end or to its first failure, and sums up."""

import random
import shlex
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from tests.soak.parts import Command, Part


class Verdict(IntEnum):
    """How it ended; the number is the exit code."""

    HELD = 0
    BROKEN = 1
    TROUBLE = 2
    """Something could not do its work: nothing is proven."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came out of one part."""

    part: str
    verdict: Verdict
    seconds: float
    commands: int
    failed: Command | None
    log: Path

    def line(self) -> str:
        told = f"{self.part:<10} {self.verdict.name.lower():<8} {self.seconds:6.0f} s, {self.commands} commands"
        if self.failed is None:
            return told
        return f"{told}\n           again: {shlex.join(self.failed)}\n           log:   {self.log}"


def soak(
    parts: Sequence[Part], seed: int, seconds: float, directory: Path, say: Callable[[str], None]
) -> tuple[Verdict, list[Outcome]]:
    """Run all parts, with logs in ``directory``; return the worst verdict and what each came to."""
    outcomes = []
    for part in parts:
        say(f"==> {part.name}")
        outcome = _run(part, random.Random(f"{part.name} {seed}"), part.share * seconds, directory / f"{part.name}.log")
        say(outcome.line())
        outcomes.append(outcome)
    verdicts = {outcome.verdict for outcome in outcomes}
    worst = next((one for one in (Verdict.BROKEN, Verdict.TROUBLE) if one in verdicts), Verdict.HELD)
    return worst, outcomes


def _run(part: Part, chance: random.Random, seconds: float, log: Path) -> Outcome:
    began, count = time.monotonic(), 0
    for command in part.commands(chance, seconds):
        if count and 0 < seconds < time.monotonic() - began:
            break
        count += 1
        code = _call(command, log)
        if code != 0:
            verdict = Verdict.BROKEN if code == 1 else Verdict.TROUBLE
            return Outcome(part.name, verdict, time.monotonic() - began, count, command, log)
    return Outcome(part.name, Verdict.HELD, time.monotonic() - began, count, None, log)


def _call(command: Command, log: Path) -> int:
    with log.open("a") as output:
        output.write(f"$ {shlex.join(command)}\n")
        output.flush()
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT) as process:
            try:
                return process.wait()
            except BaseException:
                process.terminate()  # it stops what it has started
                raise
