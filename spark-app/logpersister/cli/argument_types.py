"""Types of command-line arguments, and options that several commands have. Loads little."""

import argparse
from datetime import datetime


def seconds(text: str) -> float:
    """Parse a duration as manifests have it (``10s``, ``1m30s``) into seconds; an error is one of the command line."""
    # Only here: the manifest's package loads pydantic, which --help needs not.
    from logpersister.forms.problems import RefusedError  # noqa: PLC0415
    from logpersister.forms.quantity import parse_duration  # noqa: PLC0415

    try:
        value = parse_duration(text).total_seconds()
    except RefusedError as error:
        remedy = f"write {text}s" if text.isascii() and text.isdigit() else error.findings[0].remedy
        raise argparse.ArgumentTypeError(f'"{text}" {error.findings[0].expectation}; {remedy}') from None
    if value == 0:
        raise argparse.ArgumentTypeError(f'"{text}" is not a positive duration; write for example 10s')
    return value


def patience(text: str) -> float:
    """Parse a duration that may be nothing, ``0s``."""
    return 0.0 if text in {"0", "0s"} else seconds(text)


def moment(text: str) -> int:
    """Parse a time with its zone, such as ``2026-11-21T05:00:00Z``, into milliseconds since the epoch."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise argparse.ArgumentTypeError(
            f'"{text}" is not a time with its zone; write for example 2026-11-21T05:00:00Z'
        )
    return int(found.timestamp() * 1000)


def count(text: str, least: int = 0) -> int:
    """Parse a whole number, ``least`` or more."""
    if not (text.isascii() and text.isdigit()) or int(text) < least:
        raise argparse.ArgumentTypeError(f'"{text}" is not a whole number, {least} or more')
    return int(text)


def positive(text: str) -> int:
    """Parse a whole number, 1 or more."""
    return count(text, 1)


def size(text: str) -> int:
    """Parse a size as manifests have it (``8Mi``) into bytes, 1 or more."""
    # Only here: the manifest's package loads pydantic, which --help needs not.
    from logpersister.forms.problems import RefusedError  # noqa: PLC0415
    from logpersister.forms.quantity import parse_size  # noqa: PLC0415

    try:
        value = parse_size(int(text) if text.isascii() and text.isdigit() else text)
    except RefusedError as error:
        raise argparse.ArgumentTypeError(f'"{text}" {error.findings[0].expectation}; write for example 8Mi') from None
    if value == 0:
        raise argparse.ArgumentTypeError(f'"{text}" is not a positive size; write for example 8Mi')
    return value


def words(text: str) -> list[str]:
    """Parse names with commas between them."""
    return [word.strip() for word in text.split(",")]


def window(command: argparse.ArgumentParser, *, since: str, until: str, has_end: bool = False) -> None:
    """Add the options ``--from`` and ``--to``, with a help text for each. ``has_end``: there must be an end."""
    command.add_argument("--from", dest="since", type=moment, metavar="TIME", help=since)
    command.add_argument("--to", dest="until", type=moment, metavar="TIME", required=has_end, help=until)


def topics(command: argparse.ArgumentParser) -> None:
    """Add the option for some topics of a manifest."""
    told = "these topics only (default: those of the manifest)"
    command.add_argument("--topics", type=words, metavar="NAME,…", help=told)
