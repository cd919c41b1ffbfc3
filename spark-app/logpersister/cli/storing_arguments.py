"""Options of commands that store records, and of ``switch``. Loads nothing but the standard library."""

import argparse
import os
from typing import Final

from logpersister.cli.argument_types import count, patience, positive, size, topics, window, words

LOG_FORMATS: Final = ("auto", "console", "json", "logfmt")
LOG_LEVELS: Final = ("debug", "info", "warning", "error")
WAIT_VARIABLE: Final = "LOGPERSISTER_WAIT"
INSTANCE_VARIABLE: Final = "LOGPERSISTER_INSTANCE_ID"
"""The operator sets it (`logpersister_operator.render.instance_ids`)."""


def run(command: argparse.ArgumentParser) -> None:
    """Add the options of ``run``."""
    command.add_argument(
        "--until-current", action="store_true", help="end when everything that was in the topics at the start is stored"
    )
    waiting(command)
    process(command)
    command.add_argument(
        "--shadow-of",
        metavar="FILE",
        help="store the topics of -f in the group and below the prefix of -f, and compare the objects with those of "
        "the group of FILE (docs/commands.md)",
    )
    command.add_argument(
        "--member-name",
        metavar="NAME",
        help="static name in the group, unique among its members; a restart under the same name causes no rebalance "
        "(default: none; on Kubernetes the pod's name)",
    )
    command.add_argument(
        "--instance-id",
        default=os.environ.get(INSTANCE_VARIABLE),
        metavar="NAME",
        help="how the group calls this member (group.instance.id), where other members of the group may have the same "
        f"--member-name (default: ${INSTANCE_VARIABLE}, which the operator sets; otherwise --member-name)",
    )


def waiting(command: argparse.ArgumentParser) -> None:
    """Add the option of a member that waits for servers."""
    command.add_argument(
        "--wait",
        type=patience,
        default=os.environ.get(WAIT_VARIABLE),
        metavar="DURATION",
        help="how long to wait at the start for unreachable servers instead of ending with 3; wrong settings end at "
        f"once (default: ${WAIT_VARIABLE}, which is 2m in the image, otherwise 0s)",
    )


def served(command: argparse.ArgumentParser) -> None:
    """Add the option of a process that serves its reports."""
    command.add_argument(
        "--http",
        metavar="ADDR:PORT",
        help="serve /metrics, /healthz, /readyz, /status and pages for browsers there; port 0 selects a free one "
        "(default: not served)",
    )


def logged(command: argparse.ArgumentParser) -> None:
    """Add the options of a process that logs."""
    command.add_argument(
        "--log-format",
        choices=LOG_FORMATS,
        default="auto",
        help="auto: console on a terminal, json elsewhere (default)",
    )
    command.add_argument("--log-level", choices=LOG_LEVELS, default="info", help="default: info")


def process(command: argparse.ArgumentParser) -> None:
    """Add the options of a process that stores records."""
    served(command)
    command.add_argument(
        "--cores",
        type=positive,
        metavar="N",
        help="number of parallel tasks while Spark runs inside this process (default: all cores)",
    )
    logged(command)


def replay(command: argparse.ArgumentParser) -> None:
    """Add the options of ``replay``."""
    window(
        command,
        since="records of this time and later ones (default: all that the source has)",
        until="records before this time (default: all that the group has stored)",
    )
    topics(command)
    command.add_argument(
        "--source",
        choices=("auto", "kafka", "backup"),
        default="auto",
        help="auto: Kafka, and the backup for what Kafka has deleted (default)",
    )
    command.add_argument(
        "--backup", metavar="BACKUP", help="the LogPersister manifest of the backup, whose output is kafka"
    )
    command.add_argument(
        "--max-bytes-per-second",
        type=size,
        metavar="SIZE",
        help="read no more bytes of records in a second, uncompressed, to spare brokers and bucket (default: any)",
    )
    command.add_argument("--dry-run", action="store_true", help="show what would be stored again; write nothing")
    process(command)


def switch(command: argparse.ArgumentParser) -> None:
    """Add the options of ``switch``."""
    command.add_argument(
        "--to-generation",
        required=True,
        type=count,
        metavar="N",
        help="generation of a finished replay, or one in which members have stored: then no replay counts any more",
    )
    command.add_argument(
        "--topics", type=words, metavar="NAME,…", help="these topics only (default: all that were replayed)"
    )
    command.add_argument(
        "--delete-old",
        action="store_true",
        help="delete the objects of members that do not count any more; nobody can switch back then",
    )
    command.add_argument("--dry-run", action="store_true", help="write and delete nothing")
