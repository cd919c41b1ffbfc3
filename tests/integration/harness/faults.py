"""What goes wrong on the way to the bucket."""

from urllib.parse import unquote

from tests.stack.fault_proxy import Stall


def stalled_puts(part: str) -> Stall:
    """Return a fault: uploads of records whose request line has ``part`` (unquoted) in it stand still half way."""

    def matches(line: str) -> bool:
        return line.startswith("PUT ") and part in unquote(line) and "/_logpersister/" not in line

    return Stall(matches=matches, times=None, after=1_000)
