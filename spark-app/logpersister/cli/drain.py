"""``logpersister drain``: store, or send, what waits now, then end."""

import argparse

from logpersister.cli import collect, context
from logpersister.cli.exits import CommandError, Exit, UnreachableError
from logpersister.feeds.process import CollectorOptions
from logpersister.manifest import FeedCollector
from logpersister.report import logs
from logpersister.report.human import plural


def run(arguments: argparse.Namespace) -> int:
    """Be a member until all that was in the topics at the start is stored; of a collector, send the spool."""
    resource = context.either(arguments.file)
    if isinstance(resource, FeedCollector):
        return send(resource, arguments)
    # Only here: it takes seconds to import what stores records.
    from logpersister.cli.run import run_of  # noqa: PLC0415

    return run_of(resource, arguments)


def send(collector: FeedCollector, arguments: argparse.Namespace) -> int:
    """Send what a spool has. No feed is asked."""
    logs.configure(arguments.log_format, arguments.log_level, context={"collector": collector.name})
    spool = collect.spool_of(collector, arguments)
    if not spool.is_dir():
        remedy = "name the directory that the collector had"
        raise CommandError(f"--spool {spool}: there is none, so nothing can be sent; {remedy}", Exit.INVALID)
    options = CollectorOptions(collect.name_of_process(), spool, arguments.http, drains=True)
    left = collect.start(collector, context.secrets(arguments), options)
    if left:
        raise UnreachableError(
            f"{plural(left, 'record')} stayed in {spool}: Kafka took none for spec.shutdownGrace, or this was ended; "
            "the log says why; repeat this"
        )
    return Exit.OK
