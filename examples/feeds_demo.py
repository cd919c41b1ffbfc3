"""``make demo ARGS=feeds``: feeds that change and misbehave, collectors of which one is killed, and all comes back."""

import json
import re
import time
import urllib.error
import urllib.request
from base64 import b32encode
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from examples.demo import BUCKET, Demo
from examples.steps import FailedError, Steps, short
from tests.stack import S3Server
from tests.stack.artifacts import ROOT
from tests.stack.feed_server import FeedServer, feeds
from tests.stack.ports import LOOPBACK, free_port
from tests.stack.topics import create_topic

FEEDS: Final = ROOT / "examples" / "feeds.yaml"
ARCHIVE: Final = ROOT / "examples" / "archive.yaml"
TOPIC: Final = "feeds"
MISBEHAVING: Final = ("hang", "drip", "short", "broken", "gone", "html", "huge", "bomb")
"""Servers that never answer, drip, break off, fail, have nothing, send an error page, or too much."""
REPLICAS: Final = ("prices-0", "prices-1")
_PERIOD: Final = "500ms"
_CHANGE_SECONDS = 2.0
_RECORDS = 8
"""That a replica has sent before something is done to it."""
_PATIENCE_SECONDS = 60
_PAUSE_SECONDS = 0.2
_AT_THE_END_SECONDS = 1.0
"""A content that was served so late may be of a download that ended with its collector."""


class FeedsDemo(Demo):
    """The same servers, and one of feeds; a collector in two processes; a member that stores their topic."""

    def __init__(self, steps: Steps, place: Path, s3: type[S3Server]) -> None:
        super().__init__(steps, place, s3)
        self._feeds = place / FEEDS.name
        self._manifest = place / ARCHIVE.name
        self._target = place / "downloads"
        self._ports = {replica: free_port() for replica in REPLICAS}
        self._ended = 0.0

    def _store(self, _records: int) -> None:
        with feeds() as server:
            server.change_seconds = _CHANGE_SECONDS
            with self._steps.step("serve feeds, write two manifests") as result:
                self._s3.client().create_bucket(Bucket=BUCKET)
                self._s3.write_secret(self._secrets, "s3")
                create_topic(self._kafka.bootstrap, TOPIC, partitions=2)
                self._write_manifests(server)
                result.append(f"2 feeds that change, {len(MISBEHAVING)} that hang, drip, break off, are too large, …")
            self._collect()
            self._fetch_back()
            self._compare(server)

    def _collect(self) -> None:
        with ExitStack() as running:
            with self._steps.step("logpersister collect, twice") as result:
                first, second = (running.enter_context(self._replica(replica)) for replica in REPLICAS)
                for replica in REPLICAS:
                    self._wait_sent(replica, _RECORDS)
                    self._wait(f"feeds of {replica} fail", partial(self._fails, replica))
                result.append(f"two replicas poll in turn, and write to the topic {TOPIC}")
            self._steps.headline("What they say: logpersister top --once")
            urls = ",".join(f"http://{LOOPBACK}:{port}" for port in self._ports.values())
            self._logpersister("top", "--once", "--status", urls, manifest=self._feeds)
            self._steps.headline("One is killed, the other goes on")
            with self._steps.step(f"kill -9 of {REPLICAS[1]}") as result:
                second.kill()
                second.wait()
                self._wait_sent(REPLICAS[0], self._sent(REPLICAS[0]) + _RECORDS)
                result.append(f"{REPLICAS[0]} sends what changes")
            with self._steps.step("logpersister drain, its spool") as result:
                spool = ("--spool", str(self._spool(REPLICAS[1])))
                self._logpersister("drain", *spool, manifest=self._feeds, log=self._place / "drain.log")
                result.append("Kafka has what its disk had")
            self._ended = time.time()
            first.terminate()
            first.wait()

    def _fetch_back(self) -> None:
        with self._steps.step("logpersister drain, the topic") as result:
            self._logpersister("drain", "--log-format", "console", log=self._member_log)
            result.append(f"{len(self._keys(TOPIC))} archives, in folders of feeds and hours")
        with self._steps.step("logpersister retrieve --unpack") as result:
            options = ("--unpack", "--target", str(self._target))
            self._logpersister("retrieve", *options, log=self._place / "retrieve.log")
            result.append(f"{len(self._files())} files in {short(self._target)}")

    def _compare(self, server: FeedServer) -> None:
        """Compare what has come back with what was served."""
        with self._steps.step("compare") as result:
            files = {file: file.read_bytes() for file in self._files()}
            served = {body: at for path in list(server.served) for body, at in server.served[path].items()}
            for file, body in files.items():
                if body not in served or b32encode(sha256(body).digest())[:12].decode().lower() not in file.name:
                    raise FailedError(f"{file} is nothing that a server has sent")
            wanted = {compared(body) for body, at in served.items() if at < self._ended - _AT_THE_END_SECONDS}
            got = {compared(body) for body in files.values()}
            if missing := wanted - got:
                raise FailedError(f"{len(missing)} of {len(wanted)} contents have not come back: {min(missing)!r}")
            result.append("each has the hash of what was served in its name")
            result.append(f"{len(got)} contents, none is missing")

    def _show(self) -> None:
        self._steps.headline("What is stored: logpersister ls")
        self._logpersister("ls")
        self._steps.headline("The proof: logpersister verify --deep")
        self._logpersister("verify", "--deep")

    def _show_further(self, *, keep: bool) -> None:
        print(
            "  docs/feeds.md     fields, records, what is kept when something ends\n"
            f"  docs/archives.md  files, and the archive of an hour\n  {short(self._place)}"
        )
        if keep:
            print(f"  export LOGPERSISTER_SECRETS_DIR={self._secrets}")

    def _write_manifests(self, server: FeedServer) -> None:
        """Write the examples with these addresses; the feeds are polled more often, and have bad company."""
        text = ARCHIVE.read_text()
        for field, value in (
            ("bootstrapServers: .*", f"bootstrapServers: {self._kafka.bootstrap}"),
            ("bucket: .*", f"bucket: {BUCKET}"),
            ("region: .*", f"endpoint: {self._s3.endpoint}\n    secretName: s3"),
        ):
            text = re.sub(field, value, text)
        self._manifest.write_text(text)
        for name, key in (("shop", "token"), ("weather", "key")):
            (self._secrets / name).mkdir()
            (self._secrets / name / key).write_text("of-the-demo")
        text = re.sub(r"https://\w+\.example\.com", server.url, FEEDS.read_text())
        text = re.sub(r"periodicity: \w+", f"periodicity: {_PERIOD}", text)
        text = re.sub(r"bootstrapServers: \S+", f"bootstrapServers: {self._kafka.bootstrap}", text)
        for kind in MISBEHAVING:
            text += f"    - {{id: {kind}, url: '{server.url}/{kind}', periodicity: {_PERIOD}, timeout: 2s,\n"
            text += "       content: {types: [application/json]}}\n"
        self._feeds.write_text(text)

    def _replica(self, name: str) -> Any:
        http = ("--http", f"{LOOPBACK}:{self._ports[name]}")
        options = ("-f", str(self._feeds), "--replica-name", name, "--spool", str(self._spool(name)), *http)
        return self._beside("collect", *options, log=self._place / f"{name}.log")

    def _spool(self, replica: str) -> Path:
        return self._place / f"{replica}.spool"

    def _status(self, replica: str) -> dict[str, Any]:
        with urllib.request.urlopen(f"http://{LOOPBACK}:{self._ports[replica]}/status", timeout=5) as answer:
            document: dict[str, Any] = json.load(answer)
        return document

    def _sent(self, replica: str) -> int:
        sent: int = self._status(replica)["records"]["sent"]
        return sent

    def _fails(self, replica: str) -> bool:
        """Whether all feeds have failed that misbehave."""
        return bool(self._status(replica)["feeds"]["failing"] == len(MISBEHAVING))

    def _wait_sent(self, replica: str, records: int) -> None:
        self._wait(f"{replica} sends {records} records", lambda: self._sent(replica) >= records)

    def _wait(self, what: str, condition: Callable[[], bool]) -> None:
        until = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                if condition():
                    return
            except urllib.error.URLError:  # it starts
                pass
            if time.monotonic() > until:
                raise FailedError(f"in vain was waited until {what}; see the logs in {self._place}")
            time.sleep(_PAUSE_SECONDS)

    def _files(self) -> list[Path]:
        """Return what has come back, without the archives that it was in."""
        return sorted(file for file in self._target.rglob("*_*Z_*") if not file.name.endswith(".tar.gz"))


def compared(body: bytes) -> bytes:
    """Return what examples/feeds.yaml compares of a download: all but the time at which it was made."""
    return re.sub(rb'"at": \d+|<generated>\d+</generated>', b"", body)
