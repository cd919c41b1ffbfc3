"""The end of a run: the product's own proof, and judges that share nothing with it."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pyiceberg.exceptions import NoSuchTableError

from tests.chaos import check, events, folders, sales, table_readers, tables, witnesses
from tests.chaos.check import Problem, Progress, Seen, Stored, TopicPartition
from tests.chaos.compactor import spark_command
from tests.chaos.folder_watch import FolderWatch
from tests.chaos.ledger import Ledger
from tests.chaos.outputs import BUCKET, Output
from tests.chaos.rows import replay_command
from tests.chaos.stage import Stage
from tests.stack.clients import admin_client

_VERIFY_SECONDS = 900
"""And as long again as the run: it reads every object."""
_REPLAY_SECONDS = 600
_SPARK_SECONDS = 600
_LEAST_RECORDS = 1_000


class TroubleError(Exception):
    """The harness could not do its work: nothing is proven."""


def progress(bootstrap: str, output: Output) -> dict[TopicPartition, Progress]:
    """Return where a group stands now."""
    with admin_client(bootstrap) as admin:
        return witnesses.progress(admin, output.name, [topic.name for topic in output.topics])


def at_rest(bootstrap: str, output: Output) -> bool:
    """Whether everything is stored and committed."""
    stands = progress(bootstrap, output).values()
    return all(one.committed == one.end and not one.pending for one in stands)


@dataclass
class Examination:
    """Looks at everything once nobody writes any more."""

    stage: Stage
    ledger: Ledger
    folder_watch: FolderWatch | None = None
    _objects: dict[str, list[Stored]] = field(default_factory=dict)
    """By group, once they were read."""

    def consumed(self) -> dict[TopicPartition, list[Seen]]:
        """Return what Kafka holds.

        Raises:
            TroubleError: it is not what the producers have written, or too little to prove anything.
        """
        judges = {events.TOPIC: events.seen}
        if self.stage.writers is not None:
            judges[sales.TOPIC] = sales.Judge(self.stage.writers).seen
        topics = [topic.name for topic in self.stage.settings.topics]
        kafka = witnesses.consumed(self.stage.kafka.bootstrap, topics, judges)
        contradictions = list(self.ledger.contradictions(kafka))
        if contradictions:
            raise TroubleError("Kafka's consumer and the producers disagree: " + "; ".join(contradictions))
        number = sum(len(records) for records in kafka.values())
        if number < _LEAST_RECORDS:
            raise TroubleError(f"only {number} records were produced: they prove nothing")
        return kafka

    def of(self, output: Output, kafka: Mapping[TopicPartition, list[Seen]]) -> tuple[list[str], dict[str, Any]]:
        """Return what is wrong with what a group has stored, and what there is to count."""
        names = {topic.name for topic in output.topics}
        kafka = {of: records for of, records in kafka.items() if of[0] in names}
        found: list[object] = list(self._replay(output)) if output.is_corrected else []
        found += self._independent(output, kafka)
        numbers: dict[str, Any] = {}
        if output.has_table:
            found += self._table(output, kafka, numbers)
            found += self._folders(output, kafka, numbers)
        problems = [f"{output.name}: {problem}" for problem in found]
        document, errors = self._verify(output)
        topics = document.get("topics", [])
        numbers |= {
            "objects": sum(topic["objects"] for topic in topics),
            "records": sum(topic["records"] for topic in topics),
            "compared": sum(topic["compared"] or 0 for topic in topics),
            "verify": "clean" if not errors else "NOT CLEAN",
            "independent check": "agrees" if not problems else "see problems",
            "unfinished uploads": len(self._unfinished(output)),
        }
        problems += [f"{output.name}: verify: {error}" for error in errors]
        return problems, numbers

    def _replay(self, output: Output) -> Iterator[str]:
        """Let the replay of the corrected manifest come to its end."""
        command = replay_command(self.stage.manifests[output.name])
        for turn in ("last", "another"):
            done = subprocess.run(
                [*command, "--json"], capture_output=True, text=True, timeout=_REPLAY_SECONDS, check=False
            )
            (self.stage.directory / f"replay-{turn}.json").write_text(done.stdout + done.stderr)
            if done.returncode != 0:
                yield f"the {turn} replay ended with {done.returncode}: {done.stderr[-500:]}"
            elif turn == "another" and json.loads(done.stdout)["totals"]["accepted"]:
                yield f"another replay found something to do: {done.stdout[-500:]}"

    def _independent(self, output: Output, kafka: Mapping[TopicPartition, list[Seen]]) -> Iterator[Problem | str]:
        try:
            found = witnesses.stored(self.stage.s3, BUCKET, output.name, output.read, markers=output.markers)
            objects = self._objects[output.name] = list(found)
        except witnesses.UnreadableError as error:
            yield f"unreadable: {error}"
            return
        stands = progress(self.stage.kafka.bootstrap, output)
        yield from check.examine(objects, kafka, stands, output.layout, aborted=self.ledger.aborted_values())

    # the table, and folders

    def _table(
        self, output: Output, kafka: Mapping[TopicPartition, list[Seen]], numbers: dict[str, Any]
    ) -> Iterator[Problem]:
        assert self.stage.compactor is not None
        settings = self.stage.compactor.settings()
        try:
            table = table_readers.table_of(settings)
        except NoSuchTableError as error:
            yield Problem("unreadable", "table", str(error))
            return
        readers: dict[str, Callable[[], Iterable[tables.LiveRow]]] = {
            "pyiceberg": lambda: table_readers.by_pyiceberg(table),
            "DuckDB": lambda: table_readers.by_duckdb(table, settings),
        }
        if self.stage.settings.spark:
            readers["Spark"] = lambda: self._by_spark(settings)
        for reader, read in readers.items():
            try:
                rows = list(read())
            except table_readers.READABLE as error:
                yield Problem("unreadable", f"table, by {reader}", repr(error))
                continue
            numbers[f"rows by {reader}"] = len(rows)
            yield from tables.examine(rows, sales.TOPIC, kafka, output.layout, reader)
        snapshots = table_readers.snapshots_of(table)
        stands = progress(self.stage.kafka.bootstrap, output)
        yield from tables.examine_offsets(snapshots, self.receipts(output), sales.TOPIC, stands)
        compacted = ", ".join(f"{what} {count}" for what, count in self.stage.compactor.counts().items())
        numbers["snapshots"] = f"{len(snapshots.offsets)} of ours, {snapshots.others} of others"
        numbers["compactions"] = f"({compacted})"

    def _by_spark(self, settings: str) -> Iterator[tables.LiveRow]:
        done = subprocess.run(
            spark_command("read", settings), capture_output=True, text=True, timeout=_SPARK_SECONDS, check=False
        )
        if done.returncode != 0:
            raise table_readers.UnreadableTableError(done.stderr[-1000:])
        return table_readers.by_lines(done.stdout.splitlines())

    def _folders(
        self, output: Output, kafka: Mapping[TopicPartition, list[Seen]], numbers: dict[str, Any]
    ) -> Sequence[Problem]:
        assert self.folder_watch is not None
        if self.folder_watch.failure is not None:
            raise TroubleError(f"the watch of folders has failed: {self.folder_watch.failure!r}")
        seen = self.folder_watch.seen
        numbers["finished folders"] = len(seen.successes)
        numbers["of them with committed offsets"] = sum(bool(one.committed) for one in seen.successes.values())
        numbers["manifests seen"] = len(seen.sightings)
        grown = {of: at * 1000 for of, at in self.stage.grown.items()}
        return folders.examine(seen, kafka, self._objects.get(output.name, []), output.layout, grown=grown)

    def receipts(self, output: Output) -> list[str]:
        """Return the receipts that wait to be appended."""
        pages = self.stage.s3.get_paginator("list_objects_v2").paginate(
            Bucket=BUCKET, Prefix=f"{output.name}/_logpersister/{output.name}/receipts/"
        )
        return [one["Key"] for page in pages for one in page.get("Contents", [])]

    def _verify(self, output: Output) -> tuple[dict[str, Any], list[str]]:
        """Run ``logpersister verify --deep`` as a user would; return its document, and why it is not clean."""
        command = [str(Path(sys.executable).with_name("logpersister")), "verify", "--deep", "--json"]
        command += ["-f", str(self.stage.manifests[output.name])]
        patience = _VERIFY_SECONDS + self.stage.settings.seconds
        done = subprocess.run(command, capture_output=True, text=True, timeout=patience, check=False)
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
