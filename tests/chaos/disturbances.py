"""What can go wrong with members, one class each; `requests`, `servers` and `rows` have what else can.

All choices are made when one is dealt (`deck`), none when it happens.
"""

import os
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from tests.chaos.crew import Place
from tests.chaos.stage import Stage
from tests.integration.harness.process import MemberProcess

_UPLOAD_SECONDS = 5.0
"""How long to lie in wait for an upload."""


@dataclass(eq=False, kw_only=True)
class Disturbance(ABC):
    """Something that goes wrong, and perhaps ends after `seconds`."""

    kills: ClassVar[int] = 0
    """How many members it kills."""
    seconds: float = 0.0

    @property
    @abstractmethod
    def name(self) -> str:
        """What the chronicle calls it."""

    def ready(self, stage: Stage) -> bool:
        """Whether it can begin now."""
        return True

    @abstractmethod
    def begin(self, stage: Stage) -> str:
        """Let it happen; return what was done to whom."""

    def over(self) -> bool:
        """Whether it can be taken back once its time has come."""
        return True

    def end(self, stage: Stage) -> str:
        """Take it back; return what to say about it, "" for nothing."""
        return ""


# members


@dataclass(eq=False, kw_only=True)
class OfMember(Disturbance):
    """Concerns one member."""

    which: float
    """0 to 1: which of those that can be chosen."""
    even_starting: bool = False
    """Whether it may be one that is not working yet."""
    suits: Callable[[Place], bool] | None = field(default=None, init=False, repr=False)
    """Says whether it may be some member; None: any."""

    def ready(self, stage: Stage) -> bool:
        return self._choose(stage) is not None

    def _choose(self, stage: Stage) -> Place | None:
        crew = stage.crew
        places = [place for place in crew.up() if self.suits is None or self.suits(place)]
        places = [place for place in places if self.even_starting or crew.working(place)]
        return places[int(self.which * len(places))] if places else None

    def chosen(self, stage: Stage) -> Place:
        place = self._choose(stage)
        assert place is not None, "ready() has just said so"
        return place


@dataclass(eq=False, kw_only=True)
class Kill(OfMember):
    """``kill -9``; the member comes back under its name."""

    kills: ClassVar[int] = 1
    how: str
    """``driver``: the JVM and Python workers have to notice; ``tree``: everything at once; ``jvm``: Spark only."""
    at_upload: bool
    delay: float
    """Seconds after the request of an upload has begun."""
    back_after: float

    @property
    def name(self) -> str:
        return f"kill-{self.how}"

    def begin(self, stage: Stage) -> str:
        crew, place = stage.crew, self.chosen(stage)
        met = self.at_upload and stage.at_next_upload(place.uploads, _UPLOAD_SECONDS)
        if met:
            time.sleep(self.delay)
        moment = f" {self.delay * 1000:.0f} ms into an upload" if met else ""
        if self.how == "jvm":
            crew.kill_jvm(place)
            return f"{place.name}{moment}"
        if self.how == "driver":
            crew.kill_driver(place)
        else:
            crew.kill_all(place)
        place.start_at = time.monotonic() + self.back_after
        return f"{place.name}{moment}; it comes back in {self.back_after:.1f} s"


@dataclass(eq=False, kw_only=True)
class KillWorkers(OfMember):
    """Spark's Python workers are killed, as the kernel does when memory runs out."""

    name = "kill-workers"
    at_upload: bool

    def begin(self, stage: Stage) -> str:
        place = self.chosen(stage)
        if self.at_upload:
            stage.at_next_upload(place.uploads, _UPLOAD_SECONDS)
        return f"{stage.crew.kill_workers(place)} processes of {place.name}"


@dataclass(eq=False, kw_only=True)
class Freeze(OfMember):
    """SIGSTOP for longer than the session, then SIGCONT: it wakes up and believes that nothing has happened."""

    all_of_it: bool
    """Otherwise the driver only: Spark goes on with what it was given."""
    replaced: bool
    """Whether another process takes its name meanwhile, so that it must end when it wakes up."""
    at_upload: bool
    _process: MemberProcess = field(init=False, repr=False)
    _place: Place = field(init=False, repr=False)

    @property
    def name(self) -> str:
        return "freeze" if not self.replaced else "freeze-replaced"

    def begin(self, stage: Stage) -> str:
        place = self._place = self.chosen(stage)
        assert place.process is not None
        process = self._process = place.process
        if self.at_upload:
            stage.at_next_upload(place.uploads, _UPLOAD_SECONDS)
        place.frozen = True
        if self.all_of_it:
            process.freeze()
        else:
            os.kill(process.pid, signal.SIGSTOP)
        if self.replaced:
            stage.crew.replace_frozen(place)
        what = "all of" if self.all_of_it else "the driver of"
        return f"{what} {place.name} for {self.seconds:.1f} s" + (", which is replaced" if self.replaced else "")

    def end(self, stage: Stage) -> str:
        stage.crew.thaw(self._place, self._process)
        return f"{self._place.name} wakes up"


@dataclass(eq=False, kw_only=True)
class Leave(OfMember):
    """SIGTERM: a member stops in order, and is started again later."""

    name = "leave"
    _place: Place = field(init=False, repr=False)

    def begin(self, stage: Stage) -> str:
        self._place = self.chosen(stage)
        stage.crew.leave(self._place)
        return f"{self._place.name} for {self.seconds:.1f} s"

    def end(self, stage: Stage) -> str:
        self._place.start_at = time.monotonic()
        return f"{self._place.name} may come back"


@dataclass(eq=False, kw_only=True)
class LeaderRestart(Disturbance):
    """All members of a group are killed and come back within their session: one of them leads, and is not told."""

    name = "leader-restart"
    kills: ClassVar[int] = 1
    which: float

    def ready(self, stage: Stage) -> bool:
        return all(stage.crew.working(place) for place in self._places(stage))

    def begin(self, stage: Stage) -> str:
        places = self._places(stage)
        for place in places:
            stage.crew.kill_all(place)
            place.start_at = time.monotonic()
        return f"{' and '.join(place.name for place in places)} come back at once"

    def _places(self, stage: Stage) -> list[Place]:
        group = stage.chosen_group(self.which)
        return [place for place in stage.crew.places if place.group == group and not place.is_guest]


@dataclass(eq=False, kw_only=True)
class Join(Disturbance):
    """One member more, for a while."""

    name = "join"
    which: float
    _place: Place = field(init=False, repr=False)

    def begin(self, stage: Stage) -> str:
        group, number = stage.chosen_group(self.which), stage.counts["join"]
        self._place = stage.crew.add(group, f"guest-{number}", stage.manifests[group], is_guest=True)
        return f"{self._place.name} for {self.seconds:.1f} s"

    def end(self, stage: Stage) -> str:
        self._place.start_at = None
        if self._place.up:
            stage.crew.leave(self._place)
        self._place.leaving = True
        return f"{self._place.name} leaves"


@dataclass(eq=False, kw_only=True)
class InBackground(Disturbance):
    """Takes its time in a thread of its own, and is over when that has ended."""

    _thread: threading.Thread | None = field(default=None, init=False)
    _failure: BaseException | None = field(default=None, init=False)

    @abstractmethod
    def work(self, stage: Stage) -> None:
        """Do what takes time."""

    def start(self, stage: Stage) -> None:
        self._thread = threading.Thread(target=self._guarded, args=(stage,), name=self.name, daemon=True)
        self._thread.start()

    def over(self) -> bool:
        return self._thread is not None and not self._thread.is_alive()

    def end(self, stage: Stage) -> str:
        if self._failure is not None:
            raise RuntimeError(f"{self.name} cannot be taken back") from self._failure
        return ""

    def _guarded(self, stage: Stage) -> None:
        try:
            self.work(stage)
        except BaseException as error:  # noqa: BLE001 - told by `end`
            self._failure = error
