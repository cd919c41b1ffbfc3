"""The command ``logpersister``. Each command is a module; what it needs is imported when it runs."""

from logpersister.cli.main import main

__all__ = ["main"]
