"""The end of a run: the product's own proof, and one that shares nothing with it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from tests.chaos import check, witnesses
from tests.chaos.check import Progress, Seen, TopicPartition
from tests.chaos.ledger import Ledger
from tests.chaos.producer import TOPICS
from tests.chaos.settings import BUCKET, Output
from tests.chaos.stage import Stage
from tests.stack.clients import admin_client

_VERIFY_SECONDS = 900
_LEAST_RECORDS = 1_000
_TOPICS = [topic.name for topic in TOPICS]


class TroubleError(Exception):
    """The harness could not do its work: nothing is proven."""


def progress(bootstrap: str, group: str) -> dict[TopicPartition, Progress]:
    """Return where a group stands now."""
    with admin_client(bootstrap) as admin:
        return witnesses.progress(admin, group, _TOPICS)


def at_rest(bootstrap: str, group: str) -> bool:
    """Whether everything is stored and committed."""
    stands = progress(bootstrap, group).values()
    return all(one.committed == one.end and not one.pending for one in stands)


@dataclass
class Examination:
    """Looks at everything once nobody writes any more."""

    stage: Stage
    ledger: Ledger

    def consumed(self) -> dict[TopicPartition, list[Seen]]:
        """Return what Kafka holds.

        Raises:
            TroubleError: it is not what the producers have written, or too little to prove anything.
        """
        kafka = witnesses.consumed(self.stage.kafka.bootstrap, _TOPICS)
        contradictions = list(self.ledger.contradictions(kafka))
        if contradictions:
            raise TroubleError("Kafka's consumer and the producers disagree: " + "; ".join(contradictions))
        number = sum(len(records) for records in kafka.values())
        if number < _LEAST_RECORDS:
            raise TroubleError(f"only {number} records were produced: they prove nothing")
        return kafka

    def of(self, output: Output, kafka: dict[TopicPartition, list[Seen]]) -> tuple[list[str], dict[str, Any]]:
        """Return what is wrong with what a group has stored, and what there is to count."""
        problems = [f"{output.name}: {problem}" for problem in self._independent(output, kafka)]
        document, errors = self._verify(output)
        problems += [f"{output.name}: verify: {error}" for error in errors]
        topics = document.get("topics", [])
        numbers = {
            "objects": sum(topic["objects"] for topic in topics),
            "records": sum(topic["records"] for topic in topics),
            "compared": sum(topic["compared"] or 0 for topic in topics),
            "verify": "clean" if not errors else "NOT CLEAN",
            "independent check": "agrees" if not problems else "see problems",
            "unfinished uploads": len(self._unfinished(output)),
        }
        return problems, numbers

    def _independent(self, output: Output, kafka: dict[TopicPartition, list[Seen]]) -> Iterator[str]:
        try:
            objects = list(witnesses.stored(self.stage.s3, BUCKET, output.name, output.read))
        except witnesses.UnreadableError as error:
            yield f"unreadable: {error}"
            return
        stands = progress(self.stage.kafka.bootstrap, output.name)
        found = check.examine(objects, kafka, stands, output.layout, aborted=self.ledger.aborted_values())
        yield from map(str, found)

    def _verify(self, output: Output) -> tuple[dict[str, Any], list[str]]:
        """Run ``logpersister verify --deep`` as a user would; return its document, and why it is not clean."""
        command = [str(Path(sys.executable).with_name("logpersister")), "verify", "--deep", "--json"]
        command += ["-f", str(self.stage.manifests[output.name])]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_VERIFY_SECONDS, check=False)
        kept = self.stage.directory / f"verify-{output.name}"
        kept.with_suffix(".json").write_text(done.stdout)
        kept.with_suffix(".err").write_text(done.stderr)
        try:
            document: dict[str, Any] = json.loads(done.stdout)
        except ValueError:
            return {}, [f"exit code {done.returncode}, no document: {done.stderr[-500:]}"]
        errors = [_told(finding) for finding in document["findings"] if finding["problem"]]
        errors += [str(error["message"]) for error in document["errors"]]
        if not errors and (done.returncode != 0 or not document["ok"]):
            errors.append(f"exit code {done.returncode}, ok is {document['ok']}")
        return document, errors

    def _unfinished(self, output: Output) -> list[str]:
        """Return the keys of multipart uploads that were begun and neither completed nor aborted."""
        paths = (line.split(" ")[1].partition("?") for line in self.stage.proxy.requests if line.startswith("POST "))
        begun = {unquote(path).removeprefix(f"/{BUCKET}/") for path, _, query in paths if query.startswith("uploads")}
        ours = sorted(key for key in begun if key.startswith(f"{output.name}/"))
        return witnesses.unfinished_uploads(self.stage.s3, BUCKET, ours)


def _told(finding: dict[str, Any]) -> str:
    where = f"{finding['topic']}-{finding['partition']} [{finding['start']},{finding['end']})"
    return f"{finding['kind']}: {where}: {finding['message']}"
