"""What `logpersister check` says of brokers, topics and the group."""

from collections.abc import Iterator

from logpersister.cli import brokers, taken
from logpersister.cli.brokers import NEW, describe_group
from logpersister.cli.check.finding import Finding, tell_or_refuse
from logpersister.cli.check.spec import names_findings, overrides_findings
from logpersister.cli.check.tables import table_names_findings
from logpersister.cli.exits import UnreachableError
from logpersister.forms.problems import some_of
from logpersister.kafka_client import BrokerReport
from logpersister.manifest import LogPersister
from logpersister.manifest.secrets import Secrets
from logpersister.manifest.spec import Spec
from logpersister.report.human import plural
from logpersister.report.lines import partitions_text


def kafka_findings(
    resource: LogPersister, secrets: Secrets, seconds: float, *, topics_exist: bool, describes: bool
) -> Iterator[Finding]:
    """Look at brokers and topics; `describes`: at the group, too, which a member joins whatever it is like.

    Topics that may not be read end `check` once everything else was looked at; a member starts without them.
    """
    report = brokers.reach(resource, secrets, seconds, some_topics=True)
    yield Finding("kafka", "ok", f"{report.address}: {plural(report.brokers, 'broker')}")
    for problem in report.unreachable:
        yield Finding("kafka", "warning", str(problem))
    for problem in () if describes else report.refused.values():
        meanwhile = "nothing of this topic is stored" if topics_exist else "this topic waits, and all others do not"
        yield Finding("topics", "warning", f"{problem}; {meanwhile}")
    if report.topics:
        yield Finding("topics", "ok", _topics(report.topics))
    if report.leaderless:
        told = f"{partitions_text(report.leaderless)}: no leader, so nobody can read or write"
        remedy = "start the broker that has the replica; the partitions are stored then, all others are not affected"
        yield Finding("topics", "warning", f"{told}; {remedy}")
    yield from _absent_topics(resource.spec, report, topics_exist=topics_exist)
    yield from overrides_findings(resource.spec, report.topics)
    yield from names_findings(resource, report.topics)
    yield from table_names_findings(resource.spec, report.topics)
    if not describes:
        return
    config = brokers.config(resource, secrets, seconds, report)
    group = describe_group(config, resource.group_id, seconds)
    if group.state == NEW:
        yield Finding("group", "ok", f"{resource.group_id}: new, nothing is committed")
    else:
        yield Finding("group", "ok", f"{resource.group_id}: {group.state}, {plural(len(group.members), 'member')}")
    committed = taken.committed(resource, config, report.topics, seconds)
    yield from (Finding("group", "warning", told) for told in taken.foreign_offsets(resource, committed))
    yield from tell_or_refuse("group", taken.group_problems(resource, group, committed), refuses=True)
    if report.refused:
        raise UnreachableError("\n".join(map(str, report.refused.values())))


def _absent_topics(spec: Spec, report: BrokerReport, *, topics_exist: bool) -> Iterator[Finding]:
    """Say which topics do not exist; raises UnreachableError if they must."""
    if report.missing_topics:
        problem = f"spec.kafka.topics: {', '.join(report.missing_topics)}: the topic does not exist"
        later, remedy = "it is stored as soon as it exists", "create it, or remove it from the list"
    elif not report.topics:
        problem = f'spec.kafka.topicPattern: "{spec.kafka.topic_pattern}" matches no topic yet'
        later, remedy = "topics that match join by themselves", "create the topics first, or correct the pattern"
    else:
        return
    meant = f"; did you mean {' and '.join(report.similar_topics)}?" if report.similar_topics else ""
    if topics_exist:
        raise UnreachableError(f"{problem}; {remedy}{meant}")
    yield Finding("topics", "warning", f"{problem}; {later}{meant}")


def _topics(topics: dict[str, int]) -> str:
    names = some_of([f"{name} ({count})" for name, count in sorted(topics.items())])
    return f"{plural(len(topics), 'topic')}, {plural(sum(topics.values()), 'partition')}: {names}"
