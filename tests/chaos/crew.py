"""The members and who keeps them running: what Kubernetes would do, in a few lines.

A member that ends is started again under its name. One that says by ``/healthz`` that only a restart helps gets it.
"""

import json
import signal
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tests.chaos.chronicle import Chronicle
from tests.integration.harness.process import MemberProcess

_RESTART_SECONDS = 1.0
"""Pause before a member that has ended by itself is started again."""
_REPLAY_RESTART_SECONDS = 5.0
"""The same for a replay, which may be ahead of the backup."""
_FENCED = 5
_MEANINGS = {
    0: "done",
    1: "it could not do its work",
    3: "broker or bucket were away when it started",
    4: "it cannot go on yet",
    5: "its name was taken",
}
"""Exit code of a member whose name another process has taken."""


@dataclass(eq=False)
class Place:
    """A member by name: the processes that have it, one after the other."""

    name: str
    group: str
    manifest: Path
    process: MemberProcess | None = None
    is_guest: bool = False
    """Whether it is there for a while only."""
    replays: "Sequence[str] | None" = None
    """Options of ``logpersister replay``, which ends when all of it is stored; None: it is a member."""
    uploads: str = ""
    """What its uploads have in their paths."""
    start_at: float | None = None
    """Monotonic seconds at which it is started (again); None: it stays as it is."""
    frozen: bool = False
    leaving: bool = False
    """It was told to stop."""
    started: int = 0
    unhealthy: bool = False
    """Set by who asks for ``/healthz``."""
    outdated: bool = False
    """Its process began before something that members look at when they start only."""

    @property
    def is_done(self) -> bool:
        """Whether it has ended, and does not start again."""
        return self.process is None and self.start_at is None

    @property
    def up(self) -> bool:
        """Whether something can be done to it."""
        return self.process is not None and self.process.alive and not self.frozen and not self.leaving


@dataclass
class Crew:
    """All members of all groups."""

    directory: Path
    chronicle: Chronicle
    places: list[Place] = field(default_factory=list)
    ghosts: list[tuple[Place, MemberProcess]] = field(default_factory=list)
    """Processes that were frozen while another one took their name; they must end by themselves."""
    former: list[MemberProcess] = field(default_factory=list)
    unexpected: Counter[str] = field(default_factory=Counter)
    """Ends that nobody had asked for."""

    def add(self, group: str, which: str, manifest: Path, *, is_guest: bool = False) -> Place:
        place = Place(f"{group}-{which}", group, manifest, is_guest=is_guest, uploads=f"/{group}/")
        return self._added(place)

    def add_replay(self, group: str, which: str, manifest: Path, generation: int, options: Sequence[str]) -> Place:
        """Start a process that stores history again."""
        name = f"{group}-replay-{generation}"
        return self._added(Place(f"{name}-{which}", name, manifest, replays=options, uploads=f"/{generation}_"))

    def _added(self, place: Place) -> Place:
        place.start_at = time.monotonic()
        self.places.append(place)
        return place

    def up(self) -> list[Place]:
        return [place for place in self.places if place.up]

    def working(self, place: Place) -> bool:
        """Whether the member is up, in its group, and has looked at its partitions."""
        return place.up and place.process is not None and is_ready(place.process)

    def tick(self) -> None:
        """Notice who has ended, start who is due."""
        for place in self.places:
            process = place.process
            if process is not None and not process.alive:
                self._ended(place, process)
            elif process is not None and place.unhealthy and place.up:
                place.unhealthy = False
                self.chronicle.tell("unhealthy", f"{place.name} says that it needs a restart, and gets it")
                self.kill_all(place)
                place.start_at = time.monotonic()
            elif process is not None and place.outdated and place.up:
                self.leave(place)
                place.start_at = time.monotonic()
            if place.process is None and place.start_at is not None and place.start_at <= time.monotonic():
                self._start(place)
        for place, ghost in list(self.ghosts):
            if not ghost.alive:
                self.ghosts.remove((place, ghost))
                self.former.append(ghost)
                self.chronicle.tell("ghost.ended", f"the former {place.name} has ended with {ghost.code}")
                if ghost.code not in (_FENCED, 0):  # 0: told to stop at the end
                    self.unexpected[f"a process whose name was taken ended with {ghost.code}, not {_FENCED}"] += 1

    def _start(self, place: Place) -> None:
        place.started += 1
        place.start_at = None
        place.leaving = place.frozen = place.unhealthy = place.outdated = False
        log = self.directory / f"{place.name}-{place.started}.log"
        if place.replays is None:
            place.process = MemberProcess(place.manifest, log, "--member-name", place.name)
        else:
            place.process = MemberProcess(place.manifest, log, *place.replays, command="replay")
        self.chronicle.tell("member.starts", f"{place.name}, its log is {log.name}")

    def _ended(self, place: Place, process: MemberProcess) -> None:
        place.process = None
        self.former.append(process)
        asked = place.leaving
        fine = process.code == 0 or (process.code == -signal.SIGTERM and process.address is None)  # it had not begun
        self.chronicle.tell("member.ended", f"{place.name} with exit code {process.code}", log=process.log.name)
        if place.replays is not None and process.code == 0:
            return
        if not (asked and (fine or place.replays is not None)):
            self.unexpected[_told(process.code, asked=asked)] += 1
        if not asked and place.start_at is None:
            pause = _RESTART_SECONDS if place.replays is None else _REPLAY_RESTART_SECONDS
            place.start_at = time.monotonic() + pause

    # what is done to them

    def kill_driver(self, place: Place) -> None:
        process = self._take(place)
        process.kill()

    def kill_all(self, place: Place) -> None:
        """Kill the driver and all that it has started, at once."""
        process = self._take(place)
        for victim in process.processes():
            _kill(victim)
        process.kill()

    def kill_jvm(self, place: Place) -> None:
        """Kill Spark's JVM only; the member has to see to itself."""
        assert place.process is not None
        for victim in jvms(place.process):
            _kill(victim)

    def kill_workers(self, place: Place) -> int:
        assert place.process is not None
        workers = place.process.workers()
        for victim in workers:
            _kill(victim)
        return len(workers)

    def replace_frozen(self, place: Place) -> MemberProcess:
        """Start another process under the name of a frozen one, as when a node is cut off; return the frozen one."""
        assert place.process is not None
        assert place.frozen
        ghost, place.process = place.process, None
        self._start(place)
        return ghost

    def leave(self, place: Place) -> None:
        """Tell a member to stop."""
        assert place.process is not None
        place.leaving = True
        place.start_at = None
        place.process.terminate()

    def renew(self, group: str) -> None:
        """Let the members of a group begin anew, each when it can be told to stop, as where its manifest changes."""
        for place in self.places:
            place.outdated |= place.group == group and place.process is not None

    def thaw(self, place: Place, process: MemberProcess) -> None:
        process.thaw()
        if place.process is process:
            place.frozen = False
        else:
            self.ghosts.append((place, process))

    def _take(self, place: Place) -> MemberProcess:
        """Take the process out of its place: it is about to be killed."""
        assert place.process is not None
        process, place.process = place.process, None
        self.former.append(process)
        return process

    def dismiss_ghosts(self) -> None:
        """Tell those to stop who woke up when nobody had their name any more: they are members again, and in order."""
        for _, ghost in self.ghosts:
            ghost.terminate()

    def logged(self, event: str) -> int:
        """Return how often members have logged an event, in all their lives."""
        mark = json.dumps(event).encode()
        return sum(log.read_bytes().count(mark) for log in self.directory.glob("*.log"))

    def orphans(self) -> list[psutil.Process]:
        """Return processes whose member has gone."""
        return [process for member in self.former for process in member.processes()]

    def end(self) -> None:
        """Kill whatever is left."""
        everyone = [place.process for place in self.places] + [ghost for _, ghost in self.ghosts] + self.former
        for member in everyone:
            if member is not None:
                member.clean_up()


def _told(code: int | None, *, asked: bool) -> str:
    meaning = f" ({_MEANINGS[code]})" if code in _MEANINGS else ""
    return f"a member ended with exit code {code}{meaning}" + (" when it was told to stop" if asked else "")


def is_ready(member: MemberProcess) -> bool:
    return _answers(member, "/readyz") == 200


def is_unhealthy(member: MemberProcess) -> bool:
    """Whether it answers, and says that it is not alive."""
    return _answers(member, "/healthz") == 503


def _answers(member: MemberProcess, path: str) -> int | None:
    if member.address is None:
        return None
    try:
        with urllib.request.urlopen(f"http://{member.address}{path}", timeout=2) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return int(error.code)
    except OSError:
        return None


def jvms(member: MemberProcess) -> list[psutil.Process]:
    return [process for process in member.processes() if _name(process) == "java"]


def _name(process: psutil.Process) -> str:
    try:
        return str(process.name())
    except psutil.Error:
        return ""


def _kill(process: psutil.Process) -> None:
    try:
        process.kill()
    except psutil.NoSuchProcess:
        return


def describe(places: list[Place]) -> Iterator[str]:
    for place in places:
        yield f"{place.name} ({'up' if place.up else 'down'}, started {place.started} times)"
