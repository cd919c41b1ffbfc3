"""Options of commands that look after what runs, or what is stored. Loads nothing but the standard library."""

import argparse
from typing import Final

from logpersister.cli import storing_arguments
from logpersister.cli.argument_types import topics, window, words

STATUS: Final = "http://localhost:8080"
"""Where members listen in pods, and ``kubectl port-forward`` with them."""


def spool(command: argparse.ArgumentParser) -> None:
    """Add the option of a process that has a spool."""
    command.add_argument(
        "--spool",
        metavar="DIR",
        help="directory, of this process alone, for what Kafka does not have yet (default: <metadata.name>.spool)",
    )


def drain(command: argparse.ArgumentParser) -> None:
    """Add the options of ``drain``: to a LogPersister it is ``run --until-current``, under no name of a member."""
    storing_arguments.waiting(command)
    storing_arguments.process(command)
    spool(command)
    command.set_defaults(until_current=True, shadow_of=None, member_name=None, instance_id=None)


def delete(command: argparse.ArgumentParser) -> None:
    """Add the options of ``delete``."""
    window(
        command,
        since="this time and later ones (default: from the first record on)",
        until="before this time; folders that are not over by then stay",
        has_end=True,
    )
    topics(command)
    command.add_argument("--dry-run", action="store_true", help="delete nothing, and say what would be")
    command.add_argument("--yes", action="store_true", help="delete without asking, as scripts do")


def top(command: argparse.ArgumentParser) -> None:
    """Add the options of ``top``."""
    command.add_argument(
        "--status",
        type=words,
        default=[STATUS],
        metavar="URL,…",
        help=f"addresses that members or collectors serve by --http (default: {STATUS})",
    )
    command.add_argument("--once", action="store_true", help="show it once, as it is done where there is no terminal")
