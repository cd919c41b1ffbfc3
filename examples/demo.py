"""``make demo``: real Kafka, real S3, a member that stores everything, and a look at the result.

Servers, topics and buckets are fresh in each run and gone afterwards, also after Ctrl-C.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from examples import produce_clicks
from examples.steps import FailedError, Steps, short, wait_for_ctrl_c
from tests.stack import KafkaBroker, S3Server, ServerError, processes, reaper, running
from tests.stack.artifacts import CACHE, ROOT, MissingArtifactError
from tests.stack.detached import S3_SERVERS

MANIFEST = ROOT / "examples" / "clicks.yaml"
ROWS_MANIFEST = ROOT / "examples" / "clicks-parquet.yaml"
PLACE = CACHE / "demo"
BUCKET = "logs"
PREFIX = "raw/"
ROWS_PREFIX = "rows/"
TOPICS = ("clicks", "orders")

LOGPERSISTER = Path(sys.executable).with_name("logpersister")
STOP_SECONDS = 30
_LINES = 3
_TAIL_LINES = 20


class Demo:
    """A Kafka, an S3 server and a manifest that names them, with all their files in ``place``."""

    def __init__(self, steps: Steps, place: Path, s3: type[S3Server]) -> None:
        self._steps = steps
        self._place = place
        self._kafka = KafkaBroker(place / "kafka")
        self._s3 = s3(place / s3.name)
        self._secrets = place / "secrets"
        self._manifest = place / MANIFEST.name
        self._rows_manifest = place / ROWS_MANIFEST.name
        self._member_log = place / "member.log"
        self._rows_log = place / "rows.log"

    def run(self, *, records: int, keep: bool) -> None:
        """Do all of it; raise `FailedError` when a step fails."""
        shutil.rmtree(self._place, ignore_errors=True)
        self._place.mkdir(parents=True)
        with ExitStack() as servers:
            with self._steps.step("start Kafka and S3") as result:
                servers.enter_context(running(self._kafka, self._s3))
                result += [f"Kafka {self._kafka.bootstrap}", f"S3 {self._s3.endpoint}"]
            self._store(records)
            self._show()
            self._steps.headline("Where to look next")
            self._show_further(keep=keep)
            if keep:
                wait_for_ctrl_c()
        self._steps.end("Kafka and S3 are stopped")

    def _store(self, records: int) -> None:
        with self._steps.step("write sample records") as result:
            produce_clicks.create_topics(self._kafka.bootstrap)
            now = time.time_ns() // 1_000_000
            produce_clicks.write(self._kafka.bootstrap, produce_clicks.history(records, until=now, days=2))
            result.append(f"{records:,} clicks and orders of two days")

        with self._steps.step("write two manifests") as result:
            self._s3.client().create_bucket(Bucket=BUCKET)
            self._s3.write_secret(self._secrets, "s3")
            self._render(MANIFEST, self._manifest)
            self._render(ROWS_MANIFEST, self._rows_manifest)
            result.append(f"{short(self._place)}: {MANIFEST.name} and {ROWS_MANIFEST.name} with these addresses")

        with self._steps.step("logpersister lag") as result:
            result.append(f"{self._lag():,} records wait")

        with self._steps.step("logpersister run --until-current") as result:
            self._logpersister("run", "--until-current", "--log-format", "console", log=self._member_log)
            stored = sum(len(self._keys(PREFIX + topic)) for topic in TOPICS)
            result += [f"{stored} objects in s3://{BUCKET}/{PREFIX}", f"log: {short(self._member_log)}"]

        with self._steps.step("the same with rows, as Parquet") as result:
            self._logpersister(
                "run", "--until-current", "--log-format", "console", manifest=self._rows_manifest, log=self._rows_log
            )
            stored = len(self._keys(ROWS_PREFIX + TOPICS[0]))
            result += [f"{stored} objects in s3://{BUCKET}/{ROWS_PREFIX}", f"log: {short(self._rows_log)}"]

    def _show(self) -> None:
        self._steps.headline("What is stored: logpersister ls")
        self._logpersister("ls")
        key = self._keys(PREFIX + TOPICS[0])[0]
        address = f"s3://{BUCKET}/{key}"
        self._steps.headline(f"The first records of an object: logpersister head {address}")
        self._logpersister("head", address, f"--records={_LINES}")
        self._steps.headline("What is not stored yet: logpersister lag")
        self._logpersister("lag")
        self._steps.headline(f"A query over the Parquet files: {short(ROOT / 'examples' / 'query_clicks.py')}")
        self._query()

    def _query(self) -> None:
        keys = {"AWS_ACCESS_KEY_ID": self._s3.access_key, "AWS_SECRET_ACCESS_KEY": self._s3.secret_key}
        query = [sys.executable, "-m", "examples.query_clicks", "--endpoint", self._s3.endpoint]
        if subprocess.run(query, cwd=ROOT, env={**os.environ, **keys}, check=False).returncode != 0:
            raise FailedError("the query over the Parquet files failed")

    def _render(self, example: Path, manifest: Path) -> None:
        """Write a copy of an example with the addresses of these servers."""
        text = example.read_text()
        for field, value in (("bootstrapServers", self._kafka.bootstrap), ("endpoint", self._s3.endpoint)):
            text, found = re.subn(rf"(?m)^(\s*{field}:) \S+", rf"\1 {value}", text)
            if found != 1:
                raise FailedError(f"{short(example)} has {found} lines with {field}, expected one")
        manifest.write_text(text)

    def _keys(self, folder: str) -> list[str]:
        pages = self._s3.client().get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=f"{folder}/")
        return [entry["Key"] for page in pages for entry in page.get("Contents", [])]

    def _lag(self) -> int:
        """Return how many records are not stored yet."""
        answer = self._place / "lag.json"
        self._logpersister("lag", "--json", answer=answer)
        records: int = json.loads(answer.read_text())["lag"]["records"]
        return records

    def _logpersister(
        self,
        command: str,
        *options: str,
        manifest: Path | None = None,
        log: Path | None = None,
        answer: Path | None = None,
    ) -> None:
        """Run a command as a user would. It writes to this terminal, or to ``log``, or what it prints to ``answer``."""
        environment = {**os.environ, "LOGPERSISTER_SECRETS_DIR": str(self._secrets)}
        with ExitStack() as files:
            place = log or answer
            output = files.enter_context(place.open("wb")) if place else None
            # In a session of its own: Ctrl-C comes to us, and it gets the time to end well.
            process = subprocess.Popen(
                [str(LOGPERSISTER), command, "-f", str(manifest or self._manifest), *options],
                env=environment,
                stdout=output,
                stderr=output if log else None,
                start_new_session=True,
            )
            reaper.register(process.pid)
            try:
                code = process.wait()
            except BaseException:
                processes.stop(process, STOP_SECONDS)
                raise
            finally:
                process.wait()
                reaper.forget(process.pid)
        if code != 0:
            tail = "\n".join([f"; the end of {log}:", *log.read_text().splitlines()[-_TAIL_LINES:]]) if log else ""
            raise FailedError(f"logpersister {command} ended with exit code {code}{tail}")

    @contextmanager
    def _beside(self, command: str, *options: str, log: Path) -> "Iterator[subprocess.Popen[bytes]]":
        """Keep a command running; it writes to ``log``."""
        environment = {**os.environ, "LOGPERSISTER_SECRETS_DIR": str(self._secrets)}
        with log.open("ab") as output:
            arguments = [str(LOGPERSISTER), command, *options, "--log-format", "console"]
            process = subprocess.Popen(arguments, env=environment, stdout=output, stderr=output, start_new_session=True)
        reaper.register(process.pid)
        try:
            yield process
        finally:
            processes.stop(process, STOP_SECONDS)
            reaper.forget(process.pid)

    def _show_further(self, *, keep: bool) -> None:
        if not keep:
            print(
                f"  {short(self._member_log)}   what the member did\n"
                "  make demo ARGS=--keep    the same, and the servers stay until Ctrl-C\n"
                "  make stack               Kafka and S3 that stay, for manifests of your own\n"
                "  examples/                manifests to start from; docs/manifest.md explains every field"
            )
            return
        logpersister, manifest = short(LOGPERSISTER), short(self._manifest)
        produce = f"{short(Path(sys.executable))} -m examples.produce_clicks"
        print(
            f"  export LOGPERSISTER_SECRETS_DIR={self._secrets}\n"
            f"  {logpersister} lag -f {manifest} --watch\n"
            f"  {logpersister} run -f {manifest} --http 127.0.0.1:0    # goes on with what comes\n"
            f"  {produce} --bootstrap {self._kafka.bootstrap} --live 200\n"
            f"  AWS_ACCESS_KEY_ID={self._s3.access_key} AWS_SECRET_ACCESS_KEY={self._s3.secret_key} "
            f"aws --endpoint-url {self._s3.endpoint} s3 ls --recursive s3://{BUCKET}/"
        )


def main() -> int:
    """Return 0, or 1 when a step failed, or 130 when interrupted."""
    if sys.argv[1:2] == ["kubernetes"]:
        from examples import kubernetes_demo  # noqa: PLC0415 - it needs what only it is prepared with

        return kubernetes_demo.on_own_node(sys.argv[2:])
    kind, rest = Demo, sys.argv[1:]
    if rest[:1] == ["replay"]:
        from examples.replay_demo import ReplayDemo  # noqa: PLC0415 - it builds on this module

        kind, rest = ReplayDemo, rest[1:]
    elif rest[:1] == ["feeds"]:
        from examples.feeds_demo import FeedsDemo  # noqa: PLC0415 - so does this

        kind, rest = FeedsDemo, rest[1:]
    parser = argparse.ArgumentParser(
        prog="make demo",
        description="Kafka to S3 in a minute, on this machine. ARGS=kubernetes: the operator on a node; "
        "ARGS=replay: history made again; ARGS=feeds: feeds over HTTP, collected and fetched back.",
    )
    parser.add_argument("--records", type=int, default=70_000, help="to write (default %(default)s)")
    parser.add_argument("--keep", action="store_true", help="leave the servers running until Ctrl-C")
    parser.add_argument(
        "--directory", type=Path, default=PLACE, help="of everything that it writes (default .cache/demo)"
    )
    parser.add_argument("--s3", choices=list(S3_SERVERS), default=next(iter(S3_SERVERS)), help="default %(default)s")
    arguments = parser.parse_args(rest)
    steps = Steps()
    try:
        with processes.interrupted_by_sigterm():
            kind(steps, arguments.directory, S3_SERVERS[arguments.s3]).run(
                records=arguments.records, keep=arguments.keep
            )
    except (FailedError, ServerError, MissingArtifactError) as error:
        print(f"\nThe demo failed: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nInterrupted; everything that was started is stopped.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
