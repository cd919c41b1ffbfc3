"""``logpersister check``: whether the manifest is right, and everything that it names can be reached."""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

import structlog

from logpersister import __version__
from logpersister.cli import context, policy
from logpersister.cli.check.bucket import bucket_findings, copy_findings
from logpersister.cli.check.finding import Finding
from logpersister.cli.check.kafka import kafka_findings
from logpersister.cli.check.registry import registry_findings
from logpersister.cli.check.spec import (
    columns_findings,
    left_out_findings,
    messages_findings,
    quarantine_findings,
    unused_findings,
)
from logpersister.cli.check.tables import metastore_findings, table_findings
from logpersister.cli.check.told import told_topic_findings, webhook_findings
from logpersister.cli.exits import CommandError, Exit
from logpersister.manifest import LogPersister, ManifestError
from logpersister.manifest.hiding_key import check_keys
from logpersister.manifest.revisions.revision import revision_of
from logpersister.manifest.secrets import Secrets
from logpersister.pipeline.rules import rules_of

log = structlog.get_logger(__name__)
PAUSE_SECONDS = 1.0
"""Between two looks at servers that are waited for."""
_Look = Callable[[LogPersister, Secrets, float], Iterator[Finding]]


def run(arguments: argparse.Namespace) -> int:
    """Print what was found; everything is looked at, whatever failed before."""
    resource, secrets = context.begin(arguments)
    if arguments.print_policy:
        sys.stdout.write(policy.write(resource, secrets, as_json=arguments.json))
        return Exit.OK
    failures: list[CommandError] = []
    findings: list[Finding] = []
    for finding in findings_of(resource, secrets, arguments.timeout, failures.append, told=True):
        findings.append(finding)
        if not arguments.json:
            print(finding, flush=True)
    if arguments.json:
        document = [{"subject": one.subject, "verdict": one.verdict, "message": one.message} for one in findings]
        print(json.dumps({"ok": not failures, "findings": document}))
    return max((error.code for error in failures), default=Exit.OK)


def before_start(
    resource: LogPersister,
    secrets: Secrets,
    seconds: float,
    until: float = 0.0,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    *,
    until_current: bool = False,
) -> None:
    """Do the same for ``run``: print only what is wrong, and raise `CommandError` for what prevents the start.

    What may pass by itself is waited for `until` then (by the clock). What no waiting can mend ends at once.
    `until_current`: topics must exist, since none is stored later; those that may not be read are named at the end.
    """
    told = ""
    while True:
        failures: list[CommandError] = []
        findings = list(findings_of(resource, secrets, seconds, failures.append, topics_exist=until_current))
        left = until - clock()
        if not failures or left <= 0 or not all(error.may_pass for error in failures):
            break
        reasons = "; ".join(map(str, failures))
        if reasons != told:
            told = reasons
            log.warning("start.waits", reason=reasons, at_most_seconds=round(left))
        sleep(min(PAUSE_SECONDS, left))
    for finding in findings:
        if finding.verdict != "ok":
            print(finding, file=sys.stderr, flush=True)
    if failures:
        code = max(error.code for error in failures)
        raise CommandError("nothing was started; correct the above and try again", code)
    if told:
        log.info("start.goes_on")


def findings_of(
    resource: LogPersister,
    secrets: Secrets,
    seconds: float,
    fail: Callable[[CommandError], object],
    *,
    told: bool = False,
    topics_exist: bool = False,
) -> Iterator[Finding]:
    """Yield the findings as they come; `fail` is told the error of each that is a failure.

    Args:
        told: look at those, too, who are told of folders, and at earlier versions of schemas. No member waits for them
            with its start.
        topics_exist: a topic that does not exist is a failure.
    """
    revision = revision_of(resource, __version__, rules_of(resource)).hash
    generation = resource.spec.generation
    yield Finding("manifest", "ok", f"group {resource.group_id}, generation {generation}, revision {revision}")
    yield from unused_findings(resource.spec)
    yield from messages_findings(resource.spec)
    yield from columns_findings(resource.spec)
    yield from table_findings(resource.spec)
    yield from left_out_findings(resource.spec)
    yield from quarantine_findings(resource.spec)
    copies = [(f"copy {one}", partial(copy_findings, one)) for one in range(1, len(resource.spec.storage.stores))]
    tellers: list[tuple[str, _Look]] = [
        *copies,
        ("table", metastore_findings),
        ("webhook", webhook_findings),
        ("told", told_topic_findings),
    ]
    kafka = partial(kafka_findings, topics_exist=topics_exist, describes=told)
    bucket_ = partial(bucket_findings, refuses=told)
    registries = partial(registry_findings, compares=told)
    looks: list[tuple[str, _Look]] = [
        ("schema", _keys_findings),
        ("kafka", kafka),
        ("bucket", bucket_),
        ("registry", registries),
        *(tellers if told else ()),
    ]
    for subject, look in looks:
        try:
            yield from look(resource, secrets, seconds)
        except (CommandError, ManifestError) as error:  # of a Secret that cannot be used
            failure = error if isinstance(error, CommandError) else CommandError(str(error), Exit.INVALID)
            fail(failure)
            yield Finding(subject, "failed", str(failure))


def _keys_findings(resource: LogPersister, secrets: Secrets, _: float) -> Iterator[Finding]:
    for name in check_keys((one.row_schema for one in resource.spec.variants()), secrets):
        yield Finding("schema", "ok", f"Secret {name}: has the key of hashed fields")
