"""``logpersister check``."""

from logpersister.cli.check.command import before_start, findings_of, run

__all__ = ["before_start", "findings_of", "run"]
