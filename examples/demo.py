"""``make demo``: real Kafka, real S3, a member that stores everything, and a look at the result.

Servers, topics and buckets are fresh in each run and gone afterwards, also after Ctrl-C.
"""

import argparse
import gzip
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from examples import produce_clicks
from tests.stack import KafkaBroker, MinioServer, ServerError, reaper, running
from tests.stack.artifacts import CACHE, ROOT, MissingArtifactError

MANIFEST = ROOT / "examples" / "clicks.yaml"
PLACE = CACHE / "demo"
BUCKET = "logs"
PREFIX = "raw/"

_LOGPERSISTER = Path(sys.executable).with_name("logpersister")
_STOP_SECONDS = 30
_LINES = 3


class FailedError(Exception):
    """A step did not work; the message says which."""


class Steps:
    """Prints numbered headlines, each with the time since the start."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._bold, self._plain = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("", "")

    def say(self, headline: str) -> None:
        seconds = time.monotonic() - self._began
        print(f"\n{self._bold}[{seconds:5.1f} s] {headline}{self._plain}", flush=True)


def demo(steps: Steps, *, records: int, keep: bool) -> None:
    """Run all of it; raise `FailedError` when a step fails."""
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir(parents=True)
    kafka, minio = KafkaBroker(PLACE / "kafka"), MinioServer(PLACE / "minio")

    steps.say("Starting Kafka and MinIO, real ones, on free ports of this machine")
    with running(kafka, minio):
        print(f"Kafka {kafka.bootstrap}, S3 {minio.endpoint}")

        steps.say(f"Writing {records:,} records, two days of a shop's clicks and orders")
        produce_clicks.create_topics(kafka.bootstrap)
        now = time.time_ns() // 1_000_000
        produce_clicks.write(kafka.bootstrap, produce_clicks.history(records, until=now, days=2))
        minio.client().create_bucket(Bucket=BUCKET)
        minio.write_secret(PLACE / "secrets", "s3")
        manifest = _render(kafka, minio)
        print(f"The manifest is examples/clicks.yaml with these addresses: {_short(manifest)}")

        steps.say("What is not stored yet: logpersister lag")
        _logpersister("lag", manifest)

        steps.say("Storing everything: logpersister run --until-current")
        began = time.monotonic()
        _logpersister("run", manifest, "--until-current", "--log-format", "console")
        print(f"A member started, stored {records:,} records and left in {time.monotonic() - began:.1f} s")

        steps.say("Nothing is behind any more: logpersister lag")
        _logpersister("lag", manifest)

        steps.say("What is stored: logpersister ls")
        _logpersister("ls", manifest)

        _show_one_object(steps, minio)
        _show_further(steps, kafka, minio, manifest, keep=keep)
        if keep:
            _wait()
        steps.say("Stopping Kafka and MinIO")


def _render(kafka: KafkaBroker, minio: MinioServer) -> Path:
    """Return a copy of the example with the addresses of these servers."""
    text = MANIFEST.read_text()
    for field, value in (("bootstrapServers", kafka.bootstrap), ("endpoint", minio.endpoint)):
        text, found = re.subn(rf"(?m)^(\s*{field}:) \S+", rf"\1 {value}", text)
        if found != 1:
            raise FailedError(f"{_short(MANIFEST)} has {found} lines with {field}, expected one")
    rendered = PLACE / MANIFEST.name
    rendered.write_text(text)
    return rendered


def _logpersister(command: str, manifest: Path, *options: str) -> None:
    """Run a command as a user would and let it write to this terminal."""
    environment = {**os.environ, "LOGPERSISTER_SECRETS_DIR": str(PLACE / "secrets")}
    # In a session of its own: Ctrl-C comes to us, and it gets the time to end well.
    process = subprocess.Popen(
        [str(_LOGPERSISTER), command, "-f", str(manifest), *options], env=environment, start_new_session=True
    )
    reaper.register(process.pid)
    try:
        code = process.wait()
    except BaseException:
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
        raise
    finally:
        process.wait()
        reaper.forget(process.pid)
    if code != 0:
        raise FailedError(f"logpersister {command} ended with exit code {code}")


def _show_one_object(steps: Steps, minio: MinioServer) -> None:
    client = minio.client()
    keys = [entry["Key"] for entry in client.list_objects_v2(Bucket=BUCKET, Prefix=f"{PREFIX}clicks/")["Contents"]]
    key = keys[-1]
    steps.say(f"The first lines of one object: s3://{BUCKET}/{key}")
    body = client.get_object(Bucket=BUCKET, Key=key)["Body"].read()
    for line in gzip.decompress(body).decode().splitlines()[:_LINES]:
        print(line)


def _show_further(steps: Steps, kafka: KafkaBroker, minio: MinioServer, manifest: Path, *, keep: bool) -> None:
    steps.say("Looking further")
    if not keep:
        print(
            "  make demo ARGS=--keep    the same, and the servers stay until Ctrl-C\n"
            "  make stack               Kafka and S3 that stay, for manifests of your own\n"
            "  examples/                manifests to start from; docs/manifest.md explains every field"
        )
        return
    print(
        f"  export LOGPERSISTER_SECRETS_DIR={PLACE / 'secrets'}\n"
        f"  {_short(_LOGPERSISTER)} lag -f {_short(manifest)} --watch\n"
        f"  {_short(_LOGPERSISTER)} run -f {_short(manifest)} --http 127.0.0.1:0    # goes on with what comes\n"
        f"  {_short(Path(sys.executable))} -m examples.produce_clicks --bootstrap {kafka.bootstrap} --live 200\n"
        f"  AWS_ACCESS_KEY_ID={minio.access_key} AWS_SECRET_ACCESS_KEY={minio.secret_key} "
        f"aws --endpoint-url {minio.endpoint} s3 ls --recursive s3://{BUCKET}/"
    )


def _wait() -> None:
    print("\nThe servers stay until Ctrl-C.", flush=True)
    try:
        signal.pause()
    except KeyboardInterrupt:
        print()


def _short(path: Path) -> str:
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


@contextmanager
def _terminating() -> Iterator[None]:
    """Let SIGTERM end the demo as Ctrl-C does."""

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    former = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)


def main() -> int:
    """Return 0, or 1 when a step failed, or 130 when interrupted."""
    parser = argparse.ArgumentParser(prog="make demo", description="Kafka to S3 in a minute, on this machine.")
    parser.add_argument("--records", type=int, default=70_000, help="to write (default %(default)s)")
    parser.add_argument("--keep", action="store_true", help="leave the servers running until Ctrl-C")
    arguments = parser.parse_args()
    steps = Steps()
    try:
        with _terminating():
            demo(steps, records=arguments.records, keep=arguments.keep)
    except (FailedError, ServerError, MissingArtifactError) as error:
        print(f"\nThe demo failed: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nInterrupted; everything that was started is stopped.", file=sys.stderr)
        return 130
    steps.say("Done")
    return 0


if __name__ == "__main__":
    sys.exit(main())
