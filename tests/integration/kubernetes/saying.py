"""Members that say what the test wants, where the operator asks them."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from logpersister_operator.render.network import HTTP_PORT
from tests.stack.http_server import Request, serving
from tests.unit.kubernetes.samples import report


@contextmanager
def saying(address: str, **changes: Any) -> Iterator[dict[str, Any]]:
    """Serve ``/status`` of a member at an address; what is changed in the dictionary, it says from then on."""

    def document() -> Mapping[str, Any] | None:
        return report(observedAt=datetime.now(UTC).isoformat(), **changes).document

    with answering(address, document):
        yield changes


@contextmanager
def answering(address: str, document: Callable[[], Mapping[str, Any] | None]) -> Iterator[None]:
    """Serve a document at an address, where the operator asks pods for their ``/status``."""

    def answer(_: Request) -> tuple[int, bytes]:
        return 200, json.dumps(document()).encode()

    with serving(answer, place=(address, HTTP_PORT)):
        yield
