"""What came out of a run, for people and for programs."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any


class Verdict(IntEnum):
    """How it ended; the number is the exit code."""

    HELD = 0
    BROKEN = 1
    TROUBLE = 2
    """The harness itself failed, or the run has not met what it is for: nothing is proven."""


@dataclass
class Report:
    """Everything that is worth knowing afterwards."""

    seed: int
    verdict: Verdict = Verdict.TROUBLE
    problems: list[str] = field(default_factory=list)
    """In which ways the promise is broken, or what the trouble was."""
    remarks: list[str] = field(default_factory=list)
    """What is no broken promise, and still worth a look."""
    seconds: float = 0.0
    settle_seconds: float | None = None
    choices: str = ""
    """What was chosen (`choices`)."""
    kills: int = 0
    disturbances: Mapping[str, int] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)
    faults_met: Mapping[str, int] = field(default_factory=dict)
    happened: Mapping[str, int] = field(default_factory=dict)
    """What the run is for, counted (`goals`)."""
    produced: Mapping[str, int] = field(default_factory=dict)
    outputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By group: objects, records, verify, largest lag, longest standstill."""
    evidence: str | None = None
    """Where logs, chronicle and data are kept."""

    def document(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "choices": self.choices,
            "verdict": self.verdict.name.lower(),
            "problems": self.problems,
            "remarks": self.remarks,
            "seconds": round(self.seconds, 1),
            "settleSeconds": round(self.settle_seconds, 1) if self.settle_seconds is not None else None,
            "kills": self.kills,
            "disturbances": dict(self.disturbances),
            "skipped": dict(self.skipped),
            "faultsMet": dict(self.faults_met),
            "happened": dict(self.happened),
            "produced": dict(self.produced),
            "outputs": self.outputs,
            "evidence": self.evidence,
        }

    def text(self) -> str:
        return "".join(f"{_wrapped(line)}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"seed            {self.seed}" + (f": {self.choices}" if self.choices else "")
        yield f"time            {self.seconds:.0f} s, of which {self.settle_seconds or 0:.0f} s to come to rest"
        yield f"kills           {self.kills}"
        yield f"disturbances    {sum(self.disturbances.values())}: {_counted(self.disturbances)}"
        if self.skipped:
            yield f"not possible    {_counted(self.skipped)}"
        yield f"faults met      {_counted(self.faults_met) or 'none'}"
        if self.happened:
            yield f"what happened   {_counted(self.happened)}"
        yield f"produced        {_counted(self.produced)}"
        for group, numbers in self.outputs.items():
            yield f"group {group:<9} " + ", ".join(f"{name} {_shown(value)}" for name, value in numbers.items())
        yield from _listed("remark", self.remarks)
        yield from _listed("PROBLEM" if self.verdict is Verdict.BROKEN else "TROUBLE", self.problems)
        if self.evidence is not None:
            yield f"evidence        {self.evidence}"
        yield f"verdict         {_VERDICTS[self.verdict]}"


_VERDICTS = {
    Verdict.HELD: "the promise was held: every record is in exactly one object",
    Verdict.BROKEN: "THE PROMISE IS BROKEN",
    Verdict.TROUBLE: "nothing is proven: the harness had trouble, or the run has not met what it is for",
}
_MOST = 20


def _wrapped(line: str) -> str:
    return textwrap.fill(line, 120, subsequent_indent=" " * 16, break_on_hyphens=False, break_long_words=False)


def _counted(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number:,}" for name, number in numbers.items())


def _shown(value: object) -> str:
    return f"{value:,}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _listed(what: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines[:_MOST]:
        yield f"{what:<15} {line}"
    if len(lines) > _MOST:
        yield f"{what:<15} and {len(lines) - _MOST} more"
