"""The life of a member's process: start everything, turn the cycle, stop in order."""

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from enum import IntEnum
from types import FrameType

import structlog

from logpersister import __version__
from logpersister.formats.registry import make_format
from logpersister.group.membership import FencedError, Membership, MembershipSettings
from logpersister.group.offsets import OffsetReader
from logpersister.kafka_client import client_config
from logpersister.manifest import LogPersister
from logpersister.manifest.revision import Revision, revision_of
from logpersister.manifest.secrets import Secrets
from logpersister.member.current import NoTopicsError, behind, targets
from logpersister.member.cycle import Cycle
from logpersister.member.execution import MOST_JOBS
from logpersister.member.memory import BucketMemory
from logpersister.member.ports import World
from logpersister.member.reports import Reports
from logpersister.member.sampling import FormatSampler
from logpersister.pipeline.equipment import open_reader
from logpersister.pipeline.job import SparkJobs
from logpersister.pipeline.session import start_session
from logpersister.report.facts import Identity
from logpersister.report.health import Health, Probe
from logpersister.report.metrics import Metrics
from logpersister.report.server import ReportServer
from logpersister.report.status import MemberState, StatusBoard
from logpersister.storage.store import open_store

log = structlog.get_logger(__name__)

SPARK_ASK_SECONDS = 10.0
SPARK_LIMIT = timedelta(seconds=90)
GROUP_LIMIT = timedelta(seconds=60)
CYCLE_LIMIT = timedelta(minutes=5)
"""A round asks Kafka and S3, each with a deadline; many topics that time out take a while."""
START_LIMIT = timedelta(minutes=3)


class ExitCode(IntEnum):
    """Exit codes of ``logpersister run``, beside those of a bad manifest or an unreachable server."""

    DONE = 0
    HELD = 4
    """``--until-current`` cannot be reached: partitions are held."""
    FENCED = 5
    """Another process has taken this member's name."""


@dataclass(frozen=True, slots=True)
class MemberOptions:
    """What is said on the command line and not in the manifest."""

    until_current: bool = False
    member_name: str | None = None
    """Name for static membership: a restart under the same name does not rebalance the group."""
    http: str | None = None
    """Address of the report endpoint, ``host:port``; none when not given."""
    cores: int | None = None
    """Tasks at once when Spark runs inside this process."""


def run_member(
    resource: LogPersister,
    secrets: Secrets,
    options: MemberOptions,
    on_start: Callable[[StatusBoard], None] = lambda _: None,
) -> int:
    """Run a member until it is stopped by a signal, current, or fenced; return the exit code."""
    revision = revision_of(resource, __version__)
    name = options.member_name or f"{socket.gethostname()}-{os.getpid()}"
    identity = Identity(resource.group_id, resource.spec.generation, revision.hash, name, __version__)
    board, metrics, health = StatusBoard(identity), Metrics(identity), Health()
    on_start(board)
    stop = _Stop()
    with ExitStack() as stack, stop.on_signals():
        if options.http is not None:
            server = stack.enter_context(ReportServer(options.http, metrics, board, health))
            log.info("reports.served", address=server.address)
        member = _Member(resource, revision, secrets, options, board, metrics, health, stop, stack)
        try:
            code = member.run()
        except (FencedError, NoTopicsError) as error:
            board.state(MemberState.FAILED, str(error))
            log.error("member.failed", message=str(error))  # noqa: TRY400 - the message says all of it
            return ExitCode.FENCED if isinstance(error, FencedError) else 3
        board.state(MemberState.STOPPED)
        log.info("member.stopped", exit_code=int(code))
        return code


class _Stop:
    """The first signal asks the member to end in order; a second one to end at once."""

    def __init__(self) -> None:
        self.wake = threading.Event()
        self.asked = False
        self.at_once = False

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self.at_once = self.asked
        self.asked = True
        self.wake.set()

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        before = {number: signal.signal(number, self._on_signal) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def again(self) -> None:
        """Take the signals back from pyspark, which installs handlers of its own when a session starts."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)


class _Member:
    """Everything that a running member holds."""

    def __init__(
        self,
        resource: LogPersister,
        revision: Revision,
        secrets: Secrets,
        options: MemberOptions,
        board: StatusBoard,
        metrics: Metrics,
        health: Health,
        stop: _Stop,
        stack: ExitStack,
    ) -> None:
        spec = resource.spec
        self._resource = resource
        self._options = options
        self._board = board
        self._metrics = metrics
        self._stop = stop
        self._joined = health.condition("group")
        self._looked = health.condition("first-look")
        self._cycle_probe = health.probe("cycle", CYCLE_LIMIT, START_LIMIT)
        group_probe = health.probe("membership", GROUP_LIMIT, START_LIMIT)
        spark_probe = health.probe("spark", SPARK_LIMIT, START_LIMIT)

        config = client_config(spec.kafka, secrets)
        read_committed = spec.kafka.isolation_level == "read_committed"
        self.offsets = OffsetReader(config, resource.group_id, read_committed=read_committed)
        stack.callback(self.offsets.close)
        store = open_store(spec.storage, secrets)
        stack.callback(store.close)
        reader = open_reader(resource, secrets)
        stack.callback(reader.close)
        session = start_session(
            f"logpersister {resource.name}", spec.spark.conf, executors=spec.spark.executors, cores=options.cores
        )
        stop.again()
        self.jobs = SparkJobs(session, MOST_JOBS)
        stack.callback(self.jobs.close)
        threading.Thread(target=_ask_spark, args=(self.jobs, spark_probe), name="spark-health", daemon=True).start()
        self.group = Membership(
            config, _membership(resource, options), on_poll=group_probe.beat, on_change=stop.wake.set
        )
        stack.callback(self.group.stop)
        self.reports = Reports(metrics, board)
        world = World(
            group=self.group,
            offsets=self.offsets,
            memory=BucketMemory(store, resource.group_id, spec.generation, revision.hash),
            jobs=self.jobs,
            sampler=FormatSampler(reader, make_format(spec.output)),
        )
        self.cycle = Cycle(resource, revision, world, listener=self.reports, wake=stop.wake)

    def run(self) -> int:
        if self._options.until_current:
            self.cycle.targets = targets(self._resource.spec.kafka, self.offsets, self.offsets.topics_matching)
        self._board.state(MemberState.JOINING)
        self.group.start()
        code = self._turn_until_stopped()
        self._drain()
        return code

    def _turn_until_stopped(self) -> int:
        while not self._stop.asked:
            self._stop.wake.clear()
            self._turn(promising=True)
            if self.cycle.targets is not None and self.group.joined:
                code = self._current()
                if code is not None:
                    return code
            self._stop.wake.wait(self.cycle.seconds_to_next())
        return ExitCode.DONE

    def _turn(self, *, promising: bool) -> None:
        self.group.raise_if_fatal()
        started = time.perf_counter()
        try:
            self.cycle.turn(promising=promising)
        except Exception as error:  # Kafka or S3 is away; nothing was decided, so the next round may try again
            log.warning("cycle.failed", error=repr(error))
            self._board.lag_unknown(f"{type(error).__name__}: {error}")
            self._metrics.lag_unknown()
            self._stop.wake.wait(1.0)
        else:
            self.reports.show(self.cycle, self.group.rebalances)
            self._looked.set(True)
        self._metrics.cycle(time.perf_counter() - started)
        self._cycle_probe.beat()
        self._joined.set(self.group.joined, "joined" if self.group.joined else "not in the group")
        if promising:
            self._board.state(MemberState.RUNNING if self.group.joined else MemberState.JOINING)

    def _current(self) -> int | None:
        """Return the exit code when the work of ``--until-current`` is over."""
        if self.cycle.targets is None or self.cycle.execution.jobs_in_flight:
            return None
        left = behind(self.cycle.targets, self.cycle.book, self.offsets)
        if not left:
            return ExitCode.DONE
        held = self.cycle.book.held()
        if left.keys() <= held.keys():
            for partition in left:
                log.error("partition.not_current", partition=str(partition), reason=held[partition].reason)
            return ExitCode.HELD
        return None

    def _drain(self) -> None:
        """Let running jobs end within the grace, commit what is stored, leave the rest pending."""
        grace = self._resource.spec.shutdown_grace.total_seconds()
        deadline = time.monotonic() + grace
        self._board.state(MemberState.DRAINING)
        log.info("member.draining", jobs=self.cycle.execution.jobs_in_flight, grace_seconds=grace)
        while self.cycle.execution.jobs_in_flight and not self._stop.at_once and time.monotonic() < deadline:
            self._stop.wake.clear()
            self._turn(promising=False)
            self._stop.wake.wait(min(1.0, max(0.0, deadline - time.monotonic())))
        self._turn(promising=False)
        if self.cycle.execution.jobs_in_flight:
            log.warning("member.leaves_pending", ranges=self.cycle.execution.ranges_in_flight)
            self.jobs.cancel()


def _membership(resource: LogPersister, options: MemberOptions) -> MembershipSettings:
    kafka = resource.spec.kafka
    return MembershipSettings(
        group_id=resource.group_id,
        topics=kafka.topics or (),
        topic_pattern=kafka.subscription_pattern if kafka.topic_pattern is not None else None,
        instance_id=options.member_name,
        session_timeout_seconds=kafka.session_timeout.total_seconds(),
        revocation_grace_seconds=resource.spec.shutdown_grace.total_seconds(),
    )


def _ask_spark(jobs: SparkJobs, probe: Probe) -> None:
    """Beat as long as Spark's JVM answers."""
    while True:
        try:
            if not jobs.answers():
                probe.stop()
                return
            probe.beat()
        except Exception as error:
            probe.fail(f"Spark does not answer: {error!r}")
            return
        time.sleep(SPARK_ASK_SECONDS)
