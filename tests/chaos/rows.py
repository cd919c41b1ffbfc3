"""What happens to groups with rows: schemas evolve, the registry dies, a manifest is corrected, bad records return."""

import re
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from botocore.exceptions import BotoCoreError, ClientError

from tests.chaos import events
from tests.chaos.commands import Command, Requests, logpersister
from tests.chaos.contents import QUARANTINE
from tests.chaos.disturbances import Disturbance, InBackground
from tests.chaos.outputs import BUCKET
from tests.chaos.stage import Stage

_OF_A_REPLAY = re.compile(r"PUT \S+(/replays/|\.r[0-9a-f]{12}\.)|(DELETE|POST) \S+/_quarantine/")
"""A request by which a replay changes the bucket."""


@dataclass(eq=False, kw_only=True)
class SchemaEvolves(Disturbance):
    """Producers register the next version of the schema, and some of them write by it."""

    name = "schema-evolves"

    def ready(self, stage: Stage) -> bool:
        return "registry" not in stage.busy and stage.registry.serves()

    def begin(self, stage: Stage) -> str:
        assert stage.writers is not None
        version = stage.writers.evolve()
        return "there is no further version now" if version is None else f"version {version} is registered"


@dataclass(eq=False, kw_only=True)
class RegistryKill(InBackground):
    """The registry is killed, and is refilled before anybody reaches it again: it keeps all in memory."""

    name = "registry-kill"

    def ready(self, stage: Stage) -> bool:
        return "registry" not in stage.busy and stage.registry.serves()

    def begin(self, stage: Stage) -> str:
        stage.busy.add("registry")
        stage.registry.kill()
        stage.proxies["registry"].stop()
        self.start(stage)
        return f"it starts again in {self.seconds:.1f} s"

    def end(self, stage: Stage) -> str:
        super().end(stage)
        stage.proxies["registry"].start()
        stage.busy.discard("registry")
        return "it is back, with all that it had"

    def work(self, stage: Stage) -> None:
        assert stage.writers is not None
        time.sleep(self.seconds)
        stage.registry.launch()
        stage.registry.wait()
        stage.writers.register_again()


@dataclass(eq=False, kw_only=True)
class CompactorKill(Disturbance):
    """Who compacts the table is killed, and begins anew."""

    name = "compactor-kill"

    def begin(self, stage: Stage) -> str:
        assert stage.compactor is not None
        stage.compactor.kill()
        stage.compactor.start()
        return "it starts again"


@dataclass(eq=False, kw_only=True)
class Correction(Disturbance):
    """A manifest is corrected; members get it one by one, with whatever restarts them, and one of them at once."""

    name = "manifest-corrected"
    which: float

    def begin(self, stage: Stage) -> str:
        (name,) = (output.name for output in stage.settings.outputs if output.is_corrected)
        return f"{name} is corrected" if stage.is_corrected(name) else _correct(stage, name, self.which)


def _correct(stage: Stage, name: str, which: float) -> str:
    stage.correct(stage.settings.output(name))
    places = [place for place in stage.crew.up() if place.group == name]
    if not places:
        return name
    place = places[int(which * len(places))]
    stage.crew.leave(place)
    place.start_at = time.monotonic() + 1
    return f"{name}; {place.name} is told to stop, and starts again"


@dataclass(eq=False, kw_only=True)
class Replay(Disturbance):
    """Somebody replays the quarantine of a group beside its members, and is perhaps killed in the middle.

    By the corrected manifest: the first one would accept nothing.
    """

    which: float
    ends: Literal["killed", "alone"]
    delay: float
    """Seconds from its first change of the bucket to the kill."""
    _requests: Requests = field(init=False, repr=False)
    _command: Command = field(init=False, repr=False)

    @property
    def name(self) -> str:
        return "replay-killed" if self.ends == "killed" else "replay"

    def ready(self, stage: Stage) -> bool:
        """Whether there is something to replay: a replay leaves the newest range of each partition to its member."""
        (name,) = (output.name for output in stage.settings.outputs if output.is_corrected)
        try:
            listed = stage.s3.list_objects_v2(Bucket=BUCKET, Prefix=f"{name}/{events.TOPIC}/{QUARANTINE}/")
        except (BotoCoreError, ClientError):
            return False
        ranges = Counter(one["Key"].rpartition("_")[0] for one in listed.get("Contents", []))
        return any(number > 1 for number in ranges.values())

    def begin(self, stage: Stage) -> str:
        (name,) = (output.name for output in stage.settings.outputs if output.is_corrected)
        said = f", after a correction of {_correct(stage, name, self.which)}" if not stage.is_corrected(name) else ""
        self._requests = Requests(stage, _OF_A_REPLAY.match)
        command = replay_command(stage.manifests[name], leave_out=stage.settings.choices.keeps)
        kill_after = self.delay if self.ends == "killed" else None
        self._command = Command(stage, command, self._requests.made, kill_after=kill_after)
        return f"of {name}{said}"

    def over(self) -> bool:
        return self._command.ended()

    def end(self, stage: Stage) -> str:
        self._requests.close()
        if self._requests.made() and self._command.was_killed:
            stage.happened.replays_killed += 1
        elif self._requests.made():
            stage.happened.replays += 1
        return self._command.told()


def replay_command(manifest: Path, *, leave_out: bool) -> list[str]:
    """Return how a user replays quarantine; ``leave_out``: also records that conditions leave out."""
    command = logpersister("quarantine", "replay", "-f", str(manifest))
    return [*command, "--leave-out"] if leave_out else command
