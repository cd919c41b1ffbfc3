"""What happens to groups with rows: schemas evolve, the registry dies, a manifest is corrected, bad records return."""

import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from botocore.exceptions import BotoCoreError, ClientError

from tests.chaos import events
from tests.chaos.contents import QUARANTINE
from tests.chaos.disturbances import Disturbance, InBackground
from tests.chaos.outputs import BUCKET
from tests.chaos.stage import Stage
from tests.stack import reaper
from tests.stack.fault_proxy import Fault

_OF_A_REPLAY = re.compile(r"PUT \S+(/replays/|\.r[0-9a-f]{12}\.)|(DELETE|POST) \S+/_quarantine/")
"""A request by which a replay changes the bucket."""
_BEGIN_SECONDS = 60.0
"""How long a replay may take to its first change."""
_END_SECONDS = 180.0


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
    _began: float = field(default=0.0, init=False)
    _process: "subprocess.Popen[bytes] | None" = field(default=None, init=False)
    _fault: Fault | None = field(default=None, init=False)
    _changed: threading.Event = field(default_factory=threading.Event, init=False, repr=False)

    @property
    def name(self) -> str:
        return "replay-killed" if self.ends == "killed" else "replay"

    def ready(self, stage: Stage) -> bool:
        """Whether there is something to replay."""
        (name,) = (output.name for output in stage.settings.outputs if output.is_corrected)
        try:
            listed = stage.s3.list_objects_v2(Bucket=BUCKET, Prefix=f"{name}/{events.TOPIC}/{QUARANTINE}/", MaxKeys=1)
        except (BotoCoreError, ClientError):
            return False
        return listed["KeyCount"] > 0

    def begin(self, stage: Stage) -> str:
        (name,) = (output.name for output in stage.settings.outputs if output.is_corrected)
        said = f", after a correction of {_correct(stage, name, self.which)}" if not stage.is_corrected(name) else ""
        self._began = time.monotonic()
        self._fault = Fault(matches=self._notices, times=None)
        stage.proxy.inject(self._fault)
        with (stage.directory / "replays.log").open("ab") as log:
            self._process = subprocess.Popen(
                replay_command(stage.manifests[name], leave_out=stage.settings.choices.keeps),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        reaper.register(self._process.pid)
        if self.ends == "killed":
            threading.Thread(target=self._kill, name="replay-killed", daemon=True).start()
        return f"of {name}{said}"

    def over(self) -> bool:
        assert self._process is not None
        if time.monotonic() - self._began > _END_SECONDS:
            self._process.kill()
        return self._process.poll() is not None

    def end(self, stage: Stage) -> str:
        assert self._process is not None
        assert self._fault is not None
        stage.proxy.remove(self._fault)
        reaper.forget(self._process.pid)
        if self._changed.is_set() and self._process.returncode == -signal.SIGKILL:
            stage.happened.replays_killed += 1
        elif self._changed.is_set():
            stage.happened.replays += 1
        changed = "after it had begun to change the bucket" if self._changed.is_set() else "without a change"
        return f"it has ended with {self._process.returncode} {changed}"

    def _notices(self, line: str) -> bool:
        if _OF_A_REPLAY.match(line):
            self._changed.set()
        return False

    def _kill(self) -> None:
        assert self._process is not None
        if self._changed.wait(_BEGIN_SECONDS):
            time.sleep(self.delay)
        self._process.kill()


def replay_command(manifest: Path, *, leave_out: bool) -> list[str]:
    """Return how a user replays quarantine; ``leave_out``: also records that conditions leave out."""
    command = [str(Path(sys.executable).with_name("logpersister")), "quarantine", "replay", "-f", str(manifest)]
    return [*command, "--leave-out"] if leave_out else command
