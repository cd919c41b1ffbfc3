"""One group in one bucket: its manifest, its members, what it has stored."""

import copy
import itertools
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from tests.integration.harness.bucket import Bucket, StoredObject, assert_exactly_once
from tests.integration.harness.group import Group
from tests.integration.harness.process import MemberProcess
from tests.integration.harness.workload import Workload
from tests.stack import Kafka
from tests.stack.processes import ClosedAtEnd

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

PREFIX = "raw"
Settings = Mapping[str, Any]
CreateTopic = Callable[..., str]
"""The fixture ``topic``."""


class Scene(ClosedAtEnd):
    """Everything of one group. Members that are left at the end are killed."""

    def __init__(
        self, directory: Path, kafka: Kafka, client: "S3Client", *, bucket: str, endpoint: str, group: str
    ) -> None:
        self.kafka = kafka
        self._client = client
        self._bucket_name = bucket
        self.bucket = self.bucket_at(PREFIX)
        self.workload = Workload(kafka.bootstrap)
        self.group = Group(kafka.bootstrap, group)
        self._directory = directory
        self._numbers = itertools.count(1)
        self._stack = ExitStack()
        self._stack.callback(self.group.close)
        self._base: dict[str, Any] = {
            "kafka": {"bootstrapServers": kafka.bootstrap, "groupId": group, "sessionTimeout": "6s"},
            "storage": {"bucket": bucket, "prefix": PREFIX, "endpoint": endpoint, "secretName": "s3"},
            "upload": {"maxBytes": "64Mi", "maxAge": "1s"},
            "cycleInterval": "200ms",
        }

    def close(self) -> None:
        self._stack.close()

    def bucket_at(self, prefix: str) -> Bucket:
        """Return the same bucket under another prefix than `bucket`."""
        return Bucket(self._client, self._bucket_name, prefix)

    def manifest(self, **spec: Any) -> Path:
        """Write a manifest; mappings in ``spec`` are merged into what every test needs."""
        document = {
            "apiVersion": "logpersister.dev/v1alpha1",
            "kind": "LogPersister",
            "metadata": {"name": "under-test"},
            "spec": merged(self._base, spec),
        }
        file = self._directory / f"{self.group.name}-{next(self._numbers)}.yaml"
        file.write_text(yaml.safe_dump(document))
        return file

    def member(
        self,
        manifest: Path,
        name: str | None = None,
        *options: str,
        environment: Mapping[str, str] | None = None,
        command: str = "run",
    ) -> MemberProcess:
        """Start a member; ``name`` makes it a static one, ``environment`` adds to its variables."""
        log = self._directory / f"{self.group.name}-{name or 'member'}-{next(self._numbers)}.log"
        named = ("--member-name", name) if name else ()
        member = MemberProcess(manifest, log, *named, *options, environment=environment, command=command)
        self._stack.callback(member.clean_up)
        return member

    def run_until_current(self, manifest: Path, *, code: int = 0) -> MemberProcess:
        """Run a member to its end, which must have this exit code; return it for its log."""
        member = self.member(manifest, None, "--until-current")
        ended = member.wait_end()
        assert ended == code, f"exit code {ended}; {member.tail()}"
        return member

    def assert_stored(self, *topics: str) -> list[StoredObject]:
        """Check that every record of these topics is in exactly one object; return the objects."""
        objects = [one for topic in topics for one in self.bucket.objects(topic)]
        assert_exactly_once(objects, self.workload.produced(*topics))
        return objects


def merged(base: Settings, over: Settings) -> dict[str, Any]:
    """Return settings with others over them: mappings are merged, anything else is replaced."""
    found = copy.deepcopy(dict(base))
    for key, value in over.items():
        old = found.get(key)
        found[key] = merged(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return found
