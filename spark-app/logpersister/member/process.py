"""The life of a member's process: start everything, turn the cycle, stop in order."""

import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from enum import IntEnum
from functools import partial

import structlog

from logpersister import __version__
from logpersister.group.membership import FencedError
from logpersister.kafka_client.causes import in_words, is_of_kafka
from logpersister.manifest import LogPersister
from logpersister.manifest.hiding_key import check_keys
from logpersister.manifest.revisions.revision import revision_of
from logpersister.manifest.secrets import Secrets
from logpersister.member.assembly import Assembly, assemble
from logpersister.member.bounded import Replay
from logpersister.member.connectivity import connectivity_probes
from logpersister.member.duties import performing
from logpersister.member.outages import OutageMonitor
from logpersister.member.reports import Reports
from logpersister.member.shadow.watch import ShadowWatch, comparing, seconds_between
from logpersister.member.spark_watch import SparkLostError, SparkWatch, warm_up
from logpersister.member.summary import banner
from logpersister.member.target_offsets import (
    NoTopicsError,
    TargetOffsets,
    behind,
    reasons_behind,
    target_offsets_of,
)
from logpersister.pages.member import MemberSource
from logpersister.pages.site import Site
from logpersister.pipeline.rules import rules_of
from logpersister.ranges import Offset, TopicPartition
from logpersister.report import logs
from logpersister.report.document import status_of
from logpersister.report.facts import Identity
from logpersister.report.health import Condition, Health
from logpersister.report.human import duration
from logpersister.report.metrics import Metrics
from logpersister.report.outages import PROBED, Outage, Server
from logpersister.report.server import Endpoints, ReportServer
from logpersister.report.status import MemberState, StatusBoard
from logpersister.stopping import Stop

log = structlog.get_logger(__name__)

SPARK_LIMIT = timedelta(seconds=90)
GROUP_LIMIT = timedelta(seconds=60)
CYCLE_LIMIT = timedelta(minutes=5)
"""A turn asks Kafka and S3, each with a deadline; many topics that time out take a while."""
START_LIMIT = timedelta(minutes=3)
JOINING_SECONDS = 5.0
"""How long it takes to join a group in which nobody has to be waited for."""
RETRY_SECONDS = 1.0
SHOW_SECONDS = 2.0
"""How often the state of all partitions is summed up for reports; a busy member has many turns a second."""


class ExitCode(IntEnum):
    """Exit codes of ``logpersister run``, beside that of a bad manifest."""

    DONE = 0
    FAILED = 1
    """Spark ended although nobody asked; a new process may work."""
    UNREACHABLE = 3
    """A topic of ``--until-current`` does not exist, cannot be read, or was deleted meanwhile."""
    HELD = 4
    """``--until-current`` cannot be reached: partitions are held, or have no schema; or a duty of it has failed."""
    FENCED = 5
    """Another process has taken this member's name."""


_CODES: Mapping[type[Exception], ExitCode] = {
    FencedError: ExitCode.FENCED,
    NoTopicsError: ExitCode.UNREACHABLE,
    SparkLostError: ExitCode.FAILED,
}


@dataclass(frozen=True, slots=True)
class MemberOptions:
    """What is said on the command line and not in the manifest."""

    until_current: bool = False
    member_name: str | None = None
    """How this member is called in metrics, status and logs."""
    instance_id: str | None = None
    """Name for static membership: a restart under the same name does not rebalance the group."""
    http: str | None = None
    """Address of the report endpoint, ``host:port``; none when not given."""
    cores: int | None = None
    """Tasks at once when Spark runs inside this process."""
    shadow_of: LogPersister | None = None
    """The old revision's manifest: this member stores what that stores, elsewhere, and compares."""
    replay: Replay | None = None
    """What this member stores again, beside the group of the manifest."""

    def group_of(self, resource: LogPersister) -> str:
        """Return the consumer group that the member joins."""
        return resource.group_id if self.replay is None else self.replay.group_id


def run_member(
    resource: LogPersister,
    secrets: Secrets,
    options: MemberOptions,
    on_start: Callable[[StatusBoard], None] = lambda _: None,
) -> int:
    """Run a member until it is stopped by a signal, current, or fenced; return the exit code."""
    check_keys((one.row_schema for one in resource.spec.variants()), secrets)
    revision = revision_of(resource, __version__, rules_of(resource))
    name = options.member_name or f"{socket.gethostname()}-{os.getpid()}"
    identity = Identity(options.group_of(resource), resource.spec.generation, revision.hash, name, __version__)
    board, health = StatusBoard(identity), Health()
    metrics = Metrics(board)
    log.info("member.starts", **banner(resource, identity))
    on_start(board)
    readiness = Readiness(health)  # first of all: who asks while Spark starts must not be told that all is well
    stop = Stop()
    with ExitStack() as stack, stop.on_signals():
        if options.http is not None:
            site = stack.enter_context(Site(MemberSource(board, metrics)))
            server = stack.enter_context(ReportServer(options.http, Endpoints(metrics, status_of(board), health, site)))
            log.info("reports.served", address=server.address)
        reports = Reports(metrics, board)
        group_probe = health.probe("membership", GROUP_LIMIT, START_LIMIT)
        assembly = stack.enter_context(
            assemble(
                resource,
                revision,
                secrets,
                reports,
                member=identity.member,
                instance_id=options.instance_id,
                cores=options.cores,
                wake=stop.wake,
                on_poll=group_probe.beat,
                replay=options.replay,
            )
        )
        group_probe.watch(assembly.group.thread)
        stop.listen()
        warm_up(assembly.jobs.warm_up(), stop)
        spark_probe = health.probe("spark", SPARK_LIMIT, START_LIMIT)
        spark = stack.enter_context(SparkWatch(assembly.jobs, spark_probe, board, stop))
        if options.shadow_of is not None:
            stack.enter_context(shadowing(resource, options.shadow_of, secrets, assembly, board))
        perform_once_more = stack.enter_context(performing(assembly.duties, assembly.group.ownership, reports))
        member = Member(resource, assembly, spark, reports, board, metrics, health, readiness, stop)
        session = resource.spec.kafka.session_timeout.total_seconds()
        probes, refusals = connectivity_probes(resource, secrets), reports.refusals
        outages = stack.enter_context(OutageMonitor(probes, session, member.on_outages, refusals.outages))
        refused = partial(refusals.failed, "kafka", is_cause=True)
        stack.enter_context(logs.kafka_complaints.taken_by(outages.complain, refused))
        try:
            code = member.run(until_current=options.until_current)
            if options.until_current and code == ExitCode.DONE and not perform_once_more():
                code = ExitCode.HELD
        except (FencedError, NoTopicsError, SparkLostError) as error:
            board.state(MemberState.FAILED, str(error))
            log.error("member.failed", message=str(error))  # noqa: TRY400 - the message says all of it
            return _CODES[type(error)]
        board.state(MemberState.STOPPED)
    totals = board.snapshot().totals
    log.info("member.stopped", exit_code=int(code), records=totals.records, quarantined=totals.quarantined)
    return code


@contextmanager
def shadowing(
    resource: LogPersister,
    stable: LogPersister,
    secrets: Secrets,
    assembly: Assembly,
    board: StatusBoard,
) -> Iterator[None]:
    """Let the member follow the old revision's group, range by range, and compare what both store."""
    cycle = assembly.cycle
    cycle.targets = {}  # nothing is due before it is known how far the other group is

    def aim(targets: Mapping[TopicPartition, Offset]) -> None:
        cycle.targets = targets

    with comparing(resource, stable, secrets, assembly.group.ownership) as comparer:
        cycle.resolver.start_offsets.begin_at = comparer.begin_at
        watch = ShadowWatch(comparer, seconds_between(resource), aim, board.shadow)
        watch.start()
        try:
            yield
        finally:
            watch.close()


class Readiness:
    """What must have happened before a member counts as ready."""

    def __init__(self, health: Health) -> None:
        self.joined = health.condition("group")
        self.looked = health.condition("first-look")
        self._health = health
        self.servers: dict[Server, Condition] = {}
        for server in PROBED:
            self.of(server).set(met=True, message="reached at the start")

    def of(self, server: Server) -> Condition:
        """Return the condition of a server; one that is not probed has none before its first outage."""
        if server not in self.servers:
            self.servers[server] = self._health.condition(server)
        return self.servers[server]


class Member:
    """Turns the cycle, and shows that and how it does."""

    def __init__(
        self,
        resource: LogPersister,
        assembly: Assembly,
        spark: SparkWatch,
        reports: Reports,
        board: StatusBoard,
        metrics: Metrics,
        health: Health,
        readiness: Readiness,
        stop: Stop,
    ) -> None:
        self._resource = resource
        self._assembly = assembly
        self._spark = spark
        self._cycle = assembly.cycle
        self._group = assembly.group
        self._reports = reports
        self._board = board
        self._metrics = metrics
        self._stop = stop
        self._readiness = readiness
        self._probe = health.probe("cycle", CYCLE_LIMIT, START_LIMIT)
        self._began = time.monotonic()
        self._targets: TargetOffsets | None = None
        """Targets with ``--until-current``; else None."""
        self._outages: dict[Server, Outage] = {}
        self._draining = False
        self._state = MemberState.JOINING
        self._state_since = time.monotonic()
        self._waits = False
        """Whether it is logged that joining waits for somebody."""
        self._shown_at = float("-inf")
        self._unshown = False

    def run(self, *, until_current: bool) -> ExitCode:
        """Run until a signal comes, or with ``until_current`` until all that is there now is stored.

        Raises:
            FencedError: another process has taken this member's name.
            NoTopicsError: ``until_current`` names topics that do not exist.
            SparkLostError: Spark ended although nobody asked.
        """
        if self._stop.asked:  # while Spark started
            return ExitCode.DONE
        if until_current:
            self._targets = target_offsets_of(self._resource.spec.kafka, self._assembly.offsets, time.monotonic)
            self._cycle.targets = self._targets.ends
        self._board.state(MemberState.JOINING)
        self._state_since = time.monotonic()
        self._group.start()
        code = self._turn_until_stopped()
        self._drain()
        return code

    def _turn_until_stopped(self) -> ExitCode:
        while not self._stop.asked:
            self._stop.wake.clear()
            self._spark.raise_if_lost()
            code = self._turn()
            if code is not None:
                return code
            until_next = self._cycle.seconds_to_next()
            soon = self._unshown or self._state is MemberState.JOINING
            self._stop.wake.wait(min(until_next, SHOW_SECONDS) if soon else until_next)
        return ExitCode.DONE

    def _turn(self, *, promising: bool = True) -> ExitCode | None:
        """Do one turn; return the exit code when ``--until-current`` is over."""
        self._group.raise_if_fatal()
        started = time.perf_counter()
        code: ExitCode | None = None
        try:
            self._cycle.turn(promising=promising)
            code = self._current(self._targets) if promising and self._targets is not None else None
        except Exception as error:  # Kafka or S3 is away; nothing was decided, so the next turn may try again
            if is_of_kafka(error):
                self._reports.refusals.failed("kafka", in_words(error))
            away = next(iter(self._outages.values()), None)
            if away is None:  # else it is logged already, and in better words
                log.warning("cycle.failed", error=in_words(error), retry_seconds=RETRY_SECONDS)
            self._board.lag_unknown(in_words(error) if away is None else str(away))
            self._metrics.lag_unknown()
            time.sleep(RETRY_SECONDS)
        else:
            if any(partition not in self._cycle.unreadable for partition in self._cycle.states.owned()):
                self._reports.refusals.worked("kafka")
            self._show(at_once=code is not None or not promising)
            self._readiness.looked.set(met=True)
        self._metrics.cycle(time.perf_counter() - started)
        self._probe.beat()
        self._show_state()
        return code

    def on_outages(self, outages: tuple[Outage, ...]) -> None:
        """Show what is away; on the thread of the monitor, since a turn may wait for a server that is away."""
        # Without its copies a member does all but finish folders.
        self._outages = {outage.server: outage for outage in outages if outage.server != "copy"}
        self._board.outages(outages)
        for server in self._outages:
            self._readiness.of(server)
        for server, condition in self._readiness.servers.items():
            away = self._outages.get(server)
            met = away is None or not away.lasting
            condition.set(met=met, message="reached" if away is None else str(away))
        self._show_state()

    def _show_state(self) -> None:
        kafka = self._outages.get("kafka")
        # kafka-python does not notice that the session is over before a broker tells it so.
        joined = self._group.joined and not (kafka is not None and kafka.lasting)
        message = "; ".join(map(str, self._outages.values()))
        self._readiness.joined.set(met=joined, message="joined" if joined else "not in the group")
        if self._draining:
            return
        state = MemberState.RUNNING if joined else MemberState.JOINING
        if state != self._state:
            self._state, self._state_since, self._waits = state, time.monotonic(), False
            log.info("member.state", state=str(state), **({"message": message} if message else {}))
        self._board.state(state, message or self._awaited())

    def _awaited(self) -> str:
        """Return for whom joining waits, once it takes longer than it does when there is nobody; else nothing."""
        if self._state is not MemberState.JOINING or time.monotonic() - self._state_since < JOINING_SECONDS:
            return ""
        longest = duration(self._resource.spec.kafka.session_timeout.total_seconds())
        message = (
            "the group waits for the session of a member that ended without leaving, "
            f"or for one that still ends its work: usually up to {longest} (spec.kafka.sessionTimeout)"
        )
        if not self._waits:
            self._waits = True
            log.info("member.waits", message=message)
        return message

    def _show(self, *, at_once: bool) -> None:
        now = time.monotonic()
        self._unshown = not at_once and now - self._shown_at < SHOW_SECONDS
        if not self._unshown:
            self._shown_at = now
            self._reports.show(self._cycle, self._group)
            if self._assembly.replay is not None:
                self._board.replay(self._assembly.replay.progress(self._cycle.states.positions()))

    def _current(self, targets: TargetOffsets) -> ExitCode | None:
        cycle = self._cycle
        if not self._group.joined or cycle.execution.jobs_in_flight:
            return None
        targets.ask_again(self._assembly.offsets)
        left = behind(targets.ends, cycle.states, self._group.register)
        if not left and not targets.unread:
            return ExitCode.DONE
        targets.find_deleted_topics({partition.topic for partition in left}, self._assembly.offsets)
        reasons = reasons_behind(targets, left, cycle, self._reports.refusals, self._began)
        if reasons.keys() != left.keys() | targets.unread.keys():
            return None
        for partition in sorted(reasons):
            log.error("partition.not_current", partition=str(partition), reason=reasons[partition])
        away = {"topic-deleted", "unreadable", "no-answer"} & set(reasons.values())
        return ExitCode.UNREACHABLE if away else ExitCode.HELD

    def _drain(self) -> None:
        """Let running jobs end within the grace, commit what is stored, leave the rest pending."""
        grace = self._resource.spec.shutdown_grace.total_seconds()
        deadline = time.monotonic() + grace
        execution = self._cycle.execution
        self._draining = True
        self._board.state(MemberState.DRAINING)
        log.info("member.draining", jobs=execution.jobs_in_flight, grace_seconds=grace)
        while execution.jobs_in_flight and not self._stop.at_once and time.monotonic() < deadline:
            self._stop.wake.clear()
            self._turn(promising=False)
            self._stop.wake.wait(min(1.0, max(0.0, deadline - time.monotonic())))
        if not self._stop.at_once:
            self._turn(promising=False)
        if execution.jobs_in_flight:
            log.warning("member.leaves_pending", ranges=execution.ranges_in_flight)
            self._assembly.jobs.cancel()
