"""``logpersister run``: check, then be a member of the group."""

import argparse
import time
from functools import partial

import structlog
from kafka.errors import KafkaError

from logpersister.cli import brokers, check, context
from logpersister.cli.exits import CommandError, Exit, UnreachableError
from logpersister.cli.progress import ProgressReporter
from logpersister.manifest import LogPersister, ManifestError
from logpersister.manifest.secrets import Secrets
from logpersister.member.process import MemberOptions, run_member
from logpersister.pipeline.session import fork_early
from logpersister.report import logs
from logpersister.report.server import BindError

log = structlog.get_logger(__name__)


def run(arguments: argparse.Namespace) -> int:
    """Run a member until it is stopped, or until everything is stored; return its exit code."""
    return run_of(context.manifest(arguments.file), arguments)


def run_of(resource: LogPersister, arguments: argparse.Namespace) -> int:
    """Run a member of a resource that is loaded; return its exit code."""
    fork_early(resource.spec.spark)
    logs.configure(arguments.log_format, arguments.log_level, context={"group": resource.group_id})
    shadow_of = None if arguments.shadow_of is None else stable_manifest(arguments, resource)
    secrets = context.secrets(arguments)
    until = time.monotonic() + (arguments.wait or 0.0)
    look = partial(check.before_start, until_current=arguments.until_current)
    look(resource, secrets, arguments.timeout, until)
    if shadow_of is not None:
        reach_stable(arguments, shadow_of, secrets)
    options = MemberOptions(
        until_current=arguments.until_current,
        member_name=arguments.member_name,
        instance_id=arguments.instance_id or arguments.member_name,
        http=arguments.http,
        cores=arguments.cores,
        shadow_of=shadow_of,
    )
    while True:
        try:
            return start(resource, secrets, options)
        except KafkaError as error:  # before the first round, which would have tried again
            if time.monotonic() >= until:
                raise UnreachableError(
                    f"spec.kafka: the brokers became unreachable after the check ({error})"
                ) from error
            log.warning("start.again", reason=f"the brokers became unreachable after the check ({error})")
        look(resource, secrets, arguments.timeout, until)


def start(resource: LogPersister, secrets: Secrets, options: MemberOptions) -> int:
    """Run the member; raises KafkaError when the brokers go before it has begun."""
    try:
        if not options.until_current:
            return run_member(resource, secrets, options)
        with ProgressReporter() as progress:
            return run_member(resource, secrets, options, progress.watch)
    except BindError as error:
        raise CommandError(str(error), Exit.INVALID) from error


def stable_manifest(arguments: argparse.Namespace, resource: LogPersister) -> LogPersister:
    """Load the manifest that ``--shadow-of`` names; nothing that its group has may be this member's, too."""
    if arguments.until_current:
        raise CommandError("--shadow-of does not end; leave out --until-current", Exit.INVALID)
    if resource.spec.table is not None:
        raise CommandError(
            f"{arguments.file}: spec.table: a shadow has no table, because its objects are for comparison; remove it",
            Exit.INVALID,
        )
    if resource.spec.finish is not None:
        raise CommandError(
            f"{arguments.file}: spec.finish: a shadow finishes no folders, because nobody reads them; remove it",
            Exit.INVALID,
        )
    stable = context.manifest(arguments.shadow_of)
    if stable.group_id == resource.group_id:
        raise CommandError(
            f"--shadow-of {arguments.shadow_of}: has the same group {stable.group_id}; give the shadow another",
            Exit.INVALID,
        )
    own, other = resource.spec.storage, stable.spec.storage
    if (own.endpoint, own.bucket, own.prefix) == (other.endpoint, other.bucket, other.prefix):
        raise CommandError(
            f"--shadow-of {arguments.shadow_of}: writes below the same prefix; give the shadow another",
            Exit.INVALID,
        )
    return stable


def reach_stable(arguments: argparse.Namespace, stable: LogPersister, secrets: Secrets) -> None:
    """Find out whether the old revision's brokers can be asked; what is wrong ends the command."""
    try:
        brokers.reach(stable, secrets, arguments.timeout)
    except (CommandError, ManifestError) as error:
        code = error.code if isinstance(error, CommandError) else Exit.INVALID
        raise CommandError(f"--shadow-of {arguments.shadow_of}: {error}", code) from None
