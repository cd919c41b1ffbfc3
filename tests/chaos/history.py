"""What is made again from the backup while everything is disturbed: a group is stored again, topics are restored."""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError

from tests.chaos.commands import Command, Requests, logpersister
from tests.chaos.crew import Place
from tests.chaos.disturbances import Disturbance, OfMember
from tests.chaos.outputs import BUCKET, FILES, TEXT
from tests.chaos.producer import RESTORED
from tests.chaos.stage import Stage

PROCESSES = 2
MEMBERS = 1
"""Generation of what members store."""
_PATIENCE_SECONDS = 900.0
"""How long a replay and its switch may take, which last longer than what disturbs them; then the run is stuck."""
_BEHIND = timedelta(seconds=20)
"""By how much a replay ends before the present: the backup may be late."""
_SWITCHING = re.compile(r"PUT \S+/current/")


@dataclass(eq=False, kw_only=True)
class HistoryReplay(Disturbance):
    """What a group has stored is stored again from the backup by two processes; then readers are switched."""

    name = "history-replayed"
    meanwhile: OfMember
    """What happens to a process of the replay."""
    back: bool
    """Whether readers are switched back and forth."""
    delay: float
    """Seconds from the first change of a switch to its death; then it is repeated."""
    _until: float = field(default=0.0, init=False)
    _generation: int = field(default=0, init=False)
    _places: list[Place] = field(default_factory=list, init=False)
    _story: Iterator[bool] = field(init=False, repr=False)

    def ready(self, stage: Stage) -> bool:
        """Whether no other replay is under way, and both groups have stored something that a replay has."""
        if any(place.replays is not None and not place.is_done for place in stage.crew.places):
            return False
        groups = (TEXT.name, FILES.name)
        return all(_is_stored(stage, f"{group}/{topic.name}/") for group in groups for topic in TEXT.topics)

    def begin(self, stage: Stage) -> str:
        self._until = time.monotonic() + _PATIENCE_SECONDS
        generation = self._generation = max(stage.replays, default=MEMBERS) + 1
        manifest = stage.replays[generation] = stage.replayed(stage.settings.output(TEXT.name), generation)
        until = f"{datetime.now(UTC) - _BEHIND:%Y-%m-%dT%H:%M:%SZ}"
        options = ["--source", "backup", "--backup", str(stage.manifests[FILES.name]), "--to", until]
        for number in range(1, PROCESSES + 1):
            self._places.append(stage.crew.add_replay(TEXT.name, str(number), manifest, generation, options))
        self.meanwhile.suits = lambda place: place in self._places
        self._story = self._play(stage)
        return f"{TEXT.name} into generation {generation}, up to {until}"

    def over(self) -> bool:
        return next(self._story, True)

    def end(self, stage: Stage) -> str:
        return "" if self._ended() else f"generation {self._generation} is not stored yet"

    def _ended(self) -> bool:
        return all(place.is_done for place in self._places)

    def _play(self, stage: Stage) -> Iterator[bool]:
        """Go on with what is next, each time that somebody asks; yield False as long as it is not over."""
        while not self.meanwhile.ready(stage) and not self._ended():
            yield time.monotonic() > self._until
        if not self._ended():
            stage.chronicle.tell(self.meanwhile.name, f"of a replay: {self.meanwhile.begin(stage)}")
            stage.happened.histories_disturbed += 1
            wakes = time.monotonic() + self.meanwhile.seconds
            while time.monotonic() < wakes:
                yield False
            said = self.meanwhile.end(stage)
            if said:
                stage.chronicle.tell(f"{self.meanwhile.name}.ends", said)
        while not self._ended():
            yield time.monotonic() > self._until
        stage.happened.histories += 1
        for generation in (self._generation, MEMBERS, self._generation) if self.back else (self._generation,):
            yield from self._switch(stage, generation)

    def _switch(self, stage: Stage, generation: int) -> Iterator[bool]:
        command = switch_command(stage.replays[self._generation], generation)
        requests = Requests(stage, _SWITCHING.match)
        for kill_after in (self.delay, *[None] * 20):
            running = Command(stage, command, requests.made, kill_after=kill_after)
            while not running.ended():
                yield False
            stage.chronicle.tell("switch", f"to generation {generation}: {running.told()}")
            if running.code == 0:
                stage.happened.switches += 1
                break
            yield time.monotonic() > self._until
        requests.close()


@dataclass(eq=False, kw_only=True)
class Restore(Disturbance):
    """Topics are restored under other names by one or two processes, which are killed in the middle."""

    name = "restore-killed"
    delay: float
    """Seconds from its first record to its death."""
    twice: bool
    _running: list[Command] = field(default_factory=list, init=False)

    def ready(self, stage: Stage) -> bool:
        return all(_is_stored(stage, f"{FILES.name}/{topic}/") for topic in RESTORED)

    def begin(self, stage: Stage) -> str:
        before = _restored_bytes(stage)

        def has_changed() -> bool:
            return _restored_bytes(stage) > before

        command = restore_command(stage.manifests[FILES.name], stage.kafka.bootstrap)
        for _ in range(2 if self.twice else 1):
            self._running.append(Command(stage, command, has_changed, kill_after=self.delay))
        return f"{' and '.join(RESTORED)}, by {len(self._running)} at once"

    def over(self) -> bool:
        return all(one.ended() for one in self._running)

    def end(self, stage: Stage) -> str:
        stage.happened.restores_killed += any(one.was_killed and one.has_changed() for one in self._running)
        return "; ".join(one.told() for one in self._running)


def _is_stored(stage: Stage, prefix: str) -> bool:
    """Whether the first object below a prefix is older than what a replay leaves out; False: or nobody knows."""
    try:
        listed = stage.s3.list_objects_v2(Bucket=BUCKET, Prefix=prefix, MaxKeys=1).get("Contents", [])
    except (BotoCoreError, ClientError):
        return False
    return bool(listed) and listed[0]["LastModified"] < datetime.now(UTC) - 1.5 * _BEHIND


def restored_name(topic: str) -> str:
    """Return the name under which a topic is restored."""
    return f"restored-{topic}"


def _restored_bytes(stage: Stage) -> int:
    """Return how much the logs of restored topics have, as their files are: brokers may be dead, or frozen."""
    folders = [(broker.directory, restored_name(topic)) for broker in stage.brokers for topic in RESTORED]
    return sum(log.stat().st_size for folder, name in folders for log in folder.glob(f"data/{name}-*/*.log"))


def switch_command(manifest: Path, generation: int, *options: str) -> list[str]:
    return logpersister("switch", "-f", str(manifest), "--to-generation", str(generation), *options)


def restore_command(backup: Path, bootstrap: str, *options: str) -> list[str]:
    renamed = ",".join(f"{topic}={restored_name(topic)}" for topic in RESTORED)
    of_topics = ["--topics", ",".join(RESTORED), "--rename", renamed]
    return logpersister("restore", "-f", str(backup), "--to", bootstrap, *of_topics, *options)
