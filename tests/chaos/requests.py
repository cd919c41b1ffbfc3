"""What can go wrong on the way to the bucket, to the schema registry and to the catalog."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.chaos.disturbances import Disturbance
from tests.chaos.stage import Stage, is_upload
from tests.stack.fault_proxy import Answer, AnswerAfter, Fault, LoseResponse, Reset, Stall

_PATIENCE_SECONDS = 20.0
"""Requests of some kinds are seldom: a fault stays so much longer until one meets it."""


def _all(_: str) -> bool:
    return True


def _single_put(line: str) -> bool:
    return is_upload(line) and line.startswith("PUT ") and "partNumber=" not in line


def _part(line: str) -> bool:
    return is_upload(line) and "partNumber=" in line


def _completing(line: str) -> bool:
    return line.startswith("POST ") and "uploadId=" in line


def _creating(line: str) -> bool:
    return line.startswith("POST ") and "uploads" in line and "uploadId=" not in line


def _note(line: str) -> bool:
    """What a group notes for itself: receipts, revisions, arrivals, finished folders, replays."""
    return line.startswith(("PUT ", "DELETE ", "POST ")) and "_logpersister/" in line


def _marker(line: str) -> bool:
    """What tells that a folder is finished."""
    return line.startswith("PUT ") and any(name in line for name in ("_SUCCESS", "_manifest.json", ".done"))


def _commit(line: str) -> bool:
    """A commit to a table of the catalog."""
    return line.startswith("POST ") and "/tables/" in line


REQUESTS: dict[str, Callable[[str], bool]] = {
    "any": _all,
    "upload": is_upload,
    "put": _single_put,
    "create": _creating,
    "part": _part,
    "complete": _completing,
    "note": _note,
    "marker": _marker,
    "commit": _commit,
}


@dataclass(eq=False, kw_only=True)
class HttpFault(Disturbance):
    """Requests to a server meet a fault."""

    service: str = "s3"
    """The proxy's name."""
    what: str
    """``503``, ``500``, ``500-after``, ``stall``, ``reset`` or ``lose-response``."""
    requests: str
    """Which ones, see `REQUESTS`."""
    share: float
    """Which part of them."""
    after: int
    """Bytes of the request that go through first."""
    seed: int
    _fault: Fault = field(init=False, repr=False)
    _patience: float = field(default=0.0, init=False)
    """Until when it stays though nobody meets it."""

    @property
    def name(self) -> str:
        return f"{self.service}-{self.what}"

    def ready(self, stage: Stage) -> bool:
        # A fault that nobody meets disturbs nobody. The others are asked all the time.
        return self.service not in stage.busy and (self.service != "s3" or stage.is_uploading)

    def begin(self, stage: Stage) -> str:
        stage.busy.add(self.service)
        self._fault = self._make()
        self._patience = time.monotonic() + self.seconds + _PATIENCE_SECONDS
        stage.proxies[self.service].inject(self._fault)
        bytes_ = f" after {self.after:,} bytes" if self.what in ("stall", "reset") else ""
        return f"{self.share:.0%} of requests ({self.requests}){bytes_} for {self.seconds:.1f} s"

    def over(self) -> bool:
        return self._fault.met > 0 or time.monotonic() > self._patience

    def end(self, stage: Stage) -> str:
        stage.proxies[self.service].remove(self._fault)
        stage.busy.discard(self.service)
        stage.met[f"{self.name} ({self.requests})"] += self._fault.met
        return f"{self._fault.met} requests met it"

    def _make(self) -> Fault:
        wanted, chance = REQUESTS[self.requests], random.Random(self.seed)

        def matches(line: str) -> bool:
            return wanted(line) and chance.random() < self.share

        match self.what:
            case "503":
                return Answer(matches=matches, times=None)
            case "500":
                return Answer(matches=matches, times=None, status=500, code="InternalError", message="Try again.")
            case "500-after":
                return AnswerAfter(matches=matches, times=None, status=500, code="InternalError", message="Try again.")
            case "stall":
                return Stall(matches=matches, times=None, after=self.after)
            case "reset":
                return Reset(matches=matches, times=None, after=self.after)
        return LoseResponse(matches=matches, times=None)


@dataclass(eq=False, kw_only=True)
class Refuses(Disturbance):
    """Connections are refused, and those that stand are reset."""

    service: str = "s3"

    @property
    def name(self) -> str:
        return f"{self.service}-refuses"

    def ready(self, stage: Stage) -> bool:
        return self.service not in stage.busy and (self.service != "s3" or stage.is_uploading)

    def begin(self, stage: Stage) -> str:
        stage.busy.add(self.service)
        stage.proxies[self.service].stop()
        return f"for {self.seconds:.1f} s"

    def end(self, stage: Stage) -> str:
        stage.proxies[self.service].start()
        stage.busy.discard(self.service)
        return "it listens again"
