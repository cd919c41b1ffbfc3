"""Entry point: parses the command line and runs the command.

Start-up is fast because nothing is imported before it is needed: ``--help`` loads argparse and little else.
"""

import argparse
import errno
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from logpersister.cli.arguments import parser
from logpersister.cli.exits import CommandError, Exit
from logpersister.forms.problems import ManifestError
from logpersister.imports import uncollected


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code; the entry point of the ``logpersister`` script."""
    arguments = parser().parse_args(argv)
    try:
        return _run(arguments)
    except (CommandError, ManifestError) as error:
        print(error, file=sys.stderr)
        return error.code if isinstance(error, CommandError) else Exit.INVALID
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:  # the reader of our output has seen enough (``| head``)
        _write_no_more()
        return Exit.OK
    except OSError as error:
        if error.errno != errno.ENOSPC or error.filename is not None:
            raise
        _write_no_more()
        print(f"the output cannot be written ({error.strerror}); make room where it goes", file=sys.stderr)
        return Exit.FAILED


def _write_no_more() -> None:
    """Keep Python from complaining once more when it flushes at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(arguments: argparse.Namespace) -> int:
    name = f"logpersister.cli.{'trial' if arguments.command == 'try' else arguments.command}"
    if name not in sys.modules:
        with uncollected():
            import_module(name)
    code: int = sys.modules[name].run(arguments)
    sys.stdout.flush()
    return code
