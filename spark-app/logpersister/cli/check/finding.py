"""One line of what ``logpersister check`` says."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from logpersister.cli.exits import CommandError, Exit
from logpersister.cli.tables import printable

MOST_TOPICS = 10
Verdict = Literal["ok", "warning", "failed"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the answer."""

    subject: str
    verdict: Verdict
    message: str

    def __str__(self) -> str:
        first, *others = [printable(line) for line in self.message.split("\n")]
        return "\n".join([f"{self.verdict:<7}  {self.subject:<8}  {first}", *(f"{'':<19}{line}" for line in others)])


def tell_or_refuse(subject: str, problems: Iterable[str], *, refuses: bool) -> Iterator[Finding]:
    """Tell problems as warnings, or raise `CommandError` with all of them."""
    found = list(problems)
    if found and refuses:
        raise CommandError("\n".join(found), Exit.INVALID)
    yield from (Finding(subject, "warning", problem) for problem in found)
