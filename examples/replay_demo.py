"""``make demo ARGS=replay``: a day that was filed wrongly is made again from a backup, beside a member that goes on."""

import json
import time
from pathlib import Path

from examples import produce_clicks
from examples.demo import BUCKET, ROWS_MANIFEST, TOPICS, Demo
from examples.steps import FailedError, Steps, short
from tests.stack import S3Server
from tests.stack.artifacts import ROOT
from tests.stack.topics import delete_records, end_offsets

BACKUP_MANIFEST = ROOT / "examples" / "backup.yaml"
CLICKS = TOPICS[0]
WRONG_ZONE = ("{granularity: day}", "{granularity: day, timezone: Pacific/Honolulu}")
NEW_CLICKS = 2_000
_PATIENCE_SECONDS = 120
_PAUSE_SECONDS = 0.5


class ReplayDemo(Demo):
    """The same servers; a backup, a member whose folders have the wrong day, and its repaired manifest."""

    def __init__(self, steps: Steps, place: Path, s3: type[S3Server]) -> None:
        super().__init__(steps, place, s3)
        self._manifest = place / "clicks.yaml"
        self._repaired = place / "repaired.yaml"
        self._backup = place / BACKUP_MANIFEST.name
        self._clicks = 0

    def _store(self, records: int) -> None:
        with self._steps.step("write sample records") as result:
            produce_clicks.create_topics(self._kafka.bootstrap)
            result.append(f"{self._write(records, days=2):,} clicks of two days")

        with self._steps.step("write three manifests") as result:
            self._s3.client().create_bucket(Bucket=BUCKET)
            self._s3.write_secret(self._secrets, "s3")
            self._write_manifests()
            result.append(f"{self._manifest.name} takes the days of Honolulu for ours, {self._repaired.name} does not")

        with self._beside("run", "-f", str(self._manifest), log=self._member_log):
            with self._steps.step("logpersister run") as result:
                self._wait_current()
                result.append("a member stores rows in folders of days, and goes on")

            with self._steps.step("the backup") as result:
                options = ("--until-current", "--log-format", "console")
                self._logpersister("run", *options, manifest=self._backup, log=self._place / "backup.log")
                result.append(f"{len(self._keys(f'kafka/{CLICKS}'))} objects of format kafka")

            self._lose_and_go_on()
            self._replay()

    def _lose_and_go_on(self) -> None:
        with self._steps.step("Kafka deletes the two days") as result:
            delete_records(self._kafka.bootstrap, CLICKS, end_offsets(self._kafka.bootstrap, CLICKS))
            new = self._write(NEW_CLICKS, days=0.001)
            self._wait_current()
            result.append(f"{new:,} clicks came since, and are stored")

    def _replay(self) -> None:
        log = self._place / "replay.log"
        with self._steps.step("logpersister replay") as result:
            options = ("--backup", str(self._backup), "--log-format", "console")
            self._logpersister("replay", *options, manifest=self._repaired, log=log)
            new = self._write(NEW_CLICKS, days=0.001)
            self._wait_current()
            result.append(f"generation 2 beside the member, which has stored {new:,} clicks more; log: {short(log)}")
        self._steps.headline("What counts before the switch: logpersister ls --current")
        self._show_current()
        self._steps.headline("The switch")
        with self._steps.step("logpersister switch") as result:
            self._switch(self._repaired, 2)
            result.append("generation 2 counts where the replay was, generation 1 from there on")
        self._steps.headline("What counts now: logpersister ls --current")
        self._show_current()
        self._steps.headline("Back and forth, as long as the old objects are there")
        with self._steps.step("logpersister switch, twice") as result:
            self._switch(self._manifest, 1)
            self._switch(self._repaired, 2)
            result.append(f"{self._counting():,} of {self._clicks:,} clicks count, each once")

    def _show(self) -> None:
        self._steps.headline("The proof: logpersister verify --deep --backup")
        self._logpersister("verify", "--deep", "--backup", str(self._backup))

    def _show_further(self, *, keep: bool) -> None:
        print(f"  docs/replay.md   which offsets, which source, what readers see\n  {short(self._place)}")
        if keep:
            print(f"  export LOGPERSISTER_SECRETS_DIR={self._secrets}")

    def _write(self, records: int, *, days: float) -> int:
        """Write clicks of the last days; return how many."""
        now = time.time_ns() // 1_000_000
        events = (it for it in produce_clicks.history(records, until=now, days=days, seed=now) if it.topic == CLICKS)
        written = produce_clicks.write(self._kafka.bootstrap, events)
        self._clicks += written
        return written

    def _write_manifests(self) -> None:
        self._render(ROWS_MANIFEST, self._manifest)
        text = f"{self._manifest.read_text()}  upload: {{maxAge: 1s}}\n"
        self._repaired.write_text(text.replace("\nspec:\n", "\nspec:\n  generation: 2\n"))
        self._manifest.write_text(text.replace(*WRONG_ZONE))
        kafka = f"    bootstrapServers: {self._kafka.bootstrap}\n    topics: [{CLICKS}]\n"
        storage = f"    bucket: {BUCKET}\n    prefix: kafka\n    endpoint: {self._s3.endpoint}\n    secretName: s3\n"
        head = BACKUP_MANIFEST.read_text().partition("spec:\n")[0]
        self._backup.write_text(f"{head}spec:\n  kafka:\n{kafka}  storage:\n{storage}  output:\n    kafka: {{}}\n")

    def _wait_current(self) -> None:
        until = time.monotonic() + _PATIENCE_SECONDS
        while self._lag():
            if time.monotonic() > until:
                raise FailedError(f"the member does not store what waits; see {self._member_log}")
            time.sleep(_PAUSE_SECONDS)

    def _switch(self, manifest: Path, generation: int) -> None:
        log = self._place / "switch.log"
        self._logpersister("switch", "--to-generation", str(generation), manifest=manifest, log=log)

    def _show_current(self) -> None:
        self._logpersister("ls", "--current")
        if self._counting() != self._clicks:
            raise FailedError(f"{self._counting():,} records count, and {self._clicks:,} were written")

    def _counting(self) -> int:
        """Return how many records are in objects that count."""
        answer = self._place / "current.json"
        self._logpersister("ls", "--current", "--facts", "--json", answer=answer)
        records: int = json.loads(answer.read_text())["totals"]["records"]
        return records
