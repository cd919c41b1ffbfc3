"""By which schemas values were written, as a registry knows it."""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from logpersister.manifest import LogPersister
from logpersister.manifest.parser import Parser
from logpersister.manifest.secrets import Secrets
from logpersister.records.writers import WriterSchema
from logpersister.registry.client import RegistryClient
from logpersister.registry.connection import Connect, Connection, connector
from logpersister.registry.errors import RegistryError
from logpersister.registry.kinds import KINDS, SchemaTextError

ASKED_AGAIN_SECONDS: Final = 5.0
"""An id that is not there may be so new that not every server of the registry has it; so it is asked for twice."""

SPARED_SECONDS: Final = 10.0
"""After a failure nothing is asked for so long: the other ranges of a task need not wait for the same time-outs."""


class RegistryWriters:
    """The schemas of a registry, asked for once each; ids that it does not know are not remembered. To be closed."""

    def __init__(
        self,
        connect: Connect,
        parser: Parser = "avro",
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Connect to nothing yet.

        Args:
            connect: makes a client by the Secret as it is then; called again when the registry refuses the former one.
            parser: of the values, which says of which kind schemas are.
            clock: monotonic seconds.
            sleep: waits so many seconds.
        """
        self._connection = Connection(connect)
        self._kind = KINDS[parser]
        self._sleep = sleep
        self._clock = clock
        self._known: dict[int, WriterSchema] = {}
        self._failure: RegistryError | None = None
        self._failed_until = float("-inf")

    def schemas(self, ids: Iterable[int]) -> Mapping[int, WriterSchema]:
        """Return the schemas of ids. Raises RegistryError."""
        wanted = list(ids)
        if missing := [one for one in wanted if one not in self._known and not self._ask(one)]:
            self._sleep(ASKED_AGAIN_SECONDS)
            missing = [one for one in missing if not self._ask(one)]
        nobodys = {one: _unknown(one) for one in missing}
        return {one: nobodys.get(one) or self._known[one] for one in wanted}

    @property
    def url(self) -> str:
        return self._connection.url

    def reach(self) -> None:
        """Ask for what each registry knows. Raises RegistryError."""
        self._connection.ask(RegistryClient.types)

    def close(self) -> None:
        self._connection.close()

    def _ask(self, writer_id: int) -> bool:
        """Learn what an id means; return False when the registry does not know it."""
        if self._failure is not None and self._clock() < self._failed_until:
            raise self._failure
        try:
            schema = self._connection.ask(lambda client: client.schema(writer_id))
            self._known[writer_id] = WriterSchema(self._kind.self_contained(schema))
        except SchemaTextError as error:
            self._known[writer_id] = WriterSchema(None, f"schema {writer_id} is not {self._kind.name}: {error}")
        except RegistryError as error:
            if error.kind != "unknown":
                self._failure, self._failed_until = error, self._clock() + SPARED_SECONDS
                raise
            return False
        return True


def _unknown(writer_id: int) -> WriterSchema:
    return WriterSchema(None, f"the schema registry has no schema {writer_id}", is_unknown=True)


def open_writers(resource: LogPersister, secrets: Secrets) -> RegistryWriters | None:
    """Return the registry that a manifest names, not connected yet; None: it names none. Raises ManifestError."""
    schema = resource.spec.row_schema
    if schema is None or schema.registry is None:
        return None
    return RegistryWriters(connector(schema.registry, secrets), resource.spec.parser.type)
