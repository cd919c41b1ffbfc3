"""Exit codes of commands, and the errors that carry them."""

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes; documented in docs/commands.md and in ``logpersister --help``."""

    OK = 0
    FAILED = 1
    """The command started and could not do its work."""
    INVALID = 2
    """The command line or the manifest is wrong; the same that argparse uses."""
    UNREACHABLE = 3
    """Kafka or the bucket could not be reached or asked; what is printed is not the whole."""
    HELD = 4
    """``run --until-current``: what is left is held or has no schema, or a duty failed; see the log or ``/status``.
    ``replay``: what it should store cannot be planned until someone acts."""
    FENCED = 5
    """``run``: another process joined the group under this member's name."""
    BROKEN = 6
    """``verify``: something contradicts the promise, or cannot be proven."""
    INTERRUPTED = 130
    TERMINATED = 143
    """SIGTERM (128 + SIGTERM), where there was nothing to stop in order."""


class CommandError(Exception):
    """Ends the command with a message for the user and an exit code, without a traceback."""

    def __init__(self, message: str, code: Exit, *, may_pass: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.may_pass = may_pass
        """Whether the same command may work a little later, without anybody changing anything."""


class UnreachableError(CommandError):
    """A server could not be reached or did not answer as it should."""

    def __init__(self, message: str, *, may_pass: bool = False) -> None:
        super().__init__(message, Exit.UNREACHABLE, may_pass=may_pass)
