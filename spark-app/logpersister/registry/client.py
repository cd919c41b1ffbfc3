"""Asks a registry by Confluent's API, with time-outs and retries.

The API: docs.confluent.io/platform/current/schema-registry/develop/api.
"""

import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import quote
from uuid import UUID

import urllib3

from logpersister.registry.access import RegistryAccess
from logpersister.registry.answers import Client, Schema, SubjectVersion
from logpersister.registry.errors import RegistryError, failure, of_answer, of_connection
from logpersister.registry.patience import patiently

CONNECT_SECONDS: Final = 3.0
READ_SECONDS: Final = 10.0
ATTEMPTS: Final = 4
"""Attempts per request where it may pass later, with pauses of some 0.4, 0.8 and 1.5 s between them."""
CONNECTIONS: Final = 8
LARGEST: Final = 16 << 20
"""Bytes of an answer; schemas of more are none that anybody has."""
MOST_REFERENCES: Final = 1000
_ACCEPT: Final = "application/vnd.schemaregistry.v1+json, application/json"


class RegistryClient(Client):
    """One registry. Thread-safe; to be closed."""

    def __init__(
        self, access: RegistryAccess, *, attempts: int = ATTEMPTS, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        super().__init__(access.url, attempts, sleep)
        self._access = access
        self._first = 0
        self._pool = urllib3.PoolManager(
            maxsize=CONNECTIONS,
            retries=False,
            timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS),
            headers={"Accept": _ACCEPT, **access.headers},
            ca_cert_data=access.authority,
        )

    def close(self) -> None:
        self._pool.clear()

    def _ask_schema(self, schema_id: int) -> Schema:
        doing = f"asking for schema {schema_id}"
        return self._read_schema(self._get(f"/schemas/ids/{schema_id}", doing), doing)

    def id_of(self, guid: UUID) -> int:
        """Return the id of the schema that has a GUID.

        Raises RegistryError; of kind ``unknown`` when there is none, and ``unsupported`` where schemas have no GUIDs.
        """
        doing = f"asking for the id of schema {guid}"
        try:
            answer = self._get(f"/schemas/guids/{guid}/ids", doing)
        except RegistryError as error:
            if error.kind != "rejected":
                raise
            told = "it knows no GUIDs of schemas, by which headers of records name them"
            raise failure(self.url, "unsupported", told, doing) from None
        for one in answer if isinstance(answer, list) else ():
            match one:
                case {"context": ".", "id": int(schema_id)}:
                    return schema_id
        raise failure(self.url, "unknown", "its default context has no such schema", doing)

    def latest(self, subject: str) -> SubjectVersion:
        """Return the latest version of a subject, as the registry knows it now. Raises RegistryError."""
        return self._subject_version(subject, "latest")

    def _ask_version(self, subject: str, version: int) -> SubjectVersion:
        return self._subject_version(subject, str(version))

    def versions(self, subject: str) -> tuple[int, ...]:
        """Return the numbers of the versions that a subject has, rising. Raises RegistryError."""
        doing = f"asking for the versions of subject {subject!r}"
        answer = self._get(f"/subjects/{quote(subject, safe='')}/versions", doing)
        if not isinstance(answer, list) or not all(isinstance(one, int) for one in answer):
            raise self._no_registry("no list of versions", doing)
        return tuple(sorted(answer))

    def reach(self) -> None:
        """Ask for what each registry knows: the kinds of schemas that it takes. Raises RegistryError."""
        doing = "asking which kinds of schemas it takes"
        if not isinstance(self._get("/schemas/types", doing), list):
            raise self._no_registry("no list of kinds", doing)

    def _subject_version(self, subject: str, version: str) -> SubjectVersion:
        doing = f"asking for version {version} of subject {subject!r}"
        answer = self._get(f"/subjects/{quote(subject, safe='')}/versions/{version}", doing)
        match answer:
            case {"version": int(number), "id": int(schema_id)}:
                schema = self._schemas.get(schema_id) or self._read_schema(answer, doing)
                return self._keep(SubjectVersion(subject, number, schema_id, schema))
            case _:
                raise self._no_registry("no version", doing)

    # schemas

    def _read_schema(self, answer: Any, doing: str) -> Schema:
        match answer:
            case {"schema": str(text)}:
                kind = str(answer.get("schemaType") or "AVRO")
                references: dict[tuple[str, int], Schema] = {}
                for reference in answer.get("references") or ():
                    self._follow(reference, references, (), doing)
                return Schema(text, kind, tuple(references.values()))
            case _:
                raise self._no_registry("no schema", doing)

    def _follow(
        self, reference: Any, found: dict[tuple[str, int], Schema], above: tuple[tuple[str, int], ...], doing: str
    ) -> None:
        """Add what a reference names to `found`, after what that one refers to."""
        match reference:
            case {"subject": str(subject), "version": int(version)}:
                key = subject, version
            case _:
                raise self._no_registry("a reference without subject and version", doing)
        if key in found:
            return
        if key in above or len(found) + len(above) > MOST_REFERENCES:
            raise failure(self.url, "rejected", f"{subject!r} version {version} refers to itself", doing)
        answer = self._get(f"/subjects/{quote(subject, safe='')}/versions/{version}", doing)
        for inner in answer.get("references") or () if isinstance(answer, dict) else ():
            self._follow(inner, found, (*above, key), doing)
        if not isinstance(answer, dict) or not isinstance(answer.get("schema"), str):
            raise self._no_registry("no schema", doing)
        name = str(reference.get("name") or "")
        found[key] = Schema(answer["schema"], str(answer.get("schemaType") or "AVRO"), name=name)

    # requests

    def _get(self, path: str, doing: str) -> Any:
        """Ask, again if that may help; return the JSON value of the answer."""
        return patiently(lambda: self._ask(path, doing), self._attempts, self._sleep, READ_SECONDS)

    def _ask(self, path: str, doing: str) -> Any:
        """Ask the address that answered last; where it fails, or something else answers there, the others in turn."""
        urls, first = self._access.urls, self._first
        failures: list[RegistryError] = []
        for place in (*range(first, len(urls)), *range(first)):
            try:
                answer = self._ask_one(urls[place], path, doing)
            except RegistryError as error:
                if error.kind == "unknown":  # which only a registry says
                    raise
                failures.append(error)
            else:
                self._first = place
                return answer
        raise next((one for one in failures if one.retriable), failures[-1])

    def _ask_one(self, url: str, path: str, doing: str) -> Any:
        try:
            answer = self._pool.request("GET", url + path, redirect=False, preload_content=False)
            try:
                body = answer.read(LARGEST + 1)
            finally:
                answer.release_conn()
        except urllib3.exceptions.HTTPError as error:
            kind, reason = of_connection(error)
            raise failure(url, kind, reason, doing) from None
        document = _json(body)
        if answer.status != 200:
            kind, reason = of_answer(answer.status, _code(document), _message(document, answer.headers))
            raise failure(url, kind, reason, doing)
        if len(body) > LARGEST or document is None:
            raise self._no_registry("no JSON" if len(body) <= LARGEST else f"more than {LARGEST >> 20} MiB", doing)
        return document

    def _no_registry(self, what: str, doing: str) -> RegistryError:
        return failure(self.url, "rejected", f"it answered with {what}, as no schema registry does", doing)


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _code(document: Any) -> int | None:
    code = document.get("error_code") if isinstance(document, dict) else None
    return code if isinstance(code, int) else None


def _message(document: Any, headers: Mapping[str, str]) -> str:
    if isinstance(document, dict) and isinstance(document.get("message"), str):
        return str(document["message"])[:300]
    location = headers.get("Location")
    return f"it points to {location[:300]}" if location else "without a word"
