"""One run: set the stage, disturb, come to rest, examine."""

import json
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from tests.chaos import goals
from tests.chaos.check import Seen, TopicPartition
from tests.chaos.chronicle import Chronicle
from tests.chaos.crew import describe
from tests.chaos.current import CurrentWatch
from tests.chaos.deck import deal
from tests.chaos.disturbances import Disturbance
from tests.chaos.examination import Examination, TroubleError, at_rest, progress
from tests.chaos.folder_watch import FolderWatch
from tests.chaos.folders import due
from tests.chaos.ledger import Ledger
from tests.chaos.outputs import BUCKET, LATENESS_SECONDS, TEXT, Output
from tests.chaos.producer import PlainProducer, Producers, Work
from tests.chaos.report import Report, Verdict
from tests.chaos.row_producer import RowProducer
from tests.chaos.settings import Settings
from tests.chaos.stage import Stage
from tests.chaos.watch import Watch
from tests.integration.harness.waiting import eventually

Kafka = Mapping[TopicPartition, list[Seen]]
_POLL_SECONDS = 0.1
_PATIENCE_SECONDS = 40.0
"""How long a disturbance waits until it is possible; then the next one has its turn."""
_START_SECONDS = 300.0
"""Until all members work: seconds where nobody else computes."""
_DRAIN_SECONDS = 180.0
_COMPACTION_SECONDS = 90.0
_END_SECONDS = 180.0
"""How soon everything has to be gone after members were told to stop."""


def run(settings: Settings, directory: Path, *, echo: Callable[[str], None] = lambda _: None) -> Report:
    """Do a run, all of it below ``directory``, which must not exist yet; trouble is a verdict, not raised."""
    directory.mkdir(parents=True)
    chronicle = Chronicle(directory / "chronicle.jsonl", echo=echo)
    report = Report(settings.seed)
    chronicle.tell("begin", f"seed {settings.seed}", kills=settings.kills, seconds=settings.seconds)
    try:
        with Stage(settings, directory, chronicle) as stage:
            _Run(settings, stage, report).play()
    except Exception as error:  # noqa: BLE001 - whatever goes wrong with the harness, it proves nothing
        report.verdict = Verdict.TROUBLE
        report.problems.append(f"{type(error).__name__}: {error}")
        (directory / "trouble.txt").write_text(traceback.format_exc())
    report.seconds = chronicle.seconds
    chronicle.tell("end", report.verdict.name.lower())
    (directory / "report.json").write_text(json.dumps(report.document(), indent=2) + "\n")
    return report


class _Run:
    def __init__(self, settings: Settings, stage: Stage, report: Report) -> None:
        self._settings = settings
        self._stage = stage
        self._report = report
        report.choices = str(settings.choices)
        self._chronicle = stage.chronicle
        self._ledger = Ledger()
        self._stopping = threading.Event()
        self._producers = Producers(self._works(), settings.seed, self._stopping)
        self._watch = Watch(stage.crew, stage.chronicle, stage.kafka.bootstrap, settings.outputs)
        self._folder_watch = self._watch_folders()
        self._current_watch = self._watch_current()
        self._lookers = [one for one in (self._folder_watch, self._current_watch) if one is not None]
        self._examination = Examination(stage, self._ledger, self._folder_watch)
        self._active: list[tuple[float, Disturbance]] = []
        self._skipped: Counter[str] = Counter()

    def play(self) -> None:
        """Fill the report."""
        self._wait("all members work", self._all_work, seconds=_START_SECONDS)
        self._watch.start()
        for looker in self._lookers:
            looker.start()
        self._producers.start()
        try:
            self._disturb()
            kafka, rest = self._settle()
        finally:
            self._producers.ask_to_stop()
            for looker in self._lookers:
                looker.ask_to_stop()
            self._watch.stop()
            self._take_numbers()
        for looker in self._lookers:
            looker.stop()
        self._stage.broken += sorted(self._current_watch.broken) if self._current_watch is not None else []
        problems = self._stage.broken + rest + self._examine(kafka)
        for watch in (self._watch, *self._lookers):
            if watch.failure is not None:
                raise TroubleError(f"the watch has failed: {watch.failure!r}")
        self._judge(problems)

    def _judge(self, problems: list[str]) -> None:
        report, stage = self._report, self._stage
        report.happened = stage.happened.counts()
        unmet = goals.unmet_by(self._settings, stage.happened, disturbances=stage.counts, faults=stage.met)
        report.verdict = goals.verdict(problems, unmet)
        report.problems = problems + [f"the run has not met what it is for: {what}" for what in unmet]

    def _works(self) -> list[Work]:
        bootstrap, ledger, stopping = self._stage.kafka.bootstrap, self._ledger, self._stopping
        works: list[Work] = []
        if self._settings.has_plain_values:
            works += PlainProducer(bootstrap, ledger, stopping).works()
        writers, readings = self._stage.writers, self._stage.readings
        if writers is not None and readings is not None:
            topics = {topic.name for topic in self._settings.topics}
            works += RowProducer(bootstrap, ledger, stopping, writers, readings, topics).works()
        return works

    def _watch_folders(self) -> FolderWatch | None:
        found = [output for output in self._settings.outputs if output.has_table]
        if not found:
            return None
        (output,) = found
        bootstrap = self._stage.kafka.bootstrap
        return FolderWatch(
            self._stage.s3,
            BUCKET,
            output.name,
            output.topics[0].name,
            LATENESS_SECONDS * 1000,
            lambda: progress(bootstrap, output),
        )

    def _watch_current(self) -> CurrentWatch | None:
        if not self._settings.has_history:
            return None
        return CurrentWatch(self._stage.s3, BUCKET, TEXT.name, [topic.name for topic in TEXT.topics])

    def _all_work(self) -> bool:
        crew = self._stage.crew
        return all(crew.working(place) for place in crew.places)

    # disturbing

    def _disturb(self) -> None:
        began = self._chronicle.seconds
        for pause, disturbance in deal(self._settings):
            spent = self._chronicle.seconds - began
            if self._report.kills >= self._settings.kills and spent >= self._settings.seconds:
                break
            if spent > self._settings.limit_seconds:
                raise TroubleError(f"only {self._report.kills} kills within {spent:.0f} s")
            self._pass(pause)
            self._begin(disturbance)
        while self._active:
            self._pass(_POLL_SECONDS)

    def _begin(self, disturbance: Disturbance) -> None:
        stage = self._stage
        patience = time.monotonic() + _PATIENCE_SECONDS
        while not disturbance.ready(stage):
            self._pass(_POLL_SECONDS)
            if time.monotonic() > patience:
                self._skipped[disturbance.name] += 1
                self._chronicle.tell("skipped", f"{disturbance.name} is not possible now")
                return
        stage.counts[disturbance.name] += 1
        self._chronicle.tell(disturbance.name, disturbance.begin(stage))
        self._report.kills += disturbance.kills
        if disturbance.seconds:
            self._active.append((time.monotonic() + disturbance.seconds, disturbance))

    def _pass(self, seconds: float) -> None:
        """Let time pass; members are looked after and disturbances end meanwhile."""
        until = time.monotonic() + seconds
        while True:
            self._tick()
            left = until - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(_POLL_SECONDS, left))

    def _tick(self) -> None:
        self._stage.crew.tick()
        if self._stage.compactor is not None:
            self._stage.compactor.tick()
        for until, disturbance in list(self._active):
            if until <= time.monotonic() and disturbance.over():
                self._active.remove((until, disturbance))
                said = disturbance.end(self._stage)
                if said:
                    self._chronicle.tell(f"{disturbance.name}.ends", said)

    def _wait(self, what: str, condition: Callable[[], object], *, seconds: float) -> None:
        def met() -> object:
            self._tick()
            return condition()

        eventually(what, met, seconds=seconds, explain=lambda: ", ".join(describe(self._stage.crew.places)))

    # coming to rest

    def _settle(self) -> tuple[Kafka, list[str]]:
        """Take back all faults and let the members work off the lag; return the records, and what was not done."""
        stage, settings = self._stage, self._settings
        self._chronicle.tell("calm", "no fault is left; members that are down come back")
        stage.calm()
        for output in settings.outputs:
            if output.is_corrected and not stage.is_corrected(output.name):
                stage.correct(output)
        self._producers.ask_to_stop()
        self._wait("the producers end", self._producers.ended, seconds=_DRAIN_SECONDS)
        self._chronicle.tell("producers.stopped", f"{self._ledger.counts['acknowledged']:,} records acknowledged")
        began = self._chronicle.seconds
        kafka = self._examination.consumed()
        until = time.monotonic() + settings.settle_seconds
        problems = [problem for output in settings.outputs for problem in self._come_to_rest(output, kafka, until)]
        problems += self._await_replays(until)
        self._await_compaction(until)
        self._report.settle_seconds = self._chronicle.seconds - began
        self._chronicle.tell("rest", f"everything is stored {self._report.settle_seconds:.1f} s after the producers")
        return kafka, problems + self._dismiss()

    def _come_to_rest(self, output: Output, kafka: Kafka, until: float) -> Iterator[str]:
        """Wait until a group has done everything, until some monotonic second; yield what it did not do."""
        bootstrap, examination = self._stage.kafka.bootstrap, self._examination
        waits: list[tuple[str, Callable[[], bool], Callable[[], object]]] = [
            (
                "has stored everything",
                lambda: at_rest(bootstrap, output),
                lambda: {of: one for of, one in progress(bootstrap, output).items() if one.committed != one.end},
            )
        ]
        if output.has_table:
            waits += [
                (
                    "has finished what can be finished",
                    lambda: not self._unfinished(output, kafka),
                    lambda: self._unfinished(output, kafka)[:5],
                ),
                (
                    "has told the table everything",
                    lambda: not examination.untold(output),
                    lambda: examination.untold(output)[:5],
                ),
            ]
        for what, condition, stands in waits:
            try:
                self._wait(f"group {output.name} {what}", condition, seconds=max(0.0, until - time.monotonic()))
            except AssertionError as error:
                yield f"{output.name}: stuck: {error}; {stands()}"

    def _await_replays(self, until: float) -> Iterator[str]:
        """Wait until all history is stored again that was begun; yield what is not."""
        replays = [place for place in self._stage.crew.places if place.replays is not None]
        try:
            seconds = max(0.0, until - time.monotonic())
            self._wait("replays of history end", lambda: all(one.is_done for one in replays), seconds=seconds)
        except AssertionError as error:
            yield f"stuck: {error}"

    def _await_compaction(self, until: float) -> None:
        """Let whoever compacts do so once; a short run may have had no table before. If it does not, `goals` say so."""
        compactor = self._stage.compactor
        if compactor is not None:
            with suppress(AssertionError):
                seconds = min(_COMPACTION_SECONDS, max(0.0, until - time.monotonic()))
                self._wait("the table is compacted", lambda: compactor.counts().get("committed"), seconds=seconds)

    def _unfinished(self, output: Output, kafka: Kafka) -> list[str]:
        """Return folders that should be finished and are not, or that have objects which no manifest has."""
        watch = self._folder_watch
        assert watch is not None
        left = due(watch.seen.topic, kafka, output.layout, watch.seen.lateness_ms) - watch.seen.successes.keys()
        # One whose records all came late, and stand apart, does not exist.
        return sorted(filter(watch.exists, left)) or watch.incomplete()

    def _dismiss(self) -> list[str]:
        """Tell all members to stop; return what did not end as it should."""
        crew = self._stage.crew
        problems = []
        for place in crew.places:
            place.start_at = None
            if place.up:
                crew.leave(place)
        crew.dismiss_ghosts()
        if self._stage.compactor is not None:
            self._stage.compactor.kill()
        for what, condition in (
            ("all members end", lambda: all(place.process is None for place in crew.places)),
            ("those whose name was taken end", lambda: not crew.ghosts),
            ("nothing is left of former members", lambda: not crew.orphans()),
        ):
            try:
                self._wait(what, condition, seconds=_END_SECONDS)
            except AssertionError as error:
                problems.append(f"{error}; {crew.orphans()}")
        return problems

    # examining

    def _examine(self, kafka: Kafka) -> list[str]:
        self._chronicle.tell("examine", "reading the bucket, and asking verify")
        self._report.produced = {
            "records": sum(len(records) for records in kafka.values()),
            **dict(sorted(self._ledger.counts.items())),
        }
        problems = []
        for output in self._settings.outputs:
            found, numbers = self._examination.of(output, kafka)
            problems += found
            self._report.outputs.setdefault(output.name, {}).update(numbers)
        return problems

    def _take_numbers(self) -> None:
        report, stage, watch = self._report, self._stage, self._watch
        report.disturbances = dict(sorted(stage.counts.items()))
        report.skipped = dict(self._skipped)
        report.faults_met = dict(sorted(stage.met.items()))
        report.remarks = [f"{number} times {what}" for what, number in stage.crew.unexpected.items()]
        for group, pace in watch.paces.items():
            report.outputs[group] = {
                "members": self._settings.crews[group],
                "largest lag": pace.largest_lag,
                "longest standstill": f"{pace.longest_standstill:.0f} s",
            }
