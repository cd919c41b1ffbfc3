"""The end of a run: the product's own proof, and judges that share nothing with it."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pyiceberg.exceptions import NoSuchTableError

from tests.chaos import (
    check,
    current,
    events,
    folders,
    history,
    hive_table,
    late,
    readings,
    sales,
    table_readers,
    tables,
    witnesses,
)
from tests.chaos.check import Problem, Progress, Seen, Stored, TopicPartition, seen_as
from tests.chaos.compactor import CONFLICTS, NAMESPACE, spark_command
from tests.chaos.contents import QUARANTINE
from tests.chaos.folder_watch import FolderWatch
from tests.chaos.ledger import Ledger
from tests.chaos.outputs import BUCKET, FILES, TEXT, Output
from tests.chaos.producer import RESTORED
from tests.chaos.rows import replay_command
from tests.chaos.stage import Stage
from tests.stack.clients import admin_client

Kafka = Mapping[TopicPartition, list[Seen]]
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

    def consumed(self) -> dict[TopicPartition, list[Seen]]:
        """Return what Kafka holds.

        Raises:
            TroubleError: it is not what the producers have written, or too little to prove anything.
        """
        keeps = self.stage.settings.choices.keeps
        judges: dict[str, Callable[[Any], Seen]] = {events.TOPIC: partial(events.seen, keeps=keeps)}
        if self.stage.writers is not None:
            judges[sales.TOPIC] = sales.Judge(self.stage.writers, keeps=keeps).seen
        if self.stage.readings is not None:
            judges[readings.TOPIC] = partial(self.stage.readings.seen, keeps=keeps)
        topics = [topic.name for topic in self.stage.settings.topics]
        kafka = witnesses.consumed(self.stage.kafka.bootstrap, topics, judges)
        contradictions = list(self.ledger.contradictions(kafka))
        if contradictions:
            raise TroubleError("Kafka's consumer and the producers disagree: " + "; ".join(contradictions))
        number = sum(len(records) for records in kafka.values())
        if number < _LEAST_RECORDS:
            raise TroubleError(f"only {number} records were produced: they prove nothing")
        return kafka

    def of(self, output: Output, kafka: Kafka) -> tuple[list[str], dict[str, Any]]:
        """Return what is wrong with what a group has stored, and what there is to count."""
        names = {topic.name for topic in output.topics}
        kafka = {of: records for of, records in kafka.items() if of[0] in names}
        found: list[object] = list(self._replay(output)) if output.is_corrected else []
        numbers: dict[str, Any] = {}
        found += self._independent(output, kafka, numbers)
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
        leave_out = self.stage.settings.choices.keeps
        command = replay_command(self.stage.manifests[output.name], leave_out=leave_out)
        for turn in ("last", "another"):
            done = subprocess.run(
                [*command, "--json"], capture_output=True, text=True, timeout=_REPLAY_SECONDS, check=False
            )
            (self.stage.directory / f"replay-{turn}.json").write_text(done.stdout + done.stderr)
            if done.returncode != 0:
                yield f"the {turn} replay ended with {done.returncode}: {done.stderr[-500:]}"
            elif turn == "another" and _changed(json.loads(done.stdout)["totals"]):
                yield f"another replay found something to do: {done.stdout[-500:]}"

    def _independent(self, output: Output, kafka: Kafka, numbers: dict[str, Any]) -> Iterator[Problem | str]:
        try:
            objects = list(witnesses.stored(self.stage.s3, BUCKET, output.name, output.read, markers=output.markers))
            if output.read is witnesses.record_batches:
                objects = list(witnesses.within(objects))
        except witnesses.UnreadableError as error:
            yield f"unreadable: {error}"
            return
        if output.late != "append":
            kafka = late.apart(kafka, objects)
        stands = progress(self.stage.kafka.bootstrap, output)
        replays = self.stage.replays if output.name == TEXT.name else {}
        of_members = [one for one in objects if one.generation not in replays]
        aborted = self.ledger.aborted_values()
        yield from check.examine(of_members, kafka, stands, output.layout, aborted=aborted)
        if replays:

            def counting(some: Sequence[Stored]) -> list[Problem]:
                return check.examine(some, kafka, stands, output.layout, aborted=aborted, generation=None)

            yield from self._generations(output, objects, counting)
        if output.name == FILES.name and self.stage.settings.has_backup:
            yield from self._restored(numbers)
        left_out = Counter(of[0] for of, records in kafka.items() for record in records if record.place is None)
        numbers["left out"] = left_out.total()
        self.stage.happened.left_out += left_out[sales.TOPIC]  # of events there are types that are dropped, too
        for record in (record for of, records in kafka.items() if of[0] == readings.TOPIC for record in records):
            self.stage.happened.readings += record.content is not None and record.place != QUARANTINE
            self.stage.happened.refused_readings += record.place == QUARANTINE
        if output.has_table:
            tell = self._hive_table if self.stage.settings.has_hive else self._iceberg_tables
            yield from tell(output, kafka, objects, numbers)
            yield from self._folders(output, kafka, objects, numbers)

    # what is made again

    def _generations(
        self, output: Output, objects: Sequence[Stored], examine: Callable[[Sequence[Stored]], list[Problem]]
    ) -> Iterator[Problem | str]:
        """Examine what counts: as it stands, switched back, switched on, and once the old is deleted."""
        newest, manifest = max(self.stage.replays.items())
        counting: list[Stored] = []
        turns = {"as it stands": None, "switched back": history.MEMBERS, "switched on": newest}
        for turn, generation in turns.items():
            if generation is not None:
                yield from self._done("switch", history.switch_command(manifest, generation))
            documents = {
                topic.name: current.document_of(self.stage.s3, BUCKET, output.name, topic.name)
                for topic in output.topics
            }
            counting = [
                one for one in objects if current.counts(documents[one.topic], one.generation, one.partition, one.start)
            ]
            yield from (f"{turn}: {problem}" for problem in examine(counting))
        yield from self._done("delete", history.switch_command(manifest, newest, "--delete-old"))
        left = set(witnesses.keys_of(self.stage.s3, BUCKET, output.name))
        of_replays = {one.name for one in objects if one.generation in self.stage.replays}
        if left != {one.name for one in counting} | of_replays:
            yield "the old is deleted: what is left is not what counts, and what replays have stored"

    def _restored(self, numbers: dict[str, Any]) -> Iterator[str]:
        """Restore to the end; what is restored must be what there was, and another restore finds nothing to do."""
        bootstrap, backup = self.stage.kafka.bootstrap, self.stage.manifests[FILES.name]
        for turn in ("restore", "restore-again"):
            yield from self._done(turn, history.restore_command(backup, bootstrap, "--json"))
        told = json.loads((self.stage.directory / "restore-again.json").read_text() or '{"topics": []}')
        if any(one["produced"] for one in told["topics"]):
            yield f"another restore found something to do: {told}"
        names = {topic: history.restored_name(topic) for topic in RESTORED}
        topics = [*names, *names.values()]
        found = witnesses.consumed(bootstrap, topics, dict.fromkeys(topics, _whole))
        for (topic, number), records in sorted(found.items()):
            if topic in names:
                renumbered = [record._replace(offset=at) for at, record in enumerate(records)]
                if found.get((names[topic], number)) != renumbered:
                    yield f"{topic}-{number}: {len(records)} records are not what was restored of them"
                numbers["restored"] = numbers.get("restored", 0) + len(records)

    def _done(self, name: str, command: Sequence[str]) -> Iterator[str]:
        """Run a command to its end; yield why it has not done its work."""
        done = subprocess.run(command, capture_output=True, text=True, timeout=_REPLAY_SECONDS, check=False)
        (self.stage.directory / f"{name}.json").write_text(done.stdout)
        if done.returncode != 0:
            yield f"{name} has ended with {done.returncode}: {done.stderr[-500:]}"

    # tables, and folders

    def _hive_table(
        self, output: Output, kafka: Kafka, objects: Sequence[Stored], numbers: dict[str, Any]
    ) -> Iterator[Problem]:
        """Examine the partitions, and the rows in them."""
        stage, ((name, layout),) = self.stage, output.tables.items()
        try:
            found = hive_table.partitions(stage.metastore, NAMESPACE, name)
            rows = list(
                hive_table.by_spark(
                    stage.directory / "hive-reader", stage.metastore, stage.minio, f"{NAMESPACE}.{name}"
                )
            )
        except table_readers.UnreadableTableError as error:
            yield Problem("unreadable", "table", str(error))
            return
        wanted = {one.path for one in objects if folders.is_of_time(one.path)}
        if output.choices.partitions == "onFinish":
            assert self.folder_watch is not None
            wanted = set(self.folder_watch.seen.successes)
        yield from hive_table.examine_partitions(found, wanted)
        yield from tables.examine(rows, output.topics[0].name, kafka, layout, "Spark", folders=found)
        yield from (Problem("receipt", one, "is left, though everything is committed") for one in self.untold(output))
        stage.happened.partitions = len(found)
        numbers |= {"partitions": len(found), "rows by Spark": len(rows)}

    def _iceberg_tables(
        self, output: Output, kafka: Kafka, _objects: Sequence[Stored], numbers: dict[str, Any]
    ) -> Iterator[Problem]:
        assert self.stage.compactor is not None
        for name, layout in output.tables.items():
            told: dict[str, Any] = {}
            yield from self._iceberg_table(output, name, layout, kafka, told)
            numbers |= {f"{what} of {name}": number for what, number in told.items()}
        counts = self.stage.compactor.counts()
        numbers["compactions"] = "(" + ", ".join(f"{what} {count}" for what, count in counts.items()) + ")"
        lost = sum(counts.get(what, 0) for what in CONFLICTS)
        self.stage.happened.conflicts = lost + self.stage.crew.logged("table.conflict")

    def _iceberg_table(
        self, output: Output, name: str, layout: check.Layout, kafka: Kafka, numbers: dict[str, Any]
    ) -> Iterator[Problem]:
        assert self.stage.compactor is not None
        settings, topic = self.stage.compactor.settings(name), output.topics[0].name
        try:
            table = table_readers.table_of(settings)
        except NoSuchTableError as error:
            yield Problem("unreadable", f"table {name}", str(error))
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
                yield Problem("unreadable", f"table {name}, by {reader}", repr(error))
                continue
            numbers[f"rows by {reader}"] = len(rows)
            yield from tables.examine(rows, topic, kafka, layout, reader)
        snapshots = table_readers.snapshots_of(table)
        stands = progress(self.stage.kafka.bootstrap, output)
        of_type = len(output.tables) > 1
        yield from tables.examine_offsets(snapshots, self.untold(output), topic, stands, of_type=of_type)
        numbers["snapshots"] = f"{len(snapshots.offsets)} of ours, {snapshots.others} of others"
        self.stage.happened.snapshots += len(snapshots.offsets)
        self.stage.happened.compactions += snapshots.others

    def _by_spark(self, settings: str) -> Iterator[tables.LiveRow]:
        done = subprocess.run(
            spark_command("read", settings), capture_output=True, text=True, timeout=_SPARK_SECONDS, check=False
        )
        if done.returncode != 0:
            raise table_readers.UnreadableTableError(done.stderr[-1000:])
        return table_readers.by_lines(done.stdout.splitlines())

    def _folders(
        self, output: Output, kafka: Kafka, objects: Sequence[Stored], numbers: dict[str, Any]
    ) -> Iterator[Problem]:
        assert self.folder_watch is not None
        seen = self.folder_watch.seen
        self.stage.happened.finished_folders = numbers["finished folders"] = len(seen.successes)
        numbers["of them with committed offsets"] = sum(bool(one.committed) for one in seen.successes.values())
        numbers["manifests seen"] = len(seen.sightings)
        grown = {of: at * 1000 for of, at in self.stage.grown.items()}
        yield from folders.examine(seen, kafka, objects, output.layout, grown=grown)
        numbers["late"] = seen.late_records
        if output.late != "append":
            yield from late.examine(seen, kafka, objects, output.finished, grown=grown)
            numbers["late"] = sum(record.is_apart for records in kafka.values() for record in records)
            numbers["surely late"], _ = late.surely_late(seen, kafka, output.layout)
        self.stage.happened.late_records = numbers["late"]

    def untold(self, output: Output) -> list[str]:
        """Return what waits to be told to the table: receipts, or folders that are to be partitions."""
        notes = "untold/table" if self.stage.settings.has_hive else "receipts"
        pages = self.stage.s3.get_paginator("list_objects_v2").paginate(
            Bucket=BUCKET, Prefix=f"{output.name}/_logpersister/{output.name}/{notes}/"
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


def _whole(record: Any) -> Seen:
    """Return a record with its headers, too."""
    return seen_as(record, content=check.digest(repr(record.headers).encode()))


def _changed(totals: Mapping[str, int]) -> int:
    """Return how many records a replay has taken out of quarantine."""
    return totals["accepted"] + totals.get("leftOut", 0)


def _told(finding: dict[str, Any]) -> str:
    where = f"{finding['topic']}-{finding['partition']} [{finding['start']},{finding['end']})"
    return f"{finding['kind']}: {where}: {finding['message']}"
